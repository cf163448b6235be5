#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py: measures, draws and judges what run.sh says; see there.

Exit status 0: all that was asked for is drawn, and every bound holds or differs for a
reason that is known. 1: a bound is missed. 2: something did not work or has no data.
"""
import json
import os
import sys

import asked
import figures
import judge
import keep
import lanes
import overview
import page
from draw import number
from panels import PANELS, Rows
from points import Store, Trouble, again, apart, complain, say, write

HERE = os.path.dirname(os.path.abspath(__file__))


def summary(verdicts):
    """How many there are of each"""
    return ", ".join(f"{verdicts.count(v)} {v}" for v in judge.ORDER if v in verdicts)


def labelled(point):
    """Rows of a kept point with its lane and settings: their names are upper case"""
    return [{"lane": point["lane"], **point["settings"], **row} for row in point["rows"]]


class Report:
    """One run: what is asked for, what there is, what comes out"""

    def __init__(self):
        env = os.environ
        self.top = os.path.realpath(os.path.join(HERE, "../.."))
        self.build = os.path.realpath(env.get("BUILD") or os.path.join(self.top, "build"))
        self.kernel = env.get("KERNEL") or "6.1"
        self.folder = os.path.realpath(env.get("REPORT") or os.path.join(self.build, "report"))
        self.full = env.get("FULL", "") not in ("", "0")
        self.claims = judge.load("claims.toml")
        self.differs = judge.load("differs.toml").get("differs", {})
        self.progress = None
        self.failures = {}
        bad = judge.unknown(self.claims, self.differs, PANELS)
        if bad:
            raise Trouble("; ".join(bad))
        self.asked = asked.Asked(env, list(self.claims["panel"]))
        self.names = self.asked.names
        self.base = self.read_base(env.get("BASE"))
        self.target = env.get("KEEP")
        self.store = Store(self.top, os.path.join(self.folder, "points"), self.kernel)

    @staticmethod
    def read_base(path):
        if not path:
            return None
        file_name = os.path.join(path, "claims.json")
        try:
            with open(file_name, encoding="utf-8") as file:
                return {**json.load(file), "name": path}
        except (OSError, ValueError) as err:
            raise Trouble(f"BASE={path} is no report ({err}): name a directory that has the "
                          "claims.json of one") from err

    def wanted(self, lane):
        """Points of the panels that are asked for, each one once"""
        points = {}
        for name in self.names:
            for point in PANELS[name].points(self.full) if name in PANELS else ():
                points.setdefault(point.key, point)
        if lane:
            points = {k: p for k, p in points.items() if p.lane == lane}
        twins = [again(p) for p in points.values()]
        return list(points.values()) + [t for t in twins if t]

    def boots_apart(self):
        """How far a second boot is from the first, in words"""
        found = {}
        for point in self.wanted(None):
            twin = again(point)
            both = [self.store.get(p) for p in (point, twin)] if twin else [None]
            if None not in both:
                kind = "TCP" if "tcp" in point.words() else "others"
                found.setdefault(kind, []).append(apart(both[0]["rows"], both[1]["rows"]))
        return "; ".join(f"{kind}: {len(far)} points, {100 * max(far):.1f} % apart at most"
                         for kind, far in found.items())

    def measure(self):
        points = self.wanted(self.asked.lane)
        # points of an older tree are there, too, but measured again unless STALE is set
        there = self.store.get if os.environ.get("STALE") else self.store.fresh
        todo = [p for p in points if not there(p)]
        say(f"{len(points)} points, {len(points) - len(todo)} of them are there")
        if self.asked.only_draw or not todo:
            return
        minutes = sum(self.store.seconds(p) for p in todo) / 60
        say(f"{len(todo)} to measure: about {minutes + 2:.0f} min of one processor")
        self.failures = lanes.measure(self, todo)

    def make(self, name):
        """Plots and numbers of one panel; (panel, points with data, points without)"""
        panel = PANELS.get(name)
        if not panel:
            return None, [], []
        kept, without, rows = [], [], Rows()
        for point in panel.points(self.full):
            found = self.store.get(point)
            if found:
                kept.append(found)
                rows += labelled(found)
            else:
                without.append(point)
        try:
            panel.function(rows, panel)
        except (KeyError, ZeroDivisionError, ValueError, TypeError) as err:
            # rows that are not as the panel wants them: the others are drawn
            panel.error = f"{type(err).__name__}: {err}"
            complain(f"{name} cannot be drawn from its points: {panel.error}")
        return panel, kept, without

    def panel_entry(self, name, checks):
        """The text of the page about one panel"""
        spec = self.claims["panel"][name]
        panel, kept, without = self.make(name)
        verdict = judge.judge_panel(name, spec, panel, self.differs)
        svg = None
        if panel:
            svg = page.keep_panel(self.folder, panel, verdict, [
                {k: p[k] for k in ("lane", "command", "settings", "seconds", "provenance", "rows")}
                for p in kept])
        for check in verdict["checks"]:
            check["shown"] = number(check["value"])
            checks[check["check"]] = check
        poor = [c for c in verdict["checks"] if c["verdict"] == verdict["verdict"]]
        entry = {"name": name, "title": spec["title"], "claim": spec["claim"], "svg": svg,
                 "setup": panel.setup if panel else "", "notes": panel.notes if panel else [],
                 "checks": verdict["checks"], "verdict": verdict["verdict"], "command": "",
                 "why": "", "kept": kept, "without": without}
        if verdict["verdict"] in ("not ok", "differs") and poor:
            entry["why"] = poor[0]["reason"] or f"{poor[0]['text']}: {poor[0]['shown']}"
        if not panel:
            entry["why"] = entry["missing"] = spec.get("needs", "no code draws it yet")
            entry["command"] = " "
        elif without or panel.error:
            reasons = {self.failures[p.key] for p in without if p.key in self.failures}
            entry["missing"] = panel.error or "; ".join(sorted(reasons)) or (
                f"{len(without)} points have no data.")
            entry["command"] = f"make report FIGURES={name}"
        if verdict["verdict"] == "missing" and not entry["why"]:
            entry["why"] = entry.get("missing") or "no number: " + "; ".join(
                c["text"] for c in poor)
        return entry

    def write(self):
        """All files of the report; return the exit status"""
        checks = {}
        entries = [self.panel_entry(n, checks) for n in self.names]
        claims = [judge.judge_claim(n, c, checks) for n, c in self.claims["claim"].items()
                  if n.split("-")[0] in {m.split("-")[0] for m in self.names}]
        for claim in claims:
            claim["shown"] = number(claim["value"])
            claim["by"] = ", ".join(claim["checks"]) or claim["reason"]
        base = page.difference(self.base, claims, checks.values()) if self.base else None
        sums = summary([e["verdict"] for e in entries])
        everything = [p for e in entries for p in e["kept"]]
        now = {f"{p.key}": p for n in self.names if n in PANELS
               for p in PANELS[n].points(self.full)}
        stale = [p for p in now.values() if self.store.get(p) and not self.store.fresh(p)]
        write(f"{self.folder}/claims.json", json.dumps(
            {"provenance": self.store.where, "full": self.full, "summary": sums,
             "commits": sorted({p["provenance"]["commit"] for p in everything}),
             "panels": {e["name"]: e["verdict"] for e in entries},
             "claims": claims, "checks": list(checks.values())}, indent=1) + "\n")
        rows = Rows(r for p in everything for r in labelled(p))
        write(f"{self.folder}/loggp.json", json.dumps(overview.loggp(rows), indent=1) + "\n")
        tables = overview.tables(rows)
        say("writing the page and the PDF ...")
        page.page(
            self.folder, where=self.store.where, full=self.full, n_points=len(now),
            n_missing=sum(1 for p in now.values() if not self.store.get(p)), n_stale=len(stale),
            sums=f"{len(entries)} panels: {sums}.", overview=tables, boots=self.boots_apart(),
            panels=entries, claims=claims, base=base, platforms=page.platforms(),
            papers=[{"id": k, "title": v, "panels": [
                e for e in entries if e["name"].startswith(k + "-")]}
                for k, v in asked.PAPERS.items() if any(n.startswith(k + "-") for n in self.names)])
        if self.target:
            keep.keep(self.folder, self.target, tables, entries, summary,
                      len(entries) == len(self.claims["panel"]))
        return self.status(entries, sums)

    def status(self, entries, sums):
        for entry in entries:
            if entry["verdict"] != "ok":
                print(f"  {entry['verdict']:8}{entry['name']:10}{entry['why']}")
        say(f"{sums}; {self.folder}/index.html")
        verdicts = {e["verdict"] for e in entries}
        if "missing" in verdicts or self.failures:
            return 2
        return 1 if "not ok" in verdicts else 0


def main():
    figures.load()
    try:
        report = Report()
        report.measure()
        return report.write()
    except Trouble as err:
        complain(err)
    except KeyboardInterrupt:
        complain("interrupted: run the same command again, what was measured is kept")
    return 2


if __name__ == "__main__":
    sys.exit(main())
