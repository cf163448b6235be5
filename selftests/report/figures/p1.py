# SPDX-License-Identifier: GPL-2.0
"""Panels of "Micro-benchmarks of cluster interconnects" (P1), for our interconnects"""
import model
from figures.p0 import NAMES, streams
from panels import panel, ratios, worst
from points import count

DEVICES = {"hybrid": "hybrid", "nocrc": "hybrid, no CRC", "siw": "siw", "siw-crc": "siw, CRC"}


def verbs(full):
    """Verbs of the kernel over veth, 16 under way"""
    kinds = ("hybrid", "nocrc", "siw", "siw-crc") if full else ("hybrid", "siw-crc")
    return [count(40, PARTS="verbs", VERBS_KINDS=kind, MTUS=1500) for kind in kinds]


@panel("P1-F2", verbs)
def f2(rows, out):
    out.setup = "Verbs of the kernel over virtual Ethernet, MTU 1500, half a round trip, all by " \
        "the host, on one processor (T1)."
    plot = out.plot("today", "latency of Send", "message (bytes)", "latency (us)", ylog=True)
    rises = []
    for kind, name in DEVICES.items():
        curve = rows.pick(link="verbs", what=f"verbs-send/{kind}").has("lat_us").curve("lat_us")
        plot.line(name, "measured", curve)
        if len(curve) > 1:
            rises.append(model.monotone([p[1] for p in curve], slack=0.02))
    if rises:
        out.value("monotone", all(rises))


@panel("P1-F3a", verbs)
def f3a(rows, out):
    out.setup = "Verbs of the kernel over virtual Ethernet, MTU 1500, 16 under way, work of both " \
        "hosts on one processor (T1)."
    plot = out.plot("today", "bandwidth, 16 under way", "message (bytes)", "MB/s")
    rises = []
    for kind, name in DEVICES.items():
        for op in ("send", "write", "read"):
            curve = rows.pick(link="verbs", what=f"verbs-{op}/{kind}").has("mbps").curve("mbps")
            plot.line(f"{op.capitalize()}, {name}", "measured", curve)
            if len(curve) > 1:
                rises.append(model.monotone([p[1] for p in curve], slack=0.02))
    if rises:
        out.value("monotone", all(rises))


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
    out.value("copied", rows.pick(link="hnic", what="sdp-enhanced/hybrid", mtu=9000).at(
        "host_ns_per_byte", 262144))
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
