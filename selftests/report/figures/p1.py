# SPDX-License-Identifier: GPL-2.0
"""Panels of "Micro-benchmarks of cluster interconnects" (P1), for our interconnects"""
import model
from figures.p0 import NAMES, streams
from panels import panel, ratios, worst
from points import count

PROFILES = {"host": "host", "assisted": "assisted", "offload-sg": "offloaded, scatter/gather",
            "hybrid": "hybrid"}
OPS = ("send", "write")


def verbs(tests, sizes, ops="send write", profiles=("host", "assisted", "hybrid"), **more):
    """Verbs of the kernel over the simulated NIC, by profile"""
    return [count(40, PARTS="verbs", LINK="hnic", PROFILES=p, MTUS=1500,
                  VERBS_TESTS=tests, VERBS_OPS=ops, VERBS_SIZES=sizes, **more) for p in profiles]


def host_us(row):
    """Latency without the time of the NICs' code; a message there and one back"""
    return row["lat_us"] - (row["tx_nic_ns"] + row["rx_nic_ns"]) / row["msgs"] / 2000


def host_mbps(row):
    return row["bytes"] * 1e3 / (row["elapsed_ns"] - row["tx_nic_ns"] - row["rx_nic_ns"])


def pings(full):
    """The threads of the NICs are first: one that looks for a completion would keep them
    from running for as long as the scheduler lets it"""
    if full:
        return verbs("lat poll event", "1 1024 4096 16384 65536", FIRST="nic")
    return verbs("lat poll event", "1 4096 65536", profiles=("host", "hybrid"), FIRST="nic")


@panel("P1-F2", pings)
def f2(rows, out):
    out.setup = "Verbs of the kernel over the simulated NIC, whose time is taken off, MTU 1500; " \
        "half a round trip, both ends on one processor (T1), which the threads of the NICs " \
        "have first. A Write is noticed by its last byte in memory, a Send by a look at the " \
        "completion queue."
    rises, ratio = [], []
    plot = out.plot("today", "latency of Send and RDMA Write", "message (bytes)", "latency (us)",
                    ylog=True)
    for profile, name in PROFILES.items():
        curves = []
        # a thread that looks takes the only processor from what delivers: both look
        for op, test in zip(OPS, ("poll", "lat")):
            curves.append(rows.pick(part="verbs", test=test, what=f"verbs-{op}/{profile}").curve(
                host_us))
            plot.line(f"{op.capitalize()}, {name}", "measured", curves[-1])
        if len(curves[0]) > 1:
            rises.append(model.monotone([p[1] for p in curves[0]], slack=0.02))
        ratio += ratios(curves[1], curves[0]).values()
    out.value("monotone", all(rises) if rises else None)
    out.value("write", worst(ratio))


def windows(full):
    # more requests than are under way
    if not full:
        return verbs("bw", "4096 65536", profiles=("host", "hybrid"), VERBS_Q="8 16 100",
                     VERBS_COUNT=200)
    return verbs("bw", "1024 4096 16384 65536 262144", profiles=tuple(PROFILES),
                 VERBS_Q="8 16 100", VERBS_COUNT=400)


def by_window(rows):
    """{(op, profile, Q): curve}"""
    return {(op, profile, q): rows.pick(part="verbs", test="bw", q=q,
                                        what=f"verbs-{op}/{profile}").curve(host_mbps)
            for op in OPS for profile in PROFILES for q in (8, 16, 100)}


WINDOWS = "Verbs of the kernel over the simulated NIC, whose time is taken off, MTU 1500; work " \
    "of both hosts on one processor (T1). The window is refilled by half when half of it is done."


@panel("P1-F3a", windows)
def f3a(rows, out):
    out.setup = WINDOWS
    curves = by_window(rows)
    plot = out.plot("today", "bandwidth, 100 under way", "message (bytes)", "MB/s")
    rises = []
    for (op, profile, q), curve in curves.items():
        if q == 100:
            plot.line(f"{op.capitalize()}, {PROFILES[profile]}", "measured", curve)
            if len(curve) > 1:
                rises.append(model.monotone([p[1] for p in curve], slack=0.02))
    out.value("monotone", all(rises) if rises else None)
    out.value("window", worst((v for op in OPS for p in PROFILES for v in ratios(
        curves[op, p, 100], curves[op, p, 16]).values()), False))


