# SPDX-License-Identifier: GPL-2.0
"""The bpf() system call, for small programs that tests write in instructions."""
import ctypes
import os
import struct

SYS_BPF = 321
MAP_CREATE, PROG_LOAD, PROG_ATTACH, PROG_DETACH = 0, 5, 8, 9
LIBC = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    attr = attr.ljust(128, b"\0")
    ret = LIBC.syscall(SYS_BPF, command, attr, len(attr))
    if ret < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return ret


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


def load(kind, code, attach_type=0):
    """Load a program of type @kind for @attach_type; its descriptor"""
    text = ctypes.create_string_buffer(code)
    name = ctypes.create_string_buffer(b"GPL")
    return bpf(PROG_LOAD, struct.pack("<IIQQIIQII16sII", kind, len(code) // 8,
                                      ctypes.addressof(text), ctypes.addressof(name),
                                      0, 0, 0, 0, 0, b"", 0, attach_type))


class Attached:
    """A program that is attached to a control group while the "with" block runs"""

    def __init__(self, cgroup, prog, attach_type):
        self.cgroup = os.open(cgroup, os.O_RDONLY)
        self.prog = prog
        self.attach_type = attach_type

    def command(self, command):
        bpf(command, struct.pack("<III", self.cgroup, self.prog, self.attach_type))

    def __enter__(self):
        self.command(PROG_ATTACH)
        return self

    def __exit__(self, *_):
        self.command(PROG_DETACH)
        os.close(self.cgroup)
        os.close(self.prog)
