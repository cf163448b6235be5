#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""For relisten.sh: listens, and says "listening" or why not. Stays if it listens.

relisten.py tcp ADDRESS PORT [DEVICE]   a socket of TCP, at that net device alone
relisten.py sdp ADDRESS PORT            a socket of SDP
relisten.py verbs|ib ADDRESS PORT       rdma_listen() in the port space of TCP or InfiniBand
"""
import ctypes
import errno
import os
import socket
import struct
import sys
import time

SPACES = {"verbs": 0x0106, "ib": 0x013f}    # RDMA_PS_TCP, RDMA_PS_IB
PROTOCOLS = {"tcp": 0, "sdp": 257}


def by_socket(what, addr, port, device=""):
    """Listens by a socket, which it returns."""
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOLS[what])
    if device:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    s.bind((addr, port))
    s.listen(8)
    return s


def check(ret):
    """Of a function of librdmacm."""
    if ret:
        err = ctypes.get_errno()
        raise OSError(err, os.strerror(err))


def by_cm(what, addr, port):
    """Listens by a cm_id of librdmacm."""
    lib = ctypes.CDLL("librdmacm.so.1", use_errno=True)
    lib.rdma_create_event_channel.restype = ctypes.c_void_p
    channel = ctypes.c_void_p(lib.rdma_create_event_channel())
    cm_id = ctypes.c_void_p()
    if ":" in addr:
        sockaddr = struct.pack("=H2s4x16s4x", socket.AF_INET6, struct.pack("!H", port),
                               socket.inet_pton(socket.AF_INET6, addr))
    else:
        sockaddr = struct.pack("=H2s4s8x", socket.AF_INET, struct.pack("!H", port),
                               socket.inet_aton(addr))
    check(lib.rdma_create_id(channel, ctypes.byref(cm_id), None, SPACES[what]))
    check(lib.rdma_bind_addr(cm_id, sockaddr))
    check(lib.rdma_listen(cm_id, 8))
    return cm_id


def main():
    what, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        listener = (by_cm if what in SPACES else by_socket)(what, addr, port, *sys.argv[4:])
    except OSError as error:
        sys.exit(errno.errorcode[error.errno])
    print("listening", flush=True)
    time.sleep(1000)
    del listener


if __name__ == "__main__":
    main()
