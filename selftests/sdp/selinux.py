#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""selinux.py PORT [PROTOCOL]: what SELinux, with the policy of selinux.conf, lets a program of
the domain user_t do with sockets.

Prints "OPERATION RESULT" for each, where RESULT is "ok" or the name of an error. Listens in the
namespace b, connects from a. Under sdp-run the sockets are of SDP."""
import ctypes
import errno
import os
import socket
import sys

PORT = int(sys.argv[1])
PROTOCOL = int(sys.argv[2]) if len(sys.argv) > 2 else 0
ADDRESS = "10.0.0.2"
SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY = 1027, 32, 2
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def attribute(name, value):
    """Set the attribute of this task; an empty value is the default"""
    with open("/proc/thread-self/attr/" + name, "w", encoding="ascii") as file:
        file.write(value or "\n")


def enter(netns):
    """Sockets belong to the namespace that they are made in"""
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def labelled(kind, netns="a", protocol=PROTOCOL):
    """Make a socket of that type of SELinux"""
    enter(netns)
    attribute("sockcreate", f"u:object_r:{kind}")
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    attribute("sockcreate", "")
    sock.settimeout(20)
    return sock


def listener(kind="net_t"):
    """Make a listening socket of that type"""
    sock = labelled(kind, "b")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((ADDRESS, PORT))
    sock.listen()
    return sock


def pair(kind="net_t"):
    """Return a connected client of that type, and the accepted socket"""
    with listener() as lsn:
        client = labelled(kind)
        client.connect((ADDRESS, PORT))
        return client, lsn.accept()[0]


def do_create():
    """The type of a socket is by default that of the domain, which has no rights to it"""
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL)


def do_bind():
    """Needs the right to bind"""
    labelled("no_bind_t", "b").bind((ADDRESS, PORT))


def do_listen():
    """Needs the right to listen"""
    listener("no_listen_t")


def do_connect():
    """Needs the right to connect"""
    with listener():
        labelled("no_connect_t").connect((ADDRESS, PORT))


def do_accept():
    """Needs the right to accept"""
    with listener("no_accept_t") as lsn:
        with labelled("net_t") as client:
            client.connect((ADDRESS, PORT))
            lsn.accept()


def do_recv():
    """Needs the right to read"""
    client, accepted = pair("no_read_t")
    accepted.send(b"x")
    client.recv(1)


def do_send():
    """Needs the right to write"""
    pair("no_write_t")[0].send(b"x")


def do_setsockopt():
    """Needs the right to setopt"""
    labelled("no_setopt_t").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def do_accepted():
    """An accepted socket has the type of its listener, for all that is done with it"""
    client, accepted = pair()
    client.send(b"x")
    accepted.recv(1)
    accepted.send(b"y")
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.recv(1)
    accepted.getpeername()
    accepted.shutdown(socket.SHUT_WR)


def do_label():
    """The file of an accepted socket has the label of the listener"""
    accepted = pair()[1]
    label = os.getxattr(f"/proc/self/fd/{accepted.fileno()}", "security.selinux")
    if label.rstrip(b"\0") != b"u:object_r:net_t":
        raise OSError(errno.EBADE, label.decode())


def do_fallback():
    """The TCP socket beside one of SDP is subject to the rules for TCP"""
    sock = labelled("no_tcp_t")
    sock.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
    sock.connect((ADDRESS, PORT))


def result(call):
    """Return "ok" or the name of its error"""
    try:
        call()
    except OSError as err:
        attribute("sockcreate", "")
        return errno.errorcode.get(err.errno, repr(err))
    return "ok"


def main():
    attribute("current", "u:r:user_t")
    for name, call in list(globals().items()):
        if name.startswith("do_"):
            print(name[3:], result(call), flush=True)


main()
