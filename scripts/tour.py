#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tour.py [-u]: check the functions and files that Documentation/tour.rst names.

A step names a function and the file that defines it: ``f()`` (``file.c``). "-u"
replaces files that do not define their function by the one that does. A function that is
not the first of its chapter is called by an earlier one, through at most HELPERS others, or
is an operation: it is assigned to a field that the text names beside it.
"""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOUR = "Documentation/tour.rst"
STEP = re.compile(r"``(\w+)\(\)``(\s+)\(``([\w./]+)``\)")


CHAPTER = re.compile(r"\n(?=[^\n]+\n=+\n)")
FUNCTION = re.compile(r"^(?:[a-z][\w *]*[ *])?(\w+)\([^;{}]*\)\n(\{.*?^\})", re.M | re.S)
ASSIGNED = re.compile(r"[.>](\w+)\s*=\s*&?(\w+)\b")
HELPERS = 3


class Code:
    """Function: files that define it, names in its body, fields that it is assigned to"""
    def __init__(self, files):
        self.where, self.names, self.fields = {}, {}, {}
        for path in files:
            with open(os.path.join(TOP, path), encoding="utf-8") as f:
                source = f.read()
            for name, body in FUNCTION.findall(source):
                self.where.setdefault(name, set()).add(path)
                self.names.setdefault(name, set()).update(re.findall(r"\w+", body))
            for field, name in ASSIGNED.findall(source):
                self.fields.setdefault(name, set()).add(field)

    def calls(self, callers, name):
        """Does one of the callers, or a helper of theirs, call the function?"""
        seen, found = set(callers), set(callers)
        for _ in range(HELPERS + 1):
            found = set().union(*(self.names.get(caller, ()) for caller in found))
            if name in found:
                return True
            found = {caller for caller in found if caller in self.names} - seen
            seen |= found
        return False


def unordered(text, code):
    """The functions that neither an earlier one calls, nor the text beside them explains"""
    for chapter in CHAPTER.split(text):
        steps = list(STEP.finditer(chapter))
        ends = [step.start() for step in steps[1:]] + [len(chapter)]
        for i in range(1, len(steps)):
            beside = chapter[steps[i - 1].end():ends[i]]
            words = set(re.findall(r"\w+", " ".join(re.findall("``([^`]+)``", beside))))
            before, name = {step.group(1) for step in steps[:i]}, steps[i].group(1)
            if name not in before and not code.calls(before, name) and \
                    not code.fields.get(name, set()) & words:
                yield name


def main():
    with open(os.path.join(TOP, TOUR), encoding="utf-8") as f:
        text = f.read()
    code = Code(subprocess.run(["git", "ls-files", "drivers/*.[ch]", "lib/*.[ch]"], cwd=TOP,
                               check=True, text=True, stdout=subprocess.PIPE).stdout.split())
    bad = 0

    def check(m):
        nonlocal bad
        name, space, path = m.groups()
        files = code.where.get(name, set())
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
    for name in unordered(new, code):
        print(f"{TOUR}: no earlier step of the chapter calls {name}(), and the text names no "
              "field that it is assigned to")
        bad = 1
    return bad


sys.exit(main())
