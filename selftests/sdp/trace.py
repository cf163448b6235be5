#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The events sdp:* of sockets, both ends of the connections being in this process. Runs
under sdp-run; TAP.

    trace.py credit|transport
"""
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time

TRACING = "/sys/kernel/tracing"
SO_COOKIE = 57
SOL_SDP, SDP_ZCOPY, SDP_FALLBACK = 1027, 6, 32
WAIT = 20  # seconds
V4, V6 = "10.0.0.1", "fd00::1"
# The fields of each event that name the socket
SOCK = ["sock_cookie", "family", "sport", "dport", "saddr", "daddr", "saddrv6", "daddrv6"]
count = failed = 0


def result(what, got, wanted):
    global count, failed
    good = got == wanted
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, what))
    if not good:
        print("# got:    %s\n# wanted: %s" % (got, wanted))
    sys.stdout.flush()


def tracing(name, value):
    with open(os.path.join(TRACING, name), "w") as f:
        f.write(value)


def events():
    """All that are in the buffer: (event, its fields in order)"""
    with open(os.path.join(TRACING, "trace")) as f:
        lines = re.findall(r" (sdp_\w+): (.*)", f.read())
    return [(name, dict(re.findall(r"(\w+)=(\S*)", rest))) for name, rest in lines]


def story(cookie, name):
    """The events of that name that a socket has had"""
    return [e for n, e in events() if n == name and e.get("sock_cookie") == cookie]


def states(cookie):
    found = story(cookie, "sdp_state")
    return [e["oldstate"] for e in found[:1]] + [e["newstate"] for e in found]


def messages(cookie, way):
    """Those with payload, or that end the stream: name, flags but for that of the mode of
    zero copy, bytes"""
    return [(m["mid"], re.sub(r"\|?REQ_PIPE", "", m["flags"]), int(m["payload"]))
            for m in story(cookie, "sdp_msg_" + way)
            if int(m["payload"]) or m["mid"] == "DisConn"]


def wait_until(done):
    end = time.monotonic() + WAIT
    while not done() and time.monotonic() < end:
        time.sleep(0.05)


def closed(*cookies):
    wait_until(lambda: all(states(c)[-1:] == ["TCP_CLOSE"] and story(c, "sdp_down")
                           for c in cookies))


def cookie_of(s):
    return "%x" % struct.unpack("Q", s.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))


def listener(address=V4):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.bind((address, 0))
    s.listen(8)
    return s


def pair(address=V4):
    with listener(address) as s:
        c = socket.create_connection(s.getsockname()[:2])
        a = s.accept()[0]
    for end in c, a:
        end.settimeout(WAIT)
    return c, a


def ends(c):
    """Addresses and ports of a socket, as its events show them"""
    (saddr, sport), (daddr, dport) = c.getsockname()[:2], c.getpeername()[:2]
    if ":" in saddr:
        return ["AF_INET6", str(sport), str(dport), "0.0.0.0", "0.0.0.0", saddr, daddr]
    return ["AF_INET", str(sport), str(dport), saddr, daddr, "::ffff:" + saddr,
            "::ffff:" + daddr]


def get(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            break
        data += more
    return len(data)


def shown(c):
    """The cookie that sdpstat shows for a connection"""
    out = subprocess.run(["sdpstat", "--json"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return [s["cookie"] for s in json.loads(out)["sockets"]
            if s["local"]["port"] == c.getsockname()[1]
            and s["peer"]["port"] == c.getpeername()[1]]


def zero_copy(c, a):
    size = 1 << 20
    for s in c, a:
        s.settimeout(None)
        s.setsockopt(SOL_SDP, SDP_ZCOPY, 65536)
    writer = threading.Thread(target=c.sendall, args=(bytes(size),))
    writer.start()
    wait_until(lambda: "SrcAvail" in [m["mid"] for m in story(cookie_of(c), "sdp_msg_tx")])
    a.recv_into(bytearray(size), size, socket.MSG_WAITALL)
    writer.join()


def life():
    """connect, send, receive, zero copy, close"""
    s = listener()
    c = socket.create_connection(s.getsockname())
    a = s.accept()[0]
    name = {cookie_of(c): ends(c), cookie_of(a): ends(a)}
    one, other = name
    result("sdpstat shows the cookie", [shown(c), shown(a)], [[one], [other]])
    c.sendall(bytes(1000))
    get(a, 1000)
    c.send(b"!", socket.MSG_OOB)
    p = select.poll()
    p.register(a, select.POLLPRI)
    p.poll(WAIT * 1000)
    a.recv(1, socket.MSG_OOB)
    if CREDIT:
        zero_copy(c, a)
    c.shutdown(socket.SHUT_WR)
    a.recv(1)
    wait_until(lambda: states(one)[-1:] == ["TCP_FIN_WAIT2"])
    a.close()
    c.close()
    closed(one, other)
    # the connection manager reports the end of a connection that is down already
    wait_until(lambda: all("DISCONNECTED" in [e["event"] for e in story(c, "sdp_cm_event")]
                           for c in (one, other)))
    listening = cookie_of(s)
    s.close()

    result("states of the client", states(one),
           ["TCP_CLOSE", "TCP_SYN_SENT", "TCP_ESTABLISHED", "TCP_FIN_WAIT1", "TCP_FIN_WAIT2",
            "TCP_CLOSE"])
    result("states of the server", states(other),
           ["TCP_CLOSE", "TCP_SYN_RECV", "TCP_ESTABLISHED", "TCP_CLOSE_WAIT", "TCP_LAST_ACK",
            "TCP_CLOSE"])
    result("states of the listener", states(listening),
           ["TCP_CLOSE", "TCP_LISTEN", "TCP_CLOSE"])
    for cookie, what in (one, "client"), (other, "server"):
        # the address that it comes from is found only when the device is
        of = [e for n, e in events() if e["sock_cookie"] == cookie and e["saddr"] != "0.0.0.0"]
        result("addresses of the %s" % what,
               {tuple(e[k] for k in SOCK[1:]) for e in of}, {tuple(name[cookie])})
    result("the client knows where to from its first event on",
           [story(one, "sdp_state")[0][k] for k in ("dport", "daddr", "daddrv6")],
           [name[one][i] for i in (2, 4, 6)])
    result("events of the connection manager",
           [[e["event"] for e in story(k, "sdp_cm_event")] for k in (one, listening, other)],
           [["ADDR_RESOLVED", "ESTABLISHED", "DISCONNECTED"], ["CONNECT_REQUEST"],
            ["ESTABLISHED", "DISCONNECTED"]])
    sent = messages(one, "tx")
    result("messages that the client sends", sent[:2] + sent[-1:],
           [("Data", "", 1000), ("Data", "OOB_PRES|OOB_PEND", 1), ("DisConn", "", 0)])
    result("the server receives them", messages(other, "rx"), sent)
    result("messages that the server sends", messages(other, "tx"), [("DisConn", "", 0)])
    result("messages name the kind of the link",
           {e["link"] for n, e in events() if n.startswith("sdp_msg_")}, {LINK})
    if CREDIT:
        result("zero copy: the sender offers, the reader has read",
               ["SrcAvail" in [m["mid"] for m in story(one, "sdp_msg_tx")],
                "RdmaRdCompl" in [m["mid"] for m in story(one, "sdp_msg_rx")]], [True, True])
    for cookie, what, role in (one, "client", True), (other, "server", False):
        result("graceful end of the %s" % what,
               [(e["error"], e["link"], "ACTIVE" in e["flags"].split("|"))
                for e in story(cookie, "sdp_down")], [("none", LINK, role)])


def abort():
    c, a = pair()
    one, other = cookie_of(c), cookie_of(a)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
    p = select.poll()
    p.register(a, 0)
    p.poll(WAIT * 1000)
    closed(one, other)
    a.close()
    result("states of an abort", [states(one), states(other)],
           [["TCP_CLOSE", "TCP_SYN_SENT", "TCP_ESTABLISHED", "TCP_CLOSE"],
            ["TCP_CLOSE", "TCP_SYN_RECV", "TCP_ESTABLISHED", "TCP_CLOSE"]])
    result("reason of an abort, at both ends",
           [[(e["error"], "ABORT" in e["flags"].split("|")) for e in story(k, "sdp_down")]
            for k in (one, other)], [[("ECONNRESET", True)], [("ECONNRESET", False)]])


def refused():
    with listener() as s:
        gone = s.getsockname()
    c = socket.socket()
    cookie = cookie_of(c)
    c.connect_ex(gone)
    closed(cookie)
    c.close()
    result("states of a refused connect", states(cookie),
           ["TCP_CLOSE", "TCP_SYN_SENT", "TCP_CLOSE"])
    result("a refused connect is rejected", story(cookie, "sdp_cm_event")[-1]["event"],
           "REJECTED")
    result("reason of a refused connect",
           [(e["error"], e["link"], e["dport"]) for e in story(cookie, "sdp_down")],
           [("ECONNREFUSED", "verbs" if CREDIT else "none", str(gone[1]))])


def ipv6():
    c, a = pair(V6)
    want = {cookie_of(c): ends(c), cookie_of(a): ends(a)}
    c.close()
    a.close()
    closed(*want)
    result("IPv6: addresses of both ends",
           [[story(k, "sdp_down")[0][field] for field in SOCK[1:]] for k in want],
           list(want.values()))


def fallback():
    c = socket.socket()
    cookie = cookie_of(c)
    c.setsockopt(SOL_SDP, SDP_FALLBACK, 1)
    c.connect_ex(("127.0.0.1", 9))
    c.close()
    result("an event says why TCP takes over",
           [(e["reason"], e["error"]) for e in story(cookie, "sdp_tcp")],
           [("no_device", "ENETUNREACH")])


def filters():
    c, a = pair()
    one, other = cookie_of(c), cookie_of(a)
    tracing("events/sdp/filter", "sock_cookie == 0x%s" % one)
    tracing("trace", "")
    c.close()
    a.close()
    closed(one)
    result("a filter for one socket shows no other socket",
           {e["sock_cookie"] for _, e in events()}, {one})
    tracing("events/sdp/filter", "0")


CREDIT = sys.argv[1] == "credit"
LINK = "verbs" if CREDIT else "shared"
print("TAP version 13")
tracing("trace", "")
tracing("events/sdp/enable", "1")
life()
abort()
refused()
ipv6()
fallback()
result("all kinds of events, and each with the socket",
       {n: [k for k in SOCK if k not in e] for n, e in events()},
       {n: [] for n in os.listdir(os.path.join(TRACING, "events/sdp")) if n.startswith("sdp_")})
# an unknown value is shown as a number
named = ("family", "mid", "flags", "oldstate", "newstate", "event", "link", "error", "reason")
result("no value is without a name",
       {(k, e[k]) for _, e in events() for k in named if re.match("-?[0-9]", e.get(k, ""))},
       set())
filters()
tracing("events/sdp/enable", "0")
print("1..%d" % count)
sys.exit(failed > 0)
