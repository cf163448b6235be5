# SPDX-License-Identifier: GPL-2.0
"""Part of report.py: tables and goals of the parts "fc", "zcopy" and "conn", see sdp.sh."""

# more tables of a link, which is the name of the set-up here
FIELDS = {
    "fc": [("msgs_per_send", "Messages on the wire for one send")],
    "fc-delay": [("msgs_per_send", "Messages on the wire for one send")],
    "zcopy-nic": [("cpu_tx_ns_per_byte", "Sending process, instructions per octet"),
                  ("cpu_rx_ns_per_byte", "Receiving process, instructions per octet")],
    "zcopy-host": [("cpu_tx_ns_per_byte", "Sending process, instructions per octet"),
                   ("cpu_rx_ns_per_byte", "Receiving process, instructions per octet")],
}


def over(log, field, link, pair, mtu, size):
    """The first of @pair by the second, None if one is missing"""
    a, b = (log.get(field, link, what, mtu, size) for what in pair)
    return None if a is None or not b else a / b


def fc_goals(log, goals):
    for policy in ("rdma", "vwin"):
        pair = (f"sdp-{policy}/hybrid", "sdp-credit/hybrid")
        for size in (256, 1024, 4096):
            goals.check(f"flow control, {size} B: bandwidth, {policy} x credit, hybrid",
                        over(log, "mbps", "fc", pair, 1500, size), 5, True)
    devices = {what.split("/")[1] for what in log.values("what", link="fc") if "/" in what}
    for device in sorted(devices - {"siw"}):
        for policy in ("rdma", "vwin"):
            pair = (f"sdp-{policy}/{device}", f"sdp-credit/{device}")
            goals.check(f"flow control, 1 B: latency, {policy} x credit, {device}",
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
    took = {row["what"]: row["us"] for row in log.conns}
    print("\nConnect, a request of 64 octets, close: us, and the rate, x TCP")
    for what, us in took.items():
        rate = f"{took['tcp'] / us:10.2f}" if "tcp" in took else ""
        print(f"  {what:24}{us:10.1f}{rate}")
    print()
    us = took.get("sdp-enhanced/hybrid")
    goals.check("connections: rate, enhanced/hybrid x TCP",
                took["tcp"] / us if us and "tcp" in took else None, 0.3, True)


def check(log, goals):
    if log.values("link", link="fc"):
        fc_goals(log, goals)
    if log.values("link", link="zcopy-nic"):
        zcopy_goals(log, goals)
    if log.conns:
        conn_goals(log, goals)
