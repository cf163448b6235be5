# SPDX-License-Identifier: GPL-2.0
"""Panels of the report: plots of series, and numbers that are held to bounds.

A series is measured, computed (by model.py, from what was measured) or imposed (a curve
that was put in), never a mixture.
"""
KINDS = ("measured", "computed", "imposed")
PANELS = {}


class Series:
    """One line of a plot"""

    def __init__(self, label, kind, points):
        if kind not in KINDS:
            raise ValueError(f"a series is one of {', '.join(KINDS)}, not {kind}")
        self.label, self.kind = label, kind
        # x, y and perhaps the lowest and highest of the repetitions
        self.points = sorted((p for p in points if p[1] is not None), key=lambda p: p[0])

    def x(self):
        return [p[0] for p in self.points]

    def y(self):
        return [p[1] for p in self.points]

    def as_dict(self):
        return {"label": self.label, "kind": self.kind, "points": self.points}


class Plot:
    """Axes with series; @side is "today" or "regime" """

    def __init__(self, side, title, xlabel, ylabel, **style):
        self.side, self.title, self.xlabel, self.ylabel = side, title, xlabel, ylabel
        self.style = style              # xlog, ylog, sizes, ymin, ymax
        self.series = []

    def line(self, label, kind, points):
        series = Series(label, kind, points)
        if series.points:
            self.series.append(series)
        return series

    def as_dict(self):
        return {"side": self.side, "title": self.title, "x": self.xlabel, "y": self.ylabel,
                "series": [s.as_dict() for s in self.series]}


class Panel:
    """A panel and, once it has been made, its plots and numbers"""

    def __init__(self, name, function, wants):
        self.name, self.function, self.wants = name, function, wants
        self.plots, self.values, self.notes, self.setup = [], {}, [], ""
        self.error = None

    def points(self, full):
        return self.wants(full) if self.wants else []

    def plot(self, *args, **style):
        self.plots.append(Plot(*args, **style))
        return self.plots[-1]

    def value(self, check, value):
        """The number that a check of claims.toml is about; None if there is none"""
        if value is not None:
            self.values[check] = float(value)

    def note(self, text):
        self.notes.append(text)

    def drawn(self):
        return [p for p in self.plots if p.series]


def panel(name, wants=None):
    """Decorator: the function makes the panel @name from the points that wants(full) names"""
    def register(function):
        PANELS[name] = Panel(name, function, wants)
        return function
    return register


class Rows(list):
    """Rows of points, to pick from"""

    def pick(self, **want):
        """Those whose fields are as wanted; a field may be a set of values"""
        def fits(row):
            return all(row.get(k) in v if isinstance(v, (set, tuple, list)) else row.get(k) == v
                       for k, v in want.items())
        return Rows(row for row in self if fits(row))

    def curve(self, y, x="size", low=None, high=None):
        """Points of a series: of several measurements of one x the mean, and their range"""
        by_x = {}
        for row in self:
            value = y(row) if callable(y) else row.get(y)
            at = x(row) if callable(x) else row.get(x)
            if value is not None and at is not None:
                by_x.setdefault(at, []).append(
                    (value, row.get(low, value), row.get(high, value)))
        return [(at, sum(v[0] for v in vs) / len(vs), min(v[1] for v in vs),
                 max(v[2] for v in vs)) for at, vs in sorted(by_x.items())]

    def at(self, y, size, x="size"):
        """The figure of one x, None if there is none"""
        for point in self.curve(y, x):
            if point[0] == size:
                return point[1]
        return None

    def has(self, field):
        return Rows(row for row in self if row.get(field) is not None)


def size_name(n):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if n >= unit:
            return f"{n / unit:g}{name}"
    return f"{n:g}"


def ratios(first, second):
    """{x: first / second} where both curves have a value"""
    under = {p[0]: p[1] for p in second}
    return {p[0]: p[1] / under[p[0]] for p in first if under.get(p[0])}


def worst(values, highest=True):
    """The worst of ratios, None of none"""
    values = list(values)
    if not values:
        return None
    return max(values) if highest else min(values)
