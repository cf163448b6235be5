#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""held.py CASE PORT: events while a task is held up in the middle of something.

Prints "ok CASE", "not ok CASE: WHY" or "skip CASE WHY". Runs in the namespace a; 10.0.0.2 is an
address of b."""
import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
USER_TIMEOUT, TCP_ZEROCOPY_RECEIVE = 18, 35
SOL_SDP, SDP_FALLBACK, FALLBACK_TCP, FALLBACK_ONLY = 1027, 32, 1, 2
PATIENCE = 60 if os.path.exists("/proc/lockdep") else 20   # seconds
PARAMETERS = "/sys/module/test_hold/parameters/"
LIBC = ctypes.CDLL(None, use_errno=True)
PORT = int(sys.argv[2])
SO_SNDBUFFORCE = 32
SIOCOUTQ = 0x5411
LARGE = 1 << 18     # bytes that go without copies, see held.sh


class Broken(Exception):
    """Not as it has to be"""


class Skipped(Exception):
    """Cannot be done here"""


def expect(what, got, *wanted):
    if got not in wanted:
        raise Broken(f"{what}: {got}")


def enter(netns):
    """Sockets belong to the namespace that they are made in"""
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def error_of(call, *args):
    """Its errno, 0 if it has none"""
    try:
        call(*args)
    except OSError as err:
        return err.errno
    return 0


def wait(what, until, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise Broken("never: " + what)
        time.sleep(0.02)


def counter(name):
    """Of sdpstat"""
    text = subprocess.run(["sdpstat", "-s", "-z"], check=True, capture_output=True,
                          text=True).stdout
    return int(re.search(rf"^{name}\s+(\d+)", text, re.M).group(1))


class Hold:
    """Tasks named comm are held up in the kernel's function symbol until go()"""

    def __init__(self, symbol, comm, **params):
        subprocess.run(["modprobe", "--first-time", "test_hold", "symbol=" + symbol,
                        "comm=" + comm] +
                       [f"{name}={value}" for name, value in params.items()], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go()
        subprocess.run(["modprobe", "-r", "test_hold"], check=True)

    @staticmethod
    def go():
        with open(PARAMETERS + "go", "w", encoding="ascii") as file:
            file.write("1")

    @staticmethod
    def hits():
        with open(PARAMETERS + "hits", encoding="ascii") as file:
            return int(file.read())

    def wait(self):
        wait("held up", self.hits)


class Held(threading.Thread):
    """Call something in a thread of that name"""

    def __init__(self, call, *args):
        super().__init__(daemon=True)
        self.call, self.args, self.err = call, args, None

    def run(self):
        with open("/proc/thread-self/comm", "w", encoding="ascii") as file:
            file.write("held")
        self.err = error_of(self.call, *self.args)

    def stack(self):
        """Where it is in the kernel, nothing if it has ended"""
        try:
            with open(f"/proc/self/task/{self.native_id}/stack", encoding="ascii") as file:
                return file.read()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def end(self):
        self.join(PATIENCE)
        if self.err is None:
            where = " < ".join(line.split()[1] for line in self.stack().splitlines()[:6])
            raise Broken(f"the call does not return: {where}")
        return self.err


@contextlib.contextmanager
def listener():
    enter("b")
    with socket.create_server(("10.0.0.2", PORT)) as lsn:
        enter("a")
        yield lsn


def no_tcp():
    """No TCP connection to PORT is established, of the program or the provider"""
    with open("/proc/thread-self/net/tcp", encoding="ascii") as file:
        return f":{PORT:04X} 01 " not in file.read()


def cm_ids():
    """Connections to us that have not gone altogether"""
    text = subprocess.run(["rdma", "resource", "show", "cm_id"], check=True,
                          capture_output=True, text=True).stdout
    return text.count(f"dst-addr 10.0.0.2:{PORT}")


def case_connect_ended():
    """shutdown() by another thread, when connect() has its addresses: what it goes on
    with is still there"""
    with listener(), socket.socket() as sock, \
            Hold("rdma_lock_handler", "held", asleep=1, ms=40000) as hold:
        thread = Held(sock.connect, ("10.0.0.2", PORT))
        thread.start()
        hold.wait()
        expect("shutdown()", error_of(sock.shutdown, socket.SHUT_RDWR), 0,
               errno.ENOTCONN)
        time.sleep(1)
        expect("cm_ids meanwhile", cm_ids(), 1)
        hold.go()
        expect("connect()", thread.end(), errno.ECONNRESET, errno.ECONNABORTED)
        wait("the cm_id goes", lambda: not cm_ids())


def case_no_memory():
    """connect() fails with ENOBUFS also when memory is missing while the RDMA CM looks for
    address or route"""
    for symbol, comm in ("rdma_resolve_addr", "held"), ("rdma_set_ib_path", "kworker"):
        with listener(), socket.socket() as sock, \
                Hold(symbol, comm, asleep=1, ms=0, ret=-errno.ENOMEM) as hold:
            thread = Held(sock.connect, ("10.0.0.2", PORT))
            thread.start()
            expect(symbol, thread.end(), errno.ENOBUFS)
            expect("calls", hold.hits(), 1)


def case_no_memory_again():
    """The port is not free, and connect() finds no memory for another attempt: the socket is
    as it was before"""
    with listener() as lsn, socket.socket() as sock:
        with Hold("rdma_connect_locked", "held", asleep=1, ret=-errno.EADDRINUSE,
                  also="sdp_conn_alloc", null=1) as hold:
            thread = Held(sock.connect, ("10.0.0.2", PORT))
            thread.start()
            expect("connect()", thread.end(), errno.ENOBUFS)
            expect("calls", hold.hits(), 1)
        expect("connect() again", error_of(sock.connect, ("10.0.0.2", PORT)), 0)
        with lsn.accept()[0] as peer:
            peer.send(b"x")
            expect("data", sock.recv(9), b"x")


def case_no_memory_waits():
    """As case_no_memory_again, while another task waits for data: it learns that none comes"""
    with listener(), socket.socket() as sock, \
            Hold("rdma_connect_locked", "held", asleep=1, ret=-errno.EADDRINUSE, late=1,
                 also="sdp_conn_alloc", null=1, ms=60000) as hold:
        thread = Held(sock.connect, ("10.0.0.2", PORT))
        thread.start()
        hold.wait()
        other = Held(sock.recv, 9)
        other.start()
        wait("it waits for data", lambda: "wait_woken" in other.stack())
        hold.go()
        expect("connect()", thread.end(), errno.ENOBUFS)
        expect("recv()", other.end(), errno.ENOTCONN)


class Absent:
    """Memory that stays absent until the end, even if a task waits for it: see
    userfaultfd(2)"""
    UFFDIO_API, UFFDIO_REGISTER, MISSING = 0xc018aa3f, 0xc020aa00, 1

    def __init__(self, size=mmap.PAGESIZE, there=0):
        """Bytes, of which so many at the front are there"""
        self.size, self.there = size, there
        self.fd, self.got = -1, 0

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.map = mmap.mmap(-1, self.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.map[:self.there] = bytes(self.there)
        self.addr = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.fd = LIBC.syscall(323, os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise Skipped("no userfaultfd")
        fcntl.ioctl(self.fd, self.UFFDIO_API, struct.pack("QQQ", 0xaa, 0, 0))
        fcntl.ioctl(self.fd, self.UFFDIO_REGISTER,
                    struct.pack("QQQQ", self.addr + self.there, self.size - self.there,
                                self.MISSING, 0))
        return self

    def come(self):
        """Absent memory becomes zeroes"""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def __exit__(self, *_):
        self.come()

    def asked_for(self):
        """A task waits for it"""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(0))

    def use(self, call, sock, flags):
        """send() or recv()"""
        self.got = call(sock.fileno(), ctypes.c_void_p(self.addr), self.size, flags)
        if self.got < 0:
            raise OSError(ctypes.get_errno(), "")


class Removal:
    """Of the device of a; it is there again at the end"""
    proc = None

    def __enter__(self):
        return self

    def start(self):
        # pylint: disable=consider-using-with
        self.proc = subprocess.Popen(["rdma", "link", "delete", "rda"])

    def done(self):
        return self.proc.poll() is not None

    def __exit__(self, *_):
        if self.proc:
            self.proc.wait()
            subprocess.run(["rdma", "link", "add", "rda", "type", "hybrid", "netdev",
                            "va"], check=True)


def absent(call, zerocopy=False):
    """A call waits for memory of the program: its connection ends all the same, and the
    device does not wait"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock:
        peer = lsn.accept()[0]
        peer.send(bytes(100))
        sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, zerocopy)
        with Removal() as removal, Absent() as memory:
            thread = Held(memory.use, call, sock, MSG_ZEROCOPY * zerocopy)
            thread.start()
            wait("it waits for memory", memory.asked_for)
            removal.start()
            wait("the device goes", removal.done)
        expect("the call", thread.end(), errno.ENETRESET, errno.EPIPE, 0)
        peer.close()


def case_absent_send():
    absent(LIBC.send)


def case_absent_zerocopy():
    absent(LIBC.send, True)


def case_absent_recv():
    absent(LIBC.recv)


def die_sending(pages):
    """A program of its own that waits for ever within send(), after these pages"""
    size = pages * mmap.PAGESIZE
    with socket.create_connection(("10.0.0.2", PORT)) as sock, \
            Absent(size + mmap.PAGESIZE, size) as memory:
        memory.map[:size] = b"x" * size
        memory.use(LIBC.send, sock, 0)


def case_killed_send():
    """A program is killed in the middle of its send(), which waits for memory: the peer has
    what is before that, and the end"""
    pages, data = 8, b""
    with listener() as lsn:
        before = counter("tx_faults")
        child = os.fork()
        if not child:
            try:
                die_sending(pages)
            finally:
                os._exit(0)
        with lsn.accept()[0] as peer:
            wait("it waits for memory", lambda: counter("tx_faults") > before)
            os.kill(child, signal.SIGKILL)
            expect("the signal that ended it", os.waitpid(child, 0)[1], signal.SIGKILL)
            peer.settimeout(PATIENCE)
            while part := peer.recv(1 << 20):
                data += part
        expect("bytes", data, b"x" * pages * mmap.PAGESIZE)


def moved(call, flags):
    """A call waits for memory, and another thread gives the socket another connection: the
    call is at the first one, ends with what it had there, and the other does not see it"""
    page = mmap.PAGESIZE
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as first, Absent(2 * page, page) as memory:
        first.send(bytes(page + 1))
        thread = Held(memory.use, call, sock, flags)
        thread.start()
        wait("it waits for memory", memory.asked_for)
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        sock.connect(("10.0.0.2", PORT))
        with lsn.accept()[0] as second:
            second.sendall(b"x" * 2 * page)
            memory.come()
            expect("the call", thread.end(), 0)
            expect("bytes of the call", memory.got, page)
            expect("data of the other are there", read_all(sock, 2 * page) == b"x" * 2 * page,
                   True)
            sock.shutdown(socket.SHUT_WR)
            expect("what the other has got", second.recv(9), b"")


class Other:
    """Another thread sends while a send waits for its memory, half of which has left"""

    def __init__(self, sock, memory, flags=0):
        self.first = Held(memory.use, LIBC.send, sock, 0)
        self.first.start()
        wait("it waits for memory", memory.asked_for)
        self.second = Held(sock.send, b"x" * 100, flags)
        self.second.start()
        wait("the other sends", self.sends_or_waits)

    def sends_or_waits(self):
        if not self.second.is_alive():
            raise Broken("the other goes between")
        return "wait_woken" in self.second.stack()


def case_whole_send():
    """The bytes of a send stay together, though its memory has to come first"""
    for flags in 0, socket.MSG_DONTWAIT:
        with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
                lsn.accept()[0] as peer, Absent(LARGE, mmap.PAGESIZE) as memory:
            # a sender that waits for room lets others go between, as with TCP: there is
            # room for all
            sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 8 * LARGE)
            other = Other(sock, memory, flags)
            memory.come()
            expect("what comes", read_all(peer, LARGE) == bytes(LARGE), True)
            expect("the first", other.first.end(), 0)
            expect("the other", other.second.end(), 0)
            expect("what comes then", read_all(peer, 100), b"x" * 100)


def case_whole_send_shutdown():
    """A send that waits for another one ends at once after shutdown"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0], Absent(LARGE, mmap.PAGESIZE) as memory:
        other = Other(sock, memory)
        sock.shutdown(socket.SHUT_WR)
        expect("the other", other.second.end(), errno.EPIPE)
        memory.come()
        expect("the first", other.first.end(), 0)


def case_whole_send_removal():
    """A send that waits for another one ends when the device goes, which waits for neither"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0], Removal() as removal, \
            Absent(LARGE, mmap.PAGESIZE) as memory:
        other = Other(sock, memory)
        removal.start()
        wait("the device goes", removal.done)
        expect("the other", other.second.end(), errno.ENETRESET, errno.EPIPE)
        memory.come()
        expect("the first", other.first.end(), 0)


def read_into(sock, data, flags):
    """A recv() that takes a part of the stream"""
    sock.recv_into(data, 0, flags)


def splice_into(sock, data, _):
    """As read_into(), by splice() through a pipe"""
    ends = os.pipe()
    try:
        n = os.splice(sock.fileno(), ends[1], len(data))
        data[:n] = os.read(ends[0], n)
    finally:
        os.close(ends[0])
        os.close(ends[1])


class Reader:
    """Another thread reads while a read waits for its memory, half of which is there"""
    size = 2 * mmap.PAGESIZE

    def __init__(self, sock, peer, memory, call=read_into, flags=0):
        peer.sendall(b"a" * self.size + b"x" * 100)
        wait("data", lambda: len(sock.recv(2 * self.size, socket.MSG_PEEK)) == self.size + 100)
        self.first = Held(memory.use, LIBC.recv, sock, 0)
        self.first.start()
        wait("it waits for memory", memory.asked_for)
        self.data = bytearray(100)
        self.second = Held(call, sock, self.data, flags)
        self.second.start()
        wait("the other reads", self.reads_or_waits)

    def reads_or_waits(self):
        if not self.second.is_alive():
            raise Broken("the other goes between")
        return "wait_woken" in self.second.stack()


def case_whole_recv():
    """The bytes of a recv() are one piece of the stream, though its memory has to come"""
    for call, flags in (read_into, 0), (read_into, socket.MSG_DONTWAIT), \
            (read_into, socket.MSG_PEEK), (splice_into, 0):
        with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
                lsn.accept()[0] as peer, Absent(Reader.size, mmap.PAGESIZE) as memory:
            other = Reader(sock, peer, memory, call, flags)
            memory.come()
            expect("the first", other.first.end(), 0)
            expect("what it gets", memory.map[:memory.got], b"a" * Reader.size)
            expect("the other", other.second.end(), 0)
            expect("what that gets", bytes(other.data), b"x" * 100)


def case_whole_recv_signal():
    """A reader that waits for another one ends by its time, and another connection has
    readers of its own"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Absent(Reader.size, mmap.PAGESIZE) as memory:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 2, 0))
        other = Reader(sock, peer, memory)
        expect("the other", other.second.end(), errno.EAGAIN)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
        third = Held(sock.recv, 9)
        third.start()
        wait("the third waits", lambda: "wait_woken" in third.stack())
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        expect("the third", third.end(), errno.EPIPE)
        sock.connect(("10.0.0.2", PORT))
        with lsn.accept()[0] as second:
            second.sendall(b"y" * 100)
            expect("data of the other connection", read_all(sock, 100), b"y" * 100)
        memory.come()
        expect("the first", other.first.end(), 0)
        expect("what it gets", memory.got, mmap.PAGESIZE)


def case_whole_recv_nowait():
    """A reader that does not wait for data has not been interrupted by a signal, but has
    nothing"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Absent(Reader.size, mmap.PAGESIZE) as memory:
        signal.signal(signal.SIGUSR1, lambda *_: None)
        other = Reader(sock, peer, memory, flags=socket.MSG_DONTWAIT)
        signal.pthread_kill(other.second.ident, signal.SIGUSR1)
        expect("the other", other.second.end(), errno.EAGAIN)
        memory.come()
        expect("the first", other.first.end(), 0)


def case_whole_recv_removal():
    """The device waits for neither"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Removal() as removal, \
            Absent(Reader.size, mmap.PAGESIZE) as memory:
        other = Reader(sock, peer, memory)
        removal.start()
        wait("the device goes", removal.done)
        memory.come()
        expect("the first", other.first.end(), 0)
        expect("what it gets", memory.map[:memory.got], b"a" * Reader.size)
        expect("the other", other.second.end(), 0)
        expect("what that gets", bytes(other.data), b"x" * 100)


def case_deaf_memory():
    """Memory that never takes a byte, although it can be brought in, is bad memory"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, \
            Hold("fault_in_iov_iter_writeable", "held", asleep=1, ret=1, times=50, ms=0) as hold:
        peer.sendall(b"x" * 100)
        memory = Absent()
        memory.map = mmap.mmap(-1, memory.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.addr = ctypes.addressof(ctypes.c_char.from_buffer(memory.map))
        thread = Held(memory.use, LIBC.recv, sock, 0)
        thread.start()
        expect("recv()", thread.end(), errno.EFAULT)
        expect("few attempts", 0 < hold.hits() < 10, True)
        expect("nothing is lost", sock.recv(100), b"x" * 100)


def case_sleeping_reader():
    """A sender finds that the connection has ended, and another thread disconnects the
    socket before the teardown: a reader does not sleep on"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0], \
            Hold("sdp_cm_down_work", "kworker", asleep=1, times=2, ms=60000) as hold:
        thread = Held(sock.recv, 9)
        thread.start()
        wait("it waits for data", lambda: "wait_woken" in thread.stack())
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.send(bytes(1 << 16), socket.MSG_DONTWAIT)
        sock.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 1000)
        hold.wait()
        # as long as there is room, a send finds no error
        wait("the end", lambda: error_of(sock.send, bytes(1 << 16), socket.MSG_DONTWAIT)
             not in (0, errno.EAGAIN))
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        # whichever call comes first takes the error
        expect("recv()", thread.end(), 0, errno.EPIPE, errno.ENOTCONN, errno.ETIMEDOUT)


def case_moved_send():
    moved(LIBC.send, 0)


def case_moved_recv():
    moved(LIBC.recv, socket.MSG_WAITALL)


def case_moved_connect():
    """A connect() that looks for an address does not take over the connection that another
    thread makes meanwhile"""
    with listener() as lsn, socket.socket() as sock, \
            Hold("finish_wait", "held", asleep=1, ms=40000) as hold:
        thread = Held(sock.connect, ("10.0.0.77", PORT))
        thread.start()
        wait("it looks for the address", lambda: "sdp_cm_connect" in thread.stack())
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        hold.wait()
        sock.connect(("10.0.0.2", PORT))
        with lsn.accept()[0] as peer:
            hold.go()
            expect("the first one", thread.end(), errno.EPIPE)
            sock.send(b"x")
            expect("data of the other", peer.recv(9), b"x")


@contextlib.contextmanager
def port_offset(value):
    """Set net.sdp.port_offset of a, so that connections of SDP go to another port"""
    path = "/proc/sys/net/sdp/port_offset"
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))
    try:
        yield
    finally:
        enter("a")
        with open(path, "w", encoding="ascii") as file:
            file.write("0")


