#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# A peer over RoCE that never confirms a connection (ReadyToUse of the CM is lost) keeps its
# place in the backlog for net.sdp.confirm_timeout, however often it asks for the answer.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat tc
PORT=7980

in_state() { in_b sdpstat -a | grep -q "^$1.*:$PORT "; }
no_request() { ! in_state SYN-RECV; }

dev_up rxe rxe || ktap_skip_all "no rxe devices"
modprobe -q sdp
in_b sysctl -qw net.sdp.confirm_timeout=10
start_bg b sdp-run python3 -c '
import socket
listener = socket.create_server(("10.0.0.2", '$PORT'), backlog=1)
print("listening", flush=True)
while True:
    sock = listener.accept()[0]
    sock.sendall(sock.recv(1))
    sock.close()'
wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"

# The filter matches a MAD in a UD SEND to UDP port 4791: attribute ReadyToUse. It is dropped
# where it arrives: the sender's rxe of 6.12 sends no other MAD after one that could not leave
in_b tc qdisc add dev vb clsact
in_b tc filter add dev vb ingress protocol ip u32 match ip protocol 17 0xff \
	match u8 0x64 0xff at 28 match u16 0x0014 0xffff at 64 action drop ||
	ktap_skip_all "no filter for ReadyToUse"
timeouts=$(sdp_counter b timeouts)
start_bg a sdp-run python3 -c '
import socket, sys
sock = socket.create_connection(("10.0.0.2", '$PORT'), timeout=60)
print("connected", flush=True)
try:
    sock.recv(1)
except OSError:
    pass
print("ended", flush=True)'
CLIENT=$BG_LOG
ktap_check "the client is connected" wait_for 20 said connected "$CLIENT"
ktap_check "the server's end is not confirmed" in_state SYN-RECV
# the CM would take more than a minute
ktap_check "the unconfirmed end is closed" wait_for 12 no_request
ktap_is "the timeout of the unconfirmed end is counted" "$(sdp_counter b timeouts)" $((timeouts + 1))
ktap_check "the client sees the end of the connection" wait_for 20 said ended "$CLIENT"
in_b tc qdisc del dev vb clsact
ktap_check "the server still answers" in_a timeout 60 sdp-run python3 -c '
import socket
with socket.create_connection(("10.0.0.2", '$PORT'), timeout=20) as sock:
    sock.sendall(b"x")
    assert sock.recv(1) == b"x"'
ktap_done
