# SPDX-License-Identifier: GPL-2.0
"""Runs the points of each lane and keeps each one as soon as it has ended."""
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

from points import Trouble, complain, say

# With a busy host a point can take several times as long as it should
BOOT_SECONDS = 40
PATIENCE = 30


class Progress:
    """Progress so far, and the time that the rest will take"""

    def __init__(self, store, points, workers):
        self.lock = threading.Lock()
        self.left = {p.key: store.seconds(p) for p in points}
        self.total, self.done, self.workers = len(points), 0, max(1, workers)
        self.expected = self.taken = 0.0

    def ended(self, point, seconds, good):
        with self.lock:
            self.done += 1
            self.expected += self.left.pop(point.key, 0)
            self.taken += seconds
            # this machine is slower or faster than the one before
            pace = self.taken / self.expected if self.expected else 1
            rest = sum(self.left.values()) * pace / self.workers / 60
            say(f"[{self.done}/{self.total}] {point.lane}: {describe(point)}"
                f"{'' if good else ': did not work'}, {seconds:.0f} s; about "
                f"{rest:.0f} min left")


def describe(point):
    names = ("WHATS", "WHAT", "TEST", "VERBS_KINDS", "PROFILES", "FC_POLICIES", "LINK", "MTUS")
    words = [point.settings[n] for n in names if n in point.settings]
    return " ".join([point.settings.get("PARTS", ""), *words]).strip()


def boots(points, workers, store):
    """Groups points that can share a virtual machine, in lots of similar length"""
    by_boot = {}
    for point in points:
        by_boot.setdefault((point.lane, point.boot, point.kernel("")), []).append(point)
    lots = []
    for same in by_boot.values():
        whole = sum(store.seconds(p) for p in same)
        # not so many that booting costs more than it gains
        n = max(1, min(workers, len(same), int(whole / (2 * BOOT_SECONDS))))
        n = n if same[0].lane == "count" else 1     # the others have one place to work in
        for i in range(n):
            lots.append(same[i::n])
    return sorted(lots, key=lambda lot: -sum(store.seconds(p) for p in lot))


class Lane:
    """Base class: runs a lot of points"""

    def __init__(self, report):
        self.report = report            # has top, build, kernel, store, progress
        self.failures = {}              # key: why

    def ended(self, point, rows, failed, seconds):
        if failed or not rows:
            self.failures[point.key] = "; ".join(failed) or "it printed no figure"
        else:
            self.report.store.put(point, rows, seconds)
        self.report.progress.ended(point, seconds, point.key not in self.failures)


def run_lines(command, log, env=None):
    """Runs a program; yields its lines. It ends with this one."""
    with open(log, "w", encoding="utf-8") as file, subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", env=env,
            stdin=subprocess.DEVNULL) as proc:
        try:
            for line in proc.stdout:
                file.write(line)
                file.flush()
                yield line.rstrip("\n")
        finally:
            if proc.poll() is None:
                proc.send_signal(signal.SIGTERM)


class CountLane(Lane):
    """Virtual machines in which one instruction is one nanosecond"""

    def run(self, lot, number):
        report = self.report
        kernel = lot[0].kernel(report.kernel)
        folder = os.path.join(report.build, kernel, f"report{number}")
        os.makedirs(folder, exist_ok=True)
        jobs = os.path.join(folder, "jobs")
        with open(jobs, "w", encoding="utf-8") as file:
            for point in lot:
                file.write(f"{point.key} {point.words()}\n")
        seconds = sum(report.store.seconds(p) for p in lot)
        command = [os.path.join(report.top, "selftests/vm/run.sh"), "-n", "-k", kernel,
                   "-b", report.build, "-o", os.path.join(folder, "guest"), "--count",
                   "-t", str(int(600 + PATIENCE * seconds)), "-f", f"{jobs}:/report.jobs",
                   "-c", "exec /selftests/report/guest.sh /report.jobs", *lot[0].boot]
        log = os.path.join(folder, "log")
        self.collect(lot, run_lines(command, log), log)

    def collect(self, lot, lines, log):
        """Takes the points from the lines of guest.sh"""
        waiting = {p.key: p for p in lot}
        key, rows, failed, said, began = None, [], [], "", time.monotonic()
        for line in lines:
            match = re.search(r"(POINT-BEGIN|POINT-END|BENCH|BENCH-FAILED) (.*)", line)
            if not match:
                said = line.strip() if line.lstrip().startswith("sdpbench: ") else said
                continue
            word, rest = match.groups()
            if word == "POINT-BEGIN":
                key, rows, failed, said, began = rest.strip(), [], [], "", time.monotonic()
            elif word == "POINT-END" and key in waiting:
                self.ended(waiting.pop(key), rows, failed, time.monotonic() - began)
            elif word == "BENCH-FAILED":
                # with the message of the program, if it has printed one
                failed.append(f"{rest} ({said})" if said else rest)
                said = ""
            elif word == "BENCH":
                rows.append(json.loads(rest))
        for point in waiting.values():
            self.failures[point.key] = f"the virtual machine ended early; see {log}"
            self.report.progress.ended(point, 0, False)


