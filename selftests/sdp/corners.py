#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""corners.py PROTOCOL PORT [CASE...]: corner cases of stream sockets, over TCP (0) or SDP
(257)

Prints "CASE: RESULT" for each CASE, or for all. Servers are in the namespace b, clients in
a."""
import array
import contextlib
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from bpf import insn, load  # noqa: E402

CLONE_NEWNET = 0x40000000
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_LOCK_FILTER = 44
SO_BINDTOIFINDEX = 62
SO_BUF_LOCK = 72
SO_ATTACH_REUSEPORT_CBPF = 51
SO_ATTACH_REUSEPORT_EBPF = 52
BPF_SOCKET_FILTER = 1
BPF_RET_K = 0x06
BPF_LD_W_ABS = 0x20
SKF_AD_PAY_OFFSET = 0xfffff000 + 52
SPLICE_F_NONBLOCK = 2
TCP_ZEROCOPY_RECEIVE = 35
IP_MTU = 14
IP_BIND_ADDRESS_NO_PORT = 24
IP_LOCAL_PORT_RANGE = 51
CLIENT = "10.0.0.1"
NOBODY = 65534
SERVER = "10.0.0.2"
PROTOCOL = int(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
PORT = int(sys.argv[2])
CASES = []


def case(function):
    CASES.append(function)
    return function


def name_of(err):
    return errno.errorcode.get(err, str(err))


def tried(function, *args):
    """"ok", or the name of the error"""
    try:
        function(*args)
    except OSError as err:
        return name_of(err.errno)
    return "ok"


def enter(netns):
    """Sockets belong to the namespace that they are made in"""
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def new(netns, family=socket.AF_INET, protocol=PROTOCOL):
    enter(netns)
    sock = socket.socket(family, socket.SOCK_STREAM, protocol)
    sock.settimeout(30)
    return sock


def port():
    global PORT
    PORT += 1
    return PORT


def listener(at=None, reuseport=False, backlog=8, protocol=PROTOCOL):
    sock = new("b", protocol=protocol)
    if reuseport:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((SERVER, port() if at is None else at))
    if backlog:
        sock.listen(backlog)
    return sock


def connected(to, protocol=PROTOCOL):
    sock = new("a", protocol=protocol)
    sock.connect(to.getsockname())
    return sock


def pair():
    """A listener, a client, and the socket that accept() returned"""
    lis = listener()
    cli = connected(lis)
    return lis, cli, lis.accept()[0]


def queued(sock, size):
    """Wait until that much can be read; False after ten seconds"""
    have = array.array("i", [0])
    for _ in range(1000):
        fcntl.ioctl(sock, termios.FIONREAD, have)
        if have[0] >= size:
            return True
        time.sleep(0.01)
    return False


def splice(sock, pipe, size, flags=SPLICE_F_NONBLOCK):
    got = LIBC.splice(sock.fileno(), None, pipe, None, ctypes.c_size_t(size), flags)
    return got if got >= 0 else -ctypes.get_errno()


@case
def splice_nonblock_is_for_the_pipe():
    """The socket blocks, so splice() waits for data"""
    _, cli, srv = pair()
    srv.setblocking(True)
    timer = threading.Timer(0.5, cli.send, (b"hello",))
    timer.start()
    got = splice(srv, os.pipe()[1], 100)
    timer.join()
    return got if got >= 0 else name_of(-got)


@case
def splice_fills_a_pipe():
    """As much as a pipe of 64 KB has room for"""
    _, cli, srv = pair()
    size = 60000
    threading.Thread(target=cli.sendall, args=(bytes(size),)).start()
    if not queued(srv, size):
        return "nothing came"
    pipe = os.pipe()
    done = 0
    while done < size:
        got = splice(srv, pipe[1], size - done)
        if got <= 0:
            break
        done += got
    data = b""
    while len(data) < done:
        data += os.read(pipe[0], done)
    # what TCP's pieces fill depends on how its packets arrived
    full = done == size or not PROTOCOL
    return "all" if full and not any(data) else f"{done} bytes"


def splice_to_the_end(sock, pipe):
    """Splice until the end of stream, and empty the pipe after each call, which may wait.
    Returns the number of calls, and the data"""
    calls, data = 0, b""
    sock.setblocking(True)
    while True:
        got = splice(sock, pipe[1], 1 << 16, 0)
        if got < 0:
            raise OSError(-got, "splice")
        if not got:
            return calls, data
        calls += 1
        data += os.read(pipe[0], got)


def splice_calls(size, protocol=PROTOCOL):
    """The number of calls that it takes to splice that much, all of which has arrived before"""
    lis = listener(backlog=0, protocol=protocol)
    lis.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * size)
    lis.listen()
    cli = connected(lis, protocol)
    srv = lis.accept()[0]
    sent = bytes(at % 251 for at in range(size))
    pipe = os.pipe()
    with lis, cli, srv:
        thread = threading.Thread(target=cli.sendall, args=(sent,))
        thread.start()
        there = queued(srv, size)
        thread.join()
        cli.shutdown(socket.SHUT_WR)
        calls, data = splice_to_the_end(srv, pipe)
    for end in pipe:
        os.close(end)
    if not there or data != sent:
        raise OSError(errno.EIO, "lost")
    return calls


@case
def splice_of_each_size_to_the_end():
    """Not many more calls than TCP needs, each of which waits if there is nothing"""
    told = []
    for size in (1 << shift for shift in range(10, 17)):
        calls = splice_calls(size)
        limit = 2 * splice_calls(size, 0) if PROTOCOL else calls
        told.append("few" if calls <= limit else f"{calls} for {size} bytes, not {limit}")
    return ", ".join(told)


@case
def splice_while_data_comes():
    """No call waits for more than there is, and the last one finds the end"""
    _, cli, srv = pair()
    sent = bytes(at % 251 for at in range(1 << 20))

    def sender():
        for at in range(0, len(sent), 1 << 15):
            cli.sendall(sent[at:at + (1 << 15)])
            time.sleep(0.01)
        cli.close()
    threading.Thread(target=sender).start()
    return "all" if splice_to_the_end(srv, os.pipe())[1] == sent else "wrong"


def until_error(cli):
    """Write whenever poll() says so; how often there was no room, and the error"""
    again = 0
    while True:
        if not select.select([], [cli], [], 30)[1]:
            return again, "never writable"
        try:
            cli.send(bytes(8192))
        except BlockingIOError:
            again += 1
        except OSError as err:
            return again, name_of(err.errno)


@case
def writable_means_room_or_an_error():
    """The peer closes with unread data, so that it resets the connection"""
    again, ends = 0, set()
    for _ in range(20):
        _, cli, srv = pair()
        cli.setblocking(False)

        def reader(sock=srv):
            left = 300000
            while left > 0:
                left -= len(sock.recv(8192))
            sock.close()
        thread = threading.Thread(target=reader)
        thread.start()
        more, end = until_error(cli)
        thread.join()
        again += more
        ends.add("reset" if end in ("ECONNRESET", "EPIPE") else end)
    return f"{again} times without room, {','.join(sorted(ends))}"


@case
def writable_means_room_for_small_messages():
    """Each in a message of its own, until there is no room"""
    lis = listener(backlog=0)
    lis.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lis.listen()
    cli = new("a")
    cli.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
    cli.connect(lis.getsockname())
    cli.setblocking(False)
    again = sent = 0
    while sent < 100000 and select.select([], [cli], [], 1)[1]:
        try:
            sent += cli.send(b"x", 0x80)    # MSG_EOR
        except BlockingIOError:
            again += 1
    return f"{again} times without room, {'full' if sent < 100000 else 'never full'}"


@case
def zerocopy_receive_hint_is_bounded():
    """recv_skip_hint says how much of what was asked for is to be read by recv()"""
    lis = listener()
    lis.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    cli = connected(lis)
    srv = lis.accept()[0]
    threading.Thread(target=cli.sendall, args=(bytes(300000),), daemon=True).start()
    if not queued(srv, 150000):
        return "nothing came"
    libc_mmap = LIBC.mmap
    libc_mmap.restype = ctypes.c_void_p
    length = 1 << 16
    addr = libc_mmap(None, ctypes.c_size_t(length), 1, 1, srv.fileno(), 0)
    if addr in (None, ctypes.c_void_p(-1).value):
        return "mmap: " + name_of(ctypes.get_errno())
    arg = ctypes.create_string_buffer(struct.pack("QIIIi", addr, length, 0, 0, 0), 24)
    size = ctypes.c_uint32(24)
    if LIBC.getsockopt(srv.fileno(), socket.IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, arg,
                       ctypes.byref(size)):
        return name_of(ctypes.get_errno())
    _, mapped, hint = struct.unpack_from("QII", arg)
    return "bounded" if mapped + hint <= length else f"{mapped} mapped, {hint} to read"


def listens_again(leave):
    lis, cli = listener(at=0), None
    was = lis.getsockname()
    cli = connected(lis)
    srv = lis.accept()[0]
    leave(lis)
    result = tried(lis.listen, 1)
    same = "same port" if lis.getsockname()[1] == was[1] else "another port"
    cli.close()
    srv.close()
    return f"{result}, {same}"


@case
def listen_after_disconnect():
    """The port was not the program's choice, so listen() takes another one"""
    def leave(lis):
        unspec = (ctypes.c_char * 16)()
        if LIBC.connect(lis.fileno(), unspec, 16):
            raise OSError(ctypes.get_errno(), "connect")
    return listens_again(leave)


