#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""zcopy_readers.py serve ADDRESS PORT | send ADDRESS PORT

serve: two threads wait for data of a connection. Each reads once, 200000 bytes at most.
send: sends 300000 bytes from one buffer, and waits for the end. Run both with sdp-run.
The server prints "ok" if in each of 8 rounds both readers return in 15 seconds, with bytes
that follow each other."""
import socket
import sys
import threading
import time

TOTAL, EACH, ROUNDS = 300000, 200000, 8
DATA = bytes(i * 7 % 251 for i in range(TOTAL))


def serve(address):
    """Two readers of one connection, several times: it depends on which one comes first"""
    with socket.create_server(address) as listener:
        print("listening", flush=True)
        results = [two_readers(listener.accept()[0]) for _ in range(ROUNDS)]
    print("ok" if set(results) == {"ok"} else results, flush=True)


def two_readers(conn):
    """ok, or what they got"""
    got = []

    def read():
        buffer = bytearray(EACH)
        got.append(bytes(buffer[:conn.recv_into(buffer)]))

    threads = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)     # both wait
    conn.sendall(b"+")
    end = time.monotonic() + 15
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    conn.shutdown(socket.SHUT_RDWR)
    sizes = list(map(len, got))
    if len(got) != 2 or DATA[:sum(sizes)] not in (got[0] + got[1], got[1] + got[0]):
        return f"{len(got)} readers returned: {sizes}"
    return "ok"


def send(address):
    """One send, without copies"""
    for _ in range(ROUNDS):
        with socket.create_connection(address) as sock:
            sock.recv(1)
            sock.sendall(DATA)
            sock.recv(1)


{"serve": serve, "send": send}[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
