#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""check-lists.py [TOP]: do lists of files have all of them, in the right order?

Each file of a module is in a list of Documentation/architecture.rst and in one of the
first comment of the module's header. Both must have the objects of the module's LAYERS
file, in the order of its layers. A directory stands for all objects in it. Each function
and each test in the table of Documentation/fast_paths.rst must exist. Prints findings, and
fails if there are any. Called by check-docs.sh.
"""
import glob
import os
import re
import sys

HEADERS = {"sdp": "sdp.h", "iwarp_hybrid": "hybrid.h", "hnic": "hnic.h", "rdma_stack": "stack.h"}


class Tree:
    """Sources in a directory, and the findings about them"""
    def __init__(self, top):
        self.top = top
        self.bad = 0

    def read(self, name):
        with open(os.path.join(self.top, name), encoding="utf-8") as f:
            return f.read()

    def complain(self, where, text):
        print(f"check-lists: {where}: {text}", file=sys.stderr)
        self.bad += 1


def layers(text):
    """Objects of a LAYERS file and the number of the layer of each"""
    rows = [line.split("#")[0].split() for line in text.splitlines()]
    rows = [row for row in rows if row and row[0] not in ("hint", "known")]
    return {name.rstrip("?"): n for n, row in enumerate(rows) for name in row}


def header_list(text, ranks):
    """Lines of the list in the first comment of a header, without the " *" of each: those of
    the paragraph that has the most objects"""
    comment = text[text.index("/*\n"):]
    paragraphs = re.split(r"^ \*$", comment[:comment.index("*/")], flags=re.M)
    lists = [[line[2:] for line in paragraph.splitlines() if re.match(r" \*(\t|   )", line)]
             for paragraph in paragraphs]
    return max(lists, key=lambda lines: len(names(lines, ranks)[0]))


def page_list(text, module):
    """Lines of the list below the heading MODULE.ko"""
    found = re.search(rf"^{module}\.ko\n=+\n\n::\n\n((?:(?: .*)?\n)+)", text, re.M)
    return found.group(1).splitlines() if found else []


def names(lines, ranks):
    """The objects that a list has, in its order; and words in their place that are none"""
    found, unknown = [], []
    indent = min((re.match(r"\s*", line).group() for line in lines if line.strip()),
                 key=len, default="")
    for line in lines:
        if not re.match(indent + r"[\w.]", line):
            continue
        for n, word in enumerate(line.split()):
            word = word.rstrip(",")
            name = word.removesuffix(".c")
            inside = [o for o in ranks if word.endswith("/") and o.startswith(word)]
            if name in ranks:
                found.append(name)
            elif inside:
                found += inside
            elif word.endswith(".c") or n == 0 and not word.startswith("lib/"):
                unknown.append(word)
            else:
                break
    return found, unknown


def compare(tree, where, lines, ranks):
    """Findings about one list"""
    found, unknown = names(lines, ranks)
    for word in unknown:
        tree.complain(where, f"{word} is in no layer")
    for name in ranks:
        if found.count(name) != 1:
            tree.complain(where, f"{name} is listed {found.count(name)} times")
    for above, below in zip(found, found[1:]):
        if ranks[above] > ranks[below]:
            tree.complain(where, f"{below} must be above {above}, as in LAYERS")


def fast_paths(tree):
    """Findings about the table of fast paths"""
    page = "Documentation/fast_paths.rst"
    sources = "".join(tree.read(path) for path in glob.glob("[dil]*/**/*.[ch]", root_dir=tree.top,
                                                            recursive=True))
    # between the second and the third line of "="
    rows = (re.split(r"^=+  [= ]+\n", tree.read(page), flags=re.M) + ["", "", ""])[2]
    functions, tests = (set(re.findall(word, rows)) for word in (r"``(\w+)\(\)``",
                                                                 r"``(\w+/\w+)``"))
    if not functions or not tests:
        tree.complain(page, "there is no table")
    for name in sorted(functions):
        if not re.search(rf"^(?:[a-z_][\w\t *]*[ *])?{name}\((?!.*;$)", sources, re.M):
            tree.complain(page, f"there is no function {name}()")
    for test in sorted(tests):
        directory, name = test.split("/")
        makefile = f"selftests/{directory}/Makefile"
        if not os.path.exists(os.path.join(tree.top, makefile)) or \
           not re.search(rf"^CODE_{name}\t", tree.read(makefile), re.M):
            tree.complain(page, f"there is no test {test}")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0 if len(sys.argv) == 2 else 2)
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    page = "Documentation/architecture.rst"
    for module, header in HEADERS.items():
        path = f"drivers/{module}/"
        ranks = layers(tree.read(path + "LAYERS"))
        compare(tree, f"{page}: {module}.ko", page_list(tree.read(page), module), ranks)
        compare(tree, path + header, header_list(tree.read(path + header), ranks), ranks)
    fast_paths(tree)
    sys.exit(tree.bad > 0)


if __name__ == "__main__":
    main()