@case
def listen_after_shutdown():
    return listens_again(lambda lis: lis.shutdown(socket.SHUT_RD))


def as_nobody(function):
    """Its result, from a child that is an ordinary user"""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        enter("b")
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            text = function()
        except OSError as err:
            text = name_of(err.errno)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    text = os.read(read, 1000).decode()
    os.close(read)
    return text


def worker(at, backlog):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((SERVER, at))
    if backlog:
        sock.listen(backlog)
    return sock


@case
def a_second_worker_beside_a_client_that_waits():
    """SO_REUSEPORT: a client that is not accepted yet belongs to the listener's user"""
    at = port()
    ready, connect = os.pipe(), os.pipe()

    def client():
        os.read(ready[0], 1)
        cli = new("a")
        cli.connect((SERVER, at))
        os.write(connect[1], b"x")
        return cli
    clients = []
    thread = threading.Thread(target=lambda: clients.append(client()))
    thread.start()

    def server():
        first = worker(at, 8)
        bound = worker(at, 0)
        os.write(ready[1], b"x")
        os.read(connect[0], 1)
        select.select([first], [], [], 10)
        return f"listen {tried(bound.listen, 8)}, bind {tried(worker, at, 8)}"
    result = as_nobody(server)
    thread.join()
    return result


def chosen_by(*code):
    """Connections that each of two listeners gets by a classic BPF program"""
    code = b"".join(struct.pack("HBBI", *insn) for insn in code)
    text = ctypes.create_string_buffer(code)
    prog = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(text))
    return chosen(SO_ATTACH_REUSEPORT_CBPF, prog)


