#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""For details.sh: send and receive single packets, from va to vb

details.py frame SRC DST TEXT   send a TCP packet with TEXT, then one with FIN; short ones are
                                padded to the least length of an Ethernet frame
details.py payload              print the payload of these packets at vb, when the FIN is there
details.py tclass N             send a datagram over IPv6 of that class, to port 9
details.py hash                 print "hash" if a datagram to port 9000 has a hash, else "none"
"""
import socket
import struct
import sys


def fold(data):
    n = sum(struct.unpack("!%dH" % (len(data) // 2), data + bytes(len(data) % 2)))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return struct.pack("!H", ~n & 0xffff)


def packet(macs, text, flags):
    addrs = socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.0.2")
    tcp = struct.pack("!HHIIBBHHH", 1111, 2222, 1, 1, 0x50, flags, 1000, 0, 0)
    pseudo = addrs + struct.pack("!HH", 6, len(tcp) + len(text)) + tcp + text
    tcp = tcp[:16] + fold(pseudo + bytes(len(pseudo) % 2)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + len(text), 1, 0, 64, 6, 0)
    ip = ip[:10] + fold(ip + addrs) + addrs
    return (macs + b"\x08\x00" + ip + tcp + text).ljust(60, b"\x55")


def frame(src, dst, text):
    macs = bytes.fromhex((dst + src).replace(":", ""))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind(("va", 0x800))
        s.send(packet(macs, text.encode(), 0x10))
        s.send(packet(macs, b"", 0x11))


def payload():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind(("vb", 3))
    print("watching", flush=True)
    got = b""
    while True:
        data, info = s.recvfrom(2000)
        if info[2] == socket.PACKET_OUTGOING or \
           data[34:38] != struct.pack("!HH", 1111, 2222):
            continue
        if data[47] & 1:
            break
        got += data[54:14 + struct.unpack("!H", data[16:18])[0]]
    print("payload", ascii(got.decode("latin1")), flush=True)


def tclass(n):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, int(n, 0))
        s.sendto(b"x", ("fd00::2", 9))


def hashed():
    code = struct.pack("HBBI" * 4,
                       0x20, 0, 0, 0xfffff000 + 32,     # ld rxhash
                       0x15, 0, 1, 0,                   # none?
                       0x06, 0, 0, 8 + 1,               # then one byte is enough
                       0x06, 0, 0, 0xffff)
    import ctypes
    buf = ctypes.create_string_buffer(code)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, 26,             # SO_ATTACH_FILTER
                     struct.pack("HL", 4, ctypes.addressof(buf)))
        s.bind(("10.0.0.2", 9000))
        print("watching", flush=True)
        print("none" if len(s.recv(9)) == 1 else "hash", flush=True)


{"frame": frame, "payload": payload, "tclass": tclass,
 "hash": hashed}[sys.argv[1]](*sys.argv[2:])
