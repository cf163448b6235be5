#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A firewall's rule about a user or a group, of this network namespace, by the interface
of iptables: "owner_rule.py user UID" makes one that accepts what that user sends,
"owner_rule.py group GID" what members of that group send, "owner_rule.py count" tells how
many packets it has seen."""
import ctypes
import socket
import struct
import sys

SOL_IP = 0
SET_REPLACE = GET_INFO = 64
GET_ENTRIES = 65
HOOKS = 1 << 1 | 1 << 2 | 1 << 3    # of the table "filter": input, forward, output
ACCEPT = -2
XT_OWNER_UID, XT_OWNER_GID, XT_OWNER_SUPPL_GROUPS = 1, 2, 8
NAME = struct.pack("32s", b"filter")
LIBC = ctypes.CDLL(None, use_errno=True)
RAW = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def entry(target, match=b""):
    """struct ipt_entry: any packet that @match has nothing against"""
    start = 112 + len(match)
    return struct.pack("84xIHHI16x", 0, start, start + len(target), 0) + match + target


def standard():
    return entry(struct.pack("H30xi4x", 40, ACCEPT))


def owner(kind, number):
    """xt_owner, revision 1: the user, or the group with supplementary ones"""
    user, group, flags = number, 0, XT_OWNER_UID
    if kind == "group":
        user, group, flags = 0, number, XT_OWNER_GID | XT_OWNER_SUPPL_GROUPS
    match = struct.pack("H29sBIIIIBB6x", 56, b"owner", 1, user, user, group, group, flags, 0)
    return entry(struct.pack("H30xi4x", 40, ACCEPT), match)


def get(option, value):
    buf = ctypes.create_string_buffer(value, len(value))
    size = ctypes.c_int(len(value))
    if LIBC.getsockopt(RAW.fileno(), SOL_IP, option, buf, ctypes.byref(size)):
        err = ctypes.get_errno()
        raise OSError(err, "getsockopt %d" % option)
    return buf.raw


def info():
    """Entries and bytes of the table, and the offset of the output chain"""
    told = get(GET_INFO, NAME + bytes(52))
    n, size = struct.unpack_from("II", told, 76)
    return n, size, struct.unpack_from("I", told, 36 + 3 * 4)[0]


def replace(kind, number):
    rules = [standard(), standard(), owner(kind, number), standard(),
             entry(struct.pack("H29sB30s2x", 64, b"ERROR", 0, b"ERROR"))]
    at = [sum(map(len, rules[:i])) for i in range(len(rules) + 1)]
    old = info()[0]
    counters = ctypes.create_string_buffer(16 * old)
    RAW.setsockopt(SOL_IP, SET_REPLACE, NAME + struct.pack(
        "III5I5IIP", HOOKS, len(rules), at[-1], 0, at[0], at[1], at[2], 0,
        0, at[0], at[1], at[3], 0, old, ctypes.addressof(counters)) + b"".join(rules))


def count():
    _, size, output = info()
    table = get(GET_ENTRIES, NAME + struct.pack("I4x", size) + bytes(size))
    return struct.unpack_from("Q", table, 40 + output + 96)[0]


if sys.argv[1] == "count":
    print(count())
else:
    replace(sys.argv[1], int(sys.argv[2]))
