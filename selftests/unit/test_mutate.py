#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mutate.sh refuses wrong use in a sentence that says which variable to set, before it
fetches or compiles anything"""
import os
import subprocess
import sys
import tempfile

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
KERNEL_ONLY = "drivers/sdp/sdp_cm.c"
# FILE, N, SEED, TESTS; what is said
REFUSED = [
    ("", "", "", "", "FILE= is a .c file"),
    ("lib/iwarp/ddp.h", "", "", "", "FILE= is a .c file"),
    ("lib/iwarp/none.c", "", "", "", "no file lib/iwarp/none.c: set FILE="),
    ("lib/iwarp/ddp.c", "0", "", "", "N= is a number of faults, not 0"),
    ("lib/iwarp/ddp.c", "many", "", "", "N= is a number of faults, not many"),
    ("lib/iwarp/ddp.c", "", "-1", "", "SEED= is a number, not -1"),
    (KERNEL_ONLY, "", "", "", f"no unit test and no fuzz target builds {KERNEL_ONLY}: set TESTS="),
    (KERNEL_ONLY, "", "", "sdp/fc sdp/none", "no test sdp/none: TESTS= are tests of the virtual"),
    (KERNEL_ONLY, "", "", "host/vm", "no test host/vm: TESTS= are tests of the virtual"),
]


def refused(home, name, count, seed, tests, wanted):
    """By make, as a user calls it; deps is not what is tested"""
    env = {**os.environ, "HOME": home, "SDP_CACHE": home + "/cache", "MAKEFLAGS": ""}
    res = subprocess.run(["make", "-s", "-C", TOP, "-o", "deps", "mutate", f"BUILD={home}/build",
                          f"FILE={name}", f"N={count}", f"SEED={seed}", f"TESTS={tests}"],
                         env=env, text=True, check=False, timeout=120,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(f"mutate is refused: {wanted}", res.returncode and "mutate: " + wanted in res.stderr and
          not res.stdout, res)
    check(f"nothing is fetched: {wanted}", not os.path.exists(home + "/cache"))


def main():
    for case in REFUSED:
        with tempfile.TemporaryDirectory() as home:
            refused(home, *case)


main()
sys.exit(bool(FAILED))
