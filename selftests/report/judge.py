# SPDX-License-Identifier: GPL-2.0
"""Holds the numbers of the panels to the bounds of claims.toml.

A bound that is missed is "not ok", unless differs.toml says why it has to be so: then
it is "differs". A bound that is listed there but holds is "not ok", too: the list is out of date.
"""
import os
import tomllib

from points import Trouble

HERE = os.path.dirname(os.path.abspath(__file__))
# from good to bad; the verdict of a whole is the worst of its parts
ORDER = ("ok", "differs", "missing", "not ok")


def load(name, folder=HERE):
    path = os.path.join(folder, name)
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as err:
        raise Trouble(f"{path} cannot be read: {err}") from err


def holds(check, value):
    return check.get("min", float("-inf")) <= value <= check.get("max", float("inf"))


def bound(check):
    """The bound in words"""
    low, high = check.get("min"), check.get("max")
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if low is not None:
        return f"at least {low:g}"
    return f"at most {high:g}" if high is not None else "reported"


def judge_check(name, check, value, differs):
    """Verdict of one check; @name is PANEL/CHECK"""
    reason = differs.get(name, {}).get("reason", "")
    if value is None:
        verdict, reason = "missing", "no data"
    elif holds(check, value):
        verdict = "ok"
        if reason:
            verdict, reason = "not ok", "holds, but differs.toml says that it does not"
    else:
        verdict = "differs" if reason else "not ok"
    if check.get("anchor") and verdict == "ok":
        reason = "anchor, no evidence"
    return {"check": name, "text": check["text"], "bound": bound(check), "value": value,
            "verdict": verdict, "reason": reason, "anchor": bool(check.get("anchor"))}


def total(verdicts):
    verdicts = list(verdicts)
    return max(verdicts, key=ORDER.index) if verdicts else "missing"


def judge_panel(name, spec, panel, differs):
    """Verdict of a panel, None for @panel if there is no code for it"""
    checks = [judge_check(f"{name}/{key}", check, panel.values.get(key) if panel else None,
                          differs) for key, check in spec.get("check", {}).items()]
    if not panel or not panel.drawn():
        verdict = "missing"
    else:
        verdict = total([c["verdict"] for c in checks] or ["ok"])
    return {"panel": name, "verdict": verdict, "checks": checks}


def judge_claim(name, claim, checks):
    """A claim of a paper: the worst of its checks, and the number of the first"""
    mine = [checks[c] for c in claim.get("checks", ()) if c in checks]
    found = {"claim": name, "section": claim["section"], "text": claim["text"],
             "paper": claim.get("paper", ""), "checks": claim.get("checks", []),
             "value": None, "verdict": "missing", "reason": ""}
    if claim.get("context"):
        found.update(verdict="context", reason=claim["context"])
    elif mine:
        known = [c for c in mine if c["verdict"] != "missing"] or mine
        worst = max(known, key=lambda c: ORDER.index(c["verdict"]))
        found.update(verdict=total(c["verdict"] for c in mine), value=known[0]["value"],
                     reason=worst["reason"] or worst["text"])
    return found


def unknown(claims, differs, panels):
    """Unknown names in the files, in words"""
    checks = {f"{p}/{c}" for p, spec in claims["panel"].items() for c in spec.get("check", {})}
    bad = [f"claim {n} names the check {c}" for n, claim in claims["claim"].items()
           for c in claim.get("checks", ()) if c not in checks]
    bad += [f"differs.toml names the check {c}" for c in differs if c not in checks]
    bad += [f"panel {n} has no entry in claims.toml" for n in panels if n not in claims["panel"]]
    return bad
