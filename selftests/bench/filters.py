#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A row of part "filters": writes the plan, runs it, and prints the sums. filters.sh
makes the hosts, and explains the variables."""
import json
import os
import subprocess
import sys
import tempfile
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = "/run/filters"           # outlives the point, not the machine


def env(name, default=""):
    return os.environ.get("FS_" + name) or default


def size(text):
    """Bytes of 4M, 8K, 100"""
    return int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1], 0)


APP = env("APP", "synth")
WHAT = env("WHAT", "tcp")
HOSTS = int(env("HOSTS", "4"))
PARTS = int(env("PARTS", "0"))
IMAGE = size(env("IMAGE", str(12 * size(env("BLOCK", "8K"))) if APP == "waste" else "4M"))
BLOCK = IMAGE // PARTS if PARTS else size(env("BLOCK", "8K"))
UOW = size(env("UOW", "1K"))
COMPUTE_NS = int(env("COMPUTE_NS", "0"))
DILATION = int(env("DILATION", "1"))
POLICY = env("POLICY", "rr")
SLOW = int(env("SLOW", "1"))


def curves():
    """Curves by name: of the platform, and those that were given"""
    with open(HERE + "/../report/platforms/p3-2000.toml", "rb") as file:
        platform = tomllib.load(file)
    found = {}
    for name in "tcp", "socketvia":
        curve = platform[name]
        each = 8e6 / curve["mbit"]
        found["p3-2000/" + name] = {"sizes": [0, 10 ** 6], "o_s_us": [0, 0], "o_r_us": [0, 0],
                                    "wire_us": [curve["latency_us"], curve["latency_us"] + each]}
    return {**found, **json.loads(env("CURVE", "{}"))}


def transport():
    kind = WHAT.partition("/")[0]
    return {"sdp-run": "plain"}.get(kind, "sdp" if kind.startswith("sdp-") else kind)


def hosts(first, last):
    return " ".join(f"n{i}" for i in range(first, last + 1))


def synth():
    return (f"filter source source on {hosts(1, 3)}\n"
            f"filter one stage on {hosts(4, 6)} nocompute=1\n"
            f"filter two stage on {hosts(7, 9)} nocompute=1\n"
            "filter view sink on n10\n"
            + streams("source", "one", "two", "view") + f"param image={IMAGE}\n")


def waste():
    """One of three stages is slow"""
    return ("filter source source on n1\n"
            f"filter work stage on {hosts(2, 4)}\n"
            "filter view sink on n5 nocompute=1\n"
            + streams("source", "work", "view") + f"param image={IMAGE}\n")


def groups():
    n, length = int(env("GROUPS", "2")), int(env("FILTERS", "5"))
    text = f"param image={IMAGE}\n"
    for g in range(n):
        names = [f"g{g}f{i}" for i in range(length)]
        kinds = ["source"] + ["stage"] * (length - 2) + ["sink"]
        for i, (name, kind) in enumerate(zip(names, kinds)):
            text += f"filter {name} {kind} on n{(g * length + i) % HOSTS + 1}\n"
        text += streams(*names)
    return text


def made(name, *args):
    """Data for the applications, made once"""
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        os.makedirs(DATA, exist_ok=True)
        subprocess.run(["mkdata.py", args[0], path, *args[1:]], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def scope():
    tile = {1024: 16, 8192: 48}.get(UOW, 128)
    path = made(f"slide{tile}", "slide", "--size", "384", "--tile", str(tile),
                "--source", "pattern")
    return (f"filter read read_tiles on n1 n2 slide={path}\n"
            "filter decompress decompress on n1 n2\n"
            "filter clip clip on n2 n3\nfilter zoom zoom on n2 n3\nfilter view view on n4\n"
            f"stream read -> decompress block={max(BLOCK, UOW)} policy={POLICY}\n"
            + streams("decompress", "clip", "zoom", "view"))


def iso():
    brick = 63 if UOW >= 1 << 20 else 11
    path = made(f"volume{brick}", "volume", "--size", str(126 if brick == 63 else 44),
                "--brick", str(brick), "--source", "sphere")
    return (f"filter read read_bricks on n1 n2 volume={path}\n"
            "filter extract extract on n2 n3\nfilter raster raster on n3 n4\n"
            "filter merge merge on n4\n"
            f"stream read -> extract block={max(BLOCK, (brick + 1) ** 3 * 4 + 16)} policy={POLICY}\n"
            + streams("extract", "raster", "merge"))


def streams(*names):
    window = env("WINDOW", "4")
    return "".join(f"stream {a} -> {b} block={BLOCK} policy={POLICY} window={window}\n"
                   for a, b in zip(names, names[1:]))


def plan(uows, depth):
    slow = {"waste": 3}.get(APP, 2)
    text = "".join(f"node n{i} 10.0.0.{i}" + (f" slow={SLOW}" if i == slow else "") + "\n"
                   for i in range(1, HOSTS + 1))
    text += globals()[APP]()
    text += f"compute {COMPUTE_NS} {'spin' if env('SPIN') else 'sleep'}\n"
    text += f"transport {transport()}\nset start=120 depth={depth}\n"
    if env("IMPOSE"):
        text += f"impose {os.environ['TMP']}/curves.json {env('IMPOSE')} dilate={DILATION}\n"
    else:
        text += f"set dilate={DILATION}\n"
    return text + "".join(f"uow {u}\n" for u in uows)


def counters():
    """Sums over all hosts"""
    sums = {"tx_data_msgs": 0, "tx_bytes": 0, "TCPTimeouts": 0, "DelayedACKs": 0}
    for i in range(1, HOSTS + 1):
        out = subprocess.run(["in-ns", f"n{i}", "sh", "-c", "cat /proc/net/netstat; "
                              "sdpstat -s -z 2>/dev/null"], capture_output=True, text=True,
                             check=False).stdout.splitlines()
        for names, values in zip(out, out[1:]):
            if names.startswith("TcpExt:") and values.startswith("TcpExt: ") and "TCPT" in names:
                row = dict(zip(names.split(), values.split()))
                for name in "TCPTimeouts", "DelayedACKs":
                    sums[name] += int(row[name])
        for line in out:
            add_counter(sums, line)
    return sums


def add_counter(sums, line):
    """Adds a line of sdpstat -s (name, value, description) if the name is wanted"""
    name, *rest = line.split() or [""]
    if name in ("tx_data_msgs", "tx_bytes"):
        sums[name] += int(rest[0])


def nic_ns():
    """Time of the engines of all simulated NICs, those of the bridge included"""
    total = 0
    ports = [(f"n{i}", f"v{i}") for i in range(1, HOSTS + 1)]
    for space, port in ports + [("sw", f"s{i}") for i in range(1, HOSTS + 1)]:
        out = subprocess.run(["in-ns", space, "ethtool", "-S", port], capture_output=True,
                             text=True, check=False).stdout
        total += sum(int(line.split()[1]) for line in out.splitlines()
                     if line.split()[0] == "nic_ns:")
    return total


def processor():
    """Seconds since the machine began, and how many of them a processor was idle"""
    with open("/proc/uptime", encoding="ascii") as file:
        up, idle = map(float, file.read().split())
    return up, idle / os.cpu_count()


def run(uows, depth):
    """Lines of a run, and the share of the processor that was busy"""
    path = os.path.join(os.environ["TMP"], "plan")
    with open(path, "w", encoding="ascii") as file:
        file.write(plan(uows, depth))
    options = ["--sdp-run"] if WHAT.startswith("sdp-run/") else []
    up, idle = processor()
    res = subprocess.run(["fs-run", "--netns", "-t", "3000", *options, path], text=True,
                         stdout=subprocess.PIPE, check=False)
    up, idle = processor()[0] - up, processor()[1] - idle
    if res.returncode:
        sys.exit(f"filters: exit status {res.returncode}")
    lines = [json.loads(line) for line in res.stdout.splitlines()]
    return lines, (1 - idle / up if up else 0), up


def latencies(lines, kind):
    return [u["latency_us"] for u in lines if u["type"] == "uow" and u["what"].startswith(kind)]


def rate(lines):
    """Units of work a second, once the pipeline is full"""
    ends = sorted(u["begin_us"] + u["latency_us"] for u in lines if u["type"] == "uow")
    return (len(ends) - 1) / (ends[-1] - ends[0]) * 1e6 if len(ends) > 1 else None


def mean(values):
    return sum(values) / len(values) if values else None


def mixed(count):
    """Complete queries spread evenly among those that zoom"""
    part = float(env("FRACTION", "50")) / 100
    return ["complete" if int((i + 1) * part) > int(i * part) else "zoom" for i in range(count)]


def measure_queries(row):
    """Synthetic server: rate of whole images, time of a part of one"""
    count = int(env("COUNT", "3"))
    query = env("QUERY", "complete partial")
    used = []
    if "complete" in query:
        lines, share, _ = run([f"complete repeat={count}"], 2)
        row |= {"updates_per_s": rate(lines), "full_ms": mean(latencies(lines, "complete")) / 1e3,
                "share": share}
        used = lines
    if "partial" in query:
        lines, share, _ = run([f"partial repeat={4 * count}"], 1)
        row["partial_us"] = mean(latencies(lines, "partial"))
        row.setdefault("share", share)
    if "mixed" in query:
        lines, share, _ = run(mixed(count), 1)
        row |= {"response_ms": mean(latencies(lines, "")) / 1e3, "share": share,
                "fraction": float(env("FRACTION", "50")) / 100}
    return used or lines


def measure_waste(row):
    """Time that the fast stages wait, for each block that a stage gets in turn: an image
    of any size takes the slow stage as long, however it is cut"""
    count = int(env("COUNT", "10"))
    lines, share, _ = run([f"complete repeat={count}"], 1)
    fast = [c for c in lines if c["type"] == "copy" and c["filter"] == "work" and c["slow"] == 1]
    waits = [c["total_us"] - c["compute_us"] - c["wait_out_us"] for c in fast]
    rounds = IMAGE / BLOCK / 3
    row |= {"wait_ms": mean(waits) / count / rounds / 1e3, "share": share, "rounds": rounds,
            "buffers": [c["in_buffers"] for c in lines if c.get("filter") == "work"],
            "full_ms": mean(latencies(lines, "complete")) / 1e3}
    return lines


def measure_data(row):
    """Microscope, iso-surface, groups: the time that the data takes"""
    one = {"scope": 384 * 384 * 3, "iso": 64 * 12 ** 3 * 4 if UOW < 1 << 20 else 8 << 20}
    one = one.get(APP, IMAGE)
    count = max(1, round(float(env("DATA_MB", "4")) * 2 ** 20 / one))
    what = {"scope": "complete x=0 y=0 w=384 h=384 zoom=1", "iso": "iso level=300"}
    lines, share, seconds = run([f"{what.get(APP, 'complete')} repeat={count}"], 2)
    total = [u["elapsed_us"] for u in lines if u["type"] == "run"][0]
    row |= {"elapsed_ms": total / 1e3, "data_bytes": one * count, "share": share,
            "machine_s": round(seconds, 3)}
    return lines


def main():
    os.environ["TMP"] = tempfile.mkdtemp()
    with open(os.environ["TMP"] + "/curves.json", "w", encoding="ascii") as file:
        json.dump(curves(), file)
    row = {"part": "filters", "app": APP, "transport": transport(), "what": WHAT, "link": "star",
           "netdev": env("LINK", "hnic"), "mtu": int(env("MTU", "1500")), "nodes": HOSTS,
           "block": BLOCK, "uow": UOW, "policy": POLICY, "slow": SLOW, "compute_ns": COMPUTE_NS,
           "compute": "spin" if env("SPIN") else "sleep", "query": env("QUERY"),
           "partitions": PARTS, "image_bytes": IMAGE, "dilation": DILATION}
    if env("IMPOSE"):
        row["impose"] = env("IMPOSE")
    if os.environ.get("SET_TEXT"):
        row["set"] = os.environ["SET_TEXT"]
    before, nics = counters(), nic_ns()
    if APP == "synth":
        lines = measure_queries(row)
    elif APP == "waste":
        lines = measure_waste(row)
    else:
        lines = measure_data(row)
    after = counters()
    row |= {"tx_data_msgs": after["tx_data_msgs"] - before["tx_data_msgs"],
            "tx_bytes": after["tx_bytes"] - before["tx_bytes"],
            "nic_ms": (nic_ns() - nics) / 1e6,
            "rto": after["TCPTimeouts"] - before["TCPTimeouts"],
            "delayed_acks": after["DelayedACKs"] - before["DelayedACKs"]}
    found = [r["hash"] for r in lines if "hash" in r]
    if found:
        row["hash"] = found[0]
    print("BENCH " + json.dumps(row))


if __name__ == "__main__":
    main()
