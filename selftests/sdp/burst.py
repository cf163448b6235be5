#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Ends of a connection that carries a burst and then little or nothing.

    burst.py serve PORT             waits for a line when it has a client, then reads all
    burst.py send ADDRESS PORT GAP  waits for a line, sends 4 MB, then, if GAP is not
                                    0, a byte each GAP seconds, until its input ends
"""
import select
import socket
import sys

BURST = bytes(4 << 20)


def serve(port):
    """One client, to its end"""
    with socket.create_server(("0.0.0.0", port)) as listener:
        sock = listener.accept()[0]
        into = bytearray(1 << 20)
        print("accepted", flush=True)
        sys.stdin.readline()
        while sock.recv_into(into):
            pass


def send(address, port, gap):
    """A burst, then a byte now and then"""
    sock = socket.create_connection((address, port))
    print("connected", flush=True)
    sys.stdin.readline()
    sock.sendall(BURST)
    print("sent", flush=True)
    while not select.select([sys.stdin], [], [], gap or None)[0]:
        sock.send(b"x")


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
