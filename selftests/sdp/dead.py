#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""dead.py server PORT | client HOST PORT INTERFACE [CASE...] | leave HOST PORT |
interrupted HOST PORT INTERFACE: peers that do not answer any more.

The client prints "CASE ERRNO" for each but the CASEs named, with - for none. INTERFACE
is the one that loses all packets from some point on."""
import ctypes
import errno
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

KB = 1 << 10
SLOW = 1024 * KB    # bytes that take longer to read than close() and the device wait
USER_TIMEOUT = 18
PATIENCE = 60   # seconds
results = {}


def serve(conn):
    """Send a byte; then read on, or write and close, or neither, as the client says"""
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1024 * KB)
    conn.send(b"k")
    how = conn.recv(1)
    if how == b"d":
        time.sleep(1000)
    if how == b"h":
        conn.shutdown(socket.SHUT_WR)
    while how == b"f":
        conn.sendall(bytes(32 * KB))
        time.sleep(0.05)
    while how not in (b"c", b"l") and conn.recv(64 * KB):
        pass
    if how in (b"w", b"c"):
        conn.sendall(bytes(SLOW))
    if how == b"l":
        conn.sendall(bytes(64 * KB))
    conn.close()


def server(port):
    lsn = socket.create_server(("0.0.0.0", port))
    while True:
        conn = lsn.accept()[0]
        threading.Thread(target=serve, args=(conn,), daemon=True).start()


def connected(how, rcvbuf=0):
    sock = socket.socket()
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    sock.connect(ADDRESS)
    sock.recv(1)
    sock.send(how)
    return sock


def user_timeout(sock, seconds):
    sock.setsockopt(socket.IPPROTO_TCP, USER_TIMEOUT, int(seconds * 1000))


def keepalive(sock, probes):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, probes)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def case_alive(go):
    sock = connected(b"r")
    # a byte may count as received only when the peer's thread has read it
    user_timeout(sock, 3)
    keepalive(sock, 2)
    go()
    for _ in range(40):
        sock.send(b"x")
        time.sleep(0.1)
    time.sleep(4)
    sock.send(b"x")
    time.sleep(4)
    sock.send(b"x")


def case_not_reading(go):
    """The peer answers, but does not read"""
    sock = connected(b"d")
    user_timeout(sock, 1.5)
    go()
    sock.sendall(bytes(65536 * KB))


def case_flooded(go):
    """The peer does not read, but writes: to make room for that is no progress"""
    sock = connected(b"f")
    errors = []

    def drain():
        try:
            while sock.recv(64 * KB):
                pass
        except OSError as err:
            errors.append(err)

    user_timeout(sock, 1.5)
    go()
    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    try:
        sock.sendall(bytes(65536 * KB))
    except OSError as err:
        thread.join(5)
        errors.append(err)
    # one of them gets the error, the other finds a closed connection
    raise next((err for err in errors if err.errno == errno.ETIMEDOUT), errors[0])


def case_second_connection(go):
    """The timer is that of the connection that the socket has now"""
    sock = connected(b"d")
    user_timeout(sock, 60)
    go()
    sock.send(b"x")
    ctypes.CDLL(None).connect(sock.fileno(), bytes(16), 16)     # AF_UNSPEC
    user_timeout(sock, 1.5)
    sock.connect(ADDRESS)
    sock.recv(1)
    sock.sendall(b"d" + bytes(65536 * KB))


def case_slow_reader(go):
    """We have finished, the peer has closed, and we take our time: longer than it
    would wait for an end without data"""
    sock = connected(b"w", 32 * KB)
    go()
    sock.shutdown(socket.SHUT_WR)
    read_slowly(sock)


def case_slow_reader_open(go):
    """The same, but only the peer has finished"""
    sock = connected(b"c", 32 * KB)
    go()
    read_slowly(sock)


def case_slow_reader_late(go):
    """All has come when we begin to read, and the peer has given up waiting for our
    end"""
    sock = connected(b"l")
    go()
    time.sleep(6)
    read_slowly(sock, 64 * KB)


def case_held_reader(go):
    """The peer lives, but does not read: no answer comes to a probe that follows data"""
    socks = []
    for size in 16, 64, 128, 192, 256, 384, 512, 1024:
        sock = connected(b"d")
        keepalive(sock, 2)
        sock.setblocking(False)
        sock.send(bytes(size * KB))
        socks.append(sock)
    go()
    time.sleep(7)
    for sock in socks:
        err = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if err:
            raise OSError(err, "a live connection")


def read_slowly(sock, wanted=SLOW):
    total = 0
    while True:
        data = sock.recv(32 * KB)
        if not data:
            break
        total += len(data)
        time.sleep(0.6)
    if total != wanted:
        raise OSError(errno.ENODATA, "lost")


def case_few_bytes(go):
    sock = connected(b"r")
    user_timeout(sock, 1.5)
    go()
    sock.send(b"x")
    sock.recv(1)


def case_option_later(go):
    sock = connected(b"r")
    go()
    sock.send(b"x")
    user_timeout(sock, 1.5)
    sock.recv(1)


def case_trickle(go):
    """Something is sent all the time"""
    sock = connected(b"r")
    user_timeout(sock, 1.5)
    go()
    while True:
        sock.send(b"x")
        time.sleep(0.1)


def case_writer(go):
    """In a send() that waits for room"""
    sock = connected(b"r")
    user_timeout(sock, 1.5)
    go()
    sock.sendall(bytes(65536 * KB))


def case_keepalive(go):
    sock = connected(b"r")
    keepalive(sock, 2)
    go()
    sock.recv(1)


def case_keepalive_user(go):
    """The user timeout takes the place of the number of probes"""
    sock = connected(b"r")
    keepalive(sock, 100)
    user_timeout(sock, 2)
    go()
    sock.recv(1)


def case_keepalive_sysctl(go):
    """Values that the program does not set come from the namespace"""
    sock = connected(b"r")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    go()
    sock.recv(1)


def case_last_ack(go):
    """Both have finished, but the peer does not say that it has got all"""
    sock = connected(b"h")
    sock.recv(1)
    user_timeout(sock, 1.5)
    go()
    sock.send(b"x")
    sock.shutdown(socket.SHUT_WR)
    poll = select.poll()
    poll.register(sock, 0)
    for _ in range(60):
        # POLLHUP is there from the beginning
        if poll.poll(0)[0][1] & select.POLLERR:
            raise OSError(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "")
        time.sleep(0.1)


def case_retries(go):
    """No option: TCP repeats a packet net.ipv4.tcp_retries2 times"""
    sock = connected(b"r")
    go()
    sock.send(b"x")
    sock.recv(1)


def case_connect_sysctl(go):
    sock = socket.socket()
    go()
    sock.connect(ADDRESS)


def case_connect(go):
    sock = socket.socket()
    user_timeout(sock, 1.5)
    go()
    sock.connect(ADDRESS)


def case_connect_option(go):
    """An option that starts a timer is not the end of the attempt"""
    sock = socket.socket()
    go()
    sock.setblocking(False)
    sock.connect_ex(ADDRESS)
    keepalive(sock, 2)
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    if poll.poll(4000):
        raise OSError(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "early")


def run(name, go):
    try:
        globals()["case_" + name](go)
        results[name] = "-"
    except threading.BrokenBarrierError:
        pass
    except OSError as err:
        results[name] = errno.errorcode.get(err.errno, str(err))


def together(names, cut):
    """The cases, side by side; from @cut on nothing gets through"""
    barrier = threading.Barrier(len(names) + 1)

    def go():
        barrier.wait()      # all are connected
        barrier.wait()      # and the link is cut

    threads = [threading.Thread(target=run, args=(n, go), daemon=True) for n in names]
    for thread in threads:
        thread.start()
    try:
        barrier.wait(20)
        if cut:
            subprocess.run(["tc", "qdisc", "add", "dev", cut, "root", "netem", "loss",
                            "100%"], check=True)
        barrier.wait(20)
    except threading.BrokenBarrierError:
        pass
    for thread in threads:
        thread.join(PATIENCE)
    for name in names:
        print(name, results.get(name, "hangs"), flush=True)


ALIVE = ["alive", "not_reading", "flooded", "second_connection", "slow_reader",
         "slow_reader_open", "slow_reader_late", "held_reader"]
CUT = ["few_bytes", "option_later", "trickle", "writer", "keepalive", "keepalive_user",
       "keepalive_sysctl", "last_ack", "retries", "connect", "connect_option",
       "connect_sysctl"]


def leave():
    """Write until the peer takes no more, and close"""
    sock = socket.create_connection(ADDRESS)
    sock.setblocking(False)
    try:
        while True:
            sock.send(bytes(64 * KB))
    except BlockingIOError:
        sock.close()


def interrupted(cut):
    """A signal while connect() waits for an answer. An attempt that goes on has a port"""
    connected(b"r").close()     # the address is known
    subprocess.run(["tc", "qdisc", "add", "dev", cut, "root", "netem", "loss", "100%"],
                   check=True)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    addr = struct.pack("!2s H 4s 8x", struct.pack("=H", socket.AF_INET), ADDRESS[1],
                       socket.inet_aton(ADDRESS[0]))
    with socket.socket() as sock:
        if libc.connect(sock.fileno(), addr, len(addr)) == 0:
            print("connected")
        else:
            print(errno.errorcode[ctypes.get_errno()],
                  "goes on" if sock.getsockname()[1] else "ended")


def main():
    without = sys.argv[5:]
    together([name for name in ALIVE if name not in without], None)
    together([name for name in CUT if name not in without], sys.argv[4])


if sys.argv[1] == "server":
    server(int(sys.argv[2]))
ADDRESS = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "leave":
    leave()
elif sys.argv[1] == "interrupted":
    interrupted(sys.argv[4])
else:
    main()
