#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""scripts/compat/Kbuild.probe refuses the kernel configurations that the Kconfig entries in
scripts/into-kernel/Kconfig exclude, with a sentence, and no others"""
import os
import shutil
import subprocess
import sys
import tempfile

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
LOCK = "CONFIG_PREEMPT_RT_NEEDS_BH_LOCK"


def build(*options, config=""):
    """Output of make for a directory that includes the file, with such a kernel"""
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(f"{top}/scripts/compat")
        os.makedirs(f"{top}/drivers/module")
        shutil.copy(f"{TOP}/scripts/compat/Kbuild.probe", f"{top}/scripts/compat")
        # nothing is compiled
        with open(f"{top}/scripts/compat/probe.sh", "w", encoding="utf-8") as f:
            f.write("exit 0\n")
        with open(f"{top}/.config", "w", encoding="utf-8") as f:
            f.write(config)
        with open(f"{top}/Makefile", "w", encoding="utf-8") as f:
            f.write("include $(src)/../../scripts/compat/Kbuild.probe\nall:\n\t@echo built\n")
        run = subprocess.run(["make", "-s", "-C", top, "CONFIG_SHELL=sh", f"objtree={top}",
                              f"src={top}/drivers/module", *options], text=True, check=False,
                             env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        return run.stdout.strip()


def excluded():
    """Symbols that the Kconfig entries exclude, and those that lift an exclusion"""
    words = set()
    for name in os.listdir(f"{TOP}/scripts/into-kernel/Kconfig"):
        with open(f"{TOP}/scripts/into-kernel/Kconfig/{name}", encoding="utf-8") as f:
            words |= {word for line in f if line.strip().startswith("depends on !")
                      for word in line.split() if word.strip("!").isupper()}
    return words


def main():
    rt = "CONFIG_PREEMPT_RT=y"
    check("the Kconfig entries exclude what is tested here",
          excluded() == {"!HIGHMEM", "!PREEMPT_RT", "PREEMPT_RT_NEEDS_BH_LOCK"}, excluded())
    check("an ordinary kernel", build("CONFIG_NET=y") == "built")
    said = build("CONFIG_NET=y", "CONFIG_HIGHMEM=y")
    check("CONFIG_HIGHMEM is refused", not said.endswith("built") and
          "cannot be built for a kernel with CONFIG_HIGHMEM: they need pages" in said, said)
    said = build("CONFIG_NET=y", rt, config=f"# {LOCK} is not set\n")
    check(f"CONFIG_PREEMPT_RT without {LOCK} is refused", not said.endswith("built") and
          f"with CONFIG_PREEMPT_RT and without {LOCK}: softirqs" in said, said)
    for title, config in (("with that option", f"{LOCK}=y\n"), ("of before that option", "")):
        said = build("CONFIG_NET=y", rt, config=config)
        check(f"CONFIG_PREEMPT_RT {title}", said == "built", said)
    said = build("CONFIG_HIGHMEM=y")
    check("a directory is cleaned for any kernel", said == "built", said)


main()
sys.exit(bool(FAILED))
