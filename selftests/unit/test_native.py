#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The account of native/figures.py and the tables of native/report.py"""
import json
import os
import subprocess
import sys
import tempfile

NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../native")
sys.path.insert(0, NATIVE)
import figures  # noqa: E402, pylint: disable=wrong-import-position

BYTES = 16 << 20
MS = 1000000


def bw(what, rep, cpu, nic, **more):
    """A measurement that nothing has disturbed"""
    row = {"test": "bw", "link": "hnic", "what": what, "interval": "512", "mtu": 1500,
           "size": 65536, "count": 256, "rep": rep, "elapsed_ns": cpu, "cpu_ns": cpu,
           "bytes": BYTES, "switches": 0, "faults": 0, "nic_ns": nic,
           "base_of": "" if what != "tcp" else "sdp-basic/hybrid|512"}
    row.update(more)
    return row


def turns(*rows):
    return {row["rep"]: row for row in rows}


def close(a, b):
    return abs(a - b) < 1e-9


def steady(what, cpu, nic, count=12):
    return turns(*(bw(what, n, cpu, nic) for n in range(1, count + 1)))


def report(rows):
    """report.py's exit status, output and file"""
    lines = ["BENCH-KERNEL 6.1.0"] + ["[    1.000000] BENCH " + json.dumps(r) for r in rows]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "bench.json")
        run = subprocess.run([sys.executable, "-B", os.path.join(NATIVE, "report.py"), out],
                             input="\n".join(lines), text=True, capture_output=True, check=False)
        print("".join(f"# {line}\n" for line in run.stderr.splitlines()), end="")
        with open(out, encoding="utf-8") as file:
            return run.returncode, run.stdout, json.load(file)


def again(rows):
    """Output of figures.py"""
    lines = "".join(f"BENCH {json.dumps(r)}\n" for r in rows)
    return subprocess.run([sys.executable, "-B", os.path.join(NATIVE, "figures.py")], input=lines,
                          text=True, capture_output=True, check=True).stdout


def account_checks():
    quiet = bw("tcp", 1, 10 * MS, 4 * MS)
    # the host took the processor for as long again, in NIC and host alike
    robbed = bw("tcp", 1, 10 * MS, 8 * MS, elapsed_ns=20 * MS, switches=3)
    base = steady("tcp", 10 * MS, 4 * MS)
    noisy = turns(*(bw("sdp-basic/hybrid", n, (20 + 5 * (n % 3)) * MS, 4 * MS)
                    for n in range(1, 13)))
    many = turns(*(bw("sdp-basic/hybrid", n, (20 + 5 * (n % 3)) * MS, 4 * MS)
                   for n in range(1, 601)))
    # one turn of twelve was hit, and its figure with it
    hit = {**steady("sdp-basic/hybrid", 20 * MS, 4 * MS),
           7: bw("sdp-basic/hybrid", 7, 90 * MS, 4 * MS, elapsed_ns=120 * MS, switches=9)}
    minus = steady("sdp-basic/hybrid", 10 * MS, 12 * MS)
    derived = figures.derive(quiet)
    return [
        ("host and NIC add up to the processor time", close(
            derived["host_ns_per_byte"] + derived["nic_ns_per_byte"], 10 * MS / BYTES)),
        ("time that the host took away changes neither part",
         figures.derive(robbed)["host_ns_per_byte"] == derived["host_ns_per_byte"]),
        ("no switch: clean", figures.clean(quiet)),
        ("a switch: not clean", not figures.clean(robbed)),
        ("clocks that differ: not clean",
         not figures.clean(bw("tcp", 1, 10 * MS, 0, elapsed_ns=11 * MS))),
        ("page faults that take more than 2 %: not clean",
         not figures.clean(bw("tcp", 1, 10 * MS, 0, faults=201))),
        ("page faults that take less: clean", figures.clean(bw("tcp", 1, 10 * MS, 0, faults=199))),
        ("a round trip is two one-way trips", close(figures.derive(
            bw("tcp", 1, 6 * MS, 0, test="lat", size=1, count=300))["lat_cpu_us"], 10)),
        ("steady figures: no doubt", figures.doubts(steady("x", 20 * MS, 4 * MS), base) == []),
        ("ratios that vary: doubt", "known to" in "".join(figures.doubts(noisy, base))),
        ("as many again make up for it",
         figures.doubts(many, steady("tcp", 10 * MS, 4 * MS, 600)) == []),
        ("one turn that was hit does not count", figures.doubts(hit, base) == []
         and 7 not in figures.counting(hit)),
        ("more NIC time than processor time: doubt",
         "more NIC time" in "".join(figures.doubts(minus, base))),
        ("most turns were hit: doubt", "without the processor" in "".join(
            figures.doubts(turns(*(bw("x", n, 10 * MS, 0, switches=n % 3) for n in range(1, 13))),
                           base))),
        ("figures.py names what to measure again",
         again([*base.values(), *noisy.values()]).startswith("sdp-basic/hybrid over hnic, MTU 1500")),
        ("figures.py has nothing against the rest", again([*base.values()]) == ""),
    ]


