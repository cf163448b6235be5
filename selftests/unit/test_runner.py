#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Failures that the VM runner recognises, and CI and lint; the cache; a demo that fails"""
import contextlib
import fcntl
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../vm"))
import vm  # noqa: E402 pylint: disable=wrong-import-position

REPORTS = [
    "int3: 0000 [#1] PREEMPT SMP NOPTI",
    "invalid opcode: 0000 [#1] PREEMPT SMP NOPTI",
    "Kernel panic - not syncing: Fatal exception in interrupt",
    "Oops: 0002 [#1] PREEMPT SMP",
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "BUG: KASAN: slab-use-after-free in sdp_sendmsg+0x10/0x20 [sdp]",
    "BUG: KCSAN: data-race in sdp_poll [sdp] / sdp_rx [sdp]",
    "UBSAN: array-index-out-of-bounds in drivers/sdp/sdp_rx.c:10:3",
    "WARNING: CPU: 1 PID: 12 at net/core/stream.c:208",
    "WARNING: possible circular locking dependency detected",
    "INFO: task sdp-echo:77 blocked for more than 120 seconds.",
    "unreferenced object 0xffff888003d1a000 (size 128):",
    "BUG: sleeping function called from invalid context at mm/slab.h:494",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "refcount_t: underflow; use-after-free.",
    "unregister_netdevice: waiting for va to become free. Usage count = 2",
    "WARNING: CPU: 1 PID: 115 at drivers/infiniband/sw/rxe/rxe_task.c:180 rxe_cleanup_task+0x9c",
]
STUCK = "watchdog: BUG: soft lockup - CPU#0 stuck for 157s! [hyb-target:4116]"
CORE = "RIP: 0010:sk_forced_mem_schedule+0x4f/0xc0"
OURS = "RIP: 0010:sdp_sendmsg+0x4f/0xc0 [sdp]"
STALE = [
    # report of the kernel, does it come from the emulator?
    (["int3: 0000 [#1] PREEMPT SMP NOPTI"], True),
    ([STUCK, CORE, "Code: 01 f0 39 c8 7d 3d <eb> 0a c3 cc cc"], True),
    ([STUCK, CORE, "Code: 01 f0 39 c8 7d 3d <66> 90 c3 cc cc"], True),
    ([STUCK, CORE, "Code: 01 f0 39 c8 7d 3d <0f> 1f 44 00 00 c3"], True),
    ([STUCK, CORE, "Code: 01 f0 39 c8 7d 3d <0f> 1f 40 00 c3 cc"], False),
    ([STUCK, CORE, "Code: 01 f0 39 c8 7d 3d <8b> 05 eb 0a c3 cc"], False),
    ([STUCK, CORE, "Code: 01 f0 39 c8 7d 3d <e8> 0a c3 cc cc cc"], False),
    ([STUCK, CORE, "Code: 01 f0 <8b> 05", CORE, "Code: 01 f0 <eb> 0a"], False),
    ([STUCK, OURS, "Code: 01 f0 39 c8 7d 3d <eb> 0a c3 cc cc cc"], False),
    (["BUG: unable to handle page fault", CORE, "Code: 7d 3d <eb> 0a c3 cc"], False),
]
FINE = [
    "sdp: loaded",
    "traps: sdp-echo[77] general protection fault ip:401000 sp:7ffd error:0",
    "kmemleak: Kernel memory leak detector initialized (mem pool available: 15000)",
    "BUG: KCSAN: data-race in tick_nohz_stop / tick_sched_timer",
    "WARNING: CPU: 1 PID: 115 at drivers/infiniband/sw/rxe/rxe_task.c:267 rxe_sched_task+0x9c/0xb0",
]
TAPS = [
    # lines, exit status; passed, failed, skipped
    (["ok 1 - a", "ok 2 - b", "1..2"], 0, (2, 0, 0)),
    (["ok 1 - a", "not ok 2 - b", "1..2"], 1, (1, 1, 0)),
    (["ok 1 - a", "ok 2 - b # SKIP no such device", "1..2"], 0, (1, 0, 1)),
    (["ok 1 - a", "1..2"], 0, (1, 1, 0)),          # it ended early
    (["ok 1 - a", "1..1"], 3, (1, 1, 0)),          # it failed without saying so
    (["ok 1 - a"], "died", (1, 1, 0)),
    (["ok 1 - a"], "timeout", (1, 1, 0)),
    (["1..0 # SKIP no siw"], 4, (0, 0, 1)),
    ([], 0, (1, 0, 0)),
    ([], 1, (0, 1, 0)),
    ([], 4, (0, 0, 1)),
]