def chosen(option, prog):
    """Connections that each of two listeners gets by a program"""
    at = port()
    group = [listener(at, reuseport=True) for _ in range(2)]
    result = tried(group[0].setsockopt, socket.SOL_SOCKET, option, prog)
    if result != "ok":
        return result
    clients = [connected(group[0]) for _ in range(8)]
    count = [0, 0]
    while sum(count) < len(clients):
        ready = select.select(group, [], [], 30)[0]
        if not ready:
            return f"{count}, and no more"
        for lis in ready:
            lis.accept()
            count[group.index(lis)] += 1
    return f"{count}"


@case
def a_program_chooses_the_listener():
    """SO_ATTACH_REUSEPORT_CBPF with "return 1": the second of two gets all"""
    return chosen_by((BPF_RET_K, 0, 0, 1))


@case
def an_ebpf_program_chooses_the_listener():
    """SO_ATTACH_REUSEPORT_EBPF with a socket filter that returns 1"""
    fd = load(BPF_SOCKET_FILTER, insn(0xb7, imm=1) + insn(0x95))
    return chosen(SO_ATTACH_REUSEPORT_EBPF, struct.pack("i", fd))


@case
def a_program_asks_for_the_payload():
    """The kernel dissects the packet for that, and warns if it belongs to no namespace"""
    return chosen_by((BPF_LD_W_ABS, 0, 0, SKF_AD_PAY_OFFSET), (BPF_RET_K, 0, 0, 1))


