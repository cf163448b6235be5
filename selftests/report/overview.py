# SPDX-License-Identifier: GPL-2.0
"""The overview: which transport for which size and load, and what each component costs."""
import model
from figures import peers
from panels import Rows, ratios, size_name

SIZES = (1, 64, 1024, 4096, 16384, 65536, 262144, 1048576)
# load, what has to be true of a row, figure, is more better
LOADS = (
    ("one message, simulated NIC", {"link": "hnic", "interval": "512"}, "lat_us", False),
    ("stream, simulated NIC", {"link": "hnic", "interval": "512"}, "mbps", True),
    ("one message, virtual Ethernet", {"link": "veth"}, "lat_us", False),
    ("stream, virtual Ethernet", {"link": "veth"}, "mbps", True),
    ("large sends, zero copy possible", {"link": "zcopy-nic"}, "mbps", True),
)


def plain(rows):
    """Those in which nothing but the transport and the markers differ, on one clock"""
    return rows.pick(lane="count", HNIC_SET=None, SDP_SET=None, TCP_SET=None, MEASURE=None)


def figure(row, field):
    """The figure of a row, without the time of the simulated NICs"""
    if field not in row:
        return None
    return row[field] - row.get("nic_us", 0) if field == "lat_us" else row[field]


def load_row(rows, load, want, field, more, mtu):
    """One load: by size the ratio of the best to TCP, and which is the best"""
    mine = rows.pick(mtu=mtu, **want).has(field)
    curves = {}
    for what in dict.fromkeys(r["what"] for r in mine):
        curves[what] = {p[0]: p[1] for p in mine.pick(what=what).curve(lambda r: figure(r, field))}
    tcp = curves.pop("tcp", {})
    cells = []
    for size in SIZES:
        others = {w: c[size] for w, c in curves.items() if size in c}
        if size not in tcp or not others:
            cells.append("")
            continue
        best = (max if more else min)(others, key=others.get)
        rel = others[best] / tcp[size] if more else tcp[size] / others[best]
        cells.append(f"{rel:.2f} {best.removeprefix('sdp-')}")
    return [f"{load}, MTU {mtu}", *cells] if any(cells) else None


def advice(rows):
    found = [load_row(rows, *load, mtu) for load in LOADS
             for mtu in sorted({r["mtu"] for r in rows if "mtu" in r})]
    found = [r for r in found if r]
    used = [0] + [n for n in range(1, len(SIZES) + 1) if any(r[n] for r in found)]
    columns = ["Load", *(size_name(s) for s in SIZES)]
    return {"title": "Which transport for which message and load",
            "rows": [[r[n] for n in used] for r in found], "columns": [columns[n] for n in used],
            "text": "By size of the message: how many times as fast as TCP the best of the others "
                    "is, and its name (basic and enhanced: SDP; a profile of the device follows). "
                    "Below 1, take TCP. Measured in instructions of both hosts on one processor "
                    "(T1): the ratio says which costs less, not what a machine reaches. TCP is "
                    "the layer below SDP here: over a NIC that does no more than Ethernet, SDP "
                    "cannot be cheaper than what it stands on.",
            "command": "make report FIGURES=\"P0-F2 P4-F19\""}


def cost(rows, dear, cheap, interval_dear="512", interval_cheap="512", **want):
    """Instructions a byte that @dear takes more than @cheap, hosts only"""
    both = [rows.pick(link="hnic", size=65536, what=w, interval=i, **want).has(
        "host_ns_per_byte").at("host_ns_per_byte", 65536)
        for w, i in ((dear, interval_dear), (cheap, interval_cheap))]
    return both[0] - both[1] if None not in both else None


def counters(rows, what, interval="512", **want):
    mine = rows.pick(part="costs", what=what, interval=interval, size=65536, **want)
    return mine[0] if mine else None


def traded(rows, dear, cheap, interval_dear="512", interval_cheap="512", **want):
    """Bytes copied and checksummed for a byte, both ends, that @dear has more"""
    both = [counters(rows, w, i, **want)
            for w, i in ((dear, interval_dear), (cheap, interval_cheap))]
    if None in both:
        return None, None

    def copies(row):
        return sum(row[f] for f in ("sdp_copy_tx", "sdp_copy_rx", "iwarp_copy_tx",
                                    "iwarp_copy_rx"))
    return (copies(both[0]) - copies(both[1]),
            sum(both[0][f] - both[1][f] for f in ("crc_tx", "crc_rx")))


