#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""loopback.py ADDRESS...: listeners at loopback addresses beside such at ADDRESS and
the wildcard, and who reaches them.

Prints "CASE: RESULT" for each. A server keeps to the addresses that it was given."""
import errno
import itertools
import socket
import sys

PORTS = itertools.count(7600)
LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
ANY = {socket.AF_INET: "0.0.0.0", socket.AF_INET6: "::"}


def new(family):
    sock = socket.socket(family)
    sock.settimeout(20)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock


def listen(family, addr, port):
    sock = new(family)
    try:
        sock.bind((addr, port))
        sock.listen(5)
    except OSError as err:
        return sock, errno.errorcode[err.errno]
    return sock, "listens"


def connect(family, to):
    with new(family) as sock:
        try:
            sock.connect(to)
        except OSError as err:
            return errno.errorcode[err.errno]
    return "connected"


def listeners(family, addrs):
    """All of them at one port, in this order"""
    port = next(PORTS)
    made = [listen(family, addr, port) for addr in addrs]
    print(f"{' then '.join(addrs)}: {[result for _, result in made]}")
    for sock, _ in made:
        sock.close()


def chosen(family, addr):
    """The kernel chooses a port that no other socket has"""
    own = {listen(family, LOOPBACK[family], 0)[0] for _ in range(3)}
    ports = {sock.getsockname()[1] for sock in own}
    print(f"{LOOPBACK[family]}, three ports:", len(ports), 0 in ports)
    other, result = listen(family, ANY[family], min(ports))
    print(f"the wildcard at one of these: {result}")
    for sock in own | {other}:
        sock.close()


def reached(family, addr):
    """Requests to another address are refused"""
    port = next(PORTS)
    sock, _ = listen(family, LOOPBACK[family], port)
    print(f"{addr} at a listener of {LOOPBACK[family]}:", connect(family, (addr, port)))
    sock.close()


def loopback(family):
    """Printed for the test to compare with what is documented"""
    port = next(PORTS)
    sock, _ = listen(family, ANY[family], port)
    for to in LOOPBACK[family], ANY[family]:
        print(f"connect {to}:", connect(family, (to, port)))
    sock.close()


for addr in sys.argv[1:]:
    fam = socket.AF_INET6 if ":" in addr else socket.AF_INET
    listeners(fam, [LOOPBACK[fam], addr])
    listeners(fam, [addr, LOOPBACK[fam]])
    listeners(fam, [LOOPBACK[fam], LOOPBACK[fam]])
    listeners(fam, [LOOPBACK[fam], ANY[fam]])
    listeners(fam, [ANY[fam], LOOPBACK[fam]])
    if fam == socket.AF_INET:
        listeners(fam, [LOOPBACK[fam], "127.0.0.2"])
    chosen(fam, addr)
    reached(fam, addr)
    loopback(fam)
