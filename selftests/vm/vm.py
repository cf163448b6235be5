#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot virtual machines, run selftests in them, sum up.

Called by run.sh, which builds what goes into the guest; see there for usage.
The guest's side, and the protocol, is in init.
"""
import argparse
import json
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

# Messages of the kernel when something is wrong.  Anything of this in the
# console log fails the test during which it appeared.
TROUBLE = re.compile(
    r"BUG[:\s]|WARNING:|\bOops\b|Kernel panic|general protection fault|"
    r"\bKASAN\b|UBSAN:|KCSAN:|INFO: task .* blocked|rcu.*(detected|self-detected).* stall|"
    r"possible (circular|recursive) locking|inconsistent lock state|"
    r"suspicious RCU usage|bad unlock balance|held lock freed|still held|"
    r"invalid wait context|DEBUG_LOCKS_WARN|lock-order|deadlock|"
    r"unreferenced object|soft lockup|hard LOCKUP|workqueue lockup|"
    r"refcount_t:|ODEBUG:|sleeping function called|scheduling while atomic|"
    r"unregister_netdevice: waiting|leaked reference|list_(add|del) corruption|"
    r"Bad page|Objects remaining|page allocation failure|nobody cared|"
    r"Unable to handle|unable to handle|stack segment|double fault|"
    # die() of kernels before 6.9: the fault, its error code, a running number
    r": [0-9a-f]{4} \[#\d+\]|"
    r"Unknown symbol|Attempted to kill init")
# Messages at boot, or of a program that crashed, which its test handles;
# or of a race whose title names no module of ours. Functions that our modules call,
# such as memcpy(), are named instead of them: such reports are in the console log only.
# Or of rxe, which takes a packet for a queue pair that is being destroyed (rxe_sched_task)
HARMLESS = re.compile(
    r"traps: .* ip:|WARNING: .* at drivers/infiniband/sw/rxe/rxe_task\.c:\d+ rxe_sched_task\+|"
    r"KCSAN: (?!.*\[(sdp|sdp_diag|rdma_stack|libiwarp|iwarp_hybrid|hnic)\])|"
    r"lock dependency validator|kasan: KernelAddressSanitizer")
# QEMU's multi-threaded emulation can execute a breakpoint that the kernel has
# already removed again while patching its code; not the kernel's fault. Either this
# is an error, or the processor executes it for ever: the watchdog finds it at a jump or
# nop, which is what the kernel patches
EMULATOR = re.compile(r"Oops: int3|int3: 0000")
STUCK = re.compile(r"BUG: soft lockup")
PATCHED = re.compile(r"Code: .*<(eb|e9|66> 90|0f> 1f 44 00 00)")
OUR_CODE = re.compile(r"RIP: .* \[(sdp|sdp_diag|rdma_stack|libiwarp|iwarp_hybrid|hnic)\]")
TAP = re.compile(r"^(ok|not ok)\b(.*)$")


def stale_breakpoint(block):
    """Does this report of the kernel come from a breakpoint that has been removed?"""
    if any(EMULATOR.search(line) for line in block):
        return True
    if not any(STUCK.search(line) for line in block):
        return False
    # of the processor that is stuck; those of others follow
    code = next((line for line in block if "Code: " in line), "")
    return bool(PATCHED.search(code)) and \
        not any(OUR_CODE.search(line) for line in block)


def megabytes(size):
    """A size of memory as QEMU expects it."""
    number, unit = re.fullmatch(r"(\d+)([MG]?)", size).groups()
    return int(number) * (1024 if unit == "G" else 1)


class Result:
    """Outcome of one test: its TAP, its exit status, the kernel's log."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.status = None
        self.seconds = 0.0
        self.processor = 0.0
        self.cut = False
        self.trouble = []
        self.notes = []
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.skips = []

    def count(self):
        """Sum up the TAP lines; a test without any counts as one."""
        plan = None
        seen = 0
        for line in self.lines:
            match = TAP.match(line)
            if match:
                seen += 1
                if match[1] == "not ok":
                    self.failed += 1
                    self.failures.append(line)
                elif re.search(r"#\s*SKIP", line, re.I):
                    self.skipped += 1
                    self.skips.append(line)
                else:
                    self.passed += 1
            elif re.match(r"1\.\.\d+", line):
                plan = line
        if plan and plan.startswith("1..0"):
            self.skipped += 1
            self.skips.append(plan)
        elif self.cut and self.status == "timeout":
            self.skipped += 1
            self.skips.append("stopped: no time left in this run")
        elif not seen and self.status == 0:
            self.passed += 1
        elif not seen and self.status == 4:
            self.skipped += 1
            self.skips.append("exit status 4")
        elif not seen:
            self.fail(f"exit status {self.status}")
        elif plan and int(re.match(r"1\.\.(\d+)", plan)[1]) != seen:
            self.fail(f"{seen} results, planned {plan}")
        elif self.status not in (0, 4) and not self.failed:
            self.fail(f"exit status {self.status}")
        if self.trouble:
            self.fail("kernel log")

    def excerpt(self):
        """The part of a failed test to show: failures with their diagnostics, and its
        last lines if it did not come to its end."""
        last = [] if isinstance(self.status, int) else self.lines[-30:]
        picked = []
        wanted = 0
        for line in self.lines[:len(self.lines) - len(last)]:
            if line.startswith("not ok"):
                wanted = 20
            elif not line.startswith("#"):
                wanted = 0
            if wanted:
                wanted -= 1
                picked.append(line)
        return picked[:200] + (last or ([] if picked else self.lines[-30:]))

    def fail(self, why):
        """One more failure, that the test itself did not report."""
        self.failed += 1
        self.failures.append(f"not ok - {self.name}: {why}")