def state_of(sock):
    """TCP_*"""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def held_bytes(sock):
    return struct.unpack("i", fcntl.ioctl(sock, SIOCOUTQ, b"\0" * 4))[0]


def case_bytes_acked():
    """Data is sent and acknowledged while TCP_INFO counts: it does not all appear as lost"""
    info, length, size = bytearray(232), ctypes.c_int(232), 0
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock:
        with lsn.accept()[0] as peer, Hold("sdp_conn_outq", "held", asleep=1, ms=40000) as hold:
            with contextlib.suppress(BlockingIOError):
                while True:
                    size += sock.send(bytes(1 << 16), socket.MSG_DONTWAIT)
            # Python would hold all threads up
            thread = Held(LIBC.getsockopt, sock.fileno(), socket.IPPROTO_TCP, socket.TCP_INFO,
                          (ctypes.c_char * len(info)).from_buffer(info), ctypes.byref(length))
            thread.start()
            hold.wait()
            read_all(peer, size)
            time.sleep(0.5)
            hold.go()
            expect("TCP_INFO", thread.end(), 0)
            # tcpi_bytes_acked; the last bytes may not be known to have arrived
            acked = struct.unpack_from("Q", info, 120)[0]
            expect(f"{acked} of {size} acknowledged", size // 2 < acked <= size, True)


def case_lost_fin():
    """The acknowledgment of DisConn is noticed, though that of a full buffer is asked for
    too late, after it"""
    with listener() as lsn, socket.socket() as sock:
        # so little that nearly all is still here
        lsn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
        sock.connect(("10.0.0.2", PORT))
        peer = lsn.accept()[0]
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 32 << 20)
        sock.setblocking(False)
        total = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                total += sock.send(bytes(1 << 16))
        # the provider is full; now the buffer is, too, and a poll() waits for it
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 3 << 19)
        expect("room", select.select([], [sock], [], 0)[1], [])
        held = held_bytes(sock)
        with Hold("hyb_link_notify", "kworker", ms=20000) as hold:
            sock.shutdown(socket.SHUT_WR)
            # when half has gone there is still more than two thirds of 3 MB
            read_all(peer, held - (3 << 20))
            hold.wait()
            # less than that, but not all
            read_all(peer, 2 << 20)
            time.sleep(0.2)
        read_all(peer, total - held + (1 << 20))
        expect("the end", peer.recv(1), b"")
        wait("FIN_WAIT2", lambda: state_of(sock) == 5)
        peer.close()


