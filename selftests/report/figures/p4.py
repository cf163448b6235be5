# SPDX-License-Identifier: GPL-2.0
"""Panels of "High performance sockets for data-intensive applications" (P4)"""
import apps
import model
from figures.p0 import costs, sdp_counts, streams
from panels import panel, ratios, worst
from points import count, profile, real

VETH = {"tcp": "TCP", "sdp-enhanced/hybrid": "SDP enhanced", "sdp-basic/hybrid": "SDP basic",
        "rsocket/siw": "rsockets over siw"}
BLOCKS = sorted([64 << n for n in range(15)] + [96 << n for n in range(14)])
RATES = [0.25, 0.5, 1, 1.5, 2, 2.5, 3, 3.2, 3.25, 3.5, 4, 4.5, 5, 5.5]
BOUNDS = [100, 150, 200, 300, 400, 500, 700, 1000]
OWN = {"TCP": "tcp", "SDP enhanced": "sdp-enhanced/hybrid", "SDP basic": "sdp-basic/assisted"}


def sockets(full):
    """Sockets and verbs over veth, where every component is the host's"""
    sizes = "64,1K,4K,16K,64K" if not full else "4,64,256,1K,4K,16K,64K,256K"
    return [count(25, PARTS="one", LINK="veth", WHATS=what, MTUS=1500, SIZES=sizes,
                  LAT_SIZES="1,64,1K,4K,16K,64K") for what in VETH] + [
        count(40, PARTS="verbs", VERBS_KINDS="hybrid", MTUS=1500)]


# Layers that a NIC with TCP on it takes from the host, and instructions that it costs
# instead, for a message: a doorbell and a completion
OFFLOADED = ("tcpip", "netdev", "skb")
NOT_HOSTS = ("nic", "probe")    # simulated NICs, and what tells the hosts apart
DOORBELL = 200


def layered(test):
    return [profile(WHAT=what, TEST=test, MTU=1500, SIZE=65536, ENDS=1)
            for what in ("tcp", "sdp-enhanced/hybrid")]


def without_tcp(rows, test):
    """(SDP with TCP on the NIC, TCP on the host): instructions a byte or a message"""
    found = {}
    for row in rows.pick(part="layers", test=test):
        host = sum(v for k, v in row["layers"].items() if k not in NOT_HOSTS)
        cut = sum(row["layers"].get(k, 0) for k in OFFLOADED)
        per = 1 if test == "lat" else row["size"]
        found[row["what"]] = (host - cut + DOORBELL / per, host)
    if not {"tcp", "sdp-enhanced/hybrid"} <= set(found):
        return None
    return found["sdp-enhanced/hybrid"][0], found["tcp"][1]


def machines(rows, out, test, field, unit):
    """The same between two real machines, if there are figures"""
    mine = rows.pick(part="real", test=test)
    if not mine:
        return
    plot = out.plot("today", f"{mine[0]['HOSTS'].replace(' ', ' and ')}", "message (bytes)", unit,
                    ylog=test == "lat")
    for what, name in (("verbs-send", "verbs, Send"), ("verbs-write", "verbs, Write"),
                       ("tcp", "TCP"), ("sdp", "SDP")):
        plot.line(name, "measured", mine.pick(what=what).curve(field))


def toe_plot(rows, out, test, unit):
    """Instructions by layer, and the sum without those that a TOE takes"""
    mine = rows.pick(part="layers", test=test)
    if not mine:
        return
    names = [k for k in mine[0]["layers"]
             if k not in NOT_HOSTS and any(r["layers"].get(k) for r in mine)]
    plot = out.plot("today", f"work of both hosts by layer, {unit}", "layer", "instructions",
                    xlog=False, names=names)
    for what, name in (("tcp", "TCP"), ("sdp-enhanced/hybrid", "SDP enhanced")):
        for row in mine.pick(what=what):
            plot.line(name, "measured", [(i, row["layers"][k]) for i, k in enumerate(names)])
    cover = min(r["coverage"] for r in mine)
    out.note(f"The map of functions to layers covers {100 * cover:.1f} % of the instructions of "
             "both hosts; those of the NICs' threads are not in them. "
             f"TCP on the NIC: without {', '.join(OFFLOADED)}, and {DOORBELL} instructions for a "
             "message instead; computed from the profile.")


