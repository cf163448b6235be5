# SPDX-License-Identifier: GPL-2.0
"""Panels of "Sockets Direct Protocol for hybrid network stacks" (P0)"""
import model
from panels import panel, ratios, worst
from points import count, native, profile

PAIR = ("sdp-enhanced/hybrid", "sdp-basic/assisted")
NAMES = {"tcp": "TCP", "sdp-enhanced/hybrid": "SDP enhanced", "sdp-basic/assisted": "SDP basic",
         "sdp-basic/hybrid": "SDP basic, hybrid", "sdp-basic/host": "SDP basic, host",
         "sdp-enhanced/host": "SDP enhanced, host"}
SHARED = "Simulated NIC, markers every 512 bytes; work of both hosts on one processor (T1), " \
    "where the sender is not preempted by its reader."


def streams(full):
    """Bandwidth and latency by size, shared by P0-F2, P3-F10 and P4-F19 and F20"""
    whats = ["tcp", "sdp-enhanced/hybrid", "sdp-basic/assisted", "sdp-basic/host"]
    sizes, pings = "64,1K,4K,16K,64K,256K", "1,64,1K,4K,16K,64K"
    if full:
        whats += ["sdp-basic/hybrid", "sdp-enhanced/host"]
        sizes, pings = "1,4,16,64,256,1K,4K,16K,64K,256K", "1,4,16,64,256,1K,4K,16K,64K"
    return [count(30, PARTS="one", LINK="hnic", WHATS=what, MTUS=mtu, SIZES=sizes, FIRST=1,
                  LAT_SIZES=pings) for mtu in (1500, 9000) for what in whats]


def costs(whats, sizes="64 1024 4096 16384 65536 262144", **more):
    """Counters by size: what a stream copies, checksums and fetches"""
    return [count(20, PARTS="costs", LINK="hnic", WHATS=what, MTUS=more.get("mtu", 1500),
                  COSTS_SIZES=sizes, COSTS_INTERVALS=more.get("intervals", "512"))
            for what in whats]


def lat_host(row):
    """Latency without the time of the NICs' code"""
    return row["lat_us"] - row.get("nic_us", 0)


@panel("P0-F2a", lambda full: streams(full) + costs(PAIR))
def f2a(rows, out):
    out.setup = SHARED + " Latency is half a round trip, less the time of the simulated NICs."
    for mtu in (1500, 9000):
        plot = out.plot("today", f"latency, MTU {mtu}", "message (bytes)", "latency (us)",
                        ylog=True)
        for what, name in NAMES.items():
            plot.line(name, "measured",
                      rows.pick(link="hnic", what=what, mtu=mtu).has("lat_us").curve(lat_host))
    gain = ratios(*(rows.pick(link="hnic", what=w, mtu=1500).has("lat_us").curve(lat_host)
                    for w in PAIR))
    out.value("each", worst(gain.values()))
    out.value("one", gain.get(1))
    out.value("mean", model.geomean(gain.values()) if gain else None)


@panel("P0-F2b", lambda full: streams(full) + costs(PAIR) + [
    native(240, PROFILES="assisted hybrid", SIZES="4096 65536", LAT_SIZES="1", MTUS="1500",
           INTERVALS="", REPS=8)])
def f2b(rows, out):
    out.setup = SHARED + " The time of the simulated NICs is taken off. Native: ratio of the " \
        "hosts' processor time, median and quartiles of the turns."
    for mtu in (1500, 9000):
        plot = out.plot("today", f"bandwidth, MTU {mtu}", "message (bytes)", "MB/s")
        for what, name in NAMES.items():
            plot.line(name, "measured", rows.pick(link="hnic", what=what, mtu=mtu).has(
                "mbps_min").curve("mbps", low="mbps_min", high="mbps_max"))
    gain = ratios(*(rows.pick(link="hnic", what=w, mtu=1500).has("mbps_min").curve("mbps")
                    for w in PAIR))
    out.value("from4k", worst((v for k, v in gain.items() if k >= 4096), False))
    out.value("at64k", gain.get(65536))
    timed = [rows.pick(what=w, mtu=1500).has("elapsed_ns_per_byte").curve("host_ns_per_byte")
             for w in PAIR]
    fast = ratios(timed[1], timed[0])
    plot = out.plot("today", "enhanced over basic", "message (bytes)",
                    "bandwidth, ratio", hlines=[(1, "equal")])
    plot.line("native lane", "measured", list(fast.items()))
    plot.line("count lane", "measured", [p for p in gain.items() if p[0] >= 4096])
    out.value("native", fast.get(65536))
    regime_bandwidth(rows, out)


