#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""latency.py server|pingpong|bulk ADDRESS PORT. Traffic for latency.sh; run it under sdp-run.

server: serves one pingpong client, then one bulk client.
pingpong: sends ROUNDS messages, and waits for the answer to each.
bulk: sends BULK bytes from a non-blocking socket, then waits for one answer.

Exit status 0 if all bytes arrived."""
import select
import socket
import sys

ROUNDS, SIZE, PIECE, BULK = 20, 1000, 1 << 16, 8 << 20


def exactly(sock, count):
    while count:
        data = sock.recv(min(count, PIECE))
        if not data:
            raise EOFError("the peer has ended")
        count -= len(data)


def server(where):
    with socket.create_server(where) as listener:
        sock, _ = listener.accept()
        for _ in range(ROUNDS):
            exactly(sock, SIZE)
            sock.sendall(bytes(SIZE))
        sock, _ = listener.accept()
        exactly(sock, BULK)
        sock.sendall(b"x")


def pingpong(where):
    with socket.create_connection(where) as sock:
        for _ in range(ROUNDS):
            sock.sendall(bytes(SIZE))
            exactly(sock, SIZE)


def bulk(where):
    left, poll = BULK, select.poll()
    with socket.create_connection(where) as sock:
        poll.register(sock, select.POLLOUT)
        sock.setblocking(False)
        while left:
            poll.poll()
            try:
                left -= sock.send(bytes(min(left, PIECE)))
            except BlockingIOError:
                pass
        sock.setblocking(True)
        exactly(sock, 1)


globals()[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