@panel("P1-F3b", windows)
def f3b(rows, out):
    out.setup = WINDOWS
    curves = by_window(rows)
    for q in (8, 16):
        plot = out.plot("today", f"bandwidth, {q} under way", "message (bytes)", "MB/s")
        for profile, name in PROFILES.items():
            plot.line(f"Write, {name}", "measured", curves["write", profile, q])
    both = [(curves[op, p, 16], curves[op, p, 8], curves[op, p, 100])
            for op in OPS for p in PROFILES]
    out.value("order", worst((v for s, e, _ in both for v in ratios(s, e).values()), False))
    out.value("eight", worst((v for _, e, h in both for m, v in ratios(e, h).items()
                              if m >= 65536), False))


@panel("P1-F8a", pings)
def f8a(rows, out):
    out.setup = "Verbs of the kernel over the simulated NIC, whose time is taken off, MTU 1500, " \
        "profile hybrid; half a round trip, both ends on one processor, which the threads of " \
        "the NICs have first. A thread that looks and does not find yields."
    plot = out.plot("today", "latency by way of noticing", "message (bytes)", "latency (us)",
                    ylog=True)
    curves = {}
    for name, test, op in (("memory (Write)", "lat", "write"), ("queue, polled", "poll", "send"),
                           ("event and wake-up", "event", "send")):
        curves[test] = rows.pick(part="verbs", test=test, what=f"verbs-{op}/hybrid").curve(host_us)
        plot.line(name, "measured", curves[test])
    out.value("order", worst(ratios(curves["lat"], curves["poll"]).values()))


@panel("P1-F6", lambda full: streams(full) + [
    count(60, PARTS="zcopy", FC_DEVICES="", ZCOPY_SIZES="65536 262144 1048576")])
def f6(rows, out):
    out.setup = "Instructions of both hosts for a message of a stream, simulated NIC, MTU 9000, " \
        "its time taken off. Zero copy: of the sending program alone."
    plot = out.plot("today", "work of both hosts", "message (bytes)", "instructions / byte",
                    ylog=True)
    for what in ("tcp", "sdp-enhanced/hybrid", "sdp-basic/assisted", "sdp-basic/host"):
        plot.line(NAMES[what], "measured", rows.pick(link="hnic", what=what, mtu=9000).has(
            "host_ns_per_byte").curve("host_ns_per_byte"))
    both = rows.pick(link="hnic", what="sdp-enhanced/hybrid", mtu=9000).at(
        "host_ns_per_byte", 262144)
    out.value("copied", both / 2 if both else None)
    plot = out.plot("today", "work of the sending program", "message (bytes)",
                    "instructions / byte")
    zcopy = rows.pick(link="zcopy-nic")
    for what, name in (("sdp-copy/hybrid", "SDP, copied"), ("sdp-zcopy/hybrid", "SDP, zero copy"),
                       ("sdp-placed/hybrid", "SDP, zero copy, placed by the NIC"), ("tcp", "TCP")):
        plot.line(name, "measured", zcopy.pick(what=what).curve("cpu_tx_ns_per_byte"))
    out.value("referred", zcopy.pick(what="sdp-zcopy/hybrid").at("cpu_tx_ns_per_byte", 1048576))
    gain = ratios(zcopy.pick(what="sdp-zcopy/hybrid").curve("mbps"),
                  zcopy.pick(what="sdp-copy/hybrid").curve("mbps"))
    if gain:
        out.note(f"Zero copy passes {worst(gain.values()):.2f} times as much as copying at best.")


BOTH = {"tcp": "TCP", "sdp-enhanced/hybrid": "SDP enhanced", "sdp-basic/assisted": "SDP basic"}


