#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The result of bench/report.py for a line of each kind that the guest prints"""
import json
import os
import subprocess
import sys
import tempfile

REPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench/report.py")
HNIC = {"link": "hnic", "what": "tcp", "mtu": 1500, "interval": "512", "crc": "none",
        "host_ns_per_byte": 2.0, "nic_ns_per_byte": 1.0}
VERBS = {"link": "verbs", "mtu": 1500, "interval": "512", "crc": "none", "size": 65536}
LINES = [
    {**HNIC, "test": "bw", "size": 65536, "mbps": 500},
    {**HNIC, "test": "lat", "size": 1, "lat_us": 30.0},
    # measured twice: the better one counts
    {**HNIC, "test": "bw", "size": 65536, "mbps": 400, "host_ns_per_byte": 3.0},
    {**HNIC, "test": "lat", "size": 1, "lat_us": 31.0},
    {**VERBS, "what": "verbs-send/nocrc", "mbps": 900},
    {**VERBS, "what": "verbs-send/siw", "mbps": 100},
    {**VERBS, "what": "verbs-send/hybrid", "mbps": 600},
    {**VERBS, "what": "verbs-send/siw-crc", "mbps": 50},
    {**VERBS, "what": "verbs-send/siw", "size": 1, "lat_us": 18.0},
    {**VERBS, "link": "verbs, loss 1%", "what": "verbs-send/hybrid", "mbps": 60},
    {**VERBS, "link": "verbs, loss 1%", "what": "verbs-send/siw", "mbps": 40},
    {"part": "conn", "link": "veth", "what": "tcp", "conns": 50, "us": 130.0},
    {"part": "conn", "link": "veth", "what": "sdp-enhanced/hybrid", "conns": 50, "us": 400.0},
    {"part": "account", "what": "tcp", "elapsed_ns": 100, "idle_ns": 0, "nic_ns": 40,
     "engine_threads_ns": 50, "host_tasks_ns": 50},
    {"part": "sides", "what": "verbs-send/hybrid", "mtu": 1500, "size": 65536, "bytes": 1000},
    {"part": "sides", "what": "verbs-read/hybrid", "mtu": 1500, "size": 65536, "bytes": 1000},
    {"part": "qps", "what": "qps/hybrid", "conns": 500, "open_us": 300.0, "close_us": 100.0,
     "objects": 9000, "memory": 18000},
    {"part": "verbs", "link": "hnic", "what": "verbs-send/assisted", "mtu": 1500,
     "interval": "512", "crc": "none", "test": "bw", "q": 8, "size": 4096, "mbps": 77.0,
     "counters": {"copy_tx_bytes": 4096, "crc_tx_bytes": 0, "dma_tx_ops": 3,
                  "touch_tx_bytes": 12000, "fpdus": 3, "packets": 3}},
    # not the rows of a size alone
    {**HNIC, "test": "bw", "size": 65536, "mbps": 900, "window": 4},
    {**HNIC, "test": "progress", "size": 4096, "iter_us": 30.0, "compute_us": 10},
]
# active end, passive end, neither; the first line is another part's
SIDES = "0 0 900\n600 500 10\n600 500 10\n"


def report():
    lines = ["BENCH-KERNEL 6.1"] + ["BENCH " + json.dumps(line) for line in LINES]
    with tempfile.TemporaryDirectory() as folder:
        out, sides = (os.path.join(folder, name) for name in ("bench.json", "sides"))
        with open(sides, "w", encoding="ascii") as file:
            file.write(SIDES)
        run = subprocess.run([sys.executable, "-B", REPORT, out, sides], text=True, check=False,
                             input="\n".join(lines), capture_output=True)
        if run.stderr:
            return run.stderr, {}
        with open(out, encoding="utf-8") as file:
            return "", json.load(file)


def main():
    error, result = report()
    rows = {(r["what"], r["size"]): r for r in result.get("rows", [])}
    goals = {g["goal"]: g["value"] for g in result.get("goals", [])}
    senders = {r["what"]: r["sender_ns_per_byte"] for r in result.get("sides", [])}
    checks = [
        ("all kinds of lines are understood", not error),
        ("of two bandwidths the better one counts",
         rows.get(("tcp", 65536), {}).get("host_ns_per_byte") == 2.0),
        ("of two latencies the better one counts", rows.get(("tcp", 1), {}).get("lat_us") == 30.0),
        ("verbs x siw", any("x siw" in g and v == 9 for g, v in goals.items())),
        ("verbs x siw, CRC", any("x siw" in g and v == 12 for g, v in goals.items())),
        ("verbs x siw with loss", any("loss" in g and v == 1.5 for g, v in goals.items())),
        ("the sender of a Send is active", senders.get("verbs-send/hybrid") == 0.6),
        ("the sender of a Read is passive", senders.get("verbs-read/hybrid") == 0.5),
        ("connections of verbs", len(result.get("qps", [])) == 1),
        ("verbs over the NIC", [r["q"] for r in result.get("verbs", [])] == [8]),
        ("rows that vary more than the size are apart", len(result.get("more", [])) == 2 and
         rows.get(("tcp", 65536), {}).get("mbps") == 500),
        ("nothing failed", result.get("failures") == []),
        ("connections x TCP", any("connections" in g and v == 400 / 130 for g, v in goals.items())),
    ]
    print(f"TAP version 13\n1..{len(checks)}")
    for number, (what, good) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - report.py: {what}")
    for line in error.splitlines():
        print("#", line)
    return 0 if all(good for _, good in checks) else 1


sys.exit(main())
