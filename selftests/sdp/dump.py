#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""dump.py: a dump of sockets that takes several replies; some are closed and others made
between the first two. For the sockets that exist all the time it prints how many are in the
dump how many times: "1: 250" is 250 of them once. "dump.py quit" ends after the first reply."""
import collections
import os
import socket
import struct
import sys

AF_SDP = 27
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_DONE = 3
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
HEADER = struct.Struct("IHHII")
INODE = 64                      # of diag_inode in struct sdp_diag_msg


def request():
    # with all attributes, so that few sockets fit into a reply: the kernel makes the second
    # reply when the first is read
    body = struct.pack("BBHIIII", AF_SDP, 0, 0, 0xffffffff, 7, 0, 0)
    return HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY,
                       NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body


def inodes(reply):
    """The sockets in a reply; None after the last one"""
    pos = 0
    while pos < len(reply):
        length, kind = HEADER.unpack_from(reply, pos)[:2]
        if kind == NLMSG_DONE:
            yield None
            return
        if kind != SOCK_DIAG_BY_FAMILY:
            sys.exit(f"a message of type {kind}")
        yield struct.unpack_from("I", reply, pos + HEADER.size + INODE)[0]
        pos += (length + 3) & ~3


def main():
    socks = [socket.socket(AF_SDP) for _ in range(400)]
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    netlink.send(request())
    seen = collections.Counter(inodes(netlink.recv(1 << 16)))
    if None in seen:
        sys.exit("all in one reply")
    if sys.argv[1:] == ["quit"]:
        return
    for sock in socks[:150]:
        sock.close()
    socks[:150] = [socket.socket(AF_SDP) for _ in range(150)]
    while None not in seen:
        seen.update(inodes(netlink.recv(1 << 16)))
    stayed = [seen[os.fstat(sock.fileno()).st_ino] for sock in socks[150:]]
    for times, many in sorted(collections.Counter(stayed).items()):
        print(f"{times}: {many}")


main()
