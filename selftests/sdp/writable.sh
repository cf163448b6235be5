#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=120
#
# poll() says that a socket of the shared link is writable, while a task of the kernel owns
# the TCP socket below: to change what the NIC does, or to take the end of the connection
# from TCP. A nonblocking send() waits for the owner, as TCP's does, and does not fail with
# EAGAIN. Then the reverse: a socket with one byte too many to be writable becomes writable
# when the peer reads.

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

# write_when_writable FIRST COUNT: a client sends FIRST. Once /run/go exists, it sends a byte
# whenever the socket is writable, COUNT times or until there is an error.
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
# a change of "verify" updates all queue pairs of the device, one by one, with their socket
# owned
hold hyb_off_update sh asleep=1 ms=60000 || ktap_skip_all "no probes"
sh -c "echo 1 >$ATTR/verify" &
CHANGE=$!
ktap_check "a task of the kernel owns the TCP socket" wait_for 20 is_held
touch /run/go
sleep 1
ktap_check "a nonblocking writer waits for the owner of the TCP socket" waits
hold_end
wait "$CHANGE"
wait_for 30 said end: "$WRITER"
ktap_is "a writer that has waited for the owner finds room" "$(tail -n 1 "$WRITER")" "end: 0 times without room, all sent"

# also in hyb_tcp_detach(), with the socket owned
write_when_writable r 100000
WRITER=$BG_LOG
hold lock_sock_nested kworker behind=1 ms=100 times=20
touch /run/go
wait_for 60 said end: "$WRITER"
hold_end
ktap_is "the peer resets: send() finds room until it reports the reset" \
"$(tail -n 1 "$WRITER")" "end: 0 times without room, reset"

# A third of the send buffer has to be free. Its size leaves 2 when divided by 3, where
# rounding makes a byte of difference. The peer reads when /run/read is there.
start_bg b sdp-run python3 -c '
import os, socket, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("10.0.0.2", '$((PORT + 1))'))
listener.listen()
print("listening", flush=True)
sock = listener.accept()[0]
while not os.path.exists("/run/read"):
    time.sleep(0.01)
while sock.recv(1 << 16):
    pass'
wait_for 20 said listening || ktap_fail "the late reader listens" "$(cat "$BG_LOG")"
rm -f /run/read
in_a timeout 100 sdp-run python3 -c '
import fcntl, select, socket, struct, time
SIOCOUTQ = 0x5411
sock = socket.create_connection(("10.0.0.2", '$((PORT + 1))'))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
size = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
limit = size - size // 3
sock.setblocking(False)
def held():
    return struct.unpack("i", fcntl.ioctl(sock, SIOCOUTQ, bytes(4)))[0]
# the window of the peer is full when nothing is acknowledged any more
still = 0
while still < 3 and held() < limit - 8192:
    before = held()
    sock.send(bytes(2048))
    time.sleep(0.3)
    still = still + 1 if held() == before + 2048 else 0
sock.send(bytes(limit - held()))
time.sleep(0.3)
print("held:", size, held() - limit)
epoll = select.epoll()
epoll.register(sock, select.EPOLLOUT)
print("full:", len(epoll.poll(1)))
open("/run/read", "w").close()
print("read:", len(epoll.poll(20)))' >"$OUT/edge"
ktap_is "a send buffer holds one byte too many to be writable" \
	"$(grep -E "held|full" "$OUT/edge" | xargs)" "held: 131072 0 full: 0"
ktap_is "the peer reads: the socket is writable" "$(grep read: "$OUT/edge")" "read: 1"
ktap_done