@panel("P4-F19", lambda full: sockets(full) + streams(full) + layered("lat") + real())
def f19(rows, out):
    out.setup = "MTU 1500; half a round trip, on one processor (T1). Left: virtual Ethernet, all " \
        "by the host. Right: the simulated NIC, whose time is taken off."
    plot = out.plot("today", "latency, virtual Ethernet", "message (bytes)", "latency (us)",
                    ylog=True)
    send = rows.pick(link="verbs", what="verbs-send/hybrid", mtu=1500)
    verbs = send.has("lat_us").curve("lat_us")
    plot.line("verbs, Send", "measured", verbs)
    for what, name in VETH.items():
        plot.line(name, "measured", rows.pick(link="veth", what=what, mtu=1500).has(
            "lat_us").curve("lat_us"))
    sdp = rows.pick(link="veth", what="sdp-enhanced/hybrid", mtu=1500).has("lat_us")
    over = ratios(verbs, sdp.curve("lat_us"))
    out.value("verbs", over.get(1))
    out.value("near", 1 / over[1] if over.get(1) else None)
    plot = out.plot("today", "latency, simulated NIC", "message (bytes)", "latency (us)", ylog=True)
    nic = {}
    for what, name in (("tcp", "TCP"), ("sdp-enhanced/hybrid", "SDP enhanced"),
                       ("sdp-basic/assisted", "SDP basic")):
        nic[what] = rows.pick(link="hnic", what=what, mtu=1500).has("lat_us").curve(
            lambda r: r["lat_us"] - r.get("nic_us", 0))
        plot.line(name, "measured", nic[what])
    out.value("tcp", ratios(nic["sdp-enhanced/hybrid"], nic["tcp"]).get(1))
    machines(rows, out, "lat", "lat_us", "latency (us)")
    toe_plot(rows, out, "lat", "a message of 1 byte")
    both = without_tcp(rows, "lat")
    out.value("toe", both[0] / both[1] if both else None)


@panel("P4-F20", lambda full: sockets(full) + streams(full) + layered("bw") + real())
def f20(rows, out):
    out.setup = "MTU 1500; streams of one direction, work of both hosts on one processor (T1). " \
        "Left: virtual Ethernet, all by the host. Right: the simulated NIC, whose time is " \
        "taken off."
    plot = out.plot("today", "bandwidth, virtual Ethernet", "message (bytes)", "MB/s")
    verbs = rows.pick(link="verbs", what="verbs-send/hybrid", mtu=1500).has("mbps").curve("mbps")
    plot.line("verbs, Send", "measured", verbs)
    for what, name in VETH.items():
        plot.line(name, "measured", rows.pick(link="veth", what=what, mtu=1500).has(
            "mbps").curve("mbps"))
    sdp = rows.pick(link="veth", what="sdp-enhanced/hybrid", mtu=1500).has("mbps").curve("mbps")
    out.value("near", ratios(sdp, verbs).get(65536))
    plot = out.plot("today", "bandwidth, simulated NIC", "message (bytes)", "MB/s")
    nic = {}
    for what, name in (("tcp", "TCP"), ("sdp-enhanced/hybrid", "SDP enhanced"),
                       ("sdp-basic/assisted", "SDP basic")):
        nic[what] = rows.pick(link="hnic", what=what, mtu=1500).has("mbps_min").curve(
            "mbps", low="mbps_min", high="mbps_max")
        plot.line(name, "measured", nic[what])
    out.value("tcp", ratios(nic["sdp-enhanced/hybrid"], nic["tcp"]).get(65536))
    machines(rows, out, "bw", "mbps", "MB/s")
    toe_plot(rows, out, "bw", "a byte of 64 KB messages")
    both = without_tcp(rows, "bw")
    out.value("toe", both[1] / both[0] if both else None)


def mapped(_full):
    return [count(20, PARTS="one", LINK="hnic", WHATS="sdp-enhanced/hybrid", MTUS=9000,
                  MEASURE=f"-T lat -r 3 -P 20 -L 4K,16K,64K,256K --recv {how}", RECV=how)
            for how in ("copy", "map")]


@panel("P4-F21", mapped)
def f21(rows, out):
    out.setup = "SDP enhanced over the simulated NIC, whose time is taken off, MTU 9000; half a " \
        "round trip; the program reads by recv() or by SDP_ZEROCOPY_RECEIVE."
    plot = out.plot("today", "latency of reading", "message (bytes)", "latency (us)", ylog=True)
    curves = []
    for how, name in (("map", "mapped"), ("copy", "copied")):
        curves.append(rows.pick(RECV=how, test="lat").has("lat_us").curve(
            lambda r: r["lat_us"] - r.get("nic_us", 0)))
        plot.line(name, "measured", curves[-1])
    out.value("mapped", ratios(*curves).get(65536))


