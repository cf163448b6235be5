#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=120
#
# poll() says that a socket of the shared link is writable, while a task of the kernel has
# the TCP socket below: to change what the NIC does, or to take the end of the connection
# from TCP. A nonblocking send() waits for it, as send() of TCP waits for the owner, and
# does not say that there is no room.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run
PORT=7962
ATTR=/sys/class/infiniband/rda/hybrid

# serve: read all of each connection; reset one that begins with r with its next byte
serve() {
	start_bg b sdp-run python3 -c '
import socket, struct, sys
listener = socket.create_server(("10.0.0.2", '"$PORT"'))
print("listening", flush=True)
while True:
    sock = listener.accept()[0]
    if sock.recv(1) == b"r":
        sock.recv(1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        continue
    while sock.recv(1 << 16):
        pass'
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
}

# write_when_writable FIRST COUNT: FIRST is what the server gets first, then a byte at a time
# from when /run/go is there on, COUNT times or until there is an error
write_when_writable() {
	rm -f /run/go
	start_bg a timeout 100 sdp-run python3 -c '
import os, select, socket, sys, time
again = 0
sock = socket.create_connection(("10.0.0.2", '"$PORT"'))
sock.sendall(sys.argv[1].encode())
sock.setblocking(False)
print("connected", flush=True)
while not os.path.exists("/run/go"):
    time.sleep(0.01)
try:
    for _ in range(int(sys.argv[2])):
        if not select.select([], [sock], [], 60)[1]:
            print("end: never writable")
            sys.exit()
        try:
            sock.send(b"x")
        except BlockingIOError:
            again += 1
        time.sleep(0.001)
    end = "all sent"
except (ConnectionResetError, BrokenPipeError):
    end = "reset"
print(f"end: {again} times without room, {end}")' "$1" "$2"
	wait_for 20 said connected || ktap_fail "the client connects" "$(cat "$BG_LOG")"
}

# shellcheck disable=SC2317 # called by ktap_check
waits() { ! grep -q end: "$WRITER"; }

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
serve
write_when_writable x 20
WRITER=$BG_LOG
# all queue pairs of the device follow, one after the other, each with its socket owned
hold hyb_off_update sh asleep=1 ms=60000 || ktap_skip_all "no probes"
sh -c "echo 1 >$ATTR/verify" &
CHANGE=$!
ktap_check "a task has the TCP socket" wait_for 20 is_held
touch /run/go
sleep 1
ktap_check "a writer waits for it" waits
hold_end
wait "$CHANGE"
wait_for 30 said end: "$WRITER"
ktap_is "a writer that has waited for it finds room" "$(tail -n 1 "$WRITER")" "end: 0 times without room, all sent"

# also in hyb_tcp_detach(), with the socket owned
write_when_writable r 100000
WRITER=$BG_LOG
hold lock_sock_nested kworker behind=1 ms=100 times=20
touch /run/go
wait_for 60 said end: "$WRITER"
hold_end
ktap_is "a peer that resets" "$(tail -n 1 "$WRITER")" "end: 0 times without room, reset"
ktap_done