class Console:
    """The serial console: kept in a file, searched for kernel complaints."""

    def __init__(self, path):
        self.file = open(path, "wb", buffering=0)
        self.partial = b""
        self.found = []
        self.allow = []
        self.lines = 0
        self.sink = None

    def feed(self, data):
        """Take data from the guest."""
        self.file.write(data)
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            self.line(line.decode(errors="replace").rstrip())

    def line(self, text):
        """Look at one line."""
        self.lines += 1
        if "sdp-test: " in text:
            word, _, rest = text.split("sdp-test: ", 1)[1].partition(" ")
            if word == "allow":
                self.allow.append(re.compile(rest))
            elif word == "begin":
                self.allow = []
            return
        if self.found and self.lines - self.found[-1][0] < 25:
            # Lines after a complaint belong to it
            self.found[-1][1].append(text)
        elif TROUBLE.search(text) and not HARMLESS.search(text) and \
                not any(a.search(text) for a in self.allow):
            self.found.append((self.lines, [text]))

    def take(self):
        """Complaints since the last call, as lists of lines."""
        found, self.found = self.found, []
        return [block for _, block in found]


class GuestDied(Exception):
    """The virtual machine ended, or stopped answering."""


class Guest:
    """One virtual machine."""

    def __init__(self, args, tag):
        self.args = args
        self.tag = tag
        self.dir = tempfile.mkdtemp(prefix="vm.")
        self.console_path = os.path.join(args.out, f"console{tag}.log")
        self.console = Console(self.console_path)
        self.selector = selectors.DefaultSelector()
        self.socks = {}
        self.buffer = b""
        self.lines = []
        self.tar = open(os.path.join(self.dir, "files.tar"), "wb")
        self.start()

    def start(self):
        """Start QEMU; it connects to our sockets."""
        listeners = {}
        for name in ("console", "control", "files", "qmp"):
            sock = socket.socket(socket.AF_UNIX)
            sock.bind(os.path.join(self.dir, name))
            sock.listen(1)
            sock.settimeout(120)
            listeners[name] = sock
        with open(os.path.join(self.dir, "qemu.err"), "wb") as err:
            # the end of this program ends its guests
            self.proc = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *qemu_command(self.args, self.dir)],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        for name, sock in listeners.items():
            try:
                self.socks[name] = sock.accept()[0]
            except socket.timeout:
                self.proc.kill()
                raise GuestDied(self.qemu_error())
            sock.close()
        for name in ("console", "control", "files"):
            self.socks[name].setblocking(False)
            self.selector.register(self.socks[name], selectors.EVENT_READ, name)
        self.qmp({"execute": "qmp_capabilities"})

    def qemu_error(self):
        with open(os.path.join(self.dir, "qemu.err"), errors="replace") as err:
            return "qemu: " + err.read().strip()

    def qmp(self, command):
        self.socks["qmp"].sendall(json.dumps(command).encode() + b"\n")

    def poll(self, timeout):
        """Move data for at most timeout seconds; False at the guest's end."""
        for key, _ in self.selector.select(timeout):
            try:
                data = key.fileobj.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                self.selector.unregister(key.fileobj)
                if key.data == "control":
                    self.drain()
                    return False
            elif key.data == "console":
                self.console.feed(data)
            elif key.data == "files":
                self.tar.write(data)
            else:
                *lines, self.buffer = (self.buffer + data).split(b"\n")
                self.lines += [x.decode(errors="replace") for x in lines]
        return True

    def drain(self):
        """Read what is left in the other channels after the guest's end."""
        end = time.monotonic() + 2
        while self.selector.get_map() and time.monotonic() < end:
            for key, _ in self.selector.select(0.5):
                data = b""
                try:
                    data = key.fileobj.recv(65536)
                except ConnectionError:
                    pass
                if not data:
                    self.selector.unregister(key.fileobj)
                elif key.data == "console":
                    self.console.feed(data)
                elif key.data == "files":
                    self.tar.write(data)

    def answer(self, deadline):
        """Next line from the guest."""
        while not self.lines:
            left = deadline - time.monotonic()
            if left <= 0:
                self.dump()
                raise GuestDied("no answer in time; tasks are in the console log")
            if not self.poll(min(left, 5)) and not self.lines:
                raise GuestDied("the guest ended")
        return self.lines.pop(0)

    def dump(self):
        """Ask the kernel for its tasks, CPUs and locks by serial break."""
        for key in b"lwdt":
            self.qmp({"execute": "human-monitor-command", "arguments": {
                "command-line": "chardev-send-break console"}})
            self.spin(0.5)
            try:
                self.socks["console"].send(bytes([key]))
            except OSError:
                return
            self.spin(6 if key == ord("t") else 2)

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.selector.get_map():
            if not self.poll(max(0.01, end - time.monotonic())):
                return

    def ready(self):
        """Wait for the end of the boot."""
        line = self.answer(time.monotonic() + self.args.boot_timeout)
        while not line.startswith("@@ready"):
            line = self.answer(time.monotonic() + self.args.boot_timeout)
        return line.split()[1:]

    def run(self, test, live):
        """Run one test; its lines go to live() as they come."""
        result = Result(test["name"])
        begin = time.monotonic()
        processor = self.processor()
        limit = test["timeout"] * self.args.factor
        # Near the end of the run's time, a test gets what is left and a little
        left = self.args.end - begin + 240 if self.args.end else limit
        # No test needs half of its limit, so one that had that much hangs, and has failed
        result.cut = left < limit / 2
        limit = max(30, min(limit, left))
        deadline = begin + limit + 90 * self.args.factor
        self.socks["control"].sendall(
            f"run {test['name']} {int(limit)} {test['path']}\n".encode())
        blank = False
        try:
            while True:
                line = self.answer(deadline)
                if line.startswith(f"@@end {test['name']} "):
                    break
                if blank:
                    result.lines.append("")
                    live("")
                blank = line == ""
                if line.startswith("@@begin") or blank:
                    continue
                result.lines.append(line)
                live(line)
            status = line.split()[-1]
            result.status = status if status == "timeout" else int(status)
        except GuestDied as died:
            result.status = "died"
            result.notes.append(str(died))
            self.spin(1)
        result.seconds = time.monotonic() - begin
        result.processor = self.processor() - processor
        self.spin(0.05)
        result.trouble = self.console.take()
        if result.status == "timeout":
            result.notes.append(f"longer than {int(limit)} s; tasks are in the console log")
        return result

    def processor(self):
        """Seconds of the host's processors that the guest has used."""
        try:
            with open(f"/proc/{self.proc.pid}/stat") as stat:
                ticks = stat.read().rpartition(")")[2].split()[11:13]
        except OSError:
            return 0.0
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def finish(self):
        """Checks at the end of a run."""
        result = Result(f"end of run {self.tag}".strip())
        try:
            self.socks["control"].sendall(b"finish\n")
            while self.answer(time.monotonic() + 300 * self.args.factor) != "@@finished":
                pass
            self.spin(0.3)
            result.status = 0
        except (GuestDied, OSError) as died:
            result.status = "died"
            result.notes.append(str(died))
        result.trouble = self.console.take()
        return result

    def close(self):
        """End QEMU, unpack the files that tests left."""
        for sock in self.socks.values():
            sock.close()
        try:
            self.proc.wait(2)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.tar.close()
        if os.path.getsize(self.tar.name):
            try:
                with tarfile.open(self.tar.name, ignore_zeros=True) as tar:
                    tar.extractall(os.path.join(self.args.out, "files"))
            except tarfile.TarError as err:
                print(f"files of the guest: {err}", file=sys.stderr)
        shutil.rmtree(self.dir, ignore_errors=True)


