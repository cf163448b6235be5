#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""orphan.py serve|hold|fill HOST PORT | read HOST PORT HOW BYTES: an end that has
closed, and one that only reads then.
The server sends BYTES and closes; HOW is "open", or "unread" if there is something
that the server has not read then.
"hold" accepts SDP connections and reads nothing; "fill" makes thirty, sends until nothing
more is taken, and ends.
The reader reads as many bytes as a line of its input says, and all that is left at
the end of that; then it prints how many came, and an errno, or - for none. At a line
"finish" it sends no more."""
import errno
import socket
import sys

KB = 1 << 10
IPPROTO_SDP = 257


def serve(conn):
    how, count = conn.recv(64, socket.MSG_WAITALL).split()[:2]
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1024 * KB)
    conn.sendall(bytes(int(count)))
    # until the bytes that are to stay unread are here
    while how == b"unread" and not conn.recv(1, socket.MSG_PEEK):
        pass
    conn.close()
    print("closed", flush=True)


def read(address, how, count):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * KB)
    sock.connect(address)
    sock.send(f"{how} {count}".encode().ljust(64))
    if how == "unread":
        sock.send(b"x")
    print("connected", flush=True)
    total, result = 0, "-"
    try:
        for line in iter(sys.stdin.readline, ""):
            if line == "finish\n":
                sock.shutdown(socket.SHUT_WR)
                continue
            total += len(sock.recv(int(line), socket.MSG_WAITALL))
        while data := sock.recv(32 * KB):
            total += len(data)
    except OSError as err:
        result = errno.errorcode[err.errno]
    print(total, result, flush=True)


def hold():
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SDP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KB)
    listener.bind(ADDRESS)
    listener.listen(64)
    print("listening", flush=True)
    held = []
    while True:
        held.append(listener.accept())


def fill():
    held = []
    for _ in range(30):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SDP)
        sock.connect(ADDRESS)
        sock.setblocking(False)
        held.append(sock)
        try:
            while sock.send(bytes(64 * KB)):
                pass
        except BlockingIOError:
            pass


ADDRESS = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "read":
    read(ADDRESS, sys.argv[4], int(sys.argv[5]))
    sys.exit()
if sys.argv[1] in ("hold", "fill"):
    hold() if sys.argv[1] == "hold" else fill()
    sys.exit()
with socket.create_server(ADDRESS) as listener:
    print("listening", flush=True)
    while True:
        serve(listener.accept()[0])
