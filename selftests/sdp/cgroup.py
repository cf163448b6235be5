# SPDX-License-Identifier: GPL-2.0
"""Programs of control groups, for cgroup.sh

cgroup.py serve PORT...: listen over TCP and SDP, and tell each client the port
cgroup.py ask ADDRESS PORT: connect over SDP or TCP until that succeeds
cgroup.py idle PORT [CGROUP]: from within that control group, listen over SDP, and keep each
	connection until the client ends it
cgroup.py keep CGROUP ADDRESS PORT: from within that control group, connect over SDP without
	waiting, say so when that is done, and keep the connection
cgroup.py KIND CGROUP PORT: from within that control group, print one line for each case,
	which is the same for sockets of each KIND: tcp, door (IPPROTO_SDP), family (AF_SDP) or
	both (SDP, with the port of TCP as well), with a 6 after it for IPv6"""
import contextlib
import ctypes
import errno
import os
import select
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from bpf import Attached, insn, load  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
AF_SDP, IPPROTO_SDP, SOL_SDP, SDP_FALLBACK = 27, 257, 1027, 32
IP_BIND_ADDRESS_NO_PORT = 24
KIND = sys.argv[1]
V6 = KIND.endswith("6")
FAMILY = socket.AF_INET6 if V6 else socket.AF_INET
HERE, THERE = ("fd00::1", "fd00::2") if V6 else ("10.0.0.1", "10.0.0.2")
# types of programs, and where they are attached: for IPv4, and for IPv6
CGROUP_SOCK, CGROUP_SOCK_ADDR = 9, 18
SOCK_CREATE = (2, 2)
BIND = (8, 9)
CONNECT = (10, 11)
POST_BIND = (12, 13)
GETPEERNAME = (29, 30)
GETSOCKNAME = (31, 32)
# fields of struct bpf_sock_addr and struct bpf_sock
USER_PORT, SRC_PORT = 24, 44
REFUSE, ALLOW, ALLOW_ANY_PORT = 0, 1, 3


def make():
    kind = KIND.rstrip("6")
    if kind == "tcp":
        return socket.socket(FAMILY, socket.SOCK_STREAM)
    if kind in ("door", "both"):
        sock = socket.socket(FAMILY, socket.SOCK_STREAM, IPPROTO_SDP)
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, int(kind == "both"))
        return sock
    fd = LIBC.socket(AF_SDP, socket.SOCK_STREAM, int(V6))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "socket")
    return socket.socket(FAMILY, socket.SOCK_STREAM, IPPROTO_SDP, fileno=fd)


def verdict(ret):
    return insn(0xb7, 0, imm=ret) + insn(0x95)


def set_port(port):
    """Set another port in the address"""
    return insn(0xb7, 2, imm=socket.htons(port)) + insn(0x63, 1, 2, USER_PORT) + verdict(ALLOW)


def change_port(port, to):
    """The same for one port, not for the one below that a device connects to"""
    return insn(0x61, 2, 1, USER_PORT) + insn(0x55, 2, off=2, imm=socket.htons(port)) + set_port(to)


def refuse_port(port):
    """Refuse a port after bind()"""
    return (insn(0x61, 2, 1, SRC_PORT) + insn(0x55, 2, off=2, imm=port) +
            verdict(REFUSE) + verdict(ALLOW))


def attached(cgroup, code, where):
    kind = CGROUP_SOCK if where in (SOCK_CREATE, POST_BIND) else CGROUP_SOCK_ADDR
    return Attached(cgroup, load(kind, code, where[V6]), where[V6])


def attempt(call):
    """Its result, or the name of the error"""
    try:
        return call()
    except OSError as err:
        return errno.errorcode[err.errno]


def connect(port):
    """The port that the server names, and the peer's, as distances from @port"""
    with make() as sock:
        sock.settimeout(60)
        sock.connect((THERE, port))
        there = int(sock.recv(64)) - port
        return f"{there} {sock.getpeername()[1] - port}"


def bind(port):
    with make() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HERE, port))
        return sock.getsockname()[1] - port


