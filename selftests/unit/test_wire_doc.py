#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The bytes that Documentation/wire.rst shows are vectors of wire.py, so the code that
is tested with these makes them, and takes them"""
import os
import re
import sys

import wire

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                   "../../Documentation/wire.rst")
LINE = re.compile(r" {4}([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)$")


def blocks(text):
    """(number of the line, offset, bytes) of each"""
    found, last = [], -1
    for number, line in enumerate(text.split("\n"), 1):
        match = LINE.match(line)
        if not match:
            continue
        at, part = int(match[1], 16), bytes.fromhex(match[2])
        if number == last + 1 and at == found[-1][1] + len(found[-1][2]):
            found[-1][2].extend(part)
        else:
            found.append((number, at, bytearray(part)))
        last = number
    return found


def main():
    named = [data for _, _, data in wire.vectors()]
    with open(DOC, encoding="utf-8") as doc:
        shown = blocks(doc.read())
    strange = [number for number, at, part in shown
               if not any(data[at:at + len(part)] == part for data in named)]
    good = len(shown) >= 15 and not strange
    print("TAP version 13\n1..1")
    print(f"{'ok' if good else 'not ok'} 1 - {len(shown)} vectors of wire.rst")
    for number in strange:
        print(f"# line {number} of wire.rst is no vector of wire.py")
    sys.exit(not good)


if __name__ == "__main__":
    main()