def case_tcp_fails():
    """TCP, whose turn it is after SDP, fails at once: the program sees why"""
    with listener(), socket.create_connection(("10.0.0.2", PORT)), socket.socket() as sock, \
            Hold("inet_stream_connect", "kworker", asleep=1, ret=-errno.ENETUNREACH):
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_TCP)
        sock.setblocking(False)
        expect("connect()", sock.connect_ex(("10.0.0.2", PORT + 100)), errno.EINPROGRESS)
        expect("ready", select.select([], [sock], [], PATIENCE)[1], [sock])
        expect("SO_ERROR", sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
               errno.ENETUNREACH)


def case_old_removal():
    """The device of a listener goes, and the socket listens again before the work item that
    ends the old listener runs"""
    enter("a")
    with socket.create_server(("10.0.0.1", PORT)) as lsn, \
            Hold("sdp_cm_unbind_work", "kworker", asleep=1, ms=90000) as hold:
        with Removal() as removal:
            removal.start()
            hold.wait()
            lsn.shutdown(socket.SHUT_RDWR)
            wait("the device goes", removal.done)
        lsn.listen()
        hold.go()
        time.sleep(0.5)
        enter("b")
        with socket.create_connection(("10.0.0.1", PORT)) as sock, lsn.accept()[0] as peer:
            sock.send(b"x")
            expect("data", peer.recv(9), b"x")
        enter("a")