def console(folder):
    return vm.Console(os.path.join(folder, "console.log"))


def blocks(folder, *lines):
    con = console(folder)
    con.feed("".join(f"[    1.5] {line}\n" for line in lines).encode())
    return con.take()


def tap(lines, status):
    result = vm.Result("test")
    result.lines, result.status = list(lines), status
    result.count()
    return result.passed, result.failed, result.skipped


def excerpt(lines, status):
    result = vm.Result("test")
    result.lines, result.status = list(lines), status
    return result.excerpt()


class Hung(vm.Guest):
    """A guest whose tests hang, all until their limit"""

    def __init__(self, end):  # pylint: disable=super-init-not-called
        self.args = types.SimpleNamespace(end=end, factor=4)
        self.socks = {"control": types.SimpleNamespace(sendall=lambda line: None)}
        self.console = types.SimpleNamespace(take=lambda: [])
        self.said = ["ok 1 - a", "@@end test timeout"]

    def answer(self, deadline):
        return self.said.pop(0)

    def processor(self):
        return 0.0

    def spin(self, seconds):
        pass


def hung(timeout, left):
    """A test that hangs, and has this time limit, so many seconds before no test begins"""
    guest = Hung(time.monotonic() + left if left is not None else 0)
    result = guest.run({"name": "test", "timeout": timeout, "path": "/test"}, lambda line: None)
    result.count()
    return result.failed, result.skipped


class Lanes(vm.Runner):
    """Runs nothing; a test that is run again ends like this"""

    def __init__(self, folder, cut):
        args = types.SimpleNamespace(tests=[{"name": "test"}], budget=1, out=folder,
                                     command=None, verbose=0)
        super().__init__(args)
        self.cut = cut

    def show(self, res):
        pass

    def lane(self, number):
        result = vm.Result("test")
        result.lines = ["ok 1 - a"]
        result.status, result.cut = ("timeout", True) if self.cut else (0, False)
        self.done(result)


def again(folder, cut):
    """A test that has failed is run again, and then passes or is stopped"""
    runner = Lanes(folder, cut)
    first = vm.Result("test")
    first.lines, first.status = ["ok 1 - a"], "timeout"
    runner.done(first)
    runner.again()
    return [r is first for r in runner.results], runner.flaky


def hangs(folder):
    """Tests that hang, and the end of the run's time"""
    tests = vm.find_tests(os.path.join(HERE, ".."), [], (False,), False, 1)
    longest = max(test["timeout"] for test in tests)
    with open(os.path.join(HERE, "../../.ci/run"), encoding="utf-8") as file:
        budget = int(re.search(r"^check check 6\.1 (\d+)$", file.read(), re.M)[1])
    return [
        ("a test that hangs has failed", hung(120, None) == (1, 0)),
        ("and so has one that had more than half of its limit", hung(600, 1800) == (1, 0)),
        ("one that the end of the run stops before that is skipped", hung(600, 600) == (0, 1)),
        ("CI sees any test hang that begins in the first two minutes",
         hung(longest, budget - 120) == (1, 0)),
        ("one that passes when it is run again is flaky", again(folder, False) ==
         ([False], ["test"])),
        ("one that is stopped when it is run again has failed", again(folder, True) ==
         ([True], [])),
    ]


def sources():
    """Names and texts of the scripts"""
    top = os.path.normpath(os.path.join(HERE, "../.."))
    for pattern in ("scripts/*.sh", "selftests/*/*.sh"):
        for path in glob.glob(os.path.join(top, pattern)):
            with open(path, encoding="utf-8") as file:
                yield os.path.relpath(path, top), file.read()


