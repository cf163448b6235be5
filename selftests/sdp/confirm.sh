#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A peer over RoCE that never confirms a connection (ReadyToUse of the CM is lost) keeps its
# place in the backlog for net.sdp.confirm_timeout, however often it asks for the answer. If
# others need the place, it loses it before.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat tc
PORT=7980

# unconfirmed N: so many connections of the server are
unconfirmed() { [ "$(in_b sdpstat -a | grep -c "^SYN-RECV.*:$PORT ")" -eq "$1" ]; }

# stuck: a client of the address whose ReadyToUse is lost
stuck() {
	start_bg a sdp-run python3 -c '
import socket, sys
sock = socket.create_connection(("10.0.0.2", '$PORT'), timeout=60)
print("connected", flush=True)
sock.settimeout(600)
try:
    sock.recv(1)
except OSError:
    pass
print("ended", flush=True)'
}

# CLIENT SECONDS: connects in this time, from an address that confirms; then wants an answer
CLIENT='
import socket, sys
with socket.create_connection(("10.0.0.2", '$PORT'), timeout=float(sys.argv[1]),
                              source_address=("10.0.0.3", 0)) as sock:
    print("connected", flush=True)
    sock.settimeout(60)
    sock.sendall(b"x")
    assert sock.recv(1) == b"x"
print("answered", flush=True)'
client() { in_a timeout 90 sdp-run python3 -c "$CLIENT" "$1"; }

net_up_one
ip addr add 10.0.0.3/32 dev va
ip route add 10.0.0.3 dev vb src 10.0.0.2 table 77
ip rule add pref 100 iif va to 10.0.0.3 lookup local
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
	match ip src 10.0.0.1/32 match u8 0x64 0xff at 28 \
	match u16 0x0014 0xffff at 64 action drop ||
	ktap_skip_all "no filter for ReadyToUse"
timeouts=$(sdp_counter b timeouts)
stuck
ktap_check "the client is connected" wait_for 20 said connected
ktap_check "the server's end is not confirmed" unconfirmed 1
# the CM would take more than a minute
ktap_check "the unconfirmed end is closed" wait_for 12 unconfirmed 0
ktap_is "the timeout of the unconfirmed end is counted" "$(sdp_counter b timeouts)" $((timeouts + 1))
ktap_check "the client sees the end of the connection" wait_for 20 said ended

# a request that comes at once, when these have not had their time yet
in_b sysctl -qw net.sdp.confirm_timeout=20
drops=$(sdp_counter b listen_drops)
start_bg a sdp-run python3 -c '
import select, socket
stuck = [socket.socket(), socket.socket()]
for sock in stuck:
    sock.setblocking(False)
    sock.connect_ex(("10.0.0.2", '$PORT'))
for sock in stuck:
    select.select([], [sock], [])
    sock.setblocking(True)
with socket.create_connection(("10.0.0.2", '$PORT'), timeout=10,
                              source_address=("10.0.0.3", 0)) as sock:
    print("connected", flush=True)
for sock in stuck:
    try:
        sock.recv(1)
    except OSError:
        pass
print("ended", flush=True)'
ktap_check "a request waits 1 s for the place of new unconfirmed connections" \
	wait_for 20 said connected
ktap_is "one of these has ended for it" $(($(sdp_counter b listen_drops) - drops)) 1
ktap_check "the others get the whole time" wait_for 60 said ended
wait_for 20 unconfirmed 0

in_b sysctl -qw net.sdp.confirm_timeout=300
drops=$(sdp_counter b listen_drops)
stuck
FIRST=$BG_LOG
wait_for 20 unconfirmed 1
stuck
ktap_check "the backlog is full of unconfirmed connections" wait_for 20 unconfirmed 2
ktap_check "another client connects at once if requests may wait" client 15
ktap_check "the oldest unconfirmed connection has ended" wait_for 20 said ended "$FIRST"
ktap_check "the other one has not" unconfirmed 1
in_b sysctl -qw net.sdp.hold_max=0
stuck
ktap_check "the backlog is full again" wait_for 20 unconfirmed 2
ktap_check "another client connects at once if no request may wait" client 15
ktap_is "each client has ended one unconfirmed connection" \
	$(($(sdp_counter b listen_drops) - drops)) 2

# the one that is left, and one that waits for accept()
pkill -STOP -f create_server
start_bg a sdp-run python3 -c "$CLIENT" 15
WAITS=$BG_LOG
ktap_check "the backlog has a confirmed connection and an unconfirmed one" \
	wait_for 20 said connected "$WAITS"
start_bg a sdp-run python3 -c "$CLIENT" 15
ktap_check "the unconfirmed one makes room" wait_for 20 said connected
ktap_check "no unconfirmed connection is left" wait_for 20 unconfirmed 0
ktap_check_fails "a confirmed connection makes no room: the next client is refused" client 15
pkill -CONT -f create_server
ktap_check "the program gets the confirmed connections" wait_for 60 said answered
ktap_check "the first of these, too" wait_for 60 said answered "$WAITS"

in_b tc qdisc del dev vb clsact
ktap_check "the server still answers" client 20
ktap_done
