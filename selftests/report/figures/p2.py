# SPDX-License-Identifier: GPL-2.0
"""Panels of "Flow control of the Sockets Direct Protocol" (P2)"""
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
