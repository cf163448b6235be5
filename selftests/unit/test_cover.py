#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""cover/cover.py: the output of binutils that it reads, and the lines that it reports"""
import os
import sys
import tempfile

from checks import FAILED, check

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cover"))
import cover  # noqa: E402, pylint: disable=wrong-import-position

SECTIONS = """
  [ 1] .note.gnu.property NOTE            0000000000000000 000040 000030 00   A  0   0  8
  [ 3] .text             PROGBITS        0000000000000000 0000a0 000105 00  AX  0   0 16
  [ 5] .init.text        PROGBITS        0000000000000000 0001a5 0000f6 00  AX  0   0  1
  [ 7] .exit.text        PROGBITS        0000000000000000 00029b 0000cb 00  AX  0   0 16
  [15] .data             PROGBITS        0000000000000000 00829c 000030 00  WA  0   0  4
"""
RELOCATIONS = """
Relocation section '.rela.text' at offset 0x77 contains 2 entries:
000000000010  001b00000004 R_X86_64_PLT32    0000000000000000 __sanitizer_cov_trace_pc - 4
000000000020  001c00000004 R_X86_64_PLT32    0000000000000000 memcpy - 4

Relocation section '.rela.exit.text' at offset 0x99 contains 1 entry:
000000000001  001b00000004 R_X86_64_PLT32    0000000000000000 __sanitizer_cov_trace_pc - 4
"""
FRAMES = """0x0000000000000013
list_add
/usr/src/linux-headers-6.1/include/linux/list.h:8
add_one
/home/me/build/src/drivers/sdp/./a.c:7 (discriminator 2)
add_all
/home/me/build/src/drivers/sdp/a.c:99
0x0000000000000017
trace_it
/home/me/build/src/drivers/sdp/./sdp_trace.h:12
add_all
/home/me/build/src/drivers/sdp/a.c:101
0x0000000000000018
__probestub_add
/home/me/build/src/drivers/sdp/./sdp_trace.c:41
0x0000000000000019
memset
/usr/src/linux-headers-6.1/include/linux/string.h:3
"""


def blocks(*rows):
    return [cover.Block("a.c", line, function, bool(hit)) for line, function, hit in rows]


def files():
    """Two guests, each of which has run something else"""
    with tempfile.TemporaryDirectory() as top:
        for boot, content in (("one", b"\x01\x80"), ("two", b"\x02")):
            os.makedirs(os.path.join(top, "cover", boot))
            with open(os.path.join(top, "cover", boot, "sdp"), "wb") as f:
                f.write(content)
        return cover.bits_of(top, "sdp"), cover.bits_of(top, "hnic")


def main():
    got = cover.layout(SECTIONS)
    check("code that stays is laid out as the kernel does", got == {".text": 0, ".exit.text": 0x110},
          got)
    got = dict(cover.calls(RELOCATIONS))
    check("a call returns to the byte after its operand", got == {".text": [0x14], ".exit.text": [5]}, got)
    got = cover.frames(FRAMES)
    check("the innermost line of the drivers counts, not one of the kernel or of a tracepoint",
          got == {0x13: ("drivers/sdp/a.c", 7, "add_one"),
                  0x17: ("drivers/sdp/a.c", 101, "add_all")}, got)
    check("the lines that several guests have run are joined", files() == (0x8003, 0), files())
    some = blocks((1, "f", 1), (1, "f", 0), (2, "f", 0), (9, "g", 0), (8, "g", 0))
    got = list(cover.missed(some))
    check("lines without a block that ran are missed", got ==
          ["a.c f: 2", "a.c g (never called): 8 9"], got)
    got = cover.row("a.c", some).split()
    check("shares of blocks and lines", got[1:5] == ["1", "of", "5", "20.0"] and
          got[6:10] == ["1", "of", "4", "25.0"], got)


main()
sys.exit(bool(FAILED))