def qemu_command(args, sockdir=None):
    """The command line of QEMU; without sockdir for an interactive shell."""
    append = ["console=ttyS0", "panic=-1", "oops=panic", "sysrq_always_enabled=1",
              "rcupdate.rcu_cpu_stall_timeout=300", "watchdog_thresh=60",
              # do not wait for a processor that hangs in the kernel
              "softlockup_panic=1", "softlockup_all_cpu_backtrace=1",
              # On a busy host the check that timers tick can fail
              "no_timer_check"]
    # Copies by "rep movsb" are emulated byte by byte
    cpu = "max,-erms,-fsrm"
    accel = args.accel
    smp = args.smp
    cmd = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot",
           "-display", "none"]
    if args.count:
        smp, accel = 1, "tcg"
        append.append("nokaslr")
        cmd += ["-icount", "shift=0,sleep=off", "-seed", "1",
                "-rtc", "clock=vm,base=2026-01-01T00:00:00"]
    else:
        append.append("mitigations=off")
    if accel == "tcg":
        # The emulator knows code it has translated by its virtual address, too:
        # a program that begins elsewhere each time is translated each time,
        # which is more than half of what a test takes
        append.append("norandmaps")
        # The emulator has one time-stamp counter for all processors, under a lock. The
        # kernel's check of it fails, but any other clock costs an exit of the emulator
        if not args.count:
            append.append("tsc=reliable")
    if args.debug:
        append += ["kmemleak=on", "nokaslr"]
    if not sockdir:
        append.append("vm.shell")
        append.append("TERM=" + os.environ.get("TERM", "dumb"))
    append += ["quiet", args.append]
    cmd += ["-machine", "q35", "-accel",
            "tcg,thread=multi" if accel == "tcg" and not args.count else accel,
            "-cpu", "host" if accel == "kvm" else cpu, "-smp", str(smp),
            "-m", args.mem, "-kernel", args.kernel, "-initrd", args.initrd,
            "-append", " ".join(append).strip(),
            "-device", "isa-debug-exit,iobase=0x501,iosize=2",
            "-device", "virtio-serial-pci"]
    if not sockdir:
        return cmd + ["-chardev", "stdio,id=console,mux=on,signal=off",
                      "-serial", "chardev:console", "-mon", "console"] + args.qemu
    for name in ("console", "control", "files", "qmp"):
        cmd += ["-chardev", f"socket,id={name},path={sockdir}/{name}"]
    return cmd + ["-serial", "chardev:console", "-mon", "qmp,mode=control",
                  "-device", "virtserialport,chardev=control,name=control",
                  "-device", "virtserialport,chardev=files,name=files"] + args.qemu


