#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Many connections at a time, to listeners with a small backlog.

    crowd.py serve PORT BACKLOG...  so many listeners; accepts all, until it is ended
    crowd.py call ADDRESS PORT N    N at a time; says how many were established
"""
import errno
import os
import select
import socket
import sys
import time


def listener(port, backlog, shared):
    """At all addresses"""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
    sock.bind(("0.0.0.0", port))
    sock.listen(backlog)
    return sock


def serve(port, backlogs):
    """Keeps what it accepts"""
    listeners = [listener(port, backlog, len(backlogs) > 1) for backlog in backlogs]
    print("listening", flush=True)
    kept = []
    while True:
        for ready in select.select(listeners, [], [])[0]:
            kept.append(ready.accept())


def call(address, port, n):
    """All begin before the first one is waited for"""
    waiting, errors = {}, []
    for _ in range(n):
        sock = socket.socket()
        sock.setblocking(False)
        err = sock.connect_ex((address, port))
        if err not in (0, errno.EINPROGRESS):
            errors.append(err)
        else:
            waiting[sock.fileno()] = sock
    done = 0
    end = time.monotonic() + 60
    while waiting and time.monotonic() < end:
        for fd in select.select([], list(waiting), [], 1)[1]:
            err = waiting.pop(fd).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if err:
                errors.append(err)
            done += not err
    print(f"{done} of {n}", *(os.strerror(err) for err in set(errors)))


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]), [int(arg) for arg in sys.argv[3:]])
else:
    call(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