def bind_again(port):
    """Another port, after one that was refused"""
    with make() as sock:
        first = attempt(lambda: sock.bind((HERE, port)))
        sock.bind((HERE, port + 1))
        return f"{first} {sock.getsockname()[1] - port}"


def bind_address():
    """An address, and no port until connect()"""
    with make() as sock:
        sock.setsockopt(socket.SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((HERE, 0))
        return sock.getsockname()[1]


def as_user(call):
    os.seteuid(1000)
    try:
        return attempt(call)
    finally:
        os.seteuid(0)


def accept(port):
    """The name of the peer of a connection that came in"""
    with make() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HERE, port))
        sock.listen(8)
        print("listening", flush=True)
        sock.settimeout(60)
        with sock.accept()[0] as child:
            return child.getpeername()[1]


def cases(cgroup, port):
    def with_program(where, code, call, *args):
        with attached(cgroup, code, where):
            return attempt(lambda: call(*args))

    yield "connect", connect(port)
    yield "connect refused", with_program(CONNECT, verdict(REFUSE), connect, port)
    yield "connect elsewhere", with_program(CONNECT, change_port(port, port + 1), connect, port)
    yield "name of the peer", with_program(GETPEERNAME, change_port(port, port + 5), connect, port)
    yield "own name", with_program(GETSOCKNAME, change_port(port, port + 5), bind, port)
    yield "bind", bind(port)
    yield "bind refused", with_program(BIND, verdict(REFUSE), bind, port)
    yield "bind elsewhere", with_program(BIND, change_port(port, port + 3), bind, port)
    yield "port of root", as_user(lambda: bind(80))
    with attached(cgroup, verdict(ALLOW_ANY_PORT), BIND):
        yield "port of root allowed", as_user(lambda: bind(80))
    yield "refused afterwards", with_program(POST_BIND, refuse_port(port), bind_again, port)
    yield "free again", bind(port)
    yield "address alone", with_program(POST_BIND, verdict(REFUSE), bind_address)
    yield "no socket", with_program(SOCK_CREATE, verdict(REFUSE), make)
    yield "child", with_program(GETPEERNAME, set_port(4711), accept, port)


def listen(port, protocol):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("::", port))
    sock.listen(8)
    return sock


def serve(ports):
    """TCP at the first half of the ports, SDP at the others"""
    half = len(ports) // 2
    socks = [listen(port, 0 if i < half else IPPROTO_SDP) for i, port in enumerate(ports)]
    print("serving", flush=True)
    while True:
        for sock in select.select(socks, [], [])[0]:
            with sock.accept()[0] as child:
                child.sendall(b"%d" % sock.getsockname()[1])


def ask(address, port):
    while True:
        for protocol in (0, IPPROTO_SDP):
            with contextlib.suppress(OSError):
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                with socket.socket(family, socket.SOCK_STREAM, protocol) as sock:
                    sock.settimeout(5)
                    sock.connect((address, port))
                    sock.recv(1)
                    return
        time.sleep(0.1)


def join(cgroup):
    with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


def keep(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SDP) as sock:
        sock.setblocking(False)
        print("began", errno.errorcode[sock.connect_ex((address, port))])
        select.select([], [sock], [], 60)
        print("result", sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), flush=True)
        time.sleep(1000)


def main():
    if KIND == "serve":
        serve([int(port) for port in sys.argv[2:]])
    if KIND == "idle":
        for cgroup in sys.argv[3:]:
            join(cgroup)
        with listen(int(sys.argv[2]), IPPROTO_SDP) as sock:
            print("serving", flush=True)
            while True:
                with sock.accept()[0] as child:
                    child.recv(1)
    if KIND == "keep":
        join(sys.argv[2])
        keep(sys.argv[3], int(sys.argv[4]))
    if KIND == "ask":
        return ask(sys.argv[2], int(sys.argv[3]))
    cgroup, port = sys.argv[2], int(sys.argv[3])
    join(cgroup)
    for name, got in cases(cgroup, port):
        print(f"{name}: {got}", flush=True)


main()
