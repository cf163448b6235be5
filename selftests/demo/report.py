#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
report.py LOG STATUS BUILD COUNTERS: from the lines of guest.sh to a screen of text,
BUILD/demo.json and BUILD/demo.html. The exit status is not 0 if the guest did not come
to its end.
"""
import html
import json
import os
import sys

NAMES = {"iperf3": ("iperf3, one stream", "MB/s"),
         "redis": ("Redis SET, 20 clients", "req/s"),
         "nginx": ("nginx, a large file", "MB/s"),
         "postgres": ("PostgreSQL, 4 clients", "req/s")}
COLORS = {"tcp": "#8c8c8c", "sdp": "#2a6f97", "host": "#c1666b", "nic": "#4a8f5c"}


def read(log):
    """Return what the guest said, and the lines of programs since its last step"""
    demo = {"kernel": "", "last_step": "", "runs": [], "profiles": [], "copies": []}
    lines = []
    with open(log, encoding="utf-8", errors="replace") as f:
        for line in f:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "DEMO-KERNEL":
                demo["kernel"] = rest
            elif word == "DEMO-STEP":
                demo["last_step"] = rest
                lines = []
            elif word == "DEMO-RUN":
                demo["runs"].append(json.loads(rest))
            elif word == "DEMO-PROFILE":
                demo["profiles"].append(json.loads(rest))
            elif word == "DEMO-COPIES":
                demo["copies"].append(json.loads(rest))
            else:
                lines.append(line.rstrip("\n"))
    return demo, lines


def pairs(demo):
    """(name, unit, run over TCP, run over SDP) of each program that ran over both"""
    for what, (name, unit) in NAMES.items():
        runs = {r["over"]: r for r in demo["runs"] if r["what"] == what}
        if len(runs) == 2:
            yield name, unit, runs["tcp"], runs["sdp"]


def cpu(run, key, scale=1):
    """The time of the processors for a byte or request. The engines of the simulated NICs
    are subtracted by the clock, which also runs while other work has the machine."""
    return "%.1f" % (run["cpu_ns"] / run[key] / scale) if run["cpu_ns"] > 0 else "unknown"


def programs(demo):
    print("\n%-24s %12s %12s %8s   %s" % ("", "TCP", "SDP", "SDP:TCP",
                                          "processors, TCP and SDP"))
    for name, unit, tcp, sdp in pairs(demo):
        per, scale = ("ns/byte", 1) if unit == "MB/s" else ("us/request", 1000)
        print("%-24s %6d %-5s %6d %-5s %8.2f   %s and %s %s" %
              (name, tcp["rate"], unit, sdp["rate"], unit, sdp["rate"] / max(tcp["rate"], 1),
               cpu(tcp, "amount", scale), cpu(sdp, "amount", scale), per))


def profiles(first, last):
    print("\none iperf3 over SDP, its profile switched while it runs:")
    print("%-24s %12s %12s" % ("component, by profile", first["profile"], last["profile"]))
    for part in first["components"]:
        print("%-24s %12s %12s" % (part, first["components"][part], last["components"][part]))
    print("%-24s %12.2f %12.2f" % ("CRCs of a byte by hosts",
                                   first["crc_host"] / first["bytes"],
                                   last["crc_host"] / last["bytes"]))
    print("%-24s %12s %12s" % ("processors, ns/byte", cpu(first, "bytes"), cpu(last, "bytes")))


def screen(demo, build, counters):
    programs(demo)
    profiles(*demo["profiles"])
    print("\neach byte was copied %s" % " and ".join(
        "%.2f times to %s" % (c["copies"], {"tx": "send", "rx": "receive"}[c["direction"]])
        for c in demo["copies"]))
    print("The machine is emulated: compare the columns, not the figures with a real one.")
    print("charts: %s   counters: %s" % (os.path.relpath(build + "/demo.html"),
                                         os.path.relpath(counters)))
    print("Go on with: make vm (a shell there), README.rst (a real machine), make check")


def bars(title, groups, unit):
    """An SVG of groups [(name, [(label, value, color)])], each group on its own scale"""
    width, left, height = 640, 200, 26
    rows, y = [], 50
    for name, values in groups:
        top = max(v for _, v, _ in values) or 1
        rows.append('<text x="10" y="%d" font-weight="bold">%s</text>' %
                    (y + 17, html.escape(name)))
        for label, value, color in values:
            long = (width - left - 150) * value / top
            text = "%s  %s %s" % (label, ("%d" if isinstance(value, int) else "%.1f") % value,
                                  unit(name))
            rows.append('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>' %
                        (left, y, max(long, 1), height - 6, color))
            rows.append('<text x="%.1f" y="%d">%s</text>' %
                        (left + long + 8, y + 15, html.escape(text)))
            y += height
        y += 16
    return ('<svg viewBox="0 0 %d %d" width="100%%" role="img" font-family="sans-serif" '
            'font-size="13"><text x="10" y="24" font-size="17">%s</text>%s</svg>' %
            (width, y, html.escape(title), "".join(rows)))


def page(demo):
    rates = [(name, [("TCP", tcp["rate"], COLORS["tcp"]), ("SDP", sdp["rate"], COLORS["sdp"])])
             for name, _, tcp, sdp in pairs(demo)]
    units = {name: unit for name, unit, _, _ in pairs(demo)}
    crcs = [('profile "%s"' % p["profile"],
             [("host", p["crc_host"] / p["bytes"], COLORS["host"]),
              ("NIC", p["crc_nic"] / p["bytes"], COLORS["nic"])]) for p in demo["profiles"]]
    return """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>SDP over hybrid iWARP: demo</title>
<style>body { font-family: sans-serif; max-width: 700px; margin: 2em auto; color: #222 }
</style></head><body>
<h1>SDP over hybrid iWARP</h1>
<p>Unmodified programs in a virtual machine, Linux %s. Higher is better in the first
chart. The machine is emulated: compare TCP and SDP, not the figures with a real one.</p>
%s
<p>CRC32c of each byte, computed by the host or by the NIC, both ends together. One iperf3
runs all the time. Its profile is switched from "host" to "hybrid": then the NIC computes
the CRC, and the host keeps markers and the rest.</p>
%s
</body></html>
""" % (html.escape(demo["kernel"]),
       bars("Programs over TCP and over SDP", rates, lambda name: units[name]),
       bars("CRC passes for each byte", crcs, lambda name: "times"))


def main(log, status, build, counters):
    demo, lines = read(log)
    demo["ok"] = demo["last_step"] == "done" and status == "0"
    with open(build + "/demo.json", "w", encoding="ascii") as f:
        json.dump(demo, f, indent=1)
    if demo["last_step"] != "done":
        if demo["runs"]:
            programs(demo)
        print("\n" + "\n".join(lines[-20:]))
        print("demo: failed in step: %s" %
              (demo["last_step"] or "build and start of the virtual machine"))
        return 1
    with open(build + "/demo.html", "w", encoding="utf-8") as f:
        f.write(page(demo))
    screen(demo, build, counters)
    return 0 if demo["ok"] else 1


sys.exit(main(*sys.argv[1:]))