def cache_kinds():
    """The directories of entries, as the scripts name them"""
    return sorted({kind for _, text in sources()
                   for kind in re.findall(r'\bcache_make "([a-z-]+)/', text)})


def cache_strangers():
    """Scripts that write to the cache themselves, where clean-cache.sh does not expect it"""
    known = ("scripts/cache.sh", "scripts/clean-cache.sh", "scripts/kernel.sh")
    return [name for name, text in sources()
            if name not in known and re.search(r"\bSDP_CACHE\b.*/", text)]


def clean_cache(folder):
    """Entries, remains of a killed build, and a file that is not the cache's"""
    cache = os.path.join(folder, "cache")
    script = f"""
        . {HERE}/../../scripts/cache.sh
        for kind in {" ".join(cache_kinds())}; do cache_make $kind/x-1 touch file; done
        mkdir -p $SDP_CACHE/apt/7 $SDP_CACHE/fuzz/fuzz_sdp $SDP_CACHE/kernel/y-2.tmp.123
        echo kernel/x-1 >$SDP_CACHE/kernel/6.1.v4
        {HERE}/../../scripts/clean-cache.sh"""
    env = {**os.environ, "SDP_CACHE": cache}
    subprocess.run(["bash", "-ec", script], env=env, capture_output=True, check=True)
    gone = not os.path.exists(cache)
    os.makedirs(os.path.join(cache, "kernel"))
    other = os.path.join(cache, "kernel", "mine")
    open(other, "w", encoding="utf-8").close()
    subprocess.run(["bash", "-c", script], env=env, capture_output=True, check=False)
    return gone, os.listdir(cache) == ["kernel"] and os.path.exists(other)


