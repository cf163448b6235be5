#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turn a PPM or PGM into a PNG, which everything can show: png.py FROM TO"""
import struct
import sys
import zlib


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def main():
    with open(sys.argv[1], "rb") as file:
        kind, size, _, data = file.read().split(b"\n", 3)
    width, height = map(int, size.split())
    depth, colour = (3, 2) if kind == b"P6" else (1, 0)
    rows = b"".join(b"\0" + data[y * width * depth:(y + 1) * width * depth]
                    for y in range(height))
    with open(sys.argv[2], "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n"
                  + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
                  + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


main()
