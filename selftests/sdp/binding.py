#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""binding.py PORT PREFIX: which address and which device a socket is bound to.
binding.py PORT --killed bind|connect: look for a port where none is free, as "walker"

Prints "CASE: RESULT" for each case whose name begins with PREFIX, at ports from PORT on. A
PREFIX that begins with "both" selects from the cases of sockets of SDP and TCP at once, any
other one, also an empty one, from the rest. Listeners are in the namespace b, clients in a,
which are connected by va - vb and by wa - wb."""
import contextlib
import ctypes
import errno
import itertools
import os
import re
import select
import socket
import struct
import subprocess
import sys

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
IP_FREEBIND, IP_BIND_ADDRESS_NO_PORT = 15, 24
SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY = 1027, 32, 2
PATIENCE = 60 if os.path.exists("/proc/lockdep") else 15   # seconds
LIBC = ctypes.CDLL(None, use_errno=True)
PORTS = itertools.count(int(sys.argv[1]))
LOW_PORTS = itertools.count(900)
CASES = []
BOTH = []       # of sockets that listen for SDP and TCP


def enter(netns):
    """Sockets belong to the namespace that they are made in"""
    with open("/run/netns/" + netns, encoding="ascii") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def linklocal(netns, dev):
    """The address, and the device as a scope"""
    text = subprocess.run(["ip", "-n", netns, "-6", "addr", "show", "dev", dev, "scope",
                           "link"], check=True, capture_output=True, text=True).stdout
    addr = re.search(r"inet6 (fe80:[^/]*)/", text).group(1)
    return addr, int(re.match(r"\d+", text).group())


def new(netns, family, dev=None, v6only=None, patience=PATIENCE):
    enter(netns)
    sock = socket.socket(family)
    sock.settimeout(patience)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if dev:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, dev.encode())
    if v6only is not None:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
    return sock


def full(addr, port, scope=0):
    return (addr, port, 0, scope) if ":" in addr else (addr, port)


def family_of(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def loopback(addr):
    return addr in ("127.0.0.1", "::1")


def listener(addr, port, scope=0, **options):
    sock = new("b", family_of(addr), **options)
    sock.bind(full(addr, port, scope))
    sock.listen(5)
    return sock


def client(addr, port, scope=0, local=None, netns="a", **options):
    sock = new(netns, family_of(addr), **options)
    if local:
        sock.bind(local)
    sock.connect(full(addr, port, scope))
    return sock


def name(told):
    """The address and the scope, without the port, which varies"""
    return "%".join(str(n) for n in told[:1] + told[3:])


def names(sock):
    return name(sock.getsockname()) + " - " + name(sock.getpeername())


def bound(sock):
    """The value of SO_BINDTODEVICE"""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).strip(
        b"\0").decode() or "any"


def exchange(lsn, sock):
    """Names and devices of both ends; data go to and fro"""
    conn, peer = lsn.accept()
    conn.settimeout(PATIENCE)
    sock.sendall(b"to")
    conn.sendall(conn.recv(2) + b"fro")
    data = sock.recv(5, socket.MSG_WAITALL)
    if peer != conn.getpeername() or data != b"tofro":
        raise OSError(errno.EPROTO, "wrong")
    return f"{names(sock)} by {bound(sock)}, {names(conn)} by {bound(conn)}"


def case(func):
    CASES.append(func)
    return func


def reach(to, listen=("::",), scope=0, client_options=None, **options):
    """Listen at an address and a scope, connect to one"""
    port = next(PORTS)
    lsn = listener(listen[0], port, *listen[1:], **options)
    sock = client(to, port, scope, **(client_options or {}))
    return exchange(lsn, sock)


# ---- link-local addresses

@case
def linklocal_both():
    """Both ends name the device"""
    return reach(VB, (VB, VB_IF), VA_IF)


@case
def linklocal_wildcard():
    """The listener names nothing: the connection has the device all the same"""
    return reach(VB, ("::",), VA_IF)


@case
def linklocal_second():
    """By the other device"""
    return reach(WB, ("::",), WA_IF)


@case
def linklocal_names_of_listener():
    return name(listener(VB, next(PORTS), VB_IF).getsockname())


@case
def linklocal_device():
    """The option stands for the scope"""
    return reach(VB, (VB, 0), 0, {"dev": "va"}, dev="vb")


@case
def linklocal_bound_client():
    return reach(VB, ("::",), VA_IF, {"local": full(VA, 0, VA_IF)})


@case
def linklocal_bind_and_no_scope():
    """The scope of bind() is there for connect()"""
    return reach(VB, ("::",), 0, {"local": full(VA, 0, VA_IF)})


@case
def linklocal_bind_no_scope():
    return reach(VB, (VB, 0), VA_IF)


@case
def linklocal_bind_wrong_scope():
    return reach(VB, (VB, WB_IF), VA_IF)


@case
def linklocal_bind_no_such_scope():
    return reach(VB, (VB, 4711), VA_IF)


@case
def linklocal_connect_no_scope():
    return reach(VB, ("::",), 0)


@case
def linklocal_connect_not_the_device():
    return reach(VB, ("::",), VA_IF, {"dev": "wa"})


@case
def linklocal_bind_not_the_device():
    """SO_BINDTODEVICE, and another one as the scope"""
    return reach(VB, (VB, VB_IF), VA_IF, dev="wb")


@case
def linklocal_bind_again():
    """An address and a scope that come too late change nothing"""
    sock = new("b", socket.AF_INET6)
    sock.bind(full("::", next(PORTS)))
    told = []
    for addr, scope in (VB, VB_IF), (VB, 4711), ("2001:db8::1", 0):
        try:
            sock.bind(full(addr, next(PORTS), scope))
        except OSError as err:
            told.append(errno.errorcode[err.errno])
    return ", ".join(told + [bound(sock)])


@case
def linklocal_disconnected():
    """connect() to no family ends what the scope did"""
    port = next(PORTS)
    lsn = listener("::", port)
    sock = client(VB, port, VA_IF)
    exchange(lsn, sock)
    LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
    before = bound(sock)
    sock.connect(full("fd00::2", port))
    return before + ", " + exchange(lsn, sock)


@case
def wildcard_disconnected():
    """The port stays, the address of the connection does not: another one has its own"""
    port, own = next(PORTS), next(PORTS)
    lsn = listener("0.0.0.0", port)
    sock = client("10.0.0.2", port, local=("0.0.0.0", own))
    told = [exchange(lsn, sock)]
    LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
    told.append(name(sock.getsockname()))
    sock.connect(("10.0.1.2", port))
    told.append(exchange(lsn, sock))
    if sock.getsockname()[1] != own:
        raise OSError(errno.EPROTO, "wrong")
    return ", ".join(told)


@case
def wildcard_refused():
    """The same when the first attempt fails, of a socket of IPv6"""
    port, own = next(PORTS), next(PORTS)
    sock = new("a", socket.AF_INET6, patience=None)
    sock.bind(("::", own))
    told = [errno.errorcode[sock.connect_ex(("::ffff:10.0.0.2", port))],
            name(sock.getsockname())]
    lsn = listener("::", port)
    sock.connect(("::ffff:10.0.1.2", port))
    told.append(exchange(lsn, sock))
    return ", ".join(told)


@case
def address_disconnected():
    """An address that bind() gave stays"""
    port, own = next(PORTS), next(PORTS)
    lsn = listener("0.0.0.0", port)
    sock = client("10.0.0.2", port, local=("10.0.0.1", own))
    exchange(lsn, sock)
    LIBC.connect(sock.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
    return name(sock.getsockname())


@case
def scope_of_global():
    """Means nothing"""
    return reach("fd00::2", ("fd00::2", VB_IF), VA_IF)


# ---- V6ONLY

@case
def v6only():
    return reach("fd00::2", v6only=1)


@case
def v6only_refuses_v4():
    return reach("10.0.0.2", v6only=1)


@case
def v6only_refuses_mapped():
    return reach("::ffff:10.0.0.2", v6only=1)


@case
def v6only_bind_mapped():
    return reach("10.0.0.2", ("::ffff:10.0.0.2",), v6only=1)


@case
def v6only_connect_mapped():
    return reach("::ffff:10.0.0.2", client_options={"v6only": 1}, v6only=0)


@case
def dual_v4():
    return reach("10.0.0.2", v6only=0)


@case
def dual_v6():
    return reach("fd00::2", v6only=0)


@case
def dual_mapped():
    """Both ends have an IPv6 socket"""
    return reach("::ffff:10.0.0.2", v6only=0)


@case
def mapped_listener():
    return reach("10.0.0.2", ("::ffff:10.0.0.2",), v6only=0)


@case
def v4_listener_mapped_client():
    return reach("::ffff:10.0.0.2", ("0.0.0.0",))


def side_by_side(**options):
    """A listener for each family at one port"""
    port = next(PORTS)
    six = listener("::", port, **options)
    four = listener("0.0.0.0", port)
    return exchange(four, client("10.0.0.2", port)) + "; " + \
        exchange(six, client("fd00::2", port))


@case
def v6only_beside_v4():
    return side_by_side(v6only=1)


@case
def dual_beside_v4():
    return side_by_side(v6only=0)


# ---- SO_BINDTODEVICE

@case
def device_listener():
    return reach("10.0.0.2", ("0.0.0.0",), dev="vb")


@case
def device_listener_address():
    return reach("10.0.0.2", ("10.0.0.2",), dev="vb")


@case
def device_listener_v6():
    return reach("fd00::2", dev="vb")


@case
def device_listener_dual():
    return reach("10.0.0.2", dev="vb", v6only=0)


@case
def device_listener_other():
    """Requests through another device are refused"""
    return reach("10.0.0.2", ("0.0.0.0",), dev="wb")


@case
def device_listener_other_v6():
    return reach("fd00::2", dev="wb")


@case
def device_listener_other_dual():
    return reach("10.0.0.2", dev="wb", v6only=0)


@case
def device_listener_other_linklocal():
    return reach(VB, ("::",), VA_IF, dev="wb")


@case
def device_listener_second():
    return reach("10.0.1.2", ("0.0.0.0",), dev="wb")


@case
def device_client():
    return reach("10.0.0.2", ("0.0.0.0",), 0, {"dev": "va"})


@case
def device_client_v6():
    return reach("fd00::2", client_options={"dev": "va"})


@case
def device_client_other_v6():
    """No way there by that device"""
    return reach("fd00::2", client_options={"dev": "wa"})


@case
def device_client_other():
    return reach("10.0.0.2", ("0.0.0.0",), 0, {"dev": "wa"})


@case
def device_client_dead_end():
    """A device without a peer that answers; only SDP may know that at once"""
    try:
        return reach("10.0.0.2", ("0.0.0.0",), 0, {"dev": "da", "patience": 1})
    except socket.timeout:
        return "no connection"
    except OSError as err:
        if err.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            raise
        return "no connection"


@case
def device_both():
    """A listener for each device at one port"""
    port = next(PORTS)
    first = listener("10.0.0.2", port, dev="vb")
    second = listener("10.0.1.2", port, dev="wb")
    return exchange(first, client("10.0.0.2", port)) + "; " + \
        exchange(second, client("10.0.1.2", port))


@case
def device_both_any():
    """The same at the wildcard address"""
    port = next(PORTS)
    first = listener("0.0.0.0", port, dev="vb")
    second = listener("0.0.0.0", port, dev="wb")
    return exchange(first, client("10.0.0.2", port)) + "; " + \
        exchange(second, client("10.0.1.2", port))


@case
def device_both_any_v6():
    port = next(PORTS)
    first = listener("::", port, dev="vb")
    second = listener("::", port, dev="wb")
    return exchange(first, client("fd00::2", port)) + "; " + \
        exchange(second, client("10.0.1.2", port))


@case
def device_one_of_both():
    """When one has ended, its device refuses, and the other goes on"""
    port = next(PORTS)
    first = listener("0.0.0.0", port, dev="vb")
    second = listener("0.0.0.0", port, dev="wb")
    first.close()
    sock = new("a", socket.AF_INET)
    told = errno.errorcode[sock.connect_ex(("10.0.0.2", port))]
    return f"{told}, " + exchange(second, client("10.0.1.2", port))


@case
def device_twice():
    port = next(PORTS)
    lsn = listener("10.0.0.2", port, dev="vb")
    listener("10.0.0.2", port, dev="vb")
    return exchange(lsn, client("10.0.0.2", port))


@case
def device_taken_back():
    """The option is taken back before it matters"""
    port = next(PORTS)
    lsn = listener("0.0.0.0", port)
    sock = new("a", socket.AF_INET, dev="wa")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"")
    sock.connect(("10.0.0.2", port))
    return exchange(lsn, sock)


# ---- ports that the kernel chooses

FEW = range(40000, 40100)
FREE, RESERVED = FEW[37], FEW[60]


@contextlib.contextmanager
def few_ports(netns, addr, free):
    """In the range FEW the ports @free are free, RESERVED is reserved, and TCP has the others"""
    enter(netns)
    path = "/proc/sys/net/ipv4/ip_local_"
    with open(path + "port_range", encoding="ascii") as file:
        before = file.read()
    for name_of, value in (("port_range", f"{FEW[0]} {FEW[-1]}"),
                           ("reserved_ports", str(RESERVED))):
        with open(path + name_of, "w", encoding="ascii") as file:
            file.write(value)
    with contextlib.ExitStack() as stack:
        for port in set(FEW) - free:
            sock = stack.enter_context(socket.socket(family_of(addr)))
            # TCP under sdp-run as well
            with contextlib.suppress(OSError):
                sock.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
            sock.bind(full(addr, port))
            sock.listen()
        yield
    enter(netns)
    for name_of, value in (("port_range", before), ("reserved_ports", "")):
        with open(path + name_of, "w", encoding="ascii") as file:
            file.write(value)


def one_port(netns, addr):
    return few_ports(netns, addr, {FREE, RESERVED})


def ports_of(call):
    """Two calls in turn: the first finds the free port, the second none"""
    socks = []
    for _ in range(2):
        try:
            socks.append(call())
        except OSError as err:
            return f"{[sock.getsockname()[1] for sock in socks]} {errno.errorcode[err.errno]}"
    return str([sock.getsockname()[1] for sock in socks])


def any_port(addr):
    with one_port("b", addr):
        return ports_of(lambda: listener(addr, 0))


def port_to_connect(addr, local):
    port = next(PORTS)
    lsn = listener(addr, port)
    with one_port("a", local):
        told = ports_of(lambda: client(addr, port))
    lsn.close()
    # iwarp_hybrid may take another one than the program sees
    return re.sub(r"\d+", lambda port: "a port" if int(port.group()) != RESERVED else
                  "reserved", told)


@case
def port_bind():
    return any_port("10.0.0.2")


@case
def port_bind_v6():
    return any_port("fd00::2")


@case
def port_bind_any():
    return any_port("0.0.0.0")


@case
def port_connect():
    return port_to_connect("10.0.0.2", "10.0.0.1")


@case
def port_connect_v6():
    return port_to_connect("fd00::2", "fd00::1")


# ---- ports that want a privilege

@contextlib.contextmanager
def unprivileged():
    os.seteuid(1000)
    try:
        yield
    finally:
        os.seteuid(0)


def privileged_below(netns, port):
    enter(netns)
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w", encoding="ascii") as file:
        file.write(port)


@contextlib.contextmanager
def no_port_wants_it(netns):
    privileged_below(netns, "0")
    try:
        yield
    finally:
        privileged_below(netns, "1024")


def low_port(lsn, addr="10.0.0.1", netns="a"):
    """bind() has the privilege, connect() does not"""
    own = next(LOW_PORTS)
    sock = new(netns, family_of(addr))
    sock.bind((addr, own))
    with unprivileged():
        sock.connect(lsn.getsockname()[:2])
    return exchange(lsn, sock) + f" {sock.getsockname()[1] == own}"


@case
def port_connect_after_privilege():
    return low_port(listener("10.0.0.2", next(PORTS)))


@case
def port_connect_after_privilege_v6():
    return low_port(listener("fd00::2", next(PORTS)), "fd00::1")


def answer(call):
    """The result of the call in a child process"""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, call().encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="ascii") as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


def from_user_namespace(lsn):
    """The program keeps its port, and the privilege is for that alone"""
    sock, other = new("a", socket.AF_INET), new("a", socket.AF_INET)
    sock.bind(("10.0.0.1", next(LOW_PORTS)))
    if LIBC.unshare(CLONE_NEWUSER):
        return "no user namespace"
    return tried(sock.connect, lsn.getsockname()) + ", " + \
        tried(other.bind, ("10.0.0.1", next(LOW_PORTS)))


@case
def port_connect_from_user_namespace():
    """Its capabilities are none for the network namespace"""
    lsn = listener("10.0.0.2", next(PORTS))
    return answer(lambda: from_user_namespace(lsn))


@case
def port_listen_after_privilege():
    own = next(LOW_PORTS)
    sock = new("b", socket.AF_INET)
    sock.bind(("10.0.0.2", own))
    with unprivileged():
        sock.listen(5)
    return exchange(sock, client("10.0.0.2", own))


@case
def port_without_privilege():
    """None is wanted, at both ends"""
    own, at = next(LOW_PORTS), next(LOW_PORTS)
    lsn, sock = new("b", socket.AF_INET), new("a", socket.AF_INET)
    with no_port_wants_it("a"), no_port_wants_it("b"):
        with unprivileged():
            lsn.bind(("10.0.0.2", at))
            lsn.listen(5)
            sock.bind(("10.0.0.1", own))
            sock.connect(("10.0.0.2", at))
    return exchange(lsn, sock) + f" {sock.getsockname()[1] == own}"


@case
def port_refused_without_privilege():
    """Where one is wanted, also if another socket has that port"""
    addr = "10.0.0.2", next(LOW_PORTS)
    first, sock = new("b", socket.AF_INET), new("b", socket.AF_INET)
    first.bind(addr)
    with unprivileged():
        return tried(sock.bind, addr)


# ---- sockets of SDP and TCP at once

def both(func):
    BOTH.append(func)
    return func


def tried(function, *args, **options):
    try:
        function(*args, **options)
    except OSError as err:
        return errno.errorcode[err.errno]
    return "ok"


def plain_tcp(netns, family=socket.AF_INET):
    """A socket of TCP, also of a program under sdp-run"""
    enter(netns)
    sock = socket.socket(family)
    with contextlib.suppress(OSError):
        sock.setsockopt(SOL_SDP, SDP_FALLBACK, FALLBACK_ONLY)
    return sock


def another_takes(own, at, theirs):
    """Another program tries the port of a socket that is bound and does not listen yet"""
    enter("b")
    sock = socket.socket(family_of(own))
    sock.bind((own, at))
    taken = sock.getsockname()[1]
    told = tried(plain_tcp("b", family_of(theirs)).bind, (theirs, taken))
    sock.listen(5)
    return f"{told}, " + exchange(sock, client("10.0.0.2", taken))


@both
def both_bind_holds_the_port():
    return another_takes("10.0.0.2", next(PORTS), "10.0.0.2")


@both
def both_bind_holds_a_port_of_the_kernel():
    return another_takes("10.0.0.2", 0, "0.0.0.0")


@both
def both_bind_holds_the_port_at_any_address():
    return another_takes("::", next(PORTS), "10.0.0.2")


@both
def both_port_of_another():
    """bind() fails, not listen()"""
    port = next(PORTS)
    plain_tcp("b").bind(("10.0.0.2", port))
    return tried(new("b", socket.AF_INET).bind, ("10.0.0.2", port))


@both
def both_port_goes_with_the_socket():
    port = next(PORTS)
    enter("b")
    with socket.socket() as sock:
        sock.bind(("10.0.0.2", port))
    return tried(plain_tcp("b").bind, ("10.0.0.2", port))


def accepted(group, sock):
    """One socket of the group has the connection of this client, and data go to and fro"""
    ready = select.select(group, [], [], PATIENCE)[0]
    return exchange(ready[0], sock) if len(ready) == 1 else f"{len(ready)} have it"


def reuseport(addr, *to, **options):
    """The second worker of a program, that binds beside the first; clients reach them"""
    port = next(PORTS)
    group = []
    for _ in range(2):
        sock = new("b", family_of(addr), **options)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        group.append(sock)
    told = [tried(sock.bind, (addr, port)) for sock in group]
    told += [tried(sock.listen, 5) for sock in group]
    # the loopback device of each namespace is its own
    told += [accepted(group, client(peer, port, netns="b" if loopback(peer) else "a"))
             for peer in to]
    return f"{told}"


@both
def both_reuseport():
    return reuseport("0.0.0.0", "10.0.0.2")


@both
def both_reuseport_dual():
    return reuseport("::", "fd00::2", "10.0.0.2", v6only=0)


@both
def both_reuseport_loopback():
    """No RDMA device has the address"""
    return reuseport("127.0.0.1", "127.0.0.1")


@both
def both_reuseport_loopback_dual():
    return reuseport("::", "::1", "127.0.0.1", v6only=0)


@both
def both_v6only_behind_v4():
    """As redis-server does by default"""
    port = next(PORTS)
    four = listener("0.0.0.0", port)
    six = listener("::", port, v6only=1)
    return exchange(four, client("10.0.0.2", port)) + "; " + \
        exchange(six, client("fd00::2", port))


@both
def both_v4_behind_v6only():
    return side_by_side(v6only=1)


@both
def both_v4_behind_dual():
    return side_by_side(v6only=0)


def devices(*ends, addr="0.0.0.0", **options):
    """A listener for each device at one port, and a client of each"""
    port = next(PORTS)
    group = [listener(addr, port, dev=dev, **options) for dev, _ in ends]
    return "; ".join(
        exchange(lsn, client(peer, port, netns="b" if loopback(peer) else "a"))
        for lsn, (_, peer) in zip(group, ends))


@both
def both_devices():
    return devices(("vb", "10.0.0.2"), ("wb", "10.0.1.2"))


@both
def both_devices_dual():
    return devices(("vb", "fd00::2"), ("wb", "10.0.1.2"), addr="::", v6only=0)


@both
def both_devices_loopback():
    return devices(("vb", "10.0.0.2"), ("lo", "127.0.0.1"))


@both
def both_freebind():
    """No device has the address, so the socket is one of TCP"""
    port = next(PORTS)
    sock = new("b", socket.AF_INET)
    sock.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    return f"{tried(sock.bind, ('10.0.0.77', port))} {tried(sock.listen, 5)}"


@both
def both_connect_from_a_port():
    """The device needs the port that bind() has held"""
    port, own = next(PORTS), next(PORTS)
    lsn = listener("10.0.0.2", port)
    sock = client("10.0.0.2", port, local=("10.0.0.1", own))
    return exchange(lsn, sock) + f" {sock.getsockname()[1] == own}"


@both
def both_connect_after_privilege():
    return low_port(listener("10.0.0.2", next(PORTS)))


def tcp_server(addr, netns="b"):
    lsn = plain_tcp(netns)
    lsn.bind((addr, next(PORTS)))
    lsn.listen(20)
    return lsn


@both
def both_connect_to_tcp_after_privilege():
    """SDP is refused"""
    return low_port(tcp_server("10.0.0.2"))


@both
def both_connect_by_tcp_after_privilege():
    """No RDMA device has the address"""
    return low_port(tcp_server("127.0.0.1", "a"), "127.0.0.1")


@both
def both_no_port_to_a_server_of_tcp():
    """Half of the ports are TCP's already, which the RDMA CM does not know"""
    told = []
    lsn = tcp_server("10.0.0.2")
    with few_ports("a", "10.0.0.1", set(FEW[::2])):
        for _ in range(20):
            with new("a", socket.AF_INET) as sock:
                sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
                sock.bind(("10.0.0.1", 0))
                told.append(tried(sock.connect, lsn.getsockname()))
    return ", ".join(f"{told.count(what)} {what}" for what in sorted(set(told)))


