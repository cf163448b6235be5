#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Connections whose readers wait, for mem.sh.

mem.py serve|send|both ADDRESS PORT COUNT DIR: the server accepts so many connections. "send"
sends on all of them until nothing more is taken, and again what is left when the file
DIR/read exists, which tells the server to read; each byte is checked. "both" needs a server
of 1 connection: it sends what the server does not read, and reads what the server sends.
"""
import os
import select
import socket
import sys
import time

TOTAL = 1280 << 10
PATTERN = bytes(n % 251 for n in range(TOTAL))
AHEAD = 64 << 10   # at least
ANSWER = PATTERN * 4
PROTOCOL = 257

WHAT, ADDRESS, PORT, COUNT, DIR = sys.argv[1:]
COUNT = int(COUNT)


def stream():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL)


def told(name):
    return os.path.exists(os.path.join(DIR, name))


def wait_for(name):
    while not told(name):
        time.sleep(0.05)


def say(text):
    print(text, flush=True)


def read_all(conns):
    """Read each to its end. Returns how many had all bytes, in order."""
    got = {conn: 0 for conn in conns}
    right = 0
    while got:
        for conn in select.select(list(got), [], [])[0]:
            data = conn.recv(65536)
            at = got[conn]
            if not data or data != PATTERN[at:at + len(data)]:
                right += not data and at == TOTAL
                del got[conn]
                continue
            got[conn] = at + len(data)
    return right


def serve():
    with stream() as lsn:
        lsn.bind((ADDRESS, int(PORT)))
        lsn.listen(COUNT)
        say("listening")
        conns = [lsn.accept()[0] for _ in range(COUNT)]
        say("accepted")
        if COUNT == 1:
            # one that does not read before its answer is sent
            wait_for("answer")
            conns[0].sendall(ANSWER)
            conns[0].shutdown(socket.SHUT_WR)
            say("answered")
        wait_for("read")
        say(f"right: {read_all(conns)}")
        for conn in conns:
            conn.close()


def send_some(conn, sent):
    """As much as is taken now. Returns the bytes sent so far."""
    try:
        while sent < TOTAL:
            sent += conn.send(PATTERN[sent:sent + 32768])
    except BlockingIOError:
        pass
    return sent


def connect(count):
    conns = [stream() for _ in range(count)]
    for conn in conns:
        conn.connect((ADDRESS, int(PORT)))
        conn.setblocking(False)
    return conns


def send():
    sent = {conn: 0 for conn in connect(COUNT)}
    say("connected")
    wait_for("fill")
    idle = calls = 0
    done = []
    while sent:
        ready = select.select([], list(sent), [], 1)[1]
        for conn in ready:
            before = sent[conn]
            sent[conn] = send_some(conn, before)
            calls += sent[conn] == before
            if sent[conn] == TOTAL:
                del sent[conn]
                if told("read"):
                    conn.close()
                else:
                    done.append(conn)
        idle = 0 if ready else idle + 1
        if idle == 3 and not told("read"):
            # for nothing: poll() had said that there was room
            say(f"full, for nothing: {calls}")
            wait_for("read")
    say("sent")
    # a connection that is closed before is reset when net.sdp.fin_timeout is over
    wait_for("read")
    for conn in done:
        conn.close()


def both():
    conn, = connect(1)
    wait_for("fill")
    sent = send_some(conn, 0)
    while sent < TOTAL and (sent < AHEAD or select.select([], [conn], [], 2)[1]):
        sent = send_some(conn, sent)
    with open(os.path.join(DIR, "answer"), "x", encoding="ascii"):
        pass
    conn.setblocking(True)
    got = b""
    while len(got) < len(ANSWER):
        data = conn.recv(65536)
        if not data:
            break
        got += data
    say("answer right" if got == ANSWER else f"answer wrong: {len(got)}")
    conn.sendall(PATTERN[sent:])
    conn.close()


{"serve": serve, "send": send, "both": both}[WHAT]()