def regime_bandwidth(rows, out):
    """Cost of copies on the machines of the paper, TCP on the NIC"""
    prices = model.platform("xeon-2003")
    plot = out.plot("regime", "Xeon of 2003, TCP on the NIC: copies and DMA only",
                    "message (bytes)", "Gbit/s")
    curves = []
    for what in PAIR:
        points = []
        for row in rows.pick(part="costs", what=what, mtu=1500, interval="512"):
            points.append((row["size"], model.bandwidth(
                model.stages(sdp_counts(row), prices), row["size"])))
        plot.line(NAMES[what], "computed", points)
        curves.append(points)
    out.value("regime", ratios(*curves).get(65536))


def sdp_counts(row):
    """A row of the part "costs" as counts of a message, with the copies of SDP"""
    size = row["size"]
    return {"copy_s": size * (row["sdp_copy_tx"] + row["iwarp_copy_tx"]),
            "copy_r": size * (row["sdp_copy_rx"] + row["iwarp_copy_rx"]),
            "crc_s": size * row["crc_tx"], "crc_r": size * row["crc_rx"],
            "dma_s": row["dma_ops_per_msg"], "dma_bytes_s": size * row["wire_bytes"],
            "wire_bytes": size * row["wire_bytes"]}


def cached(_full):
    return [profile(WHAT=what, TEST="bw", MTU=9000, SIZE=65536, LINK="veth", CACHE=1)
            for what in ("tcp", "sdp-basic/hybrid", "sdp-enhanced/hybrid")]


# As in the paper, buffers go round in a circle that is larger than the cache: so much is
# under way on a path on which a packet takes a millisecond
CIRCLE = {"HNIC_SET": "delay=1000",
          "SDP_SET": "rmem=4096,4194304,4194304 wmem=4608,1048576,1048576",
          "TCP_SET": "tcp_rmem=4096,8388608,8388608 tcp_wmem=4096,8388608,8388608"}


def observed(full):
    """By the model of a cache for each host"""
    sizes = (4096, 16384, 65536, 262144) if full else (16384, 65536)
    return [profile(70, WHAT=what, TEST="bw", MTU=9000, SIZE=size, LINK="hnic", CACHE=1, ENDS=1,
                    **CIRCLE) for what in PAIR for size in sizes]


def moved(full):
    return costs(PAIR) + costs(PAIR, mtu=9000) + cached(full) + observed(full)


@panel("P0-F3a", moved)
def f3a(rows, out):
    traffic(rows, out, "transmit", "tx", 0)
    looked_at(rows, out, "transmit", "b", (4, 2))


@panel("P0-F3b", moved)
def f3b(rows, out):
    traffic(rows, out, "receive", "rx", 1)
    looked_at(rows, out, "receive", "a", (3, 1))


def looked_at(rows, out, title, end, wanted):
    """Lines between a host's cache and its memory, as a model of the cache counts them"""
    plot = out.plot("regime", f"{title}, a cache of 512 KB for each host",
                    "message (bytes)", "cache traffic / network traffic", ymax=8)
    for what, check, about in zip(PAIR, ("observed_enhanced", "observed_basic"),
                                  wanted[::-1]):
        curve = rows.pick(part="cache", LINK="hnic", what=what).has(f"traffic_{end}").curve(
            f"traffic_{end}")
        plot.line(NAMES[what], "measured", curve)
        big = [p[1] for p in curve if p[0] >= 16384]
        if big:
            out.value(check, max(big, key=lambda v: abs(v - about)))


