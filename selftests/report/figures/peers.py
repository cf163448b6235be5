# SPDX-License-Identifier: GPL-2.0
"""Ways to move the same bytes between the same hosts: panels, and tables of the overview"""
from panels import Rows, panel, ratios, size_name
from points import count

SIZES = (64, 1024, 4096, 16384, 65536, 1048576)
MTU = 1500


class Peer:
    """A row: what it is called, and what stands in it"""

    def __init__(self, what, name, text, seconds=8, **more):
        self.what, self.name, self.text, self.seconds = what, name, text, seconds
        self.boot = more.get("boot", ())        # options of the virtual machine
        self.kernel = more.get("kernel")        # that of the report if it is None

    def point(self):
        sizes = ",".join(size_name(s) for s in SIZES)
        own = {"KERNEL": self.kernel} if self.kernel else {}
        return count(self.seconds, self.boot, PARTS="peers", WHATS=self.what, MTUS=MTU,
                     SIZES=sizes, LAT_SIZES=sizes, PINGS=16, **own)


MPI = {"boot": ("-P", "netpipe-openmpi")}
# On 6.1 SMC does not come to an end with rxe: see the text of its row
NEWER = {"kernel": "6.12"}
PEERS = (
    Peer("tcp", "TCP", "Sockets of the kernel, one copy at each end, no CRC of its own."),
    Peer("sdp-enhanced/hybrid", "SDP enhanced over iwarp_hybrid",
         "Sockets of the kernel; one copy at each end, with CRC32c and markers, into and out of "
         "the provider's buffers (shared link). The driver is in the kernel, TCP below it."),
    Peer("sdp-basic/hybrid", "SDP basic over iwarp_hybrid",
         "The same sockets over verbs: SDP and the provider copy one after the other, two copies "
         "at each end."),
    Peer("verbs/hybrid", "Send of verbs over iwarp_hybrid",
         "No sockets and no program: the kernel posts Sends from memory that is registered; the "
         "provider copies once at each end, with CRC32c and markers."),
    Peer("sdp/siw", "SDP over siw", "The sockets of SDP over the kernel's software iWARP, "
         "without CRC and markers, one segment at a time, by threads of its own."),
    Peer("rsocket/siw", "rsockets over siw",
         "Sockets of a library: the program copies into its registered ring and out of it, and "
         "asks the kernel for each operation; siw copies to receive; no CRC, no markers."),
    Peer("sdp/rxe", "SDP over rxe", "The sockets of SDP over the kernel's software RoCE: packets "
         "of UDP with a CRC each, acknowledged and repeated by rxe itself."),
    Peer("rsocket/rxe", "rsockets over rxe", "The library's sockets over the same software RoCE."),
    Peer("mpi-tcp", "Open MPI over TCP", "NetPIPE on Open MPI, which uses TCP sockets; both "
         "ranks poll, and yield the processor when they find nothing.", 15, **MPI),
    Peer("mpi/hybrid", "Open MPI over iwarp_hybrid",
         "NetPIPE on Open MPI with libfabric, whose queue pairs the RDMA connection manager "
         "connects; the driver is that of the rows of SDP, both ranks poll and yield.", 15, **MPI),
    Peer("tcp", "TCP, Linux 6.12", "As above, for the rows of the newer kernel.", **NEWER),
    Peer("sdp-enhanced/hybrid", "SDP enhanced over iwarp_hybrid, Linux 6.12", "As above.",
         **NEWER),
    Peer("smc/rxe", "SMC-R over rxe, Linux 6.12",
         "Sockets of the kernel beside a TCP connection that both keep: a copy into a buffer, "
         "RDMA Write into the peer's, a message for each, a copy out of it; rxe below. With "
         "Linux 6.1 SMC waits for ever for completions of rxe when it clears the first link.",
         **NEWER),
)
# Those that cannot be measured, with the reason
ABSENT = (
    ("UCX over iwarp_hybrid", "Not possible: UCX 1.13 has no transport for the device ('rc_verbs' "
     "is not available), as it connects queue pairs by datagrams, which iWARP does not have, and "
     "not by the connection manager. UCX would use TCP, which bypasses the device."),
)
BENCH = "make report FIGURES=PEERS"


def points(_full):
    return [p.point() for p in PEERS]