# component, with it, without it, intervals of markers, MTU
ABLATION = (
    ("CRC by the host instead of the NIC", "sdp-basic/host", "sdp-basic/assisted", "512", "512",
     9000),
    ("buffers of its own, credits and headers instead of the integrated buffer",
     "sdp-basic/assisted", "sdp-enhanced/hybrid", "512", "512", 9000),
    ("markers every 512 bytes, inserted by a copy", "sdp-basic/assisted", "sdp-basic/assisted",
     "512", "off", 1500),
    ("markers every 512 bytes, in gaps of the buffer", "sdp-enhanced/hybrid",
     "sdp-enhanced/hybrid", "512", "off", 1500),
    ("gathering by the NIC instead of a copy by the host", "sdp-basic/offload-sg",
     "sdp-basic/assisted", "512", "512", 1500),
)


def ablation(rows):
    old = model.platform("xeon-2003")
    found = []
    for name, dear, cheap, with_, without, mtu in ABLATION:
        instructions = cost(rows, dear, cheap, with_, without, mtu=mtu)
        copies, crc = traded(rows, dear, cheap, with_, without, mtu=mtu)
        if instructions is None:
            continue
        nanoseconds = lines = None
        if copies is not None:
            nanoseconds = copies * old["copy_ns"] + crc * old["crc_ns"]
            lines = copies * 2 * 1024 / 64
        found.append([name, f"{dear}, {with_}", f"{cheap}, {without}", mtu, f"{instructions:+.2f}",
                      "–" if copies is None else f"{copies:+.2f}",
                      "–" if crc is None else f"{crc:+.2f}",
                      "–" if lines is None else f"{lines:+.0f}",
                      "–" if nanoseconds is None else f"{nanoseconds:+.2f}"])
    return {"title": "Cost of a component", "rows": found,
            "columns": ["Component", "With", "Without", "MTU", "instr/byte", "copies", "CRC",
                        "lines/KB", "ns/byte, 2003"],
            "text": "Difference of two measurements of 64 KB messages, simulated NIC, "
                    "both hosts: instructions a byte (measured), bytes copied and checksummed for "
                    "a byte (counted), cache lines fetched and written back for 1 KB and time on a "
                    "Xeon of 2003 (computed from the counters).",
            "command": "make report FIGURES=\"P0-F2 P3\""}


def tables(rows):
    """The tables at the top of the page"""
    mine = plain(rows)
    # the peers are compared by themselves
    return [advice(Rows(r for r in mine if r.get("PARTS") != "peers")), *peers.tables(mine),
            ablation(mine)]


def loggp(rows):
    """{transport: parameters} from streams and round trips over the simulated NIC, T1.

    Without counts of each side, the hosts' work is shared as the programs' times are.
    """
    found = {}
    rows = plain(rows).pick(link="hnic", mtu=1500, interval="512")
    for what in dict.fromkeys(r["what"] for r in rows):
        mine = rows.pick(what=what)
        stream = mine.has("host_ns_per_byte").curve("host_ns_per_byte")
        lat = mine.has("lat_us").curve(lambda r: r["lat_us"] - r.get("nic_us", 0))
        if len(stream) < 2 or not lat:
            continue
        sizes = [p[0] for p in stream]
        split = ratios(mine.curve("cpu_tx_ns_per_byte"), mine.curve(
            lambda r: r["cpu_tx_ns_per_byte"] + r["cpu_rx_ns_per_byte"]
            if "cpu_tx_ns_per_byte" in r else None))
        times = []
        for size, per_byte, *_ in stream:
            part = split.get(size, 0.5)
            times.append({"host_s": per_byte * size * part, "host_r": per_byte * size * (1 - part),
                          "nic_s": 0.0, "link": 0.0, "nic_r": 0.0})
        found[f"today/{what}"] = {**model.loggp(sizes, times), "latency_us": lat[0][1],
                                  "method": "T1, shared as the programs' times"}
    return found
