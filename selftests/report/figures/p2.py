# SPDX-License-Identifier: GPL-2.0
"""Panels of "Flow control of the Sockets Direct Protocol" (P2)"""
import model
from figures.p0 import one_hash
from panels import panel, ratios, worst
from points import count

POLICIES = {"sdp-alone/hybrid": "credit, literature", "sdp-credit/hybrid": "credit",
            "sdp-rdma/hybrid": "rdma", "sdp-vwin/hybrid": "NIC-assisted",
            "sdp-transport/hybrid": "transport"}
LITERATURE_8 = "sdp-literature/hybrid"      # with 8 messages under way
LINK16 = "rate=16000 delay=2"
LITERATURE, RDMA, VWIN = "sdp-alone/hybrid", "sdp-rdma/hybrid", "sdp-vwin/hybrid"


def controls(full):
    """Small sends at full speed, simulated NIC, no delay and 500 us"""
    sizes = "256 1024 4096" if not full else "1 16 64 256 512 1024 2048 4096 8192 16384 32768"
    lat = "1 256 4096" if not full else "1 4 16 64 256 1024 4096 16384 32768"
    return [count(60, PARTS="fc", FC_DEVICES="", FC_DELAY=delay, FC_SIZES=sizes, FC_LAT_SIZES=lat,
                  FC_POLICIES=policy)
            for delay in ((0, 500) if not full else (0, 2, 10, 50, 200, 500))
            for policy in ("alone", "credit", "rdma", "vwin")]


def no_delay(rows):
    return rows.pick(link="fc-delay", delay_us=0)


@panel("P2-F4a", controls)
def f4a(rows, out):
    out.setup = "64 KB of buffers at each end, simulated NIC, MTU 1500, half a round trip (T1)."
    mine = no_delay(rows)
    plot = out.plot("today", "latency", "message (bytes)", "latency (us)")
    curves = {}
    for what, name in POLICIES.items():
        curves[what] = mine.pick(what=what).has("lat_us").curve("lat_us")
        plot.line(name, "measured", curves[what])
    for check, what in (("rdma", RDMA), ("vwin", VWIN)):
        out.value(check, worst(ratios(curves[what], curves["sdp-credit/hybrid"]).values()))


EIGHT = "rx_bufs_min=11 rx_bufs_max=11"     # eight of them for data


def buffers(size, send=None):
    """Settings of eight receive buffers of @size, and as much to send, or @send bytes"""
    memory = 8 * size
    send = send or memory
    return f"rx_buf_size={size} {EIGHT} rmem=4096,{memory},{memory} wmem=4608,{send},{send}"


def flow(what, measure, seconds=30, size=8192, first=1, send=None):
    """A run of sdpbench with eight receive buffers of @size; the sender is not preempted by
    its reader, as on a machine of its own"""
    return count(seconds, PARTS="one", LINK="hnic", WHATS=what, MTUS=1500, MEASURE=measure,
                 HNIC_SET=LINK16, RX_BUF=size, FIRST=first, SDP_SET=buffers(size, send))


def first(_full):
    return [flow(what, f"-T bw -S {size} -r 3 -d 12", 25) for size in ("256", "1K", "4K")
            for what in (LITERATURE_8, "sdp-credit/hybrid", RDMA, VWIN)]