def measured(rows, peer, field):
    """{size: figure} of one row"""
    mine = Rows(r for r in rows if r.get("PARTS") == "peers" and r.get("WHATS") == peer.what
                and r.get("KERNEL") == peer.kernel)
    return {p[0]: p[1] for p in mine.has(field).curve(field)}


def short(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def cells(mine, tcp, more):
    """By size the figure, and in brackets how much better it is than @tcp"""
    times = ratios(mine.items(), tcp.items()) if more else ratios(tcp.items(), mine.items())
    return [short(mine[s]) + (f" ({times[s]:.2f})" if s in times else "") if s in mine else "–"
            for s in SIZES]


def table(rows, title, field, more, text):
    """A row for each peer, beside TCP on the same kernel"""
    tcp = {p.kernel: measured(rows, p, field) for p in PEERS if p.what == "tcp"}
    found = []
    for peer in PEERS:
        mine = measured(rows, peer, field)
        if mine:
            found.append([peer.name, *cells(mine, tcp[peer.kernel], more)])
    if found:
        found += [[name] + ["–"] * len(SIZES) for name, _ in ABSENT]
    return {"title": title, "rows": found, "columns": ["Transport", *map(size_name, SIZES)],
            "text": text, "command": BENCH}


def tables(rows):
    """Tables of the overview"""
    there = [p for p in PEERS if measured(rows, p, "lat_us") or measured(rows, p, "mbps")]
    how = ("The same bytes between the same two hosts over a veth pair, MTU 1500, by size of the "
           "message. {} In brackets: times as good as TCP on the same kernel; above 1 it is ahead. "
           "One processor does the work of both hosts, and one instruction takes a nanosecond "
           "(T1).")
    return [
        table(rows, "Peers on the same work: one message", "lat_us", False,
              how.format("Half a round trip, in microseconds.")),
        table(rows, "Peers on the same work: a stream", "mbps", True,
              how.format("MB/s in one direction.") + " NetPIPE times a stream at the "
              "receiver alone. With one processor the data is in its buffers by then, so Open "
              "MPI has no figures."),
        {"title": "Peers on the same work: content of the rows",
         "columns": ["Transport", "Content of the row"], "command": BENCH,
         "rows": [[p.name, p.text] for p in there] + ([list(a) for a in ABSENT] if there else []),
         "text": "Copies, checks, processes and the place of the driver; and why a row "
                 "is missing."}]


def draw(out, rows, field, title, unit, **style):
    plot = out.plot("today", f"{title}, veth, MTU {MTU}", "message (bytes)", unit, **style)
    for peer in PEERS:
        plot.line(peer.name, "measured", list(measured(rows, peer, field).items()))


SETUP = "One connection over a veth pair, every component is the hosts'; work of both on one " \
    "processor (T1). Open MPI: NetPIPE, the best of seven runs; the others: sdpbench, the " \
    "median; verbs: test module of the kernel."


def compare(rows, field, size, better, worse):
    """The first peer against the second, each (what, kernel): above 1 if it is better"""
    by = {(p.what, p.kernel): measured(rows, p, field).get(size) for p in PEERS}
    if not by[better] or not by[worse]:
        return None
    return by[better] / by[worse] if field == "mbps" else by[worse] / by[better]


SDP, RSOCKET = ("sdp-enhanced/hybrid", None), ("rsocket/siw", None)
NEW_SDP, SMC = ("sdp-enhanced/hybrid", "6.12"), ("smc/rxe", "6.12")
OPEN_MPI = ("mpi/hybrid", None), ("mpi-tcp", None)


@panel("PEERS-lat", points)
def lat(rows, out):
    out.setup = SETUP
    draw(out, rows, "lat_us", "one message", "half a round trip (us)", ylog=True)
    out.value("rsocket", compare(rows, "lat_us", 64, SDP, RSOCKET))
    out.value("smc", compare(rows, "lat_us", 64, NEW_SDP, SMC))
    out.value("mpi", compare(rows, "lat_us", 64, *OPEN_MPI))


@panel("PEERS-bw", points)
def bw(rows, out):
    out.setup = SETUP
    draw(out, rows, "mbps", "stream", "MB/s")
    out.value("rsocket", compare(rows, "mbps", 65536, SDP, RSOCKET))
    out.value("smc", compare(rows, "mbps", 65536, NEW_SDP, SMC))
