#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""profile.py OPTION... DIR: where processor time goes, from what profile.sh has left in DIR.

DIR has perf.data, kallsyms, "modules" (NAME ADDRESS, where their code is) and bench.log.
Leaves in DIR profile.txt (functions), stacks.txt (call stacks: "A;B;C AMOUNT") and
flame.svg, with --base also difference.svg. Amounts are nanoseconds per byte, for round
trips nanoseconds per one-way trip.
"""
import argparse
import bisect
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../bench"))
import figures  # noqa: E402, pylint: disable=wrong-import-position
import flame  # noqa: E402, pylint: disable=wrong-import-position
import layers  # noqa: E402, pylint: disable=wrong-import-position
import stacks  # noqa: E402, pylint: disable=wrong-import-position

EMULATION = "emulation"
ENGINE = "hnic_engine_fn [hnic]"


def unwinder(kernel, modules, where):
    """Unwind tables of the kernel and of the modules; where: {module: address of .text}"""
    found = stacks.Unwinder()
    found.add(kernel)
    with tempfile.TemporaryDirectory() as folder:
        for name, address in where.items():
            path = os.path.join(modules, name + ".ko")
            if not os.path.exists(path):
                continue
            # at the address where it was loaded; what it calls does not matter here
            placed, script = (os.path.join(folder, name + end) for end in (".elf", ".ld"))
            write(script, f"SECTIONS {{ .text {address} : {{ *(.text) }}"
                  " .eh_frame : { *(.eh_frame) } }\n")
            subprocess.run(["ld", "-e", "0", "--unresolved-symbols=ignore-all", "--noinhibit-exec",
                            "-T", script, "-o", placed, path], check=False,
                           stderr=subprocess.DEVNULL)
            if os.path.exists(placed):
                found.add(placed)
    return found


def host_symbols():
    with open("/proc/kallsyms", encoding="ascii") as file:
        return stacks.Symbols(line for line in file if not line.startswith("0000000000000000"))


def fold(path, rows, tables, symbols, host):
    """{(outermost, ..., innermost): samples} of the guest's kernel, taken during measurements"""
    begins = [row["begin_ns"] for row in rows]
    counts = collections.Counter()
    for sam in stacks.samples(path):
        n = bisect.bisect_right(begins, sam.time) - 1
        if n < 0 or sam.time > begins[n] + rows[n]["elapsed_ns"]:
            continue
        calls = [symbols.name(a) for a in reversed(tables.stack(sam))]
        if sam.ip & stacks.HOST:
            calls.append(f"{host.name(sam.ip)} [host]")
        counts[sam.pid, tuple(calls)] += 1
    pids = collections.Counter()
    for (pid, _), n in counts.items():
        pids[pid] += n
    if not pids:
        sys.exit("profile: no samples")
    main = pids.most_common(1)[0][0]
    return {calls: n for (pid, calls), n in counts.items() if pid == main}


def measured(path):
    """The measurements of a log"""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [row for row in map(figures.read, file) if row and row["rep"] > 0]
    if not rows:
        sys.exit("profile: nothing was measured")
    return rows


def cost(rows):
    """Nanoseconds per unit, and the unit"""
    time = sum(row["cpu_ns"] for row in rows)
    if rows[0]["test"] == "bw":
        return time / sum(row["bytes"] for row in rows), "ns/byte"
    return time / sum(2 * row["count"] for row in rows), "ns/trip"


class NativeLayers(layers.Layers):
    """The map, and what only this lane knows"""

    def of(self, function):
        if function.endswith("[host]"):
            return EMULATION
        return super().of(function)


def functions(folded):
    """{function: amount}; what the engines of a NIC call is the NIC's"""
    found = collections.Counter()
    for calls, amount in folded.items():
        name = calls[-1]
        if ENGINE in calls and not name.endswith(("[hnic]", "[host]")):
            name = f"{name.split()[0]} [hnic]"
        found[name] += amount
    return found


def read_folded(path):
    folded = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            calls, _, amount = line.rpartition(" ")
            folded[tuple(calls.split(";"))] = float(amount)
    return folded


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description="Where processor time goes in the native lane.")
    parser.add_argument("--kernel", help="the program linux")
    parser.add_argument("--modules", help="directory of .ko files")
    parser.add_argument("--title", default="")
    parser.add_argument("--base", metavar="DIR", help="compare with this earlier profile")
    parser.add_argument("--rows", type=int, default=30, help="functions to show")
    parser.add_argument("dir", metavar="DIR")
    args = parser.parse_args()

    def path(name):
        return os.path.join(args.dir, name)

    with open(path("modules"), encoding="ascii") as file:
        where = dict(line.split() for line in file)
    with open(path("kallsyms"), encoding="ascii") as file:
        symbols = stacks.Symbols(file)
    rows = measured(path("bench.log"))
    counts = fold(path("perf.data"), rows, unwinder(args.kernel, args.modules, where), symbols,
                  host_symbols())
    per_unit, unit = cost(rows)
    total = sum(counts.values())
    folded = {calls: n * per_unit / total for calls, n in counts.items()}
    found = functions(folded)
    lines = [f"{total * amount / per_unit:14.0f} {100 * amount / per_unit:6.2f}% {amount:10.5f}  {name}"
             for name, amount in found.most_common()]
    lines.append(f"{total:14.0f} 100.00% {per_unit:10.5f}  total")
    write(path("profile.txt"), "\n".join(lines) + "\n")
    write(path("stacks.txt"), "".join(f"{';'.join(c)} {a:.6g}\n" for c, a in folded.items()))
    known = NativeLayers()
    write(path("flame.svg"), flame.svg(folded, known.of, f"{args.title}: {per_unit:.4g} {unit}", unit))
    print("\n".join(lines[:args.rows]))
    print(f"\n{args.title}: {total} samples, {per_unit:.4g} {unit}")
    missing = layers.show(known, found)
    if args.base:
        base = read_folded(os.path.join(args.base, "stacks.txt"))
        layers.difference(known, found, functions(base))
        write(path("difference.svg"), flame.svg(
            folded, known.of, f"{args.title}: difference to {args.base}", unit, base))
    return 1 if missing > layers.LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
