# SPDX-License-Identifier: GPL-2.0
"""Panels of "iWARP with out-of-order support" (P3)"""
import model
from figures.p0 import application, costs, lat_host, streams
from panels import panel, ratios, worst
from points import count, probe

DESIGNS = {"host": "host", "assisted": "assisted", "offload-contig": "offloaded, contiguous",
           "offload-sg": "offloaded, scatter/gather"}
WHATS = [f"sdp-basic/{p}" for p in DESIGNS]
INTERVALS = (512, 1024, 2048, 4096, 8192, 16384, 65536)     # the last one: none
NONE = INTERVALS[-1]
# The paper's MTU is not in its text, but 64 operations of DMA for 16 KB are: with segments
# of 1448 bytes there are 100, because each has headers and a CRC of its own
MTU = 9000
LINES = 1 / 64      # of a byte, if none is in the cache
PIECE = 2048        # bytes that the paper's NIC moves at a time


def designs(full):
    """Through SDP over verbs, by profile"""
    sizes = "1K,4K,16K,64K" if not full else "1,16,64,256,1K,4K,16K,64K,256K"
    return [count(30, PARTS="one", LINK="hnic", WHATS=what, MTUS=1500, SIZES=sizes, FIRST=1,
                  LAT_SIZES="1,1K,4K,16K,64K") for what in WHATS]


TABLES = "kernel"   # crc_driver: the host computes CRC32c by the kernel's eight tables


def tables(_full):
    """As designs(), with the CRC of that time on the host; the simulated NICs keep theirs"""
    return [count(15, PARTS="one", LINK="hnic", WHATS=f"sdp-basic/{p}", MTUS=mtu,
                  MEASURE="-T bw -r 3 -d 12 -S 16K,64K", CRC_DRIVER=TABLES, FIRST=1)
            for mtu in (1500, 9000) for p in ("host", "assisted")]


def counted(_full):
    return costs(WHATS, "64 1024 4096 16384 65536 131072 262144", mtu=MTU) + [probe()]


def present(rows):
    """Prices of this machine"""
    found = rows.pick(part="probe")
    return model.platform("this-machine", found[-1] if found else None)


def iwarp_counts(row):
    """A row of the part "costs" as counts of a message of the layer below SDP: the copies of
    SDP are left out. Of offload-sg the host copies nothing; its SDP copies into the buffer
    that the NIC gathers from."""
    size = row["size"]
    return {"copy_s": size * row["iwarp_copy_tx"], "copy_r": size * row["iwarp_copy_rx"],
            "crc_s": size * row["crc_tx"], "crc_r": size * row["crc_rx"],
            "dma_s": row["dma_ops_per_msg"], "dma_bytes_s": size * row["wire_bytes"],
            "wire_bytes": size * row["wire_bytes"]}