@case
def a_lower_mark_wakes():
    """SO_RCVLOWAT goes below what is there while another thread polls"""
    _, cli, srv = pair()
    srv.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1000)
    cli.send(bytes(500))
    queued(srv, 500)
    found = []

    def poller():
        found.append(bool(select.select([srv], [], [], 10)[0]))
        found.append(time.monotonic())
    thread = threading.Thread(target=poller)
    thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    srv.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 100)
    thread.join()
    return "woken" if found[0] and found[1] - began < 5 else "not woken"


@case
def an_address_without_a_port():
    """IP_BIND_ADDRESS_NO_PORT: connect() finds the port; bind() may be called again"""
    lis = listener()
    sock = new("a")
    sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    seen = []
    for _ in range(2):
        sock.bind((CLIENT, 0))
        seen.append(sock.getsockname())
    sock.connect(lis.getsockname())
    host, at = sock.getsockname()
    seen.append((host, at == lis.accept()[1][1] and at > 1023))
    lis = new("b")
    lis.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    lis.bind((SERVER, 0))
    seen.append(lis.getsockname()[1])
    lis.listen(1)
    connected(lis)
    return f"{seen} {lis.accept()[1][0]}"


@case
def a_range_of_ports():
    """IP_LOCAL_PORT_RANGE, for bind() and for connect()"""
    lis = listener()
    low, high = 45000, 45003

    def ranged(netns):
        sock = new(netns)
        sock.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE,
                        struct.pack("I", low | high << 16))
        return sock
    bound = [ranged("b") for _ in range(5)]
    result = [tried(sock.bind, (SERVER, 0)) for sock in bound]
    clients = [ranged("a") for _ in range(5)]
    result += [tried(sock.connect, lis.getsockname()) for sock in clients]
    ports = [sock.getsockname()[1] for sock in bound[:4] + clients[:4]]
    return f"{result} {all(low <= at <= high for at in ports)} {len(set(ports[:4]))}"


def write_sysctl(name, value):
    """Returns the value that it had, in this namespace"""
    with open("/proc/sys/net/ipv4/" + name, "r+", encoding="ascii") as file:
        was = file.read()
        file.seek(0)
        file.write(value)
    return was


@case
def bind_shares_ports_when_none_is_left():
    """ip_autobind_reuse, for sockets with SO_REUSEADDR"""
    enter("a")
    was = write_sysctl("ip_local_port_range", "46000 46001")
    result = []
    try:
        for on in "01":
            write_sysctl("ip_autobind_reuse", on)
            group = [new("a") for _ in range(4)]
            for sock in group:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                result.append(tried(sock.bind, (CLIENT, 0)))
    finally:
        write_sysctl("ip_local_port_range", was)
        write_sysctl("ip_autobind_reuse", "0")
    return f"{result}"


@case
def a_range_of_one_port():
    """It is given out as soon as it is free, again and again"""
    lis = listener()
    enter("a")
    was = write_sysctl("ip_local_port_range", "46010 46010")
    result = []
    try:
        for _ in range(3):
            with new("a") as sock:
                result.append(tried(sock.bind, (CLIENT, 0)))
                result.append(tried(new("a").bind, (CLIENT, 0)))
        with new("a") as sock:
            result.append(tried(sock.connect, lis.getsockname()))
            result.append(tried(new("a").connect, lis.getsockname()))
    finally:
        write_sysctl("ip_local_port_range", was)
    return f"{result}"


@case
def a_large_send_buffer():
    """SO_SNDBUF decides how much a send() takes that does not wait"""
    _, cli, srv = pair()
    size = 4 << 20
    cli.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, size)
    cli.setblocking(False)
    data = bytes(1 << 16)
    taken = 0
    # what is on its way for the moment leaves room
    while select.select([], [cli], [], 1)[1] and taken < 2 * size:
        with contextlib.suppress(BlockingIOError):
            taken += cli.send(data)
    srv.settimeout(30)
    left = taken
    while left:
        left -= len(srv.recv(1 << 20))
    return "as much" if taken >= size else f"{taken} bytes"


