#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""check-layers.sh reports a call to an upper layer, with the status 1, and takes lines
that exempt one only as long as they are needed"""
import os
import subprocess
import sys
import tempfile

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOOL = os.path.join(TOP, "scripts/check-layers.sh")
# two layers; the lower one calls the upper one as well
SOURCES = {
    "high.c": "// SPDX\n/*\n * The upper layer. Calls low.c.\n */\n"
              "void low(void);\nvoid high(void) { low(); }\n",
    "low.c": "// SPDX\n/*\n * The lower layer. Calls nothing.\n */\n"
             "void high(void);\nvoid low(void) { high(); }\n",
}
UPWARD = "low -> high: high\n"


def compile_to(dirname, sources):
    for name, text in sources.items():
        path = os.path.join(dirname, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run((os.environ.get("CC", "cc"), "-c", "-fno-inline", "-o",
                        path[:-1] + "o", path), check=True)


def run(dirname, lines, *options):
    """Status and findings, without the name of the file"""
    layers = os.path.join(dirname, "LAYERS")
    with open(layers, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    res = subprocess.run((TOOL, *options, dirname, layers), text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return res.returncode, res.stdout.replace(layers + ": ", "")


def main():
    hint = "hint low high  # the fast path"
    known = "known low high"
    unused = "known high low"
    with tempfile.TemporaryDirectory() as tmp:
        compile_to(tmp, SOURCES)
        cases = [
            ("an upward call is a finding", ["high", "low"], (), (1, UPWARD)),
            ("a hint exempts the call", ["high", "low", hint], ("-s",), (0, "")),
            ("a known violation exempts the call", ["high", "low", known], ("-s",), (0, "")),
            ("a hint needs a reason", ["high", "low", hint.split("  #", maxsplit=1)[0]], (),
             (1, "line 3: a hint needs a reason (# ...)\n")),
            ("an unused exemption is a finding with -s", ["high", "low", known, unused], ("-s",),
             (1, "line 4: no longer needed: high low\n")),
            ("an unused exemption passes without -s", ["high", "low", known, unused], (),
             (0, "")),
            ("-l lists the call as a known violation", ["high", "low"], ("-l",),
             (0, known + "\n")),
            ("an object has to be in a layer", ["low"], (), (1, "high is in no layer\n")),
            ("an object is in one layer only", ["high", "high low", known], (),
             (1, "line 2: high is in two layers\nhigh -> low: low\n")),
            ("an object of LAYERS has to exist", ["high", "low", "none"], (),
             (1, f"no such object in {tmp}: none\n")),
            ("a mark at an object that exists changes nothing", ["high?", "low?"], (),
             (1, UPWARD)),
            ("an object with a mark has to have a source", ["high", "low", "none?"], (),
             (1, f"no such object in {tmp}: none\n")),
        ]
        for what, lines, options, wanted in cases:
            got = run(tmp, lines, *options)
            check(what, got == wanted, f"{got}, wanted {wanted}")
        os.unlink(os.path.join(tmp, "high.o"))
        got = run(tmp, ["high", "low"])
        check("an object without a mark has to be built",
              got == (1, f"no such object in {tmp}: high\n"), got)
        got = run(tmp, ["high?", "low", unused], "-s")
        check("an object with a mark may be left out, and what exempts it stays", got == (0, ""),
              got)
        compile_to(tmp, {"low.c": SOURCES["low.c"].replace("Calls nothing", "Calls high.c")})
        got = run(tmp, ["high?", "low"])
        check("a comment may name an object that is left out", got == (0, ""), got)
        compile_to(tmp, {"high.c": SOURCES["high.c"]})
        compile_to(tmp, {"low.c": SOURCES["low.c"].replace("high(); ", "")})
        got = run(tmp, ["high", "low"], "-s")
        check("a downward call passes", got == (0, ""), got)
        compile_to(tmp, {"high.c": SOURCES["high.c"].replace("low(); ", "")})
        got = run(tmp, ["high", "low"])
        wanted = (1, "high.c says that it calls low.c, but does not\n")
        check("a comment that names a call which does not exist is a finding", got == wanted, got)
    return 1 if FAILED else 0


sys.exit(main())
