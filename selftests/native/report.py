#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py JSON < LOG: tables from the lines of guest.sh.

Every figure is the median over the turns; a ratio is the median of the ratios
within each turn, in which all kinds were measured one after the other, with
the quartiles as its uncertainty. figures.py says which measurements of a row
count and what is doubtful; "~" marks a row that stayed doubtful.
Exit status 2: something did not work.
"""
import json
import statistics
import sys

import figures

NAMES = {1: "1 B", 64: "64 B", 1024: "1 KB", 4096: "4 KB", 16384: "16 KB",
         65536: "64 KB", 1048576: "1 MB"}


def read(lines):
    kernel, failures, runs = None, [], {}
    for line in lines:
        # the console may have added something before it
        at = line.find("BENCH")
        word, _, rest = line[at:].strip().partition(" ") if at >= 0 else ("", "", "")
        if word == "BENCH-KERNEL":
            kernel = rest
        elif word == "BENCH-FAILED":
            failures.append(rest)
        elif word == "BENCH":
            figures.add(runs, figures.read(line))
    return kernel, failures, runs


def summarize(runs):
    """Rows, one for each kind, link, MTU, test and size"""
    rows = []
    for row, reps, base in figures.rows(runs):
        row.update(reps=len(reps), clean=sum(map(figures.clean, reps.values())),
                   doubts=figures.doubts(reps, base))
        own, others = figures.counting(reps), figures.counting(base)
        for field in next(iter(own.values())):
            row[field] = round(statistics.median(f[field] for f in own.values()), 5)
            pairs = figures.ratios(own, others, field)
            if pairs:
                row[field + "_x_tcp"] = [round(q, 4) for q in figures.quartiles(pairs)]
        rows.append(row)
    return rows


def table(rows, link, mtu, interval, field, title):
    picked = [r for r in rows if (r["link"], r["mtu"], r["interval"]) == (link, mtu, interval)
              and field in r]
    sizes = sorted({r["size"] for r in picked})
    if not sizes:
        return
    print(f"\n{title}, {link}, MTU {mtu}, marker interval {interval}"
          " (in brackets: ratio to TCP)")
    print(" " * 28 + "".join(f"{NAMES.get(s, s):>17}" for s in sizes))
    for what in dict.fromkeys(r["what"] for r in picked):
        text = ""
        for size in sizes:
            cell = "-"
            for r in picked:
                if r["what"] == what and r["size"] == size:
                    rel = r.get(field + "_x_tcp")
                    cell = f"{r[field]:.3g}" if r[field] < 1000 else f"{r[field]:.0f}"
                    cell += f" ({rel[1]:.2f})" if rel else ""
                    cell += "~" if r["doubts"] else ""
            text += f"{cell:>17}"
        print(f"{what:28}{text}")


def sweep(rows, link, mtu):
    ivls = sorted({r["interval"] for r in rows if (r["link"], r["mtu"]) == (link, mtu)},
                  key=lambda i: 1 << 20 if i == "off" else int(i))
    if len(ivls) < 2:
        return
    print(f"\nMarker interval, {link}, MTU {mtu}, 64 KB (latency 1 B): ratio to TCP")
    print(" " * 44 + "".join(f"{i:>9}" for i in ivls))
    for what in ("sdp-basic/assisted", "sdp-enhanced/hybrid"):
        for field, size in (("mbps", 65536), ("host_ns_per_byte", 65536), ("lat_cpu_us", 1)):
            text = ""
            for ivl in ivls:
                rel = [r[field + "_x_tcp"][1] for r in rows if field + "_x_tcp" in r
                       and (r["link"], r["mtu"], r["interval"], r["what"], r["size"]) ==
                       (link, mtu, ivl, what, size)]
                text += f"{rel[0]:>9.2f}" if rel else f"{'-':>9}"
            print(f"{what + ' ' + field:44}{text}")


def main():
    kernel, failures, runs = read(sys.stdin)
    rows = summarize(runs)
    for link, mtu in dict.fromkeys((r["link"], r["mtu"]) for r in rows):
        for field, title in (("host_ns_per_byte", "Host, ns of processor per byte"),
                             ("nic_ns_per_byte", "NIC, ns per byte"),
                             ("mbps", "MB per second of the host's processor"),
                             ("lat_cpu_us", "Latency, us of processor one way")):
            table(rows, link, mtu, "512", field, title)
        sweep(rows, link, mtu)
    doubtful = [r for r in rows if r["doubts"]]
    if doubtful:
        print("\n~ Doubtful, measured again or not:")
    for r in doubtful:
        print(f"{r['what']} over {r['link']}, MTU {r['mtu']}, interval {r['interval']}, "
              f"{NAMES.get(r['size'], r['size'])}: {'; '.join(r['doubts'])}")
    for failure in failures:
        print(f"did not work: {failure}")
    with open(sys.argv[1], "w") as f:
        json.dump({"lane": "native", "kernel": kernel, "rows": rows, "failures": failures}, f,
                  indent=1)
        f.write("\n")
    sys.exit(2 if failures or not rows else 0)


if __name__ == "__main__":
    main()