class Runner:
    """All tests of a run, spread over one or more lanes of virtual machines."""

    def __init__(self, args):
        self.args = args
        self.lock = threading.Lock()
        self.queue = list(args.tests)
        self.results = []
        self.error = None
        self.boots = 0
        self.retries = 0
        self.flaky = []
        args.end = time.monotonic() + args.budget if args.budget else 0

    def next(self, fresh_guest):
        """Next test; one that wants a guest of its own only for a fresh one."""
        with self.lock:
            self.out_of_time()
            for test in self.queue:
                if fresh_guest or not test["fresh"]:
                    self.queue.remove(test)
                    return test
        return None

    def put_back(self, test):
        with self.lock:
            self.queue.insert(0, test)

    def out_of_time(self):
        """Past the time limit of the run, what has not begun is skipped."""
        if not self.args.end or time.monotonic() < self.args.end:
            return
        for test in self.queue:
            result = Result(test["name"])
            result.skipped = 1
            result.skips.append("no time left in this run")
            self.results.append(result)
            self.show(result)
        self.queue.clear()

    def waiting(self):
        with self.lock:
            self.out_of_time()
            return bool(self.queue)

    def live(self, line):
        if self.args.verbose:
            print(line, flush=True)

    def done(self, result):
        """Keep and show a result."""
        if not self.args.command:
            result.count()
        with self.lock:
            self.results.append(result)
            if result.name.startswith("end of run") and not result.failed:
                result.passed = 0
                return
            with open(self.log_path(result), "w") as log:
                log.write("\n".join(result.lines) + "\n")
            if not self.args.command:
                self.show(result)

    def log_path(self, result):
        name = result.name.replace("/", "-").replace(" ", "-")
        return os.path.join(self.args.out, f"{name}.tap")

    def show(self, res):
        """Summary of a test; with its output and kernel log if it failed."""
        word = "FAIL" if res.failed else "skip" if not res.passed else "ok"
        print(f"{word:5} {res.name:36} {res.passed:4} passed {res.failed:3} failed "
              f"{res.skipped:3} skipped {res.seconds:6.1f} s {res.processor:6.1f} cpu",
              flush=True)
        for line in res.skips:
            print(f"      {line}")
        if res.failed:
            if not self.args.verbose:
                for line in res.excerpt():
                    print(f"    | {line}")
            for line in res.failures + res.notes:
                if line not in res.lines:
                    print(f"      {line}")
            print(f"      output: {self.log_path(res)}")
        self.show_trouble(res)
        sys.stdout.flush()

    @staticmethod
    def show_trouble(res):
        for block in res.trouble:
            print(f"    kernel log during {res.name}:")
            for line in block:
                print(f"    > {line}")

    def retry(self, why):
        """May a boot or a test be tried again, which failed by the emulator? Four times a run"""
        self.retries += 1
        if self.retries > 4:
            return False
        print(f"# {why}: trying again", flush=True)
        return True

    def emulator_fault(self, trouble):
        """Did QEMU, not the kernel, fail?"""
        return self.args.accel == "tcg" and \
            any(stale_breakpoint(block) for block in trouble) and \
            self.retry("fault of the emulator (stale breakpoint)")

    def lane(self, number):
        """Boot guests and feed them tests until none is left."""
        try:
            while self.waiting():
                with self.lock:
                    self.boots += 1
                    tag = "" if self.boots == 1 else f".{self.boots}"
                self.one_guest(tag)
        except Exception as err:  # pylint: disable=broad-except
            with self.lock:
                self.error = f"lane {number}: {err!r}"
                self.queue.clear()

    def one_guest(self, tag):
        """One boot: as many tests as it survives."""
        begin = time.monotonic()
        test = self.next(True)
        if not test:
            return
        args = argparse.Namespace(**vars(self.args))
        args.count |= test["count"]
        args.mem = max(args.mem, test["mem"], key=megabytes)
        args.append = " ".join([args.append, *test["boot"]])
        guest = Guest(args, tag)
        try:
            try:
                release, uptime = guest.ready()
            except GuestDied as died:
                guest.drain()
                if self.retry(f"no boot: {died}; see {guest.console_path}"):
                    self.put_back(test)
                    return
                sys.stderr.write("".join(open(guest.console_path, errors="replace")
                                         .readlines()[-30:]))
                raise RuntimeError(f"no boot: {died}; see {guest.console_path}") from died
            early = guest.console.take()
            if early and self.early_fault(early):
                self.put_back(test)
                return
            self.boot_message(release, uptime, time.monotonic() - begin, guest, early)
            while test:
                result = guest.run(test, self.live)
                if result.status == "died" and self.emulator_fault(result.trouble):
                    self.put_back(test)
                    return
                self.done(result)
                if result.status in ("died", "timeout"):
                    return
                if test["fresh"]:
                    break
                test = self.next(False)
            self.done(guest.finish())
        finally:
            guest.close()

    def early_fault(self, early):
        """Boot again after a report that no module under test can have caused?

        KASAN sometimes calls the lock of an interrupt a wild access when the
        kernel is seconds old and patches itself, under emulation only.
        """
        if self.args.accel != "tcg":
            return False
        return self.retry("report of the booting kernel: " + early[0][0].strip())

    def boot_message(self, release, uptime, seconds, guest, early):
        if early:
            boot = Result("boot")
            boot.status, boot.trouble = 0, early
            self.done(boot)
        if not self.args.command or self.args.verbose > 1:
            print(f"# Linux {release} up after {seconds:.1f} s (guest: {uptime} s), "
                  f"console log {guest.console_path}", flush=True)

    def run(self):
        """Run everything, return the exit status."""
        lanes = [threading.Thread(target=self.lane, args=(i,), daemon=True)
                 for i in range(max(1, min(self.args.lanes, len(self.queue))))]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            while lane.is_alive():
                lane.join(0.5)
        if self.args.again and not self.error:
            self.again()
        if self.error:
            print(f"error: {self.error}", file=sys.stderr)
        if self.args.command:
            return self.command_status()
        self.on_host()
        total = [sum(getattr(r, f) for r in self.results)
                 for f in ("passed", "failed", "skipped")]
        total[1] += bool(self.error)
        for name in self.flaky:
            print(f"flaky: {name} failed, and passed when it was run again by itself")
        for result in self.results:
            if result.failed:
                print(f"failed: {result.name}, see {self.log_path(result)}")
        with open(os.path.join(self.args.out, "summary"), "w") as out:
            print(*total, file=out)
        print("{} passed, {} failed, {} skipped".format(*total), flush=True)
        return 1 if total[1] else 0

    def again(self):
        """Repeat tests that failed by their own verdict, alone, if they are few.

        A test may fail because the host's processors were away for seconds.  A
        failure with a complaint or a crash of the kernel is never repeated.  The
        first failure stays in the output, and is named at the end.
        """
        first = {r.name: r for r in self.results if r.failed}
        tests = [t for t in self.args.tests if t["name"] in first]
        if len(tests) < len(first) or len(tests) > 3 or \
                any(r.trouble or r.status == "died" for r in first.values()):
            return
        if self.args.end:
            self.args.end = max(self.args.end, time.monotonic() + 240)
        for test in tests:
            log = self.log_path(first[test["name"]])
            os.rename(log, log.replace(".tap", ".first.tap"))
            print(f"# {test['name']}: again, by itself", flush=True)
            self.queue = [test]
            self.lane(0)
            ends = [r for r in self.results if r not in first.values()]
            second = next((r for r in ends if r.name == test["name"]), None)
            if second and second.passed and second.status != "timeout" and \
                    not any(r.failed for r in ends):
                self.results.remove(first[test["name"]])
                self.flaky.append(test["name"])
            elif second:
                self.results.remove(second)

    def on_host(self):
        """NAME.host beside a test looks here at the files it left in the guest."""
        for result in list(self.results):
            if not result.passed and not result.failed:
                continue  # it was skipped, and left none
            program = os.path.join(self.args.tree, result.name + ".host")
            if os.access(program, os.X_OK):
                host = Result(result.name + " on the host")
                files = os.path.join(self.args.out, "files", result.name.replace("/", "-"))
                proc = subprocess.run([program, files], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, check=False)
                host.lines, host.status = proc.stdout.splitlines(), proc.returncode
                self.done(host)

    def command_status(self):
        if self.error or not self.results:
            return 99
        bad = any(r.trouble for r in self.results)
        first = self.results[0]
        for result in self.results:
            for note in result.notes:
                print(note, file=sys.stderr)
            for block in result.trouble:
                print("kernel log:", *block, sep="\n> ", file=sys.stderr)
        if first.status == "timeout":
            return 124
        if first.status == "died":
            return 99
        return first.status or (98 if bad else 0)


