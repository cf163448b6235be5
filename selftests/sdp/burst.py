#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Ends of a connection that carries a burst and then little or nothing.

    burst.py serve PORT [ANSWER]    waits for a line when it has a client, then reads all;
                                    with ANSWER it sends 1 MB a second after 4 MB
    burst.py send ADDRESS PORT GAP  waits for a line, sends 4 MB, then, if GAP is not
                                    0, a byte each GAP seconds, until its input ends;
                                    reads what comes
"""
import select
import socket
import sys
import time

BURST = bytes(4 << 20)


def answer(sock):
    """Much, at a steady pace, until the client has gone"""
    try:
        while True:
            sock.sendall(bytes(64 << 10))
            time.sleep(0.06)
    except OSError:
        pass


def serve(port, answers):
    """One client, to its end"""
    with socket.create_server(("0.0.0.0", port)) as listener:
        sock = listener.accept()[0]
        into = bytearray(1 << 20)
        print("accepted", flush=True)
        sys.stdin.readline()
        left = len(BURST)
        while left > 0 or not answers:
            got = sock.recv_into(into)
            if not got:
                return
            left -= got
        answer(sock)


def send(address, port, gap):
    """A burst, then a byte now and then"""
    sock = socket.create_connection((address, port))
    print("connected", flush=True)
    sys.stdin.readline()
    sock.sendall(BURST)
    print("sent", flush=True)
    while True:
        ready = select.select([sys.stdin, sock], [], [], gap or None)[0]
        if sys.stdin in ready:
            break
        if ready:
            sock.recv(1 << 20)
        else:
            sock.send(b"x")


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]), len(sys.argv) > 3)
else:
    send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
