#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Properties of the sockets of a program under sdp-run -s, one per line: "ok" or
"not-ok:DETAIL", and which. Runs under sdp-run -s, with a network namespace b that the
supervisor is not in; sdp/supervise.sh starts it."""
import errno
import fcntl
import os
import resource
import signal
import socket
import threading

IPPROTO_SDP = 257
IPPROTO_MPTCP = 262
INET, INET6, STREAM = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM


def say(what, good, detail=""):
    print("ok" if good else "not-ok:%s" % str(detail).replace(" ", "_"), what,
          flush=True)


def is_sdp(s):
    # ask the kernel: Python's socket object only repeats its arguments
    return s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == IPPROTO_SDP


def kinds():
    for family, name in (INET, "INET"), (INET6, "INET6"):
        for proto in 0, socket.IPPROTO_TCP, IPPROTO_MPTCP:
            with socket.socket(family, STREAM, proto) as s:
                say("%s, protocol %d: SDP" % (name, proto), is_sdp(s))
                domain = s.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
                say("%s, protocol %d: SO_DOMAIN is %s" % (name, proto, name),
                    domain == family, domain)
    with socket.socket(INET, socket.SOCK_DGRAM) as s:
        say("datagrams are left alone", not is_sdp(s))
    with socket.socket(socket.AF_UNIX, STREAM) as s:
        say("other families are left alone", not is_sdp(s))
    try:
        socket.socket(INET, STREAM, 200)
        say("an unknown protocol is refused", False)
    except OSError as e:
        say("an unknown protocol is refused", e.errno == errno.EPROTONOSUPPORT, e)


def flags():
    libc = __import__("ctypes").CDLL(None)
    for kind, cloexec, nonblock in ((STREAM, 0, 0),
                                    (STREAM | socket.SOCK_CLOEXEC, 1, 0),
                                    (STREAM | socket.SOCK_NONBLOCK, 0, 1)):
        fd = libc.socket(INET, kind, 0)
        got = (fcntl.fcntl(fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC,
               1 if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK else 0)
        say("socket type 0x%x: close-on-exec %d, O_NONBLOCK %d" % (kind, cloexec, nonblock),
            got == (cloexec, nonblock), got)
        os.close(fd)
    low = os.open("/dev/null", os.O_RDONLY)
    os.close(low)
    fd = libc.socket(INET, STREAM, 0)
    say("socket() returns the lowest free descriptor", fd == low, (fd, low))
    os.close(fd)


def limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, hard))
    held = []
    try:
        while len(held) < 64:
            held.append(socket.socket(INET, STREAM))
        say("socket() above RLIMIT_NOFILE fails with EMFILE", False, "no error")
    except OSError as e:
        say("socket() above RLIMIT_NOFILE fails with EMFILE", e.errno == errno.EMFILE, e)
    for s in held:
        s.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def interrupted():
    """Signals, as those by which Go stops its threads, while the supervisor serves socket()."""
    hits = []
    signal.signal(signal.SIGURG, lambda *a: hits.append(1))
    # SA_RESTART; without it socket() may be interrupted
    signal.siginterrupt(signal.SIGURG, False)
    stop = threading.Event()

    def shoot():
        while not stop.is_set():
            os.kill(os.getpid(), signal.SIGURG)
    t = threading.Thread(target=shoot, daemon=True)
    t.start()
    before = len(os.listdir("/proc/self/fd"))
    good = 0
    for _ in range(200):
        with socket.socket(INET, STREAM) as s:
            good += is_sdp(s)
    stop.set()
    t.join()
    say("200 sockets are SDP under signals", good == 200 and hits, (good, len(hits)))
    after = len(os.listdir("/proc/self/fd"))
    say("no descriptor is left open after the signals", before == after, (before, after))


def threads():
    got = []

    def work():
        for _ in range(50):
            with socket.socket(INET, STREAM) as s:
                got.append(is_sdp(s))
    many = [threading.Thread(target=work) for _ in range(4)]
    for t in many:
        t.start()
    for t in many:
        t.join()
    say("200 sockets of four threads are SDP", got == [True] * 200, got.count(True))


def processes():
    try:
        os.waitpid(-1, os.WNOHANG)
        say("sdp-run left no child process behind", False)
    except ChildProcessError:
        say("sdp-run left no child process behind", True)
    pid = os.fork()
    if not pid:
        with socket.socket(INET, STREAM) as s:
            os._exit(not is_sdp(s))
    say("a child's sockets are SDP", os.waitpid(pid, 0)[1] == 0)
    pid = os.fork()
    if not pid:
        # of a network that the supervisor is not in
        libc = __import__("ctypes").CDLL(None)
        with open("/run/netns/b") as f:
            if libc.setns(f.fileno(), 0):
                os._exit(2)
        with socket.socket(INET, STREAM) as s:
            os._exit(is_sdp(s))
    rc = os.waitpid(pid, 0)[1]
    say("in another network namespace: TCP", rc == 0, rc)


for part in kinds, flags, limits, interrupted, threads, processes:
    part()