def report_checks():
    base = steady("tcp", 10 * MS, 4 * MS)
    sdp = steady("sdp-enhanced/hybrid", 16 * MS, 4 * MS)
    minus = steady("sdp-basic/hybrid", 10 * MS, 12 * MS)
    # the base of each is what was measured right before it
    slow = [{**row, "cpu_ns": 20 * MS, "elapsed_ns": 20 * MS, "base_of": "sdp-enhanced/hybrid|512"}
            for row in base.values()]
    status, text, result = report([*base.values(), *sdp.values(), *minus.values(), *slow,
                                   bw("tcp", 0, 99 * MS, 0)])
    rows = {row["what"]: row for row in result["rows"]}
    return [
        ("report.py: exit status 0", status == 0),
        ("report.py: ratio to TCP",
         rows["sdp-enhanced/hybrid"]["host_ns_per_byte_x_tcp"] == [0.75] * 3),
        ("report.py: all measurements of TCP count for its row", rows["tcp"]["reps"] == 24),
        ("report.py: the first turn counts for nothing",
         close(rows["tcp"]["host_ns_per_byte"], round(11 * MS / BYTES, 5))),
        ("report.py: a row in doubt is marked", rows["sdp-basic/hybrid"]["doubts"]
         and "(-0.33)~" in text and not rows["tcp"]["doubts"]),
        ("report.py: nothing measured: exit status 2", report([])[0] == 2),
    ]


def compare(before, now, doubts):
    """Exit status and output of bench/compare.py for one figure, now with its quartiles"""
    row = {"link": "veth", "mtu": 1500, "what": "sdp-basic/hybrid", "interval": "512", "size": 1,
           "lat_cpu_us_x_tcp": now, "doubts": doubts}
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("reference", "bench.json")]
        with open(names[0], "w", encoding="ascii") as file:
            file.write("# a comment\ntolerance 0.15\n"
                       f"veth 1500 sdp-basic/hybrid 1 lat_cpu_us_x_tcp {before}\n")
        with open(names[1], "w", encoding="ascii") as file:
            json.dump({"lane": "native", "kernel": "6.1.0", "rows": [row] if now else []}, file)
        program = [sys.executable, "-B", os.path.join(NATIVE, "../bench/compare.py")]
        run = subprocess.run(program + names, text=True, capture_output=True, check=False)
        some = subprocess.run(program + ["--some"] + names, text=True, capture_output=True,
                              check=False)
        assert some.returncode == (run.returncode if now else 2)
        again = subprocess.run(program + ["--write", names[1]], text=True, capture_output=True,
                               check=False)
        return run.returncode, run.stdout, again.stdout


def compare_checks():
    return [
        ("compare.py: 14 % worse is within the tolerance", compare(2, [2.2, 2.28, 2.3], [])[0] == 0),
        ("compare.py: 16 % worse is not", compare(2, [2.2, 2.32, 2.4], [])[:1] == (1,)),
        ("compare.py: in doubt the lower quartile counts",
         compare(2, [2.2, 2.32, 2.4], ["noise"])[0] == 0
         and compare(2, [2.4, 2.6, 2.8], ["noise"])[0] == 1),
        ("compare.py: better is no failure, and named",
         compare(2, [1.5, 1.6, 1.7], [])[0] == 0 and "better" in compare(2, [1.5, 1.6, 1.7], [])[1]),
        ("compare.py: a figure is missing: exit status 2", compare(2, None, [])[0] == 2),
        ("compare.py --write: a reference", compare(2, [1.5, 1.6, 1.7], [])[2].splitlines()[-2:] ==
         ["tolerance 0.15", "veth 1500 sdp-basic/hybrid 1 lat_cpu_us_x_tcp 1.6"]),
    ]


def main():
    checks = account_checks() + report_checks() + compare_checks()
    print(f"TAP version 13\n1..{len(checks)}")
    for number, (what, good) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - native lane: {what}")
    return 0 if all(good for _, good in checks) else 1


sys.exit(main())
