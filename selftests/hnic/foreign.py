#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""For foreign.sh and offload.sh: a connection from 10.0.0.1 to 10.0.0.2, and packets like its own

foreign.py serve                           at port 5299; prints the bytes received so far
foreign.py connect                         sends 40000 bytes for each line read
foreign.py send DEV SRC DST PORT SEQ TEXT  sends a packet from PORT with TEXT 100 times
foreign.py watch PORT                      on vb: prints the payload of such packets, and the
                                           acknowledgments of the connection from PORT
foreign.py final DEV                       for each packet with payload that comes: prints
                                           "final", or "open" if it ends with four zero
                                           bytes, that is, its CRC is missing
"""
import socket
import struct
import sys

END = ("10.0.0.2", 5299)
IDENT = b"\xbe\xef"


def serve():
    with socket.create_server(END) as s:
        print("listening", flush=True)
        s = s.accept()[0]
    n = 0
    while data := s.recv(1 << 20):
        n += len(data)
        print("has", n, flush=True)


def connect():
    s = socket.create_connection(END)
    print("port", s.getsockname()[1], flush=True)
    for _ in sys.stdin:
        s.sendall(bytes(40000))


def fold(data):
    n = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return struct.pack("!H", ~n & 0xffff)


def send(dev, src, dst, port, seq, text):
    text = text.encode() * 100
    addrs = socket.inet_aton("10.0.0.1") + socket.inet_aton(END[0])
    tcp = struct.pack("!HHIIBBHHH", int(port), END[1], int(seq), 0, 0x50, 0x10,
                      1000, 0, 0)
    pseudo = addrs + struct.pack("!HH", 6, len(tcp) + len(text))
    tcp = tcp[:16] + fold(pseudo + tcp + text) + tcp[18:]
    ip = struct.pack("!BBH2sHBBH", 0x45, 0, 40 + len(text), IDENT, 0, 64, 6, 0)
    ip = ip[:10] + fold(ip + addrs) + addrs
    macs = bytes.fromhex((dst + src).replace(":", ""))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((dev, 0x800))
        s.send(macs + b"\x08\x00" + ip + tcp + text)


def watch(port):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind(("vb", 3))
    print("watching", flush=True)
    while True:
        data, info = s.recvfrom(70000)
        if data[12:14] != b"\x08\x00" or data[23] != 6:
            continue
        ports = struct.unpack("!HH", data[34:38])
        if info[2] == socket.PACKET_OUTGOING and ports == (END[1], int(port)):
            print("ack", *struct.unpack("!I", data[42:46]), flush=True)
        elif info[2] != socket.PACKET_OUTGOING and data[18:20] == IDENT:
            text = data[54:]
            same = text.isalpha() and text == text[:1] * 100
            print("text", chr(text[0]) if same else text.hex(), flush=True)


def final(dev):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((dev, 3))
    print("watching", flush=True)
    while True:
        data, info = s.recvfrom(70000)
        ip = data[14:]
        if info[2] == socket.PACKET_OUTGOING or ip[0] != 0x45 or ip[9] != 6:
            continue
        length, = struct.unpack("!H", ip[2:4])
        payload = ip[20 + (ip[32] >> 4) * 4:length]
        if payload and not payload.startswith(b"MPA ID "):
            print("final" if any(payload[-4:]) else "open", flush=True)


globals()[sys.argv[1]](*sys.argv[2:])