def find_tests(tree, wanted, long, debug, lanes):
    """Tests in the staged tree: those asked for, in that order, or all.

    A test is an executable NAME.sh, or a program named in a tests.list.  Its
    comment "# vm: WORD..." may say timeout=SECONDS, fresh (a guest of its own),
    mem=SIZE (the same, with so much memory at least), boot=ARGUMENT (the same, with
    this argument of the kernel), long (only when asked for),
    nodebug or debug (not under, only under the debug kernel, unless named), count
    (with --count, where no others are run).
    """
    names = {}
    for folder in sorted(os.listdir(tree)):
        path = os.path.join(tree, folder)
        if not os.path.isdir(path) or folder in ("lib", "bench", "demo", "host", "unit",
                                                 "native", "report"):
            continue
        files = [f for f in sorted(os.listdir(path)) if f.endswith(".sh")
                 and os.access(os.path.join(path, f), os.X_OK)
                 and (folder != "vm" or f in ("smoke.sh", "leak.sh"))]
        if os.path.exists(os.path.join(path, "tests.list")):
            with open(os.path.join(path, "tests.list")) as lst:
                files += [x for x in lst.read().split("\n")
                          if x and not x.startswith("#")]
        for entry in files:
            file, _, words = entry.partition(" ")
            names[f"{folder}/{file.removesuffix('.sh')}"] = (f"{folder}/{file}", words)
    picked = []
    for name in wanted or names:
        name = name.removeprefix("./").removeprefix("selftests/").removesuffix(".sh")
        group = [n for n in names if n == name or n.startswith(name + "/")]
        if not group:
            folders = sorted({n.split("/")[0] for n in names})
            near = [n for n in names if n.endswith("/" + name.split("/")[-1])]
            near = near or [n for n in names if n.startswith(name.split("/")[0] + "/")]
            sys.exit(f"no test {name}: there are {' '.join(near or folders)}")
        picked += [(n, bool(wanted) and n == name, *names[n]) for n in group]
    tests = []
    other = []
    for name, named, path, words in picked:
        with open(os.path.join(tree, path), "rb") as file:
            head = file.read(2000).decode(errors="replace")
        match = re.search(r"^# vm:(.*)$", head, re.M)
        words = (words + (match[1] if match else "")).split()
        counts = "count" in words
        if not wanted and ("long" in words) not in long:
            continue
        if not named and counts and debug:
            continue
        if not named and ("nodebug" if debug else "debug") in words:
            other.append(name)
            continue
        timeout = [int(w[8:]) for w in words if w.startswith("timeout=")] or [120]
        mem = [w[4:] for w in words if w.startswith("mem=")] or ["0"]
        boot = [w[5:] for w in words if w.startswith("boot=")]
        tests.append({"name": name, "path": f"/selftests/{path}",
                      "timeout": timeout[0], "count": counts, "mem": mem[0], "boot": boot,
                      "fresh": counts or mem[0] != "0" or bool(boot) or "fresh" in words})
    if other:
        print(f"# only {'without' if debug else 'with'} the debug kernel:", *other, flush=True)
    if False not in long:
        # Short ones first, so that as many as possible fit into the budget
        tests.sort(key=lambda test: test["timeout"])
    elif lanes > 1 and not wanted:
        # Those that want a guest of their own first, then the long ones, so that all
        # lanes end at about the same time
        tests.sort(key=lambda test: (not test["fresh"], -test["timeout"]))
    return tests


