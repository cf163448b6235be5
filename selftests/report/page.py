# SPDX-License-Identifier: GPL-2.0
"""The page, its PDF, and the files of data beside it."""
import base64
import csv
import io
import json
import os
import tomllib

import jinja2

from draw import figure, number
from points import write

HERE = os.path.dirname(os.path.abspath(__file__))


def csv_text(panel):
    """All series of a panel"""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["side", "plot", "series", "kind", "x", "y", "low", "high"])
    for plot in panel.drawn():
        for series in plot.series:
            for point in series.points:
                out.writerow([plot.side, plot.title, series.label, series.kind, *point])
    return text.getvalue()


def keep_panel(folder, panel, verdict, kept):
    """data/PANEL.json and .csv; return the figure as SVG"""
    data = {**verdict, "setup": panel.setup, "notes": panel.notes,
            "plots": [p.as_dict() for p in panel.drawn()], "points": kept}
    write(f"{folder}/data/{panel.name}.json", json.dumps(data, indent=1) + "\n")
    if not panel.drawn():
        return None
    write(f"{folder}/data/{panel.name}.csv", csv_text(panel))
    svg, png = figure(panel)
    write(f"{folder}/figures/{panel.name}.svg", svg)
    write(f"{folder}/figures/{panel.name}.png", png)
    return svg


def platforms():
    """Tables of all prices with their sources"""
    found = []
    for name in sorted(os.listdir(os.path.join(HERE, "platforms"))):
        with open(os.path.join(HERE, "platforms", name), "rb") as file:
            prices = tomllib.load(file)
        rows = []
        for key, price in prices.items():
            price = price if isinstance(price, dict) else {"value": price}
            value = price.get("value")
            if value is None:
                value = ", ".join(f"{k} {v:g}" for k, v in price.items() if k != "source")
            rows.append({"name": key, "value": value, "source": price.get("source", ""),
                         "anchor": price.get("anchor", "")})
        found.append({"name": name.removesuffix(".toml"), "rows": rows})
    return found


def difference(base, claims, checks):
    """Numbers and verdicts that are not those of an earlier report"""
    then = {c["check"]: c for c in base.get("checks", [])}
    rows = []
    for check in checks:
        old = then.get(check["check"])
        if not old:
            continue
        a, b = old["value"], check["value"]
        moved = (a is None) != (b is None) or (a is not None and abs(b - a) > 0.01 * abs(a))
        if moved or old["verdict"] != check["verdict"]:
            rows.append({"check": check["check"], "then": number(a), "now": number(b),
                         "verdict_then": old["verdict"], "verdict_now": check["verdict"]})
    return {"name": base["name"], "rows": rows}


def as_image(svg):
    """An SVG as an image: weasyprint does not follow references in one that is inline"""
    data = base64.b64encode(('<?xml version="1.0" encoding="utf-8"?>' + svg).encode())
    return f'<img alt="" src="data:image/svg+xml;base64,{data.decode()}">'


def page(folder, **values):
    """index.html and, with the same text, report.pdf"""
    import weasyprint   # slow to load  pylint: disable=import-outside-toplevel
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True,
                             trim_blocks=True, lstrip_blocks=True)
    env.tests["figure"] = lambda cell: str(cell)[:1] in "+-–0123456789"
    template = env.get_template("page.html.j2")
    write(f"{folder}/index.html", template.render(**values, image=lambda svg: svg))
    html = template.render(**values, image=as_image)
    write(f"{folder}/report.pdf", weasyprint.HTML(string=html).write_pdf())