def two_make_one(folder):
    """The second comes while the first makes it, and takes what that made"""
    cache = os.path.join(folder, "twice")
    script = f"""
        . {HERE}/../../scripts/cache.sh
        slow() {{
            echo made >>$SDP_CACHE/count
            until [ -e $SDP_CACHE/second ]; do sleep 0.01; done
            sleep 0.3
            echo whole >file
        }}
        if [ $1 = second ]; then
            until [ -e $SDP_CACHE/count ]; do sleep 0.01; done
            touch $SDP_CACHE/second
        fi
        cache_make kernel/x-1 slow
        cat $CACHED/file"""
    env = {**os.environ, "SDP_CACHE": cache}
    os.makedirs(cache)
    both = [subprocess.Popen(["bash", "-ec", script, "x", which], env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for which in ("first", "second")]
    said = [maker.communicate()[0] for maker in both]
    with open(os.path.join(cache, "count"), encoding="ascii") as f:
        made = f.read()
    left = os.listdir(os.path.join(cache, "kernel"))
    return [("two who want one entry: both have it", said == ["whole\n"] * 2),
            ("it is made once", made == "made\n"),
            ("and nothing else is left", left == ["x-1"])]


RUNS = [{"what": "iperf3", "over": over, "rate": rate, "amount": 1000, "cpu_ns": 5000,
         "sdp_bytes": sent} for over, rate, sent in (("tcp", 80, 0), ("sdp", 60, 1000))]
PROFILES = [{"profile": name, "components": {"crc": crc}, "bytes": 1000, "cpu_ns": 5000,
             "crc_host": host, "crc_nic": 2000 - host}
            for name, crc, host in (("host", "host", 2000), ("hybrid", "nic", 0))]
COPIES = [{"direction": way, "bytes": 1000, "copies": 1.1} for way in ("tx", "rx")]


def demo(folder, status, *lines):
    """The end of make demo, if the guest says this; exit status, last lines, JSON"""
    top = os.path.join(folder, "top")
    shutil.copytree(os.path.join(HERE, "../demo"), os.path.join(top, "selftests/demo"))
    os.makedirs(os.path.join(top, "scripts"))
    shutil.copy(os.path.join(HERE, "../../scripts/help.sh"), os.path.join(top, "scripts"))
    os.makedirs(os.path.join(top, "selftests/vm"))
    runner = os.path.join(top, "selftests/vm/run.sh")
    with open(runner, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\ncat <<'END'\n" + "\n".join(lines) + f"\nEND\nexit {status}\n")
    os.chmod(runner, 0o755)
    env = {k: v for k, v in os.environ.items() if k not in ("BUILD", "KERNEL", "VM_ARGS")}
    res = subprocess.run([os.path.join(top, "selftests/demo/run.sh")], env=env, text=True,
                         stdout=subprocess.PIPE, check=False)
    with open(os.path.join(top, "build/demo.json"), encoding="ascii") as f:
        said = json.load(f)
    build = os.path.join(top, "build/6.1")
    shutil.rmtree(top)
    logs = f"demo: failed; logs: {build}/demo.log (programs), {build}/demo/console.log (kernel)"
    return res.returncode, res.stdout.splitlines(), said, logs


def lines_of(word, rows):
    return [f"DEMO-{word} {json.dumps(row)}" for row in rows]


def demos(folder):
    rows = ["DEMO-KERNEL 6.1.0", "DEMO-STEP iperf3", *lines_of("RUN", RUNS)]
    full = [*rows, *lines_of("COPIES", COPIES), *lines_of("PROFILE", PROFILES),
            "DEMO-STEP done"]
    rc, out, said, _ = demo(folder, 0, *full)
    checks = [("a demo that went well", rc == 0 and out[-1] == "demo: ok" and said["ok"]),
              ("the ratio to TCP", any(line.startswith("iperf3") and " 0.75 " in line
                                       for line in out)),
              ("the components", any(line.split() == ["crc", "host", "nic"] for line in out))]
    rc, out, said, logs = demo(folder, 1, *rows, "DEMO-STEP redis", "redis: oh no")
    checks += [
        ("a demo that fails says so", rc == 1 and not said["ok"]),
        ("in which step", "demo: failed in step: redis" in out and
         said["last_step"] == "redis"),
        ("what ran before", any(line.startswith("iperf3") for line in out) and
         said["runs"] == RUNS),
        ("what the program said", "redis: oh no" in out),
        ("and where the logs are", out[-1] == logs),
    ]
    rc, out, said, logs = demo(folder, 99)
    checks += [("a demo without a machine", rc == 1 and not said["ok"] and out[-1] == logs and
                "demo: failed in step: build and start of the virtual machine" in out)]
    rc, out, said, logs = demo(folder, 98, *full)
    checks += [("a demo that the kernel complains of",
                rc == 1 and not said["ok"] and out[-1] == logs and
                "demo: the programs ran, but the kernel complained" in out)]
    return checks


# Of the targets that CI makes; a test may give other lines for one
MAKES = {"deps": "", "lint": "echo 'lint: prose: ok'; echo 'lint: ok'",
         "check": "echo 5 0 0 >build/6.1/check.sum",
         "check-more": "echo 2 0 0 >build/6.1/check.sum"}


def ci_run(folder, end=5100, **makes):
    """CI, without all that it builds itself; exit status, what it says, its seconds"""
    top = os.path.join(folder, "ci")
    programs = {"bin/make": "".join(f"[ $1 != {goal} ] || {{ :; {lines}\n}}\n" for goal, lines in
                                    {**MAKES, **makes}.items()),
                "scripts/kernel.sh": "exit 1\n"}
    with open(os.path.join(HERE, "../../.ci/run"), encoding="utf-8") as file:
        programs[".ci/run"] = re.sub("^end=.*", f"end={end}", file.read(), flags=re.M)
    for name, text in programs.items():
        os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
        with open(os.path.join(top, name), "w", encoding="utf-8") as file:
            file.write(text if text.startswith("#!") else "#!/bin/bash\n" + text)
        os.chmod(os.path.join(top, name), 0o755)
    os.makedirs(os.path.join(top, "build/6.1"))
    env = {**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "CI_BUDGET": "800"}
    begin = time.monotonic()
    res = subprocess.run([os.path.join(top, ".ci/run")], env=env, text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shutil.rmtree(top)
    return res.returncode, res.stdout, time.monotonic() - begin


def ci_lint(folder):
    ok = "echo 'lint: checkpatch, kernel: ok'"
    rc, said, _ = ci_run(folder)
    checks = [("CI is content with targets that succeed", rc == 0 and "8 passed, 0 failed" in said)]
    for what, lines in (("fails after a check without findings", f"{ok}; exit 2"),
                        ("is killed", f"{ok}; kill -9 $$"), ("says nothing", ":"),
                        ("has findings", "echo 'lint: prose: 3 lines of findings'; exit 1")):
        rc, said, _ = ci_run(folder, lint=lines)
        checks.append((f"lint that {what} is a failure of CI", rc == 1 and ", 1 failed, " in said))
    return checks


def ci_more(folder):
    """The long tests, which may end without a sum"""
    checks = []
    for what, lines in (("does not begin", "echo 'make: *** [Makefile:1: deps] Error 1'; exit 2"),
                        ("fails in a script", "echo 'check.sh: line 3: no such command'; exit 1"),
                        ("is killed", "kill -9 $$")):
        rc, said, _ = ci_run(folder, **{"check-more": lines})
        checks.append((f"make check-more that {what} is a failure of CI",
                       rc == 1 and ", 1 failed, " in said))
    # in the background, as a virtual machine behind its runner
    hang = "sleep 60 & echo sleeps $!; wait"
    rc, said, seconds = ci_run(folder, 6, **{"check-more": hang})
    pid = re.search(r"^sleeps (\d+)$", said, re.M)
    rc2, said2, _ = ci_run(folder, 6, **{"check-more": "echo 'FAIL  host/demo'; " + hang})
    return checks + [
        ("make check-more that has no time to end is left out",
         rc == 0 and "left out: make check-more: not done" in said),
        ("and ends then, with all that it has started",
         seconds < 50 and pid and not os.path.exists(f"/proc/{pid[1]}")),
        ("but if a test has failed before, that is a failure",
         rc2 == 1 and ", 1 failed, " in said2 and "FAIL  host/demo" in said2),
    ]


def function_of(name, path):
    """The text of a function of a script"""
    with open(os.path.join(HERE, "../..", path), encoding="utf-8") as file:
        found = re.search(rf"^{name}\(\) {{$.*?^}}$", file.read(), re.M | re.S)
    return found[0] if found else ""


SOURCE = {"scripts/checkpatch.pl": 40, "scripts/kernel-doc": 9000, "scripts/spelling.txt": 10,
          "drivers/infiniband/sw/siw/siw.h": 10}


def unpacked(folder, before="", length=None, **sizes):
    """Does kernel.sh take a source with files of these sizes, cut to length bytes?"""
    work = os.path.join(folder, "source")
    os.makedirs(work)
    name = os.path.join(work, "linux.tar.xz")
    with tarfile.open(name, "w:xz") as tar:
        for path, size in {**SOURCE, **sizes}.items():
            info = tarfile.TarInfo(f"linux/{path}")
            info.size = size
            tar.addfile(info, io.BytesIO(os.urandom(size)))
    os.truncate(name, length or os.path.getsize(name))
    body = function_of("unpack_source", "scripts/kernel.sh")
    text = f"set -eo pipefail; {body}\n{before}\nunpack_source {name}"
    res = subprocess.run(["bash", "-c", text], cwd=work, capture_output=True, check=False)
    shutil.rmtree(work)
    return res.returncode == 0


def sources_of_kernels(folder):
    """Sources that may become an entry of the cache"""
    return [
        ("a source without files that other kernels have is taken", unpacked(folder)),
        ("one that does not fit on the disk is refused",
         not unpacked(folder, "trap '' XFSZ; ulimit -f 4")),
        ("so is one that is cut", not unpacked(folder, length=9000)),
        ("so is one whose checkpatch.pl is empty",
         not unpacked(folder, **{"scripts/checkpatch.pl": 0})),
        ("so is one whose kernel-doc is empty",
         not unpacked(folder, **{"scripts/kernel-doc": 0})),
    ]


def program(path, text):
    """A script for bash"""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/bash\n{text}\n")
    os.chmod(path, 0o755)


def entries_of(folder, name, number):
    """The entries that kernel.sh wants to make from a tarball, which is none"""
    cache = os.path.join(folder, f"entries-{name}-{number}")
    program(os.path.join(cache, "bin/dpkg-query"), "echo 6.1.0-1")
    tarball = os.path.join(cache, "tarball")
    with open(tarball, "w", encoding="ascii") as file:
        print(number, file=file)
    env = {**os.environ, "PATH": f"{cache}/bin:{os.environ['PATH']}", "SDP_CACHE": cache,
           "DEBUG_SOURCE": tarball, "UML_SOURCE": tarball}
    subprocess.run([os.path.join(HERE, "../../scripts/kernel.sh"), name], env=env,
                   capture_output=True, check=False)
    return set(os.listdir(os.path.join(cache, "log")))


def version_of(folder, tarball):
    """Words that stand for it in a key"""
    program(os.path.join(folder, "bin/dpkg-query"), "echo 6.1.0-1")
    text = f". {HERE}/../../scripts/cache.sh; source_version {tarball}"
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-ec", text], stdout=subprocess.PIPE, text=True, env=env,
                          check=False).stdout


def guest_of(folder, size):
    """The entry of the guest's programs, if busybox has this size"""
    busybox = os.path.join(folder, "bin/busybox")
    program(busybox, "#" * size)
    os.utime(busybox, (0, 0))
    text = f"""
        . {HERE}/../../scripts/cache.sh
        cache_make() {{ echo $1; CACHED=/nowhere; }}
        . {HERE}/../vm/image.sh
        userland"""
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-ec", text], stdout=subprocess.PIPE, text=True, env=env,
                          stderr=subprocess.DEVNULL, check=False).stdout


def keys(folder):
    """Entries of the cache are new if their inputs are"""
    checks = []
    for name in "debug", "uml":
        one, other = entries_of(folder, name, 1), entries_of(folder, name, 2)
        checks += [(f"a {name} kernel of another source is another entry",
                    len(one) == len(other) == 2 and not one & other)]
    return checks + [
        ("the package's source has its version",
         version_of(folder, "/usr/src/linux-source-6.1.tar.xz") == "6.1.0-1\n"),
        ("any other file has its hash", re.match("[0-9a-f]{64}  ", version_of(folder, __file__))),
        ("the guest of another busybox is another entry",
         len({guest_of(folder, size).splitlines()[-1] for size in (1, 1, 2)}) == 2),
    ]


def parted(part):
    """Number of the runner's own tests in a part, if no others were named"""
    try:
        return len(vm.share([{"name": "vm/smoke"}], part))
    except SystemExit as refused:
        return str(refused)


def two_runs(folder):
    """The second one finds that the first has its directory"""
    out = os.path.join(folder, "out")
    os.makedirs(out)
    with open(os.path.join(out, "console.log"), "w", encoding="ascii") as file:
        print("of the first", file=file)
    runner = [os.path.join(HERE, "../vm/run.sh"), "-k", "no-such-kernel", "-n", "-c", "true"]
    with open(f"{out}.lock", "w", encoding="ascii") as lock:
        print("4711", file=lock, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        second, other = (subprocess.run(runner + ["-o", where], text=True, capture_output=True,
                                        check=False) for where in (out, f"{out}-2"))
    third = subprocess.run(runner + ["-o", out], text=True, capture_output=True, check=False)
    return [
        ("a run into the directory of another is refused, with its process and a way out",
         second.returncode == 2 and "process 4711 " in second.stderr and "-o DIR" in second.stderr),
        ("the other keeps its logs", os.listdir(out) == ["console.log"]),
        ("a run into another directory is not refused", "no kernel" in other.stderr),
        ("nor is one after the other's end", "no kernel" in third.stderr),
    ]


def two_apts(folder):
    """Entries of two kinds are made at once, with packages of the same suites"""
    program(os.path.join(folder, "bin/apt-get"), "echo begin; sleep 0.3; echo end")
    os.makedirs(os.path.join(folder, "lock"))
    log = os.path.join(folder, "apt.log")
    text = f"debian_uri() {{ echo x; }}\n{function_of('apt_suites', 'scripts/kernel.sh')}\n" + \
        f"apt_suites 7 a b >>{log}; apt-get download >>{log}"
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "SDP_CACHE": folder}
    both = [subprocess.Popen(["bash", "-ec", text], env=env) for _ in range(2)]
    failed = [maker.wait() for maker in both]
    with open(log, encoding="ascii") as file:
        return [("one takes packages after the other",
                 failed == [0, 0] and file.read() == "begin\nend\n" * 4)]


def lint_says(command, function):
    """Output of a function of lint for a command"""
    body = function_of(function, "scripts/lint.sh")
    text = f"{body}\nprintf '%s\\n' a b | {function} {command}"
    return subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False).stdout


