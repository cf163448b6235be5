#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900
#
# Corner cases of stream sockets, one after the other over TCP and over SDP,
# with both kinds of link, over a plain device and over one with engines: SDP
# does what TCP does.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

PROG=$(dirname "$0")/corners.py
LIMIT=$(scaled 400 1000)	# seconds, for all cases of one kind; less than the timeout above

# same PREFIX COUNT: each of the first COUNT cases has the result that it has over TCP
same() {
	local name tcp sdp

	while IFS='|' read -r name tcp sdp; do
		ktap_diag "over TCP: $tcp"
		ktap_is "$1: same result as over TCP: $name" "$sdp" "$tcp"
	done < <(paste -d '|' <(sed "s/: /|/; $2q" /run/tcp) <(sed 's/[^:]*: //' /run/sdp))
}

# cases PREFIX [CASE...]: run these cases, which must be the first ones of corners.py, or all
cases() {
	local count=$(($# - 1))

	[ "$count" -gt 0 ] || count=$(wc -l </run/tcp)
	timeout "$LIMIT" /usr/bin/python3 "$PROG" 257 7700 "${@:2}" >/run/sdp ||
		ktap_fail "$1: corners.py" "$(cat /run/sdp)"
	ktap_is "$1: all of $count cases ran" "$(wc -l </run/sdp)" "$count"
	same "$1" "$count"
}

verbs_link() {
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.shared_link=0
	done
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
if ! timeout "$LIMIT" /usr/bin/python3 "$PROG" 0 7600 >/run/tcp; then
	ktap_fail "corners.py over TCP" "$(cat /run/tcp)"
	ktap_done
	exit
fi
cases "plain device, shared link"
verbs_link
cases "plain device, verbs link"
net_down
export NET_LINK=hnic
dev_up hybrid hybrid || ktap_skip_all "no simulated NIC"
cases "simulated NIC, shared link"
verbs_link
# the next case sends 100,000 messages, for which this takes minutes
cases "simulated NIC, verbs link" splice_nonblock_is_for_the_pipe splice_fills_a_pipe \
	splice_of_each_size_to_the_end splice_while_data_comes writable_means_room_or_an_error
ktap_done
