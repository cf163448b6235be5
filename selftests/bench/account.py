#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""account.py WHAT COUNTERS: is the time of hosts and NIC the time that passed?

In the guest with one processor, namespaces a and b, and the simulated NIC
between va and vb: runs sdpbench and compares three independent accounts: the
clock, the scheduler's run time of every task, and the NIC's own counters
(those of ethtool -S whose names match COUNTERS). Prints one line BENCH.
"""
import fnmatch
import glob
import json
import os
import subprocess
import sys
import time

SDPBENCH = ["sdpbench", "-t", "tcp" if sys.argv[1] == "tcp" else "sdp"]


def nic_ns(pattern):
    """The NICs' counters, both ends"""
    total = 0
    for ns, dev in (("a", "va"), ("b", "vb")):
        out = subprocess.run(["ip", "netns", "exec", ns, "ethtool", "-S", dev],
                             check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            name, _, value = line.strip().partition(": ")
            if fnmatch.fnmatchcase(name, pattern):
                total += int(value)
    return total


def task_ns():
    """Run time of every task that there is: {tid: (name, ns)}"""
    tasks = {}
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*/schedstat"):
        try:
            with open(path) as f:
                ns = int(f.read().split()[0])
            with open(path.replace("schedstat", "comm")) as f:
                name = f.read().strip()
        except OSError:
            continue
        tasks[path.split("/")[4]] = (name, ns)
    return tasks


def idle_ns():
    """Idle time of the processor, in units of 10 ms"""
    with open("/proc/uptime") as f:
        return int(float(f.read().split()[1]) * 1e9)


def settle():
    """Tests of a cipher that was just loaded run beside what is measured"""
    while any(name == "cryptomgr_test" for name, _ in task_ns().values()):
        time.sleep(0.05)


def run():
    """The load. Return: processor time of the programs, which are gone then"""
    server = subprocess.Popen(["ip", "netns", "exec", "a"] + SDPBENCH +
                              ["-s", "-1", "-b", "10.0.0.1"], stderr=subprocess.DEVNULL)
    client = subprocess.Popen(["ip", "netns", "exec", "b"] + SDPBENCH +
                              ["-w", "10", "-T", "bw", "-S", "64K", "-r", "4", "-d", "60",
                               "10.0.0.1"], stdout=subprocess.DEVNULL)
    ns = 0
    for child in (client, server):
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit("account: sdpbench failed")
        ns += int((usage.ru_utime + usage.ru_stime) * 1e9)
    return ns


def main():
    settle()
    nic = nic_ns(sys.argv[2])
    before, idle = task_ns(), idle_ns()
    start, own = time.monotonic_ns(), time.process_time_ns()
    programs = run()
    elapsed, own = time.monotonic_ns() - start, time.process_time_ns() - own
    after, idle = task_ns(), idle_ns() - idle
    nic = nic_ns(sys.argv[2]) - nic

    # this program's own time to look at all the others is not meant
    for tasks in (before, after):
        tasks.pop(str(os.getpid()), None)
    engines, hosts = 0, own
    for tid, (name, ns) in after.items():
        ns -= before.get(tid, (name, 0))[1]
        if name.startswith("hnic"):
            engines += ns
        else:
            hosts += ns
    print("BENCH " + json.dumps({
        "part": "account", "what": sys.argv[1], "elapsed_ns": elapsed,
        "idle_ns": idle, "nic_ns": nic, "engine_threads_ns": engines,
        "host_tasks_ns": hosts + programs}))


main()
