#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Servers at 127.0.0.1 and ::1, which RDMA connection management takes for the
# wildcard: they leave the port of other addresses alone and get no requests to those,
# as with TCP. Connections to these addresses are TCP's where that may be,
# and else refused as having no device.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run

PROG=$(dirname "$0")/loopback.py

# same NAME FILE: it says what TCP says
same() {
	local line

	ktap_check "$1: same result as over TCP" diff <(grep -v '^connect ' /run/tcp) \
		<(grep -v '^connect ' "$2")
	while read -r line; do
		ktap_is "$1: ${line%:*}" "${line##*: }" "$3"
	done < <(grep '^connect ' "$2")
}

# over KIND ADDRESS...
over() {
	local kind=$1

	shift
	dev_up "$kind" "$kind" || { ktap_skip "$kind" "no device"; return; }
	in_a /usr/bin/python3 "$PROG" "$@" >/run/tcp
	in_a timeout 100 sdp-run -o /usr/bin/python3 "$PROG" "$@" >/run/sdp
	same "$kind" /run/sdp ENETUNREACH
	in_a timeout 100 env -u LIBSDP_ONLY sdp-run /usr/bin/python3 "$PROG" "$@" >/run/both
	same "$kind, rules say both" /run/both connected
	ktap_check "$kind: no socket is left" wait_for 20 no_sockets
	net_down
}

modprobe -q sdp
over hybrid 10.0.0.1 fd00::1
over siw 10.0.0.1 fd00::1
over rxe 10.0.0.1
ktap_done
