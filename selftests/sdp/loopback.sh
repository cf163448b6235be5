#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Servers at 127.0.0.1 and ::1, which RDMA connection management takes for the
# wildcard: they leave the port of other addresses alone and get no requests to those,
# as with TCP. Connections to these addresses are TCP's where that may be, and else refused
# as having no device. With a device on lo they are SDP's.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpctl socat

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

# sdp_moved: bytes that namespace a has sent over SDP
sdp_moved() { sdp_counter a tx_bytes; }

# answer a|b ADDRESS [FROM]: what connect() over SDP says to the server at port 7500
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

	dev_up hybrid hybrid || { ktap_skip "device on lo" "no device"; return; }
	ktap_check "sdpctl makes a device on lo" in_a sdpctl setup lo
	ktap_check "sdpctl makes a device on lo of another namespace" in_b sdpctl setup lo
	in_a /usr/bin/python3 "$PROG" lo "$@" >/run/tcp
	before=$(sdp_moved)
	in_a timeout 200 sdp-run -o /usr/bin/python3 "$PROG" lo "$@" >/run/sdp
	same "lo" /run/sdp connected
	# five times 512000, there and back
	ktap_check "the bytes on lo are SDP's" [ $(($(sdp_moved) - before)) -ge 5120000 ]
	in_a timeout 200 env -u LIBSDP_ONLY sdp-run /usr/bin/python3 "$PROG" lo "$@" >/run/both
	same "lo, rules say both" /run/both connected
	start_bg a sdp-run -o socat TCP4-LISTEN:7500,bind=127.0.0.1,fork PIPE
	server=$BG_PID
	wait_port a 7500
	ktap_is "a server on 127.0.0.1 can be reached" "$(answer a 127.0.0.1)" connected
	ktap_is "it can be reached from another loopback address" "$(answer a 127.0.0.1 127.0.0.2)" connected
	ktap_is "it cannot be reached from another address" "$(answer a 127.0.0.1 10.0.0.1)" ENETUNREACH
	ktap_is "a loopback address does not reach another address" "$(answer a 10.0.0.1 127.0.0.1)" ENETUNREACH
	ktap_is "it cannot be reached from another namespace" "$(answer b 127.0.0.1)" ECONNREFUSED
	ktap_is "another namespace does not reach another address" "$(answer b 10.0.0.1)" ECONNREFUSED
	ktap_check "sdpctl removes the device on lo" in_a sdpctl undo lo
	ktap_is "without the device on lo there is no way" "$(answer a 127.0.0.1)" ENETUNREACH
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
