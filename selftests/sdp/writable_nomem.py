#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Both ends of sdp/writable-nomem: a sender that trusts poll(), and a reader that reads while
the directory has a file drain* or end. The sender does a step when a file of its name is
there."""
import fcntl
import os
import select
import socket
import struct
import sys
import time

SO_SNDBUFFORCE = 32
SIOCOUTQ = 0x5411
PIECE = bytes(range(256)) * 256


def told(directory, name):
    return os.path.exists(os.path.join(directory, name))


def serve(directory, port):
    listener = socket.create_server(("10.0.0.2", port))
    print("listening", flush=True)
    sock = listener.accept()[0]
    got = 0
    while True:
        while not any(name.startswith(("drain", "end")) for name in os.listdir(directory)):
            time.sleep(0.01)
        sock.settimeout(0.2)
        try:
            data = sock.recv(1 << 20)
        except TimeoutError:
            continue
        if not data:
            break
        got += len(data)
    print(f"read: {got}", flush=True)


class Sender:
    def __init__(self, directory, port):
        self.directory = directory
        self.sock = socket.create_connection(("10.0.0.2", port))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20)
        self.sock.setblocking(False)
        self.total = 0
        self.wrong = 0

    def writable(self, seconds):
        return bool(select.select([], [self.sock], [], seconds)[1])

    def send(self):
        """Whether there was room."""
        try:
            self.total += self.sock.send(PIECE)
        except BlockingIOError:
            return False
        return True

    def send_if(self, seconds):
        """False if there was no room for so long."""
        if not self.writable(seconds):
            return False
        if not self.send():
            self.wrong += 1
        return self.wrong < 100

    def held(self):
        return struct.unpack("i", fcntl.ioctl(self.sock, SIOCOUTQ, b"\0" * 4))[0]

    def fill(self):
        """Send until there is no room for 2 s: bytes held, how often poll() was wrong."""
        while self.send_if(2):
            pass
        return f"{self.held()} {self.wrong}"

    def refill(self, reading):
        """As fill(), after 16 MB, so that no earlier byte is left. The peer begins to read here:
        a link that becomes idle before gives back tables that are too large to get again."""
        with open(os.path.join(self.directory, reading), "w", encoding="ascii"):
            pass
        end = self.total + (16 << 20)
        while self.total < end and self.send_if(60):
            pass
        os.unlink(os.path.join(self.directory, reading))
        return self.fill()

    def starve(self):
        """Send until there is no room, up to 20 s. Does poll() say the same as send()?"""
        end = time.monotonic() + 20
        wrong = 0
        while time.monotonic() < end and wrong < 100:
            if not self.writable(1) or self.send():
                continue
            if not self.writable(0):
                return "not writable"
            wrong += 1
        return f"writable {wrong} times, although there was no room"

    def drain(self, name):
        while self.held():
            time.sleep(0.01)
        os.unlink(os.path.join(self.directory, name))
        return "done"

    def step(self, name):
        while not told(self.directory, name):
            time.sleep(0.01)
        if name.startswith("drain"):
            text = self.drain(name)
        elif name == "none":
            text = self.starve()
        elif name == "end":
            text = self.total
            self.sock.close()
        elif name == "small":
            text = self.refill("drain-small")
        else:
            text = self.fill()
        print(f"{name}: {text}", flush=True)


def main():
    what, directory, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if what == "serve":
        serve(directory, port)
        return
    with open("/proc/self/make-it-fail", "w", encoding="ascii") as file:
        file.write("1")
    sender = Sender(directory, port)
    for name in ("large", "small", "drain-all", "none", "drain-none", "end"):
        sender.step(name)


main()