def priced(rows, prices, interval="512", cold=False):
    """{profile: [(size, stages of a message, pieces that follow each other)]}"""
    found = {}
    for profile in DESIGNS:
        mine = rows.pick(part="costs", what=f"sdp-basic/{profile}", mtu=MTU, interval=interval)
        for row in sorted(mine, key=lambda r: r["size"]):
            counts = iwarp_counts(row)
            if cold:
                counts["miss_s"] = counts["copy_s"] * LINES
            found.setdefault(profile, []).append(
                (row["size"], model.stages(counts, prices), max(1, row["size"] // PIECE)))
    return found


def rates(times):
    return {p: [(m, model.bandwidth(t, m)) for m, t, _ in points] for p, points in times.items()}


PRICED = "2003: bytes copied, checksummed and moved by DMA as they were counted over the " \
    "simulated NIC, MTU 9000, below SDP; prices of xeon-2003; a message passes in pieces " \
    "of 2 KB; instructions for a message are not in it, so small ones are not shown."


@panel("P3-F10a", lambda full: designs(full) + counted(full))
def f10a(rows, out):
    out.setup = "Today: through SDP basic, half a round trip less the time of the simulated " \
        "NICs, MTU 1500. " + PRICED
    plot = out.plot("today", "latency through SDP basic", "message (bytes)", "latency (us)",
                    ylog=True)
    one = []
    for profile, name in DESIGNS.items():
        curve = rows.pick(link="hnic", what=f"sdp-basic/{profile}", mtu=1500).has(
            "lat_us").curve(lat_host)
        plot.line(name, "measured", curve)
        one += [p[1] for p in curve if p[0] == 1]
    if len(one) == len(DESIGNS):
        out.value("small", max(one) / min(one))
    times = priced(rows, model.platform("xeon-2003"))
    plot = out.plot("regime", "latency, prices of 2003", "message (bytes)", "latency (us)",
                    ylog=True)
    late = {}
    for profile, points in times.items():
        late[profile] = {m: model.latency(t, round(n)) / 1e3 for m, t, n in points if m >= 1024}
        plot.line(DESIGNS[profile], "computed", list(late[profile].items()))
    if {"host", "assisted", "offload-sg"} <= set(late):
        out.value("host", worst((late["host"][m] / max(late["assisted"][m], late["offload-sg"][m])
                                 for m in late["host"] if m >= 4096), False))
        sizes, ratio = zip(*sorted(ratios(list(late["assisted"].items()),
                                          list(late["offload-sg"].items())).items()))
        out.value("assisted", model.interpolate(sizes, ratio, 8192))


@panel("P3-F10b", lambda full: designs(full) + counted(full) + tables(full))
def f10b(rows, out):
    out.setup = "Today: streams through SDP basic, the time of the simulated NICs taken off, " \
        "work of both hosts (T1), MTU 1500, CRC by instruction. " + PRICED
    plot = out.plot("today", "bandwidth through SDP basic", "message (bytes)", "MB/s")
    now = {}
    for profile, name in DESIGNS.items():
        now[profile] = rows.pick(link="hnic", what=f"sdp-basic/{profile}", mtu=1500,
                                 CRC_DRIVER=None).has(
            "mbps_min").curve("mbps", low="mbps_min", high="mbps_max")
        plot.line(name, "measured", now[profile])
    out.value("today", ratios(now["assisted"], now["host"]).get(65536))
    for profile in ("host", "assisted"):
        plot.line(f"{DESIGNS[profile]}, CRC by tables", "measured", rows.pick(
            what=f"sdp-basic/{profile}", mtu=1500, CRC_DRIVER=TABLES).curve("mbps"))
    for check, mtu in (("table", 1500), ("table9000", 9000)):
        slow = [rows.pick(what=f"sdp-basic/{p}", mtu=mtu, CRC_DRIVER=TABLES).curve("mbps")
                for p in ("assisted", "host")]
        out.value(check, ratios(*slow).get(65536))
    gbps = rates(priced(rows, model.platform("xeon-2003")))
    plot = out.plot("regime", "bandwidth, prices of 2003", "message (bytes)", "Gbit/s")
    for profile, points in gbps.items():
        plot.line(DESIGNS[profile], "computed", [p for p in points if p[0] >= 1024])
    for check, profile in (("host2003", "host"), ("assisted2003", "assisted"),
                           ("sg2003", "offload-sg")):
        out.value(check, dict(gbps.get(profile, ())).get(262144))
    if {"host", "assisted", "offload-sg"} <= set(gbps):
        host, helped, gathered = (dict(gbps[p]) for p in ("host", "assisted", "offload-sg"))
        out.value("order", all(host[m] < gathered[m] < helped[m] for m in host if m >= 4096))


@panel("P3-F10b-cpu", counted)
def f10b_cpu(rows, out):
    out.setup = PRICED + " Share of the time of a stream in which the sender's processor works."
    plot = out.plot("regime", "processor use, prices of 2003", "message (bytes)", "per cent",
                    ymax=110)
    use = {}
    for profile, points in priced(rows, model.platform("xeon-2003")).items():
        use[profile] = {m: 100 * model.share(t) for m, t, _ in points if m >= 1024}
        plot.line(DESIGNS[profile], "computed", list(use[profile].items()))
    if "offload-sg" in use:
        out.value("sg", worst(v for m, v in use["offload-sg"].items() if m >= 4096))
    if {"host", "assisted"} <= set(use):
        out.value("assisted", use["assisted"][65536] - use["host"][65536])


@panel("P3-F11", counted)
def f11(rows, out):
    out.setup = PRICED + " Out of the cache: each line that the host copies from is fetched from " \
        "memory (free price: 100 ns for 64 bytes)."
    now = [rates(priced(rows, present(rows), cold=cold)) for cold in (False, True)]
    plot = out.plot("today", "bandwidth, this machine's prices", "message (bytes)", "Gbit/s")
    for name, gbps in zip(("cached", "not cached"), now):
        for profile in ("host", "assisted", "offload-sg"):
            plot.line(f"{DESIGNS[profile]}, {name}", "computed",
                      [p for p in gbps.get(profile, ()) if p[0] >= 1024])
    prices = model.platform("xeon-2003")
    hot, cold = rates(priced(rows, prices)), rates(priced(rows, prices, cold=True))
    for name, gbps in (("in the cache", hot), ("not in the cache", cold)):
        plot = out.plot("regime", f"data {name}, prices of 2003", "message (bytes)", "Gbit/s",
                        ymax=8)
        for profile, points in gbps.items():
            plot.line(DESIGNS[profile], "computed", [p for p in points if p[0] >= 1024])
    if {"host", "assisted", "offload-sg"} <= set(cold):
        host, helped, gathered = (dict(cold[p]) for p in ("host", "assisted", "offload-sg"))
        out.value("order", all(gathered[m] > helped[m] > host[m] for m in host if m >= 65536))
        out.value("sg", worst(abs(v - 1) for v in ratios(
            cold["offload-sg"], hot["offload-sg"]).values()))


def intervals(full):
    wanted = "512 1024 4096 off" if not full else "512 1024 2048 4096 8192 16384 off"
    today = "1024 4096 off" if not full else "256 1024 2048 4096 8192 16384 off"
    return [count(60, PARTS="costs", LINK="hnic", WHATS=f"sdp-basic/{p}", MTUS=MTU,
                  COSTS_SIZES="16384 65536", COSTS_INTERVALS=wanted)
            for p in ("assisted", "offload-sg", "offload-contig")] + [
        count(90, PARTS="sweep", INTERVALS=today, MTUS=1500, FIRST=1,
              SWEEP_WHATS="sdp-basic/assisted sdp-enhanced/hybrid")] + designs(full) + streams(full)


# The simulated NIC takes DILATION times as long as that of 2003, so that the processor of
# the emulator, which is all hosts, has little part in it
DILATION = 20


def waiting(full):
    prices = model.platform("xeon-2003")
    return [count(60, PARTS="verbs", LINK="hnic", PROFILES="offload-sg", MTUS=MTU,
                  VERBS_TESTS="bw", VERBS_OPS="write", VERBS_SIZES=65536, VERBS_Q=16,
                  VERBS_COUNT=240,
                  INTERVALS_VERBS="512 1024 4096 off" if not full else
                  "512 1024 2048 4096 8192 16384 off",
                  HNIC_SET=f"dma_ns={prices['dma_op_ns'] * DILATION} dma_rate="
                           f"{round(8000 * prices['bus_bytes_per_ns'] / DILATION)}")]


def by_interval(rows, profile, size, prices):
    """[(interval, stages, pieces, operations)]"""
    mine = rows.pick(part="costs", what=f"sdp-basic/{profile}", mtu=MTU, size=size)
    found = {}
    for row in mine:
        at = NONE if row["interval"] == "off" else int(row["interval"])
        found[at] = (at, model.stages(iwarp_counts(row), prices), max(1, size // PIECE),
                     row["dma_ops_per_msg"])
    return [found[k] for k in sorted(found)]


@panel("P3-F13a", intervals)
def f13a(rows, out):
    out.setup = PRICED + " Messages of 16 KB."
    plot = out.plot("regime", "latency by distance of markers, 16 KB", "distance (bytes)",
                    "latency (us)", special={NONE: "none"})
    for profile in ("offload-sg", "offload-contig", "assisted"):
        points = [(at, model.latency(t, round(n)) / 1e3) for at, t, n, _ in by_interval(
            rows, profile, 16384, model.platform("xeon-2003"))]
        plot.line(DESIGNS[profile], "computed", points)
        if profile == "offload-sg" and len(points) > 1:
            out.value("falls", model.monotone([p[1] for p in points], rising=False, slack=0.01))


@panel("P3-F13b", lambda full: intervals(full) + waiting(full))
def f13b(rows, out):
    out.setup = "Today: through SDP, messages of 64 KB, the time of the simulated NICs taken off " \
        "(T1), MTU 1500. " + PRICED
    plot = out.plot("today", "bandwidth by distance of markers, 64 KB", "distance (bytes)", "MB/s",
                    special={NONE: "none"})
    worse = []
    for what, name in (("sdp-basic/assisted", "SDP basic"),
                       ("sdp-enhanced/hybrid", "SDP enhanced")):
        points = {}
        for row in rows.pick(link="hnic", what=what, mtu=1500, size=65536, FIRST="1",
                             CRC_DRIVER=None).has("mbps_min"):
            points[NONE if row["interval"] == "off" else int(row["interval"])] = row["mbps"]
        plot.line(name, "measured", list(points.items()))
        if NONE in points and 512 in points:
            worse.append(points[NONE] / points[512])
    out.value("control", worst(worse))
    plot = out.plot("regime", "bandwidth, prices of 2003", "distance (bytes)", "Gbit/s",
                    special={NONE: "none"})
    moved = {}
    for profile in ("offload-sg", "offload-contig", "assisted"):
        times = by_interval(rows, profile, 65536, model.platform("xeon-2003"))
        points = [(at, model.bandwidth(t, 65536)) for at, t, _, _ in times]
        plot.line(DESIGNS[profile], "computed", points)
        if profile == "offload-sg" and len(points) > 1:
            # the hosts of the run that waits are those of today
            moved = {at: 8 * 65536 / max(t["nic_s"], t["link"]) for at, t, _, _ in times}
            out.value("monotone", model.monotone([p[1] for p in points], slack=0.01))
            rate = dict(points)
            if 512 in rate and NONE in rate:
                out.value("none", rate[NONE] / rate[512])
    waited = {}
    for row in rows.pick(part="verbs", what="verbs-write/offload-sg", test="bw", mtu=MTU):
        if "dma_ns" in row.get("HNIC_SET", ""):
            at = NONE if row["interval"] == "off" else int(row["interval"])
            waited[at] = row["mbps"] * 8 / 1000 * DILATION
    plot.line("scatter/gather, a NIC that waits (T3)", "measured", list(waited.items()))
    out.value("waits", worst(abs(v / moved[at] - 1) for at, v in waited.items() if at in moved))
    counts = {at: n for at, _, _, n in by_interval(rows, "offload-sg", 16384,
                                                  model.platform("xeon-2003"))}
    out.value("ops512", counts.get(512))
    out.value("ops1024", counts.get(1024))


def overlap(name, size, longest):
    @panel(name, counted)
    def make(rows, out):
        out.setup = PRICED + " The sender computes before each message."
        at = [longest * i / 16 for i in range(17)]
        for side, prices in (("today", present(rows)), ("regime", model.platform("xeon-2003"))):
            plot = out.plot(side, f"{size // 1024} KB, computation before each message",
                            "computation (us)", "Gbit/s", xlog=False, sizes=False)
            curves = {}
            for profile, points in priced(rows, prices).items():
                for m, times, _ in points:
                    if m == size:
                        curves[profile] = [model.bandwidth(times, m, c * 1e3) for c in at]
                        plot.line(DESIGNS[profile], "computed", list(zip(at, curves[profile])))
        if {"assisted", "offload-sg"} <= set(curves):
            out.value("crossing", model.crossing(at, curves["assisted"], curves["offload-sg"]))


overlap("P3-F14a", 4096, 32)
overlap("P3-F14b", 131072, 512)


def traffic(name, side, title):
    @panel(name, counted)
    def make(rows, out):
        out.setup = "Computed from counters below SDP, simulated NIC, MTU 9000: a copy whose " \
            "source is not in the cache fetches two lines and writes one back. The memory itself " \
            "is not looked at here, so control structures are not seen."
        plot = out.plot("regime", f"{title}, data not in the cache", "message (bytes)",
                        "cache traffic / network traffic", ymax=5)
        for profile, label in DESIGNS.items():
            mine = rows.pick(part="costs", what=f"sdp-basic/{profile}", mtu=MTU, interval="512")
            points = [(r["size"], 3 * r[f"iwarp_copy_{side}"]) for r in mine]
            plot.line(label, "computed", points)
            check = {"host": "host", "assisted": "assisted", "offload-sg": "sg"}.get(profile)
            big = [y for m, y in points if m >= 16384]
            if check and big:
                out.value(check, max(big, key=lambda v: abs(v - (0 if check == "sg" else 3))))


traffic("P3-F12a", "tx", "sender")
traffic("P3-F12b", "rx", "receiver")


UNITS = {"8K": 8192, "1M": 1 << 20}
CACHE = 512 << 10       # of the machines of the paper


def surfaces(unit):
    def wanted(full):
        return [application("iso", unit, f"sdp-basic/{p}", mb, MTUS=MTU)
                for p in ("host", "assisted", "offload-sg")
                for mb in ((16, 32) if full else (4,))] + counted(full)
    return wanted


def per_unit(rows, profile, size, prices):
    """ns that a unit of work takes to the next node and of computation there

    A unit that the cache does not hold is copied from memory.
    """
    times = priced(rows, prices, cold=size > CACHE).get(profile, ())
    if len(times) < 2:
        return None
    # a unit passes in messages of what streams send at a time
    message = min(size, times[-1][0])
    late = model.interpolate([m for m, _, _ in times],
                             [model.latency(t, round(n)) for _, t, n in times], message)
    compute = model.platform("p3-2000")["compute_ns"] / prices["ghz"]
    return late * size / message + compute * size


def iso_surface(name, unit):
    @panel(name, surfaces(unit))
    def make(rows, out):
        out.setup = f"Iso-surface on four hosts at a bridge, units of work of {unit}. Today: " \
            "over SDP basic, simulated NICs, MTU 9000; time in which one processor does the work " \
            "of all hosts, that of the NICs taken off (T1). " + PRICED + " The filters wait for " \
            "each other, as those of the paper: a unit is sent, then computed on, 18 ns for a " \
            "byte by the clock of 1 GHz; one that is larger than the cache is copied from memory."
        plot = out.plot("today", f"iso-surface over SDP basic, units of {unit}", "data (MB)",
                        "time (ms)", xlog=False, sizes=False)
        late = {}
        for profile in ("host", "assisted", "offload-sg"):
            plot.line(DESIGNS[profile], "measured", rows.pick(
                part="filters", app="iso", FS_WHATS=f"sdp-basic/{profile}", FS_UOW=unit).curve(
                lambda r: r["elapsed_ms"] - r.get("nic_ms", 0), lambda r: int(r["FS_DATA_MB"])))
            late[profile] = per_unit(rows, profile, UNITS[unit], model.platform("xeon-2003"))
        if None in late.values():
            return
        plot = out.plot("regime", f"a hop of units of {unit}, prices of 2003", "data (MB)",
                        "time (s)", xlog=False, sizes=False)
        for profile, took in late.items():
            plot.line(DESIGNS[profile], "computed", [
                (mb, took * (mb << 20) / UNITS[unit] / 1e9) for mb in (128, 256, 512, 1024)])
        helped = late["assisted"] < late["offload-sg"] < late["host"]
        out.value("order", helped if unit == "8K" else late["offload-sg"] < late["assisted"])


iso_surface("P3-F15a", "8K")
iso_surface("P3-F15b", "1M")
