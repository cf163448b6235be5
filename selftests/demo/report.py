#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
report.py LOG STATUS BUILD COUNTERS ARGS: from the lines of guest.sh to a screen of text,
BUILD/demo.json and BUILD/demo.html. ARGS are those of the virtual machine. The exit status
is not 0 if the guest did not come to its end.
"""
import html
import json
import os
import sys
import textwrap

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


def machine(demo):
    """The sentence on the machine that has the figures"""
    clock = ", and each instruction takes one nanosecond" if demo["count"] else ""
    return "All run on one emulated machine%s: compare TCP and SDP, not the figures with a real " \
           "one." % clock


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


def copies(demo):
    return "SDP copied each byte %s." % " and ".join(
        "%.2f times to %s" % (c["copies"], {"tx": "send", "rx": "receive"}[c["direction"]])
        for c in demo["copies"])


def screen(demo, build, counters):
    programs(demo)
    print("On Ethernet iWARP is carried by the same TCP, which alone is ahead by what that adds.")
    profiles(*demo["profiles"])
    print("\n" + copies(demo))
    print(textwrap.fill(machine(demo), 90))
    print("charts: %s   counters: %s" % (os.path.relpath(build + "/demo.html"),
                                         os.path.relpath(counters)))
    print("Next steps: make vm (a shell there), README.rst (a real machine), make check")


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


def table(head, rows):
    cells = [["<th>%s</th>" % html.escape(c) for c in head]]
    cells += [["<td>%s</td>" % html.escape(c) for c in row] for row in rows]
    return "<table>%s</table>" % "".join("<tr>%s</tr>" % "".join(row) for row in cells)


def costs(demo):
    """Rows of what the processors spend on a byte or a request"""
    for name, unit, tcp, sdp in pairs(demo):
        per, scale = ("ns for a byte", 1) if unit == "MB/s" else ("us for a request", 1000)
        yield name, cpu(tcp, "amount", scale), cpu(sdp, "amount", scale), per


def places(demo):
    """Rows of where each component is, and of what that costs, by profile"""
    for part in demo["profiles"][0]["components"]:
        yield (part.replace("_", " "), *(p["components"][part] for p in demo["profiles"]))
    yield ("processors, ns for a byte", *(cpu(p, "bytes") for p in demo["profiles"]))


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
table { border-collapse: collapse; margin: 1em 0 }
th, td { text-align: left; padding: 0.2em 1.5em 0.2em 0; border-bottom: 1px solid #ddd }
</style></head><body>
<h1>SDP over hybrid iWARP</h1>
<p>Unmodified programs in a virtual machine, Linux %s: two hosts, each with a simulated NIC
and an iWARP device on it. Each program ran over TCP, then over SDP, started by
<code>sdp-run</code>. Higher is better in the first chart. %s</p>
%s
<p>On Ethernet, as here, the same kernel's TCP carries iWARP, so TCP alone is ahead by what
iWARP adds. SDP is for networks and adapters of RDMA, where that work is not the host's. What
the processors of both hosts spend, without the engines of the NICs:</p>
%s
<p>%s</p>
<h2>Moving work to the NIC</h2>
<p>One iperf3 runs over SDP all the time. Its profile is switched from "host" to "hybrid" while
it runs: then the NIC computes the CRC32c of each byte and finds the connection of each packet.
Both ends together:</p>
%s
%s
<p>Go on with <code>make vm</code>, a shell there; <code>README.rst</code> for a real machine;
<code>make check</code> for the tests.</p>
</body></html>
""" % (html.escape(demo["kernel"]), machine(demo),
       bars("Programs over TCP and over SDP", rates, lambda name: units[name]),
       table(("", "TCP", "SDP", ""), costs(demo)), html.escape(copies(demo)),
       bars("CRC passes for each byte", crcs, lambda name: "times"),
       table(("component", *('profile "%s"' % p["profile"] for p in demo["profiles"])),
             places(demo)))


def main(log, status, build, counters, args):
    demo, lines = read(log)
    demo["count"] = "--count" in args.split()
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
