#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sockmap.py CGROUP OP: a BPF program puts TCP sockets of a control group into a sockmap

OP is that of the program of the type sockops at which it does so: 4 for connections that
begin here, 5 for those that came in. Ends with its input."""
import ctypes
import os
import struct
import sys

SYS_BPF = 321
MAP_CREATE, PROG_LOAD, PROG_ATTACH, PROG_DETACH = 0, 5, 8, 9
MAP_TYPE_SOCKMAP, PROG_TYPE_SOCK_OPS, CGROUP_SOCK_OPS = 15, 13, 3
FUNC_SOCK_MAP_UPDATE = 53
LIBC = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    attr = attr.ljust(128, b"\0")
    ret = LIBC.syscall(SYS_BPF, command, attr, len(attr))
    if ret < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return ret


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


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
    cgroup = os.open(sys.argv[1], os.O_RDONLY)
    sockmap = bpf(MAP_CREATE, struct.pack("<IIII", MAP_TYPE_SOCKMAP, 4, 4, 1))
    code = ctypes.create_string_buffer(program(sockmap, int(sys.argv[2])))
    name = ctypes.create_string_buffer(b"GPL")
    prog = bpf(PROG_LOAD, struct.pack("<IIQQ", PROG_TYPE_SOCK_OPS, len(code) // 8,
                                      ctypes.addressof(code), ctypes.addressof(name)))
    bpf(PROG_ATTACH, struct.pack("<III", cgroup, prog, CGROUP_SOCK_OPS))
    print("attached", flush=True)
    sys.stdin.read()
    bpf(PROG_DETACH, struct.pack("<III", cgroup, prog, CGROUP_SOCK_OPS))


main()