def case_close_wait():
    """The device goes when the peer has ended its direction: the error is that of the
    device"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Removal() as removal:
        peer.shutdown(socket.SHUT_WR)
        expect("recv()", sock.recv(9), b"")
        removal.start()
        wait("the device goes", removal.done)
        expect("SO_ERROR", sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
               errno.ENETRESET)


def moved_tcp(call):
    """As moved(), but the other connection is one of TCP, since there is no SDP"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as first, Absent() as memory:
        enter("b")
        tcp = socket.socket()
        tcp.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
        tcp.bind(("10.0.0.2", PORT + 100))
        tcp.listen()
        enter("a")
        first.send(bytes(1))
        thread = Held(memory.use, call, sock, 0)
        thread.start()
        wait("it waits for memory", memory.asked_for)
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_TCP)
        with port_offset(20000):
            sock.connect(("10.0.0.2", PORT + 100))
        with tcp, tcp.accept()[0] as second:
            second.sendall(b"x" * 100)
            memory.come()
            expect("the call", thread.end(), errno.EPIPE)
            expect("data of the other are there", read_all(sock, 100), b"x" * 100)
            sock.shutdown(socket.SHUT_WR)
            expect("what the other has got", second.recv(9), b"")


def set_option(sock, level, option, value):
    """As sock.setsockopt(), which lets no other thread run"""
    value = ctypes.c_int(value)
    if LIBC.setsockopt(sock.fileno(), level, option, ctypes.byref(value), 4):
        raise OSError(ctypes.get_errno(), "setsockopt")


