#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""options.py LIST: every number of four levels, over TCP and over SDP

An option that TCP takes works over SDP, or is one of those that LIST says are stored, or
refused. Any other number is refused over SDP whatever TCP does. One that works or is stored
has the value of TCP's afterwards. One that works has a test case that shows its effect. Prints
TAP."""
import ctypes
import errno
import os
import re
import shutil
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from bpf import insn, load  # noqa: E402

SDP = 257
BPF_SOCKET_FILTER = 1
LEVELS = {"socket": socket.SOL_SOCKET, "ip": socket.IPPROTO_IP,
          "ipv6": socket.IPPROTO_IPV6, "tcp": socket.IPPROTO_TCP}
NUMBERS = range(256)
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


# a program for classic BPF: return 1
CODE = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 1), 8)
CBPF = struct.pack("HxxxxxxP", 1, ctypes.addressof(CODE))
# the same for eBPF
EBPF = struct.pack("i", load(BPF_SOCKET_FILTER, insn(0xb7, imm=1) + insn(0x95)))
ONE = struct.pack("i", 1)
# values of options that do not take 1
VALUES = {
    "SO_LINGER": struct.pack("ii", 1, 1),
    "SO_RCVTIMEO": struct.pack("qq", 1, 0),
    "SO_SNDTIMEO": struct.pack("qq", 1, 0),
    "SO_RCVTIMEO_NEW": struct.pack("qq", 1, 0),
    "SO_SNDTIMEO_NEW": struct.pack("qq", 1, 0),
    "SO_BINDTODEVICE": b"lo\0",
    "SO_TIMESTAMPING": struct.pack("i", 0x18),
    "SO_TIMESTAMPING_NEW": struct.pack("i", 0x18),
    "SO_TXTIME": struct.pack("ii", 1, 0),
    "SO_ATTACH_FILTER": CBPF,
    "SO_ATTACH_BPF": EBPF,
    "SO_ATTACH_REUSEPORT_CBPF": CBPF,
    "SO_ATTACH_REUSEPORT_EBPF": EBPF,
    "IP_UNICAST_IF": struct.pack(">i", 1),
    "IPV6_UNICAST_IF": struct.pack(">i", 1),
    "IP_LOCAL_PORT_RANGE": struct.pack("I", 40000 | 40100 << 16),
    "IPV6_ADDRFORM": struct.pack("i", socket.AF_INET),
    "IPV6_MTU": struct.pack("i", 1280),
    "IPV6_HOPOPTS": struct.pack("BBBBxxxx", 0, 0, 1, 4),
    "IPV6_DSTOPTS": struct.pack("BBBBxxxx", 0, 0, 1, 4),
    "TCP_MAXSEG": struct.pack("i", 1000),
    "TCP_CONGESTION": b"reno",
    "TCP_FASTOPEN_KEY": bytes(range(16)),
    "TCP_RTO_MAX_MS": struct.pack("i", 2000),
    "TCP_RTO_MIN_US": struct.pack("i", 200000),
    "TCP_DELACK_MAX_US": struct.pack("i", 40000),
}


def read_list(path):
    """{(level, number): (name, what SDP does on this kernel, the test case of its effect)}"""
    table = {}
    with open(path, encoding="ascii") as file:
        lines = [line.split(None, 4) for line in file if not line.startswith("#")]
    for level, number, name, does, *case in lines:
        old, _, new = does.partition(",")
        old, _, until = old.partition("<")
        if until and KERNEL >= tuple(int(part) for part in until.split(".")):
            old = new or "works"
        table[level, int(number)] = (name, old, "".join(case).strip())
    return table


def shown(name, case):
    """Is there such a test case? A function of a file that names the option, or a text of a
    program"""
    file, _, what = case.partition(":")
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, file) if file.endswith(".py") else shutil.which(file)
    if not what or not path or not os.path.exists(path):
        return False
    with open(path, "rb") as opened:
        text = opened.read()
    if not file.endswith(".py"):
        return what.encode() in text
    return re.search(rf"^def {what}\(".encode(), text, re.M) and \
        re.search(rf"\b{name}\b|\b{name.partition('_')[2]}\b".encode(), text)


def name_of(err):
    """ENOTSUP is the same number"""
    return "EOPNOTSUPP" if err == errno.EOPNOTSUPP else errno.errorcode.get(err, str(err))


def value(sock, level, number):
    """The value that getsockopt() returns, or the name of the error"""
    try:
        return sock.getsockopt(LEVELS[level], number, 256)
    except OSError as err:
        return name_of(err.errno)


def tried(family, protocol, level, number, name):
    """Set the option. Returns "ok", or the name of the error, and the value afterwards"""
    with socket.socket(family, socket.SOCK_STREAM, protocol) as sock:
        if "REUSEPORT_" in name:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            sock.setsockopt(LEVELS[level], number, VALUES.get(name, ONE))
        except OSError as err:
            return name_of(err.errno), None
        return "ok", value(sock, level, number)


def wanted(tcp, sdp, does):
    """Is that what SDP shall do? @does: None for a number that is not in the list"""
    if tcp != "ok":
        return sdp in (tcp, does, "ENOPROTOOPT")
    if does in ("works", "stored"):
        return sdp == "ok"
    return does and sdp == does


def check(table, level):
    """Numbers of a level that are not as they should be"""
    family = socket.AF_INET6 if level == "ipv6" else socket.AF_INET
    bad = []
    taken = 0
    for number in NUMBERS:
        name, does, case = table.get((level, number), ("", None, ""))
        tcp, theirs = tried(family, 0, level, number, name)
        sdp, ours = tried(family, SDP, level, number, name)
        taken += tcp == "ok"
        if tcp == sdp == "ok" and theirs != ours:
            bad.append(f"{number} {name}: TCP has {theirs} afterwards, SDP {ours}")
        if does == "works" and not shown(name, case):
            bad.append(f"{number} {name}: no test case of its effect: {case or 'none named'}")
        if not wanted(tcp, sdp, does):
            bad.append(f"{number} {name or 'not in the list'}: TCP {tcp}, SDP {sdp}, "
                       f"listed as {does}")
    return bad, taken


def main():
    table = read_list(sys.argv[1])
    failed = 0
    print("TAP version 13")
    for i, level in enumerate(LEVELS, 1):
        bad, taken = check(table, level)
        if not taken:
            bad.append("TCP takes none")
        failed += bool(bad)
        print(f"{'not ' if bad else ''}ok {i} - options of the level {level}: {taken} that "
              "TCP takes, each works or is listed, with the value of TCP and a test case")
        for line in bad:
            print("#", line)
    print(f"1..{len(LEVELS)}\n# totals: pass:{len(LEVELS) - failed} fail:{failed} skip:0")
    sys.exit(bool(failed))


main()
