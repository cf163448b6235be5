#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""IPPROTO_SDP: SDP sockets made by the Internet families. One process with
sockets in both namespaces; TAP."""
import asyncio
import ctypes
import errno
import os
import random
import socket
import struct
import sys
import threading
import time

AF_SDP, IPPROTO_SDP, SOL_SDP, SDP_DEVICE, SDP_FALLBACK = 27, 257, 1027, 3, 32
SDP_REUSEPORT, SDP_ZEROCOPY = 1, 7
INET, INET6, STREAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM
LIBC = ctypes.CDLL(None, use_errno=True)
count = failed = 0
port = 6300


def enter(netns):
    with open("/run/netns/" + netns) as f:
        if LIBC.setns(f.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")


def ok(what, good, detail=""):
    global count, failed
    count += 1
    print("%sok %d - %s" % ("" if good else "not ", count, what))
    if not good:
        failed += 1
        print("# %s" % (detail,))
    sys.stdout.flush()


def skip(what, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, what, why))


def same(what, got, wanted):
    ok(what, got == wanted, "got %r, wanted %r" % (got, wanted))


def fails(what, number, call, *args):
    try:
        call(*args)
        ok(what, False, "no error")
    except OSError as e:
        same(what, errno.errorcode[e.errno], errno.errorcode[number])


def door(netns, family=INET, kind=STREAM):
    enter(netns)
    return socket.socket(family, kind, IPPROTO_SDP)


def new_port():
    global port
    port += 1
    return port


def identity(s):
    return (s.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN),
            s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL),
            s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE))


def users():
    with open("/proc/modules") as f:
        for line in f:
            if line.startswith("sdp "):
                return int(line.split()[2])
    return None


def talk(what, c, s):
    data = random.randbytes(300000)
    got = [b""]

    def read():
        while len(got[0]) < len(data):
            got[0] += s.recv(65536) or sys.exit("end of data")
        s.sendall(got[0][::-1])

    t = threading.Thread(target=read)
    t.start()
    c.sendall(data)
    back = b""
    while len(back) < len(data):
        back += c.recv(65536) or sys.exit("end of data")
    t.join()
    ok(what, got[0] == data and back == data[::-1])


def connection(family, listen, to, peer, own):
    name = "IPv%d" % (6 if family == INET6 else 4)
    ident = (family, IPPROTO_SDP, STREAM)
    p = new_port()
    with door("b", family) as l, door("a", family) as c:
        same(name + ": a new socket has domain, protocol and type", identity(c), ident)
        same(name + ": a new socket has no address and no port", c.getsockname()[:2],
             ("::" if family == INET6 else "0.0.0.0", 0))
        l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        l.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        l.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        l.bind((listen, p))
        l.listen(5)
        c.connect((to, p))
        s, addr = l.accept()
        same(name + ": an accepted socket has domain, protocol and type", identity(s), ident)
        same(name + ": names of the client", (c.getsockname()[:2], c.getpeername()[:2]),
             (addr[:2], (to, p)))
        same(name + ": names of the server", (s.getsockname()[:2],
                                              s.getpeername()[0]), ((peer, p), own))
        same(name + ": options are inherited", (s.getsockopt(socket.IPPROTO_TCP,
                                                             socket.TCP_NODELAY),
                                                s.getsockopt(socket.SOL_SOCKET,
                                                             socket.SO_KEEPALIVE)), (1, 1))
        same(name + ": SDP_DEVICE is the device", c.getsockopt(SOL_SDP, SDP_DEVICE, 64), b"rda\0")
        talk(name + ": data arrives both ways", c, s)
        s.shutdown(socket.SHUT_WR)
        same(name + ": the end of the stream arrives", c.recv(1), b"")
        s.close()


def doors_meet():
    """Sockets of AF_SDP and of the Internet families with IPPROTO_SDP connect to each other."""
    p = new_port()
    with door("b") as l:
        l.bind(("10.0.0.2", p))
        l.listen(5)
        enter("a")
        fd = LIBC.socket(AF_SDP, STREAM, 0)
        with socket.socket(INET, STREAM, 0, fileno=fd) as c:
            c.connect(("10.0.0.2", p))
            s = l.accept()[0]
            talk("a client of AF_SDP exchanges data with a server of AF_INET", c, s)
            s.close()
        with door("b") as other:
            fails("the port of a listener cannot be bound again", errno.EADDRINUSE, other.bind,
                  ("10.0.0.2", p))
    p = new_port()
    with door("b") as one, door("b") as two:
        for s in one, two:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind(("10.0.0.2", p))
            s.listen(1)
        ok("with SO_REUSEPORT two sockets listen at one port", True)


def misuse():
    fails("SOCK_DGRAM is refused", errno.EPROTONOSUPPORT, door, "a", INET,
          socket.SOCK_DGRAM)
    enter("a")
    fails("socketpair() is refused", errno.EOPNOTSUPP, socket.socketpair, INET, STREAM,
          IPPROTO_SDP)
    with socket.socket(INET, STREAM, 0) as s:
        same("protocol 0 still is TCP", identity(s)[1], socket.IPPROTO_TCP)
    with door("a") as s:
        fails("send() without a connection: EPIPE", errno.EPIPE, s.send, b"x")
        fails("recv() without a connection: ENOTCONN", errno.ENOTCONN, s.recv, 1)
        fails("connect() without a listener: ECONNREFUSED", errno.ECONNREFUSED, s.connect,
              ("10.0.0.2", 6299))
        fails("bind() to a foreign address: EADDRNOTAVAIL", errno.EADDRNOTAVAIL, s.bind,
              ("10.7.7.7", 80))
    if LIBC.unshare(0x40000000):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(INET, STREAM, IPPROTO_SDP) as s:
        fails("another namespace has no device", errno.ENETUNREACH,
              s.connect, ("10.0.0.2", 6299))


def listen_again():
    """The wildcard address of both families, of which TCP has the port of IPv6"""
    number = new_port()
    enter("b")
    with socket.socket(INET6) as tcp, door("b", INET6) as s:
        tcp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        tcp.bind(("::", number))
        tcp.listen(1)
        s.bind(("::", number))
        fails("listen() at a port of TCP: EADDRINUSE", errno.EADDRINUSE, s.listen, 1)
        fails("listen() at a port of TCP, again: EADDRINUSE", errno.EADDRINUSE, s.listen, 1)
        tcp.close()
        s.listen(1)
        for to, family in ("10.0.0.2", INET), ("fd00::2", INET6):
            with door("a", family) as c:
                c.connect((to, number))
                s.accept()[0].close()
                ok("listen() works when TCP has closed the port: " + to, True)


def sol_socket(name, s, family):
    """Options that the socket core refuses to unknown families before Linux 6.7."""
    asks = [int(n) for n in os.uname().release.split(".")[:2]] >= [6, 7]
    for what, opt, own in (("SO_ZEROCOPY", 60, SDP_ZEROCOPY),
                           ("SO_REUSEPORT", 15, SDP_REUSEPORT)):
        if asks or (opt == 15 and family != AF_SDP):
            s.setsockopt(socket.SOL_SOCKET, opt, 1)
            same("%s, %s" % (name, what), s.getsockopt(SOL_SDP, own), 1)
        else:
            fails("%s, %s" % (name, what), errno.EOPNOTSUPP, s.setsockopt,
                  socket.SOL_SOCKET, opt, 1)
        for value in 0, 1:
            s.setsockopt(SOL_SDP, own, value)
            same("%s as an option of SDP, %d" % (what, value),
                 s.getsockopt(socket.SOL_SOCKET, opt), value)
    fails("%s, SO_ZEROCOPY 2" % name,
          errno.EINVAL if asks else errno.EOPNOTSUPP, s.setsockopt,
          socket.SOL_SOCKET, 60, 2)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    same("%s, SO_KEEPALIVE can be set" % name,
         s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), 1)
    fails("%s, an unknown option: ENOPROTOOPT" % name, errno.ENOPROTOOPT, s.setsockopt,
          socket.SOL_SOCKET, 9999, 1)


def sol_sockets():
    p = new_port()
    with door("b") as l, door("a") as c, door("a", INET6) as c6:
        sol_socket("AF_INET", c, INET)
        sol_socket("AF_INET6", c6, INET6)
        fd = LIBC.socket(AF_SDP, STREAM, 0)
        with socket.socket(INET, STREAM, 0, fileno=fd) as s:
            sol_socket("AF_SDP", s, AF_SDP)
        l.bind(("10.0.0.2", p))
        l.listen(1)
        c.connect(("10.0.0.2", p))
        s = l.accept()[0]
        sol_socket("accepted", s, INET)
        s.close()


def fallback():
    """A client with SDP_FALLBACK continues with TCP, in the same family."""
    p = new_port()
    with door("b") as l, door("a") as c:
        enter("b")
        with socket.socket(INET) as t:
            t.bind(("10.0.0.2", p))
            t.listen(1)
            c.setsockopt(SOL_SDP, SDP_FALLBACK, 1)
            enter("a")
            with open("/proc/sys/net/sdp/fallback_timeout", "w") as f:
                f.write("1")
            c.connect(("10.0.0.2", p))
            same("a client that falls back is a socket of TCP", identity(c)[:2],
                 (INET, socket.IPPROTO_TCP))
            # without an offset of ports, the attempt of SDP came here
            t.accept()[0].close()
            talk("a client that falls back exchanges data", c, t.accept()[0])


def programs():
    """asyncio takes a socket as it is."""
    p = new_port()

    async def serve(r, w):
        w.write((await r.readline()).upper())
        w.close()

    async def main():
        l = door("b")
        l.bind(("10.0.0.2", p))
        server = await asyncio.start_server(serve, sock=l)
        c = door("a")
        # its own connect asks the resolver, which does not know the protocol
        c.connect(("10.0.0.2", p))
        c.setblocking(False)
        r, w = await asyncio.open_connection(sock=c)
        w.write(b"text\n")
        same("asyncio exchanges data over SDP sockets", await r.readline(), b"TEXT\n")
        w.close()
        server.close()

    asyncio.run(main())


def settled():
    """Connections end in the background."""
    end = time.time() + 30
    while users() and time.time() < end:
        time.sleep(0.1)
    return users()


def references():
    before = settled()
    with door("a"), door("a", INET6) as s:
        ok("sockets hold the module", users() >= before + 2,
           "%d then %d" % (before, users()))
        ok("the module cannot be removed", os.system("rmmod sdp 2>/dev/null") != 0)
    same("closed sockets let the module go", (before, settled()), (0, 0))


def bpf(cmd, attr):
    nr = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine, -1)
    buf = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    fd = LIBC.syscall(nr, cmd, buf, 128)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return fd


def refused_by_bpf():
    """A program of the control group says no when a socket is made."""
    what = "a BPF program refuses a socket"
    where = "/run/door-cgroup"
    os.makedirs(where, exist_ok=True)
    if os.system("mount -t cgroup2 none %s 2>/dev/null" % where):
        return skip(what, "no cgroup2")
    code = struct.pack("<BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0)
    text = ctypes.create_string_buffer(code, len(code))
    gpl = ctypes.create_string_buffer(b"GPL")
    group = os.open(where, os.O_RDONLY)
    try:
        prog = bpf(5, struct.pack("<IIQQ", 9, len(code) // 8,
                                  ctypes.addressof(text),
                                  ctypes.addressof(gpl)))
        bpf(8, struct.pack("<IIII", group, prog, 2, 0))
    except OSError as e:
        os.close(group)
        os.system("umount " + where)
        return skip(what, "no BPF for control groups: %s" % e)
    fails(what, errno.EPERM, door, "a")
    fails(what + ", IPv6", errno.EPERM, door, "a", INET6)
    bpf(9, struct.pack("<IIII", group, prog, 2, 0))
    os.close(group)
    os.system("umount " + where)
    with door("a"):
        ok("without the BPF program the socket is allowed", True)


def sockmap():
    """A sockmap, whose programs take data out of TCP sockets, refuses SDP sockets"""
    what = "a BPF sockmap"
    enter("a")
    try:
        group = bpf(0, struct.pack("<IIII", 15, 4, 4, 1))
    except OSError as e:
        return skip(what + " refuses an SDP socket", "no such maps: %s" % e)

    def put(s):
        s.bind(("10.0.0.1", new_port()))
        s.listen()
        key, value = ctypes.c_uint32(0), ctypes.c_uint32(s.fileno())
        bpf(2, struct.pack("<QQQQ", group, ctypes.addressof(key),
                           ctypes.addressof(value), 0))

    with socket.socket() as tcp, door("a") as s:
        put(tcp)
        ok(what + " takes a TCP socket", True)
        fails(what + " refuses an SDP socket", errno.EOPNOTSUPP, put, s)
    os.close(group)


def main():
    ok("the module is not loaded", users() is None)
    with door("a") as s:
        same("the first socket of IPPROTO_SDP loads the module", identity(s)[1], IPPROTO_SDP)
    # the devices' ports are those of the programs, which some cases need
    for netns in "a", "b":
        enter(netns)
        with open("/proc/sys/net/sdp/port_offset", "w") as f:
            f.write("0")
    connection(INET, "10.0.0.2", "10.0.0.2", "10.0.0.2", "10.0.0.1")
    connection(INET, "0.0.0.0", "10.0.0.2", "10.0.0.2", "10.0.0.1")
    connection(INET6, "::", "fd00::2", "fd00::2", "fd00::1")
    connection(INET6, "::", "::ffff:10.0.0.2", "::ffff:10.0.0.2",
               "::ffff:10.0.0.1")
    doors_meet()
    sol_sockets()
    fallback()
    programs()
    references()
    refused_by_bpf()
    sockmap()
    listen_again()
    misuse()
    print("1..%d" % count)
    return failed != 0


sys.exit(main())
