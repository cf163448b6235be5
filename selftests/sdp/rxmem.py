#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rxmem.py send ADDRESS PORT | receive ADDRESS PORT GO: the receiver connects, waits for the
file GO, and reads by splice(), so that the pages that came are in a pipe when others are
asked for, which fails."""
import fcntl
import os
import socket
import sys
import time

TOTAL = 2 << 20
PATTERN = bytes(n % 251 for n in range(TOTAL))
F_SETPIPE_SZ = 1031
HOLD = 512 << 10    # bytes in the pipe


def send(address):
    with socket.create_server(address) as lsn:
        conn = lsn.accept()[0]
        conn.sendall(PATTERN)
        conn.recv(1)


def receive(address, start):
    sock = socket.create_connection(address)
    print("connected", flush=True)
    while not os.path.exists(start):
        time.sleep(0.05)
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
    print("right" if got == PATTERN else "wrong", flush=True)


ADDRESS = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "send":
    send(ADDRESS)
else:
    receive(ADDRESS, sys.argv[4])