def bench(what, measure, mtu=1500, seconds=30, **more):
    """A run of sdpbench over the simulated NIC"""
    return count(seconds, PARTS="one", LINK="hnic", WHATS=what, MTUS=mtu, MEASURE=measure, **more)


def both_ways(full):
    sizes = "1K,4K,16K,64K" if not full else "64,256,1K,4K,16K,64K,256K"
    return [bench(what, f"-T bw,bibw,lat,bilat -r 3 -d 12 -P 40 -S {sizes} -L 1,1K,4K,16K,64K",
                  FIRST=1) for what in BOTH]


def two_ways(rows, out, title, unit, field, tests, more):
    """One direction and both: {transport: {size: ratio}}"""
    found = {}
    for test, name in zip(tests, ("one way", "both ways")):
        plot = out.plot("today", f"{title}, {name}", "message (bytes)", unit, ylog=not more)
        for what, label in BOTH.items():
            curve = rows.pick(what=what, test=test, link="hnic").has(field).curve(field)
            plot.line(label, "measured", curve)
            found.setdefault(what, []).append(curve)
    return {w: ratios(c[1], c[0]) for w, c in found.items()}


@panel("P1-F4", both_ways)
def f4(rows, out):
    out.setup = "Sockets over the simulated NIC, MTU 1500. One way: half a round trip. Both " \
        "ways: each end sends a message, then receives that of the other. Both ends on one " \
        "processor."
    over = two_ways(rows, out, "latency", "latency (us)", "lat_us", ("lat", "bilat"), False)
    out.value("both", worst((v for r in over.values() for v in r.values()), False))


@panel("P1-F5", both_ways)
def f5(rows, out):
    out.setup = "Sockets over the simulated NIC, MTU 1500, the time of the simulated NICs taken " \
        "off. Both hosts share one processor, so the sum of both ways shows what they share of " \
        "their work, not of a link. The client is not preempted by the server: else small " \
        "messages one way would wake the reader one by one, and those of both ways would not."
    over = two_ways(rows, out, "bandwidth", "MB/s, both ways together", "mbps", ("bw", "bibw"),
                    True)
    out.value("both", worst(v for r in over.values() for v in r.values()))
    out.value("gain", over.get("sdp-enhanced/hybrid", {}).get(65536))


RATE = 1000     # Mbit/s; 256 KB take 2.1 ms
OVERLAP = {"tcp": "TCP", "sdp-enhanced/hybrid": "SDP enhanced",
           "sdp-zcopy/hybrid": "SDP, zero copy"}
# A send returns when the message is in a buffer: four of them have room
ROOMY = {"TCP_SET": "tcp_wmem=4096,1048576,4194304 tcp_rmem=4096,1048576,6291456",
         "SDP_SET": "wmem=4608,1048576,1048576 rmem=4096,1048576,1048576"}


AMOUNTS = (0, 400, 600, 700, 800, 900, 1000, 1200, 1500, 2000, 3000)
FALLS = 0.97        # of the bandwidth without computation


def computing(_full):
    amounts = "spin:" + ",".join(map(str, AMOUNTS))
    return [bench(what, f"-T overlap -S 256K -r 1 -n 32 --compute {amounts}" +
                  (" --send zerocopy" if "zcopy" in what else ""), 9000, 40,
                  HNIC_SET=f"rate={RATE}", FIRST="nic", **ROOMY) for what in OVERLAP]


def all_us(row):
    """Time of a message; that of the NICs, which wait for the link, is part of it"""
    return (row["host_ns_per_byte"] + row["nic_ns_per_byte"]) * row["size"] / 1e3


def break_off(points, period):
    """How far the break of [(computation, time)] is from that of the model, per cent of the
    period: a message takes as long as the link, or as computation and the work for it. The
    work is what it takes beside the longest computation, when the processor has no pause."""
    idle = points[0][1]
    work = points[-1][1] - points[-1][0]
    broken = model.crossing([p[0] for p in points], [idle / p[1] for p in points],
                            [FALLS] * len(points))
    return None if broken is None else 100 * abs(broken - (idle / FALLS - work)) / period


