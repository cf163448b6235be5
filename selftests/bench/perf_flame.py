#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""perf script | perf_flame.py >flame.svg: a flame graph of what "perf record -a -g" has
recorded, with functions in the colour of their layer (layers.map). Idle processors are
left out; what programs do by themselves is one box for each program."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import flame  # noqa: E402, pylint: disable=wrong-import-position
import layers  # noqa: E402, pylint: disable=wrong-import-position

# COMM PID [CPU] TIME: PERIOD EVENT:
HEAD = re.compile(r"(\S.*?)\s+-?\d+(?:/-?\d+)?\s+(?:\[\d+\]\s+)?\d+\.\d+:\s+"
                  r"(?:(\d+)\s+)?(\S+?):\s*$")
# ADDRESS FUNCTION+OFFSET (OBJECT)
FRAME = re.compile(r"\s+[0-9a-f]+\s+(.*?)(?:\+0x[0-9a-f]+)?\s+\((.*)\)\s*$")
IDLE = re.compile(r"idle|safe_halt|mwait")


def modules_of(lines):
    """{function: module} by /proc/kallsyms, of functions that only a module has"""
    kernel, found = set(), {}
    for line in lines:
        _, _, name, *module = line.split()
        if module:
            found[name] = module[0].strip("[]")
        else:
            kernel.add(name)
    return {name: module for name, module in found.items() if name not in kernel}


def function(name, dso, modules):
    """As layers.map has them: NAME, NAME [MODULE], or [user]. perf may take all modules for
    the kernel."""
    if dso.startswith("[kernel"):
        return f"{name} [{modules[name]}]" if name in modules else name
    module = (re.search(r"([^/]+)\.ko(?:\.\w+)?$", dso) or
              re.match(r"\[(?!vdso|unknown)(.*)\]$", dso))
    return f"{name} [{module[1].replace('-', '_')}]" if module else "[user]"


def samples(lines, modules):
    """(program, event, amount, functions from the innermost on) of each sample"""
    found = None
    for line in lines:
        if match := HEAD.match(line):
            found = match[1], match[3], int(match[2] or 1), []
        elif not line.strip() and found:
            yield found
            found = None
        elif found and (match := FRAME.match(line)):
            found[3].append(function(*match.groups(), modules))
    if found:
        yield found


def fold(lines, modules):
    """{(program, outermost function, ..., innermost): amount}, the event, their number"""
    folded, event, number = {}, None, 0
    for program, event, amount, functions in samples(lines, modules):
        if not functions or IDLE.search(functions[0]):
            continue
        stack = [program]
        for name in reversed(functions):
            if name != "[user]" or stack[-1] != name:
                stack.append(name)
        folded[tuple(stack)] = folded.get(tuple(stack), 0) + amount
        number += 1
    return folded, event, number


def main():
    with open("/proc/kallsyms", encoding="ascii") as file:
        modules = modules_of(file)
    folded, event, number = fold(sys.stdin, modules)
    if not folded:
        sys.exit("perf_flame.py: no call stacks: perf script shows those of perf record -g")
    unit = "ns" if "clock" in event else event.split(":")[0]
    print(flame.svg(folded, layers.Layers().of, f"{event}, {number} samples", unit), end="")


if __name__ == "__main__":
    main()