class NativeLane(Lane):
    """User-Mode Linux, at the speed of this machine"""

    def run(self, lot, number):
        report = self.report
        for point in lot:
            began = time.monotonic()
            build = os.path.join(report.build, f"report-native{number}")
            env = {**os.environ, **point.settings, "BUILD": build}
            log = os.path.join(report.build, f"report-native{number}.log")
            command = [os.path.join(report.top, "selftests/native/run.sh")]
            result = os.path.join(build, "bench-native.json")
            if os.path.exists(result):
                os.unlink(result)
            for _ in run_lines(command, log, env):
                pass
            rows, failed = [], []
            try:
                with open(result, encoding="utf-8") as file:
                    bench = json.load(file)
                rows, failed = bench["rows"], bench.get("failures", [])
            except (OSError, ValueError):
                failed = [f"it ended early; see {log}"]
            self.ended(point, rows, failed, time.monotonic() - began)


def traffic(lines):
    """Figures of the cache model: per byte of payload, in all and of each end"""
    match = re.search(r"([\d.]+) accesses, ([\d.]+) bytes fetched, ([\d.]+) written back",
                      lines[-1])
    if not match:
        raise ValueError(lines[-1])
    found = dict(zip(("accesses", "fetched", "written"), map(float, match.groups())))
    for line in lines:
        match = re.match(r"(a|b): ([\d.]+) bytes fetched, ([\d.]+) written back", line)
        if match:
            found[f"traffic_{match[1]}"] = float(match[2]) + float(match[3])
    return found


class ProfileLane(Lane):
    """Instructions of both hosts by layer, one virtual machine for each point"""

    def run(self, lot, number):
        report = self.report
        sys.path.append(os.path.join(report.top, "selftests/bench"))
        import layers   # pylint: disable=import-outside-toplevel
        log = os.path.join(report.build, "report-profile.log")
        result = os.path.join(report.build, report.kernel, "profile.txt")
        for point in lot:
            began = time.monotonic()
            if os.path.exists(result):
                os.unlink(result)
            env = {**os.environ, **point.settings, "BUILD": report.build, "BASE": ""}
            how = ["--cache"] if point.settings.get("CACHE") else []
            said = list(run_lines([os.path.join(report.top, "selftests/bench/profile.sh"), *how],
                                  log, env))
            row = {"what": point.settings["WHAT"], "test": point.settings["TEST"],
                   "mtu": int(point.settings["MTU"]), "size": int(point.settings["SIZE"])}
            rows, failed = [], []
            try:
                if how:
                    rows.append({"part": "cache", **row, **traffic(said)})
                else:
                    sums = layers.by_layer(layers.Layers(), layers.read(result))
                    rows.append({"part": "layers", **row, "layers": sums,
                                 "coverage": 1 - sums[layers.NO_LAYER] / sum(sums.values())})
            except (OSError, ValueError, IndexError, ZeroDivisionError) as err:
                failed = [f"no profile ({err}); see {log}"]
            self.ended(point, rows, failed, time.monotonic() - began)


class HostLane(Lane):
    """Programs on this machine"""

    def run(self, lot, number):
        program = os.path.join(self.report.build, f"report-probe{number}")
        source = os.path.join(self.report.top, "selftests/report/probe.c")
        for point in lot:
            began = time.monotonic()
            rows, failed = [], []
            try:
                subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", program, source],
                               check=True, capture_output=True)
                run = subprocess.run([program], check=True, capture_output=True, text=True)
                row = json.loads(run.stdout)
                row["line_ns"] = max(0, (row["copy_cold_ns"] - row["copy_ns"]) * 64)
                rows.append({"part": "probe", **row})
            except (OSError, ValueError, subprocess.CalledProcessError) as err:
                failed.append(f"probe.c: {err}")
            self.ended(point, rows, failed, time.monotonic() - began)


LANES = {"count": CountLane, "native": NativeLane, "profile": ProfileLane,
         "host": HostLane}       # asked.py adds "real"


def build(report, kernels):
    """Modules, tools and programs, once for all boots of the count lane"""
    for script, *args in (*(("build-modules.sh", k, report.build) for k in sorted(kernels)),
                          ("build-user.sh", report.build)):
        run = subprocess.run([os.path.join(report.top, "scripts", script), *args], check=False,
                             capture_output=True, text=True)
        if run.returncode:
            complain("\n".join((run.stdout + run.stderr).splitlines()[-30:]))
            raise Trouble(f"scripts/{script} failed: mend the build and run the same command again")


def measure(report, points):
    """Measures @points; returns the reasons of those that failed. Ctrl-C ends it; results stay."""
    workers = max(1, int(os.environ.get("LANES") or min(2, os.cpu_count() or 1)))
    report.progress = Progress(report.store, points, workers)
    lots = queue.Queue()
    for item in boots(points, workers, report.store):
        lots.put(item)
    failures, troubles = {}, []

    def work(number):
        while not troubles:
            try:
                lot = lots.get_nowait()
            except queue.Empty:
                return
            lane = LANES[lot[0].lane](report)
            try:
                lane.run(lot, number)
            except Trouble as err:
                troubles.append(err)
            except OSError as err:
                troubles.append(Trouble(f"{err}: mend this and run the same command again; "
                                        "what was measured is kept"))
            failures.update(lane.failures)

    kernels = {p.kernel(report.kernel) for p in points if p.lane == "count"}
    if kernels:
        say("building modules, tools and tests ...")
        build(report, kernels)
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)
    if troubles:
        raise troubles[0]
    return failures