def traffic(rows, out, title, side, less):
    """Each copy fetches its source and writes back its destination; what the receiving
    program has in its cache need not be written back."""
    out.setup = "Simulated NIC, markers every 512 bytes. Computed from counters of bytes copied: " \
        f"2 x copies{' - 1' if less else ''}. Measured: lines that a model of the cache of each " \
        "host fetches and writes back, the NIC's accesses go to memory; MTU 9000, a packet takes " \
        "1 ms, so that more is under way than the cache holds."
    for mtu in (1500, 9000):
        plot = out.plot("regime", f"{title}, MTU {mtu}, private buffers not in the cache",
                        "message (bytes)", "cache traffic / network traffic", ymax=8)
        for what in PAIR:
            plot.line(NAMES[what], "computed", [
                (r["size"], 2 * (r[f"sdp_copy_{side}"] + r[f"iwarp_copy_{side}"]) - less)
                for r in rows.pick(part="costs", what=what, mtu=mtu, interval="512")])
    for what, check in ((PAIR[0], "enhanced"), (PAIR[1], "basic")):
        mine = rows.pick(part="costs", what=what, mtu=1500, interval="512")
        big = [2 * (r[f"sdp_copy_{side}"] + r[f"iwarp_copy_{side}"]) - less
               for r in mine if r["size"] >= 16384]
        out.value(check, worst(big))
    seen = rows.pick(part="cache", LINK="veth")
    names = [n for n in ("TCP", "SDP enhanced", "SDP basic, hybrid")
             if any(NAMES[r["what"]] == n for r in seen)]
    plot = out.plot("today", "both hosts in one cache of 512 KB, 64 KB messages, veth",
                    "transport", "bytes between cache and memory / byte", xlog=False, names=names)
    for label, fields in (("fetched", ("fetched",)), ("fetched and written back",
                                                      ("fetched", "written"))):
        plot.line(label, "measured", [(names.index(NAMES[r["what"]]), sum(r[f] for f in fields))
                                      for r in seen])
    total = {r["what"]: r["fetched"] + r["written"] for r in seen}
    if {"sdp-basic/hybrid", "sdp-enhanced/hybrid"} <= set(total):
        out.value("together", total["sdp-basic/hybrid"] / total["sdp-enhanced/hybrid"])


def application(app, unit, what, size, **more):
    """A filter application over SDP on four hosts"""
    return count(60, PARTS="filters", FS_APP=app, FS_WHATS=what, FS_UOW=unit, FS_DATA_MB=size,
                 **more)


def sizes_mb(full):
    return (16, 32, 64, 128) if full else (2, 4)


def one_hash(mine, whats):
    """1 if the rows of all of @whats have one hash, None if one has none"""
    found = [{r.get("hash") for r in mine.pick(what=what)} for what in whats]
    if not found or {None} in found or set() in found:
        return None
    return int(len(set().union(*found)) == 1)


def relayed(rows, out, title, size):
    """Time of the busiest node on the machines of the paper, which relays all data"""
    prices = model.platform("xeon-2003")
    # of a machine of 1 GHz
    compute = model.platform("p3-2000")["compute_ns"] / prices["ghz"]
    plot = out.plot("regime", f"{title}, prices of 2003, {compute:g} ns of computation for a byte",
                    "data (MB)", "time of the busiest node (s)", xlog=False, sizes=False)
    per_byte = []
    for what in PAIR:
        mine = sorted(rows.pick(part="costs", what=what, mtu=1500, interval="512"),
                      key=lambda r: r["size"])
        if len(mine) < 2:
            return
        per_byte.append(model.interpolate([r["size"] for r in mine], [model.relay(
            model.stages(sdp_counts(r), prices), r["size"], compute) / r["size"] for r in mine],
            size))
        plot.line(NAMES[what], "computed", [(mb, per_byte[-1] * (mb << 20) / 1e9)
                                            for mb in (128, 256, 512, 1024)])
    out.value("regime", per_byte[0] / per_byte[1])


def application_panel(name, app, unit, title):
    whats = (*PAIR, "tcp")

    @panel(name, lambda full: [application(app, unit, w, mb) for w in whats
                               for mb in sizes_mb(full)] + costs(PAIR))
    def make(rows, out):
        out.setup = f"{title} on four hosts at a bridge, units of work of {unit}, simulated " \
            "NICs, MTU 1500; time in which one processor does the work of all hosts, that of the " \
            "NICs taken off (T1). 2003: the busiest node receives, computes and sends each byte; " \
            "copies as counted by size of a message, priced; the computation that the papers " \
            "give for one byte, on a machine of 1 GHz, by the clock of 3 GHz; instructions for " \
            "a message are not in it."
        plot = out.plot("today", f"{title}, units of {unit}", "data (MB)", "time (ms)",
                        xlog=False, sizes=False)
        curves = {}
        for what in whats:
            curves[what] = rows.pick(part="filters", app=app, FS_WHATS=what, FS_UOW=unit).curve(
                lambda r: r["elapsed_ms"] - r.get("nic_ms", 0), lambda r: int(r["FS_DATA_MB"]))
            plot.line(NAMES[what], "measured", curves[what])
        out.value("today", worst(ratios(curves[PAIR[0]], curves[PAIR[1]]).values()))
        out.value("same", one_hash(rows.pick(part="filters", app=app, FS_UOW=unit), whats))
        relayed(rows, out, title, int(unit[:-1]) << 10)


application_panel("P0-F4a", "scope", "1K", "Virtual microscope")
application_panel("P0-F4b", "iso", "8K", "Iso-surface")
