# SPDX-License-Identifier: GPL-2.0
"""Connections that take memory, for memcg.sh and memcost.sh.

memcg.py serve|connect PORT COUNT FULL [PROTOCOL]: so many connections, without reading
them; sends on so many of them until nothing more is taken. PROTOCOL 0 is TCP. Continues
with each line of its input, and says where it is.
"""

import contextlib
import resource
import select
import socket
import sys

PORT, COUNT, FULL = (int(arg) for arg in sys.argv[2:5])
PROTOCOL = int(sys.argv[5]) if len(sys.argv) > 5 else 257


def pause(said):
    """Say it, and wait for a line."""
    print(said, flush=True)
    sys.stdin.readline()


def stream():
    """A new socket."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL)


def serve():
    """Accept them, and read nothing."""
    with stream() as sock:
        sock.bind(("10.0.0.2", PORT))
        sock.listen(COUNT)
        pause("ready")
        held = [sock.accept()[0] for _ in range(COUNT)]
        pause("accepted")
        del held


def fill(socks):
    """Send until the buffers of both sides are full, however slowly the peers take data.
    Returns the number of bytes."""
    sent = 0
    room = select.poll()
    for sock in socks:
        sock.setblocking(False)
        room.register(sock, select.POLLOUT)
    of_fd = {sock.fileno(): sock for sock in socks}
    while ready := room.poll(500):
        for fd, _ in ready:
            with contextlib.suppress(BlockingIOError):
                sent += of_fd[fd].send(bytes(65536))
    return sent


def connect():
    """Make them, and fill some."""
    pause("ready")
    held = []
    for _ in range(COUNT):
        held.append(stream())
        held[-1].connect(("10.0.0.2", PORT))
    pause("connected")
    pause(f"full: {fill(held[:FULL])} bytes")


HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (HARD, HARD))
if sys.argv[1] == "serve":
    serve()
else:
    connect()
