# SPDX-License-Identifier: GPL-2.0
"""Keeps claims, overview and a few figures of a report in a directory (KEEP=DIR)."""
import json

from points import write

FIGURES = ("P0-F2a", "P0-F2b", "P2-F4b", "P3-F10b", "P3-F13b", "P4-F20", "P4-F24")


def list_table(columns, rows):
    """A table of reStructuredText"""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [columns, *rows]:
        for n, cell in enumerate(row):
            text = str(cell).replace("*", "\\*").replace("`", "'") or "–"
            lines.append(f"   {'*' if n == 0 else ' '} - {text}")
    return "\n".join(lines) + "\n"


def overview(where, commits, tables, entries, figures):
    """overview.rst"""
    title = "One reference run of the report"
    out = [".. SPDX-License-Identifier: GPL-2.0", "", "=" * len(title), title, "=" * len(title), "",
           "``make report KEEP=Documentation/results`` wrote this directory. Commit "
           f"{where['commit']}, kernel {where['kernel']}, {where['qemu']}, {where['compiler']}, "
           f"{where['cpu']}, {where['time']}; the points are of {', '.join(commits)}. "
           "``claims.json`` has each number; "
           "``../report.rst`` says how to read it.", ""]
    for table in tables:
        if table["rows"]:
            out += [table["title"], "=" * len(table["title"]), "", table["text"], "",
                    list_table(table["columns"], table["rows"])]
    out += ["Panels", "======", "", list_table(
        ["Panel", "Content", "Verdict", "Reason"],
        [[e["name"], e["title"], e["verdict"], e["why"]] for e in entries])]
    for name in figures:
        out += [f".. figure:: {name}.svg", "", f"   {name}", ""]
    return "\n".join(out)


def keep(folder, target, tables, entries):
    """Writes @target from the report in @folder"""
    with open(f"{folder}/claims.json", encoding="utf-8") as file:
        claims = json.load(file)
    figures = [e["name"] for e in entries if e["name"] in FIGURES and e["svg"]]
    write(f"{target}/claims.json", json.dumps(
        {"SPDX-License-Identifier": "GPL-2.0", **claims}, indent=1) + "\n")
    write(f"{target}/overview.rst", overview(
        claims["provenance"], claims["commits"], tables, entries, figures))
    for name in figures:
        with open(f"{folder}/figures/{name}.svg", encoding="utf-8") as file:
            lines = [line.rstrip() for line in file]
        write(f"{target}/{name}.svg", "\n".join(
            ["<!-- SPDX-License-Identifier: GPL-2.0 -->", *lines]) + "\n")
