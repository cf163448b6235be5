# SPDX-License-Identifier: GPL-2.0
"""Part of report.py: tables of the parts "sides", "qps" and "verbs" (NIC), see verbs.sh."""
import statistics


def read_sides(log, path):
    """Add the instruction counts in @path (lines "A B NOBODY" of insn_count.c) to the rows,
    in the same order. The emulator's clock runs 1 ns per instruction, so instructions per
    byte are ns per byte, or s per GB."""
    try:
        with open(path) as f:
            lines = [[int(word) for word in line.split()] for line in f]
    except OSError:
        lines = []
    # other parts set no marks of an end: their lines have 0 for both ends
    lines = [line for line in lines if line[0] + line[1]]
    if len(lines) != len(log.sides):
        log.failures.append(f"sides: {len(log.sides)} rows, {len(lines)} counts")
        log.sides.clear()
    for row, (active, passive, nobody) in zip(log.sides, lines):
        # a Read goes the other way
        ends = (passive, active) if "-read/" in row["what"] else (active, passive)
        for name, count in zip(("sender", "receiver", "nobody"), ends + (nobody,)):
            row[f"{name}_ns_per_byte"] = round(count / row["bytes"], 4)


def side_rows(log):
    print("\nInstructions per byte (1 ns each, so ns per byte): the sender, the receiver, neither")
    for row in log.sides:
        print(f"  {row['mtu']:>5} {row['what']:24}{row['size']:>8} B"
              + "".join(f"{row[f'{name}_ns_per_byte']:10.3f}"
                        for name in ("sender", "receiver", "nobody")))
    print()


def side_goals(log, goals):
    """At most 10 % of the instructions may belong to neither end: otherwise the split is not
    meaningful"""
    worst = {}
    for row in log.sides:
        nobody, *ends = (row[f"{name}_ns_per_byte"] for name in ("nobody", "sender", "receiver"))
        what = row["what"].split("/")[1]
        worst[what] = max(worst.get(what, 0), nobody / (nobody + sum(ends)))
    for what, share in worst.items():
        goals.check(f"sides, {what}: share of instructions of neither end", share, 0.1, False)


def qps_rows(log):
    rows = {}
    for row in log.qps:
        rows.setdefault(row["what"], []).append(row)
    fields = ("open_us", "close_us", "objects", "memory")
    print("\nIdle connections of verbs, medians: us to open one, us to close it,"
          " opened and closed per s; bytes per end: slab and vmalloc, all memory")
    for what, rounds in rows.items():
        made, ended, objects, memory = (statistics.median(r[f] for r in rounds) for f in fields)
        print(f"  {what:24}{rounds[0]['conns']:>7}{made:10.1f}{ended:10.1f}"
              f"{1e6 / (made + ended):10.0f}{objects:10.0f}{memory:10.0f}")
    print()


# Fields of a row of the part "verbs" over the NIC that tell it from others of its size
VARIED = ("q", "buffers", "reuse", "compute_ns")


def nic_rows(log):
    """Cost of each profile at the level of verbs"""
    fields = ("copy_tx_bytes", "crc_tx_bytes", "dma_tx_ops", "touch_tx_bytes", "fpdus", "packets")
    print("\nVerbs over the simulated NIC: MB/s or us; for a request"
          + "".join(f", {name}" for name in fields))
    for row in log.verbs:
        varied = " ".join(f"{name}={row[name]}" for name in VARIED if name in row)
        value = row.get("mbps", row.get("lat_us"))
        print(f"  {row['mtu']:>5} {row['interval']:>5} {row['what']:28}{row['test']:6}"
              f"{row['size']:>8} B {varied:14}{value:10.2f}"
              + "".join(f"{row['counters'][name]:10.1f}" for name in fields))
    print()


def check(log, goals, sides):
    if log.verbs:
        nic_rows(log)
    if log.sides:
        read_sides(log, sides)
        side_rows(log)
        side_goals(log, goals)
    if log.qps:
        qps_rows(log)
