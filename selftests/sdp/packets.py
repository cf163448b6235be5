#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""packets.py PORT ADDRESS shared|verbs DEVICE: what SO_MARK, SO_PRIORITY, IP_TOS and
IPV6_TCLASS, IP_TTL and IPV6_UNICAST_HOPS make of the packets of a connection to ADDRESS in
the namespace b. In a, where what goes out at DEVICE has a queue for each priority, and in b
packets are looked at as they leave. TAP."""
import contextlib
import ctypes
import re
import socket
import struct
import subprocess
import sys

AF_SDP, SOL_SDP, SDP_SHARED_LINK = 27, 1027, 4
SO_ATTACH_FILTER, SO_MARK, ETH_P_ALL = 26, 36, 3
AD_PKTTYPE, AD_MARK, OUTGOING = 0xfffff000 + 4, 0xfffff000 + 20, 4
SYN, ACK = 2, 16
LIBC = ctypes.CDLL(None, use_errno=True)
PORT, ADDR, LINK, DEV = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
V6 = ":" in ADDR
TOS = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if V6 else (socket.IPPROTO_IP, socket.IP_TOS)
TTL = (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS) if V6 else (socket.IPPROTO_IP, socket.IP_TTL)
PATIENCE = 60   # seconds
count = failed = 0


def ok(what, good, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    if not good:
        print(f"# {detail}")


def same(what, got, wanted):
    ok(what, got == wanted, f"got {got!r}, wanted {wanted!r}")


def enter(netns):
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")


class Tap:
    """Packets of TCP that leave the namespace with, or without, a mark"""

    def __init__(self, netns, dev, mark, without=False):
        enter(netns)
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.sock.bind((dev, ETH_P_ALL))
        self.sock.setblocking(False)
        lines = [(0x20, 0, 0, AD_PKTTYPE), (0x15, 0, 3, OUTGOING), (0x20, 0, 0, AD_MARK),
                 (0x15, without, not without, mark), (6, 0, 0, 0xffffffff), (6, 0, 0, 0)]
        code = b"".join(struct.pack("HBBI", *line) for line in lines)
        self.code = ctypes.create_string_buffer(code)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack(
            "HxxxxxxP", len(lines), ctypes.addressof(self.code)))
        # what came before there was a filter
        self.packets()

    def packets(self, port=PORT):
        """(type of service, flags, bytes of payload, time to live) of each of the
        connection there, since the last time"""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = self.sock.recv(65536)
                if frame[12:14] == b"\x86\xdd" and frame[20] == 6:
                    ip, tcp = frame[14:], frame[54:]
                    tos, ttl = struct.unpack_from("!H", ip)[0] >> 4 & 0xff, ip[7]
                elif frame[12:14] == b"\x08\0" and frame[23] == 6:
                    ip = frame[14:]
                    tcp, tos, ttl = ip[(ip[0] & 15) * 4:], ip[1], ip[8]
                else:
                    continue
                if port in struct.unpack_from("!HH", tcp):
                    found.append((tos & ~3, tcp[13] & (SYN | ACK),
                                  len(tcp) - (tcp[12] >> 4) * 4, ttl))
        return found


def sdp(netns):
    enter(netns)
    sock = socket.socket(socket.AF_INET6 if V6 else socket.AF_INET, socket.SOCK_STREAM, 0,
                         fileno=LIBC.socket(AF_SDP, socket.SOCK_STREAM, int(V6)))
    sock.settimeout(PATIENCE)
    sock.setsockopt(SOL_SDP, SDP_SHARED_LINK, LINK == "shared")
    return sock


def have(sock, mark, priority, tos, ttl=-1):
    # in this order: a type of service stands for a priority
    sock.setsockopt(*TOS, tos)
    sock.setsockopt(*TTL, ttl)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
    sock.setsockopt(socket.SOL_SOCKET, SO_MARK, mark)


def queued():
    """Packets in the queue of priority 6, and in that of 2; few others get there"""
    out = subprocess.run(["tc", "-n", "a", "-s", "class", "show", "dev", DEV], check=True,
                         capture_output=True, text=True).stdout
    sent = dict(re.findall(r"class prio (\S+) .*\n Sent \d+ bytes (\d+) pkt", out))
    return int(sent["1:1"]), int(sent["1:3"])


def pass_on(source, sink):
    source.sendall(bytes(3000))
    sink.recv(3000, socket.MSG_WAITALL)


def server(port, mark=0, tos=0, ttl=-1):
    sock = sdp("b")
    have(sock, mark, 0, tos, ttl)
    sock.bind((ADDR, port))
    sock.listen(4)
    return sock


def payload(seen):
    return sum(packet[2] for packet in seen)


def before_it():
    """Options set before there is a connection; looks at the packets of both ends"""
    mine, others = Tap("a", DEV, 7), Tap("a", DEV, 7, True)
    theirs, without = Tap("b", "vb", 9), Tap("b", "vb", 9, True)
    lsn, sock, before = server(PORT, 9, 0x60, 254), sdp("a"), queued()
    have(sock, 7, 6, 0x20, 255)
    sock.connect((ADDR, PORT))
    conn = lsn.accept()[0]
    pass_on(sock, conn)
    pass_on(conn, sock)
    seen, now = mine.packets(), queued()
    ok("packets have the mark", payload(seen) > 3000, seen)
    same("packets have the mark from the first one on", [p[1:3] for p in seen[:1]], [(SYN, 0)])
    same("no packet is without the mark", others.packets(), [])
    same("packets have the type of service", {p[0] for p in seen}, {0x20})
    same("packets have the time to live", {p[3] for p in seen}, {255})
    ok("packets have the priority", now[0] - before[0] >= max(len(seen), 4), (before, now))
    seen = theirs.packets()
    ok("packets of an accepted connection have the mark of its listener",
       payload(seen) > 3000, seen)
    same("packets of an accepted connection have the type of service", {p[0] for p in seen}, {0x60})
    same("packets of an accepted connection have the time to live", {p[3] for p in seen}, {254})
    same("no data of an accepted connection is without the mark", payload(without.packets()), 0)
    return sock, conn


def meanwhile(sock, conn):
    """Options set when there is a connection"""
    mine, theirs, before = Tap("a", DEV, 8), Tap("b", "vb", 0), queued()
    have(sock, 8, 2, 0x40, 100)
    have(conn, 0, 0, 0)
    pass_on(sock, conn)
    pass_on(conn, sock)
    seen, now = mine.packets(), queued()
    ok("a later value applies to later data", payload(seen) >= 3000, seen)
    same("a later type of service applies to later data", {p[0] for p in seen}, {0x40})
    same("a later time to live applies to later data", {p[3] for p in seen}, {100})
    ok("a later priority applies to later data", now[1] - before[1] >= max(len(seen), 2),
       (before, now))
    seen = theirs.packets()
    ok("an accepted connection can lose its mark", payload(seen) >= 3000, seen)
    same("an accepted connection can lose its type of service", {p[0] for p in seen if p[2]}, {0})
    same("an accepted connection can have the usual time to live",
         {p[3] for p in seen if p[2]}, {64})


def without_options():
    port = PORT + 100
    lsn, sock, bare = server(port), sdp("a"), Tap("a", DEV, 0)
    sock.connect((ADDR, port))
    conn = lsn.accept()[0]
    pass_on(sock, conn)
    seen = bare.packets(port)
    ok("without options there is no mark", payload(seen) > 3000, seen)
    same("without options there is no type of service", {p[0] for p in seen}, {0})
    same("without options the time to live is the usual one", {p[3] for p in seen}, {64})


def main():
    sock, conn = before_it()
    meanwhile(sock, conn)
    without_options()
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