def lint():
    checks = []
    for function in "on_all", "findings":
        checks += [
            (f"{function} of lint: a program without findings", not lint_says("true", function)),
            (f"{function} of lint: one with findings",
             lint_says("sh -c 'echo a:1: bad; exit 1'", function) == "a:1: bad\n"),
            (f"{function} of lint: one that is killed is a finding",
             "exit status 137" in lint_says("sh -c 'kill -9 $$'", function)),
            (f"{function} of lint: so is one that is not there",
             bool(lint_says("no-such-program", function))),
        ]
    return checks


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = [(f"a report: {line}", len(blocks(folder, line)) == 1) for line in REPORTS]
        checks += [(f"no report: {line}", not blocks(folder, line)) for line in FINE]
        checks += [(f"breakpoint that is not there, {stale}: {' / '.join(lines)}",
                    [vm.stale_breakpoint(b) for b in blocks(folder, *lines)] == [stale])
                   for lines, stale in STALE]
        warn = REPORTS[8]
        checks += [
            ("a report with what follows",
             blocks(folder, warn, "Call Trace:", " sdp_poll") ==
             [[f"[    1.5] {x}" for x in (warn, "Call Trace:", " sdp_poll")]]),
            ("a report that the test announced",
             not blocks(folder, "sdp-test: begin x", "sdp-test: allow WARNING:.*stream", warn)),
            ("the announcement ends with its test",
             len(blocks(folder, "sdp-test: allow WARNING:.*stream", "sdp-test: begin y",
                        warn)) == 1),
        ]
        checks += [(f"{lines}, exit status {status}", tap(lines, status) == want)
                   for lines, status, want in TAPS]
        many = ["not ok 1 - a", "# why", *(f"ok {n} - b" for n in range(2, 50))]
        checks += [
            ("a failure is shown alone", excerpt(many, 1) == many[:2]),
            ("and also if the test was stopped later",
             excerpt(many, "timeout") == many[:2] + many[-30:]),
            ("an end without a verdict is shown", excerpt(many[2:], 1) == many[-30:]),
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            checks += hangs(folder)
        empty, kept = clean_cache(folder)
        checks += [("clean-cache removes all kinds of entries", empty),
                   ("the entries of make mutate are one kind", "mutate" in cache_kinds()),
                   ("no other script writes to the cache itself", not cache_strangers()),
                   ("clean-cache leaves what is not its own", kept)]
        checks += two_make_one(folder) + demos(folder) + ci_lint(folder) + lint()
        checks += ci_more(folder) + sources_of_kernels(folder) + keys(folder)
        checks += [("the runner's own tests can be run alone", parted("1/1") == 1),
                   ("but not in parts", "fewer tests than parts" in str(parted("1/2")))]
        checks += two_runs(folder) + two_apts(folder)
    print(f"TAP version 13\n1..{len(checks)}")
    for number, (what, good) in enumerate(checks, 1):
        what = what.replace("#", "")  # not to be taken for a directive itself
        print(f"{'ok' if good else 'not ok'} {number} - runner: {what}")
    return any(not good for _, good in checks)


if __name__ == "__main__":
    sys.exit(main())
