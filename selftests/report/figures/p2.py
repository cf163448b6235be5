# SPDX-License-Identifier: GPL-2.0
"""Panels of "Flow control of the Sockets Direct Protocol" (P2)"""
import model
from panels import panel, ratios, worst
from points import count

POLICIES = {"sdp-alone/hybrid": "credit, literature", "sdp-credit/hybrid": "credit",
            "sdp-rdma/hybrid": "rdma", "sdp-vwin/hybrid": "NIC-assisted",
            "sdp-transport/hybrid": "transport"}
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


@panel("P2-F4b", controls)
def f4b(rows, out):
    out.setup = "64 KB of buffers at each end, simulated NIC, MTU 1500, a reader that drains; " \
        "both ends on one processor. Left: no delay, the reader preempts the sender. Right: a " \
        "path on which a packet takes 500 us, so that the sender has to wait."
    for delay, side in ((0, "today"), (500, "regime")):
        plot = out.plot(side, f"bandwidth, {delay} us of delay", "message (bytes)", "MB/s",
                        ylog=True)
        for what, name in POLICIES.items():
            plot.line(name, "measured", rows.pick(link="fc-delay", delay_us=delay, what=what).has(
                "mbps_min").curve("mbps", low="mbps_min", high="mbps_max"))
    late = [rows.pick(link="fc-delay", delay_us=500, what=w).has("mbps_min").curve("mbps")
            for w in (RDMA, LITERATURE)]
    out.value("delayed", worst((v for k, v in ratios(*late).items() if 256 <= k <= 4096), False))
    out.value("alone", no_delay(rows).pick(what=LITERATURE).has("msgs_per_send").at(
        "msgs_per_send", 256))


EIGHT = "rx_bufs_min=11 rx_bufs_max=11"     # eight of them for data
FLOWS = {"sdp-literature/hybrid": "credit, literature", "sdp-credit/hybrid": "credit",
         "sdp-rdma-app/hybrid": "rdma, served by the program", "sdp-rdma/hybrid": "rdma",
         "sdp-vwin/hybrid": "NIC-assisted", "sdp-vring/hybrid": "NIC-assisted ring"}


def flow(what, measure, seconds=30, size=8192, link="rate=16000 delay=2"):
    """A run of sdpbench with N x S bytes of buffers"""
    memory = 8 * size
    return count(seconds, PARTS="one", LINK="hnic", WHATS=what, MTUS=1500, MEASURE=measure,
                 HNIC_SET=link, RX_BUF=size, SDP_SET=f"rx_buf_size={size} {EIGHT} "
                 f"rmem=4096,{memory},{memory} wmem=4608,{memory},{memory}")


def bursts(_full):
    amounts = "sleep:0,100,200,500,1000,2000,5000"
    return [flow(what, f"-T progress -S 4K -r 1 -n 8 --burst 100 --compute {amounts}", 40)
            for what in ("sdp-literature/hybrid", "sdp-rdma-app/hybrid", "sdp-rdma/hybrid",
                         "sdp-vwin/hybrid")]


@panel("P2-F5", bursts)
def f5(rows, out):
    out.setup = "A burst of 100 messages of 4 KB each way, then both ends compute (sleep), as " \
        "T3; 8 buffers of 8 KB, simulated link of 16 Gb/s and 2 us."
    plot = out.plot("today", "time of an iteration", "computation (us)", "iteration (us)",
                    xlog=False, sizes=False)
    curves = {}
    for what, name in FLOWS.items():
        curves[what] = rows.pick(what=what, test="progress").curve("iter_us", "compute_us")
        plot.line(name, "measured", curves[what])

    def slope(what):
        late = [p for p in curves[what] if p[0] >= 1000]
        return (late[-1][1] - late[0][1]) / (late[-1][0] - late[0][0]) if len(late) > 1 else None
    credit, app = "sdp-literature/hybrid", "sdp-rdma-app/hybrid"
    begin = [dict((p[0], p[1]) for p in curves[w]).get(0) for w in ("sdp-rdma/hybrid", credit)]
    if None not in begin:
        out.value("none", begin[0] / begin[1])
    slopes = [slope(w) for w in (credit, "sdp-rdma/hybrid", "sdp-vwin/hybrid")]
    if None not in slopes:
        out.value("slope", max(slopes, key=lambda v: abs(v - 1)))
    out.value("app", slope(app))
    both = [[p[1] for p in curves[w]] for w in (credit, app)]
    if both[0] and len(both[0]) == len(both[1]):
        out.value("crossing", model.crossing([p[0] for p in curves[app]], *both))


def filled(size):
    def wanted(full):
        sizes = "64,512,2K,8K,32K" if not full else "1,16,64,256,512,1K,2K,4K,8K,16K,32K"
        return [flow(what, f"-T util -S {sizes} -r 1 -d 20 --first", 30, size)
                for what in ("sdp-literature/hybrid", "sdp-credit/hybrid", "sdp-rdma/hybrid",
                             "sdp-vwin/hybrid", "sdp-vring/hybrid")]
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


def first(_full):
    return [flow(what, "-T bw -S 256,1K,4K -r 3 -d 12 --first", 30)
            for what in ("sdp-literature/hybrid", "sdp-rdma/hybrid", "sdp-vwin/hybrid")]
