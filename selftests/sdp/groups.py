#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sockets for groups.sh

groups.py open KIND: the result of socket(): tcp, door (IPPROTO_SDP), family (AF_SDP); door6,
	family6 for IPv6
groups.py kind: SDP or TCP, of a stream socket
groups.py late GROUP: SDP or TCP, of two sockets: before and after GROUP is the effective one
groups.py full: the error when there are too many stream sockets
groups.py most: SDP or TCP, as a member of as many groups as there may be, 150 among them
groups.py mapped GROUP COMMAND...: runs it in a user namespace where this group is 0 and no other
	group has a number
groups.py serve PORT | ask ADDRESS PORT: over SDP
groups.py tcp PORT: a TCP server
groups.py landlock ADDRESS PORT: results of connect() of a TCP socket, and of SDP sockets with
	SDP_FALLBACK 1, with 2, and with 2 after bind(), then those of listen() at PORT + 1, for a
	program that may use no TCP port. TCP: the kernel has a TCP connection or listener"""
import ctypes
import errno
import itertools
import os
import socket
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
AF_SDP, IPPROTO_SDP, SOL_SDP, SDP_FALLBACK = 27, 257, 1027, 32
SO_PROTOCOL, TCP_LISTEN = 38, "0A"
LATE = 3        # SDP_FALLBACK 2 after bind()
CREATE_RULESET, RESTRICT_SELF, VERSION = 444, 446, 1
BIND_TCP, CONNECT_TCP = 1, 2
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000


def attempt(call):
    try:
        return call()
    except OSError as err:
        return errno.errorcode[err.errno]


def checked(ret):
    if ret < 0:
        raise OSError(ctypes.get_errno(), "")
    return ret


def make(kind):
    v6 = kind.endswith("6")
    family = socket.AF_INET6 if v6 else socket.AF_INET
    if kind.startswith("family"):
        fd = checked(LIBC.socket(AF_SDP, socket.SOCK_STREAM, int(v6)))
        return socket.socket(family, socket.SOCK_STREAM, IPPROTO_SDP, fileno=fd)
    return socket.socket(family, socket.SOCK_STREAM, 0 if kind == "tcp" else IPPROTO_SDP)


def opened(kind):
    with make(kind):
        return "ok"


def kind_of(sock):
    """libsdp hides SO_PROTOCOL"""
    try:
        sock.getsockopt(SOL_SDP, SDP_FALLBACK)
        return "SDP"
    except OSError:
        return "TCP"


def listen(kind, port):
    with make(kind) as sock:
        sock.bind(("10.0.0.2", port))
        sock.listen(8)
        print("listening", flush=True)
        while True:
            with sock.accept()[0] as child:
                child.sendall(b"served")


def ask(address, port):
    with make("door") as sock:
        sock.settimeout(60)
        sock.connect((address, port))
        return sock.recv(64, socket.MSG_WAITALL).decode()


def confine():
    """False if the kernel cannot"""
    if LIBC.syscall(CREATE_RULESET, None, 0, VERSION) < 4:
        return False
    rules = struct.pack("QQ", 0, BIND_TCP | CONNECT_TCP)
    fd = checked(LIBC.syscall(CREATE_RULESET, rules, len(rules), 0))
    checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(LIBC.syscall(RESTRICT_SELF, fd, 0))
    return True


def ready(how, port):
    """One of the sockets that landlock() tries, with bind() to that port unless it is None"""
    sock = make("door" if how else "tcp")
    sock.settimeout(60)
    if how in (1, 2):
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, how)
    if port is not None:
        sock.bind(("10.0.0.1", port))
    if how == LATE:
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, 2)
    return sock


def connect(how, address):
    with ready(how, 0 if how == LATE else None) as sock:
        sock.connect(address)
        tcp = sock.getsockopt(socket.SOL_SOCKET, SO_PROTOCOL) == socket.IPPROTO_TCP
        return "TCP" if tcp else "SDP"


def tcp_listens(port):
    with open("/proc/net/tcp", encoding="ascii") as file:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == TCP_LISTEN
                   for line in file)


def listen_once(how, port):
    with ready(how, port) as sock:
        sock.listen()
        return "TCP" if tcp_listens(port) else "SDP"


def late(group):
    with socket.socket() as before:
        os.setegid(group)
        with socket.socket() as after:
            return kind_of(before) + " " + kind_of(after)


def full():
    socks = []
    while True:
        socks.append(socket.socket())


def run_mapped(group, command):
    """The parent writes the maps: only there may a namespace keep setgroups()"""
    created, mapped = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        checked(LIBC.unshare(CLONE_NEWUSER))
        os.write(created[1], b"1")
        os.read(mapped[0], 1)
        os.execvp(command[0], command)
    os.close(created[1])
    os.read(created[0], 1)
    for name, number in ("uid_map", "0"), ("gid_map", group):
        with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as f:
            f.write(f"0 {number} 1")
    os.write(mapped[1], b"1")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def landlock(address):
    if not confine():
        return "no Landlock"
    calls = itertools.product(((connect, address), (listen_once, address[1] + 1)),
                              range(LATE + 1))
    return " ".join(attempt(lambda: call(how, to)) for (call, to), how in calls)


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "open":
        print(attempt(lambda: opened(args[0])))
    elif what == "kind":
        print(kind_of(socket.socket()))
    elif what == "late":
        print(late(int(args[0])))
    elif what == "full":
        print(attempt(full))
    elif what == "most":
        os.setgroups([150, *range(1001, 66536)])
        print(kind_of(socket.socket()))
    elif what == "mapped":
        sys.exit(run_mapped(args[0], args[1:]))
    elif what in ("serve", "tcp"):
        listen("tcp" if what == "tcp" else "door", int(args[0]))
    elif what == "ask":
        print(ask(args[0], int(args[1])))
    else:
        print(landlock((args[0], int(args[1]))))


main()
