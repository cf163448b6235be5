#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sockmap.py CGROUP OP: a BPF program puts TCP sockets of a control group into a sockmap

OP is that of the program of the type sockops at which it does so: 4 for connections that
begin here, 5 for those that came in. Ends with its input."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from bpf import MAP_CREATE, Attached, bpf, insn, load  # noqa: E402

MAP_TYPE_SOCKMAP, PROG_TYPE_SOCK_OPS, CGROUP_SOCK_OPS = 15, 13, 3
FUNC_SOCK_MAP_UPDATE = 53


def program(sockmap, op):
    """At @op put the socket into @sockmap"""
    return b"".join((
        insn(0xbf, 6, 1),                       # r6 = context
        insn(0x61, 2, 6),                       # r2 = op
        insn(0x55, 2, off=8, imm=op),           # another one: return
        insn(0x62, 10, off=-4),                 # key 0, on the stack
        insn(0xbf, 1, 6),
        insn(0x18, 2, 1, imm=sockmap), insn(0),
        insn(0xbf, 3, 10), insn(0x07, 3, imm=-4),
        insn(0xb7, 4),                          # BPF_ANY
        insn(0x85, imm=FUNC_SOCK_MAP_UPDATE),
        insn(0xb7, 0, imm=1), insn(0x95)))


def main():
    sockmap = bpf(MAP_CREATE, struct.pack("<IIII", MAP_TYPE_SOCKMAP, 4, 4, 1))
    prog = load(PROG_TYPE_SOCK_OPS, program(sockmap, int(sys.argv[2])))
    with Attached(sys.argv[1], prog, CGROUP_SOCK_OPS):
        print("attached", flush=True)
        sys.stdin.read()


main()
