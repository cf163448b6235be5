#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Filter streams over TCP on this machine: test_filters.py DIRECTORY-OF-FS-RUN"""
import json
import math
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

from checks import FAILED, check

BIN = os.path.abspath(sys.argv[1])
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/filters")
WORK = None
NODES = 4
PLAN = """
set port={port} start=30
node n1 127.0.0.1
node n2 127.0.0.1
node n3 127.0.0.1 slow={slow}
node n4 127.0.0.1
filter source source on {source}
filter stage stage on {stage}
filter sink sink on n4 nocompute=1
stream source -> stage block={block} policy={policy} window={window}
stream stage -> sink block={out} policy={policy}
compute {ns} sleep
param image={image}
"""
DEFAULTS = {"slow": 1, "source": "n1", "stage": "n1 n2 n3", "block": 8192, "out": 8192,
            "policy": "rr", "window": 4, "ns": 0, "image": 300000}


def free_ports():
    """First of a range of ports that nobody has now."""
    while True:
        base = random.randrange(20000, 32000)
        try:
            for port in range(base, base + NODES):
                with socket.create_server(("127.0.0.1", port)):
                    pass
            return base
        except OSError:
            pass


def write(text, name="plan"):
    path = os.path.join(WORK, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def plan(uow="uow complete", **args):
    """Both streams have the same block, unless "out" is that of the second"""
    port = free_ports()
    args.setdefault("out", args.get("block", DEFAULTS["out"]))
    return port, write(PLAN.format(port=port, **{**DEFAULTS, **args}) + uow + "\n")


def run(*args, timeout=100):
    res = subprocess.run([os.path.join(BIN, "fs-run"), *args], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    res.lines = [json.loads(line) for line in res.stdout.splitlines()]
    return res


def of_type(res, kind):
    return [line for line in res.lines if line["type"] == kind]


def hashes(res):
    return [line["hash"] for line in of_type(res, "result")]


def same_result():
    """The image does not depend on copies, policy and blocks"""
    want = None
    stages = {1: "n2", 2: "n2 n3", 3: "n1 n2 n3"}
    for copies, stage in stages.items():
        for policy in "rr", "dd":
            for block in 1024, 8192, 65536:
                res = run(plan(source=stage, stage=stage, policy=policy, block=block,
                               uow="uow complete repeat=2")[1])
                want = want or (hashes(res) * 2)[:2]
                check(f"{copies} copies, {policy}, blocks of {block}: the same image",
                      res.returncode == 0 and hashes(res) == want and len(want) == 2, res)
    for block, out in (1024, 8192), (8192, 65536), (1001, 1500):
        res = run(plan(block=block, out=out)[1])
        check(f"blocks of {block}, then of {out}: the same image",
              res.returncode == 0 and hashes(res) == want[:1], res)
    for stage in "n2", "n4":
        res = run(plan(stage=stage, block=8192, out=1024)[1])
        check(f"a stage on {stage}, blocks of 8192, then of 1024: status 2 and what to do",
              res.returncode == 2 and f"stage on {stage}: 8192 bytes are no block of stream "
              "stage -> sink: give it block=8192" in res.stderr and
              res.stderr.count("\n") == 1, res)
    res = run(plan(image=300008)[1])
    check("another image has another hash", hashes(res)[:1] != want[:1], res)


def shares(**args):
    """Buffers that each of the three stages got"""
    res = run(plan(block=4096, image=245760, **args)[1])
    outs = [line["out"][0]["buffers"] for line in of_type(res, "copy")
            if line["filter"] == "source"]
    return (outs or [[0, 0, 0]])[0], res


def scheduling():
    for slow in 1, 4:
        got, res = shares(policy="rr", slow=slow)
        check(f"round robin, slow={slow}: a third each", max(got) - min(got) <= 1 and min(got), res)
    # long steps, so that a busy machine does not decide
    got, res = shares(policy="dd", slow=4, window=1, ns=40000)
    check("demand driven: a node four times as slow gets at most 0.35 of what the others get",
          0 < got[2] <= 0.35 * sum(got[:2]) / 2, (got, res))
    for policy in "rr", "dd":
        res = run(plan(uow="uow complete\nuow partial\nuow zoom\nuow partial blocks=3",
                       policy=policy, block=1000)[1])
        check(f"{policy}: units of work do not mix",
              [r["blocks"] for r in of_type(res, "result")] == [300, 1, 4, 3], res)


MISTAKES = [
    ("nonsense", 1, "no statement"),
    ("node n1", 1, "the node's address is missing"),
    ("node n1 h slow=0", 1, "a number from 1"),
    ("node n1 h slow=x", 1, "a number from 1"),
    ("node n1 h fast=2", 1, "fast is unknown"),
    ("node n1 h\nnode n1 h", 2, "already"),
    ("node n1 h\nfilter f nosuch on n1", 2, "no kind of filter nosuch"),
    ("node n1 h\nfilter f sink on n2", 2, "no node n2"),
    ("node n1 h\nfilter f sink on", 2, "is on no node"),
    ("node n1 h\nfilter f sink", 2, "is missing"),
    ("node n1 h\nfilter f sink on n1\nfilter f sink on n1", 3, "already"),
    ("node n1 h\nfilter a stage on n1\nstream a -> b", 3, "no filter b"),
    ("node n1 h\nfilter a stage on n1\nstream a -> a", 3, "cycle"),
    ("node n1 h\nfilter a stage on n1\nfilter b stage on n1\nstream a -> b\nstream b -> a", 5,
     "closes a cycle"),
    ("node n1 h\nfilter a stage on n1\nfilter b stage on n1\nstream a -> b block=1", 4, "from 64"),
    ("node n1 h\nfilter a stage on n1\nfilter b stage on n1\nstream a -> b policy=x", 4, "rr or dd"),
    ("compute 18", 1, "sleep"),
    ("transport pigeon", 1, "no transport pigeon"),
    ("curve 1 2 3", 1, "curve BYTES"),
    ("curve 2 0 0 1\ncurve 2 0 0 1", 2, "ascend"),
    ("uow", 1, "a kind"),
    ("client n9", 1, "no node n9"),
    ('uow "a"', 1, "neither quotes nor"),
    ("uow a\\b", 1, "neither quotes nor"),
    ("uow a\x1b[J", 1, "neither quotes nor"),
    ("set port=70000", 1, "a number"),
    ("x" * 2000, 1, "too long"),
    ("node n1 h\nfilter f sink on n1", 2, "no unit of work"),
    ("impose nosuch.json tcp", 1, "nosuch.json"),
    ("node n1 ${HERE}", 1, "-d HERE=VALUE"),
]


def mistakes():
    for text, line, words in MISTAKES:
        path = write(text + "\n")
        res = run(path)
        check(f"plan {text[-40:]!r}", res.returncode == 2 and f"{path}:{line}: " in res.stderr
              and words in res.stderr and res.stderr.count("\n") == 1, res)
    with open(EXAMPLES + "/README.rst", encoding="utf-8") as file:
        text = file.read().partition("VALUE`` says. ::\n")[2].partition("\n\n===")[0]
    res = subprocess.run([BIN + "/fs-node", "-c", write(text)], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("the plan of the README is a good one", "uow partial" in text and not res.returncode, res)
    res = run(os.path.join(WORK, "nosuch"))
    check("no such plan", res.returncode == 2 and "nosuch" in res.stderr, res)
    res = run(plan(uow="uow nonsense")[1])
    check("an unknown query ends all nodes with a sentence",
          res.returncode == 2 and "the queries are" in res.stderr
          and res.stderr.count("\n") == 1, res)


def full():
    """Results that cannot be written are a failure"""
    port = free_ports()
    path = write(f"set port={port} start=30\nnode n1 127.0.0.1\nfilter a source on n1\n"
                 "filter b sink on n1\nstream a -> b\nuow complete\n")
    for where, status, words in (("/dev/null", 0, ""), ("/dev/full", 2, "cannot write results: ")):
        res = subprocess.run([BIN + "/fs-node", "-o", where, path, "n1"], text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        check(f"results to {where}", res.returncode == status and words in res.stderr and
              res.stderr.count("\n") == bool(words), res)


def killed():
    """One node is killed: the others end and name it"""
    for victim in ["n1", "n2", "n3", "n4"]:
        for policy in "rr", "dd":
            path = plan(uow="uow complete repeat=1000", source="n1 n2", stage="n2 n3", ns=1000,
                        policy=policy)[1]
            pids = os.path.join(WORK, "pids")
            if os.path.exists(pids):
                os.unlink(pids)
            with subprocess.Popen([BIN + "/fs-run", "--pids", pids, path], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as proc:
                proc.stdout.readline()  # a result: all is under way
                with open(pids, encoding="ascii") as file:
                    node = dict(line.split() for line in file)
                begin = time.monotonic()
                os.kill(int(node[victim]), 9)
                try:
                    said = proc.communicate(timeout=60)[1]
                except subprocess.TimeoutExpired:
                    proc.kill()
                    said = "it hangs"
                took = time.monotonic() - begin
            check(f"{victim} is killed, {policy}: the others end, status 3, and name it",
                  proc.returncode == 3 and f"fs-run: node {victim} is gone\n" in said
                  and said.count("is gone") == 1, (proc.returncode, said))
            print(f"# after {took:.2f} seconds")


def missing():
    """A node that is not started is named"""
    text = PLAN.format(port=free_ports(), **DEFAULTS).replace("start=30", "start=1")
    path = write(text + "uow complete\n")
    for who, wanted in ("n4", "n1"), ("n1", "n[24]"), ("n2", "n4"):
        res = subprocess.run([BIN + "/fs-node", path, who], text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        check(f"{who} alone says whom it misses", res.returncode == 3
              and re.match(f"fs-node: {who}: node {wanted} (does not answer at|has not connected)",
                           res.stderr), res)


def hosts():
    """Nodes on other hosts; a shell stands for ssh"""
    os.mkdir(WORK + "/bin")
    with open(WORK + "/bin/ssh", "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    os.chmod(WORK + "/bin/ssh", 0o755)
    env = dict(os.environ, PATH=WORK + "/bin:" + os.environ["PATH"])
    path = plan()[1]
    for node, wanted, words in ((BIN + "/fs-node", 0, ""), ("/no such", 3, "is not installed")):
        res = subprocess.run([BIN + "/fs-run", "--hosts", "n1=alice,n4=bob", "--remote-node", node,
                              path], text=True, check=False, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=env, timeout=100)
        check(f"--hosts with {os.path.basename(node)}", res.returncode == wanted
              and words in res.stderr and (wanted or '"hash"' in res.stdout), res)
    res = run("--hosts", "n9=alice", path)
    check("--hosts with an unknown node", res.returncode == 2 and "no node n9" in res.stderr, res)


def frame(kind, tag, stream=0, source=0, to=0, seq=0, length=0, magic=0x4653, uow=0):
    return struct.pack(">HBBHBBIIIIQ", magic, 1, kind, stream, source, to, uow, seq, tag, length,
                       0)


def strangers():
    """A connection that writes rubbish is closed, and nothing else suffers"""
    rubbish = [b"", b"GET / HTTP/1.0\r\n\r\n" * 4, frame(1, 0, magic=0x4654), frame(1, 0, stream=99),
               frame(2, 0), frame(1, 0, source=200), frame(1, 0, length=1 << 31)]
    port, path = plan(uow="uow complete", source="n1", stage="n2")
    with subprocess.Popen([BIN + "/fs-node", path, "n2"], stderr=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL) as node:
        for text in rubbish:
            while True:
                try:
                    with socket.create_connection(("127.0.0.1", port + 1)) as s:
                        s.sendall(text)
                        if not text:
                            continue_ = True
                        else:
                            s.settimeout(20)
                            try:
                                continue_ = s.recv(1) == b""
                            except ConnectionResetError:
                                continue_ = True
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            check(f"stranger who says {text[:12]!r} is sent away", continue_)
        others = [subprocess.Popen([BIN + "/fs-node", path, n], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True) for n in ("n1", "n3", "n4")]
        out = [p.communicate(timeout=60) for p in others]
        err = node.communicate(timeout=60)[1]
    check("the nodes do their work nevertheless",
          node.returncode == 0 and all(p.returncode == 0 for p in others), (err, out))
    _, path = plan(source="n1", stage="n2")
    other = write(open(path, encoding="ascii").read() + "uow zoom\n", "other")
    with subprocess.Popen([BIN + "/fs-node", other, "n1"], stderr=subprocess.PIPE,
                          text=True) as odd:
        procs = [subprocess.Popen([BIN + "/fs-node", path, n], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for n in ("n2", "n3", "n4")]
        said = [p.communicate(timeout=90)[1] for p in procs] + [odd.communicate(timeout=90)[1]]
    check("nodes with different plans say so", any("different plans" in s for s in said)
          and all(p.returncode for p in procs), said)


def plan_hash(path):
    """As fs-node computes it: FNV-1a of all lines, cut to 32 bits after each"""
    with open(path, encoding="ascii") as file:
        value = 0xcbf29ce484222325 & 0xffffffff
        for line in file:
            for byte in " ".join(line.split()).encode():
                value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
            value &= 0xffffffff
    return value


def liar(bad, control=b""):
    """n1 is this program: it says the right things to begin with, then @bad to n2, or
    @control to the client; what the others end with"""
    port, path = plan(source="n1", stage="n2")
    procs = [subprocess.Popen([BIN + "/fs-node", path, n], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) for n in ("n2", "n3", "n4")]
    tag = plan_hash(path)
    links = []
    for number, first in ((3, frame(1, tag, stream=0xffff, to=3)), (1, frame(1, tag))):
        for _ in range(400):
            try:
                links.append(socket.create_connection(("127.0.0.1", port + number)))
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        links[-1].sendall(first)
    links[0].sendall(frame(6, 0, stream=0xffff, to=3, uow=0xffffffff))
    links[0].recv(1)    # all are there: a unit of work begins
    links[0].sendall(control)
    links[1].sendall(bad)
    said = [p.communicate(timeout=90)[1] for p in procs]
    for link in links:
        link.close()
    return [p.returncode for p in procs], said


def bad_frames():
    """A node that has been admitted sends what may not come: it counts as gone"""
    data = 2
    for what, bad in (("sequence", frame(data, 0, seq=1)), ("stream", frame(data, 0, stream=1)),
                      ("copy", frame(data, 0, to=1)), ("length", frame(data, 0, length=8193)),
                      ("unit of work", frame(data, 0, uow=5)), ("ACK", frame(4, 0)),
                      ("type", frame(99, 0)), ("UOW", frame(5, 0)), ("OPEN", frame(1, 0)),
                      ("END with payload", frame(3, 0, length=4) + b"1234")):
        status, said = liar(bad)
        check(f"a frame with a bad {what} ends all nodes, which name the sender",
              status == [3, 3, 3] and all("node n1 sent something that is no frame" in s
                                          for s in said), (status, said))
    for what, bad in (("DATA", frame(data, 0, stream=0xffff, to=3)),
                      ("length", frame(6, 0, stream=0xffff, to=3, length=1 << 30)),
                      ("number", b"x" * 64)):
        status, said = liar(b"", bad)
        check(f"a control frame with a bad {what} ends all nodes", status == [3, 3, 3]
              and all("node n1 sent something that is no frame" in s for s in said),
              (status, said))
    status, said = liar(b"", frame(8, 2, stream=0xffff, to=3, length=6) + b"\x1b[31mX")
    check("the reason of a node that ends has no control characters",
          status == [2, 2, 2] and all("?[31mX" in s and "\x1b" not in s for s in said), said)


CURVES = {"slow": {"source": "test", "sizes": [0, 1000, 2000], "o_s_us": [0, 0, 0],
                   "o_r_us": [0, 0, 0], "wire_us": [1000, 2000, 3000]}}


def imposed():
    """A message takes at least as long as the curve says: linear between the sizes and
    beyond the last"""
    write(json.dumps(CURVES), "curves.json")
    for block, each in ((1000, 2000), (1504, 2504), (4000, 5000)):
        path = plan(block=block, source="n1", stage="n2",
                    uow=f"uow partial repeat=3\nset depth=1\nimpose {WORK}/curves.json slow")[1]
        res = run(path)
        # the query, then two hops
        least = 2 * each + 1000
        got = sorted(line["latency_us"] for line in of_type(res, "uow"))
        check(f"imposed curve, {block} bytes", len(got) == 3 and got[0] >= least, (least, res))
        print(f"# {got} us, at least {least}")


SCOPE = """
set port={port}
node n1 127.0.0.1
node n2 127.0.0.1 slow=2
node n3 127.0.0.1
node n4 127.0.0.1
filter read read_tiles on {some} slide={data}
filter decompress decompress on {some}
filter clip clip on {some}
filter zoom zoom on {some}
filter view view on n4 ppm={work}/view.ppm
stream read -> decompress block=1K policy={policy}
stream decompress -> clip block={block} policy={policy}
stream clip -> zoom block={block} policy={policy}
stream zoom -> view block={block} policy={policy}
"""
ISO = """
set port={port}
node n1 127.0.0.1
node n2 127.0.0.1 slow=2
node n3 127.0.0.1
node n4 127.0.0.1
filter read read_bricks on {some} volume={data}
filter extract extract on {some}
filter raster raster on {some}
filter merge merge on n4
stream read -> extract block=3K policy={policy}
stream extract -> raster block={block} policy={policy}
stream raster -> merge block={block} policy={policy}
param side=64
"""
# few copies and many, small blocks and large, both policies
SETTINGS = [("n1", "rr", 128), ("n1 n2", "dd", 8192), ("n1 n2 n3", "rr", 65536),
            ("n1 n2 n3", "dd", 1024)]


def mkdata(*args):
    path = os.path.join(WORK, args[0])
    subprocess.run([sys.executable, "-B", EXAMPLES + "/mkdata.py", args[0], path, *args[1:]],
                   check=True, stdout=subprocess.DEVNULL)
    return path


def app(text, uow, data, setting):
    some, policy, block = setting
    return run(write(text.format(port=free_ports(), some=some, policy=policy, block=block,
                                 data=data, work=WORK) + uow))


def pattern(x, y):
    """The pixels of mkdata.py --source pattern"""
    return ((x * x + y * y) >> 6 & 255, (x ^ y) & 255, (x * 7 + y * 13 + (x * y >> 4)) & 255)


def picture(x, y, w, h, zoom):
    """The expected view: the mean of each square of pixels"""
    out = bytearray()
    for j in range(h):
        for i in range(w):
            pixels = [pattern(x + i * zoom + k % zoom, y + j * zoom + k // zoom)
                      for k in range(zoom * zoom)]
            out += bytes(sum(c) // (zoom * zoom) for c in zip(*pixels))
    return bytes(out)


def scope():
    """The microscope shows what is on the slide, after any moves"""
    data = mkdata("slide", "--size", "200", "--height", "150", "--tile", "16",
                  "--source", "pattern")
    uow = "".join(f"uow {u}\n" for u in (
        "complete x=13 y=7 w=40 h=30 zoom=3", "move dx=5 dy=4", "move dx=-3 dy=0",
        "move dx=0 dy=-6", "move dx=1 dy=-0", "zoom zoom=2", "move dx=0 dy=35"))
    for setting in SETTINGS:
        res = app(SCOPE, uow, data, setting)
        last = ([r for r in of_type(res, "result") if r["filter"] == "view"] or [{}])[-1]
        want = picture(*(last.get(k, 1) for k in ("x", "y", "w", "h", "zoom")))
        got = b""
        if res.returncode == 0:
            with open(WORK + "/view.ppm", "rb") as file:
                got = file.read()
        check(f"microscope, {setting}: the pixels of the slide",
              last.get("uow") == 6 and got.endswith(want) and len(got) < len(want) + 20, res)
    for bad, words in (("complete x=190 y=0 w=20 h=10 zoom=1", "leaves the slide"),
                       ("move dx=1", "the queries are"), ("complete w=0 h=1", "no window")):
        res = app(SCOPE, f"uow {bad}\n", data, SETTINGS[1])
        check(f"microscope, {bad}: status 2", res.returncode == 2 and words in res.stderr, res)
    with open(data, "r+b") as file:
        file.seek(-2000, 2)
        file.write(b"\xff" * 1000)
    res = app(SCOPE, "uow complete x=0 y=0 w=200 h=150 zoom=1\n", data, SETTINGS[1])
    check("a tile that does not decompress: status 2 and what to do", res.returncode == 2
          and "does not decompress: make the slide again" in res.stderr, res)
    with open(data, "r+b") as file:
        file.truncate(5000)
    res = app(SCOPE, "uow complete x=0 y=0 w=200 h=150 zoom=1\n", data, SETTINGS[1])
    check("a slide that was cut: status 2", res.returncode == 2 and "make it again" in res.stderr,
          res)


def iso():
    """The surface of a sphere, and its picture"""
    data = mkdata("volume", "--size", "24", "--brick", "8", "--source", "sphere")
    radius = 0.3 * 25
    area, seen = 4 * math.pi * radius ** 2, math.pi * (radius / 24 * 64) ** 2
    hashes_seen = set()
    for setting in SETTINGS:
        res = app(ISO, "uow iso level=300\n", data, setting)
        got = sum(r["area"] for r in of_type(res, "result") if "area" in r)
        merged = [r for r in of_type(res, "result") if "covered" in r]
        check(f"iso-surface, {setting}: area of the sphere", abs(got / area - 1) < 0.01,
              (got, area, res))
        check(f"iso-surface, {setting}: its shadow",
              merged and abs(merged[0]["covered"] / seen - 1) < 0.03, (merged, seen))
        hashes_seen.update(r["hash"] for r in merged)
    check("iso-surface: the same picture always", len(hashes_seen) == 1, hashes_seen)
    res = app(ISO, "uow iso level=300 step=1\n", data, SETTINGS[0])
    check("iso-surface: a step that the volume has not", res.returncode == 2
          and "the volume has 1 steps" in res.stderr, res)


def planner(*args):
    return subprocess.run([sys.executable, "-B", EXAMPLES + "/plan.py", *args], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def blocks():
    """The planner: by hand, 45 us and 510 Mbit/s make 302.0 us of 16 KB, 3.23 images of
    16 MB a second; 9.1 us and 763 Mbit/s 30.6 us of 2 KB, 3.99"""
    slow, fast = "slow=45:510", "fast=9.1:763"
    res = planner(slow, fast, "--rate", "3.2")
    # a part: the query of 16 bytes, then three hops
    check("planner: smallest block for a rate", "slow: block=16K: 3.23 images/s, a part in 951 us"
          in res.stdout and "fast: block=2K: 3.99 images/s, a part in 101 us (with block=16K, as "
          "for slow: 5.4 images/s, 552 us)" in res.stdout, res)
    res = planner(slow, fast, "--latency", "300")
    check("planner: largest block for a latency", "slow: block=2K: 1.58" in res.stdout
          and "fast: block=8K: 5.14" in res.stdout, res)
    res = planner(slow, fast, "--rate", "3.2", "--compute", "18")
    check("planner: computing bounds the rate", "fast: block=2K: 3.31 images/s" in res.stdout, res)
    res = planner(slow, "--latency", "100")
    check("planner: a block that does not exist is an error", res.returncode == 1 and "no block" in res.stdout, res)
    bench = {"tool": "sdpbench", "transport": "tcp", "rows": [
        {"test": "bw", "size": 1000, "mbps": 10}, {"test": "bw", "size": 2000, "mbps": 16},
        {"test": "lat", "size": 16, "lat_us": 50}, {"test": "lat", "size": 2000, "lat_us": 150}]}
    res = planner(write(json.dumps(bench), "bench.json"), "--image", "128000", "--rate", "78",
                  "--hops", "1")
    # 1024 bytes: 100.6 us by the bandwidth, of which 125 make the image
    check("planner: from sdpbench -j", "tcp: block=1K: 79.5 images/s, a part in 151 us"
          in res.stdout, res)
    for args, words in (([write("{}", "no.json")], "neither curves"), (["/nosuch"], "No such file"),
                        (["x=1:0"], "above 0"), (["x=a:b"], "belongs here"),
                        ([slow, "--image", "0"], "at least 1")):
        res = planner(*args)
        check(f"planner: {args[-1]}: status 2", res.returncode == 2 and words in res.stderr
              and res.stderr.count("\n") == 1, res)


with tempfile.TemporaryDirectory() as WORK:
    blocks()
    for test in (same_result, scheduling, mistakes, full, killed, missing, hosts, strangers,
                 bad_frames, imposed, scope, iso):
        test()
sys.exit(1 if FAILED else 0)
