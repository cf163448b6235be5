#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One thread of a program is in send() when another comes back from recv().

fc_threads.py serve|send ADDRESS PORT: the server says a word when it has read
nothing for long, reads all then, and answers.
"""
import socket
import sys
import threading
import time

TOTAL = 4 << 20


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


{"serve": serve, "send": send}[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
