#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Servers on 127.0.0.1 and ::1. rdma_cm treats these addresses as the wildcard address. SDP
# must still leave the port free on other addresses, and must not accept connections to
# them, as with TCP. A connection to a loopback address uses TCP if the rules allow it, and
# fails with ENETUNREACH otherwise. With an RDMA device on lo it uses SDP.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpctl socat

PROG=$(dirname "$0")/loopback.py

# same NAME FILE RESULT: FILE has the same lines as /run/tcp, except that connect() ends
# with RESULT
same() {
	local line

	ktap_check "$1: same result as over TCP" diff <(grep -v '^connect ' /run/tcp) \
		<(grep -v '^connect ' "$2")
	while read -r line; do
		ktap_is "$1: ${line%:*}: $3" "${line##*: }" "$3"
	done < <(grep '^connect ' "$2")
}

# prints WHAT FILE COMMAND...: run the cases in a; their output is left in FILE
prints() {
	local what=$1 file=$2 rc

	shift 2
	in_a timeout 200 "$@" >"$file"
	rc=$?
	ktap_is "$what: the cases run to their end" "$rc $([ -s "$file" ] && echo printed)" "0 printed"
}

# over KIND ADDRESS...: run loopback.py over devices of this kind, without one on lo
over() {
	local kind=$1

	shift
	dev_up "$kind" "$kind" || { ktap_skip "$kind" "no device"; return; }
	prints "$kind, TCP" /run/tcp /usr/bin/python3 "$PROG" "$@"
	prints "$kind" /run/sdp sdp-run -o /usr/bin/python3 "$PROG" "$@"
	same "$kind" /run/sdp ENETUNREACH
	prints "$kind, rules say both" /run/both \
		env -u LIBSDP_ONLY sdp-run /usr/bin/python3 "$PROG" "$@"
	same "$kind, rules say both" /run/both connected
	ktap_check "$kind: no socket is left" wait_for 20 no_sockets
	net_down
}

# sdp_moved: bytes that namespace a has sent over SDP
sdp_moved() { sdp_counter a tx_bytes; }

# answer a|b ADDRESS [FROM]: print the result of connect() over SDP to the server at port 7500
answer() {
	"in_$1" sdp-run -o /usr/bin/python3 -c 'import errno, socket, sys
try:
    socket.create_connection((sys.argv[1], 7500), 20, (sys.argv[2], 0))
    print("connected")
except OSError as e:
    print(errno.errorcode[e.errno])' "$2" "${3:-}"
}

# on_lo ADDRESS...: devices on lo of both namespaces, beside those at the link
on_lo() {
	local before server

	dev_up hybrid hybrid || { ktap_skip "a device on lo serves loopback addresses" "no device"; return; }
	ktap_check "sdpctl makes a device on lo" in_a sdpctl setup lo
	ktap_check "sdpctl makes a device on lo of another namespace" in_b sdpctl setup lo
	prints "lo, TCP" /run/tcp /usr/bin/python3 "$PROG" lo "$@"
	before=$(sdp_moved)
	prints lo /run/sdp sdp-run -o /usr/bin/python3 "$PROG" lo "$@"
	same "lo" /run/sdp connected
	# five times 512000, there and back
	ktap_check "SDP carries the bytes of connections on lo" [ $(($(sdp_moved) - before)) -ge 5120000 ]
	prints "lo, rules say both" /run/both \
		env -u LIBSDP_ONLY sdp-run /usr/bin/python3 "$PROG" lo "$@"
	same "lo, rules say both" /run/both connected
	start_bg a sdp-run -o socat TCP4-LISTEN:7500,bind=127.0.0.1,fork PIPE
	server=$BG_PID
	wait_port a 7500
	ktap_is "a server on 127.0.0.1 can be reached" "$(answer a 127.0.0.1)" connected
	ktap_is "a server on 127.0.0.1 can be reached from 127.0.0.2" \
		"$(answer a 127.0.0.1 127.0.0.2)" connected
	ktap_is "a server on 127.0.0.1 cannot be reached from 10.0.0.1" \
		"$(answer a 127.0.0.1 10.0.0.1)" ENETUNREACH
	ktap_is "10.0.0.1 cannot be reached from 127.0.0.1" \
		"$(answer a 10.0.0.1 127.0.0.1)" ENETUNREACH
	ktap_is "a server on 127.0.0.1 cannot be reached from another namespace" \
		"$(answer b 127.0.0.1)" ECONNREFUSED
	ktap_is "a server on 127.0.0.1 does not answer at 10.0.0.1, from another namespace" \
		"$(answer b 10.0.0.1)" ECONNREFUSED
	ktap_check "sdpctl removes the device on lo" in_a sdpctl undo lo
	ktap_is "without a device on lo, connect() fails with ENETUNREACH" \
		"$(answer a 127.0.0.1)" ENETUNREACH
	stop_bg "$server"
	ktap_check "lo: no socket is left" wait_for 20 no_sockets
	in_b sdpctl undo lo >/dev/null
	net_down
}

modprobe -q sdp
on_lo 10.0.0.1 fd00::1
over hybrid 10.0.0.1 fd00::1
over siw 10.0.0.1 fd00::1
over rxe 10.0.0.1
ktap_done
