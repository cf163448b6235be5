# SPDX-License-Identifier: GPL-2.0
"""For tests of programs: one line a check, and what failed"""
FAILED = []


def check(what, good, detail=""):
    print("ok" if good else "not ok", "-", what, detail if not good else "")
    if not good:
        FAILED.append(what)
