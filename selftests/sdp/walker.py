#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""walker.py SEED SECONDS KIND: random calls of every kind, at the same time

Programs in the namespaces a and b make random calls on sockets, and send netlink requests
that are random or malformed. Another one changes settings, ends sockets by sock_diag, and
takes devices (of this KIND) away and brings them back. Each
draws its steps from SEED and its own number, so that a walk that crashed the kernel can
be repeated. No result of a call is wrong. The kernel has to survive, every program has to
come to its end, and nothing may be left."""
import array
import contextlib
import ctypes
import errno
import faulthandler
import fcntl
import glob
import itertools
import json
import mmap
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

SEED, SECONDS, KIND = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
END = time.monotonic() + SECONDS
CLONE_NEWNET = 0x40000000
AF_SDP, IPPROTO_SDP, SOL_SDP = 27, 257, 1027
SPLICE_F_NONBLOCK = 2
AF_NETLINK, NETLINK_SOCK_DIAG, NETLINK_GENERIC = 16, 4, 16
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
SOCK_DIAG_BY_FAMILY, SOCK_DESTROY = 20, 21
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
PORTS = range(7000, 7004)
ADDRESSES = {socket.AF_INET: ("10.0.0.1", "10.0.0.2", "0.0.0.0", "127.0.0.1"),
             socket.AF_INET6: ("fd00::1", "fd00::2", "::", "::1")}
SIZES = (0, 1, 7, 100, 1460, 4096, 65536, 300000)
KEEP = 12               # sockets of a program
PATIENCE = 150          # seconds; longer than any tool may take
LIBC = ctypes.CDLL(None, use_errno=True)
MMAP = LIBC.mmap
MMAP.restype = ctypes.c_void_p
MMAP.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                 ctypes.c_long)


def enter(netns):
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def run(*command):
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False, timeout=120)


class Program:
    """Some sockets, and a call on one of them after the other"""
    def __init__(self, number):
        self.rand = random.Random(f"{SEED} {number}")
        self.socks = []
        self.pipe = os.pipe2(os.O_NONBLOCK)
        self.calls = [getattr(self, name) for name in sorted(dir(self))
                      if name.startswith("do_")]

    def new(self):
        family, protocol = self.rand.choice((
            (AF_SDP, 0), (AF_SDP, 1), (socket.AF_INET, IPPROTO_SDP),
            (socket.AF_INET6, IPPROTO_SDP), (socket.AF_INET, 0)))
        sock = socket.socket(family, socket.SOCK_STREAM, protocol)
        if protocol or family == AF_SDP:
            # 0 and 1: SDP, SDP and TCP; 2: TCP from now on
            with contextlib.suppress(OSError):
                sock.setsockopt(SOL_SDP, 32, self.rand.choice((0, 1, 1, 2)))
        self.add(sock)

    def add(self, sock):
        # nothing waits longer than that
        for name in socket.SO_SNDTIMEO, socket.SO_RCVTIMEO:
            sock.setsockopt(socket.SOL_SOCKET, name, struct.pack("qq", 0, 200000))
        sock.setblocking(self.rand.random() < 0.3)
        self.socks.append(sock)
        if len(self.socks) > KEEP:
            self.socks.pop(self.rand.randrange(KEEP)).close()

    def address(self):
        family = self.rand.choice((socket.AF_INET, socket.AF_INET, socket.AF_INET6))
        host = self.rand.choice(ADDRESSES[family])
        port = self.rand.choice(PORTS)
        if family == socket.AF_INET:
            return struct.pack("=HH4s8x", family, socket.htons(port),
                               socket.inet_pton(family, host))
        return struct.pack("=HHI16sI", family, socket.htons(port), 0,
                           socket.inet_pton(family, host), 0)

    def step(self):
        if not self.socks or self.rand.random() < 0.1:
            return self.new()
        return self.rand.choice(self.calls)(self.rand.choice(self.socks))

    def do_bind(self, sock):
        if self.rand.random() < 0.7:
            sock.setsockopt(socket.SOL_SOCKET, self.rand.choice(
                (socket.SO_REUSEADDR, socket.SO_REUSEPORT)), 1)
        addr = self.address()
        LIBC.bind(sock.fileno(), addr, len(addr))

    def do_listen(self, sock):
        LIBC.listen(sock.fileno(), self.rand.choice((0, 1, 5, 100)))

    def do_connect(self, sock):
        addr = self.address()
        LIBC.connect(sock.fileno(), addr, len(addr))

    do_connect_again = do_connect

    def do_disconnect(self, sock):
        if self.rand.random() < 0.2:
            LIBC.connect(sock.fileno(), bytes(16), 16)

    def do_accept(self, sock):
        fd = LIBC.accept4(sock.fileno(), None, None, os.O_NONBLOCK)
        if fd >= 0:
            self.add(socket.socket(fileno=fd))

    do_accept_again = do_accept

    def do_send(self, sock):
        flags = self.rand.choice((0, 0, socket.MSG_MORE, socket.MSG_DONTWAIT, socket.MSG_OOB,
                                  0x4000000, 0x80))     # MSG_ZEROCOPY, MSG_EOR
        sock.send(bytes(self.rand.choice(SIZES)), flags)

    do_send_again = do_send

    def do_receive(self, sock):
        flags = self.rand.choice((0, 0, socket.MSG_PEEK, socket.MSG_TRUNC, socket.MSG_OOB,
                                  socket.MSG_WAITALL, 0x2000))  # MSG_ERRQUEUE
        sock.recv(self.rand.choice(SIZES), flags)

    do_receive_again = do_receive

    def do_receive_nowhere(self, sock):
        LIBC.recv(sock.fileno(), ctypes.c_void_p(4096), ctypes.c_size_t(100), 0)

    def do_splice(self, sock):
        size = ctypes.c_size_t(self.rand.choice(SIZES))
        if self.rand.random() < 0.5:
            LIBC.splice(sock.fileno(), None, self.pipe[1], None, size, SPLICE_F_NONBLOCK)
        else:
            LIBC.splice(self.pipe[0], None, sock.fileno(), None, size, SPLICE_F_NONBLOCK)

    def do_rxmap(self, sock):
        """TCP_ZEROCOPY_RECEIVE into a mapping of the socket"""
        length = ctypes.c_size_t(1 << 16)
        at = MMAP(None, length, mmap.PROT_READ, mmap.MAP_SHARED, sock.fileno(), 0)
        if at in (None, ctypes.c_void_p(-1).value):
            return
        arg = ctypes.create_string_buffer(
            struct.pack("QIIIi", at, self.rand.choice((4096, 1 << 16)), 0, 0, 0), 64)
        LIBC.getsockopt(sock.fileno(), socket.IPPROTO_TCP, 35, arg,
                        ctypes.byref(ctypes.c_uint32(self.rand.choice((24, 64)))))
        LIBC.munmap(ctypes.c_void_p(at), length)

    def do_option(self, sock):
        level = self.rand.choice((1, 0, 41, 6, SOL_SDP))
        name = self.rand.randrange(80)
        value = self.rand.choice((0, 1, 2, -1, 100, 65536, self.rand.getrandbits(31)))
        # nothing keeps to another net device, or waits for ever
        if level == socket.SOL_SOCKET and name in (socket.SO_LINGER, 20, 21, 25, 62, 66, 67):
            return
        if self.rand.random() < 0.5:
            sock.setsockopt(level, name, struct.pack("iii", value, value, 0))
        else:
            sock.getsockopt(level, name, self.rand.choice((1, 4, 16, 400)))

    do_option_again = do_option

    def do_names(self, sock):
        sock.getsockname()
        sock.getpeername()

    def do_ioctl(self, sock):
        have = array.array("i", [0, 0])
        fcntl.ioctl(sock, self.rand.choice((termios.FIONREAD, termios.TIOCOUTQ, 0x8905,
                                            0x894b)), have)

    def do_poll(self, sock):
        poll = select.poll()
        poll.register(sock, self.rand.getrandbits(8))
        poll.poll(self.rand.choice((0, 1, 50)))

    def do_shutdown(self, sock):
        if self.rand.random() < 0.3:
            sock.shutdown(self.rand.randrange(3))

    def do_close(self, sock):
        if self.rand.random() < 0.5:
            linger = struct.pack("ii", 1, 0)
            if self.rand.random() < 0.3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.socks.remove(sock)
        sock.close()

    def attributes(self):
        """Some netlink attributes, of any number and length; the lengths of some are wrong"""
        told = b""
        for _ in range(self.rand.randrange(4)):
            body = self.rand.randbytes(self.rand.choice((0, 1, 4, 8, 100)))
            size = 4 + len(body) if self.rand.random() < 0.8 else self.rand.getrandbits(16)
            kind = self.rand.choice((0, 1, 2, 3, 15, 16, 17, 40, self.rand.getrandbits(16)))
            told += struct.pack("HH", size, kind) + body + bytes(-len(body) % 4)
        return told

    def netlink(self, protocol, kind, body, flags):
        """Send a request, and take what comes for it"""
        with socket.socket(AF_NETLINK, socket.SOCK_RAW, protocol) as sock:
            sock.settimeout(0.05)
            sock.send(struct.pack("IHHII", 16 + len(body), kind, flags | NLM_F_REQUEST, 1, 0) +
                      body)
            told = b""
            with contextlib.suppress(socket.timeout):
                while not told or flags & NLM_F_DUMP:
                    told = sock.recv(1 << 16)
                    if struct.unpack_from("H", told, 4)[0] in (NLMSG_ERROR, NLMSG_DONE):
                        break
        return told

    def netlink_flags(self):
        return self.rand.choice((0, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP | NLM_F_ACK,
                                 self.rand.getrandbits(16)))

    def do_diag(self, _sock):
        """Requests of sock_diag, most of them for no socket"""
        body = struct.pack("BBHIIII", self.rand.choice((AF_SDP, AF_SDP, AF_SDP, 2, 255)),
                           self.rand.choice((0, 0, 0, 6, 255)), self.rand.choice((0, 0, 1)),
                           self.rand.choice((0, 0xffffffff, self.rand.getrandbits(32))),
                           self.rand.choice((0, 7, self.rand.getrandbits(32))),
                           self.rand.choice((0, self.rand.randrange(3000),
                                             self.rand.getrandbits(32))),
                           self.rand.choice((0, 0, self.rand.getrandbits(32))))
        if self.rand.random() < 0.2:
            body = body[:self.rand.randrange(len(body))]
        self.netlink(NETLINK_SOCK_DIAG,
                     self.rand.choice((SOCK_DIAG_BY_FAMILY, SOCK_DESTROY)),
                     body + self.attributes(), self.netlink_flags())

    def do_genl(self, _sock):
        """Requests of the generic netlink family"""
        ask = struct.pack("BBHHH4s", CTRL_CMD_GETFAMILY, 1, 0, 8, CTRL_ATTR_FAMILY_NAME, b"sdp")
        told = self.netlink(NETLINK_GENERIC, GENL_ID_CTRL, ask, 0)
        at = 20
        while at + 4 <= len(told):
            size, kind = struct.unpack_from("HH", told, at)
            if kind == CTRL_ATTR_FAMILY_ID:
                family = struct.unpack_from("H", told, at + 4)[0]
                self.netlink(NETLINK_GENERIC, family,
                             struct.pack("BBH", self.rand.choice((0, 1, 1, 2, 3, 255)),
                                         self.rand.choice((0, 1, 2)), 0) + self.attributes(),
                             self.netlink_flags())
                return
            at += max(4, (size + 3) & ~3)
        raise RuntimeError(f"no generic netlink family sdp: {told.hex()}")

    def do_fork(self, _sock):
        """A child that has them all, and dies"""
        pid = os.fork()
        if not pid:
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)


class Administrator:
    """Settings, devices, and the tools of an administrator"""
    def __init__(self, number):
        self.rand = random.Random(f"{SEED} {number}")
        self.calls = [getattr(self, name) for name in sorted(dir(self))
                      if name.startswith("do_")]
        self.settings = []
        for path in sorted(glob.glob("/proc/sys/net/sdp/*")):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                self.settings.append((path, file.read().strip()))

    def step(self):
        enter(self.rand.choice("ab"))
        self.rand.choice(self.calls)()
        time.sleep(self.rand.random() * 0.2)

    def do_setting(self):
        path, usual = self.rand.choice(self.settings)
        # the port of the other end, and what ends a walk early
        if "port_offset" in path or "max_connections" in path:
            return
        words = usual.split()
        if all(word.lstrip("-").isdigit() for word in words):
            words = [str(self.rand.choice((int(word), int(word) // 2, int(word) * 2, 0, 1)))
                     for word in words]
        value = self.rand.choice((usual, " ".join(words)))
        with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
            file.write(value)

    do_setting_again = do_setting

    def do_attribute(self):
        """Where work is done, and how; most values fit no attribute"""
        paths = sorted(glob.glob("/sys/class/infiniband/rd*/hybrid/*"))
        if not paths:
            return
        value = self.rand.choice(("0", "1", "on", "off", "auto", "host", "nic", "inplace", "copy",
                                  "reference", "256", "512", str(self.rand.getrandbits(32))))
        with open(self.rand.choice(paths), "w", encoding="ascii") as file:
            file.write(value)

    do_attribute_again = do_attribute

    def do_list(self):
        run("sdpstat", *self.rand.choice((("-a", "-e"), ("-s",), ("--json", "-a"))))

    def do_end_sockets(self):
        told = subprocess.run(("sdpstat", "-a", "--json"), capture_output=True, text=True,
                              check=False, timeout=120).stdout
        with contextlib.suppress(ValueError):
            socks = json.loads(told)["sockets"]
            if socks:
                run("sdpstat", "-K", str(self.rand.choice(socks)["cookie"]))

    def do_end_tcp(self):
        run("ss", "-HK", "-t", "sport", ">=", ":1024")

    def do_device(self):
        """A device goes, and comes back"""
        ns = self.rand.choice("ab")
        enter(ns)
        run("rdma", "link", "delete", "rd" + ns)
        time.sleep(self.rand.random() * 0.1)
        run("rdma", "link", "add", "rd" + ns, "type", KIND, "netdev", "v" + ns)

    def do_link(self):
        ns = self.rand.choice("ab")
        enter(ns)
        run("ip", "link", "set", "v" + ns, "down")
        time.sleep(self.rand.random() * 0.1)
        run("ip", "link", "set", "v" + ns, "up")
        run("ip", "-6", "addr", "add", f"fd00::{'ab'.index(ns) + 1}/64", "dev", "v" + ns,
            "nodad")

    def do_read(self):
        """All that the devices show"""
        for device in glob.glob("/sys/class/infiniband/rd*/"):
            for folder, _, files in os.walk(device):
                for name in files:
                    with contextlib.suppress(OSError), \
                            open(os.path.join(folder, name), "rb") as file:
                        file.read(4096)
        run("rdma", "-dd", "resource", "show", "qp")

    def do_verbs(self):
        """Programs of verbs that meet, and are killed"""
        enter("b")
        with subprocess.Popen(("hyb-target", "-h", "10.0.0.2", "-p", "7971"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as target:
            enter("a")
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(("hyb-target", "-c", "-n", "1", "-h", "10.0.0.2", "-p", "7971"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, check=False,
                               timeout=self.rand.choice((0.1, 1, 3)))
            target.kill()

    def restore(self):
        for (path, value), ns in itertools.product(self.settings, "ab"):
            enter(ns)
            with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
                file.write(value)


def walk(walker):
    """Steps taken until the end"""
    steps = 0
    while time.monotonic() < END:
        steps += 1
        try:
            walker.step()
        except OSError as err:
            if err.errno in (errno.ENOMEM, errno.EMFILE):
                time.sleep(0.01)
        except subprocess.TimeoutExpired as err:
            print(f"hangs: {err.cmd}", flush=True)
    return steps


def program(number, netns):
    enter(netns)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    print(f"program {number}: {walk(Program(number))} steps", flush=True)


def administrator(number):
    enter("a")
    walker = Administrator(number)
    print(f"administrator {number}: {walk(walker)} steps", flush=True)
    walker.restore()


def start(function, *args):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        function(*args)
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def tell_stuck(pids):
    """Print where programs are that should have ended, and other tasks that may block them"""
    for pid in pids:
        os.kill(pid, signal.SIGUSR1)
    time.sleep(1)
    for path in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            with open(path + "/stack", encoding="ascii") as file:
                stack = file.read()
            with open(path + "/stat", encoding="ascii") as file:
                stat = file.read()
            if "sdp" in stack or "hyb_" in stack or int(os.path.basename(path)) in pids:
                print(stat[:60], stack, sep="\n", flush=True)


def main():
    faulthandler.register(signal.SIGUSR1, sys.stdout)
    pids = {start(program, number, "ab"[number % 2]) for number in range(6)}
    pids.add(start(administrator, len(pids)))
    status = 0
    while pids:
        pid, told = os.waitpid(-1, os.WNOHANG)
        if pid:
            pids.discard(pid)
            status |= told
        elif time.monotonic() > END + PATIENCE:
            tell_stuck(pids)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            sys.exit("walker.py: programs do not end")
        else:
            time.sleep(0.1)
    sys.exit(bool(status))


main()
