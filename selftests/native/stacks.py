#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Call stacks of User-Mode Linux, from what "perf record --call-graph dwarf" has written.

perf itself cannot unwind the stack where the kernel's modules are: to it they are no
files. Here the unwind tables of the kernel and of its modules (.eh_frame, as readelf
shows them) and the symbols of the guest (/proc/kallsyms) are taken instead.

Used by profile.py.
"""
import bisect
import collections
import re
import struct
import subprocess

# perf_event.h
RECORD_SAMPLE = 9
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS, STACK = (
    1 << n for n in range(14))
IDENTIFIER = 1 << 16
# asm/perf_regs.h
REG_BP, REG_SP, REG_IP = 6, 7, 8

FAR = 1 << 20
HOST = 1 << 63      # addresses of the host's kernel have this bit

Sample = collections.namedtuple("Sample", "pid time ip pc sp bp stack")
Rule = collections.namedtuple("Rule", "end register offset bp")


def samples(path):
    """Samples of a perf.data file with registers and stack of the process"""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"PERFILE2":
        raise ValueError(f"{path} is not of perf record")
    attr_at, = struct.unpack_from("<Q", data, 24)
    at, size = struct.unpack_from("<QQ", data, 40)
    sample_type, = struct.unpack_from("<Q", data, attr_at + 24)
    regs, = struct.unpack_from("<Q", data, attr_at + 80)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == RECORD_SAMPLE:
            yield sample(data, at + 8, sample_type, regs)
        at += length


def sample(data, at, kind, mask):
    """One of them; at: after its header"""
    pid = ip = time = 0
    at += 8 if kind & IDENTIFIER else 0
    if kind & IP:
        ip, = struct.unpack_from("<Q", data, at)
        at += 8
    if kind & TID:
        pid, = struct.unpack_from("<I", data, at)
        at += 8
    if kind & TIME:
        time, = struct.unpack_from("<Q", data, at)
        at += 8
    at += 8 * bin(kind & (ADDR | ID | STREAM_ID | CPU | PERIOD)).count("1")
    if kind & (READ | RAW | BRANCH):
        raise ValueError("perf record with other options than profile.sh has")
    if kind & CALLCHAIN:
        at += 8 + 8 * struct.unpack_from("<Q", data, at)[0]
    abi, = struct.unpack_from("<Q", data, at)
    at += 8
    regs = {}
    if abi:
        numbers = [n for n in range(64) if mask >> n & 1]
        regs = dict(zip(numbers, struct.unpack_from(f"<{len(numbers)}Q", data, at)))
        at += 8 * len(numbers)
    size, = struct.unpack_from("<Q", data, at)
    stack = b""
    if size:
        used, = struct.unpack_from("<Q", data, at + 8 + size)
        stack = data[at + 8:at + 8 + min(size, used)]
    return Sample(pid, time, ip, regs.get(REG_IP, 0), regs.get(REG_SP, 0), regs.get(REG_BP, 0), stack)


class Unwinder:
    """Unwind tables of several ELF files, each at its place"""

    def __init__(self):
        self.starts = []
        self.rules = []

    def add(self, elf):
        """Take what readelf says of a file"""
        found = []
        run = subprocess.run(["readelf", "--debug-dump=frames-interp", elf], text=True,
                             capture_output=True, check=True)
        columns, end, common, rule = [], 0, {}, None
        for line in run.stdout.splitlines():
            fields = line.split()
            head = re.search(r" (?:(CIE)|FDE cie=(\w+) pc=(\w+)\.\.(\w+))", line)
            if head:
                if head[1]:
                    cie, end = int(fields[0], 16), 0
                else:
                    end = int(head[4], 16)
                    first = common.get(int(head[2], 16))
                    if first:
                        found.append((int(head[3], 16), first._replace(end=end)))
            elif fields[:1] == ["LOC"]:
                columns = fields
            elif columns and len(fields) == len(columns):
                rule = self.rule(dict(zip(columns, fields)), end)
                if end:
                    found.append((int(fields[0], 16), rule))
                else:
                    common[cie] = rule
        # of two with the same address the later is the more exact
        pairs = sorted(zip(self.starts, self.rules)) + found
        pairs = sorted(dict(pairs).items())
        self.starts = [start for start, _ in pairs]
        self.rules = [rule for _, rule in pairs]

    @staticmethod
    def rule(row, end):
        cfa = re.fullmatch(r"(rsp|rbp)\+(\d+)", row["CFA"])
        bp = re.fullmatch(r"c-(\d+)", row.get("rbp", ""))
        return Rule(end, cfa[1] if cfa else None, int(cfa[2]) if cfa else 0,
                    int(bp[1]) if bp else None)

    def stack(self, sam, depth=64):
        """Addresses of code, the innermost first"""
        pc, sp, bp = sam.pc, sam.sp, sam.bp
        found = [pc]
        while len(found) < depth:
            n = bisect.bisect_right(self.starts, pc if len(found) == 1 else pc - 1) - 1
            rule = self.rules[n] if n >= 0 and pc <= self.rules[n].end else None
            if not rule and len(found) == 1:
                # of assembly, which pushes nothing
                rule = Rule(0, "rsp", 8, None)
            if not rule or not rule.register:
                break
            cfa = (sp if rule.register == "rsp" else bp) + rule.offset
            at = cfa - 8 - sam.sp
            if not 0 <= at <= len(sam.stack) - 8:
                break
            pc, = struct.unpack_from("<Q", sam.stack, at)
            if rule.bp and 0 <= cfa - rule.bp - sam.sp <= len(sam.stack) - 8:
                bp, = struct.unpack_from("<Q", sam.stack, cfa - rule.bp - sam.sp)
            sp = cfa
            if not pc:
                break
            found.append(pc)
        return found


class Symbols:
    """/proc/kallsyms of one machine"""

    def __init__(self, lines):
        table = {}
        for line in lines:
            fields = line.split()
            address, code = int(fields[0], 16), fields[1] in "tTwW"
            if code or address not in table:
                # other symbols say where code ends
                table[address] = " ".join(fields[2:4]) if code else "[unknown]"
        self.starts = sorted(table)
        self.names = [table[start] for start in self.starts]

    def name(self, address):
        n = bisect.bisect_right(self.starts, address) - 1
        if n < 0:
            return "[unknown]"
        # the clock that the host's kernel gives to programs lies far past the modules
        return self.names[n] if address - self.starts[n] < FAR else "[vdso] [host]"