@panel("P4-F22", lambda full: [count(60, PARTS="rxmap", RXMAP_WINDOWS="32768 131072")] +
       costs(["sdp-enhanced/hybrid"]))
def f22(rows, out):
    out.setup = "Today: sends of 1 MB over the simulated NIC, MTU 9000, read one window at a " \
        "time; processor time of the reading program. 2003: counters of a stream, priced."
    rxmap = rows.pick(part="rxmap")
    plot = out.plot("today", "work of the reader", "window (bytes)", "instructions / byte")
    for what, name in (("sdp-copied/hybrid", "copied"), ("sdp-mapped/hybrid", "mapped")):
        plot.line(name, "measured", rxmap.pick(what=what).curve("cpu_ns_per_byte", "window"))
    out.value("mapped", ratios(*(rxmap.pick(what=w).curve("cpu_ns_per_byte", "window")
                               for w in ("sdp-mapped/hybrid", "sdp-copied/hybrid"))).get(131072))
    prices = model.platform("xeon-2003")
    plot = out.plot("regime", "bandwidth, prices of 2003", "message (bytes)", "Gbit/s")
    curves = []
    for name, copies in (("copied", 1), ("mapped", 0)):
        curves.append([(r["size"], model.bandwidth(model.stages(
            {**sdp_counts(r), "copy_r": sdp_counts(r)["copy_r"] * copies}, prices), r["size"]))
            for r in rows.pick(part="costs", what="sdp-enhanced/hybrid", mtu=1500, interval="512")])
        plot.line(name, "computed", curves[-1])
    gain = ratios(curves[1], curves[0])
    out.value("regime", worst(abs(v - 1) for k, v in gain.items() if k >= 4096))


def own_curves(rows):
    """L and B of our transports, as the papers have them: from the smallest latency and the
    bandwidth of 64 KB, over the simulated NIC"""
    found = {}
    for name, what in OWN.items():
        mine = rows.pick(link="hnic", what=what, mtu=1500)
        lat = mine.has("lat_us").curve(lambda r: r["lat_us"] - r.get("nic_us", 0))
        mbps = mine.has("mbps_min").at("mbps", 65536)
        if lat and mbps:
            found[name] = {"latency_us": lat[0][1], "mbit": 8 * mbps}
    return found


def guarantee(out, curves, kind, side, compute_ns, rate):
    """Partial latency over guaranteed rate (rate), or the other way round; the first curve is
    the slow transport, the second has a line with its blocks, too.

    Return: {name: points}"""
    image = model.platform("p3-2000")["image_bytes"]
    title = ("partial update at a guaranteed rate" if rate else "rate at a guaranteed latency")
    plot = out.plot(side, title + (", 18 ns/byte" if compute_ns else ""),
                    "guaranteed full updates (1/s)" if rate else "guaranteed latency (us)",
                    "latency of a partial update (us)" if rate else "full updates (1/s)",
                    xlog=False, sizes=False, ylog=rate)
    blocks = {n: {b: (apps.updates(c, b, image, compute_ns), apps.partial_us(c, b, compute_ns))
                  for b in BLOCKS} for n, c in curves.items()}

    def best(name, bound):
        """Smallest block that is fast enough, largest that is quick enough"""
        fit = [b for b in BLOCKS if (blocks[name][b][0] >= bound if rate
                                     else blocks[name][b][1] <= bound)]
        return (fit[0] if rate else fit[-1]) if fit else None

    names = list(curves)
    lines = {}
    for name in names:
        picked = [(x, best(name, x)) for x in (RATES if rate else BOUNDS)]
        lines[name] = [(x, blocks[name][b][1 if rate else 0]) for x, b in picked if b]
        plot.line(name + (", its own block" if name != names[0] else ""), kind, lines[name])
    picked = [(x, best(names[0], x)) for x in (RATES if rate else BOUNDS)]
    if len(names) > 1:
        lines["same"] = [(x, blocks[names[1]][b][1 if rate else 0]) for x, b in picked if b]
        plot.line(f"{names[1]}, block of {names[0]}", kind, lines["same"])
    return lines


PAPER = {"TCP": "tcp", "SocketVIA": "socketvia"}
IMAGE = 4 << 20     # of the filter streams; rates are those of 16 MB
# All hosts share the emulator's processor: with imposed times so much longer, its share is
# small. A point with a larger one is not of waiting hosts, and counts as none.
DILATION = 50
BUSY = 0.3


