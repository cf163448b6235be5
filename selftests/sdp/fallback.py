#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""SDP_FALLBACK: clients that continue with TCP, listeners of both. One process
with sockets in both namespaces; TAP."""
import ctypes
import errno
import fcntl
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time

AF_SDP, SOL_SDP, SDP_FALLBACK = 27, 1027, 32
SDP_REUSEPORT, SDP_ZEROCOPY = 1, 7
IP_LOCAL_PORT_RANGE = 51
NONE, TCP, ONLY = 0, 1, 2
OFFSET = 20000
A, B = "10.0.0.1", "10.0.0.2"
LIBC = ctypes.CDLL(None, use_errno=True)
count = failed = 0
port = 6100


def enter(netns):
    with open("/run/netns/" + netns) as f:
        if LIBC.setns(f.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")


def sysctl(netns, name, value):
    enter(netns)
    with open("/proc/sys/net/sdp/" + name, "w") as f:
        f.write(str(value))


def counter(netns, name):
    enter(netns)
    with os.popen("sdpstat -s -z") as f:
        for line in f:
            w = line.split()
            if w and w[0] == name:
                return int(w[1])
    raise KeyError(name)


def ok(what, good, detail=""):
    global count, failed
    count += 1
    if not good:
        failed += 1
        print("not ok %d - %s" % (count, what))
        print("# %s" % (detail,))
    else:
        print("ok %d - %s" % (count, what))
    sys.stdout.flush()


def same(what, got, wanted):
    ok(what, got == wanted, "got %r, wanted %r" % (got, wanted))


def fails(what, number, call, *args):
    try:
        call(*args)
        ok(what, False, "no error")
    except OSError as e:
        same(what, errno.errorcode[e.errno], errno.errorcode[number])


def new_port():
    global port
    port += 1
    return port


def sdp(netns, mode=TCP, v6=False):
    enter(netns)
    s = socket.socket(AF_SDP, socket.SOCK_STREAM, int(v6))
    s.close()
    # an object that knows the format of addresses, over a socket of ours
    fd = LIBC.socket(AF_SDP, socket.SOCK_STREAM, int(v6))
    s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET,
                      socket.SOCK_STREAM, 0, fileno=fd)
    if mode:
        s.setsockopt(SOL_SDP, SDP_FALLBACK, mode)
    s.settimeout(None)
    return s


def tcp(netns, v6=False):
    enter(netns)
    return socket.socket(socket.AF_INET6 if v6 else socket.AF_INET)


def listener(s, host, p, backlog=8):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host, p))
    s.listen(backlog)
    return s


def domain(s):
    return s.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)


def talk(what, c, s):
    """Some data each way."""
    data = random.randbytes(200000)
    got = [b""]

    def read():
        while len(got[0]) < len(data):
            d = s.recv(65536)
            if not d:
                break
            got[0] += d
        s.sendall(data[::-1])

    t = threading.Thread(target=read)
    t.start()
    c.sendall(data)
    back = b""
    while len(back) < len(data):
        d = c.recv(65536)
        if not d:
            break
        back += d
    t.join()
    ok(what, got[0] == data and back == data[::-1])


def blocking():
    p = new_port()
    with listener(sdp("b", NONE), B, p) as l, sdp("a") as c:
        c.connect((B, p))
        same("a client stays with SDP where the server has it", domain(c), AF_SDP)
        s, peer = l.accept()
        same("the listener's port is the program's", s.getsockname(), (B, p))
        same("the peer's port at the client is the program's", c.getpeername(), (B, p))
        same("accept() returns the port of the client", peer, c.getsockname())
        talk("data over SDP", c, s)
        fails("SDP_FALLBACK of a connection: EISCONN", errno.EISCONN, c.setsockopt, SOL_SDP,
              SDP_FALLBACK, NONE)
        s.close()

    p = new_port()
    with listener(tcp("b"), B, p) as l, sdp("a") as c:
        other = socket.socket(fileno=os.dup(c.fileno()))
        ino = os.fstat(c.fileno()).st_ino
        set_options(c)
        c.connect((B, p))
        same("a client is TCP where the server has no SDP", domain(c), socket.AF_INET)
        same("SO_PROTOCOL is TCP then", c.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL),
             socket.IPPROTO_TCP)
        same("a copy of the descriptor is TCP, too", domain(other), socket.AF_INET)
        same("the inode stays", os.fstat(c.fileno()).st_ino, ino)
        check_options(c)
        s, peer = l.accept()
        same("both ends of TCP have the right names", (peer, c.getpeername()),
             (c.getsockname(), (B, p)))
        talk("data over TCP", c, s)
        s.close()
        same("the end of the TCP stream arrives", other.recv(1), b"")
        other.close()

    p = new_port()
    with sdp("a") as c:
        fails("neither SDP nor TCP: ECONNREFUSED", errno.ECONNREFUSED, c.connect, (B, p))
        with listener(tcp("b"), B, p) as l:
            c.connect((B, p))
            same("a second attempt is TCP", domain(c), socket.AF_INET)

    p = new_port()
    with listener(tcp("b"), B, p), sdp("a") as c:
        addr = struct.pack("=H", AF_SDP) + struct.pack("!H4s8x", p, socket.inet_aton(B))
        same("connect() takes an address of family AF_SDP",
             LIBC.connect(c.fileno(), addr, len(addr)), 0)
        same("TCP takes over with such an address", domain(c), socket.AF_INET)
    with sdp("a", NONE) as c, listener(tcp("b"), B, p):
        fails("without SDP_FALLBACK: ECONNREFUSED", errno.ECONNREFUSED, c.connect, (B, p))


# linux/in.h, linux/in6.h, asm-generic/socket.h
IP_MTU_DISCOVER, IP_RECVERR, IP_BIND_ADDRESS_NO_PORT = 10, 11, 24
IPV6_MTU_DISCOVER, IPV6_RECVERR, IPV6_MULTICAST_ALL = 23, 25, 29
IPV6_AUTOFLOWLABEL = 70
SO_BUSY_POLL, SO_MAX_PACING_RATE, SO_TXREHASH = 46, 47, 74
SO_TIMESTAMPNS, SO_TIMESTAMPING, SO_TIMESTAMPNS_NEW = 35, 37, 64
RX_SOFTWARE, SOFTWARE = 8, 16  # linux/net_tstamp.h

OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.SOL_SOCKET, socket.SO_OOBINLINE, 1),
    (socket.SOL_SOCKET, socket.SO_RCVLOWAT, 7),
    (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1),
    (socket.IPPROTO_IP, socket.IP_TOS, 0x10),  # sets a priority, too
    (socket.SOL_SOCKET, socket.SO_PRIORITY, 3),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 11),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 12345),
    (socket.IPPROTO_TCP, socket.TCP_SYNCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 9999),
    (socket.IPPROTO_IP, socket.IP_TTL, 33),
    (socket.IPPROTO_IP, IP_MTU_DISCOVER, 0),
    (socket.IPPROTO_IP, IP_RECVERR, 1),
    (socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1),
    (socket.SOL_SOCKET, SO_MAX_PACING_RATE, 1234567),
    (socket.SOL_SOCKET, SO_BUSY_POLL, 50),
    (socket.SOL_SOCKET, SO_TXREHASH, 0),
]
OPTIONS6 = [
    (socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0x20),
    (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 35),
    (socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, 0),
    (socket.IPPROTO_IPV6, IPV6_RECVERR, 1),
    (socket.IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0),
    (socket.IPPROTO_IPV6, socket.IPV6_DONTFRAG, 1),
]
DEFAULT6 = [
    (socket.IPPROTO_IPV6, IPV6_MULTICAST_ALL),
    (socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO),
]


def set_options(c):
    for level, name, value in OPTIONS:
        c.setsockopt(level, name, value)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 50000)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                 struct.pack("ll", 30, 0))
    fcntl.fcntl(c, fcntl.F_SETFD, fcntl.FD_CLOEXEC)


def check_options(c):
    for level, name, value in OPTIONS:
        same("TCP has option %d of level %d" % (name, level),
             c.getsockopt(level, name), value)
    same("TCP has SO_SNDBUF", c.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
         100000)
    same("TCP has SO_LINGER", struct.unpack("ii", c.getsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, 8)), (1, 5))
    same("TCP has SO_RCVTIMEO", struct.unpack("ll", c.getsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))[0], 30)
    same("TCP has FD_CLOEXEC", fcntl.fcntl(c, fcntl.F_GETFD), fcntl.FD_CLOEXEC)
    with tcp("a") as t:
        name = (socket.SOL_SOCKET, socket.SO_RCVBUF)
        same("SO_RCVBUF, not set, is that of TCP at least", c.getsockopt(*name) >=
             t.getsockopt(*name), True)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


# asm-generic/socket.h: number, and a value that is not the default
SOCKET_OPTIONS = {
    "SO_DEBUG": (1, 1), "SO_REUSEADDR": (2, 1), "SO_DONTROUTE": (5, 1),
    "SO_BROADCAST": (6, 1), "SO_SNDBUF": (7, 50000), "SO_RCVBUF": (8, 50000),
    "SO_SNDBUFFORCE": (32, 300000), "SO_RCVBUFFORCE": (33, 300000),
    "SO_KEEPALIVE": (9, 1), "SO_OOBINLINE": (10, 1), "SO_NO_CHECK": (11, 1),
    "SO_PRIORITY": (12, 9), "SO_LINGER": (13, struct.pack("ii", 1, 5)),
    "SO_BSDCOMPAT": (14, 1), "SO_REUSEPORT": (15, 1),
    "SO_RCVLOWAT": (18, 1 << 20), "SO_RCVTIMEO": (20, struct.pack("qq", 3, 0)),
    "SO_SNDTIMEO": (21, struct.pack("qq", 4, 0)),
    "SO_BINDTODEVICE": (25, b"va"), "SO_TIMESTAMP": (29, 1),
    "SO_TIMESTAMPNS": (35, 1), "SO_MARK": (36, 7),
    "SO_TIMESTAMPING": (37, RX_SOFTWARE | SOFTWARE),
    "SO_RXQ_OVFL": (40, 1), "SO_WIFI_STATUS": (41, 1), "SO_PEEK_OFF": (42, 1),
    "SO_NOFCS": (43, 1), "SO_SELECT_ERR_QUEUE": (45, 1),
    "SO_BUSY_POLL": (46, 50), "SO_MAX_PACING_RATE": (47, 1234567),
    "SO_INCOMING_CPU": (49, 1), "SO_ZEROCOPY": (60, 1),
    "SO_TXTIME": (61, struct.pack("iI", time.CLOCK_MONOTONIC, 3)),
    "SO_BINDTOIFINDEX": (62, 101), "SO_TIMESTAMP_NEW": (63, 1),
    "SO_TIMESTAMPNS_NEW": (64, 1),
    "SO_TIMESTAMPING_NEW": (65, RX_SOFTWARE | SOFTWARE),
    "SO_RCVTIMEO_NEW": (66, struct.pack("qq", 5, 0)),
    "SO_SNDTIMEO_NEW": (67, struct.pack("qq", 6, 0)),
    "SO_PREFER_BUSY_POLL": (69, 1), "SO_BUSY_POLL_BUDGET": (70, 33),
    "SO_BUF_LOCK": (72, 2), "SO_RESERVE_MEM": (73, 8192),
    "SO_TXREHASH": (74, 0), "SO_RCVMARK": (75, 1), "SO_RCVPRIORITY": (82, 1),
}
# Options of SDP for those that the core refuses to families that it does not know
STANDS_FOR = {"SO_REUSEPORT": SDP_REUSEPORT, "SO_ZEROCOPY": SDP_ZEROCOPY}
# Options that the core refuses for SDP, with an error
REFUSED = {"SO_PEEK_OFF", "SO_RESERVE_MEM"}
# Filters, which are not kept; options that act once; options of AF_UNIX sockets
NOT_KEPT = {26, 27, 44, 50, 51, 52, 68, 53, 80, 16, 34, 76, 83, 84, 85}


def socket_options():
    """Each option of SOL_SOCKET has the value of a TCP socket when TCP takes over"""
    numbers = [number for number, _ in SOCKET_OPTIONS.values()]
    with tcp("a") as t:
        left = [n for n in range(1, 128) if n not in numbers and
                n not in NOT_KEPT and attempt(t.setsockopt, socket.SOL_SOCKET,
                                              n, 1) != "ENOPROTOOPT"]
    same("this test has each option of SOL_SOCKET", left, [])
    for name, (number, value) in SOCKET_OPTIONS.items():
        with tcp("a") as t, sdp("a", NONE) as c:
            wanted = attempt(t.setsockopt, socket.SOL_SOCKET, number, value)
            got = attempt(c.setsockopt, socket.SOL_SOCKET, number, value)
            if got == "ENOTSUP" and name in STANDS_FOR:
                got = attempt(c.setsockopt, SOL_SDP, STANDS_FOR[name], value)
            if got == "ENOTSUP" and name in REFUSED:
                continue
            c.setsockopt(SOL_SDP, SDP_FALLBACK, ONLY)
            same("%s: setsockopt() has the result of TCP" % name, got, wanted)
            # without a size that locks the one of SDP
            seen = [n for n in numbers if name != "SO_BUF_LOCK" or n == number]
            same("%s: options are TCP's" % name, [(n, got, wanted) for n in seen for got, wanted
                                                  in [(socket_value(c, n), socket_value(t, n))]
                                                  if got != wanted], [])


def socket_value(s, number):
    return attempt(s.getsockopt, socket.SOL_SOCKET, number, 64)


def options6():
    p = new_port()
    with tcp("a", True) as t:
        default = [t.getsockopt(*name) for name in DEFAULT6]
    with listener(tcp("b", True), "fd00::2", p), sdp("a", TCP, True) as c:
        for level, name, value in OPTIONS6:
            c.setsockopt(level, name, value)
        c.connect(("fd00::2", p))
        same("TCP over IPv6", domain(c), socket.AF_INET6)
        for level, name, value in OPTIONS6:
            same("IPv6: TCP has option %d of level %d" % (name, level),
                 c.getsockopt(level, name), value)
        same("IPv6: options that were not set are TCP's",
             [c.getsockopt(*name) for name in DEFAULT6], default)


IN, OUT, ERR, HUP = (select.EPOLLIN, select.EPOLLOUT, select.EPOLLERR,
                     select.EPOLLHUP)


def nonblocking():
    for edge in 0, select.EPOLLET:
        p = new_port()
        e = select.epoll()
        with listener(tcp("b"), B, p) as l, sdp("a") as c:
            c.setblocking(False)
            e.register(c, IN | OUT | edge)
            e.poll(0)
            same("connect does not wait", c.connect_ex((B, p)),
                 errno.EINPROGRESS)
            while True:
                ev = e.poll(20)
                # poll of a socket that connects tells nothing
                if not ev or ev[0][1] & (OUT | ERR | HUP):
                    break
            same("epoll reports TCP", ev, [(c.fileno(), OUT)])
            same("SO_ERROR is 0", c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
                 0)
            same("after epoll the socket is TCP", domain(c), socket.AF_INET)
            same("O_NONBLOCK stays", c.getblocking(), False)
            s, peer = l.accept()
            s.send(b"x")
            if not edge:
                e.modify(c, IN)
            ev = e.poll(20)
            ok("epoll reports data", bool(ev) and ev[0][1] & IN, ev)
            same("the data is right", c.recv(9), b"x")
            s.close()
            ev = e.poll(20)
            ok("epoll reports the end of the stream", bool(ev) and ev[0][1] & IN, ev)
            e.unregister(c)
        e.close()

    p = new_port()
    e = select.poll()
    with sdp("a") as c:
        c.setblocking(False)
        c.connect_ex((B, p))
        e.register(c, select.POLLOUT)
        ev = e.poll(20000)
        same("poll reports that there is no listener", ev and ev[0][1],
             select.POLLOUT | select.POLLERR | select.POLLHUP)
        same("SO_ERROR tells why", c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
             errno.ECONNREFUSED)

    # no answer at the mapped port
    p = new_port()
    sysctl("a", "fallback_timeout", 1)
    with listener(tcp("b"), B, p + OFFSET), listener(tcp("b"), B, p) as l:
        with sdp("a") as c:
            c.setblocking(False)
            same("connect() without an answer of SDP: EINPROGRESS", c.connect_ex((B, p)),
                 errno.EINPROGRESS)
            same("connect() again: EALREADY", c.connect_ex((B, p)), errno.EALREADY)
            ready = select.select([], [c], [], 20)
            same("after a while it is TCP", (len(ready[1]), domain(c)),
                 (1, socket.AF_INET))
            same("connect() after that: 0", c.connect_ex((B, p)), 0)
            same("connect() once more: EISCONN", c.connect_ex((B, p)), errno.EISCONN)
        with sdp("a") as c:
            c.setblocking(False)
            c.connect_ex((B, p))
        ok("a socket can be closed while it waits for SDP", True)
    sysctl("a", "fallback_timeout", 3)


def stamps():
    """Time stamps that were requested before TCP took over are delivered."""
    flags = RX_SOFTWARE | SOFTWARE
    for name, value in ((SO_TIMESTAMPNS, 1), (SO_TIMESTAMPNS_NEW, 1),
                        (SO_TIMESTAMPING, flags)):
        p = new_port()
        with listener(tcp("b"), B, p) as l, sdp("a") as c:
            c.setsockopt(socket.SOL_SOCKET, name, value)
            c.connect((B, p))
            same("TCP with option %d" % name,
                 (domain(c), c.getsockopt(socket.SOL_SOCKET, name)),
                 (socket.AF_INET, value))
            s = l.accept()[0]
            got = []
            # the first ones may come before packets get time stamps
            for _ in range(200):
                s.send(b"x")
                got = [m for m in c.recvmsg(1, 200)[1] if any(m[2])]
                if got:
                    break
                time.sleep(0.1)
            same("TCP delivers the time stamps of option %d" % name, [m[:2] for m in got],
                 [(socket.SOL_SOCKET, name)])
            s.close()


LATER = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.SOL_SOCKET, socket.SO_RCVLOWAT, 5),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 78),
    (socket.IPPROTO_TCP, socket.TCP_CORK, 0),
    (socket.IPPROTO_IP, socket.IP_TTL, 34),
    (socket.SOL_SOCKET, SO_MAX_PACING_RATE, 7654321),
    (socket.SOL_SOCKET, SO_BUSY_POLL, 20),
]


def meanwhile():
    """Changes to a socket while SDP gets no answer apply to TCP."""
    p = new_port()
    sysctl("a", "fallback_timeout", 1)
    with listener(tcp("b"), B, p + OFFSET), listener(tcp("b"), B, p) as l:
        with sdp("a") as c:
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            c.setblocking(False)
            c.connect_ex((B, p))
            for opt in LATER:
                c.setsockopt(*opt)
            select.select([], [c], [], 20)
            same("TCP after options", domain(c), socket.AF_INET)
            for level, name, value in LATER:
                same("set late: option %d of level %d" % (name, level),
                     c.getsockopt(level, name), value)
            l.accept()[0].close()
        waits(p, l, "recv", lambda c: c.recv(9))
        waits(p, l, "splice", spliced)
    sysctl("a", "fallback_timeout", 3)


def waits(p, l, what, read):
    """Calls that wait for the connection continue with TCP"""
    with sdp("a") as c:
        c.setblocking(False)
        c.connect_ex((B, p))
        c.setblocking(True)
        got = []
        t = threading.Thread(target=lambda: got.append(attempt(read, c)))
        t.start()
        same("send waits for the connection", attempt(c.send, b"early"), 5)
        same("the connection is TCP", domain(c), socket.AF_INET)
        s = l.accept()[0]
        s.settimeout(20)
        same("the data of that send arrives", attempt(s.recv, 9), b"early")
        s.send(b"answer")
        t.join(20)
        same("the answer arrives: " + what, got, [b"answer"])
        s.close()


def spliced(c):
    r, w = os.pipe()
    try:
        return os.read(r, os.splice(c.fileno(), w, 9))
    finally:
        os.close(r)
        os.close(w)


def attempt(call, *args):
    """Its result, or the name of its error"""
    try:
        return call(*args)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))


def sigio():
    p = new_port()
    got = []
    signal.signal(signal.SIGIO, lambda *x: got.append(1))
    with listener(tcp("b"), B, p) as l, sdp("a") as c:
        fcntl.fcntl(c, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(c, fcntl.F_SETFL, fcntl.fcntl(c, fcntl.F_GETFL) |
                    os.O_ASYNC)
        c.connect((B, p))
        s, peer = l.accept()
        got.clear()
        s.send(b"x")
        end = time.time() + 20
        while not got and time.time() < end:
            time.sleep(0.05)
        ok("TCP sends SIGIO to the owner that was set before", bool(got))
        s.close()
    signal.signal(signal.SIGIO, signal.SIG_IGN)


def no_device():
    for v6, host in (0, "127.0.0.1"), (1, "::1"), (1, "::ffff:127.0.0.1"):
        p = new_port()
        with tcp("a", v6) as l, sdp("a", TCP, v6) as c:
            listener(l, host, p)
            c.connect((host, p))
            same("TCP where no device is: %s" % host, domain(c), l.family)
            s, peer = l.accept()
            same("both ends agree on the name of the client: %s" % host, peer[:2],
                 c.getsockname()[:2])
            s.close()
            c.close()
        with sdp("a", TCP, v6) as c:
            c.setblocking(False)
            with tcp("a", v6) as l:
                listener(l, host, new_port())
                err = c.connect_ex((host, port))
                ok("nonblocking connect() without a device begins",
                   err in (0, errno.EINPROGRESS), err)
                ready = select.select([], [c], [], 20)
                same("nonblocking connect() without a device ends", len(ready[1]), 1)
                same("nonblocking connect() without a device succeeds",
                     c.getsockopt(socket.SOL_SOCKET,
                                  socket.SO_ERROR), 0)


def server():
    for host, v6 in (B, 0), ("0.0.0.0", 0), ("::", 1):
        p = new_port()
        e = select.epoll()
        to = (B, p)
        with sdp("b", TCP, v6) as l:
            listener(l, host, p)
            e.register(l, IN)
            same("a listener of both has the requested port, %s" % host, l.getsockname()[:2],
                 (host, p))
            same("epoll of a listener without connections", e.poll(0), [])
            fails("accept() of nothing: EAGAIN", errno.EAGAIN, nowait_accept, l)
            with sdp("a", NONE) as c:
                c.connect(to)
                same("epoll reports a connection of SDP", e.poll(20), [(l.fileno(), IN)])
                s, peer = l.accept()
                same("accept() returns the connection of SDP", (domain(s), peer[1]),
                     (AF_SDP, c.getsockname()[1]))
                same("the connection of SDP has the listener's port", s.getsockname()[1], p)
                talk("data arrives over SDP", c, s)
                s.close()
            with tcp("a") as c:
                c.connect(to)
                same("epoll reports a connection of TCP", e.poll(20), [(l.fileno(), IN)])
                same("select() reports a connection of TCP",
                     len(select.select([l], [], [], 20)[0]), 1)
                s, peer = l.accept()
                same("accept() returns the connection of TCP", (domain(s), peer[1]),
                     (l.family, c.getsockname()[1]))
                same("the connection of TCP has the listener's port", s.getsockname()[1], p)
                talk("data arrives over TCP", c, s)
                s.close()
            blocked_accept(l, to)
            both_in_turn(l, to)
            fails("its port is in use for TCP", errno.EADDRINUSE, listener, tcp("b", v6), host, p)
            l.shutdown(socket.SHUT_RDWR)
            fails("accept() after shutdown: EINVAL", errno.EINVAL, l.accept)
            with tcp("a") as c:
                fails("after shutdown TCP clients are refused", errno.ECONNREFUSED, c.connect, to)
            l.listen(3)
            with tcp("a") as c:
                c.connect(to)
                l.accept()[0].close()
            with sdp("a", NONE) as c:
                c.connect(to)
                same("it can listen again, for both", domain(l.accept()[0]), AF_SDP)
        e.close()
        with tcp("a") as c, tcp("b", v6) as l:
            fails("after close TCP clients are refused", errno.ECONNREFUSED, c.connect, to)
            listener(l, host, p)
            c.connect(to)
            ok("a server of TCP starts at the same port", True)


def nowait_accept(l):
    l.setblocking(False)
    try:
        l.accept()
    finally:
        l.setblocking(True)


def blocked_accept(l, to):
    for make, family in (lambda: sdp("a"), AF_SDP), (lambda: tcp("a"),
                                                     l.family):
        got = []
        t = threading.Thread(target=lambda: got.append(l.accept()[0]))
        t.start()
        time.sleep(0.1)
        with make() as c:
            c.connect(to)
            t.join(20)
            same("a blocked accept() takes a connection of family %d" % family,
                 [domain(s) for s in got], [family])
            got[0].close()


def both_in_turn(l, to):
    clients = [tcp("a") for i in range(3)] + [sdp("a") for i in range(3)]
    for c in clients:
        c.connect(to)
    kinds = [domain(l.accept()[0]) == AF_SDP for i in clients]
    same("accept() takes SDP and TCP in turn", [sum(kinds[i:i + 2])
                                                for i in (0, 2, 4)], [1, 1, 1])
    for c in clients:
        c.close()


def without_offset():
    for netns in "a", "b":
        sysctl(netns, "port_offset", 0)
    before = counter("b", "tcp_listens")
    p = new_port()
    with sdp("b") as l, tcp("a") as c, sdp("b", NONE) as other:
        listener(l, B, p)
        same("without an offset of ports a listener of both is TCP", domain(l), socket.AF_INET)
        same("the listener of TCP is counted", counter("b", "tcp_listens"), before + 1)
        c.connect((B, p))
        s, peer = l.accept()
        talk("data arrives at the listener of TCP", c, s)
        s.close()
    with sdp("a") as c, listener(sdp("b", NONE), B, new_port()) as l:
        c.connect((B, port))
        same("without an offset of ports a listener of SDP alone is SDP", domain(c), AF_SDP)
    for netns in "a", "b":
        sysctl(netns, "port_offset", OFFSET)


def shown(netns, p):
    """(state, why it is TCP) of the sockets of that port, as sdpstat has them"""
    enter(netns)
    with os.popen("sdpstat -a --json") as f:
        return [(s["state"], s.get("tcp_reason")) for s in json.load(f)["sockets"]
                if p in (s["local"]["port"], s["peer"]["port"])]


def reason(what, netns, s, p, word, before):
    state = "LISTEN" if what.startswith("listen") else "ESTAB"
    same("why it is TCP: %s" % what, shown(netns, p), [(state, word)])
    same("the reason is counted: %s" % what, counter(netns, "tcp_" + word), before + 1)
    s.close()
    # an attempt that is given up takes its time to end
    end = time.monotonic() + 60
    while shown(netns, p) and time.monotonic() < end:
        time.sleep(0.2)
    same("no socket is left: %s" % what, shown(netns, p), [])


def reasons():
    for what, host, word in (("refused", B, "refused"), ("no device", "127.0.0.1",
                                                         "no_device")):
        before = counter("a", "tcp_" + word)
        with listener(tcp("b" if host == B else "a"), host, new_port()), \
                sdp("a") as c:
            c.connect((host, port))
            reason(what, "a", c, port, word, before)
    # a TCP server at the port of the device says nothing
    sysctl("a", "fallback_timeout", 1)
    before = counter("a", "tcp_timeout")
    p = new_port()
    with listener(tcp("b"), B, p), listener(tcp("b"), B, p + OFFSET), sdp("a") as c:
        c.connect((B, p))
        reason("no answer", "a", c, p, "timeout", before)
    sysctl("a", "fallback_timeout", 3)
    before = counter("b", "tcp_port")
    p = new_port()
    with listener(tcp("b"), B, p + OFFSET), sdp("b") as l:
        listener(l, B, p)
        reason("listener, its port in use at the device", "b", l, p, "port", before)
    with sdp("b") as l:
        l.setsockopt(SOL_SDP, SDP_FALLBACK, ONLY)
        listener(l, B, new_port())
        same("why it is TCP: SDP_FALLBACK 2", shown("b", port), [("LISTEN", "requested")])
    with listener(sdp("b"), B, new_port()), sdp("a") as c:
        c.connect((B, port))
        same("a connection of SDP has no reason", shown("a", port), [("ESTAB", None)])
    remembered()


def remembered():
    """SDP is not tried again at once where it failed and TCP did not"""
    sysctl("a", "fallback_memory", 2)
    before = counter("a", "active_opens")
    p = new_port()
    with listener(tcp("b"), B, p):
        for word in "refused", "recent":
            with sdp("a") as c:
                c.connect((B, p))
                same("a connection is TCP: %s" % word, shown("a", p), [("ESTAB", word)])
    same("SDP was tried once", counter("a", "active_opens"), before + 1)
    time.sleep(2.2)
    with listener(sdp("b"), B, p), sdp("a") as c:
        c.connect((B, p))
        same("the failure of SDP is forgotten", shown("a", p), [("ESTAB", None)])
    # refused by both: nothing to remember
    p = new_port()
    with sdp("a") as c:
        fails("no listener of either: ECONNREFUSED", errno.ECONNREFUSED, c.connect, (B, p))
    with listener(sdp("b"), B, p), sdp("a") as c:
        c.connect((B, p))
        same("a refusal by both is not remembered", shown("a", p), [("ESTAB", None)])
    what_is_remembered()
    sysctl("a", "fallback_memory", 0)


def taught(p):
    """TCP answers at port @p, and SDP does not, which is remembered"""
    with listener(tcp("b"), B, p), sdp("a") as c:
        c.connect((B, p))
        same("a refusal by SDP alone: TCP", shown("a", p), [("ESTAB", "refused")])


def what_is_remembered():
    """One connection decides how the next ones begin, for some time"""
    sysctl("a", "fallback_memory", 60)
    # a server of SDP alone replaces one of TCP alone
    p = new_port()
    taught(p)
    with listener(sdp("b", NONE), B, p):
        with sdp("a") as c:
            fails("where SDP failed TCP is tried first, and refused", errno.ECONNREFUSED, c.connect,
                  (B, p))
        with sdp("a") as c:
            c.connect((B, p))
            same("after TCP has failed SDP is tried", shown("a", p), [("ESTAB", None)])
    # both fail at one port, then the descriptor, which is TCP, goes to another one
    p, other = new_port(), new_port()
    with listener(tcp("b"), B, other), sdp("a") as c:
        fails("both refuse: ECONNREFUSED", errno.ECONNREFUSED, c.connect, (B, p))
        c.connect((B, other))
    with listener(sdp("b", NONE), B, p), sdp("a") as c:
        c.connect((B, p))
        same("success at another port is not remembered for the first", shown("a", p),
             [("ESTAB", None)])
    # the failure of SDP by a limit of the program is not remembered
    p = new_port()
    with listener(tcp("b"), B, p), listener(tcp("b"), B, p + OFFSET), sdp("a") as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 100)
        c.connect((B, p))
        same("TCP_USER_TIMEOUT ends the attempt of SDP", shown("a", p)[0], ("ESTAB", "timeout"))
    with listener(sdp("b"), B, p), sdp("a") as c:
        c.connect((B, p))
        same("TCP_USER_TIMEOUT is not remembered", shown("a", p), [("ESTAB", None)])
    # a local port that TCP cannot bind does not count as a refusal
    p = new_port()
    taught(p)
    with tcp("a") as taken, sdp("a", NONE) as c:
        c.bind((A, 7780))
        taken.bind((A, 7780))
        taken.listen()
        c.setsockopt(SOL_SDP, SDP_FALLBACK, TCP)
        fails("its local port is TCP's: EADDRINUSE", errno.EADDRINUSE, c.connect, (B, p))
    # what is remembered does not apply to a socket that is bound to a device
    with listener(sdp("b", NONE), B, p), sdp("a") as c:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"va")
        c.connect((B, p))
        same("a socket that is bound to a device tries SDP", shown("a", p), [("ESTAB", None)])
    # 0 forgets at once
    p = new_port()
    taught(p)
    sysctl("a", "fallback_memory", 0)
    with listener(sdp("b"), B, p), sdp("a") as c:
        c.connect((B, p))
        same("fallback_memory 0 forgets", shown("a", p), [("ESTAB", None)])


def limited_here():
    """This end has as many SDP connections as it may: TCP, which has no such limit."""
    p, bound = new_port(), new_port()
    refused = counter("a", "conn_limit")
    with listener(sdp("b"), B, p) as l, sdp("a") as first:
        first.connect((B, p))
        sysctl("a", "max_connections", 1)
        same("the connection before the limit is SDP", domain(first), AF_SDP)
        l.accept()[0].close()
        with sdp("a", NONE) as c:
            fails("at the limit without SDP_FALLBACK: ENOBUFS", errno.ENOBUFS, c.connect, (B, p))
            c.setsockopt(SOL_SDP, SDP_FALLBACK, TCP)
            c.connect((B, p))
            same("at the limit with SDP_FALLBACK: TCP", domain(c), socket.AF_INET)
            s = l.accept()[0]
            same("a listener with SDP_FALLBACK takes that", domain(s), socket.AF_INET)
            talk("at the limit data arrives", c, s)
            s.close()
        with sdp("a", NONE) as c:
            c.setsockopt(socket.SOL_IP, IP_LOCAL_PORT_RANGE, struct.pack("I", 40000 | 40100 << 16))
            fails("at the limit with a range of ports: ENOBUFS", errno.ENOBUFS, c.connect, (B, p))
        with sdp("a") as c, sdp("a") as more:
            c.bind((A, bound))
            c.connect((B, p))
            same("at the limit a bound socket keeps its port", l.accept()[1], (A, bound))
            more.connect((B, p))
            same("at the limit a second connection of TCP", domain(more), socket.AF_INET)
            l.accept()[0].close()
        with sdp("a") as c:
            c.setblocking(False)
            err = c.connect_ex((B, p))
            ok("at the limit nonblocking connect() begins", err in (0, errno.EINPROGRESS), err)
            same("at the limit nonblocking connect() ends",
                 len(select.select([], [c], [], 20)[1]), 1)
            same("at the limit nonblocking connect() is TCP",
                 (domain(c), c.getsockopt(socket.SOL_SOCKET,
                                          socket.SO_ERROR)),
                 (socket.AF_INET, 0))
            l.accept()[0].close()
    with sdp("a") as c:
        sysctl("a", "max_connections", 0)
        with listener(sdp("b", NONE), B, new_port()) as l, sdp("a") as first:
            first.connect((B, port))
            sysctl("a", "max_connections", 1)
            fails("at the limit without a TCP listener: ECONNREFUSED", errno.ECONNREFUSED,
                  c.connect, (B, port))
    same("each connect() at the limit is counted", counter("a", "conn_limit"), refused + 7)
    # closed sockets are gone a little later
    p = new_port()
    with listener(sdp("b"), B, p) as l:
        for i in range(200):
            with sdp("a") as c:
                c.connect((B, p))
                kind = domain(c)
                l.accept()[0].close()
            if kind == AF_SDP:
                break
            time.sleep(0.05)
        same("below the limit connections are SDP again", kind, AF_SDP)
    sysctl("a", "max_connections", 0)


def limited_there():
    """The other end has as many as it may: a listener of both takes TCP, one of SDP none."""
    p = new_port()
    refused = counter("b", "conn_limit")
    with listener(sdp("b"), B, p) as l, sdp("a") as first:
        first.connect((B, p))
        accepted = l.accept()[0]
        sysctl("b", "max_connections", 1)
        with sdp("a", NONE) as c:
            fails("at the peer's limit a client of SDP alone is refused", errno.ECONNREFUSED,
                  c.connect, (B, p))
        with sdp("a") as c, sdp("a") as more:
            c.connect((B, p))
            s = l.accept()[0]
            same("at the peer's limit both ends take TCP", (domain(c), domain(s)),
                 (socket.AF_INET, socket.AF_INET))
            talk("at the peer's limit data arrives", c, s)
            more.connect((B, p))
            same("at the peer's limit a second connection of TCP", domain(l.accept()[0]),
                 socket.AF_INET)
            s.close()
        talk("the connection before the limit still works", first, accepted)
        accepted.close()
    same("each request at the limit is counted", counter("b", "conn_limit"), refused + 3)
    sysctl("b", "max_connections", 0)


def only():
    p = new_port()
    with sdp("b") as l, sdp("a") as c:
        l.bind((B, p))
        l.setsockopt(SOL_SDP, SDP_FALLBACK, ONLY)
        same("SDP_FALLBACK 2 makes it a TCP socket at once", domain(l), socket.AF_INET)
        same("a bound socket that becomes TCP stays bound", l.getsockname(), (B, p))
        l.listen(1)
        c.setsockopt(SOL_SDP, SDP_FALLBACK, ONLY)
        c.connect((B, p))
        ok("sockets with SDP_FALLBACK 2 connect", True)
        with listener(sdp("b", NONE), B, p) as other:
            ok("SDP can listen at the port of such a socket", True)
    with sdp("a") as c:
        same("SDP_FALLBACK can be read", c.getsockopt(SOL_SDP, SDP_FALLBACK), TCP)
        for bad in -1, 3:
            fails("SDP_FALLBACK %d: EINVAL" % bad, errno.EINVAL, c.setsockopt, SOL_SDP,
                  SDP_FALLBACK, bad)
        c.setsockopt(SOL_SDP, SDP_FALLBACK, NONE)
        same("SDP_FALLBACK can be set to 0 again", c.getsockopt(SOL_SDP, SDP_FALLBACK), NONE)
    with sdp("b") as l, sdp("b") as other:
        listener(l, B, new_port())
        fails("SDP_FALLBACK of a listener: EISCONN", errno.EISCONN, l.setsockopt, SOL_SDP,
              SDP_FALLBACK, ONLY)
    with listener(tcp("b"), B, new_port()), sdp("b") as l:
        fails("bind reports the port as used by TCP", errno.EADDRINUSE, l.bind, (B, port))
    with sdp("b") as l, tcp("b") as t:
        l.bind((B, new_port()))
        fails("bind holds the port of TCP", errno.EADDRINUSE, t.bind, (B, port))
        l.setsockopt(SOL_SDP, SDP_FALLBACK, NONE)
        t.bind((B, port))
    with sdp("b") as l:
        l.bind((B, 0))
        l.listen(1)
        with tcp("a") as t, sdp("a", NONE) as s:
            t.connect(l.getsockname())
            s.connect(l.getsockname())
            ok("at a port that the kernel chose both kinds connect", True)
    for v6, host in (0, "127.0.0.1"), (1, "::1"), (0, "10.9.9.9"), \
            (1, "fd99::9"):
        with sdp("b", TCP, v6) as l, tcp("b", v6) as c:
            listener(l, host, 0)
            c.connect(l.getsockname())
            same("a server at %s takes TCP" % host, l.accept()[1], c.getsockname())
            fails("a second bind(): EINVAL", errno.EINVAL, l.bind, (host, 0))
            if "9" in host:
                same("a listener at an address without a device is TCP", domain(l), c.family)
    # a bound client keeps its port with TCP, though SDP has just used it
    p = new_port()
    with listener(tcp("b"), B, p) as l:
        for own in range(7771, 7776):
            with sdp("a") as c:
                c.bind((A, own))
                c.connect((B, p))
                same("a bound client of TCP has its port", l.accept()[1], (A, own))


def main():
    for netns in "a", "b":
        sysctl(netns, "port_offset", OFFSET)
        # each connect() tries SDP
        sysctl(netns, "fallback_memory", 0)
    connects = counter("a", "tcp_connects")
    blocking()
    ok("connections of TCP are counted", counter("a", "tcp_connects") >= connects + 2)
    socket_options()
    options6()
    nonblocking()
    stamps()
    meanwhile()
    sigio()
    no_device()
    server()
    reasons()
    limited_here()
    limited_there()
    without_offset()
    only()
    print("1..%d" % count)
    return failed != 0


sys.exit(main())
