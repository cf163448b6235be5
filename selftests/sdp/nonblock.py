# SPDX-License-Identifier: GPL-2.0
"""Nonblocking connect(), for nonblock.sh: nonblock.py TASK PORT"""

import errno
import os
import resource
import select
import socket
import sys
import threading
import time

PORT = int(sys.argv[2])
NOBODY = "10.0.0.9"
SERVER = "10.0.0.2"


def name(err):
    """Of an errno, 0 included."""
    return errno.errorcode[err] if err else "connected"


def begin(address):
    """A socket, what connect() returns, and how often it slept."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    sock.setblocking(False)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    err = sock.connect_ex((address, PORT))
    slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
    return sock, err, slept


def end(sock):
    """The outcome of a connection that was begun."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    if not poll.poll(60000):
        return "nothing"
    return name(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def sleeps():
    """Of ten calls, one may wait for a lock by chance."""
    least = 1000
    for _ in range(10):
        sock, err, slept = begin(NOBODY)
        with sock:
            least = min(least, slept)
            host = sock.getsockname()[0]
    print(name(err), host, "does not sleep" if not least else f"sleeps {least} times")


def works():
    """The connection, and the local address right after connect()"""
    sock, err, _ = begin(SERVER)
    with sock:
        first = sock.getsockname()
        outcome = end(sock)
        last = sock.getsockname()
        sock.setblocking(True)
        sock.send(b"x")
        echo = sock.recv(1)
    print(name(err), outcome, "same name" if first == last else f"{first} {last}",
          echo.decode())


def owner():
    """The user of the TCP connection below"""
    sock, err, _ = begin(SERVER)
    with sock:
        print(name(err), end(sock), end=" ")
        with open("/proc/net/tcp", encoding="ascii") as file:
            for line in file:
                _, _, peer, state, _, _, _, uid = line.split()[:8]
                if peer.startswith("0200000A:") and state == "01":
                    print("uid", uid, end="")
        print()
        sock.setblocking(True)
        sock.send(b"x")
        sock.recv(1)


def ports():
    """All ports but one of eight are in use, by TCP"""
    sock, err, _ = begin(SERVER)
    with sock:
        print(name(err), end(sock))


def lost():
    """connect() to a host that does not answer returns; whether the attempt goes on"""
    result = []
    thread = threading.Thread(target=lambda: result.append(begin(NOBODY)), daemon=True)
    thread.start()
    thread.join(30)
    if not result:
        print("blocks", flush=True)
        os._exit(1)
    sock, err, _ = result[0]
    print(name(err), name(sock.connect_ex((NOBODY, PORT))), flush=True)
    time.sleep(1000)


def many():
    """300 of an ordinary user: how many fail, and with what"""
    socks = [begin(NOBODY)[0] for _ in range(300)]
    time.sleep(2)
    errors = [s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) for s in socks]
    print("held", sum(not e for e in errors), *sorted({name(e) for e in errors if e}),
          flush=True)
    time.sleep(1000)


def serve():
    """Echo bytes."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as sock:
        sock.bind((SERVER, PORT))
        sock.listen(64)
        print("listening", flush=True)
        while True:
            child = sock.accept()[0]
            with child:
                child.send(child.recv(1))


globals()[sys.argv[1]]()