@panel("P2-F4b", lambda full: first(full) + controls(full))
def f4b(rows, out):
    out.setup = "64 KB of buffers at each end, simulated NIC, MTU 1500, a reader that drains; " \
        "both ends on one processor. Left: no delay, the reader preempts the sender. Right: a " \
        "path on which a packet takes 500 us, so that the sender has to wait. Middle: the sender " \
        "is not preempted by its reader (it has a real-time priority), as if each had a " \
        "processor; simulated link of 16 Gb/s and 2 us; 8 receive buffers of 8 KB, credit " \
        "with 8 messages under way, virtual windows of 8 KB."
    for delay, side in ((0, "today"), (500, "regime")):
        plot = out.plot(side, f"bandwidth, {delay} us of delay", "message (bytes)", "MB/s",
                        ylog=True)
        for what, name in POLICIES.items():
            plot.line(name, "measured", rows.pick(link="fc-delay", delay_us=delay, what=what).has(
                "mbps_min").curve("mbps", low="mbps_min", high="mbps_max"))
    ahead = rows.pick(link="hnic", FIRST="1", test="bw", RX_BUF="8192")
    plot = out.plot("regime", "bandwidth, sender first", "message (bytes)", "MB/s", ylog=True)
    curves = {}
    for what, name in {**POLICIES, LITERATURE_8: "credit, literature"}.items():
        curves[what] = ahead.pick(what=what).curve("mbps", low="mbps_min", high="mbps_max")
        plot.line(name, "measured", curves[what])
    gain = ratios(curves[RDMA], curves[LITERATURE_8])
    for check, size in (("rdma256", 256), ("rdma1k", 1024), ("rdma4k", 4096)):
        out.value(check, gain.get(size))
    out.value("vwin", worst((v for m, v in ratios(curves[VWIN], curves[RDMA]).items()
                             if m <= 1024), False))
    out.value("joined", ahead.pick(what=RDMA).has("msgs_per_send").at("msgs_per_send", 256))
    late = [rows.pick(link="fc-delay", delay_us=500, what=w).has("mbps_min").curve("mbps")
            for w in (RDMA, LITERATURE)]
    out.value("delayed", worst((v for k, v in ratios(*late).items() if 256 <= k <= 4096), False))
    out.value("alone", ahead.pick(what=LITERATURE_8).has("msgs_per_send").at(
        "msgs_per_send", 256))


FLOWS = {"sdp-literature/hybrid": "credit, literature", "sdp-credit/hybrid": "credit",
         "sdp-rdma-app/hybrid": "rdma, served by the program", "sdp-rdma/hybrid": "rdma",
         "sdp-vwin/hybrid": "NIC-assisted"}


# A connection queues 64 messages, and credit as in the literature joins none; each of them
# may take a buffer of its own
BURST = 60
BURST_ROOM = 4 << 20
# us of computation that are longer than a burst takes
LONG = 20000


def bursts(_full):
    """Neither end preempts the other, and a burst has room at the sender: as in the paper, a
    program has sent its burst before the peer has read it"""
    amounts = f"sleep:0,1000,2000,5000,10000,{LONG},{2 * LONG}"
    return [flow(what, f"-T progress -S 4K -r 1 -n 8 --burst {BURST} --compute {amounts}", 40,
                 first="both", send=BURST_ROOM)
            for what in (LITERATURE_8, "sdp-rdma-app/hybrid", RDMA, VWIN)]


@panel("P2-F5", bursts)
def f5(rows, out):
    out.setup = f"A burst of {BURST} messages of 4 KB each way (100 in the paper, but a " \
        "connection queues 64), then both ends compute (sleep), as T3; 8 receive buffers of 8 " \
        "KB, credit with 8 messages under way, room for a burst at the sender, simulated link of " \
        "16 Gb/s and 2 us. Both ends and the NICs share one processor, on which both bursts take " \
        "5 to 9 ms, so the slopes are those of longer computation."
    plot = out.plot("today", "time of an iteration", "computation (us)", "iteration (us)",
                    xlog=False, sizes=False)
    curves = {}
    for what, name in FLOWS.items():
        curves[what] = rows.pick(what=what, test="progress").curve("iter_us", "compute_us")
        plot.line(name, "measured", curves[what])

    def slope(what):
        late = [p for p in curves[what] if p[0] >= LONG]
        return (late[-1][1] - late[0][1]) / (late[-1][0] - late[0][0]) if len(late) > 1 else None
    credit, app = LITERATURE_8, "sdp-rdma-app/hybrid"
    begin = [dict((p[0], p[1]) for p in curves[w]).get(0) for w in ("sdp-rdma/hybrid", credit)]
    if None not in begin:
        out.value("none", begin[0] / begin[1])
    slopes = [slope(w) for w in (credit, "sdp-rdma/hybrid", "sdp-vwin/hybrid")]
    if None not in slopes:
        out.value("slope", max(slopes, key=lambda v: abs(v - 1)))
    out.value("app", slope(app))
    both = [[p[1] for p in curves[w]] for w in (credit, app)]
    if both[0] and len(both[0]) == len(both[1]):
        at = model.crossing([p[0] for p in curves[app]], *both)
        out.value("crossing", -1 if at is None else at)