def late_options(options):
    with port_offset(20000), socket.socket() as sock, \
            Hold("sdp_fallback_take_over", "kworker", asleep=1, ms=40000) as hold:
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_TCP)
        sock.setblocking(False)
        # it may find the lock taken, and then returns after the others
        connecting = Held(sock.connect, ("10.0.0.2", PORT))
        connecting.start()
        hold.wait()
        threads = [Held(set_option, sock, *option) for option in options]
        for thread in threads:
            thread.start()
        wait("they wait", lambda: all("lock_sock" in thread.stack() for thread in threads))
        hold.go()
        expect("connect()", connecting.end(), errno.EINPROGRESS)
        for thread in threads:
            expect("setsockopt()", thread.end(), 0)
        wait("it is TCP", lambda: sock.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) ==
             socket.IPPROTO_TCP)
        expect("the options", [sock.getsockopt(*option[:2]) for option in options],
               [value for _, _, value in options])


def case_late_options():
    """Options that are set while TCP takes over, and has copied the others, are TCP's"""
    options = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
               (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77),
               (socket.IPPROTO_IP, socket.IP_TTL, 33))
    enter("b")
    with socket.socket() as lsn:
        lsn.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
        lsn.bind(("10.0.0.2", PORT))
        lsn.listen()
        enter("a")
        late_options(options)


def case_accept_removal():
    """The device goes while a listener of both kinds waits for a connection: it continues with
    TCP, and accept() says that the program may try again"""
    with port_offset(20000), socket.socket() as lsn, Removal() as removal:
        lsn.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_TCP)
        lsn.bind(("10.0.0.1", PORT))
        lsn.listen()
        thread = Held(lsn.accept)
        thread.start()
        wait("it waits for a connection", lambda: "sdp_accept" in thread.stack())
        removal.start()
        expect("accept()", thread.end(), errno.ECONNABORTED)
        enter("b")
        client = socket.socket()
        client.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
        enter("a")
        with client:
            client.connect(("10.0.0.1", PORT))
            with lsn.accept()[0] as accepted:
                client.send(b"x")
                expect("data", accepted.recv(9), b"x")


def case_moved_tcp_send():
    moved_tcp(LIBC.send)


def case_moved_tcp_recv():
    moved_tcp(LIBC.recv)


def case_moved_splice():
    """As moved(), for a splice() that waits for data"""
    pipe = os.pipe()
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0], Hold("wait_woken", "held", behind=1, ms=20000) as hold:
        thread = Held(os.splice, sock.fileno(), pipe[1], 100)
        thread.start()
        wait("it waits for data", lambda: "wait_woken" in thread.stack())
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        hold.wait()
        sock.connect(("10.0.0.2", PORT))
        with lsn.accept()[0] as second:
            second.sendall(b"x" * 100)
            wait("data of the other come", lambda: len(sock.recv(100, socket.MSG_PEEK)) == 100)
            hold.go()
            expect("the call", thread.end(), errno.EPIPE)
            expect("data of the other are there", sock.recv(100), b"x" * 100)


def lend_call(sock, room):
    """TCP_ZEROCOPY_RECEIVE of so many bytes"""
    LIBC.mmap.restype = ctypes.c_void_p
    LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    window = LIBC.mmap(None, room, mmap.PROT_READ, mmap.MAP_SHARED, sock.fileno(), 0)
    value = ctypes.create_string_buffer(struct.pack("QII", window, room, 0), 16)
    length = ctypes.c_int(16)
    if LIBC.getsockopt(sock.fileno(), socket.IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, value,
                       ctypes.byref(length)):
        raise OSError(ctypes.get_errno(), "getsockopt")


def case_moved_lend():
    """The same of TCP_ZEROCOPY_RECEIVE, which waits for another reader"""
    size = 16 * mmap.PAGESIZE
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as first, Absent(Reader.size, mmap.PAGESIZE) as memory, \
            Hold("wait_woken", "held", behind=1, ms=20000) as hold:
        other = Reader(sock, first, memory, lambda *_: lend_call(sock, size))
        LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
        hold.wait()
        sock.connect(("10.0.0.2", PORT))
        with lsn.accept()[0] as second:
            second.sendall(b"x" * size)
            wait("data of the other come",
                 lambda: len(sock.recv(size, socket.MSG_PEEK)) == size)
            hold.go()
            expect("the call", other.second.end(), errno.EPIPE)
            expect("data of the other are there", read_all(sock, size), b"x" * size)
        memory.come()
        expect("the first", other.first.end(), 0)



def pinning(memory, call, sock):
    """Begin a call that waits for memory which it wants to pin"""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 3):
        raise Skipped("before Linux 6.3 what is absent cannot be pinned")
    thread = Held(memory.use, call, sock, 0)
    thread.start()
    wait("it waits for memory", memory.asked_for)
    wait("it wants to pin it", lambda: "sdp_zc_" in thread.stack())
    return thread


def pin_and_go(call, sock):
    """The device does not wait for a call that waits for what it wants to pin"""
    with Removal() as removal, Absent(LARGE, mmap.PAGESIZE) as memory:
        thread = pinning(memory, call, sock)
        removal.start()
        wait("the device goes", removal.done)
    return thread.end()


def read_all(sock, left):
    data = b""
    while len(data) < left:
        data += sock.recv(left - len(data)) or bytes(left)
    return data


def case_pin_send():
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0]:
        expect("send()", pin_and_go(LIBC.send, sock), errno.ENETRESET, errno.EPIPE)


def regions():
    """Memory regions of the device"""
    return subprocess.run(["rdma", "resource", "show", "mr"], check=True,
                          capture_output=True, text=True).stdout.count("dev rda")


