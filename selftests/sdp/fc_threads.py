#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One thread of a program is in send() when another comes back from recv().

fc_threads.py serve|send ADDRESS PORT: the server says a word when it has read
nothing for long, reads all then, and answers.

Or splice() waits for the answer to what send() has sent.

fc_threads.py late|splice ADDRESS PORT: the server reads nothing before there is
another connection, and answers when it has read all.
"""
import os
import socket
import sys
import threading
import time

TOTAL = 4 << 20
MOST = 448 << 10    # more than the ring, no more than ring and send buffer


def serve(addr):
    with socket.create_server(addr) as listener:
        print("listening", flush=True)
        conn, _ = listener.accept()
    with conn:
        time.sleep(0.5)
        conn.sendall(b"word")
        time.sleep(0.5)
        left = TOTAL
        while left:
            left -= len(conn.recv(65536)) or sys.exit("end of file too early")
        conn.sendall(b"done")


def send(addr):
    with socket.create_connection(addr) as conn:
        writer = threading.Thread(target=conn.sendall, args=(bytes(TOTAL),), daemon=True)
        writer.start()
        if conn.recv(4, socket.MSG_WAITALL) != b"word":
            sys.exit("no word")
        if not writer.is_alive():
            sys.exit("all was sent before anything was read")
        writer.join(30)
        if writer.is_alive():
            sys.exit("the writer waits")
        if conn.recv(4, socket.MSG_WAITALL) != b"done":
            sys.exit("no answer")


def late(addr):
    with socket.create_server(addr) as listener:
        print("listening", flush=True)
        conn, other = listener.accept()[0], listener.accept()[0]
    with conn, other:
        left = MOST
        while left:
            left -= len(conn.recv(65536)) or sys.exit("end of file too early")
        conn.sendall(b"done")
        conn.recv(1)


def splice(addr):
    pipe = os.pipe()
    with socket.create_connection(addr) as conn:
        conn.sendall(bytes(MOST))
        with socket.create_connection(addr):
            os.splice(conn.fileno(), pipe[1], 4)
    if os.read(pipe[0], 4) != b"done":
        sys.exit("no answer")


ROLES = {"serve": serve, "send": send, "late": late, "splice": splice}
ROLES[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
