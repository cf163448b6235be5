#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""scripts/check-lists.py: it accepts the lists of this tree, and finds each kind of fault"""
import os
import shutil
import subprocess
import sys
import tempfile

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PAGE = "Documentation/architecture.rst"
FAST = "Documentation/fast_paths.rst"


def findings(top):
    """Output of the script, whose exit status must agree"""
    run = subprocess.run([os.path.join(TOP, "scripts/check-lists.py"), top], text=True,
                         check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check("the exit status says whether there are findings",
          run.returncode == bool(run.stdout), run)
    return run.stdout


def fault(title, path, old, new, expected):
    """A copy of the tree's sources with a fault in it"""
    with tempfile.TemporaryDirectory() as top:
        for directory in ("Documentation", "drivers", "lib", "include", "selftests/unit",
                          "selftests/fuzz"):
            shutil.copytree(os.path.join(TOP, directory), os.path.join(top, directory))
        with open(os.path.join(top, path), encoding="utf-8") as f:
            text = f.read()
        check(f"{path} has the text that is changed", old in text, old)
        with open(os.path.join(top, path), "w", encoding="utf-8") as f:
            f.write(text.replace(old, new, 1))
        said = findings(top)
        check(title, expected in said, said)


def main():
    said = findings(TOP)
    check("the lists of this tree have all files in their order", not said, said)
    fault("a file that a page does not list", PAGE, "    sdp_dial.c  ", "    sdp_dail.c  ",
          f"{PAGE}: sdp.ko: sdp_dial is listed 0 times")
    fault("a name that is no file", PAGE, "    sdp_dial.c  ", "    sdp_dail.c  ",
          f"{PAGE}: sdp.ko: sdp_dail.c is in no layer")
    fault("a module without a list", PAGE, "\nhnic.ko\n", "\nhnic\n",
          f"{PAGE}: hnic.ko: hnic_main is listed 0 times")
    fault("a file that a page lists twice", PAGE, "    hyb_cq  ", "    hyb_mem  ",
          f"{PAGE}: iwarp_hybrid.ko: hyb_mem is listed 2 times")
    fault("files of a header in another order", "drivers/iwarp_hybrid/LAYERS",
          "hyb_tcp\nhyb_idle hyb_rx", "hyb_idle\nhyb_tcp\nhyb_rx",
          "drivers/iwarp_hybrid/hybrid.h: hyb_idle must be above hyb_tcp, as in LAYERS")
    fault("an object of a directory in another order", "drivers/sdp/LAYERS",
          "zcopy/region\nsdp_verbs_txq", "sdp_verbs_txq\nzcopy/region",
          "drivers/sdp/sdp.h: sdp_verbs_txq must be above zcopy/region, as in LAYERS")
    fault("a fast path that is no function", FAST, "``mpa_take()``", "``mpa_taken()``",
          f"{FAST}: there is no function mpa_taken()")
    fault("a function that is only declared and called", "drivers/iwarp_hybrid/hyb_rx.c",
          "hyb_rx_bulk(struct", "hyb_rx_bulks(struct",
          f"{FAST}: there is no function hyb_rx_bulk()")
    fault("a test that is none", FAST, "``unit/test_crc``", "``unit/test_crcs``",
          f"{FAST}: there is no test unit/test_crcs")


main()
sys.exit(bool(FAILED))