def share(tests, part):
    """Of these tests the part: "1/3" is every third one, from the first on, and those of
    the runner itself, which each part has
    """
    match = re.fullmatch(r"([1-9]\d?)/([1-9]\d?)", part)
    if not match or int(match[1]) > int(match[2]):
        sys.exit(f"PART={part}: a part of the tests is, for example, 1/2 or 2/2")
    first, parts = int(match[1]), int(match[2])
    own = [t for t in tests if t["name"].startswith("vm/")]
    picked = [t for t in tests if t not in own][first - 1::parts]
    if not picked and parts > 1:
        sys.exit(f"PART={part}: there are fewer tests than parts, set TESTS to more of them")
    if parts > 1:
        print(f"# part {first} of {parts}", flush=True)
    return own + picked


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--initrd", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tree", help="staged selftests")
    parser.add_argument("--test", action="append", default=[])
    parser.add_argument("--long", action="store_const", const=(False, True), default=(False,))
    parser.add_argument("--only-long", dest="long", action="store_const", const=(True,))
    parser.add_argument("--command", help="path in the guest")
    parser.add_argument("--timeout", type=int, default=600, help="of the command")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("--accel", default="tcg")
    parser.add_argument("--smp", type=int, default=2)
    parser.add_argument("--mem", default="2G")
    parser.add_argument("--append", default="")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--factor", type=float, default=1)
    parser.add_argument("--budget", type=int, default=0)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--verbose", "-v", action="count", default=0)
    parser.add_argument("--boot-timeout", type=int, default=480)
    parser.add_argument("qemu", nargs="*")
    args = parser.parse_args()
    if args.shell:
        cmd = qemu_command(args)
        os.execvp(cmd[0], cmd)
    os.makedirs(args.out, exist_ok=True)
    if args.command:
        args.tests = [{"name": "command", "path": args.command,
                       "timeout": args.timeout, "count": False, "mem": "0", "boot": [],
                       "fresh": False}]
    else:
        args.tests = share(find_tests(args.tree, args.test, args.long, args.debug,
                                      args.lanes), args.part)
    sys.exit(Runner(args).run())


if __name__ == "__main__":
    main()
