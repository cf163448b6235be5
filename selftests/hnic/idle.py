#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""idle.py serve PORT | send PORT

"serve" receives what "send" sends over several connections. When it gets a line it probes
the peer, which answers. "send" sends when it gets a line: many small messages, more for each
connection than for the one before, and a long one. Each prints "ready" when all are
connected."""
import os
import socket
import sys
import time

ADDRESS = "10.0.0.2"
# one record of a NIC for each message: a block has 169
SMALL = range(160, 176)
LONG = 1300


def pattern(count):
    """Messages of the connection with so many small ones"""
    return [bytes([n & 255]) * 20 for n in range(count)] + [bytes([count & 255]) * LONG]


def serve(port):
    with socket.create_server((ADDRESS, port), backlog=len(SMALL)) as listener:
        print("listening", flush=True)
        socks = [listener.accept()[0] for _ in SMALL]
    for sock in socks:
        sock.settimeout(90)
        sock.sendall(sock.recv(1))
    print("ready", flush=True)
    sys.stdin.readline()
    for sock in socks:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for count, sock in zip(SMALL, socks):
        wanted, data = b"".join(pattern(count)), b""
        while len(data) < len(wanted):
            data += sock.recv(1 << 16) or bytes(len(wanted))
        if data != wanted:
            print("wrong data after", count, "messages", flush=True)
    print("received", flush=True)


def awake(seconds):
    """Wake each processor again and again: deferrable timers do not run while one is idle"""
    cpus = sorted(os.sched_getaffinity(0))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            time.sleep(0.01)


def send(port):
    socks = [socket.create_connection((ADDRESS, port), timeout=60) for _ in SMALL]
    for sock in socks:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(b"x")
        sock.recv(1)
    print("ready", flush=True)
    sys.stdin.readline()
    for count, sock in zip(SMALL, socks):
        for message in pattern(count):
            sock.sendall(message)
    print("sent", flush=True)
    awake(60)


{"serve": serve, "send": send}[sys.argv[1]](int(sys.argv[2]))
