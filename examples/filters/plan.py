#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Choose the block size of an application from what its transports can do.

An image that is cut into small blocks shows a change soon, but takes longer as a whole;
with large blocks it is the other way round. Which block is best follows from the
transport: a program that was tuned for one is not tuned for the next.

Curves come from files of these kinds:

  curves.json     {"NAME": {"sizes": [...], "o_s_us": [...], "o_r_us": [...],
                            "wire_us": [...]}}
  sdpbench -j     what it prints between two machines (-T lat,bw): the time of a message
                  is its size by the bandwidth, but no less than what a small one takes
  NAME=L:B        latency in microseconds, bandwidth in Mbit/s
"""
import argparse
import json
import sys

MB = 1 << 20


def die(text):
    print(f"plan.py: {text}", file=sys.stderr)
    sys.exit(2)


class Curve:
    """Time that a message of a size occupies the slowest of its stages, and the time it
    takes from program to program."""

    def __init__(self, name, sizes, stage_us, through_us):
        order = sorted(range(len(sizes)), key=lambda i: sizes[i])
        if len(sizes) < 2 or len(set(sizes)) < len(sizes):
            die(f"{name}: two different sizes at least are needed")
        self.name = name
        self.sizes = [sizes[i] for i in order]
        self.stage_us = [stage_us[i] for i in order]
        self.through_us = [through_us[i] for i in order]

    def at(self, values, size):
        """Linear between sizes, beyond the ends by the nearest slope."""
        i = 1
        while i < len(self.sizes) - 1 and self.sizes[i] < size:
            i += 1
        (x0, x1), (y0, y1) = self.sizes[i - 1:i + 1], values[i - 1:i + 1]
        return max(y0 + (y1 - y0) * (size - x0) / (x1 - x0), 1e-6)

    def stage(self, size):
        return self.at(self.stage_us, size)

    def through(self, size):
        return self.at(self.through_us, size)


def of_curves(data):
    for name, c in data.items():
        parts = list(zip(c["o_s_us"], c["wire_us"], c["o_r_us"], strict=True))
        yield Curve(name, c["sizes"], [max(p) for p in parts], [sum(p) for p in parts])


def of_bench(path, rows):
    """Rows of sdpbench -j: bandwidth and half round trips by size."""
    by_name = {}
    for row in rows:
        name = row.get("transport", row.get("what", "measured"))
        lat, bw = by_name.setdefault(name, ({}, {}))
        if "lat_us" in row and row["lat_us"]:
            lat[row["size"]] = row["lat_us"]
        if "mbps" in row and row["mbps"]:
            bw[row["size"]] = row["size"] / row["mbps"]
    if not by_name:
        die(f"{path}: neither curves nor output of sdpbench -j")
    for name, (lat, bw) in by_name.items():
        if len(lat) < 2 or len(bw) < 2:
            die(f"{path}: {name} needs latency and bandwidth of two sizes at least: "
                "sdpbench -j -T lat,bw -L 1,64K -S 64,1K,8K,64K")
        through = Curve(name, list(lat), list(lat.values()), list(lat.values()))
        sizes = sorted(bw)
        yield Curve(name, sizes, [bw[s] for s in sizes], [through.through(s) for s in sizes])


def flatten(data):
    """The rows of a JSON document of sdpbench, whatever is around them."""
    if isinstance(data, dict) and "size" in data:
        yield data
    elif isinstance(data, dict):
        outer = {k: v for k, v in data.items() if isinstance(v, str)}
        for value in data.values():
            for row in flatten(value):
                yield {**outer, **row}
    elif isinstance(data, list):
        for value in data:
            yield from flatten(value)


def load(source):
    name, eq, text = source.partition("=")
    if eq and ":" in text:
        try:
            latency, mbit = map(float, text.split(":"))
        except ValueError:
            die(f"{source}: NAME=LATENCY:MBIT belongs here")
        if latency < 0 or mbit <= 0:
            die(f"{source}: a latency and a bandwidth above 0 belong here")
        times = [latency + 8 * size / mbit for size in (0, MB)]
        yield Curve(name, [0, MB], times, times)
        return
    try:
        with open(source, encoding="utf-8") as file:
            text = file.read()
        try:
            data = json.loads(text)
        except ValueError:
            data = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        if isinstance(data, dict) and data and all(
                isinstance(c, dict) and "wire_us" in c for c in data.values()):
            yield from of_curves(data)
        else:
            yield from of_bench(source, list(flatten(data)))
    except OSError as err:
        die(f"{source}: {err.strerror}")
    except (ValueError, KeyError, TypeError) as err:
        die(f"{source}: neither curves nor output of sdpbench -j: {err}")


class Application:
    """A pipeline whose last filter sees the whole image."""

    def __init__(self, args):
        self.image, self.hops, self.ns = args.image, args.hops, args.compute

    def rate(self, curve, block):
        """Images a second: the last node receives and computes at the same time."""
        slowest = max(curve.stage(block), self.ns * block / 1e3)
        return block / slowest / self.image * 1e6

    def part_us(self, curve, block):
        """Time of a part of one block: the query, then from filter to filter."""
        return curve.through(16) + self.hops * curve.through(block) + self.ns * block / 1e3


def bytes_of(text):
    try:
        return int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1:], 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: a size such as 8K belongs here") from None


def label(size):
    return f"{size // MB}M" if size % MB == 0 else f"{size // 1024}K" if size % 1024 == 0 \
        else str(size)


def table(app, curves, blocks):
    """Rate and time of a part, for each block and transport."""
    width = max(18, *(len(c.name) for c in curves))
    print("images/s and time of a part by block:")
    print("block".rjust(8), *(c.name.rjust(width) for c in curves))
    for b in blocks:
        print(label(b).rjust(8), *(f"{app.rate(c, b):8.3g} {app.part_us(c, b):7.0f} us".rjust(width)
                                   for c in curves))


def choose(app, curves, blocks, args):
    """For each transport the block that the bound asks for, and what follows from it."""
    first = None
    for c in curves:
        if args.rate:
            fit = [b for b in blocks if app.rate(c, b) >= args.rate]
            block = fit[0] if fit else None
        else:
            fit = [b for b in blocks if app.part_us(c, b) <= args.latency]
            block = fit[-1] if fit else None
        if block is None:
            print(f"{c.name}: no block reaches that; best is "
                  + (f"{max(app.rate(c, b) for b in blocks):.3g} images/s" if args.rate else
                     f"{min(app.part_us(c, b) for b in blocks):.0f} us"))
            continue
        text = (f"{c.name}: block={label(block)}: {app.rate(c, block):.3g} images/s, "
                f"a part in {app.part_us(c, block):.0f} us")
        if first and first[1] != block:
            text += (f" (with block={label(first[1])}, as for {first[0]}: "
                     f"{app.rate(c, first[1]):.3g} images/s, {app.part_us(c, first[1]):.0f} us)")
        first = first or (c.name, block)
        print(text)
    return first is not None


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("curves", nargs="+", metavar="FILE|NAME=L:B")
    bound = p.add_mutually_exclusive_group()
    bound.add_argument("--rate", type=float, metavar="N",
                       help="smallest block with N images a second")
    bound.add_argument("--latency", type=float, metavar="US",
                       help="largest block with which a part takes at most US microseconds")
    p.add_argument("--image", type=bytes_of, default=16 * MB, help="bytes (default 16M)")
    p.add_argument("--hops", type=int, default=3, help="streams in a row (default 3)")
    p.add_argument("--compute", type=float, default=0, metavar="NS",
                   help="nanoseconds that the last filter takes for a byte")
    args = p.parse_args()
    if args.image < 1 or args.hops < 1 or args.compute < 0:
        die("--image and --hops are at least 1, --compute is not negative")
    curves = [c for source in args.curves for c in load(source)]
    app = Application(args)
    blocks = [1 << i for i in range(7, 25) if 1 << i <= args.image]
    if args.rate is None and args.latency is None:
        table(app, curves, blocks)
        return 0
    return 0 if choose(app, curves, blocks, args) else 1


if __name__ == "__main__":
    sys.exit(main())
