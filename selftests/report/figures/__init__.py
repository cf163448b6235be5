# SPDX-License-Identifier: GPL-2.0
"""The panels, one file for each paper, and one for the peers."""
import importlib


def load():
    """Registers all panels"""
    for paper in ("p0", "p1", "p2", "p3", "p4", "peers"):
        importlib.import_module(f"figures.{paper}")
