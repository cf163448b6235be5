#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each action of a program and its effect on the counters of its namespace, both
ends of the connections being in it. Runs under sdp-run; TAP.

    counters.py ADDRESS credit|transport
"""
import json
import select
import socket
import struct
import subprocess
import sys
import threading
import time

SOL_SDP, SDP_ZCOPY = 1027, 6
TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL = 3, 4, 5
WAIT = 20  # seconds until a counter may show what has happened
count = failed = 0


def result(what, good, *details):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, what))
    if not good:
        for line in details:
            print("# %s" % (line,))
    sys.stdout.flush()


def counters():
    out = subprocess.run(["sdpstat", "-s", "-z"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {f[0]: int(f[1]) for f in map(str.split, out.splitlines())
            if len(f) >= 2 and f[1].lstrip("-").isdigit()}


class Expect:
    """The counters that are named rise by so much in the block, those whose number has a
    plus by at least that; other counters are not checked."""

    def __init__(self, what, **deltas):
        self.what, self.deltas = what, deltas

    def __enter__(self):
        self.before = counters()
        missing = [n for n in self.deltas if n not in self.before]
        if missing:
            raise SystemExit("no counters %s" % missing)
        return self

    def wrong(self):
        now = counters()
        found = {n: now[n] - self.before[n] for n in self.deltas}
        return ["%s: %d, wanted %s" % (n, found[n], want)
                for n, want in self.deltas.items()
                if (found[n] < int(want[:-1]) if isinstance(want, str)
                    else found[n] != want)]

    def __exit__(self, kind, value, trace):
        end = time.monotonic() + WAIT
        wrong = self.wrong()
        while wrong and time.monotonic() < end:
            time.sleep(0.1)
            wrong = self.wrong()
        result("%s: the counters are right" % self.what, not wrong, *wrong)


def listener(backlog=8):
    s = socket.socket()
    s.bind((sys.argv[1], 0))
    s.listen(backlog)
    return s


def pair():
    with listener() as s:
        c = socket.create_connection(s.getsockname())
        a = s.accept()[0]
    for end in c, a:
        end.settimeout(WAIT)
    return c, a


def wait_for(fd, events):
    p = select.poll()
    p.register(fd, events)
    return p.poll(WAIT * 1000)


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def get(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            break
        data += more
    return data


def destroy(state, port=0):
    """End the socket in that state, at that port, as the administrator can"""
    out = subprocess.run(["sdpstat", "-a", "--json"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    for s in json.loads(out)["sockets"]:
        if s["state"] == state and port in (0, s["local"]["port"]):
            subprocess.run(["sdpstat", "-K", s["cookie"]], check=True)


def connections():
    with Expect("connect and accept", active_opens=1, passive_opens=1, accepts=1,
                conn_reqs=1, curr_estab=2, attempt_fails=0, held_reqs=0):
        c, a = pair()
    with Expect("half close", discon_sent=1, discon_rcvd=1, curr_estab=0):
        c.shutdown(socket.SHUT_WR)
        wait_for(a, select.POLLRDHUP)
    with Expect("close of the other half", discon_sent=1, discon_rcvd=1, curr_estab=-2,
                estab_resets=0, aborts_sent=0, aborts_rcvd=0):
        a.close()
        c.close()
    with listener() as s:
        gone = s.getsockname()
    with Expect("connect, refused", active_opens=1, attempt_fails=1, curr_estab=0,
                estab_resets=0):
        try:
            socket.create_connection(gone)
        except ConnectionRefusedError:
            pass
    # neither a route nor a device: connect() itself fails
    with Expect("connect, which fails at once", active_opens=2, attempt_fails=2, curr_estab=0,
                estab_resets=0):
        for address in "192.0.2.1", "127.0.0.1":
            with socket.socket() as s:
                s.connect_ex((address, 1))
    with socket.socket() as s:
        s.setblocking(False)
        with Expect("connect, ended from outside", active_opens=1, attempt_fails=1,
                    estab_resets=0):
            s.connect_ex(("10.0.0.77", 1))
            destroy("SYN-SENT")
    c, a = pair()
    with Expect("a connection, ended from outside", aborts_sent=1, estab_resets=2,
                curr_estab=-2, attempt_fails=0):
        destroy("ESTAB", c.getsockname()[1])
    c.close()
    a.close()
    c, a = pair()
    with Expect("abort", aborts_sent=1, estab_resets=1, curr_estab=-2, discon_sent=0):
        reset(c)
        wait_for(a, select.POLLERR)
        a.close()


def backlog():
    with listener(0) as s:
        first = socket.create_connection(s.getsockname())
        wait_for(s, select.POLLIN)
        more = socket.socket()
        more.setblocking(False)
        with Expect("a request for a full backlog", active_opens=1, held_reqs=1, conn_reqs=1,
                    passive_opens=0, listen_drops=0):
            more.connect_ex(s.getsockname())
        with Expect("accept, which makes room for the held request", accepts=2, passive_opens=1,
                    active_opens=0, held_reqs=0):
            for _ in range(2):
                s.accept()[0].close()
        first.close()
        more.close()
    with listener(0) as s:
        first = socket.create_connection(s.getsockname())
        with Expect("a second full backlog", held_reqs=1, conn_reqs=1):
            more = socket.socket()
            more.setblocking(False)
            more.connect_ex(s.getsockname())
        with Expect("close of a listener with a held request", listen_drops=1, attempt_fails=1,
                    aborts_sent=1, estab_resets=1, curr_estab=-2):
            s.close()
    first.close()
    more.close()


def payload():
    c, a = pair()
    with Expect("1000 bytes", tx_bytes=1000, rx_bytes=1000, tx_copies=1,
                tx_copy_bytes=1000, rx_copies=1, rx_copy_bytes=1000,
                tx_data_msgs=1, rx_data_msgs=1, wakeups_rx="1+", tx_oob=0,
                tx_coalesced=0, tx_signalled="0+"):
        c.sendall(bytes(1000))
        wait_for(a, select.POLLIN)
        get(a, 1000)
    with Expect("an urgent byte", tx_oob=1, rx_oob=1, tx_bytes=1):
        c.send(b"!", socket.MSG_OOB)
        wait_for(a, select.POLLPRI)
        a.settimeout(None)
        a.recv(1, socket.MSG_OOB)
        a.settimeout(WAIT)
    with Expect("three sends, corked", tx_coalesced=2, tx_coalesced_bytes=20,
                tx_hdr_saved="32+", tx_data_msgs=1, tx_copies=3):
        c.setsockopt(socket.IPPROTO_TCP, TCP_CORK, 1)
        for _ in range(3):
            c.send(bytes(10))
        c.setsockopt(socket.IPPROTO_TCP, TCP_CORK, 0)
        get(a, 30)
    c.close()
    a.close()


def full():
    c, a = pair()
    c.setblocking(False)
    sent = 0
    with Expect("a full buffer", tx_sndbuf_full="1+", tx_faults=0,
                tx_no_credit="1+" if CREDIT else 0, rx_pauses=0 if CREDIT else "1+"):
        for _ in range(10):
            try:
                while True:
                    sent += c.send(bytes(65536))
            except BlockingIOError:
                time.sleep(0.05)
    with Expect("a read of all, which wakes the writer", rx_copy_bytes=sent, wakeups_tx="1+",
                tx_bytes="0+"):
        wait = threading.Thread(target=wait_for, args=(c, select.POLLOUT))
        wait.start()
        get(a, sent)
        wait.join()
    c.close()
    a.close()


def credits():
    c, a = pair()
    with Expect("20 small messages share a buffer", rx_merged="10+",
                rx_merged_bytes="100+", rx_data_msgs="10+", rx_no_mem=0):
        for _ in range(20):
            c.send(bytes(10))
            time.sleep(0.01)
    get(a, 200)
    with Expect("a long stream one way", tx_credit_updates="1+",
                rx_credit_updates="1+", tx_ctl="1+", rx_reposted="1+",
                transport_errors=0):
        reader = threading.Thread(target=get, args=(a, 4 << 20))
        reader.start()
        c.sendall(bytes(4 << 20))
        reader.join()
    c.close()
    a.close()


def zero_copy():
    size = 1 << 20
    c, a = pair()
    for s in c, a:
        s.settimeout(None)
        s.setsockopt(SOL_SDP, SDP_ZCOPY, 65536)
    data = bytes(size)
    with Expect("1 MB without copies", tx_zcopy_bytes="1+", rx_zcopy_bytes="1+",
                zcopy_no_device=0, zcopy_no_mem=0, tx_zcopy_cancels=0):
        reader = threading.Thread(target=a.recv_into,
                                  args=(bytearray(size), size, socket.MSG_WAITALL))
        reader.start()
        c.sendall(data)
        reader.join()
    a.setsockopt(SOL_SDP, SDP_ZCOPY, 0)
    with Expect("a reader without zero copy", tx_srcavail=1, tx_zcopy_cancels=0,
                rx_zcopy_cancels=0):
        writer = threading.Thread(target=c.sendall, args=(data,))
        writer.start()
        get(a, size)
        writer.join()
    c.close()
    a.close()


def keepalive():
    c, a = pair()
    with Expect("a quiet connection is probed", keepalives="1+", timeouts=0):
        c.setsockopt(socket.IPPROTO_TCP, TCP_KEEPIDLE, 1)
        c.setsockopt(socket.IPPROTO_TCP, TCP_KEEPINTVL, 1)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    c.close()
    a.close()


CREDIT = sys.argv[2] == "credit"
print("TAP version 13")
connections()
backlog()
payload()
full()
keepalive()
if CREDIT:
    credits()
    zero_copy()
print("1..%d" % count)
sys.exit(failed > 0)