@panel("P1-F7", computing)
def f7(rows, out):
    out.setup = "Messages of 256 KB over a simulated link of 1 Gb/s, on which 256 KB take " \
        "2.1 ms, MTU 9000, room for four messages at each end; the sender computes before each " \
        "message. All hosts and NICs share one processor, so all their work counts as the " \
        "sender's: the break comes earlier than between two."
    plot = out.plot("today", "bandwidth while the sender computes", "computation (per cent)",
                    "bandwidth, relative", xlog=False, sizes=False)
    period = 8 * 262144 / RATE      # us
    off, spun = {}, []
    for what, name in OVERLAP.items():
        mine = sorted(rows.pick(what=what, test="overlap").has("compute_us"),
                      key=lambda r: r["compute_us"])
        if len(mine) < 2:
            continue
        points = [(r["compute_us"], all_us(r)) for r in mine]
        plot.line(name, "measured", [(100 * c / period, points[0][1] / t) for c, t in points])
        off[what] = break_off(points, period)
        took = (mine[-1]["cpu_tx_ns_per_byte"] - mine[0]["cpu_tx_ns_per_byte"]) * 262.144
        spun.append(took / mine[-1]["compute_us"])
    zcopy = off.pop("sdp-zcopy/hybrid", None)
    out.value("break", worst(v for v in off.values() if v is not None))
    out.value("zcopy", zcopy)
    out.value("spin", max(spun, key=lambda v: abs(v - 1)) if spun else None)


WAITS = {"block": "blocking", "epoll": "epoll", "busy": "busy polling"}


def waits(_full):
    return [bench(what, f"-T lat -r 3 -P 40 -L 1,1K,4K,16K --wait {wait}", seconds=15, WAIT=wait)
            for what in ("tcp", "sdp-enhanced/hybrid") for wait in WAITS]


@panel("P1-F8b", lambda full: waits(full) + pings(full))
def f8b(rows, out):
    verbs_rows = [rows.pick(part="verbs", test=t, what="verbs-send/hybrid").curve(host_us)
                  for t in ("poll", "event")]
    plot = out.plot("today", "verbs: polled and by event", "message (bytes)", "latency (us)",
                    ylog=True)
    for name, curve in zip(("queue, polled", "event and wake-up"), verbs_rows):
        plot.line(name, "measured", curve)
    out.value("order", worst(ratios(*verbs_rows).values()))
    out.setup = "Sockets over the simulated NIC, MTU 1500, half a round trip. Both ends on one " \
        "processor: a process that polls keeps the other from running, so polling can only lose " \
        "here; what it saves needs a processor for each end."
    plot = out.plot("today", "sockets by way of waiting", "message (bytes)", "latency (us)",
                    ylog=True)
    for what, label in (("tcp", "TCP"), ("sdp-enhanced/hybrid", "SDP enhanced")):
        for wait, name in WAITS.items():
            plot.line(f"{label}, {name}", "measured", rows.pick(
                what=what, WAIT=wait, test="lat").has("lat_us").curve("lat_us"))


BUFFERS = (1, 2, 4, 8, 12, 16, 20, 24, 32)
KEPT = 16


def in_turn(full):
    wanted = BUFFERS if full else (4, 16, 32)
    return [bench(what, f"-T bw -r 3 -n 64 -S 512K --buffers {n}", 9000, 12, **more)
            for what, more in (("sdp-enhanced/hybrid", {}),
                               ("sdp-zcopy/hybrid", {"SDP_SET": f"zcopy_entries={KEPT}"}))
            for n in wanted]