def case_unmapped_removal():
    """The device does not map the memory of a send(), and is removed before the send() has
    given the pages back: no region is left by then"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0], Removal() as removal, \
            Hold("ib_map_mr_sg", "held", asleep=1, ms=90000, ret=-errno.ENOMEM,
                 also="sdp_zc_region_free") as hold:
        before = regions()
        thread = Held(sock.sendall, bytes(LARGE))
        thread.start()
        wait("it gives the pages back", lambda: "hold_also" in thread.stack())
        expect("regions", regions(), before)
        removal.start()
        wait("the device goes", removal.done)
        hold.go()
        expect("send()", thread.end(), errno.ENETRESET, errno.EPIPE)


def case_unmapped_send():
    """The memory of a send() goes after its pages were found, before the peer knows. While
    the device takes them back, other calls do not wait"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, \
            Hold("sdp_txq_src_avail", "held", asleep=1, ret=256,
                 also="sdp_zc_leave", ms=90000) as hold:
        thread = Held(sock.sendall, bytes(LARGE))
        thread.start()
        hold.wait()
        other = Held(fcntl.ioctl, sock, SIOCOUTQ, bytes(4))
        other.start()
        expect("another call", other.end(), 0)
        hold.go()
        read_all(peer, LARGE)
        expect("send()", thread.end(), 0)


def case_unmapped_part():
    """The same after a part of the send has been copied: the bytes of another send do not
    come between"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, \
            Hold("sdp_txq_src_avail", "held", asleep=1, ret=256,
                 also="sdp_zc_leave", ms=90000) as hold:
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 8 * LARGE)
        thread = Held(sock.sendmsg, [b"a" * 100, bytes(LARGE)])
        thread.start()
        hold.wait()
        # for its turn it waits even so, as for the lock of TCP
        other = Held(sock.send, b"x" * 100, socket.MSG_DONTWAIT)
        other.start()
        wait("the other one waits",
             lambda: not other.is_alive() or "wait_woken" in other.stack())
        hold.go()
        expect("what comes", read_all(peer, 100 + LARGE) == b"a" * 100 + bytes(LARGE), True)
        expect("send()", thread.end(), 0)
        expect("the other send()", other.end(), 0)
        expect("what comes then", read_all(peer, 100), b"x" * 100)


def case_whole_zcopy():
    """The peer wants the rest of a send in messages: the bytes of another send do not come
    between"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer:
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 8 * LARGE)
        enter("b")
        before = counter("rx_srcavail")
        thread = Held(sock.sendall, bytes(LARGE))
        thread.start()
        wait("it advertises", lambda: counter("rx_srcavail") > before)
        enter("a")
        # when it has the answer it wants the lock
        with Hold("lock_sock_nested", "held", asleep=1, ms=60000) as hold:
            expect("the first bytes", read_all(peer, 64), bytes(64))
            expect("more", error_of(peer.recv, 1, socket.MSG_DONTWAIT), errno.EAGAIN)
            hold.wait()
            other = Held(sock.sendall, b"x" * 100)
            other.start()
            wait("the other one sends",
                 lambda: not other.is_alive() or "wait_woken" in other.stack())
            hold.go()
            expect("what comes", read_all(peer, LARGE - 64) == bytes(LARGE - 64), True)
            expect("send()", thread.end(), 0)
            expect("the other send()", other.end(), 0)
            expect("what comes then", read_all(peer, 100), b"x" * 100)


def case_whole_zcopy_recv():
    """A reader of advertised memory pins its own. Meanwhile the peer sends messages instead,
    another reader takes them, and the peer advertises again: that does not follow what the
    first reader has"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer:
        memory = ctypes.create_string_buffer(LARGE)
        with Hold("pin_user_pages_fast", "held", asleep=1, ms=60000) as hold:
            before = counter("rx_srcavail")
            sender = threading.Thread(target=lambda: [peer.sendall(bytes([i]) * LARGE)
                                                      for i in range(1, 5)], daemon=True)
            sender.start()
            wait("the peer advertises", lambda: counter("rx_srcavail") > before)
            thread = Held(LIBC.recv, sock.fileno(), memory, LARGE, 0)
            thread.start()
            hold.wait()
            read_all(sock, 3 * LARGE)
            wait("the peer advertises again", lambda: counter("rx_srcavail") > before + 1)
            hold.go()
            thread.end()
        expect("the first reader has bytes of", set(memory.raw), {0, 1})
        expect("the rest has", set(read_all(sock, LARGE - 64)), {4})
        sender.join(PATIENCE)


def case_pin_recv():
    """Memory advertised by the peer is read into memory of the program"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer:
        sender = Held(peer.sendall, bytes(LARGE))
        sender.start()
        expect("recv()", pin_and_go(LIBC.recv, sock), 0)
        sender.end()


def case_pin_offer():
    """A reader that waits offers memory of the program"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer:
        enter("b")
        before = counter("mode_changes")
        sender = Held(peer.sendall, bytes(2 * LARGE))
        sender.start()
        read_all(sock, LARGE)
        read_all(sock, LARGE)
        expect("sendall()", sender.end(), 0)
        Held(peer.sendall, bytes(LARGE)).start()
        read_all(sock, LARGE)
        expect("pipelined mode", counter("mode_changes") - before, 1)
        enter("a")
        expect("recv()", pin_and_go(LIBC.recv, sock), errno.ENETRESET, errno.ECONNRESET)


def case_pin_send_late():
    """Another thread sends meanwhile, and waits for its turn, as with TCP"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Absent(LARGE, mmap.PAGESIZE) as memory:
        before = counter("tx_zcopy_bytes")
        thread = pinning(memory, LIBC.send, sock)
        other = Held(sock.sendall, b"x" * 100)
        other.start()
        wait("it waits for its turn", lambda: "sdp_send" in other.stack())
        memory.come()
        data = read_all(peer, LARGE + 100)
        expect("data are right", data == bytes(LARGE) + b"x" * 100, True)
        expect("send()", thread.end(), 0)
        expect("another send()", other.end(), 0)
        expect("without a copy", counter("tx_zcopy_bytes") - before > LARGE / 2, True)


