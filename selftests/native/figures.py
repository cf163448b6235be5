#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""figures.py < LINES: whether measurements of the native lane can be trusted.

The input has lines "BENCH {JSON}" of guest.sh. The output is one line for each figure
that has to be measured again, with the reason. report.py uses the functions.

One measurement has, from its begin to its end,
  elapsed_ns  time by the monotonic clock
  cpu_ns      processor time of the machine, which is a process of the host
  nic_ns      time by the monotonic clock in which engines of a NIC ran
  switches    how often the host took the processor away or the machine gave it up
  faults      page faults of the machine, which the host's kernel served
  base_of     of TCP: the kind that was measured next, as "WHAT|INTERVAL"
Without a switch the two clocks agree, and NIC time can be taken off processor time.
"""
import json
import statistics
import sys

CLOCKS = 0.03       # clocks agree when they differ by less
NOISE = 0.035       # standard error of a median: two runs are within 10 % in 19 of 20 cases
FAULTS = 0.02       # share of the processor time that page faults may have
FAULT_NS = 1000     # time of a page fault, rounded up


def clean(row):
    """Did the machine have the processor all the time, without page faults to speak of?"""
    return (row["switches"] == 0
            and abs(row["elapsed_ns"] - row["cpu_ns"]) <= CLOCKS * row["cpu_ns"]
            and row["faults"] * FAULT_NS <= FAULTS * row["cpu_ns"])


def nic_time(row):
    """Processor time of the NIC; what was lost was lost by all parts alike"""
    return row["nic_ns"] * min(1, row["cpu_ns"] / row["elapsed_ns"])


def derive(row):
    """Figures of one measurement, with the names of the count lane; host time may be negative"""
    nic = nic_time(row)
    host = row["cpu_ns"] - nic
    if row["test"] == "bw":
        count = row["bytes"]
        return {"mbps": count * 1e3 / host if host > 0 else 0, "host_ns_per_byte": host / count,
                "nic_ns_per_byte": nic / count, "elapsed_ns_per_byte": row["elapsed_ns"] / count}
    per = 2 * row["count"] * 1e3
    return {"lat_us": row["elapsed_ns"] / per, "lat_cpu_us": row["cpu_ns"] / per,
            "lat_nic_us": nic / per}


def quartiles(values):
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def error(values):
    """Relative standard error of the median, from the quartiles, as of a normal distribution"""
    low, middle, high = quartiles(values)
    if middle <= 0:
        return float("inf")
    return 0.93 * (high - low) / middle / len(values) ** 0.5


def main_figure(row):
    """Name of the figure that decides"""
    return "host_ns_per_byte" if row["test"] == "bw" else "lat_cpu_us"


def turns(rows):
    """({(what, interval): {turn: row}}, {the same: {turn: row of its base}}); TCP is its own"""
    runs, bases = {}, {}
    for row in rows:
        if row["rep"] == 0:
            continue
        key, turn = (row["what"], row["interval"]), row["rep"]
        if row["what"] == "tcp":
            bases.setdefault(tuple(row["base_of"].split("|")), {})[turn] = row
            turn = f"{turn}, {row['base_of']}"
            bases.setdefault(key, {})[turn] = row
        runs.setdefault(key, {})[turn] = row
    return runs, bases


def ratios(reps, base, field):
    """Ratios to the base within each turn; reps, base: {turn: figures}"""
    return [r[field] / base[n][field] for n, r in reps.items()
            if n in base and base[n][field] > 0]


def counting(reps):
    """Figures of those that count: the clean ones, but all if those are not half of them"""
    good = {n: row for n, row in reps.items() if clean(row)}
    return {n: derive(row) for n, row in (good if 2 * len(good) >= len(reps) else reps).items()}


def doubts(reps, base):
    """Reasons not to trust measurements; reps, base: {turn: line of guest.sh}"""
    found = []
    lost = sum(not clean(row) for row in reps.values())
    if 2 * lost > len(reps):
        found.append(f"{lost} of {len(reps)} without the processor to itself")
    field = main_figure(next(iter(reps.values())))
    figures = counting(reps)
    if any(f[field] <= 0 for f in figures.values()):
        found.append("more NIC time than processor time")
    pairs = ratios(figures, counting(base), field)
    noise = error(pairs) if pairs else 0
    if noise > NOISE:
        found.append(f"ratio to TCP known to {noise * 100:.1f} % only")
    return found


def read(line):
    """The measurement of a line, or None"""
    # the console may have added something before it
    at = line.find("BENCH {")
    return json.loads(line[at + 6:]) if at >= 0 else None


def rows(runs):
    """For each row of a table: (what it is, its turns, those of its base)"""
    for (link, mtu, test, size), measured in runs.items():
        kinds, bases = turns(measured)
        for (what, interval), reps in kinds.items():
            yield ({"link": link, "mtu": mtu, "interval": interval, "what": what, "size": size,
                    "test": test}, reps, bases.get((what, interval), {}))


def add(runs, row):
    """runs: what belongs together, for rows()"""
    runs.setdefault((row["link"], row["mtu"], row["test"], row["size"]), []).append(row)


def main():
    runs = {}
    for row in filter(None, map(read, sys.stdin)):
        add(runs, row)
    for name, reps, base in rows(runs):
        for doubt in doubts(reps, base):
            print(f"{name['what']} over {name['link']}, MTU {name['mtu']}, {name['test']} of "
                  f"{name['size']}, interval {name['interval']}: {doubt}")


if __name__ == "__main__":
    main()
