#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# siw blocks in connect() as long as TCP does, and the end of an attempt waits in the core
# of RDMA for its result. Connections to a host that never answers, more than a workqueue
# runs at once, do not delay the end of another connection.

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

# client: waits for the end of a connection while 300 others go nowhere. Prints how the
# connection ended, and whether most calls of connect() were still in the device.
client() {
	start_bg a python3 -c '
import errno, os, socket, threading

def connected(port, address, syncnt):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    if syncnt:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, syncnt)
    return sock, sock.connect_ex((address, port))

def lost():
    connected(9, "10.0.0.9", 1)
    returned.append(1)

threading.stack_size(65536)
returned = []
sock, err = connected('$PORT', "10.0.0.2", 0)
sock.send(b"x")		# unread, so the end is a reset
for _ in range(300):
    threading.Thread(target=lost, daemon=True).start()
# the deadline of TCP_SYNCNT is over, the device goes on
threading.Event().wait(15)
print("waiting", flush=True)
sock.settimeout(40)
try:
    end = "end" if not sock.recv(1) else "data"
except OSError as e:
    end = errno.errorcode.get(e.errno, "timeout")
busy = "busy" if len(returned) < 100 else f"{len(returned)} returned"
print("result", end, busy, flush=True)
os._exit(0)'
	CLIENT=$BG_PID
}

# closing: the same while the teardown of 600 connections is under way, which went nowhere
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
ktap_is "a reset arrives while 600 closed connections go nowhere" \
	"$(sed -n 's/^result //p' "$BG_LOG")" ECONNRESET
stop_bg "$CLIENT"
ktap_check "all are torn down" wait_for 20 no_sockets
ktap_is "a connection that its program has closed does not time out" "$(sdp_counter a timeouts)" 0
net_down

dev_up siw siw || ktap_skip_all "no siw"
ip -n a neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va nud permanent
server
client
wait_for 90 said waiting
stop_bg "$SERVER"
wait_for 60 said result
ktap_is "a reset arrives while 300 connections go nowhere" \
	"$(sed -n 's/^result //p' "$BG_LOG")" "ECONNRESET busy"
stop_bg "$CLIENT"
ktap_done
