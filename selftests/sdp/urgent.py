#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""urgent.py PROTOCOL PORT CASE: no call reads past an urgent byte. TCP is PROTOCOL 0, SDP 257

The server is in the namespace b, the client in a. The case "held" takes the kernel module
test_hold, which stops the reception when it is about to set the urgent mark. The others do
without. Each prints the result."""
import array
import ctypes
import fcntl
import os
import signal
import socket
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
SIOCATMARK = 0x8905
HOLD = "/sys/module/test_hold/parameters/"
LIBC = ctypes.CDLL(None, use_errno=True)
PROTOCOL = int(sys.argv[1])
PORT = int(sys.argv[2])


def new(netns):
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL)
    sock.settimeout(60)
    return sock


def pair():
    lis = new("b")
    lis.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    lis.bind(("10.0.0.2", PORT))
    lis.listen()
    cli = new("a")
    cli.connect(("10.0.0.2", PORT))
    srv = lis.accept()[0]
    for sock in cli, srv:
        sock.setblocking(True)
    cli.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return cli, srv


def at_mark(sock):
    answer = array.array("i", [0])
    fcntl.ioctl(sock, SIOCATMARK, answer)
    return answer[0]


def urgent(sock):
    try:
        return sock.recv(1, socket.MSG_OOB).decode()
    except OSError as err:
        return err.strerror


def read(sock, size, flags):
    got = sock.recv(size, flags).decode()
    return f"read {got}, mark {at_mark(sock)}, urgent {urgent(sock)}"


def hits():
    with open(HOLD + "hits", encoding="ascii") as file:
        return int(file.read())


def run(cpu, function):
    """A thread, on one processor"""
    def body():
        os.sched_setaffinity(0, {cpu})
        function()
    thread = threading.Thread(target=body)
    thread.start()
    return thread


def held():
    """
    A reader that waits for more is awakened by a signal. The urgent byte has come, but the
    reception, on the other processor, is held up.
    """
    cli, srv = pair()
    result = []
    signal.signal(signal.SIGUSR1, lambda *_: None)
    cli.send(b"ab")
    reader = run(1, lambda: result.append(read(srv, 100, socket.MSG_WAITALL)))
    time.sleep(1)
    sender = run(0, lambda: cli.send(b"!", socket.MSG_OOB))
    until = time.monotonic() + 20
    while not hits():
        if time.monotonic() > until:
            sys.exit("nothing is held")
        time.sleep(0.01)
    signal.pthread_kill(reader.ident, signal.SIGUSR1)
    sender.join()
    cli.send(b"cd")
    reader.join()
    return result[0]


def send_around(cli):
    cli.send(b"ab")
    cli.send(b"!", socket.MSG_OOB)
    cli.send(b"cd")


def waitall():
    cli, srv = pair()
    send_around(cli)
    time.sleep(0.5)
    return read(srv, 100, socket.MSG_WAITALL)


def splice():
    cli, srv = pair()
    send_around(cli)
    time.sleep(0.5)
    pipe = os.pipe()
    got = LIBC.splice(srv.fileno(), None, pipe[1], None, ctypes.c_size_t(100), 0)
    got = os.read(pipe[0], got).decode()
    return f"read {got}, mark {at_mark(srv)}, urgent {urgent(srv)}"


ROUNDS = 2000


def stress():
    """Letters, then an urgent byte, again and again: the reader stops at each that it sees"""
    cli, srv = pair()
    passed = []

    def writer():
        for _ in range(ROUNDS):
            cli.send(b"ab")
            cli.send(b"!", socket.MSG_OOB)
            while not passed:
                time.sleep(0)
            passed.clear()

    thread = threading.Thread(target=writer)
    thread.start()
    wrong = 0
    for _ in range(ROUNDS):
        got = srv.recv(3, socket.MSG_WAITALL)
        wrong += got != b"ab" or not at_mark(srv) or urgent(srv) != "!"
        passed.append(True)
    thread.join()
    return f"{wrong} wrong of {ROUNDS}"


print({"held": held, "waitall": waitall, "splice": splice, "stress": stress}[sys.argv[3]]())
