#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""loopback.py [lo] ADDRESS...: listeners at loopback addresses beside listeners at ADDRESS
and the wildcard, and connections to them. With "lo" there is a device on lo, and connections
between loopback addresses carry data, too.

Prints "CASE: RESULT" for each."""
import errno
import itertools
import socket
import sys
import threading

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


def echo(sock):
    with sock:
        while data := sock.recv(65536):
            sock.sendall(data)


def names(own, other):
    """Do both ends agree on their addresses?"""
    return (own.getsockname()[:2] == other.getpeername()[:2]
            and own.getpeername()[:2] == other.getsockname()[:2])


def talk(family, at, to):
    """A client at any address, a server at @at, which the client knows as @to"""
    data = bytes(range(256)) * 2000
    server, _ = listen(family, at, 0)
    port = server.getsockname()[1]
    client = new(family)
    # without a time limit: connect() blocks, elsewhere it waits with poll()
    client.settimeout(None)
    client.connect((to, port))
    child, peer = server.accept()
    print(f"{to} at {at}: from {peer[0]}, to {child.getsockname()[0]},",
          client.getpeername()[:2] == (to, port), names(client, child))
    thread = threading.Thread(target=echo, args=(child,))
    thread.start()
    sender = threading.Thread(target=client.sendall, args=(data,))
    sender.start()
    got = b""
    while len(got) < len(data) and (piece := client.recv(65536)):
        got += piece
    print(f"{to} at {at}: the data is", "right" if got == data else "wrong")
    sender.join()
    client.close()
    thread.join()
    server.close()


def apart():
    """Two servers at a port, each with its own address"""
    port = next(PORTS)
    servers = [listen(socket.AF_INET, addr, port)[0] for addr in ("127.0.0.1", "127.0.0.2")]
    for number, addr in enumerate(("127.0.0.1", "127.0.0.2")):
        with new(socket.AF_INET) as client:
            client.connect((addr, port))
            child, _ = servers[number].accept()
            print(f"the server at {addr}: {child.getsockname()[0]}")
            child.close()
    for server in servers:
        server.close()


ADDRESSES = sys.argv[1:]
if ADDRESSES[0] == "lo":
    ADDRESSES.pop(0)
    for fam, loop in LOOPBACK.items():
        talk(fam, loop, loop)
        talk(fam, ANY[fam], loop)
    talk(socket.AF_INET, "127.0.0.2", "127.0.0.2")
    apart()
for addr in ADDRESSES:
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
