#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""extract-vmlinux.py BZIMAGE OUT: unpack the ELF kernel from a bzImage.

QEMU boots the ELF by PVH, so that the guest need not decompress itself, which
takes many seconds under emulation.
"""
import struct
import subprocess
import sys

TOOLS = {
    b"\xfd7zXZ": ["xz", "-dc"],
    b"\x28\xb5\x2f\xfd": ["zstd", "-dc"],
    b"\x1f\x8b": ["gzip", "-dc"],
    b"\x02\x21\x4c\x18": ["lz4", "-dc"],
    b"BZh": ["bzip2", "-dc"],
}


def main():
    with open(sys.argv[1], "rb") as image:
        data = image.read()
    setup = ((data[0x1F1] or 4) + 1) * 512
    offset, length = struct.unpack_from("<II", data, 0x248)
    payload = data[setup + offset:setup + offset + length]
    tool = next(t for magic, t in TOOLS.items() if payload.startswith(magic))
    # The size is appended to the compressed stream: exit status means nothing
    elf = subprocess.run(tool, input=payload, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False).stdout
    if elf[:4] != b"\x7fELF":
        sys.exit(f"{sys.argv[1]}: no ELF kernel inside")
    with open(sys.argv[2], "wb") as out:
        out.write(elf)


if __name__ == "__main__":
    main()
