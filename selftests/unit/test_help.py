#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each script that the Makefile calls answers -h and --help with a sentence, and does
nothing else."""
import os
import re
import subprocess
import sys
import tempfile

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        return f.read()


def main():
    scripts = sorted(set(re.findall(r"(?:scripts|selftests)/[\w/-]+\.sh", read("Makefile"))))
    check("the Makefile calls scripts", len(scripts) > 15, scripts)
    for name in scripts:
        # one that does not would begin its work
        known = re.search(r"/help\.sh\"$|^\t*(-h \| --help|-h|h)\)", read(name), re.M)
        check(f"{name} looks for -h", known)
        for option in ("-h", "--help") if known else ():
            with tempfile.TemporaryDirectory() as home:
                env = {**os.environ, "HOME": home, "SDP_CACHE": home + "/cache",
                       "BUILD": home + "/build"}
                res = subprocess.run([os.path.join(TOP, name), option], env=env, cwd=home,
                                     text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                check(f"{name} {option} succeeds", res.returncode == 0, res)
                check(f"{name} {option} has a sentence", re.search(r"\w+ \w+ \w+", res.stdout)
                      and "shellcheck" not in res.stdout and not res.stderr, res)
                check(f"{name} {option} leaves nothing", not os.listdir(home))


main()
sys.exit(bool(FAILED))
