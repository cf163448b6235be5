# SPDX-License-Identifier: GPL-2.0
"""filter.py ADDRESS PORT: attach a packet filter at several times.

Prints "CASE:RESULT": "refused", or what came through."""
import ctypes
import errno
import socket
import struct
import sys

SDP, SO_ATTACH_FILTER, SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY = 257, 26, 1027, 32, 2
ADDRESS = (sys.argv[1], int(sys.argv[2]))
NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0), 8)


def stream():
    """A new socket"""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, SDP)


def attach(sock):
    """Attaches a program that lets nothing pass"""
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HxxxxxxP", 1, ctypes.addressof(NOTHING)))


def come(receiver, sender):
    """Sends data, and returns what has come"""
    sender.sendall(b"data")
    return receiver.recv(4).decode() + " came"


def before_connect(listener):
    """Data to the client"""
    with stream() as client:
        attach(client)
        client.connect(ADDRESS)
        return come(client, listener.accept()[0])


def when_connected(listener):
    """Data to the client"""
    with stream() as client:
        client.connect(ADDRESS)
        server = listener.accept()[0]
        attach(client)
        return come(client, server)


def when_accepted(listener):
    """Data to the server"""
    with stream() as client:
        client.connect(ADDRESS)
        server = listener.accept()[0]
        attach(server)
        return come(server, client)


def before_listen(_):
    """No packet is sent"""
    with stream() as other:
        attach(other)
        other.bind((ADDRESS[0], 0))
        other.listen()
        return "it listens"


def when_it_listens(_):
    """Packets of a connection to the listener"""
    with stream() as other, stream() as client:
        other.bind((ADDRESS[0], 0))
        other.listen()
        attach(other)
        client.connect(other.getsockname())
        return come(other.accept()[0], client)


def before_fallback_to_tcp(_):
    """Packets of the TCP socket that takes over"""
    with stream() as client:
        attach(client)
        client.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
        return "it is one of TCP without a filter"


def main():
    """All cases"""
    with stream() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(ADDRESS)
        listener.listen()
        for case in (before_connect, when_connected, when_accepted, before_listen,
                     when_it_listens, before_fallback_to_tcp):
            try:
                result = case(listener)
            except OSError as err:
                result = "refused" if err.errno in (errno.EOPNOTSUPP, errno.EPERM) else err
            print(f"{case.__name__.replace('_', ' ')}:{result}")


main()
