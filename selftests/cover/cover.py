#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""cover.py SOURCES FILES MISSED: what share of the drivers has run?

SOURCES is the directory where they were compiled with calls of test_cover.ko, FILES one
with what guests left of its files (cover/BOOT/MODULE). Prints a table of blocks and lines
by source file and module, and writes the lines that have not run to MISSED."""
import collections
import glob
import os
import re
import subprocess
import sys

MODULES = {
    "sdp": "drivers/sdp", "sdp_diag": "drivers/sdp", "iwarp_hybrid": "drivers/iwarp_hybrid",
    "libiwarp": "lib/iwarp", "rdma_stack": "drivers/rdma_stack", "hnic": "drivers/hnic"}
CALL = "__sanitizer_cov_trace_pc"
# bytes of the operand of a call, which is where its relocation is
OPERAND = 4
SECTION = re.compile(r"\[ *(\d+)\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +"
                     r"([A-Z]*) +\d+ +\d+ +(\d+)$")
RELOCATIONS = re.compile(r"^Relocation section '\.rela(\S+)'")
# The kernel's macros make functions of tracepoints, most of which are for perf(1). Some
# compilers give them lines of the header in the file that includes it.
TRACEPOINT = re.compile(r"_trace\.h$")
TRACEPOINT_FUNCTION = re.compile(
    r"(__traceiter|__probestub|trace_event_raw_event|perf_trace|trace_raw_output)_")
OURS = re.compile(r"/(?:src|build)/((?:drivers|lib)/[^:]+):(\d+)")

Block = collections.namedtuple("Block", "file line function hit")


def run(*command, text=None):
    return subprocess.run(command, input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def layout(listing):
    """Where the kernel puts the sections with code, from readelf -SW: one after the other.
    Code that runs once at load is elsewhere, and not counted."""
    places, end = {}, 0
    for line in listing.splitlines():
        match = SECTION.search(line)
        if not match or not {"A", "X"} <= set(match[4]) or match[2].startswith(".init"):
            continue
        align = int(match[5]) or 1
        end = (end + align - 1) // align * align
        places[match[2]] = end
        end += int(match[3], 16)
    return places


def calls(listing):
    """Return addresses of the calls, by section, from readelf -rW"""
    found, section = collections.defaultdict(list), None
    for line in listing.splitlines():
        match = RELOCATIONS.match(line)
        if match:
            section = match[1]
        elif CALL in line:
            found[section].append(int(line.split()[0], 16) + OPERAND)
    return found


def frames(listing):
    """The innermost line of ours for each address, and its function, from addr2line -aif"""
    places, at = {}, None
    function = ""
    for line in listing.splitlines():
        match = OURS.search(line)
        if match and (TRACEPOINT.search(match[1]) or TRACEPOINT_FUNCTION.match(function)):
            continue
        if re.fullmatch(r"0x[0-9a-f]+", line):
            at = int(line, 16)
        elif match:
            places.setdefault(at, (os.path.normpath(match[1]), int(match[2]), function))
        else:
            function = line
    return places


def bits_of(files, module):
    """The files of all guests, joined"""
    total = 0
    for name in glob.glob(os.path.join(files, "cover", "*", module)):
        with open(name, "rb") as f:
            total |= int.from_bytes(f.read(), "little")
    return total


def blocks_of(ko, bits):
    places = layout(run("readelf", "-SW", ko))
    for section, addresses in calls(run("readelf", "-rW", ko)).items():
        if section not in places:
            continue
        # in the call, which has the line of its block
        asked = "\n".join(hex(a - 1) for a in addresses)
        found = frames(run("addr2line", "-aif", "-j", section, "-e", ko, text=asked))
        for a in addresses:
            if a - 1 in found:
                yield Block(*found[a - 1], bool(bits >> (places[section] + a) & 1))


def share(hit, total):
    return f"{hit:6} of {total:6} {100 * hit / total:6.1f} %"


def row(name, blocks):
    lines = collections.defaultdict(bool)
    for b in blocks:
        lines[b.file, b.line] |= b.hit
    return (f"{name:36} {share(sum(b.hit for b in blocks), len(blocks))}"
            f"   {share(sum(lines.values()), len(lines))}")


def missed(blocks):
    """Lines of which no block has run, by function"""
    ran = {(b.file, b.line) for b in blocks if b.hit}
    entered = {(b.file, b.function) for b in blocks if b.hit}
    lines = collections.defaultdict(set)
    for b in blocks:
        if (b.file, b.line) not in ran:
            lines[b.file, b.function].add(b.line)
    for (name, function), numbers in sorted(lines.items(), key=lambda x: (x[0][0], min(x[1]))):
        never = "" if (name, function) in entered else " (never called)"
        yield f"{name} {function}{never}: {' '.join(map(str, sorted(numbers)))}"


def main():
    sources, files, out = sys.argv[1:]
    every, rows = [], []
    for module, where in MODULES.items():
        bits = bits_of(files, module)
        if not bits:
            print(f"{module}: no guest has left a file of it", file=sys.stderr)
        blocks = list(blocks_of(os.path.join(sources, where, module + ".ko"), bits))
        by_file = collections.defaultdict(list)
        for b in blocks:
            by_file[b.file].append(b)
        rows += [row("  " + name, by_file[name]) for name in sorted(by_file)]
        rows.append(row(module, blocks))
        every += blocks
    if not any(b.hit for b in every):
        sys.exit("cover: no block has run")
    print(f"{'':36} {'blocks':>19}   {'lines where a block begins':>29}", *rows,
          row("all", every), sep="\n")
    with open(out, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in missed(every))


if __name__ == "__main__":
    main()