@case
def connect_to_a_broadcast_address():
    return tried(new("a").connect, ("10.0.0.255", 9))


@case
def mtu_of_a_connection():
    _, cli, _ = pair()
    try:
        return cli.getsockopt(socket.IPPROTO_IP, IP_MTU)
    except OSError as err:
        return name_of(err.errno)


@case
def a_send_of_nothing():
    """Does it release what MSG_MORE delays? A timer of 200 ms does so at the latest, an
    acknowledgment of earlier bytes sometimes, and a busy machine is late: most of nine
    decide."""
    early = 0
    for _ in range(9):
        _, cli, srv = pair()
        begun = time.monotonic()
        cli.send(b"held", socket.MSG_MORE)
        cli.send(b"")
        select.select([srv], [], [], 10)
        early += time.monotonic() - begun < 0.15
    return "released" if early > 4 else "held"


# ---- options, for options.list

def taken(sndbuf, rcvbuf, forced=False):
    """Bytes that a send takes while the peer does not read"""
    names = (SO_SNDBUFFORCE, SO_RCVBUFFORCE) if forced else (socket.SO_SNDBUF, socket.SO_RCVBUF)
    lis = listener(backlog=0)
    lis.setsockopt(socket.SOL_SOCKET, names[1], rcvbuf)
    lis.listen()
    cli = new("a")
    cli.setsockopt(socket.SOL_SOCKET, names[0], sndbuf)
    cli.connect(lis.getsockname())
    srv = lis.accept()[0]
    cli.setblocking(False)
    done = 0
    while select.select([], [cli], [], 0.5)[1]:
        with contextlib.suppress(BlockingIOError):
            done += cli.send(bytes(4096))
    srv.close()
    return done


def grows(few, many):
    """Is @many larger than @few by 80,000 bytes at least? A part of a buffer is overhead"""
    return "more" if many - few >= 80000 else f"{few} bytes, then {many}"


@case
def a_send_buffer_is_a_limit():
    """SO_SNDBUF"""
    return grows(taken(8192, 8192), taken(160000, 8192))


@case
def a_receive_buffer_is_a_limit():
    """SO_RCVBUF"""
    return grows(taken(8192, 8192), taken(8192, 160000))


@case
def a_forced_send_buffer_may_be_larger():
    """SO_SNDBUFFORCE, beyond net.core.wmem_max"""
    return grows(taken(1 << 20, 8192), taken(1 << 20, 8192, True))


@case
def a_forced_receive_buffer_may_be_larger():
    """SO_RCVBUFFORCE, beyond net.core.rmem_max"""
    return grows(taken(8192, 1 << 20), taken(8192, 1 << 20, True))


def fill(sock):
    """Send until there is no room for a second; the number of bytes"""
    total = 0
    sock.setblocking(False)
    while select.select([], [sock], [], 1)[1]:
        with contextlib.suppress(BlockingIOError):
            total += sock.send(bytes(1 << 20))
    return total


@case
def a_locked_buffer_keeps_its_size():
    """SO_BUF_LOCK stops the growth of both buffers"""
    told = []
    for lock in 0, 3:
        lis = listener(backlog=0)
        lis.setsockopt(socket.SOL_SOCKET, SO_BUF_LOCK, lock)
        lis.listen()
        cli = connected(lis)
        srv = lis.accept()[0]
        was = now = srv.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        # it grows only when the reader has lagged behind the sender
        for _ in range(5):
            left = fill(cli)
            while left:
                left -= len(srv.recv(min(left, 1 << 20)))
            now = srv.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
            if now > was:
                break
        told.append("grows" if now > was else "stays")
    return f"{told}"


@case
def a_listener_of_one_device():
    """SO_BINDTOIFINDEX: the device that clients come through, and another one"""
    told = []
    for dev in "vb", "lo":
        lis = listener(backlog=0)
        lis.setsockopt(socket.SOL_SOCKET, SO_BINDTOIFINDEX, socket.if_nametoindex(dev))
        lis.listen()
        told.append(tried(connected, lis))
    return f"{told}"


