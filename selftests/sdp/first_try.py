#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
first_try.py sandbox FAMILY|SDP[:ERROR] COMMAND...: run a command in a sandbox where socket()
fails for the family AF_SDP (FAMILY), or for that and for IPPROTO_SDP (SDP). ERROR is
EAFNOSUPPORT, as with RestrictAddressFamilies of systemd, unless another one is named

first_try.py capability FILE: give it CAP_NET_BIND_SERVICE, as setcap does; exit status 4 if
the file system cannot store that
"""
import ctypes
import errno
import os
import struct
import sys

AF_SDP, IPPROTO_SDP = 27, 257
SYS_SOCKET = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERROR = 0x7fff0000, 0x00050000
NR, FAMILY, PROTOCOL = 0, 16, 32        # in struct seccomp_data


def sandbox(code):
    text = b"".join(struct.pack("HBBI", *line) for line in code)
    buf = ctypes.create_string_buffer(text, len(text))
    prog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buf))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prog, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def main(what, arg, *command):
    if what == "capability":
        # revision 2, effective, permitted: CAP_NET_BIND_SERVICE
        try:
            os.setxattr(arg, "security.capability",
                        struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
        except OSError as err:
            if err.errno == errno.EOPNOTSUPP:
                sys.exit(4)
            raise
        return
    arg, _, error = arg.partition(":")
    refuse = ERROR | getattr(errno, error or "EAFNOSUPPORT")
    code = [(LOAD, 0, 0, NR), (EQUAL, 0, 5, SYS_SOCKET), (LOAD, 0, 0, FAMILY),
            (EQUAL, 2, 0, AF_SDP), (LOAD, 0, 0, PROTOCOL),
            (EQUAL, 0, 1, IPPROTO_SDP if arg == "SDP" else 0xffff),
            (RETURN, 0, 0, refuse), (RETURN, 0, 0, ALLOW)]
    sandbox(code)
    os.execvp(command[0], command)


main(*sys.argv[1:])
