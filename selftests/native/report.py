#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py JSON < LOG: tables from the lines of guest.sh.

Every figure is the median over the repetitions; a ratio is the median of the
ratios within each repetition, in which all kinds were measured in turn, with
the quartiles as its uncertainty. The time of the NIC is taken by a clock that
goes on when this machine does something else: it is reduced by the share of the
processor that there was, and the lowest quartile counts.
Exit status 2: something did not work.
"""
import json
import statistics
import sys

NAMES = {1: "1 B", 64: "64 B", 1024: "1 KB", 4096: "4 KB", 16384: "16 KB",
         65536: "64 KB", 1048576: "1 MB"}


def nic_cpu(row):
    """Processor time of the NIC, if it lost as much of its time as all others"""
    return row["nic_ns"] * min(1, row["cpu_ns"] / row["elapsed_ns"])


def derive(row, nic):
    """Figures of one measurement, with the names of the count lane"""
    host = max(row["cpu_ns"] - nic, 1)
    if row["test"] == "bw":
        return {"mbps": row["octets"] * 1e3 / host, "host_ns_per_byte": host / row["octets"],
                "nic_ns_per_byte": nic / row["octets"],
                "elapsed_ns_per_byte": row["elapsed_ns"] / row["octets"]}
    per = 2 * row["count"]
    return {"lat_us": row["elapsed_ns"] / per / 1e3, "lat_cpu_us": row["cpu_ns"] / per / 1e3,
            "lat_nic_us": nic / per / 1e3}


def quartiles(values):
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def read(lines):
    kernel, failures, runs = None, [], {}
    for line in lines:
        # the console may have added something in front
        at = line.find("BENCH")
        word, _, rest = line[at:].strip().partition(" ") if at >= 0 else ("", "", "")
        if word == "BENCH-KERNEL":
            kernel = rest
        elif word == "BENCH-FAILED":
            failures.append(rest)
        elif word == "BENCH":
            row = json.loads(rest)
            if row["rep"] > 0:
                key = tuple(row[k] for k in ("link", "mtu", "interval", "what", "test", "size"))
                runs.setdefault(key, {})[row["rep"]] = row
    for reps in runs.values():
        nic = quartiles([nic_cpu(r) for r in reps.values()])[0]
        for n, row in reps.items():
            reps[n] = derive(row, nic)
    return kernel, failures, runs


def summarize(runs):
    """Rows, one for each key"""
    rows = []
    for key, reps in runs.items():
        link, mtu, interval, what, test, size = key
        row = {"link": link, "mtu": mtu, "interval": interval, "what": what, "size": size,
               "reps": len(reps)}
        base = runs.get((link, mtu, "512", "tcp", test, size), {})
        for field in next(iter(reps.values())):
            row[field] = round(statistics.median(r[field] for r in reps.values()), 5)
            pairs = [r[field] / base[n][field] for n, r in reps.items()
                     if n in base and base[n][field] > 0]
            if pairs:
                row[field + "_x_tcp"] = [round(q, 4) for q in quartiles(pairs)]
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
        for field, title in (("host_ns_per_byte", "Host, ns of processor per octet"),
                             ("nic_ns_per_byte", "NIC, ns per octet"),
                             ("mbps", "MB per second of the host's processor"),
                             ("lat_cpu_us", "Latency, us of processor one way")):
            table(rows, link, mtu, "512", field, title)
        sweep(rows, link, mtu)
    for failure in failures:
        print(f"did not work: {failure}")
    with open(sys.argv[1], "w") as f:
        json.dump({"lane": "native", "kernel": kernel, "rows": rows, "failures": failures}, f,
                  indent=1)
        f.write("\n")
    sys.exit(2 if failures or not rows else 0)


main()
