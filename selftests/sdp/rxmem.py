#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rxmem.py send|receive ADDRESS PORT: who receives does it by splice(), so that the
pages that came are in a pipe when others are asked for, which mostly fails."""
import fcntl
import os
import socket
import sys

TOTAL = 2 << 20
PATTERN = bytes(n % 251 for n in range(TOTAL))
F_SETPIPE_SZ = 1031
HOLD = 512 << 10    # bytes in the pipe


def send(address):
    with socket.create_server(address) as lsn:
        conn = lsn.accept()[0]
        conn.sendall(PATTERN)
        conn.recv(1)


def receive(address):
    sock = socket.create_connection(address)
    out, into = os.pipe()
    fcntl.fcntl(into, F_SETPIPE_SZ, 1 << 20)
    got, held = b"", 0
    while len(got) + held < TOTAL:
        if held >= HOLD:
            data = os.read(out, held)
            got, held = got + data, held - len(data)
        held += os.splice(sock.fileno(), into, 32 << 10)
    while held:
        data = os.read(out, held)
        got, held = got + data, held - len(data)
    sys.exit(got != PATTERN)


{"send": send, "receive": receive}[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