def case_pin_recv_late():
    """Another thread asks for messages meanwhile, and reads some"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Absent(LARGE, mmap.PAGESIZE) as memory:
        data = bytes(n % 251 for n in range(LARGE))
        sender = Held(peer.sendall, data)
        sender.start()
        thread = pinning(memory, LIBC.recv, sock)
        other = Held(sock.recv, 1, socket.MSG_DONTWAIT)
        other.start()
        expect("another recv()", other.end(), 0, errno.EAGAIN)
        taken = 64 + (other.err == 0)
        expect("the next one", sock.recv(1), data[taken:taken + 1])
        memory.come()
        expect("recv()", thread.end(), 0)
        mine = memory.map[:memory.got]
        expect("what it has got", mine, data[:64] +
               data[taken + 1:taken + 1 + memory.got - 64])
        left = LARGE - memory.got - 1 - (other.err == 0)
        expect("the rest", read_all(sock, left) == data[LARGE - left:], True)
        expect("sendall()", sender.end(), 0)


def case_small_reader():
    """A few bytes come when a small reader has just found nothing, and an
    advertisement after them: that is for the next reader"""
    with listener() as lsn, socket.create_connection(("10.0.0.2", PORT)) as sock, \
            lsn.accept()[0] as peer, Hold("sdp_zc_recv", "held", asleep=1, ms=40000) as hold:
        before = counter("rx_srcavail"), counter("rx_zcopy_declined")
        thread = Held(sock.recv, 16)
        thread.start()
        hold.wait()
        peer.send(bytes(16))
        threading.Thread(target=peer.sendall, args=(bytes(LARGE),), daemon=True).start()
        wait("the peer advertises", lambda: counter("rx_srcavail") > before[0])
        hold.go()
        expect("recv()", thread.end(), 0)
        expect("declined", counter("rx_zcopy_declined") - before[1], 0)
        read_all(sock, LARGE)


def stacks(pid):
    """Where its threads are in the kernel"""
    text = ""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stack", encoding="ascii") as file:
            text += file.read()
    return text


def mappings(mode, function):
    """A program that is in this call waits for a thread that changes mappings; the device
    does not"""
    with listener() as lsn, Removal() as removal, \
            subprocess.Popen(["sdp-rxmap", "-m", mode, "10.0.0.2", str(PORT)],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader, \
            lsn.accept()[0], Hold("sdp_rxmap_close", "held", asleep=1, ms=40000) as hold:
        reader.stdin.write(b"12")
        reader.stdin.flush()
        hold.wait()
        reader.stdin.write(b"3")
        reader.stdin.flush()
        wait("it waits", lambda: function in stacks(reader.pid))
        removal.start()
        wait("the device goes", removal.done)
        hold.go()
        expect("the end", reader.wait(PATIENCE), 0)


def case_rxmap_mappings():
    mappings("held", "sdp_rxmap_")


def case_zerocopy_mappings():
    mappings("held-send", "sdp_sendmsg")


def case_bind_removal():
    """A device that goes when bind() has just found it"""
    with socket.socket() as sock, Removal() as removal, \
            Hold("rdma_bind_addr", "held", behind=1, ms=10000) as hold:
        thread = Held(sock.bind, ("10.0.0.1", PORT))
        thread.start()
        hold.wait()
        removal.start()
        time.sleep(1)
        hold.go()
        expect("bind()", thread.end(), 0)
        try:
            wait("the device goes", removal.done)
        finally:
            sock.close()


def case_bind_twice():
    """Two that bind to the same port at the same time"""
    with socket.socket() as first, socket.socket() as second, \
            Hold("__rdma_create_kernel_id", "held", asleep=1, ms=40000) as hold:
        one = Held(first.bind, ("10.0.0.1", PORT))
        one.start()
        hold.wait()
        other = Held(second.bind, ("10.0.0.1", PORT))
        other.start()
        time.sleep(1)       # it waits for the first one
        hold.go()
        expect("both", {one.end(), other.end()}, {0, errno.EADDRINUSE})


def case_other_request():
    """The set-up of one request waits, as for memory of its control group: another one does
    not wait for that"""
    with listener() as lsn, socket.socket() as sock, \
            Hold("sdp_verbs_create", "kworker", asleep=1, ms=2000 * PATIENCE) as hold:
        thread = Held(sock.connect, ("10.0.0.2", PORT))
        thread.start()
        hold.wait()
        with socket.create_connection(("10.0.0.2", PORT), PATIENCE) as other:
            lsn.settimeout(PATIENCE)
            with lsn.accept()[0] as peer:
                peer.send(b"x")
                expect("data", other.recv(9), b"x")
        hold.go()
        expect("connect()", thread.end(), 0)


def case_many_requests():
    """The set-up of many requests waits: timers of other sockets there run"""
    count = 300
    with listener() as lsn, contextlib.ExitStack() as stack:
        lsn.listen(count)
        enter("b")
        late = stack.enter_context(socket.socket())
        enter("a")
        hold = stack.enter_context(Hold("sdp_verbs_create", "kworker", asleep=1,
                                        times=count, ms=2000 * PATIENCE))
        for _ in range(count):
            other = stack.enter_context(socket.socket())
            other.setblocking(False)
            expect("connect()", other.connect_ex(("10.0.0.2", PORT)), errno.EINPROGRESS)
        wait("256 wait", lambda: hold.hits() >= 256)
        late.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 1500)
        thread = Held(late.connect, ("10.0.0.77", PORT))
        thread.start()
        expect("connect()", thread.end(), errno.ETIMEDOUT)
        hold.go()


def case_no_answer():
    """The time of connect() runs while it looks for the address, too"""
    with socket.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 1500)
        thread = Held(sock.connect, ("10.0.0.77", PORT))
        thread.start()
        expect("connect()", thread.end(), errno.ETIMEDOUT)


def case_no_pressure():
    """A writer that waits for room does not take it for a lack of memory"""
    # more than the receive buffers of TCP can grow to below the peer that does not read
    size = 16 << 20
    with listener() as lsn, socket.socket() as sock, \
            Hold("sk_stream_wait_memory", "held", times=1000000, ms=0) as hold:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
        sock.connect(("10.0.0.2", PORT))
        peer = lsn.accept()[0]
        before = counter("tx_sndbuf_full")
        thread = Held(sock.sendall, bytes(size))
        thread.start()
        wait("it has to wait", lambda: counter("tx_sndbuf_full") > before)
        left = size
        while left:
            left -= len(peer.recv(min(left, 1 << 20)))
        expect("sendall()", thread.end(), 0)
        expect("waits for memory", hold.hits(), 0)
        peer.close()


def case_late_data():
    """The peer accepts and sends something when connect() has just been given up"""
    with socket.socket() as sock, \
            Hold("sdp_parse_hello_ack", "kworker", asleep=1, ms=40000) as hold:
        sock.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 500)
        sock.setblocking(False)
        expect("connect()", sock.connect_ex(("10.0.0.1", PORT)), errno.EINPROGRESS)
        hold.wait()
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        expect("poll()", len(poll.poll(PATIENCE * 1000)), 1)
        expect("recv()", error_of(sock.recv, 100), errno.ETIMEDOUT)
        hold.go()
        # as TCP once the error was reported: the end of the stream, and no data before
        expect("recv(), again", sock.recv(100), b"")


def case_small_receives():
    """Small messages, as a peer with small receives wants them, share send buffers"""
    with socket.socket() as sock:
        expect("connect()", error_of(sock.connect, ("10.0.0.1", PORT)), 0)
        sock.setblocking(False)
        before = counter("mem_pages")
        sent = sock.send(bytes(1 << 20))
        used = (counter("mem_pages") - before) * mmap.PAGESIZE
        # two buffers of 32 KB are not full
        if used > 2 * sent + 65536:
            raise Broken(f"{used} bytes of memory for {sent}")


def case_early_data():
    """Data that are received before connect() goes on: the peer has credits for them"""
    with socket.socket() as sock, Hold("sdp_fc_set_first", "kworker", ms=1000) as hold:
        expect("connect()", error_of(sock.connect, ("10.0.0.1", PORT)), 0)
        expect("held up", hold.hits() > 0, True)
        expect("recv()", sock.recv(5), b"early")


@contextlib.contextmanager
def delay(*how):
    """Delay all packets that leave this namespace; yields a function that changes the delay"""
    def netem(verb, *how):
        subprocess.run(["tc", "qdisc", verb, "dev", "vb", "root", "netem", *how], check=True)

    netem("add", *how)
    try:
        yield lambda *how: netem("change", *how)
    finally:
        netem("del")


def case_late_record():
    """A control message follows a writer's message that has been handed over but not been
    recorded: the writer, whose buffer is full then, is woken when there is room"""
    before = counter("tx_ctl"), counter("tx_sndbuf_full")
    late = "delay", f"{min(PATIENCE // 20, 2)}s"
    with socket.socket() as sock, \
            Hold("hyb_link_commit", "held", behind=1, asleep=1, ms=2000 * PATIENCE) as hold:
        # the least: the third of it that has to be free again is in the first message
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        thread = Held(sock.sendall, bytes(1 << 18))
        with delay(*late) as change:
            expect("connect()", error_of(sock.connect, ("10.0.0.1", PORT)), 0)
            # on its way is only what the peer answers by ChRcvBuf, and no data follow
            wait("the first message", lambda: counter("tx_ctl") > before[0])
            change(*late, "loss", "100%")
            thread.start()
            hold.wait()
            if counter("tx_ctl") != before[0] + 1:
                raise Skipped("the answer came too early")
            wait("ChRcvBufAck", lambda: counter("tx_ctl") > before[0] + 1)
            time.sleep(0.5)
            hold.go()
            wait("it has to wait", lambda: counter("tx_sndbuf_full") > before[1])
            time.sleep(0.5)
        expect("sendall()", thread.end(), 0)


def case_reset_reply():
    """A peer that accepts and resets at once has not refused"""
    with socket.socket() as sock, \
            Hold("hyb_tcp_attach", "kworker", asleep=1, ms=40000) as hold:
        call = Held(sock.connect, ("10.0.0.1", PORT))
        call.start()
        hold.wait()
        wait("a reset", no_tcp)
        hold.go()
        expect("connect()", call.end(), errno.ECONNRESET)


def case_old_teardown():
    """The end of a connection is not the end of the time that the next one has"""
    with socket.socket() as sock, \
            Hold("sdp_shared_close", "kworker", asleep=1, ms=40000) as hold:
        # it may have arrived already; the first call that sees the error takes it
        reset = error_of(sock.connect, ("10.0.0.1", PORT)) == errno.ECONNRESET
        sock.setblocking(False)
        if not reset:
            reset = error_of(sock.send, b"x") == errno.ECONNRESET
        hold.wait()
        if not reset:
            wait("a reset", lambda: error_of(sock.recv, 1) == errno.ECONNRESET)
        LIBC.connect(sock.fileno(), bytes(16), 16)      # AF_UNSPEC
        sock.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, 1500)
        expect("connect()", sock.connect_ex(("10.0.0.77", PORT)), errno.EINPROGRESS)
        hold.go()
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        expect("poll()", len(poll.poll(PATIENCE * 1000)), 1)
        expect("SO_ERROR", sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
               errno.ETIMEDOUT)


def case_no_notice():
    """With TCP_NOTSENT_LOWAT each position that the writer waits for is acknowledged
    before it has asked. A later one wakes it"""
    size = 2 << 20
    with listener() as lsn, socket.socket() as sock, select.epoll() as epoll:
        lsn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.connect(("10.0.0.2", PORT))
        peer = lsn.accept()[0]
        # more than the peer takes, and no writer waits so far
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 2 * size)
        sock.sendall(bytes(size))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 1)
        time.sleep(1)
        with Hold("hyb_link_notify", "held", asleep=1, ms=0, ret=256, times=64) as hold:
            thread = Held(epoll.register, sock, select.EPOLLOUT)
            thread.start()
            expect("register", thread.end(), 0)
            expect("positions", hold.hits(), 8)
        read_all(peer, size)
        expect("events", len(epoll.poll(PATIENCE)), 1)


def case_connect_signal():
    """A program that connect() has told gets no signal that says it once more"""
    seen = []
    signal.signal(signal.SIGIO, lambda *_: seen.append(1))
    with listener(), socket.socket() as sock, \
            Hold("sock_def_wakeup", "kworker", times=8, ms=300, behind=1) as hold:
        fcntl.fcntl(sock, fcntl.F_SETOWN, os.getpid())
        sock.connect(("10.0.0.2", PORT))
        fcntl.fcntl(sock, fcntl.F_SETFL, os.O_ASYNC)
        time.sleep(0.6)
        if not hold.hits():
            raise Broken("no task was stopped")
        expect("signals", seen, [])


def main():
    name = sys.argv[1]
    try:
        globals()["case_" + name]()
    except Skipped as err:
        print("skip", name, err)
    except (Broken, OSError) as err:
        print(f"not ok {name}: {err!r}")
    else:
        print("ok", name)


main()