def waiting(rows):
    """Points of the filter streams that waited, as T3 demands"""
    return rows.pick(part="filters", rto=0, FS_DILATION=str(DILATION)).pick(
        share={r["share"] for r in rows.has("share") if r["share"] <= BUSY})


def synthetic(compute_ns, full):
    """The real filter streams with the paper's curves imposed, T3"""
    blocks = {"tcp": (512, 2048, 16384), "socketvia": (256, 2048, 16384)}
    if not full:
        blocks = {"tcp": (16384,), "socketvia": (2048,)}
    return [count(60, PARTS="filters", FS_APP="synth", FS_WHATS="tcp", FS_BLOCK=block,
                  FS_IMPOSE=f"p3-2000/{curve}", FS_COMPUTE_NS=compute_ns, FS_IMAGE=IMAGE,
                  FS_COUNT=2, FS_DILATION=DILATION)
            for curve, mine in blocks.items() for block in mine]


def real_streams(rows, plot, compute_ns, rate):
    """Points of the filter streams; return how far the simulation is from them, at most"""
    image = model.platform("p3-2000")["image_bytes"]
    far = []
    for name, curve in PAPER.items():
        points = []
        for row in waiting(rows).pick(app="synth", FS_IMPOSE=f"p3-2000/{curve}",
                                      FS_COMPUTE_NS=str(compute_ns)).has("partial_us"):
            speed = row["updates_per_s"] * row["image_bytes"] / image
            points.append((speed, row["partial_us"]) if rate else (row["partial_us"], speed))
            block = int(row["FS_BLOCK"])
            law = model.platform("p3-2000")[curve]
            far += [abs(apps.partial_us(law, block, compute_ns) / row["partial_us"] - 1),
                    abs(apps.updates(law, block, image, compute_ns) / speed - 1)]
        plot.line(f"filter streams, {name}", "imposed", points)
    return worst(far)


def guarantee_panel(name, compute_ns, rate):
    @panel(name, lambda full: streams(full) + synthetic(compute_ns, full))
    def make(rows, out):
        out.setup = "Image of 16 MB through three stages of three nodes and a viewer, simulated; " \
            "blocks are powers of two or once and a half of them. Regime: the two numbers " \
            "that the paper gives for each transport are imposed, so it is no evidence for a " \
            "transport. Today: the same simulation with latency and bandwidth measured over the " \
            "simulated NIC. Filter streams: the program of examples/filters on ten hosts, its " \
            "messages as slow as the imposed curve says."
        own = own_curves(rows)
        if own:
            guarantee(out, own, "computed", "today", compute_ns, rate)
        paper = model.platform("p3-2000")
        lines = guarantee(out, {"TCP": paper["tcp"], "SocketVIA": paper["socketvia"]}, "imposed",
                          "regime", compute_ns, rate)
        out.value("simulated", real_streams(rows, out.plots[-1], compute_ns, rate))
        slow, fast, same = lines["TCP"], lines["SocketVIA"], lines["same"]
        if rate:
            out.value("plain", worst(ratios(slow, same).values()))
            out.value("chosen", worst(ratios(slow, fast).values()))
            out.value("ends_tcp" if compute_ns else "ends", slow[-1][0])
            out.value("ends_fast", fast[-1][0])
            return
        at = {n: dict(lines[n]) for n in lines}
        out.value("plain", worst(ratios(same, slow).values()))
        out.value("chosen", worst(ratios(fast, slow).values()))
        out.value("tcp", at["TCP"].get(100, 0) / worst(at["TCP"].values()))
        out.value("fast", at["SocketVIA"].get(100, 0) / worst(at["SocketVIA"].values()))
        both = ratios(fast, slow)
        out.value("loose", both.get(BOUNDS[-1]))
        out.value("tight", both[min(both)])


for figure, spends, by_rate in (("P4-F24", 0, True), ("P4-F25", 18, True), ("P4-F26", 0, False),
                                ("P4-F27", 18, False)):
    guarantee_panel(figure, spends, by_rate)


def mixed(out, curves, kind, side, compute_ns):
    image = model.platform("p3-2000")["image_bytes"]
    plot = out.plot(side, "mixed queries" + (", 18 ns/byte" if compute_ns else ""),
                    "share of queries for the whole image", "mean response (ms)", xlog=False,
                    sizes=False, hlines=[(150, "150 ms")] if side == "regime" else ())
    lines = {}
    for name, curve in curves.items():
        for parts in (0, 8, 64):
            ends = [apps.response_us(curve, f, parts, image, compute_ns) / 1e3 for f in (0, 1)]
            lines[name, parts] = [(f / 10, ends[0] + (ends[1] - ends[0]) * f / 10)
                                  for f in range(0, 11, 2)]
            plot.line(f"{name}, {parts or 'no'} partitions", kind, lines[name, parts])
    return lines


