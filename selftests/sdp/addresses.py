#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""addresses.py INTERFACE COMMAND...: run the command, and print the advertisements of
memory, and RDMA Read Requests, that pass INTERFACE: kind, number, highest address."""
import re
import socket
import struct
import subprocess
import sys
import threading

ETH_P_ALL, SO_RCVBUFFORCE = 3, 33


# BSDH, extended header of SrcAvail (with or without payload), SinkAvail, RingAvail
def message(mid, *sizes):
    sizes = b"|".join(re.escape(struct.pack(">I", n)) for n in sizes)
    return re.compile(mid + b"[\x00-\x07]..(?:" + sizes + b").{8}.{8}(.{8})",
                      re.DOTALL)


KINDS = {
    "SrcAvail": message(b"\xfe", 32, 96),
    "SinkAvail": message(b"\xfd", 36),
    "RingAvail": message(b"\x48", 32),
    # DDP and RDMAP control, reserved, queue 1, MSN, MO; STag, TO, size, STag, TO
    "ReadRequest": re.compile(
        b"\x41\x41.{4}\x00\x00\x00\x01.{4}\x00{4}.{4}(.{8}).{8}(.{8})",
        re.DOTALL),
}


def look(sock, found):
    while True:
        packet = sock.recv(1 << 17)
        for kind, pattern in KINDS.items():
            for match in pattern.finditer(packet):
                found[kind] += [struct.unpack(">Q", va)[0]
                                for va in match.groups()]


def main():
    found = {kind: [] for kind in KINDS}
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(ETH_P_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    sock.bind((sys.argv[1], 0))
    threading.Thread(target=look, args=(sock, found), daemon=True).start()
    run = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, check=False)
    if run.returncode:
        print("status", run.returncode, run.stdout.decode())
    for kind, addresses in found.items():
        if addresses:
            print(kind, len(addresses), max(addresses))
    return run.returncode


sys.exit(main())