def filled(size):
    def wanted(full):
        sizes = "64,512,2K,8K,32K" if not full else "1,16,64,256,512,1K,2K,4K,8K,16K,32K"
        return [flow(what, f"-T util -S {sizes} -r 1 -d 80", 30, size)
                for what in (LITERATURE_8, "sdp-credit/hybrid", RDMA, VWIN)]
    return wanted


def utilisation(name, size):
    @panel(name, filled(size))
    def make(rows, out):
        out.setup = f"8 buffers of {size // 1024} KB; every 20 us the reserved bytes of the " \
            "receiver that hold data, mean over a stream; the sender is not preempted by its " \
            "reader. Simulated link of 16 Gb/s and 2 us."
        plot = out.plot("today", "use of the receive buffers", "message (bytes)", "per cent",
                        ymax=105)
        used = {}
        for what, label in FLOWS.items():
            mine = rows.pick(what=what, test="util", RX_BUF=str(size))
            used[what] = {r["size"]: r["util_pct"] for r in mine}
            plot.line(label, "measured", list(used[what].items()))
        credit = used["sdp-literature/hybrid"]
        from_512 = {w: worst((v for m, v in used[w].items() if m >= 512), False)
                    for w in ("sdp-rdma/hybrid", "sdp-vwin/hybrid")}
        out.value("rdma", from_512["sdp-rdma/hybrid"])
        if size == 8192:
            out.value("credit", worst(v - 100 * m / size for m, v in credit.items() if m < size))
            out.value("full", worst((v for m, v in credit.items() if m >= size), False))
            out.value("vwin", from_512["sdp-vwin/hybrid"])
        else:
            out.value("credit", credit.get(8192))


utilisation("P2-F6a", 8192)
utilisation("P2-F6b", 32768)


def groups(filters, count_of, nodes):
    return [count(90, PARTS="filters", FS_APP="groups", FS_GROUPS=count_of, FS_FILTERS=filters,
                  FS_NODES=nodes, FS_WHATS=what, FS_BLOCK="1K", HNIC_SET=LINK16,
                  FS_IMAGE=1 << 20, FS_DATA_MB=1, SDP_SET=buffers(8192))
            for what in (LITERATURE_8, RDMA, VWIN)]


def application_panel(name, title, filters, count_of, nodes):
    @panel(name, lambda full: groups(filters, count_of, nodes))
    def make(rows, out):
        out.setup = f"{title}: {count_of} groups of {filters} filters on {nodes} hosts at a " \
            "bridge, blocks of 1 KB, 8 receive buffers of 8 KB, simulated links of 16 Gb/s " \
            "and 2 us."
        names = [FLOWS[w] for w in (LITERATURE_8, RDMA, VWIN)]
        plot = out.plot("today", title, "flow control", "time (ms)", xlog=False, names=names)
        took = {}
        for n, what in enumerate((LITERATURE_8, RDMA, VWIN)):
            mine = rows.pick(part="filters", app="groups", FS_WHATS=what,
                             FS_FILTERS=str(filters)).has("elapsed_ms")
            if mine:
                took[what] = sum(r["elapsed_ms"] for r in mine) / len(mine)
                plot.line(FLOWS[what], "measured", [(n, took[what])])
        if len(took) == 3:
            out.value("rdma", took[RDMA] / took[LITERATURE_8])
            out.value("vwin", took[VWIN] / took[RDMA])
        out.value("same", one_hash(rows.pick(part="filters", app="groups",
                                             FS_FILTERS=str(filters)), took))


application_panel("P2-F7a", "Microscope's five filters", 5, 2, 5)
application_panel("P2-F7b", "Iso-surface's four filters", 4, 2, 4)
