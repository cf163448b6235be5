# SPDX-License-Identifier: GPL-2.0
"""Plots of panels with matplotlib, as SVG and PNG."""
import io
import math
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt     # noqa: E402 pylint: disable=wrong-import-position
from panels import size_name        # noqa: E402 pylint: disable=wrong-import-position

# The line style shows the kind of a series
LINES = {"measured": "-", "computed": "--", "imposed": ":"}
COLOURS = ("#1f5fa8", "#c8472b", "#2c8a4b", "#8a4fa3", "#c98a00", "#3aa0a8", "#7a5230", "#d1579b",
           "#555555", "#9aa62c")
# A transport has its colour in all panels
FIXED = {"TCP": "#444444", "SDP enhanced": "#1f5fa8", "SDP basic": "#c8472b", "host": "#7a5230",
         "assisted": "#c8472b", "offloaded, scatter/gather": "#1f5fa8",
         "offloaded, contiguous": "#2c8a4b"}
MARKERS = "osD^vPX*<>"
STYLE = {"font.size": 9, "axes.titlesize": 9.5, "axes.grid": True, "grid.color": "#dddddd",
         "grid.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
         "axes.edgecolor": "#888888", "lines.linewidth": 1.5, "lines.markersize": 4,
         "svg.fonttype": "path", "figure.dpi": 100, "legend.fontsize": 8}


def number(value):
    """A figure with three digits that mean something"""
    if value is None:
        return "–"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - int(math.floor(math.log10(abs(value)))))
    return f"{value:,.{min(digits, 4)}f}".replace(",", " ")


def colour(label, taken, n):
    if FIXED.get(label, "") not in ("", *taken):
        return FIXED[label]
    free = [c for c in COLOURS if c not in taken]
    # those that belong to a name are last
    free.sort(key=lambda c: c in FIXED.values())
    return free[0] if free else COLOURS[n % len(COLOURS)]


def draw_series(axes, series, chosen, n):
    x, y = series.x(), series.y()
    if series.label not in chosen:
        taken = {shade for shade, _ in chosen.values()}
        chosen[series.label] = colour(series.label, taken, n), MARKERS[len(chosen) % len(MARKERS)]
    shade, marker = chosen[series.label]
    axes.plot(x, y, LINES[series.kind], color=shade, marker=marker, label=(
        f"{series.label} ({series.kind})"), markerfacecolor="white" if series.kind != "measured"
        else shade)
    bars = [(p[0], p[2], p[3]) for p in series.points if len(p) > 3 and p[3] > p[2]]
    if bars:
        axes.vlines([b[0] for b in bars], [b[1] for b in bars], [b[2] for b in bars],
                    color=shade, linewidth=1, alpha=0.6)


def draw_bars(axes, plot, chosen):
    """A plot over names instead of figures: the bars of a name side by side"""
    there = {x: [s for s in plot.series if x in s.x()] for s in plot.series for x in s.x()}
    width = 0.8 / max(map(len, there.values()))
    axes.set_axisbelow(True)
    for n, series in enumerate(plot.series):
        taken = {shade for shade, _ in chosen.values()}
        chosen.setdefault(series.label, (colour(series.label, taken, n), MARKERS[0]))
        hatch = {"measured": None, "computed": "//", "imposed": ".."}[series.kind]
        places = [x + (there[x].index(series) - (len(there[x]) - 1) / 2) * width
                  for x in series.x()]
        axes.bar(places, series.y(), width, color=chosen[series.label][0], hatch=hatch,
                 edgecolor="white", label=f"{series.label} ({series.kind})")


def apart(xs):
    """Those of @xs whose names have room beside each other on a logarithmic axis"""
    scale = [math.log2(x) if x > 0 else 0 for x in xs]
    room = (scale[-1] - scale[0]) / 9
    shown = []
    for x, at in zip(reversed(xs), reversed(scale)):
        if not shown or last - at >= room:
            shown.append(x)
            last = at
    return shown[::-1]


def ticks(axes, plot):
    """Sizes as powers of two, not too many"""
    xs = sorted({x for s in plot.series for x in s.x()})
    if plot.style.get("xlog", True) and xs and xs[0] > 0:
        axes.set_xscale("log", base=2)
    elif plot.style.get("xlog", True) and xs:
        axes.set_xscale("symlog", linthresh=min(x for x in xs if x > 0) if xs[-1] > 0 else 1)
    names = plot.style.get("names")
    if names:
        axes.set_xticks(range(len(names)))
        axes.set_xticklabels(names, rotation=30, ha="right", fontsize=7.5)
        axes.grid(False, axis="x")
    elif xs and plot.style.get("xlog", True):
        shown = apart(xs)
        special = plot.style.get("special", {})
        axes.set_xticks(shown)
        axes.set_xticklabels([special.get(x) or (
            size_name(x) if plot.style.get("sizes", True) else f"{x:g}") for x in shown])
        axes.minorticks_off()
    if plot.style.get("ylog"):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(
            lambda v, _: f"{v:g}"))
        low, high = axes.get_ylim()
        if high / low < 30:
            axes.yaxis.set_minor_formatter(matplotlib.ticker.FuncFormatter(
                lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else ""))
    else:
        axes.set_ylim(bottom=plot.style.get("ymin", 0), top=plot.style.get("ymax"))


def legend_columns(plot):
    """Two, unless names are so long that they reach into the next plot"""
    longest = max(len(s.label) + len(s.kind) for s in plot.series)
    return 2 if longest <= 30 else 1


def figure(panel):
    """(SVG, PNG) of the plots of a panel that have series"""
    plots = panel.drawn()
    legend_rows = max(math.ceil(len(p.series) / legend_columns(p)) for p in plots)
    columns = len(plots) if len(plots) <= 3 else 2
    rows = math.ceil(len(plots) / columns)
    # names of bars take room above the legend
    names = any(p.style.get("names") for p in plots)
    height = 3.1 + 0.19 * legend_rows + 0.4 * names
    chosen = {}
    with plt.rc_context({**STYLE, "svg.hashsalt": panel.name}):
        fig, all_axes = plt.subplots(rows, columns, squeeze=False,
                                     figsize=(4.9 * columns, height * rows))
        for axes in all_axes.flat[len(plots):]:
            axes.set_axis_off()
        for axes, plot in zip(all_axes.flat, plots):
            if plot.style.get("names"):
                draw_bars(axes, plot, chosen)
            else:
                for n, series in enumerate(plot.series):
                    draw_series(axes, series, chosen, n)
            ticks(axes, plot)
            side = {"today": "Today: ", "regime": "Regime: "}.get(plot.side, "")
            axes.set_title(textwrap.fill(side + plot.title, 52), loc="left")
            axes.set_xlabel(plot.xlabel)
            axes.set_ylabel(plot.ylabel)
            for mark, text in plot.style.get("hlines", ()):
                axes.axhline(mark, color="#999999", linewidth=0.8)
                axes.annotate(text, (1, mark), xycoords=("axes fraction", "data"), ha="right",
                              va="bottom", fontsize=7.5, color="#666666")
            below = -0.36 if plot.style.get("names") else -0.17
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, below), frameon=False,
                        ncol=legend_columns(plot), handlelength=2.6, columnspacing=1.2)
        fig.tight_layout()
        svg, png = io.StringIO(), io.BytesIO()
        fig.savefig(svg, format="svg", metadata={"Date": None}, bbox_inches="tight")
        fig.savefig(png, format="png", dpi=110, bbox_inches="tight")
        plt.close(fig)
    text = svg.getvalue()
    return text[text.index("<svg"):], png.getvalue()
