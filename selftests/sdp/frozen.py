#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""frozen.py HOST PORT: sends each peer more than it takes, closes the socket, and prints
the peer's letter and the error, or "-".

The first byte from the peer is that letter: u sets TCP_USER_TIMEOUT, k sets keepalive, l
and 0 set SO_LINGER to 1 and 0 seconds. Others set nothing."""
import errno
import socket
import sys

USER_TIMEOUT = 18
# byte n of the stream is 7 * n
BLOCK = bytes(n * 7 & 255 for n in range(1 << 20))
# More than any peer takes. Made before timers run, as it takes seconds on a slow machine
LONG = BLOCK * 64


def fill(conn):
    """Send as much as there is room for"""
    conn.setblocking(False)
    pos = 0
    try:
        while True:
            pos = (pos + conn.send(BLOCK[pos:])) % 256
    except BlockingIOError:
        conn.setblocking(True)


def set_timers(conn, how):
    if how == b"u":
        conn.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 1500)
    if how == b"k":
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def serve(conn):
    how = conn.recv(1)
    set_timers(conn, how)
    result = "-"
    try:
        if how in b"uk":
            conn.sendall(LONG)
        else:
            fill(conn)
        if how in b"l0":
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            bytes((1, 0, 0, 0, how == b"l", 0, 0, 0)))
        conn.close()
    except OSError as err:
        result = errno.errorcode[err.errno]
        conn.close()
    print(how.decode(), result, flush=True)


with socket.create_server((sys.argv[1], int(sys.argv[2]))) as listener:
    print("listening", flush=True)
    while True:
        serve(listener.accept()[0])
