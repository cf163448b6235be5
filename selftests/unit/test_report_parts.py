#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Parts of the report that need no plots: points and their store, what a virtual machine
says, verdicts, and the files of bounds"""
import json
import os
import re
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "../.."))
sys.path.insert(0, os.path.join(TOP, "selftests/report"))
sys.path.append(os.path.join(TOP, "selftests/bench"))
# pylint: disable=wrong-import-position
import figures      # noqa: E402
import filters      # noqa: E402
import judge        # noqa: E402
import keep         # noqa: E402
import lanes        # noqa: E402
import overview     # noqa: E402
import panels       # noqa: E402
import points       # noqa: E402
from figures import p0, p1, p3, peers   # noqa: E402

CHECKS = []


def same(what, got, wanted):
    CHECKS.append((what, got == wanted, f"{got}, not {wanted}"))


def transports():
    """Which transport is the best: not of another lane, nor with other settings"""
    def row(what, mbps, lane="count", **more):
        return {"lane": lane, "link": "hnic", "mtu": 1500, "interval": "512", "what": what,
                "size": 65536, "mbps": mbps, **more}
    rows = [row("tcp", 100), row("sdp-basic/host", 80), row("sdp-basic/hybrid", 70),
            row("sdp-enhanced/hybrid", 900, "native"),
            row("sdp-rdma/hybrid", 500, HNIC_SET="rate=16000"),
            row("sdp-basic/hybrid", 500, SDP_SET="rx_buf_size=8192")]
    table = overview.tables(panels.Rows(rows))[0]
    same("loads with data", [r[0] for r in table["rows"]],
         ["stream, simulated NIC, MTU 1500"])
    same("the best transport", table["rows"][0][1:], ["0.80 basic/host"])


def peer_rows():
    """Rows of peers, with figures that are easy to divide, and one that is none of them"""
    def row(what, size, **more):
        return {"lane": "count", "PARTS": "peers", "WHATS": what, "what": what, "link": "veth",
                "mtu": 1500, "size": size, **more}
    return panels.Rows([
        row("tcp", 64, lat_us=10.0), row("rsocket/siw", 64, lat_us=40.0),
        row("sdp-enhanced/hybrid", 64, lat_us=20.0), row("tcp", 65536, mbps=900.0),
        row("sdp-enhanced/hybrid", 65536, mbps=450.0), row("rsocket/siw", 65536, mbps=90.0),
        row("tcp", 65536, mbps=800.0, KERNEL="6.12"),
        row("smc/rxe", 65536, mbps=80.0, KERNEL="6.12"),
        row("sdp-enhanced/hybrid", 65536, mbps=400.0, KERNEL="6.12"),
        {**row("tcp", 64, lat_us=1.0), "PARTS": "one"}])


def other_transports():
    """The tables of the peers: figures, ratios to TCP, those that are not there"""
    lat, stream, who = peers.tables(peer_rows())
    none = ["–"] * (len(peers.SIZES) - 1)
    absent = [name for name, _ in peers.ABSENT]
    same("peers: one message", lat["rows"], [
        ["TCP", "10.0 (1.00)", *none], ["SDP enhanced over iwarp_hybrid", "20.0 (0.50)", *none],
        ["rsockets over siw", "40.0 (0.25)", *none], *[[a, "–", *none] for a in absent]])
    at64k = 1 + peers.SIZES.index(65536)
    same("peers: a stream, each beside TCP on its kernel", {
        r[0]: r[at64k] for r in stream["rows"] if r[0] not in absent}, {
        "TCP": "900 (1.00)", "SDP enhanced over iwarp_hybrid": "450 (0.50)",
        "rsockets over siw": "90.0 (0.10)", "TCP, Linux 6.12": "800 (1.00)",
        "SDP enhanced over iwarp_hybrid, Linux 6.12": "400 (0.50)",
        "SMC-R over rxe, Linux 6.12": "80.0 (0.10)"})
    same("peers: a sentence for each row, and for who cannot be measured",
         [r[0] for r in who["rows"] if r[1]], [r[0] for r in stream["rows"]])
    same("peers: each row has as many cells as there are columns",
         {len(r) - len(t["columns"]) for t in (lat, stream, who) for r in t["rows"]}, {0})
    same("peers: nothing without data", [t["rows"] for t in peers.tables(panels.Rows())],
         [[], [], []])
    same("peers: they do not compete for the advice", overview.tables(panels.Rows(
        r for r in peer_rows() if r["PARTS"] == "peers"))[0]["rows"], [])
    for name, wanted in (("PEERS-lat", {"rsocket": 2.0}), ("PEERS-bw", {"rsocket": 5.0,
                                                                         "smc": 5.0})):
        mine = panels.Panel(name, panels.PANELS[name].function, None)
        mine.function(peer_rows(), mine)
        same(f"{name}: numbers", mine.values, wanted)


def kernels():
    """A point that names its kernel is run on that, with others of the same one"""
    def point(**more):
        return points.count(8, (), PARTS="peers", WHATS="tcp", **more)
    usual, newer = point(), point(KERNEL="6.12")
    same("the kernel of the report", usual.kernel("6.1"), "6.1")
    same("its own kernel", newer.kernel("6.1"), "6.12")
    same("the command names it", newer.command(),
         "make bench PARTS=peers WHATS=tcp KERNEL=6.12")
    same("options of the machine are in the command", points.count(8, ("-P", "x"), PARTS="peers")
         .command(), "make bench VM_ARGS='-P x' PARTS=peers")
    store = types.SimpleNamespace(seconds=lambda p: p.seconds)
    same("no machine has points of two kernels", sorted(
        [{p.kernel("6.1") for p in lot} for lot in lanes.boots([usual, newer], 2, store)],
        key=str), [{"6.1"}, {"6.12"}])


def one_kept():
    """A report of some panels, kept beside those of an earlier one"""
    old = {"panels": {"A": "ok", "B": "ok"}, "commits": ["1"], "provenance": {"cpu": "old"},
           "claims": [{"claim": "A-N1", "value": 1}], "checks": [{"check": "A/c", "value": 1}],
           "overview": [{"title": "t", "rows": [1]}, {"title": "u", "rows": [2]}],
           "entries": [{"panel": "A"}, {"panel": "B", "why": ""}]}
    new = {"panels": {"B": "not ok", "C": "ok"}, "commits": ["2"], "provenance": {"cpu": "new"},
           "claims": [], "checks": [{"check": "C/c", "value": 3}],
           "overview": [{"title": "u", "rows": [4]}, {"title": "v", "rows": [5]}],
           "entries": [{"panel": "B", "why": "x"}, {"panel": "C"}]}
    same("kept: the new ones replace those of their name, the others stay",
         keep.merged(old, new),
         {"panels": {"A": "ok", "B": "not ok", "C": "ok"}, "commits": ["1", "2"],
          "provenance": {"cpu": "old"}, "later": [{"cpu": "new", "panels": ["B", "C"]}],
          "claims": old["claims"],
          "checks": [{"check": "A/c", "value": 1}, {"check": "C/c", "value": 3}],
          "overview": [{"title": "t", "rows": [1]}, {"title": "u", "rows": [4]},
                       {"title": "v", "rows": [5]}],
          "entries": [{"panel": "A"}, {"panel": "B", "why": "x"}, {"panel": "C"}]})
    same("kept: the first time", keep.merged({}, new), new)
    third = {**new, "panels": {"C": "ok"}, "provenance": {"cpu": "third"}}
    same("kept: each run has the panels that are its own",
         keep.merged(keep.merged(old, new), third)["later"],
         [{"cpu": "new", "panels": ["B"]}, {"cpu": "third", "panels": ["C"]}])


def verdicts():
    check = {"text": "a ratio", "min": 1.2, "max": 2}
    reason = {"P/c": {"reason": "known"}}

    def verdict(value, differs):
        return judge.judge_check("P/c", check, value, differs)["verdict"]
    same("within the bounds", verdict(1.5, {}), "ok")
    same("at a bound", verdict(1.2, {}), "ok")
    same("below", verdict(1.1, {}), "not ok")
    same("above", verdict(2.1, {}), "not ok")
    same("missed for a known reason", verdict(1.1, reason), "differs")
    same("holds, but is listed as different", verdict(1.5, reason), "not ok")
    same("no number", verdict(None, reason), "missing")
    anchor = judge.judge_check("P/c", {**check, "anchor": True}, 1.5, {})
    same("an anchor is no evidence", anchor["reason"], "anchor, no evidence")
    same("bounds in words", judge.bound(check), "1.2 to 2")
    drawn = panels.Panel("P", None, None)
    spec = {"check": {"c": check}}
    drawn.value("c", 1.5)
    same("nothing is drawn", judge.judge_panel("P", spec, drawn, {})["verdict"], "missing")
    drawn.plot("today", "t", "x", "y").line("s", "measured", [(1, 2)])
    same("a panel that holds", judge.judge_panel("P", spec, drawn, {})["verdict"], "ok")
    drawn.value("c", 1.0)
    same("a panel that does not", judge.judge_panel("P", spec, drawn, {})["verdict"], "not ok")
    same("no code", judge.judge_panel("P", spec, None, {})["verdict"], "missing")
    claim = judge.judge_claim("P-N1", {"section": "1", "text": "", "checks": ["P/c"]},
                              {"P/c": judge.judge_check("P/c", check, 1.5, {})})
    same("a claim has the number of its check", (claim["verdict"], claim["value"]), ("ok", 1.5))


def files():
    """All 50 panels and all claims; what they name exists"""
    claims = judge.load("claims.toml")
    differs = judge.load("differs.toml")["differs"]
    same("names in claims.toml and differs.toml", judge.unknown(claims, differs, {}), [])
    same("a panel without an entry is found",
         judge.unknown(claims, {"P0-F2a/none": {}}, {"P9-F1": 1}),
         ["differs.toml names the check P0-F2a/none", "panel P9-F1 has no entry in claims.toml"])
    same("all result panels of the papers",
         len([n for n in claims["panel"] if not n.startswith("PEERS-")]), 50)
    same("each check has a text", [c for p in claims["panel"].values()
                                   for c in p.get("check", {}).values() if not c.get("text")], [])


def settings():
    """A setting that the guest does not read would be in a panel without being in its figures"""
    figures.load()
    guest = ""
    for folder in ("selftests/bench", "selftests/lib"):
        for name in os.listdir(os.path.join(TOP, folder)):
            if name.endswith((".sh", ".py")):
                with open(os.path.join(TOP, folder, name), encoding="utf-8") as file:
                    guest += file.read()
    known = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", guest)) | points.LABELS
    # filters.py reads FS_NAME by env("NAME")
    known |= {"FS_" + n for n in re.findall(r'env\("([A-Z_]+)"', guest)}
    for full in (False, True):
        mine = [p for panel in panels.PANELS.values() for p in panel.points(full)
                if p.lane == "count"]
        same("the guest reads each setting of a point",
             {n for p in mine for n in p.settings} - known, set())
    policies = {p.settings["WHATS"] for p in panels.PANELS["P2-F4b"].points(False)
                if "WHATS" in p.settings}
    same("flow controls are compared with buffers of the literature, with the same memory",
         {p.settings["SDP_SET"] for p in panels.PANELS["P2-F4b"].points(False)
          if "WHATS" in p.settings},
         {"rx_buf_size=8192 rx_bufs_min=11 rx_bufs_max=11 rmem=4096,65536,65536 "
          "wmem=4608,65536,65536"})
    same("four of them", len(policies), 4)


def empty():
    """A panel without data has no number, and says so instead of breaking down"""
    for name, panel in panels.PANELS.items():
        # those of P4 simulate, which takes a package
        if name.startswith("P4"):
            continue
        mine = panels.Panel(name, panel.function, panel.wants)
        mine.function(panels.Rows(), mine)
        same(f"{name} without data", (mine.values, mine.drawn()), ({}, []))


def used(text):
    """Numbers of the panel P2-F6a for rows of hand-made utilisation"""
    rows = panels.Rows({"what": what, "test": "util", "RX_BUF": "8192", "size": size,
                        "util_pct": value}
                       for what, values in text.items() for size, value in values.items())
    mine = panels.Panel("P2-F6a", panels.PANELS["P2-F6a"].function, None)
    mine.function(rows, mine)
    return mine.values


def utilisation():
    # 512 of 8192 bytes are 6.25 per cent, 2048 are 25
    values = used({"sdp-literature/hybrid": {512: 7.25, 2048: 28.0, 8192: 97.0, 32768: 95.0},
                   "sdp-rdma/hybrid": {64: 10.0, 512: 85.0, 2048: 90.0},
                   "sdp-vwin/hybrid": {64: 10.0, 512: 82.0, 2048: 81.0}})
    same("utilisation: above size / S, of full buffers, from 512 bytes on",
         values, {"credit": 3.0, "full": 95.0, "rdma": 85.0, "vwin": 81.0})


def series():
    rows = panels.Rows([{"size": 4, "what": "a", "v": 2.0}, {"size": 1, "what": "a", "v": 1.0},
                        {"size": 4, "what": "a", "v": 4.0}, {"size": 4, "what": "b"}])
    same("a curve: mean and range", rows.pick(what="a").curve("v"),
         [(1, 1.0, 1.0, 1.0), (4, 3.0, 2.0, 4.0)])
    same("of several values", len(rows.pick(what={"a", "b"})), 4)
    same("one size", rows.at("v", 4), 3.0)
    same("no such size", rows.at("v", 5), None)
    same("ratios", panels.ratios([(1, 2), (2, 4), (3, 1)], [(1, 4), (2, 2)]), {1: 0.5, 2: 2.0})
    try:
        panels.Series("s", "guessed", [])
        kind = "taken"
    except ValueError:
        kind = "refused"
    same("a series is measured, computed or imposed", kind, "refused")


def said(store, lines):
    """The rows that a lane keeps of the output of a guest"""
    lot = [points.count(PARTS="one", WHATS="x"), points.count(PARTS="one", WHATS="y")]
    report = types.SimpleNamespace(store=store, progress=lanes.Progress(store, lot, 1))
    lane = lanes.CountLane(report)
    lane.collect(lot, [line.replace("KEY0", lot[0].key).replace("KEY1", lot[1].key)
                       for line in lines], "the log")
    return lot, lane.failures


def kept(folder):
    store = points.Store(TOP, folder, "6.1")
    lot, failures = said(store, [
        "noise", "POINT-BEGIN KEY0", 'BENCH {"size": 1, "mbps": 2}', "POINT-END KEY0 0",
        "POINT-BEGIN KEY1", 'BENCH {"size": 1, "mbps": 3}'])
    same("a point that has ended is kept", store.get(lot[0])["rows"], [{"size": 1, "mbps": 2}])
    same("a point during which the guest died is not kept", store.get(lot[1]), None)
    same("a point during which the guest died is named", failures,
         {lot[1].key: "the virtual machine ended early; see the log"})
    again = points.Store(TOP, folder, "6.1")
    same("a kept point is there the next time", again.fresh(lot[0]), True)
    other = points.Store(TOP, folder, "6.12")
    same("a kept point is not for another kernel", other.fresh(lot[0]), False)
    same("a kept point of another kernel can be drawn", other.get(lot[0])["rows"],
         [{"size": 1, "mbps": 2}])
    lot, failures = said(store, ["POINT-BEGIN KEY1", "BENCH-FAILED setup",
                                 'BENCH {"size": 1}', "POINT-END KEY1 1"])
    same("a measurement that failed is not kept", (store.get(lot[1]), failures[lot[1].key]),
         (None, "setup"))
    lot, failures = said(store, ["POINT-BEGIN KEY1", "sdpbench: no server", "BENCH-FAILED one",
                                 "BENCH-FAILED two", "POINT-END KEY1 1"])
    same("the sentence of the program is named", failures[lot[1].key],
         "one (sdpbench: no server); two")


def cache():
    said_so = ["BENCH {}", "b: 2.000 bytes fetched, 1.500 written back per unit",
               "neither: 9.000 bytes fetched, 9.000 written back per unit",
               "a: 1.000 bytes fetched, 0.250 written back per unit",
               "5.000 accesses, 12.000 bytes fetched, 10.750 written back per unit"]
    same("traffic of both hosts' caches", lanes.traffic(said_so),
         {"accesses": 5.0, "fetched": 12.0, "written": 10.75, "traffic_b": 3.5,
          "traffic_a": 1.25})
    same("traffic of one cache for both hosts", lanes.traffic(said_so[-1:]),
         {"accesses": 5.0, "fetched": 12.0, "written": 10.75})


def overlap():
    """Work of 1000 us for a message that the link takes 2000 us for: bandwidth is down to
    0.97 at 2000 / 0.97 - 1000 = 1061.9 us of computation"""
    def run(*amounts, late=0):
        curve = [(c, max(2000, c + 1000 + late * (c > 500))) for c in amounts]
        return p1.break_off(curve + [(3000, 4000)], 2000)
    same("a break as the model has it", round(run(0, 1061, 1063), 3), 0)
    same("work that only shows below full load, 200 us", round(run(0, 800, 900, late=200)), 10)
    same("bandwidth that never falls", p1.break_off([(0, 2000), (900, 2000)], 2000), None)


def surfaces():
    """A unit of work is as late as its messages, then computed on: prices of 1 ns for a byte
    copied and for a byte on the bus, a link of 8 Gbit/s"""
    prices = {"ghz": 3.0, "cpi": 1, "copy_ns": 1, "crc_ns": 0, "line_ns": 64, "dma_op_ns": 0,
              "bus_bytes_per_ns": 1, "link_gbps": 8}
    rows = panels.Rows({
        "part": "costs", "what": "sdp-basic/host", "mtu": 9000, "interval": "512", "size": size,
        "iwarp_copy_tx": 1, "iwarp_copy_rx": 0, "crc_tx": 0, "crc_rx": 0, "dma_ops_per_msg": 0,
        "wire_bytes": 1} for size in (4096, 16384))
    # pieces of 2 KB through three stages of 2048 ns each: (3 + pieces - 1) x 2048; 6 ns a byte
    # 4 KB: 4 x 2048, 16 KB: 10 x 2048, 8 KB on the line between: 6 x 2048
    same("8 KB, in the cache", round(p3.per_unit(rows, "host", 8192, prices)),
         6 * 2048 + 6 * 8192)
    # copied from memory the host takes 2 ns a byte: (2 + 1 + 1 + 7 x 2) x 2048, in messages of
    # 16 KB
    same("1 MB, out of the cache", round(p3.per_unit(rows, "host", 1 << 20, prices)),
         (4 + 7 * 2) * 2048 * 64 + 6 * (1 << 20))
    same("nothing counted", p3.per_unit(rows, "assisted", 8192, prices), None)


def hashes():
    rows = panels.Rows([{"what": "a", "hash": "1"}, {"what": "a", "hash": "1"},
                        {"what": "b", "hash": "1"}, {"what": "c", "hash": "2"}, {"what": "d"}])
    same("one picture", p0.one_hash(rows, "ab"), 1)
    same("two pictures", p0.one_hash(rows, "abc"), 0)
    same("a transport without a picture", p0.one_hash(rows, "ad"), None)
    same("nothing measured for one", p0.one_hash(rows, "ae"), None)


def depends():
    lane = points.DEPENDS["count"]
    same("a point of the filter streams depends on their sources",
         points.inputs(points.count(PARTS="filters")), (*lane, "examples/filters"))
    same("others do not", points.inputs(points.count(PARTS="fc")), tuple(lane))


def twice():
    lot = [points.count(PARTS="one", WHATS=n) for n in range(200)]
    twins = [(p, points.again(p)) for p in lot]
    pairs = [(p, t) for p, t in twins if t]
    same("about one of ten is measured twice", 10 <= len(pairs) <= 30, True)
    same("with the same settings in another boot",
         {(p.settings == t.settings, p.boot == t.boot, p.key == t.key) for p, t in pairs},
         {(True, False, False)})
    same("how far two runs are apart",
         round(points.apart([{"mbps": 100}, {"lat_us": 3}], [{"mbps": 101}, {"lat_us": 2}]), 3), 0.5)


def damaged(folder):
    store = points.Store(TOP, folder, "6.1")
    point = points.count(PARTS="one", WHATS="x")
    store.put(point, [{"a": 1}], 2)
    same("settings are quoted for a shell",
         points.count(MEASURE="-r 3 -S 1").words(), "'MEASURE=-r 3 -S 1'")
    name = [n for n in os.listdir(folder) if n.startswith(point.key)][0]
    path = os.path.join(folder, name)
    same("nothing half written is left", [n for n in os.listdir(folder) if ".new" in n], [])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    json.loads(text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:len(text) // 2])
    try:
        points.Store(TOP, folder, "6.1")
        error = ""
    except points.Trouble as err:
        error = str(err)
    same("a damaged point: one sentence that says what to do",
         error.startswith(path) and "delete it" in error and "\n" not in error, True)


def no_space():
    try:
        points.write("/dev/null/x", "text")
        error = ""
    except points.Trouble as err:
        error = str(err)
    same("an error of writing says what to do", "make room or set BUILD" in error, True)


def sent():
    """Lines of sdpstat -s: those of other counters, and empty ones, do not count"""
    sums = {"tx_data_msgs": 0, "tx_bytes": 5}
    for line in ("tx_data_msgs          7  messages with payload sent", "", "tx_ctl 3  others",
                 "tx_bytes            100  payload bytes sent"):
        filters.add_counter(sums, line)
    same("counters of the filter streams", sums, {"tx_data_msgs": 7, "tx_bytes": 105})


def quick():
    """The estimates of the quick set: two virtual machines at a time, after the build"""
    wanted = {p.key: p for panel in panels.PANELS.values() for p in panel.points(False)}
    twins = [t for t in map(points.again, wanted.values()) if t]
    minutes = sum(p.seconds for p in [*wanted.values(), *twins]) / 60
    same(f"the quick set takes an hour at most ({minutes:.0f} min of one processor, 5 to build)",
         minutes / 2 + 5 <= 60, True)


def main():
    sys.stdout.flush()
    sent()
    transports()
    other_transports()
    kernels()
    one_kept()
    verdicts()
    files()
    settings()
    empty()
    utilisation()
    quick()
    series()
    hashes()
    depends()
    twice()
    cache()
    overlap()
    surfaces()
    # what the parts say themselves is not part of the protocol
    with open(os.devnull, "w", encoding="ascii") as null, tempfile.TemporaryDirectory() as a, \
            tempfile.TemporaryDirectory() as b:
        out, sys.stdout = sys.stdout, null
        kept(a)
        damaged(b)
        sys.stdout = out
    no_space()
    print(f"TAP version 13\n1..{len(CHECKS)}")
    for number, (what, good, why) in enumerate(CHECKS, 1):
        print(f"{'ok' if good else 'not ok'} {number} - report: {what}")
        if not good:
            print(f"# {why}")
    return 0 if all(good for _, good, _ in CHECKS) else 1


sys.exit(main())
