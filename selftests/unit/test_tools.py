#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sdpstat and sdpbench without a kernel that has SDP sockets:
test_tools.py DIRECTORY"""
import os
import subprocess
import sys

TOOLS = os.path.abspath(sys.argv[1])
FAILED = []


def check(what, good, detail=""):
    print("ok" if good else "not ok", "-", what, detail if not good else "")
    if not good:
        FAILED.append(what)


def run(name, *args):
    return subprocess.run([os.path.join(TOOLS, name), *args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def numbers():
    """Wrong use is told of, whatever the kernel has"""
    for port, good in (("80", True), ("0", True), ("65535", True), ("65536", False),
                       ("70000", False), ("-1", False), ("+1", False), (" 80", False),
                       ("99999999999999999999", False), ("", False), ("no-such", True)):
        res = run("sdpstat", "check", "-n", "127.0.0.1:" + port)
        check("sdpstat check: port \"%s\"" % port, (res.returncode != 2) == good, res)
    for args in (("check", "-n", "-t"), ("stack", "-c"), ("-c",)):
        for number in "0", "-1", "", "x", "5x":
            res = run("sdpstat", *args, number, *(args[0] == "check") * ["127.0.0.1:1"])
            check("sdpstat %s \"%s\"" % (" ".join(args), number), res.returncode == 2, res)
    check("sdpstat check -t 3601",
          run("sdpstat", "check", "-n", "-t", "3601", "127.0.0.1:1").returncode == 2)


numbers()
sys.exit(bool(FAILED))
