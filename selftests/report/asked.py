#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The settings that choose what a run does. run.sh calls this before it installs packages,
so nothing here needs one: asked.py says what is wrong, with exit status 2, or nothing."""
import os
import sys

import judge
import lanes
import real
from points import Trouble, complain

PAPERS = {
    "P0": "Sockets Direct Protocol for hybrid network stacks",
    "P1": "Micro-benchmarks of cluster interconnects",
    "P2": "Flow control of the Sockets Direct Protocol",
    "P3": "iWARP with out-of-order support: host-based, host-offloaded, host-assisted",
    "P4": "High performance sockets for data-intensive applications",
    "PEERS": "Peers on the same work; of no paper",
}


def figures(known, words):
    """Names of panels; a word is one, its beginning up to a letter, or a paper"""
    names = []
    for word in words or PAPERS:
        mine = [n for n in known if n == word or n.split("-")[0] == word or
                (n.startswith(word) and n[len(word):].rstrip("'").isalpha())]
        if not mine:
            raise Trouble(f"there is no figure {word}: FIGURES takes a paper "
                          f"({' '.join(PAPERS)}) or some of {' '.join(known)}")
        names += [n for n in mine if n not in names]
    return names


def only_draw(env):
    """Whether nothing is to be measured"""
    if env.get("ONLY", "") not in ("", "draw"):
        raise Trouble(f"ONLY={env['ONLY']} is not known: use ONLY=draw, or leave it out")
    return env.get("ONLY", "") == "draw"


def lane(env):
    """The one to measure, or None for all"""
    name = env.get("LANE")
    if name and name not in lanes.LANES:
        raise Trouble(f"there is no lane {name}: LANE is one of {' '.join(lanes.LANES)}")
    if name == "real" and not env.get("HOSTS"):
        raise Trouble("LANE=real needs two hosts: HOSTS=\"SERVER CLIENT\"")
    return name


class Asked:
    """All of it, from the environment; @known: names of panels"""

    def __init__(self, env, known):
        lanes.LANES["real"] = real.RealLane
        self.only_draw = only_draw(env)
        self.names = figures(known, env.get("FIGURES", "").replace(",", " ").split())
        self.lane = lane(env)


def main():
    try:
        Asked(os.environ, list(judge.load("claims.toml")["panel"]))
    except Trouble as err:
        complain(err)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
