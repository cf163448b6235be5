#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py REFERENCE JSON: figures of a run of make bench against a stored reference.

compare.py --write JSON: print a reference made of the run.

A line of a reference is "LINK MTU WHAT SIZE FIELD VALUE [SHARE]", smaller values being
better. SHARE is what a figure may be worse, by default that of the line "tolerance SHARE".
In the native lane fields are ratios to TCP (FIELD_x_tcp); of a row in doubt the lower
quartile counts.
Exit status 1: a figure is worse than its reference, 2: one was not measured, with
--some: none was measured.
"""
import argparse
import json
import sys

TOLERANCE = {"native": 0.15, "count": 0.03}
# By lane, link and MTU: the same code differs by more from boot to boot
NOISY = {("count", "hnic", "9000"): 0.06}
FIELDS = {"native": ("host_ns_per_byte_x_tcp", "lat_cpu_us_x_tcp"),
          "count": ("host_ns_per_byte", "lat_us")}


def figures(bench):
    """{(link, mtu, what, size, field): (value, the value that is judged)}"""
    found = {}
    for row in bench["rows"]:
        if row["interval"] != "512":
            continue
        for field in FIELDS[bench["lane"]]:
            value = row.get(field)
            if isinstance(value, list):
                pair = value[1], value[0 if row["doubts"] else 1]
            else:
                pair = value, value
            if value is not None:
                found[tuple(str(row[k]) for k in ("link", "mtu", "what", "size")) + (field,)] = pair
    return found


def read_reference(lines):
    """(tolerance, {(link, mtu, what, size, field): (value, its own tolerance or None)})"""
    tolerance, found = 0, {}
    for line in lines:
        words = line.split("#")[0].split()
        if words[:1] == ["tolerance"]:
            tolerance = float(words[1])
        elif words:
            own = float(words[6]) if len(words) > 6 else None
            found[tuple(words[:5])] = float(words[5]), own
    return tolerance, found


def compare(reference, measured):
    """
    Prints a table. reference: {key: (value, tolerance)}. Return: (number of worse figures,
    number of missing ones)
    """
    worse = missing = 0
    print(f"{'link':6}{'MTU':>6} {'what':24}{'size':>8} {'figure':24}{'before':>9}{'now':>9}"
          f"{'change':>9}")
    for key, (before, tolerance) in reference.items():
        now, judged = measured.get(key, (None, None))
        if now is None:
            missing += 1
            change, word, now = " " * 9, "  not measured", 0
        else:
            bad, good = judged > before * (1 + tolerance), judged < before * (1 - tolerance)
            worse += bad
            change = f"{now / before - 1:+9.1%}"
            word = "  worse" if bad else "  better" if good and now == judged else ""
            word += "  in doubt" if now != judged else ""
        print(f"{key[0]:6}{key[1]:>6} {key[2]:24}{key[3]:>8} {key[4]:24}{before:9.3f}{now:9.3f}"
              f"{change}{word}")
    return worse, missing


def write(bench):
    lane = bench["lane"]
    print("# SPDX-License-Identifier: GPL-2.0")
    print(f"# Figures of \"make bench{' LANE=native' if lane == 'native' else ''}\", kernel "
          f"{bench['kernel']}; see compare.py")
    print(f"tolerance {TOLERANCE[lane]}")
    for key, (value, _) in figures(bench).items():
        if key[2] != "tcp":
            own = NOISY.get((lane, *key[:2]))
            print(*key, f"{value:.4g}", *[own] if own else [])


def main():
    parser = argparse.ArgumentParser(description="Compare figures of make bench with a reference.")
    parser.add_argument("--write", action="store_true", help="print a reference")
    parser.add_argument("--some", action="store_true", help="not all of REFERENCE was measured")
    parser.add_argument("--tolerance", type=float, help="instead of that of the reference")
    parser.add_argument("reference", nargs="?", metavar="REFERENCE")
    parser.add_argument("json", metavar="JSON", help="build/bench.json, build/bench-native.json")
    args = parser.parse_args()
    if bool(args.reference) == args.write:
        parser.error("either REFERENCE or --write")
    with open(args.json, encoding="utf-8") as file:
        bench = json.load(file)
    if args.write:
        write(bench)
        return 0
    with open(args.reference, encoding="utf-8") as file:
        tolerance, reference = read_reference(file)
    measured = figures(bench)
    if args.some:
        reference = {key: value for key, value in reference.items() if key in measured}
    if args.tolerance is not None:
        tolerance, reference = args.tolerance, {k: (v, None) for k, (v, _) in reference.items()}
    reference = {key: (value, own or tolerance) for key, (value, own) in reference.items()}
    worse, missing = compare(reference, measured)
    limits = " or ".join(f"{limit:.0%}" for limit in sorted({own for _, own in reference.values()}))
    print(f"{worse} of {len(reference)} figures are more than {limits} worse, "
          f"{missing} not measured")
    if worse:
        native = " LANE=native" if bench["lane"] == "native" else ""
        print(f"By function: make profile{native} WHAT=... in both trees, the second time with BASE=")
    return 2 if missing or not reference else 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