@panel("P1-F9", in_turn)
def f9(rows, out):
    out.setup = f"Messages of 512 KB from so many buffers in turn, simulated NIC, MTU 9000; zero " \
        f"copy keeps {KEPT} registered (net.sdp.zcopy_entries). All memory has pages of 4 KB."
    plot = out.plot("today", "bandwidth by number of buffers", "buffers", "MB/s", xlog=False,
                    sizes=False)
    curves = {}
    for what, name in (("sdp-enhanced/hybrid", "SDP, copied"),
                       ("sdp-zcopy/hybrid", "SDP, zero copy")):
        curves[what] = rows.pick(what=what, test="bw", size=524288).has("buffers").curve(
            "mbps", "buffers", "mbps_min", "mbps_max")
        plot.line(name, "measured", curves[what])
    copied, kept = ([p for p in curves[w]] for w in ("sdp-enhanced/hybrid", "sdp-zcopy/hybrid"))
    if copied:
        out.value("flat", model.spread([p[1] for p in copied]))
    within = [p[1] for p in kept if p[0] <= KEPT]
    beyond = [p[1] for p in kept if p[0] > KEPT]
    if within and beyond:
        out.value("kept", model.spread(within))
        out.value("falls", max(beyond) / min(within))


REUSES = (0, 25, 50, 75, 100)


def reused(full):
    return [bench(what, f"{measure} --reuse {share}", 9000, 12)
            for what, measure in (
                ("sdp-enhanced/hybrid", "-T bw -r 3 -n 64 -S 512K"),
                ("sdp-zcopy/hybrid", "-T bw -r 3 -n 64 -S 512K"),
                ("sdp-enhanced/hybrid", "-T lat -r 3 -P 60 -L 4K"))
            for share in (REUSES if full else REUSES[::2])]


@panel("P1-F10a", reused)
def f10a(rows, out):
    out.setup = "Messages of 4 KB, so many per cent of them from one buffer, the others from " \
        "fresh ones; simulated NIC, MTU 9000. Messages of this size are copied: zero copy begins " \
        "above."
    plot = out.plot("today", "latency by reuse", "reuse (per cent)", "latency (us)", xlog=False,
                    sizes=False)
    curve = rows.pick(what="sdp-enhanced/hybrid", test="lat", size=4096).has("reuse").curve(
        "lat_us", "reuse")
    plot.line("SDP, copied", "measured", curve)
    if len(curve) > 1:
        out.value("copy", model.spread([p[1] for p in curve]))


@panel("P1-F10b", reused)
def f10b(rows, out):
    out.setup = "Messages of 512 KB, so many per cent of them from one buffer, the others from " \
        "fresh ones; simulated NIC, MTU 9000."
    plot = out.plot("today", "bandwidth by reuse", "reuse (per cent)", "MB/s", xlog=False,
                    sizes=False)
    for check, what, name in (("copy", "sdp-enhanced/hybrid", "SDP, copied"),
                              ("zcopy", "sdp-zcopy/hybrid", "SDP, zero copy")):
        curve = rows.pick(what=what, test="bw", size=524288).has("reuse").curve(
            "mbps", "reuse", "mbps_min", "mbps_max")
        plot.line(name, "measured", curve)
        if check == "copy" and len(curve) > 1:
            out.value(check, model.spread([p[1] for p in curve]))
        elif curve and curve[0][0] == 0 and curve[-1][0] == 100:
            out.value(check, curve[0][1] / curve[-1][1])


def hot_runs(_full):
    return [count(60, PARTS="hot", LINK="hnic", WHATS=what, REPS=2, PINGS=20) for what in BOTH]


def hot_spot(name, test, title):
    @panel(name, hot_runs)
    def make(rows, out):
        out.setup = "A client and up to seven servers, each a host at a bridge with a simulated " \
            "NIC, 4 bytes, MTU 1500; time of an iteration. All hosts share one processor."
        plot = out.plot("today", title, "servers", "iteration (us)", xlog=False, sizes=False)
        lines = []
        for what, label in BOTH.items():
            curve = rows.pick(part="hot", what=what, test=test).has("lat_us").curve(
                "lat_us", "servers")
            plot.line(label, "measured", curve)
            if len(curve) > 2:
                lines.append(model.fit_line([p[0] for p in curve], [p[1] for p in curve])[2])
        out.value("linear", worst(lines, False))


hot_spot("P1-F11a", "hot-send", "the client sends")
hot_spot("P1-F11b", "hot-recv", "the client receives")
