#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tour.py [-u]: check the functions and files that Documentation/tour.rst names.

A step names a function and the file that defines it: ``f()`` (``file.c``). "-u"
replaces files that do not define their function by the one that does.
"""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOUR = "Documentation/tour.rst"
STEP = re.compile(r"``(\w+)\(\)``(\s+)\(``([\w./]+)``\)")


def defined(files):
    """Function: files that define it"""
    found = {}
    for path in files:
        with open(os.path.join(TOP, path), encoding="utf-8") as f:
            source = f.read()
        for m in re.finditer(r"^(?:[a-z][\w *]*[ *])?(\w+)\([^;{}]*\)\n\{", source, re.M):
            found.setdefault(m.group(1), set()).add(path)
    return found


def main():
    with open(os.path.join(TOP, TOUR), encoding="utf-8") as f:
        text = f.read()
    where = defined(subprocess.run(["git", "ls-files", "drivers/*.c", "lib/*.c"], cwd=TOP,
                                   check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.split())
    bad = 0

    def check(m):
        nonlocal bad
        name, space, path = m.groups()
        files = where.get(name, set())
        if path in files:
            return m.group()
        if len(files) == 1 and "-u" in sys.argv:
            return f"``{name}()``{space}(``{files.pop()}``)"
        print(f"{TOUR}: {name}() is not in {path}, but in {', '.join(files) or 'no file'}")
        bad = 1
        return m.group()

    new = STEP.sub(check, text)
    if new != text:
        with open(os.path.join(TOP, TOUR), "w", encoding="utf-8") as f:
            f.write(new)
    return bad


sys.exit(main())
