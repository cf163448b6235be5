#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""layers.py [--base FILE] FILE: a profile by layer, see layers.map.

FILE is profile.txt of profile.sh: lines "COUNT SHARE% PER-UNIT FUNCTION [MODULE]", the
last one "total". With --base the difference to another such profile follows, by layer
and by function. Exit status 1: more than 2 % of the profile has no layer.
"""
import argparse
import os
import re
import sys

MAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.map")
NO_LAYER = "no layer"
LIMIT = 0.02


class Layers:
    """Rules of layers.map: the first pattern that matches a function gives its layer"""

    def __init__(self, path=MAP):
        self.rules = []
        self.known = {}
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.startswith("#") or not line.strip():
                    continue
                layer, _, pattern = line.strip().partition("\t")
                try:
                    self.rules.append((layer, re.compile(pattern)))
                except re.error as err:
                    sys.exit(f"{path}:{number}: {err}")
        self.names = list(dict.fromkeys(layer for layer, _ in self.rules))

    def of(self, function):
        """Layer of "FUNCTION" or "FUNCTION [MODULE]\""""
        layer = self.known.get(function)
        if layer is None:
            layer = next((la for la, rule in self.rules if rule.search(function)), NO_LAYER)
            self.known[function] = layer
        return layer


def read(path):
    """Read a profile: {function: instructions per unit}; the unit is that of profile.sh"""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            _, _, per_unit, name = line.split(None, 3)
            if name.strip() != "total":
                found[name.strip()] = found.get(name.strip(), 0) + float(per_unit)
    return found


def by_layer(layers, functions):
    """{layer: amount}, in the order of the map"""
    sums = dict.fromkeys(layers.names + [NO_LAYER], 0)
    for function, amount in functions.items():
        layer = layers.of(function)
        sums[layer] = sums.get(layer, 0) + amount
    return sums


def show(layers, functions, out=sys.stdout):
    """Table by layer, each with the functions that take the most. Return: share without layer"""
    sums = by_layer(layers, functions)
    total = sum(sums.values()) or 1
    print(f"{'layer':10}{'per unit':>10}{'share':>8}  largest", file=out)
    for layer, amount in sorted(sums.items(), key=lambda item: -item[1]):
        if not amount:
            continue
        top = sorted((f for f in functions if layers.of(f) == layer), key=lambda f: -functions[f])
        print(f"{layer:10}{amount:10.4f}{amount / total:8.1%}  {', '.join(top[:3])}", file=out)
    print(f"{'all':10}{total:10.4f}{1:8.1%}", file=out)
    return sums[NO_LAYER] / total


def difference(layers, functions, base, rows=20, out=sys.stdout):
    """Print the change per unit, by layer and by function"""
    new, old = by_layer(layers, functions), by_layer(layers, base)
    print(f"\n{'layer':10}{'before':>10}{'now':>10}{'change':>10}", file=out)
    for layer in [la for la in new if new[la] or old.get(la)]:
        before = old.get(layer, 0)
        print(f"{layer:10}{before:10.4f}{new[layer]:10.4f}{new[layer] - before:+10.4f}", file=out)
    before, now = sum(old.values()), sum(new.values())
    print(f"{'all':10}{before:10.4f}{now:10.4f}{now - before:+10.4f}\n", file=out)
    change = {f: functions.get(f, 0) - base.get(f, 0) for f in {*functions, *base}}
    for function in sorted(change, key=lambda f: -abs(change[f]))[:rows]:
        print(f"{base.get(function, 0):10.4f}{functions.get(function, 0):10.4f}"
              f"{change[function]:+10.4f}  {function}", file=out)


def main():
    parser = argparse.ArgumentParser(description="A profile by layer, see layers.map.")
    parser.add_argument("--base", metavar="FILE", help="show what changed since this profile")
    parser.add_argument("file", metavar="FILE", help="profile.txt of profile.sh")
    args = parser.parse_args()
    layers = Layers()
    functions = read(args.file)
    missing = show(layers, functions)
    if args.base:
        difference(layers, functions, read(args.base))
    if missing > LIMIT:
        lost = sorted((f for f in functions if layers.of(f) == NO_LAYER),
                      key=lambda f: -functions[f])
        print(f"{missing:.1%} has no layer; add to {MAP}: {', '.join(lost[:30])}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
