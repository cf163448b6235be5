#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sdpbench over TCP: each test and option, wrong use, servers that are none:
test_sdpbench.py DIRECTORY"""
import contextlib
import csv
import io
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from checks import FAILED, check

BENCH = os.path.join(os.path.abspath(sys.argv[1]), "sdpbench")
MAGIC = 0x53445042
QUICK = ["-t", "tcp", "-w", "20", "-r", "2", "-n", "8", "-P", "5", "-S", "10K", "-L", "100"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def run(*args):
    return subprocess.run([BENCH, *args], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


@contextlib.contextmanager
def server(*before):
    port = str(free_port())
    with subprocess.Popen([*before, BENCH, "-s", "-t", "tcp", "-b", "127.0.0.1", "-p", port],
                          stderr=subprocess.PIPE, text=True) as proc:
        proc.stderr.readline()
        try:
            yield port, proc
        finally:
            proc.kill()


def rows(port, *args):
    res = run(*QUICK, "-j", "-p", port, *args)
    if res.returncode:
        return []
    return json.loads(res.stdout)["rows"]


def all_tests(port):
    """Each test has rows with what it is about"""
    for test, wanted in (("bw", "mbps"), ("lat", "p999_us"), ("bibw", "mbps"), ("bilat", "p50_us"),
                         ("overlap", "relative"), ("progress", "iter_us"), ("hot", "servers")):
        got = rows(port, "-T", test, "--compute", "spin:0,10", "127.0.0.1") \
            if test in ("overlap", "progress") else rows(port, "-T", test, "127.0.0.1")
        check("sdpbench -T " + test,
              got and all(wanted in r and r["test"].startswith(test) for r in got), got)
        if wanted == "mbps":
            check(f"sdpbench -T {test}: messages per second are bytes per second by size",
                  got and all(abs(r["messages_per_s"] * r["size"] / 1e6 / r["mbps"] - 1) < 0.01
                              for r in got), got)
    got = rows(port, "-T", "hot", *["127.0.0.1"] * 3)
    check("sdpbench -T hot: one to three servers, both ways",
          [(r["test"], r["servers"]) for r in got] ==
          [(t, n) for t in ("hot-send", "hot-recv") for n in (1, 2, 3)], got)
    got = rows(port, "-T", "progress", "--burst", "7", "--compute", "sleep:0,20000", "127.0.0.1")
    check("sdpbench -T progress: computation takes its time",
          len(got) == 2 and got[1]["iter_us"] >= 20000 and got[1]["burst"] == 7, got)
    got = rows(port, "-T", "overlap", "--compute", "sleep:0,5000", "127.0.0.1")
    check("sdpbench -T overlap: computation before each message",
          len(got) == 2 and got[1]["mbps"] <= 10240 / 5000, got)


def all_options(port):
    for args in (["--window", "1"], ["--window", "5"], ["--buffers", "3"], ["--reuse", "50"],
                 ["--wait", "epoll"], ["--wait", "busy"], ["--send", "zerocopy"],
                 ["--send", "zerocopy", "--window", "4", "--buffers", "2"], ["--less-reply"],
                 ["--send", "copy", "--recv", "copy", "--wait", "block"]):
        got = rows(port, *args, "127.0.0.1")
        check("sdpbench " + " ".join(args), [r["test"] for r in got] == ["bw", "lat"], got)
    res = run(*QUICK, "--csv", "-p", port, "127.0.0.1")
    got = list(csv.DictReader(io.StringIO(res.stdout)))
    check("sdpbench --csv", [r["test"] for r in got] == ["bw", "lat"] and
          float(got[0]["mbps"]) > 0 and got[0]["lat_us"] == "" and float(got[1]["p90_us"]) > 0, res)
    got = rows(port, "-r", "10", "--trim", "-T", "bw", "127.0.0.1")
    check("sdpbench --trim", got and got[0]["mean_trim"] == got[0]["mbps"] and
          got[0]["mbps_min"] < got[0]["mbps"] < got[0]["mbps_max"] and got[0]["ci95"] > 0, got)
    got = rows(port, "-T", "lat", "-P", "500", "127.0.0.1")
    check("sdpbench: percentiles are in order", got and got[0]["p50_us"] <= got[0]["p90_us"] <=
          got[0]["p99_us"] <= got[0]["p999_us"], got)
    got = rows(port, "-T", "bw", "-n", "300000", "-S", "1K", "-r", "1", "127.0.0.1")
    check("sdpbench: processors of both hosts", got and got[0].get("cpu_tx_pct", 1) > 0 and
          got[0].get("softirq_rx_pct", 0) >= 0, got)


def by_interval(port, streams):
    """The intervals have all bytes, of each stream and of all streams"""
    got = rows(port, "-T", "bw", "-S", "64K", "-n", "1000", "--streams", str(streams),
               "-i", "0.01", "127.0.0.1")
    want = 1000 * 65536
    end = [r for r in got if r["test"] == "bw"]
    check(f"sdpbench --streams {streams}: messages of all of them",
          len(end) == 1 and end[0]["messages"] == 1000 * streams and
          end[0].get("streams", 1) == streams and
          abs(end[0]["messages_per_s"] * 65536 / 1e6 / end[0]["mbps"] - 1) < 0.01, got)
    parts = [r for r in got if r["test"] == "interval"]
    check(f"sdpbench -i, {streams} streams: repetitions that count", parts and
          {r["repetition"] for r in parts} == {1, 2}, parts)
    for repetition in 1, 2:
        every = [r for r in parts if r["repetition"] == repetition]
        total = [r for r in every if "stream" not in r]
        check(f"sdpbench -i, {streams} streams: all bytes",
              sum(r["bytes"] for r in total) == streams * want, total)
        check(f"sdpbench -i, {streams} streams: no gaps",
              [r["from_s"] for r in total] == [0] + [r["to_s"] for r in total[:-1]], total)
        for stream in range(1, streams + 1) if streams > 1 else ():
            check(f"sdpbench -i, {streams} streams: all bytes of stream {stream}",
                  sum(r["bytes"] for r in every if r.get("stream") == stream) == want, every)
    res = run("-t", "tcp", "-p", port, "-T", "bw", "-n", "100", "-S", "64K", "-r", "1",
              "--streams", str(streams), "-i", "60", "127.0.0.1")
    heads = [line.split()[0] for line in res.stdout.splitlines()]
    check(f"sdpbench -i, {streams} streams: each row is below its heading",
          heads == ["interval"] + ["tcp"] * (streams + 1 if streams > 1 else 1) + ["bw", "tcp"],
          res)


def wrong_use():
    for args in (["-T", "none"], ["-T", "bw,"], ["--window", "0"], ["-T", "lat", "--window", "2"],
                 ["--buffers", "0"], ["--buffers", "65537"], ["--reuse", "101"],
                 ["--buffers", "2", "--cold"], ["--cold", "--reuse", "3"],
                 ["--compute", "spin:1"], ["-T", "overlap", "--compute", "1"],
                 ["-T", "overlap", "--compute", "spin:"], ["-T", "bibw", "--buffers", "2"],
                 ["-T", "bilat", "--send", "zerocopy"], ["--wait", "5"], ["--send", "fast"],
                 ["--recv", "map"], ["-T", "util"], ["--trim", "-r", "9"], ["--burst", "0"],
                 ["--streams", "0"], ["--streams", "65"], ["-T", "lat", "--streams", "2"],
                 ["-T", "bw,hot", "--streams", "2"], ["--cold", "--streams", "2"],
                 ["-i", "0"], ["-i", "1s"], ["-i", "nan"], ["-T", "lat", "-i", "1"],
                 ["--compare", "tcp"], ["--compare", "tcp,tcp"], ["-t", "tcp,sdp"],
                 ["-p", "65535", "--compare", "tcp,sdp"]):
        res = run("-t", "tcp", *args, "127.0.0.1")
        check("sdpbench %s: refused" % " ".join(args),
              res.returncode == 2 and res.stderr.count("\n") == 1, res)
    res = run("-t", "tcp", "host1", "host2")
    check("sdpbench host1 host2: refused", res.returncode == 2 and "hot" in res.stderr, res)


def at_once(port):
    """A client that does nothing keeps no other from being served"""
    with socket.create_connection(("127.0.0.1", int(port)), 20):
        check("sdpbench -s: clients at the same time",
              len(rows(port, "-T", "lat", "127.0.0.1")) == 1)


def few_files():
    """Clients for which there is no descriptor now are served later"""
    with server("sh", "-c", 'ulimit -n 8 && exec "$0" "$@"') as (port, proc):
        with contextlib.ExitStack() as clients:
            for _ in range(10):
                clients.enter_context(socket.create_connection(("127.0.0.1", int(port)), 20))
            said = proc.stderr.readline()
        got = rows(port, "-T", "lat", "127.0.0.1")
        check("sdpbench -s: too many files are no end",
              "Too many open files" in said and len(got) == 1 and proc.poll() is None, said)


def no_server(answer, *args, pause=0):
    """Run a client against a server that answers so"""
    with socket.create_server(("127.0.0.1", 0)) as s:
        done = threading.Event()

        def peer():
            c, _ = s.accept()
            with c:
                c.settimeout(20)
                c.recv(8, socket.MSG_WAITALL)
                if answer is None:
                    done.wait(20)
                time.sleep(pause)
                c.sendall(answer or b"")

        t = threading.Thread(target=peer)
        t.start()
        res = run("-t", "tcp", *args, "-p", str(s.getsockname()[1]), "127.0.0.1")
        done.set()
        t.join()
    return res


def foreign(port, proc):
    res = no_server(None)
    check("sdpbench: a server that is silent",
          res.returncode == 3 and "is this sdpbench -s?" in res.stderr, res)
    res = no_server(struct.pack(">IHHIIQ4Q", MAGIC, 2, 1, 0, 0, 0, *[0] * 4),
                    "-S", "16M", "--buffers", "16", pause=2)
    check("sdpbench: a server that fills 256 MB first",
          res.returncode == 1 and "is this" not in res.stderr, res)
    res = no_server(b"")
    check("sdpbench: an older server, which only closes",
          res.returncode == 1 and "protocol 2" in res.stderr, res)
    res = no_server(b"HTTP/1.0 400 Bad Request\r\n\r\n" + b" " * 64)
    check("sdpbench: a web server", res.returncode == 1 and "is this" in res.stderr, res)
    res = no_server(struct.pack(">IHHIIQ4Q", MAGIC, 3, 1, 0, 0, 0, *[0] * 4))
    check("sdpbench: a newer server", res.returncode == 1 and "protocol 3" in res.stderr and
          "same version" in res.stderr, res)
    with socket.create_connection(("127.0.0.1", int(port)), 20) as s:
        s.sendall(struct.pack(">IHHIIQ", MAGIC, 1, 1, 1, 0, 0))
        answer = s.recv(24, socket.MSG_WAITALL)
    check("sdpbench -s: an older client learns the version",
          answer[:6] == struct.pack(">IH", MAGIC, 2), answer)
    proc.kill()
    check("sdpbench -s: and it says so", "protocol 1" in proc.stderr.read())


def hostile(port):
    """Requests that no client sends are refused, or end that connection alone"""
    hello = (1, 4096, 0, 0, 0, 0, 0)
    for what, *reqs in (("no greeting", (2, 1, 1, 0, 0, 0, 0)),
                        ("large messages", (1, 1 << 31, 0, 0, 0, 0, 0)),
                        ("many buffers", (1, 1 << 20, 0, 0, 0, 65536, 0)),
                        ("no such way to wait", (1, 1, 0, 3, 0, 0, 0)),
                        ("mapped pages over TCP", (1, 1, 0, 0, 1, 0, 0)),
                        ("a stream that overflows", hello, (2, 4096, 1 << 63, 0, 0, 0, 0)),
                        ("answers of nothing", hello, (3, 1, 1 << 60, 0, 0, 0, 0)),
                        ("answers that are too large", hello, (3, 1, 1, 4097, 0, 0, 0)),
                        ("an exchange of nothing", hello, (5, 4096, 0, 1 << 60, 0, 0, 0)),
                        ("bursts of nothing", hello, (6, 1, 1 << 60, 0, 0, 0, 0)),
                        ("a year of computation", hello, (6, 1, 1, 1, 1, 1 << 60, 0)),
                        ("no such request", hello, (9, 1, 1, 0, 0, 0, 0))):
        with socket.create_connection(("127.0.0.1", int(port)), 20) as s:
            answer = b""
            for op, size, count, *args in reqs:
                s.sendall(struct.pack(">IHHIIQ4Q", MAGIC, 2, op, size, 0, count, *args))
                answer = s.recv(56, socket.MSG_WAITALL)
        check("sdpbench -s: %s: refused" % what,
              len(answer) == 56 and answer[8:12] != bytes(4), answer)


with server() as (at, process):
    all_tests(at)
    all_options(at)
    by_interval(at, 1)
    by_interval(at, 3)
    at_once(at)
    hostile(at)
    foreign(at, process)
few_files()
wrong_use()
sys.exit(bool(FAILED))