@both
def both_refused_from_a_port():
    """Neither SDP nor TCP answers, and the port is the socket's at the next attempt"""
    port, own = next(PORTS), next(PORTS)
    sock = new("a", socket.AF_INET)
    sock.bind(("10.0.0.1", own))
    told = errno.errorcode[sock.connect_ex(("10.0.0.2", port))]
    lsn = listener("10.0.0.2", port)
    sock.connect(("10.0.0.2", port))
    return f"{told} {exchange(lsn, sock)} {sock.getsockname()[1] == own}"


PR_SET_NAME = 15
KILLED = {
    "bind": ("b", "10.0.0.2", lambda: listener("10.0.0.2", 0)),
    "connect": ("a", "10.0.0.1", lambda: client("10.0.0.2", next(PORTS), patience=None)),
}


def killed(what):
    """Look for a port until the caller kills this process"""
    netns, addr, call = KILLED[what]
    with few_ports(netns, addr, set()):
        LIBC.prctl(PR_SET_NAME, b"walker")
        call()


def result(func):
    try:
        return func()
    except OSError as err:
        return errno.errorcode.get(err.errno, str(err))


if sys.argv[2] == "--killed":
    killed(sys.argv[3])
    sys.exit()
VA, VA_IF = linklocal("a", "va")
WA, WA_IF = linklocal("a", "wa")
VB, VB_IF = linklocal("b", "vb")
WB, WB_IF = linklocal("b", "wb")
for function in BOTH if sys.argv[2].startswith("both") else CASES:
    if not function.__name__.startswith("".join(sys.argv[2:])):
        continue
    print(f"{function.__name__}: {result(function)}", flush=True)
