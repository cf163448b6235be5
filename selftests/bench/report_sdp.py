# SPDX-License-Identifier: GPL-2.0
"""Part of report.py: tables and goals of the parts "fc", "zcopy", "rxmap" and "conn", see sdp.sh."""

# more tables of a link, which is the name of the set-up here
FIELDS = {
    "fc": [("msgs_per_send", "Messages on the wire for one send")],
    "fc-delay": [("msgs_per_send", "Messages on the wire for one send")],
    "zcopy-nic": [("cpu_tx_ns_per_byte", "Sending process, instructions per byte"),
                  ("cpu_rx_ns_per_byte", "Receiving process, instructions per byte")],
    "zcopy-host": [("cpu_tx_ns_per_byte", "Sending process, instructions per byte"),
                   ("cpu_rx_ns_per_byte", "Receiving process, instructions per byte")],
}


def over(log, field, link, pair, mtu, size):
    """The first of @pair by the second, None if one is missing"""
    a, b = (log.get(field, link, what, mtu, size) for what in pair)
    return None if a is None or not b else a / b


def fc_goals(log, goals, table):
    """Against credit as in the literature, and against ours, where sends join a message"""
    whats = log.values("what", link=table)
    for what in ("sdp-rdma/hybrid", "sdp-vwin/hybrid"):
        for base, name in (("sdp-alone/hybrid", "the literature's credit"),
                           ("sdp-credit/hybrid", "our credit")):
            for size in (256, 1024, 4096) if {what, base} <= set(whats) else ():
                goals.check(f"{table}, {size} B: bandwidth, {what[4:]} x {name}",
                            over(log, "mbps", table, (what, base), 1500, size), 5, True)


def fc_latency_goals(log, goals):
    whats = log.values("what", link="fc")
    for device in sorted({what.split("/")[1] for what in whats if "/" in what} - {"siw"}):
        for policy in ("rdma", "vwin"):
            pair = (f"sdp-{policy}/{device}", f"sdp-credit/{device}")
            if set(pair) <= set(whats):
                goals.check(f"fc, 1 B: latency, {policy} x credit, {device}",
                            over(log, "lat_us", "fc", pair, 1500, 1), 1.03, False)


def zcopy_goals(log, goals):
    pair = ("sdp-zcopy/hybrid", "sdp-copy/hybrid")
    args = ("zcopy-nic", pair, 9000, 1048576)
    goals.check("zero copy, 1 MB, MTU 9000: bandwidth, x copy",
                over(log, "mbps", *args), 1.4, True)
    goals.check("zero copy, 1 MB, MTU 9000: sending process, x copy",
                over(log, "cpu_tx_ns_per_byte", *args), 0.6, False)
    pair = ("sdp-placed/hybrid", "tcp")
    goals.check("the same, no markers, placed by the NIC: both hosts, x TCP",
                over(log, "host_ns_per_byte", "zcopy-nic", pair, 9000, 1048576),
                0.7, False)
    pair = ("sdp-zcopy/hybrid", "sdp-nocache/hybrid")
    goals.check("zero copy, 256 KB used again, MTU 9000: bandwidth, x nothing kept",
                over(log, "mbps", "zcopy-nic", pair, 9000, 262144), 1.2, True)


def conn_goals(log, goals):
    took = {(row["link"], row["what"]): row["us"] for row in log.conns}
    print("\nConnect, a request of 64 bytes, close: us, and the work, x TCP")
    for (link, what), us in took.items():
        tcp = took.get((link, "tcp"))
        print(f"  {link:6}{what:24}{us:10.1f}" + (f"{us / tcp:10.2f}" if tcp else ""))
    print()
    for link in dict.fromkeys(row["link"] for row in log.conns):
        us, tcp = took.get((link, "sdp-enhanced/hybrid")), took.get((link, "tcp"))
        goals.check(f"connections, {link}: work, enhanced/hybrid x TCP",
                    us / tcp if us and tcp else None, 2.0, False)


def rxmap_goals(log, goals):
    took = {(row["what"], row["window"]): row["cpu_ns_per_byte"] for row in log.rxmap}
    print("\nReading process, instructions per byte, and bytes mapped of all")
    for row in log.rxmap:
        print(f"  {row['what']:24}{row['window']:>8} B{row['cpu_ns_per_byte']:10.3f}"
              f"{row['mapped'] / (row['mapped'] + row['read']):10.2f}")
    print()
    for (what, window), ns in took.items():
        copied = took.get(("sdp-copied/hybrid", window))
        if what == "sdp-mapped/hybrid" and copied:
            goals.check(f"mapping, {window} B at a time: reading process, x copying",
                        ns / copied, 1, False)


def check(log, goals):
    for table in ("fc", "fc-delay"):
        fc_goals(log, goals, table)
    fc_latency_goals(log, goals)
    if log.values("link", link="zcopy-nic"):
        zcopy_goals(log, goals)
    if log.rxmap:
        rxmap_goals(log, goals)
    if log.conns:
        conn_goals(log, goals)
