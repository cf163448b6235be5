#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# The stressors of stress-ng that use Internet streams: connections one after the
# other with all ways to send and to receive, many connections, sockets that are
# abused, epoll. They connect to the wildcard address, which stands for 127.0.0.1;
# sdp-any.so makes that an address that has a device.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"

OPS=$(scaled 12 4)
STRESS=/packages/usr/bin/stress-ng
LIBRARY=$TEST_LIBS/sdp-any.so

# stress OPTION...: print its options, its complaints and its exit status
stress() {
	echo "$*"
	# preloaded before the library of sdp-run, which calls no other preloaded library
	ANY_V4=$CLIENT ANY_V6=fd00::1 run bash -c \
		"LD_PRELOAD=$LIBRARY:\$LD_PRELOAD exec \"\$@\"" - "$STRESS" \
		--temp-path "$DIR" --verify --timeout "$LIMIT" "$@" 2>&1 |
		sed -En '/(fail|warn|error): /s/^stress-ng: (.*)\[[0-9]+\]/\1/p'
	echo "${PIPESTATUS[0]}"
}

session_sock() {
	local how

	for how in send sendmsg sendmmsg; do
		stress --sock 2 --sock-ops "$OPS" --sock-opts "$how"
	done
	stress --sock 2 --sock-ops "$OPS" --sock-opts random --sock-nodelay
	stress --sock 1 --sock-ops "$OPS" --sock-zerocopy
	# net_up gives a both kinds of addresses
	[ "$NET_MODE" = one ] ||
		stress --sock 1 --sock-ops "$OPS" --sock-domain ipv6
}

session_many() {
	stress --sockmany 1 --sockmany-ops $((OPS * 5))
	stress --sockabuse 1 --sockabuse-ops "$OPS"
	stress --epoll 1 --epoll-domain ipv4 --epoll-ops $((OPS * 5))
}

programs_up
packages_up
same sock $((OPS * 100000))
same many $((OPS * 100))
ktap_done
