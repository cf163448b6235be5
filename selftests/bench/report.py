#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py JSON SIDES < LOG: tables and goals from the lines of guest.sh.

SIDES is what the emulator counted for the rows of the part "sides".
Checks the goals, writes rows and goals to the file JSON. Exit status 1: a goal
was missed, 2: something did not work or a figure for a goal is missing.
Goals are checked for the parts that were run. With PARTIAL in the environment
not all rows were to be measured, so a figure may be missing.
"""
import json
import os
import sys

import report_sdp
import report_verbs

SIZES = {1: "1 B", 64: "64 B", 256: "256 B", 1024: "1 KB", 4096: "4 KB", 16384: "16 KB",
         65536: "64 KB", 262144: "256 KB", 1048576: "1 MB"}


class Log:
    """Output of the guest"""

    def __init__(self, lines):
        self.kernel = None
        self.failures = []
        self.rows = {}      # (link, what, mtu, interval, size): figures
        self.append = []
        self.account = []
        self.conns = []
        self.rxmap = []
        self.sides = []
        self.qps = []
        self.verbs = []
        self.more = []      # rows of other parts, and those that vary more than the size
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if word == "BENCH-KERNEL":
                self.kernel = rest
            elif word == "BENCH-FAILED":
                self.failures.append(rest)
            elif word == "BENCH":
                self.add(json.loads(rest))

    def add(self, row):
        part = row.pop("part", None)
        if part == "append":
            self.append.append(row)
        elif part == "account":
            self.account.append(row)
        elif part == "conn":
            self.conns.append(row)
        elif part == "rxmap":
            self.rxmap.append(row)
        elif part == "sides":
            self.sides.append(row)
        elif part == "qps":
            self.qps.append(row)
        elif part == "verbs":
            self.verbs.append(row)
        elif part or row.get("test", "bw") not in ("bw", "lat") or \
                not set(row).isdisjoint(("window", "buffers", "reuse", "set")):
            self.more.append(row)
        else:
            key = tuple(row[k] for k in ("link", "what", "mtu", "interval", "size"))
            # bandwidth and latency of one size become one row
            old = self.rows.setdefault(key, {})
            # of two measurements (TCP) the better one counts
            if "lat_us" in row:
                worse = row["lat_us"] >= old.get("lat_us", float("inf"))
            else:
                worse = row["mbps"] <= old.get("mbps", 0)
            if not worse:
                old.update(row)

    def get(self, field, link, what, mtu, size, interval="512"):
        return self.rows.get((link, what, mtu, interval, size), {}).get(field)

    def values(self, index, **want):
        """The different values of a part of the key, in order"""
        names = ("link", "what", "mtu", "interval", "size")
        seen = {}
        for key in self.rows:
            if all(key[names.index(k)] == v for k, v in want.items()):
                seen[key[names.index(index)]] = True
        return list(seen)


def ratio(a, b):
    return None if a is None or not b else a / b


def number(x):
    return "-" if x is None else f"{x:.2f}" if x < 100 else f"{x:.0f}"


def table(title, columns, lines):
    """lines: (name, [(value, ratio to TCP), ...])"""
    print(f"\n{title}")
    print(" " * 28 + "".join(f"{c:>16}" for c in columns))
    for name, cells in lines:
        text = ""
        for value, rel in cells:
            cell = number(value) + (f" ({rel:.2f})" if rel is not None else "")
            text += f"{cell:>16}"
        print(f"{name:28}{text}")


def figure_table(log, link, mtu, field, title):
    whats = log.values("what", link=link, mtu=mtu, interval="512")
    sizes = [s for s in SIZES if any(log.get(field, link, w, mtu, s) is not None for w in whats)]
    lines = []
    for what in whats:
        cells = []
        for size in sizes:
            value = log.get(field, link, what, mtu, size)
            tcp = log.get(field, link, "tcp", mtu, size)
            cells.append((value, ratio(value, tcp)))
        lines.append((what, cells))
    if sizes:
        table(f"{title}, {link}, MTU {mtu} (in brackets: ratio to TCP)",
              [SIZES[s] for s in sizes], lines)


def main_tables(log):
    for link in log.values("link"):
        for mtu in log.values("mtu", link=link):
            figure_table(log, link, mtu, "mbps", "MB/s")
            figure_table(log, link, mtu, "host_ns_per_byte", "Host, instructions per byte")
            if link == "hnic":
                figure_table(log, link, mtu, "nic_ns_per_byte", "NIC, instructions per byte")
            figure_table(log, link, mtu, "lat_us", "Latency, us one way")
            for field, title in report_sdp.FIELDS.get(link, ()):
                figure_table(log, link, mtu, field, title)
    drivers = {(r["what"], r["crc"]) for r in log.rows.values()}
    if drivers:
        print("\nCRC32c by")
        for driver in sorted({d for _, d in drivers}):
            print(f"  {driver}: " + ", ".join(sorted({w for w, d in drivers if d == driver})))


def sweep_tables(log):
    for mtu in log.values("mtu", link="hnic"):
        ivls = log.values("interval", link="hnic", mtu=mtu)
        if len(ivls) < 2:
            continue
        ivls.sort(key=lambda i: 1 << 20 if i == "off" else int(i))
        lines = []
        for what in log.values("what", link="hnic", mtu=mtu, interval=ivls[0]):
            for field, size in (("mbps", 65536), ("host_ns_per_byte", 65536),
                                ("nic_ns_per_byte", 65536), ("lat_us", 1)):
                lines.append((f"{what} {field}", [
                    (log.get(field, "hnic", what, mtu, size, i), None) for i in ivls]))
        table(f"Marker interval, hnic, MTU {mtu}, 64 KB (latency 1 B)", ivls, lines)


class Goals:
    def __init__(self):
        self.all = []

    def check(self, text, value, limit, least):
        """least: True if the value shall not be below the limit"""
        ok = None if value is None else value >= limit if least else value <= limit
        self.all.append({"goal": text, "value": value, "limit": limit, "ok": ok})
        word = "missing" if ok is None else "ok" if ok else "not ok"
        print(f"  {text + (' >= ' if least else ' <= ') + f'{limit:g}':76}"
              f"{'-' if value is None else f'{value:.3f}':>10}  {word}")


def veth_goals(log, goals):
    best = "sdp-enhanced/hybrid"

    def rel(field, base, size):
        return ratio(log.get(field, "veth", best, 1500, size),
                     log.get(field, "veth", base, 1500, size))

    goals.check("veth, 64 KB, MTU 1500: bandwidth, x TCP", rel("mbps", "tcp", 65536), 0.35, True)
    goals.check("veth, 64 KB, MTU 1500: bandwidth, x rsocket/siw",
                rel("mbps", "rsocket/siw", 65536), 4, True)
    goals.check("veth, 1 B, MTU 1500: latency, x TCP", rel("lat_us", "tcp", 1), 2, False)


def verbs_goals(log, goals):
    # siw has no markers, and computes a CRC only on request
    for mtu, least in ((1500, 8), (9000, 4)):
        for op in ("send", "write"):
            for size in (65536, 1048576):
                for kind, siw, name in (("hybrid", "siw-crc", "CRC, markers"),
                                        ("unmarked", "siw-crc", "CRC"),
                                        ("nocrc", "siw", "no CRC, markers"),
                                        ("plain", "siw", "no CRC")):
                    goals.check(f"verbs, {op}, {SIZES[size]}, MTU {mtu}, {name}: bandwidth, x siw",
                                ratio(*(log.get("mbps", "verbs", f"verbs-{op}/{k}", mtu, size)
                                        for k in (kind, siw))), least, True)
        goals.check(f"verbs, send, 64 KB, MTU {mtu}: bandwidth with markers, x without", ratio(
            *(log.get("mbps", "verbs", f"verbs-send/{kind}", mtu, 65536)
              for kind in ("hybrid", "unmarked"))), 1 / 1.15, True)
    for kinds, name in ((("hybrid", "siw-crc"), "CRC, markers"), (("nocrc", "siw"), "no CRC, markers")):
        goals.check(f"verbs, send, 1 B, MTU 1500, {name}: latency, x siw", ratio(
            *(log.get("lat_us", "verbs", f"verbs-send/{kind}", 1500, 1) for kind in kinds)), 0.5, False)


def lossy_goals(log, goals):
    for link in log.values("link"):
        if not link.startswith("verbs, "):
            continue
        for mtu in log.values("mtu", link=link):
            goals.check(f"{link}, send, 64 KB, MTU {mtu}: bandwidth, x siw", ratio(
                *(log.get("mbps", link, f"verbs-send/{kind}", mtu, 65536)
                  for kind in ("hybrid", "siw"))), 1, True)


def hnic_goals(log, goals):
    def host(what, mtu, base="tcp"):
        return ratio(log.get("host_ns_per_byte", "hnic", what, mtu, 65536),
                     log.get("host_ns_per_byte", "hnic", base, mtu, 65536))

    for mtu, limit in ((1500, 1.25), (9000, 1.05)):
        goals.check(f"hnic, 64 KB, MTU {mtu}: host, enhanced/hybrid x TCP",
                    host("sdp-enhanced/hybrid", mtu), limit, False)
        goals.check(f"hnic, 64 KB, MTU {mtu}: host, enhanced/inplace (CRC by host) x TCP",
                    host("sdp-enhanced/inplace", mtu), 1.5, False)
        goals.check(f"hnic, 1 B, MTU {mtu}: latency, enhanced/hybrid x TCP",
                    ratio(log.get("lat_us", "hnic", "sdp-enhanced/hybrid", mtu, 1),
                          log.get("lat_us", "hnic", "tcp", mtu, 1)), 1.3, False)
        enhanced_goals(log, goals, mtu)
        goals.check(f"hnic, 64 KB, MTU {mtu}: host, basic/host x basic/assisted",
                    host("sdp-basic/host", mtu, "sdp-basic/assisted"), 2, True)


def enhanced_goals(log, goals, mtu):
    """SDP enhanced against SDP basic, both with markers"""
    for profile in ("host", "hybrid"):
        pair = ("sdp-enhanced/hybrid", f"sdp-basic/{profile}")
        for size in (65536, 1048576):
            goals.check(f"hnic, {SIZES[size]}, MTU {mtu}: bandwidth, enhanced/hybrid x basic/{profile}",
                        ratio(*(log.get("mbps", "hnic", w, mtu, size) for w in pair)), 1.3, True)
        worst = None
        for size in log.values("size", link="hnic", what=pair[0], mtu=mtu, interval="512"):
            rel = ratio(*(log.get("lat_us", "hnic", w, mtu, size) for w in pair))
            if rel is not None and size <= 65536:
                worst = max(worst or 0, rel)
        goals.check(f"hnic, up to 64 KB, MTU {mtu}: worst latency, enhanced/hybrid x basic/{profile}",
                    worst, 0.9999, False)


def append_goals(log, goals):
    print("\n10,000 sends to a sleeping reader")
    mbps = {}
    for row in log.append:
        mbps[row["what"].split("/")[0], row["size"]] = row["mbps"]
        print(f"  {row['what']:24}{row['size']:>6} B {row['messages']:>8} messages"
              f"{row['mbps']:>10.1f} MB/s once it wakes")
    print()
    for row in log.append:
        size = row["size"]
        if row["what"].startswith("sdp-enhanced"):
            goals.check(f"append, {size} B: messages, x sends",
                        ratio(row["messages"], row["sends"]), 0.05, False)
            goals.check(f"append, {size} B: bandwidth once it wakes, x alone",
                        ratio(row["mbps"], mbps.get(("sdp-alone", size))), 5, True)


def account_goals(log, goals):
    """Three accounts of the same time"""
    for row in log.account:
        total = row["elapsed_ns"]
        tasks = row["engine_threads_ns"] + row["host_tasks_ns"]
        goals.check(f"account, {row['what']}: all tasks x elapsed", tasks / total, 0.97, True)
        goals.check(f"account, {row['what']}: all tasks x elapsed", tasks / total, 1.03, False)
        goals.check(f"account, {row['what']}: NIC counters x engine threads",
                    ratio(row["nic_ns"], row["engine_threads_ns"]), 1, False)
        goals.check(f"account, {row['what']}: host + NIC x elapsed",
                    (row["host_tasks_ns"] + row["nic_ns"]) / total, 0.95, True)


def main():
    log = Log(sys.stdin)
    goals = Goals()

    main_tables(log)
    sweep_tables(log)
    print("\nGoals")
    if log.values("link", link="veth"):
        veth_goals(log, goals)
    if log.values("link", link="hnic"):
        hnic_goals(log, goals)
    if log.values("link", link="verbs"):
        verbs_goals(log, goals)
    lossy_goals(log, goals)
    report_sdp.check(log, goals)
    report_verbs.check(log, goals, sys.argv[2])
    if log.append:
        append_goals(log, goals)
    if log.account:
        account_goals(log, goals)
    if not goals.all:
        print("  none for what was measured")
    for failure in log.failures:
        print(f"  did not work: {failure}")

    with open(sys.argv[1], "w") as f:
        json.dump({"lane": "count", "kernel": log.kernel, "rows": list(log.rows.values()),
                   "append": log.append, "account": log.account, "conns": log.conns,
                   "rxmap": log.rxmap, "sides": log.sides, "qps": log.qps, "verbs": log.verbs,
                   "more": log.more, "goals": goals.all,
                   "failures": log.failures}, f, indent=1)
        f.write("\n")
    measured = log.rows or log.append or log.account or log.conns or log.rxmap or \
        log.sides or log.qps or log.verbs or log.more
    missing = any(g["ok"] is None for g in goals.all)
    if log.failures or not measured or (missing and "PARTIAL" not in os.environ):
        sys.exit(2)
    sys.exit(1 if any(g["ok"] is False for g in goals.all) else 0)


main()
