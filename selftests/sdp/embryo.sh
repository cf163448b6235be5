#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# SOCK_DESTROY of a socket whose connection request is still being handled: the
# listener continues to accept connections, and device and module can be removed. A socket
# is not shown before its request has a cm_id.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat jq
PORT=7960

# embryos: the sockets of requests that are not accepted yet
embryos() {
	local all

	all=$(in_b sdpstat -a --json) && jq -r '.sockets[] |
		select(.state == "SYN-RECV") | .cookie' <<<"$all"
}

# destroy_embryos: end these sockets; fails if there are none
destroy_embryos() {
	local cookies cookie

	cookies=$(embryos) && [ -n "$cookies" ] || return
	for cookie in $cookies; do
		in_b sdpstat -K "$cookie" || return
	done
}

# echoed N: so many clients, one after the other, get an answer
echoed() {
	in_a timeout 60 sdp-run python3 -c '
import socket, sys
for _ in range(int(sys.argv[1])):
    with socket.create_connection(("10.0.0.2", int(sys.argv[2])), timeout=10) as sock:
        sock.sendall(b"x")
        assert sock.recv(1) == b"x"' "$1" "$PORT"
}

serve() {
	start_bg b sdp-run python3 -c '
import socket
lis = socket.create_server(("10.0.0.2", '$PORT'), backlog=1)
print("listening", flush=True)
while True:
    try:
        with lis.accept()[0] as sock:
            sock.sendall(sock.recv(1))
    except OSError:
        pass'
	SERVER=$BG_PID
	wait_for 20 said listening
	ktap_check "$1: the server answers a client" echoed 1
}

# none_shown: no socket of a request can be found and destroyed
none_shown() {
	local cookies

	cookies=$(embryos) && [ -z "$cookies" ]
}

# requests LINK FUNCTION WHAT COMMAND: the request of a client stops there, and the command
# is run meanwhile
requests() {
	hold "$2" kworker asleep=1 ms=60000 || ktap_skip_all "no probes"
	start_bg a timeout 30 sdp-run python3 -c '
import socket
socket.create_connection(("10.0.0.2", '$PORT'), timeout=20)'
	CLIENT=$BG_PID
	ktap_check "$1: a request is held up" wait_for 20 is_held
	ktap_check "$1: $3" "$4"
	hold_end
	wait_for 30 is_gone "$CLIENT"
	ktap_check "$1: the server still answers, ten times" echoed 10
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
serve iWARP
requests iWARP sdp_cm_use_hello "a request without its cm_id is not shown" none_shown
requests iWARP sdp_verbs_create "the socket of a request is destroyed" destroy_embryos
ktap_check "iWARP: the device can be removed" timeout 30 rdma link delete rdb
stop_bg "$SERVER"
net_down

if dev_up rxe rxe; then
	serve RoCE
	# the set-up, which goes on, begins to wait for the confirmation of the client
	in_b sysctl -qw net.sdp.confirm_timeout=300
	requests RoCE sdp_verbs_create "the socket of a request is destroyed" destroy_embryos
	stop_bg "$SERVER"
	ktap_check "RoCE: the socket does not wait for a confirmation" \
		wait_for 20 modprobe -r sdp_diag sdp
else
	ktap_skip "RoCE: the socket does not wait for a confirmation" "no rxe devices"
fi
ktap_done
