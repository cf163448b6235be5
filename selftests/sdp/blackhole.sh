#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# siw blocks in connect() as long as TCP does. Attempts of an ordinary user to reach a host
# that never answers, more than a workqueue runs at once, delay neither the end of another
# connection nor the removal of the device, and end when the socket's options say.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3
PORT=7971

# server: accepts a connection and holds it
server() {
	start_bg b python3 -c '
import socket, time
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.bind(("10.0.0.2", '$PORT'))
sock.listen(8)
print("listening", flush=True)
held = sock.accept()
time.sleep(1000)'
	SERVER=$BG_PID
	wait_for 20 said listening
}

# client: waits for the end of a connection while 300 threads of an ordinary user, who may
# have 256 attempts at a time, try to connect again and again. Prints how the connection
# ended, and how many attempts have ended.
client() {
	start_bg a python3 -c '
import errno, os, socket, threading, time

def sdp():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)

def limited(level, option, value):
    """The result of connect() at the limit of the option, and whether it came in time"""
    with sdp() as sock:
        sock.setsockopt(level, option, value)
        begin = time.monotonic()
        err = sock.connect_ex(("10.0.0.9", 9))
        late = time.monotonic() - begin > 30
    return errno.errorcode.get(err, err) + (" late" if late else "")

def lost():
    while True:
        with sdp() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 2)
            err = sock.connect_ex(("10.0.0.9", 9))
        ends.append(err)
        if err == errno.EAGAIN:
            time.sleep(5)

threading.stack_size(65536)
ends = []
sock = sdp()
sock.connect(("10.0.0.2", '$PORT'))
sock.send(b"x")		# unread, so the end is a reset
os.setresuid(1000, 1000, 1000)
print("limits", limited(socket.SOL_SOCKET, socket.SO_SNDTIMEO, b"\1" + bytes(15)),
      limited(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1), flush=True)
for _ in range(300):
    threading.Thread(target=lost, daemon=True).start()
deadline = time.monotonic() + 100
while ends.count(errno.ETIMEDOUT) <= 256 and time.monotonic() < deadline:
    time.sleep(1)
print("waiting", flush=True)
sock.settimeout(40)
try:
    end = "end" if not sock.recv(1) else "data"
except OSError as e:
    end = errno.errorcode.get(e.errno, "timeout")
print("ended", ends.count(errno.ETIMEDOUT), flush=True)
print("result", end, flush=True)
time.sleep(1000)'
	CLIENT=$BG_PID
}

# closing: waits for the end of a connection while 600 others, which were closed before they
# were established, are torn down
closing() {
	start_bg a python3 -c '
import errno, resource, socket

def sdp():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)

resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
sock = sdp()
sock.connect(("10.0.0.2", '$PORT'))
sock.send(b"x")		# unread, so the end is a reset
lost = [sdp() for _ in range(600)]
for other in lost:
    other.setblocking(False)
    other.connect_ex(("10.0.0.9", 9))
for other in lost:
    other.close()
print("waiting", flush=True)
sock.settimeout('"$(scaled 8 14)"')
try:
    end = "end" if not sock.recv(1) else "data"
except OSError as e:
    end = errno.errorcode.get(e.errno, "timeout")
print("result", end, flush=True)'
	CLIENT=$BG_PID
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
ip -n a neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va nud permanent
server
closing
wait_for 90 said waiting
stop_bg "$SERVER"
wait_for 60 said result
ktap_is "a reset arrives while 600 closed attempts to connect are torn down" \
	"$(sed -n 's/^result //p' "$BG_LOG")" ECONNRESET
stop_bg "$CLIENT"
ktap_check "all closed attempts to connect are torn down" wait_for 20 no_sockets
ktap_is "no attempt that its program has closed is counted as a timeout" "$(sdp_counter a timeouts)" 0
net_down

dev_up siw siw || ktap_skip_all "no siw"
ip -n a neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va nud permanent
server
client
wait_for 150 said waiting
stop_bg "$SERVER"
wait_for 60 said result
ktap_is "siw: SO_SNDTIMEO and TCP_SYNCNT limit a connect() that blocks" \
	"$(sed -n 's/^limits //p' "$BG_LOG")" "EINPROGRESS ETIMEDOUT"
ktap_is "siw: a reset arrives while 300 threads connect to a host that never answers" \
	"$(sed -n 's/^result //p' "$BG_LOG")" ECONNRESET
ktap_check "siw: more than 256 attempts end at their limit and make room for others" \
	test "$(sed -n 's/^ended //p' "$BG_LOG")" -gt 256
ktap_check "siw: the device can be removed meanwhile" in_a timeout 20 rdma link delete rda
stop_bg "$CLIENT"
ktap_done