def queries(compute_ns, full):
    """The real filter streams at two fractions; no bound depends on them"""
    if not full:
        return []
    return [count(60, PARTS="filters", FS_APP="synth", FS_WHATS="tcp", FS_QUERY="mixed",
                  FS_FRACTION=fraction, FS_PARTS=64, FS_IMPOSE=f"p3-2000/{curve}",
                  FS_COMPUTE_NS=compute_ns, FS_IMAGE=16 << 20, FS_COUNT=5,
                  FS_DILATION=DILATION)
            for curve in PAPER.values() for fraction in (20, 80)]


def mixed_panel(name, compute_ns):
    @panel(name, lambda full: streams(full) + queries(compute_ns, full))
    def make(rows, out):
        out.setup = "Queries one after the other, for the whole image of 16 MB or for four " \
            "chunks of it, simulated as in P4-F24. Regime: the paper's numbers imposed, no " \
            "evidence for a transport."
        own = own_curves(rows)
        if own:
            mixed(out, {k: own[k] for k in list(own)[:2]}, "computed", "today", compute_ns)
        paper = model.platform("p3-2000")
        lines = mixed(out, {"TCP": paper["tcp"], "SocketVIA": paper["socketvia"]}, "imposed",
                      "regime", compute_ns)
        for label, curve in PAPER.items():
            out.plots[-1].line(f"filter streams, {label}, 64 partitions", "imposed", [
                (int(r["FS_FRACTION"]) / 100, r["response_ms"]) for r in waiting(rows).pick(
                    FS_QUERY="mixed", FS_IMPOSE=f"p3-2000/{curve}",
                    FS_COMPUTE_NS=str(compute_ns)).has("response_ms")])
        out.value("flat", worst(model.spread([y for _, y in lines[n, 0]])
                                for n in ("TCP", "SocketVIA")))
        for check, curve in (("tcp", "TCP"), ("fast", "SocketVIA")):
            x, y = zip(*lines[curve, 64])
            out.value(check, min(1.0, model.interpolate(y, x, 150)))


mixed_panel("P4-F28", 0)
mixed_panel("P4-F29", 18)


def wasted(full):
    return [count(30, PARTS="filters", FS_APP="waste", FS_WHATS="tcp", FS_BLOCK=block,
                  FS_SLOW=slow, FS_IMPOSE=f"p3-2000/{curve}", FS_COMPUTE_NS=18,
                  FS_DILATION=DILATION)
            for curve, block in (("tcp", 16384), ("socketvia", 2048))
            for slow in ((2, 8) if full else (8,))]


@panel("P4-F31", wasted)
def f31(rows, out):
    out.setup = "Three nodes compute 18 ns for a byte, one of them slower by the factor; time " \
        "that a fast node waits for a block of the slow one, simulated. The block of each " \
        "transport is that of perfect pipelining in the paper (imposed)."
    plot = out.plot("regime", "waiting for the slow node", "factor of the slow node",
                    "wait (us)", sizes=False, ylog=True)
    factors = (2, 4, 8)
    lines = {(b, d): [(f, apps.waste_us(b, f, 18, d)) for f in factors]
             for b in (16384, 2048) for d in (False, True)}
    for (block, driven), points in lines.items():
        plot.line(f"{'TCP, 16 KB' if block == 16384 else 'SocketVIA, 2 KB'}, "
                  f"{'demand driven' if driven else 'round robin'}", "imposed",
                  [p for p in points if p[1] > 0])
    for name, block in (("TCP, 16 KB", 16384), ("SocketVIA, 2 KB", 2048)):
        plot.line(f"filter streams, {name}", "imposed", [
            (int(r["FS_SLOW"]), r["wait_ms"] * 1e3) for r in waiting(rows).pick(
                app="waste", FS_BLOCK=str(block)).has("wait_ms")])
    turn = ratios(lines[16384, False], lines[2048, False])
    out.value("ratio", max(turn.values(), key=lambda v: abs(v - 8)))
    out.value("driven", worst(v for b in (16384, 2048)
                              for v in ratios(lines[b, True], lines[b, False]).values()))
