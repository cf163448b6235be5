# SPDX-License-Identifier: GPL-2.0
"""Keeps claims, overview and a few figures of a report in a directory (KEEP=DIR).

A report of some panels (FIGURES) replaces these and the tables that it has data for; what
the directory has of the others stays.
"""
import json
import os

from points import Trouble, write

FIGURES = ("P0-F2a", "P0-F2b", "P2-F4b", "P3-F10b", "P3-F13b", "P4-F20", "P4-F24", "PEERS-lat",
           "PEERS-bw")


def list_table(columns, rows):
    """A table of reStructuredText"""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [columns, *rows]:
        for n, cell in enumerate(row):
            text = str(cell).replace("*", "\\*").replace("`", "'") or "–"
            lines.append(f"   {'*' if n == 0 else ' '} - {text}")
    return "\n".join(lines) + "\n"


def origin(run):
    """The provenance of a report in words"""
    return ", ".join([f"Commit {run['commit']}", f"kernel {run['kernel']}",
                      *(run[what] for what in ("qemu", "compiler", "cpu", "time"))])


def overview(claims, figures):
    """overview.rst"""
    title = "One reference run of the report"
    out = [".. SPDX-License-Identifier: GPL-2.0", "", "=" * len(title), title, "=" * len(title), "",
           "``make report KEEP=Documentation/results`` wrote this directory. "
           f"{origin(claims['provenance'])}; the points are of {', '.join(claims['commits'])}. "
           "``claims.json`` has each number; "
           "``../report.rst`` says how to read it.", ""]
    for run in claims.get("later", []):
        out += [f"A later run made {', '.join(run['panels'])}. {origin(run)}.", ""]
    for table in claims["overview"]:
        out += [table["title"], "=" * len(table["title"]), "", table["text"], "",
                list_table(table["columns"], table["rows"])]
    out += ["Panels", "======", "", list_table(
        ["Panel", "Content", "Verdict", "Reason"],
        [[e["panel"], e["title"], e["verdict"], e["why"]] for e in claims["entries"]])]
    for name in figures:
        out += [f".. figure:: {name}.svg", "", f"   {name}", ""]
    return "\n".join(out)


def read(path):
    """The report that was kept before, {} if there is none"""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as err:
        raise Trouble(f"{path} is damaged ({err}): delete it, and keep a report of all panels") \
            from err


def by_name(old, new, name):
    """The entries of both lists, the new ones instead of old ones of the same name"""
    fresh = {e[name]: e for e in new}
    there = [fresh.pop(e[name], e) for e in old]
    return there + list(fresh.values())


def later(old, new):
    """The runs after the first one, with their panels that no other run has made again"""
    fresh = set(new["panels"])
    runs = [{**run, "panels": [p for p in run["panels"] if p not in fresh]}
            for run in old.get("later", [])]
    return [run for run in runs if run["panels"]] + [
        {**new["provenance"], "panels": sorted(fresh)}]


def merged(old, new):
    """The claims of @old with those of @new instead, as far as it has them"""
    if not old:
        return new
    found = {**new, "panels": {**old.get("panels", {}), **new["panels"]},
             "provenance": old["provenance"], "later": later(old, new),
             "commits": sorted({*old.get("commits", []), *new["commits"]})}
    for field, name in (("claims", "claim"), ("checks", "check"), ("overview", "title"),
                        ("entries", "panel")):
        found[field] = by_name(old.get(field, []), new[field], name)
    return found


def keep(folder, target, tables, entries, verdicts, everything):
    """Writes @target from the report in @folder, which is of @everything or of some panels;
    @verdicts: in words, those of a list"""
    claims = {"SPDX-License-Identifier": "GPL-2.0", **read(f"{folder}/claims.json"),
              "overview": [t for t in tables if t["rows"]],
              "entries": [{"panel": e["name"], "title": e["title"], "verdict": e["verdict"],
                           "why": e["why"]} for e in entries]}
    if not everything:
        claims = merged(read(f"{target}/claims.json"), claims)
        claims["summary"] = verdicts(list(claims["panels"].values()))
    write(f"{target}/claims.json", json.dumps(claims, indent=1) + "\n")
    for name in [e["name"] for e in entries if e["name"] in FIGURES and e["svg"]]:
        with open(f"{folder}/figures/{name}.svg", encoding="utf-8") as file:
            lines = [line.rstrip() for line in file]
        write(f"{target}/{name}.svg", "\n".join(
            ["<!-- SPDX-License-Identifier: GPL-2.0 -->", *lines]) + "\n")
    write(f"{target}/overview.rst", overview(
        claims, [n for n in FIGURES if os.path.exists(f"{target}/{n}.svg")]))