@case
def a_locked_filter():
    """SO_LOCK_FILTER: no program can be attached any more, and the lock stays"""
    sock = new("a")
    text = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RET_K, 0, 0, 1))
    prog = struct.pack("HxxxxxxP", 1, ctypes.addressof(text))
    told = []
    for lock in 0, 1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_LOCK_FILTER, lock)
        told.append(tried(sock.setsockopt, socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, prog))
    told.append(tried(sock.setsockopt, socket.SOL_SOCKET, SO_LOCK_FILTER, 0))
    return f"{told}"


def timed(call, sock, option):
    """The result of a call that waits, and whether it has waited as long as the option says"""
    sock.settimeout(None)
    sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("qq", 0, 400000))
    begun = time.monotonic()
    result = tried(call)
    return f"{result} {0.35 < time.monotonic() - begun < 5}"


@case
def a_receive_has_a_time():
    """SO_RCVTIMEO, SO_RCVTIMEO_NEW"""
    _, cli, _srv = pair()
    return f"{[timed(lambda: cli.recv(1), cli, option) for option in (socket.SO_RCVTIMEO, 66)]}"


@case
def a_send_has_a_time():
    """SO_SNDTIMEO, SO_SNDTIMEO_NEW, when there is no room"""
    _, cli, _srv = pair()
    return f"{[timed(lambda: cli.sendall(bytes(16 << 20)), cli, option) for option in (21, 67)]}"


@case
def a_close_may_be_a_reset():
    """SO_LINGER with a time of 0"""
    told = []
    for on in 0, 1:
        _, cli, srv = pair()
        cli.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", on, 0))
        cli.close()
        told.append(tried(srv.recv, 1))
    return f"{told}"


@case
def a_closed_socket_need_not_wait_for_the_peer():
    """TCP_LINGER2: in FIN_WAIT2, by default for tcp_fin_timeout; below 0 close() resets"""
    told = []
    for value, before in (None, True), (-1, True), (-1, False):
        _, cli, srv = pair()
        if value:
            cli.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, value)
        if before:
            cli.shutdown(socket.SHUT_WR)
            srv.recv(1)
            # the acknowledgment of the end is on its way
            time.sleep(0.5)
        cli.close()
        time.sleep(0.5)
        # after the end of stream the reset shows at the writer
        told.append(tried(srv.send, b"x"))
    return f"{told}"


@case
def an_option_releases_what_waits():
    """TCP_NODELAY releases what MSG_MORE delays, and TCP_CORK, when it ends, what it does;
    a timer of 200 ms would do so as well, and a busy machine is late: most of five decide"""
    told = []
    for option, begin, end in (socket.TCP_NODELAY, None, 1), (socket.TCP_CORK, 1, 0):
        early = 0
        for _ in range(5):
            _, cli, srv = pair()
            if begin:
                cli.setsockopt(socket.IPPROTO_TCP, option, begin)
            cli.send(b"held", 0 if begin else socket.MSG_MORE)
            begun = time.monotonic()
            held = not select.select([srv], [], [], 0.02)[0]
            cli.setsockopt(socket.IPPROTO_TCP, option, end)
            select.select([srv], [], [], 10)
            early += held and time.monotonic() - begun < 0.15
        told.append("released" if early > 2 else f"{early} of 5")
    return f"{told}"


@case
def the_end_of_a_file_is_not_delayed():
    """sendfile() of more than there is says MSG_MORE until it finds the end; of five as above"""
    early = 0
    with tempfile.TemporaryFile() as file:
        file.write(bytes(20000))
        file.flush()
        for _ in range(5):
            _, cli, srv = pair()
            begun = time.monotonic()
            os.sendfile(cli.fileno(), file.fileno(), 0, 1 << 20)
            srv.recv(20000, socket.MSG_WAITALL)
            early += time.monotonic() - begun < 0.15
    return "not delayed" if early > 2 else f"{early} of 5"


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    wanted = sys.argv[3:]
    for function in CASES:
        name = function.__name__
        if wanted and name not in wanted:
            continue
        try:
            result = function()
        except OSError as err:
            result = f"{err}"
        print(f"{name.replace('_', ' ')}: {result}", flush=True)


main()
