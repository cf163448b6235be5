#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""held.py CASE PORT: what happens while something is held up in the middle.

Prints "ok CASE" or "not ok CASE: WHY". In the namespace a, where 10.0.0.2 is b."""
import errno
import os
import select
import socket
import subprocess
import sys
import time

USER_TIMEOUT = 18
PATIENCE = 60 if os.path.exists("/proc/lockdep") else 20   # seconds
PARAMETERS = "/sys/module/test_hold/parameters/"
PORT = int(sys.argv[2])


class Broken(Exception):
    """Not as it has to be"""


def expect(what, got, *wanted):
    if got not in wanted:
        raise Broken(f"{what}: {got}")


def error_of(call, *args):
    """Its errno, 0 if it has none"""
    try:
        call(*args)
    except OSError as err:
        return err.errno
    return 0


def wait(what, until, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise Broken("never: " + what)
        time.sleep(0.02)


class Hold:
    """Those tasks are held up there until go()"""

    def __init__(self, symbol, comm, **params):
        subprocess.run(["modprobe", "test_hold", "symbol=" + symbol, "comm=" + comm] +
                       [f"{name}={value}" for name, value in params.items()], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go()
        subprocess.run(["modprobe", "-r", "test_hold"], check=True)

    @staticmethod
    def go():
        with open(PARAMETERS + "go", "w", encoding="ascii") as file:
            file.write("1")

    @staticmethod
    def hits():
        with open(PARAMETERS + "hits", encoding="ascii") as file:
            return int(file.read())

    def wait(self):
        wait("held up", self.hits)


def case_late_data():
    """The peer accepts and sends something when connect() has just been given up"""
    with socket.socket() as sock, \
            Hold("sdp_parse_hello_ack", "kworker", ms=10000) as hold:
        sock.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 500)
        sock.setblocking(False)
        expect("connect()", sock.connect_ex(("10.0.0.1", PORT)), errno.EINPROGRESS)
        hold.wait()
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        expect("poll()", len(poll.poll(PATIENCE * 1000)), 1)
        expect("recv()", error_of(sock.recv, 100), errno.ETIMEDOUT)
        hold.go()
        expect("recv(), again", error_of(sock.recv, 100), errno.ENOTCONN)


def main():
    name = sys.argv[1]
    try:
        globals()["case_" + name]()
    except (Broken, OSError) as err:
        print(f"not ok {name}: {err!r}")
    else:
        print("ok", name)


main()
