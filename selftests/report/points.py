# SPDX-License-Identifier: GPL-2.0
"""Points of the report: the measurements, and where they are kept.

A point is one run of a lane, narrowed by its settings to few rows. It is kept as
points/SETTINGS.CONTENT.json: a hash of the settings, and a hash of everything in the
tree that the figures depend on. A file appears under its name when it is complete.
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time

# Inputs of a point of a lane: directories and files of the tree
COMMON = ["drivers", "include", "lib", "tools", "Kbuild", "scripts/build-modules.sh",
          "scripts/build-user.sh", "scripts/kernel.sh", "selftests/lib", "selftests/bench"]
DEPENDS = {
    "count": COMMON + ["selftests/ulp_load", "selftests/report/guest.sh", "selftests/vm/vm.py",
                       "selftests/sdp/append.c", "selftests/sdp/rxmap.c", "selftests/sdp/fc.c"],
    "native": COMMON + ["selftests/native"],
    "profile": COMMON + ["selftests/vm/vm.py"],
    "host": ["selftests/report/probe.c"],
    "real": ["tools/sdpbench"],
}
# ... and of some parts of the count lane
PARTS = {"filters": ["examples/filters"]}
# Settings that no lane reads: they tell the rows of one panel apart, or name the kernel
LABELS = {"RX_BUF", "WAIT", "RECV", "KERNEL"}
SKIP = (".pyc", ".rst", ".1", ".5", ".7", ".8", ".json")


class Trouble(Exception):
    """Something that the user can mend; the text is one sentence that says how"""


class Point:
    """One run: a lane, and the settings that go to it"""

    def __init__(self, lane, seconds, boot=(), **settings):
        self.lane = lane
        self.seconds = seconds          # estimate
        self.boot = tuple(boot)         # options of the virtual machine
        self.settings = {k: str(v) for k, v in settings.items()}
        text = json.dumps([lane, self.boot, sorted(self.settings.items())])
        self.key = hashlib.sha256(text.encode()).hexdigest()[:16]

    def kernel(self, usual):
        """The one it runs on: that of the report, unless the settings name another"""
        return self.settings.get("KERNEL", usual)

    def words(self):
        """The settings, quoted for a shell"""
        return " ".join(shlex.quote(f"{k}={v}") for k, v in self.settings.items())

    def command(self):
        """The command that shows these rows alone"""
        if self.lane == "host":
            return "make report LANE=host"
        if self.lane == "real":
            return f"make report LANE=real HOSTS={shlex.quote(self.settings['HOSTS'])}"
        if self.lane == "profile":
            return f"make profile {self.words()}"
        lane = "" if self.lane == "count" else f" LANE={self.lane}"
        vm = f" VM_ARGS={shlex.quote(' '.join(self.boot))}" if self.boot else ""
        return f"make bench{lane}{vm} {self.words()}"


def again(point):
    """The same point in a boot of its own, for one of ten, by chance; None for the others"""
    if point.lane != "count" or int(point.key, 16) % 10:
        return None
    return Point("count", point.seconds, (*point.boot, "-a", "again=1"), **point.settings)


def apart(rows, others):
    """Greatest difference of the main figures of two runs of a point, relative"""
    worst = 0.0
    for row, other in zip(rows, others):
        for name in ("mbps", "lat_us", "iter_us"):
            if row.get(name) and other.get(name):
                worst = max(worst, abs(row[name] / other[name] - 1))
    return worst


def count(seconds=15, boot=(), **settings):
    """A point of the count lane: one run of bench/guest.sh"""
    return Point("count", seconds, boot, **settings)


def native(seconds=120, **settings):
    """A point of the native lane: one run of native/run.sh"""
    return Point("native", seconds, **settings)


def profile(seconds=90, **settings):
    """A point of the count lane by layer: one run of bench/profile.sh"""
    return Point("profile", seconds, **settings)


def probe():
    """Prices of this machine, see probe.c"""
    return Point("host", 5, PARTS="probe")


def real():
    """Points of two real machines, none if HOSTS does not name them"""
    hosts = os.environ.get("HOSTS", "").split()
    if not hosts:
        return []
    if len(hosts) != 2:
        raise Trouble(f"HOSTS=\"{' '.join(hosts)}\" are {len(hosts)} hosts: name two, first the "
                      "server")
    return [Point("real", 60, HOSTS=" ".join(hosts), WHAT=what, TEST=test)
            for what in ("tcp", "sdp", "verbs-send", "verbs-write") for test in ("bw", "lat")]


def inputs(point):
    """Names of all that the figures of a point depend on"""
    return tuple(DEPENDS[point.lane] + PARTS.get(point.settings.get("PARTS"), []))


def fingerprint(top, names, kernel):
    """Hash of these directories and files"""
    digest = hashlib.sha256(kernel.encode())
    for name in names:
        start = os.path.join(top, name)
        files = [start] if os.path.isfile(start) else sorted(
            os.path.join(folder, f) for folder, _, names in os.walk(start) for f in names)
        for path in files:
            if path.endswith(SKIP) or "__pycache__" in path:
                continue
            digest.update(os.path.relpath(path, top).encode())
            with open(path, "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()[:12]


def output(*command):
    """First line of what a program says, "" if it is not there"""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return run.stdout.strip().partition("\n")[0]


def provenance(top, kernel):
    """Where figures of this run come from"""
    commit = output("git", "-C", top, "rev-parse", "--short=12", "HEAD") or "unknown"
    if output("git", "-C", top, "status", "--porcelain", "-uno"):
        commit += " (dirty)"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {"commit": commit, "kernel": kernel, "qemu": output("qemu-system-x86_64", "--version"),
            "compiler": output("cc", "--version"), "cpu": cpu[0] if cpu else "unknown",
            "seed": 1, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


class Store:
    """The points that have been measured"""

    def __init__(self, top, folder, kernel):
        self.top, self.folder, self.kernel = top, folder, kernel
        os.makedirs(folder, exist_ok=True)
        self.prints = {}
        self.where = provenance(top, kernel)
        self.kept = {}          # key: {content: point}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json"):
                self.read(name)

    def read(self, name):
        path = os.path.join(self.folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                point = json.load(file)
            key, content, _ = name.split(".")
            point["rows"], point["provenance"]      # pylint: disable=pointless-statement
        except (ValueError, KeyError) as err:
            raise Trouble(f"{path} is damaged ({err}): delete it, and the point is measured "
                          "again; the others are kept") from err
        self.kept.setdefault(key, {})[content] = point

    def content(self, point):
        names = inputs(point)
        if names not in self.prints:
            self.prints[names] = fingerprint(self.top, names, self.kernel)
        return self.prints[names]

    def fresh(self, point):
        """Was it measured with what is in the tree now?"""
        return self.content(point) in self.kept.get(point.key, {})

    def get(self, point):
        """The point as it was measured last, with what is in the tree if possible"""
        kept = self.kept.get(point.key)
        if not kept:
            return None
        newest = max(kept.values(), key=lambda p: p["provenance"]["time"])
        return kept.get(self.content(point), newest)

    def seconds(self, point):
        """How long it will take, by experience"""
        kept = self.get(point)
        return kept["seconds"] if kept else point.seconds

    def put(self, point, rows, seconds):
        """Keeps what was measured"""
        kept = {"lane": point.lane, "boot": point.boot, "settings": point.settings,
                "command": point.command(), "seconds": round(seconds, 1), "rows": rows,
                "provenance": {**self.where, "kernel": point.kernel(self.kernel),
                               "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}
        content = self.content(point)
        write(os.path.join(self.folder, f"{point.key}.{content}.json"),
              json.dumps(kept, indent=1) + "\n")
        self.kept.setdefault(point.key, {})[content] = kept


def write(path, text):
    """Writes a file that is either there as a whole or as it was before"""
    data = text.encode() if isinstance(text, str) else text
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.replace(path + ".new", path)
    except OSError as err:
        raise Trouble(f"cannot write {path} ({err.strerror}): make room or set BUILD to another "
                      "disk, and run the same command again; what was measured is kept") from err


def say(text):
    """A line of progress"""
    print(f"report: {text}", flush=True)


def complain(text):
    print(f"report: {text}", file=sys.stderr, flush=True)
