#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each command of make, and of a program of the source tree, that the documents show has
a target, variables and values that exist. Many of them measure for hours: what they do is
tested in parts, by selftests/host and by CI."""
import glob
import os
import re
import shlex
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
DOCUMENTS = ["README.rst", "CONTRIBUTING.rst", "examples/filters/README.rst",
             *sorted(glob.glob("Documentation/*.rst", root_dir=TOP)),
             *sorted(glob.glob("Documentation/results/*.rst", root_dir=TOP))]
KERNELS = {"6.1", "rt", "6.12", "7", "debug", "kcsan"}
# where the variables of a target are named, besides the Makefile
SCRIPTS = {"bench": "selftests/bench/*.sh selftests/native/run.sh",
           "profile": "selftests/bench/profile.sh selftests/native/profile.sh",
           "check": "scripts/check.sh", "check-long": "scripts/check.sh",
           "report": "selftests/report/run.sh selftests/report/*.py",
           "-C selftests": "selftests/Makefile"}


def read(*patterns):
    text = ""
    for pattern in patterns:
        for name in glob.glob(pattern, root_dir=TOP):
            with open(os.path.join(TOP, name), encoding="utf-8") as f:
                text += f.read()
    return text


def shown(document):
    """Its commands, as the other tests take them"""
    script = ". selftests/lib/documents.bash; in_document " + shlex.quote(document)
    return subprocess.run(["bash", "-c", script], cwd=TOP, text=True, check=False,
                          stdout=subprocess.PIPE).stdout.splitlines()


def is_value(name, value):
    """Is there such a kernel, test, part or figure?"""
    words = value.split()
    if name == "KERNEL":
        return value in KERNELS
    if name == "TESTS":
        return all(os.path.exists(os.path.join(TOP, "selftests", word + end))
                   for word in words for end in ("" if "/" not in word else ".sh",))
    if name == "PARTS":
        parts = re.findall(r"^part_(\w+)\(\)", read("selftests/bench/*.sh"), re.M)
        return set(words) <= set(parts)
    if name == "FIGURES":
        panels = re.findall(r"^\[panel\.([\w-]+)", read("selftests/report/claims.toml"), re.M)
        return all(any(p.startswith(word) for p in panels) for word in words)
    return True


def wrong(command):
    """The fault of a command of make, or None"""
    words = shlex.split(command, comments=True)[1:]
    if words[:1] == ["-C"]:
        target, makefile = "-C " + words[1], words[1] + "/Makefile"
        words = words[2:]
    else:
        target, makefile = next((w for w in words if "=" not in w), "all"), "Makefile"
    makefile = read(makefile)
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            if not re.search(rf"^{re.escape(word)}:", makefile, re.M):
                return f"no target {word}"
        elif not re.search(rf"\b{name}\b", makefile + read(*SCRIPTS.get(target, "").split())):
            return f"{target} has no variable {name}"
        elif not is_value(name, value):
            return f"no {name} {value}"
    return None


def scripts_shown(document):
    """Programs of the tree in its literal blocks"""
    return re.findall(r"^    \(?((?:selftests|scripts)/[\w./-]+)", read(document), re.M)


def check(number, title, findings):
    print(f"{'not ok' if findings else 'ok'} {number} - {title}")
    for finding in findings:
        print(f"# {finding}")
    return not findings


def main():
    makes = [(d, c) for d in DOCUMENTS for c in shown(d) if re.match(r"make\b", c)]
    programs = [(d, p) for d in DOCUMENTS for p in scripts_shown(d)]
    print("TAP version 13\n1..5")
    good = check(1, f"{len(makes)} commands of make in the documents",
                 [] if len(makes) > 50 else ["they are not found any more"])
    good &= check(2, "their targets, variables and values exist",
                  [f"{d}: {c}: {wrong(c)}" for d, c in makes if wrong(c)])
    good &= check(3, f"{len(programs)} programs of the tree that they show can be run",
                  [f"{d}: {p}" for d, p in programs
                   if not os.access(os.path.join(TOP, p), os.X_OK)])
    good &= check(4, "mistakes would be found",
                  [c for c in ("make nosuch", "make bench PARTS=nosuch", "make check KERNEL=5",
                               "make check TESTS=sdp/nosuch", "make lint PARTS=veth",
                               "make report FIGURES=P9") if not wrong(c)])
    bench = subprocess.run([os.path.join(TOP, "selftests/bench/run.sh")], check=False,
                           env={**os.environ, "PARTS": "veth nosuch"}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    good &= check(5, "make bench refuses a part that there is not, before it builds",
                  [] if bench.returncode == 2 and "there is no part nosuch" in bench.stdout
                  else [bench.stdout])
    sys.exit(not good)


if __name__ == "__main__":
    main()
