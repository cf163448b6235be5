#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""held.py CASE PORT: what happens while something is held up in the middle.

Prints "ok CASE" or "not ok CASE: WHY". In the namespace a, where 10.0.0.2 is b."""
import contextlib
import ctypes
import errno
import os
import select
import socket
import subprocess
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
USER_TIMEOUT = 18
PATIENCE = 60 if os.path.exists("/proc/lockdep") else 20   # seconds
PARAMETERS = "/sys/module/test_hold/parameters/"
LIBC = ctypes.CDLL(None, use_errno=True)
PORT = int(sys.argv[2])


class Broken(Exception):
    """Not as it has to be"""


def expect(what, got, *wanted):
    if got not in wanted:
        raise Broken(f"{what}: {got}")


def enter(netns):
    """Sockets belong to the namespace that they are made in"""
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


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


class Held(threading.Thread):
    """Call something in a thread of that name"""

    def __init__(self, call, *args):
        super().__init__(daemon=True)
        self.call, self.args, self.err = call, args, None

    def run(self):
        with open("/proc/thread-self/comm", "w", encoding="ascii") as file:
            file.write("held")
        self.err = error_of(self.call, *self.args)

    def end(self):
        self.join(PATIENCE)
        if self.err is None:
            raise Broken("the call does not return")
        return self.err


@contextlib.contextmanager
def listener():
    enter("b")
    with socket.create_server(("10.0.0.2", PORT)) as lsn:
        enter("a")
        yield lsn


def cm_ids():
    """Connections to us that have not gone altogether"""
    text = subprocess.run(["rdma", "resource", "show", "cm_id"], check=True,
                          capture_output=True, text=True).stdout
    return text.count(f"dst-addr 10.0.0.2:{PORT}")


def case_connect_ended():
    """shutdown() by another thread, when connect() has its addresses: what it goes on
    with is still there"""
    with listener(), socket.socket() as sock, \
            Hold("rdma_lock_handler", "held", ms=10000) as hold:
        thread = Held(sock.connect, ("10.0.0.2", PORT))
        thread.start()
        hold.wait()
        expect("shutdown()", error_of(sock.shutdown, socket.SHUT_RDWR), 0,
               errno.ENOTCONN)
        time.sleep(1)
        expect("cm_ids meanwhile", cm_ids(), 1)
        hold.go()
        expect("connect()", thread.end(), errno.ECONNRESET, errno.ECONNABORTED)
        wait("the cm_id goes", lambda: not cm_ids())


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
