#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# SOCK_DESTROY of a socket whose connection request is still being handled: the
# listener goes on to take connections, and the device can be removed.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat
PORT=7960

# destroy_embryos: end all sockets of a request that is not accepted yet
destroy_embryos() {
	in_b sdpstat -a --json | python3 -c '
import json, sys
for s in json.load(sys.stdin)["sockets"]:
    if s["state"] == "SYN-RECV":
        print(s["cookie"])' | while read -r cookie; do
		in_b sdpstat -K "$cookie"
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

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
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
wait_for 20 said listening
ktap_check "the server answers a client" echoed 1
hold sdp_cm_use_hello kworker asleep=1 ms=60000 || ktap_skip_all "no probes"
start_bg a timeout 30 sdp-run python3 -c '
import socket
socket.create_connection(("10.0.0.2", '$PORT'), timeout=20)'
CLIENT=$BG_PID
ktap_check "a request is held up" wait_for 20 is_held
destroy_embryos
hold_end
wait_for 30 is_gone "$CLIENT"
ktap_check "the server still answers, ten times" echoed 10
ktap_check "the device can be removed" timeout 30 rdma link delete rdb
ktap_done
