#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Profiles: bench/layers.py, bench/flame.py, bench/perf_flame.py and native/stacks.py"""
import io
import os
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "../bench")
sys.path[:0] = [BENCH, os.path.join(HERE, "../native")]
import flame  # noqa: E402, pylint: disable=wrong-import-position
import layers  # noqa: E402, pylint: disable=wrong-import-position
import perf_flame  # noqa: E402, pylint: disable=wrong-import-position
import stacks  # noqa: E402, pylint: disable=wrong-import-position

EXPECTED = {
    "[user]": "app", "send_all [native_load]": "app", "__x64_sys_sendto": "syscall",
    "sdp_sendmsg [sdp]": "sdp", "hyb_rx_fast [iwarp_hybrid]": "iwarp", "memcpy_orig": "copy",
    "_copy_from_iter": "copy", "iwarp_crc_x86 [libiwarp]": "crc", "tcp_ack": "tcpip",
    "iwarp_crc_x86 [hnic]": "nic", "__dev_queue_xmit": "netdev", "veth_xmit [veth]": "netdev",
    "__alloc_skb": "skb", "try_to_wake_up": "sched", "kmem_cache_free": "mem",
    "memset_orig": "mem", "_raw_spin_lock_bh": "lock", "hnic_tx_run [hnic]": "nic",
    "no_such_function": layers.NO_LAYER}

PROFILE = """\
           600  60.00%      0.600  sdp_sendmsg [sdp]
           385  38.50%      0.385  tcp_ack
            15   1.50%      0.015  no_such_function
          1000 100.00%      1.000  total
"""


def run_layers(text, *options):
    """layers.py: exit status and output"""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        run = subprocess.run([sys.executable, "-B", os.path.join(BENCH, "layers.py"), *options,
                              file.name], text=True, capture_output=True, check=False)
    return run.returncode, run.stdout + run.stderr


def layer_checks():
    known = layers.Layers()
    wrong = {f: known.of(f) for f in EXPECTED if known.of(f) != EXPECTED[f]}
    more = PROFILE.replace("15   1.50%      0.015  no", "25   2.50%      0.025  no")
    changed, text = io.StringIO(), {"tcp_ack": 0.5, "sdp_sendmsg [sdp]": 0.6}
    layers.difference(known, text, {"tcp_ack": 0.4, "sdp_sendmsg [sdp]": 0.6}, out=changed)
    lines = [line.split() for line in changed.getvalue().splitlines()]
    status, out = run_layers(more)
    return [
        (f"functions have the layers that they should {wrong or ''}", not wrong),
        ("each layer has a colour", set(known.names) <= set(flame.COLOURS)),
        ("1.5 % without a layer: exit status 0", run_layers(PROFILE)[0] == 0),
        ("2.5 % without a layer: exit status 1, with names",
         status == 1 and "no_such_function" in out.splitlines()[-1]),
        ("difference by layer", ["tcpip", "0.4000", "0.5000", "+0.1000"] in lines),
        ("difference by function", ["0.4000", "0.5000", "+0.1000", "tcp_ack"] in lines),
    ]


def profile_sh(name, *options, **settings):
    """Exit status and output of a profile.sh that can build nothing"""
    env = {k: v for k, v in os.environ.items()
           if k not in ("LANE", "WHAT", "LINK", "MTU", "SIZE", "TEST", "BASE")}
    with tempfile.TemporaryDirectory() as build:
        env.update(CC="false", BUILD=build, **settings)
        run = subprocess.run([os.path.join(HERE, "..", name, "profile.sh"), *options], env=env,
                             text=True, capture_output=True, check=False, timeout=60)
    return run.returncode, run.stdout + run.stderr


def value_checks():
    """Wrong values are refused before anything is built"""
    wrong = {"WHAT": "foo", "LINK": "foo", "MTU": "1500x", "SIZE": "64K", "TEST": "foo",
             "BASE": "/nowhere"}
    found = []
    for name in "bench", "native":
        for key, value in wrong.items():
            status, out = profile_sh(name, **{key: value})
            found.append((f"{name}/profile.sh {key}={value} is refused: {out.strip()}",
                          status == 2 and key in out and out.count("\n") == 1))
    for what in ("sdp-foo/hybrid", "sdp-enhanced/foo", "sdp-enhanced", "verbs-send/foo",
                 "conn-foo", "conn-rsocket/siw"):
        status, out = profile_sh("bench", "-w", what)
        found.append((f"profile.sh -w {what} is refused: {out.strip()}",
                      status == 2 and what in out))
    # the compiler, which is not there, is called
    for what in ("sdp-enhanced/hybrid", "sdp-basic/offload-sg", "sdp/siw", "tcp", "rsocket/siw",
                 "sdp-placed/hybrid", "sdp-rdma-app/hybrid", "verbs-ping/siw-gso",
                 "conn-sdp-enhanced/hybrid", "conn-tcp"):
        status, out = profile_sh("bench", WHAT=what)
        found.append((f"profile.sh WHAT={what} is taken", status == 1 and not out))
    return found


def flame_checks():
    known = layers.Layers()
    folded = {("a", "tcp_ack"): 3.0, ("a", "b", "memcpy"): 1.0}
    picture = xml.etree.ElementTree.fromstring(flame.svg(folded, known.of, "<title>", "ns"))
    space = "{http://www.w3.org/2000/svg}"
    boxes = {group.find(space + "title").text.split(":")[0]:
             float(group.find(space + "rect").get("width")) for group in picture.iter(space + "g")}
    changed = flame.svg(folded, known.of, "", "ns", {("a", "tcp_ack"): 4.0})
    return [
        ("the flame graph is XML", picture.tag == space + "svg"),
        ("a caller is as wide as what it calls",
         abs(boxes["a"] - boxes["tcp_ack"] - boxes["b"]) < 0.2 and boxes["a"] == boxes["all"]),
        ("width is share", abs(boxes["tcp_ack"] / boxes["a"] - 0.75) < 0.01),
        ("less is blue and more is red", "#3737ff" in changed and "#ff3737" in changed),
    ]


# As perf script prints them, of perf 6.1 and 6.12
SCRIPT = """\
sdpbench  1203 [001]   42.123456:     250000 cpu-clock:ppp:
\tffffffff81b5e2f0 tcp_ack+0x90 ([kernel.kallsyms])
\tffffffffc0712345 sdp_sendmsg+0x345 ([sdp])
\tffffffff81001000 do_syscall_64+0x5a ([kernel.kallsyms])
\t    7f12a4a0c1a0 __send+0x40 (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t    55d0c7a01000 [unknown] (/usr/bin/sdpbench)

kworker/0:1-iw  17 [000]   42.123500:     250000 cpu-clock:ppp:
\tffffffffc0512345 sdp_rx+0x2 ([kernel.kallsyms])
\tffffffffc0612345 hyb_rx_fast+0x1 (/lib/modules/6.1.0/updates/dkms/iwarp-hybrid.ko.xz)

swapper     0 [000]   42.124000:     250000 cpu-clock:ppp:
\tffffffff81c00000 pv_native_safe_halt+0xb ([kernel.kallsyms])
\tffffffff81c00100 do_idle+0x1 ([kernel.kallsyms])

sdpbench 1203/1204 42.125000:     250000 cpu-clock:ppp:
\tffffffff81b5e2f0 tcp_ack+0x92 ([kernel.kallsyms])
\tffffffffc0712345 sdp_sendmsg+0x345 ([sdp])
\tffffffff81001000 do_syscall_64+0x5a ([kernel.kallsyms])
\t    7f12a4a0c1a0 __send+0x40 (/usr/lib/x86_64-linux-gnu/libc.so.6)
"""


def script_checks():
    modules = perf_flame.modules_of([
        "0 T tcp_ack", "0 t sdp_rx\t[sdp]", "0 t tcp_ack\t[other]", "0 t bpf_prog_1_x\t[bpf]"])
    folded, event, number = perf_flame.fold(io.StringIO(SCRIPT), modules)
    call = ("sdpbench", "[user]", "do_syscall_64", "sdp_sendmsg [sdp]", "tcp_ack")
    done = subprocess.run([sys.executable, "-B", os.path.join(BENCH, "perf_flame.py")], text=True,
                          input=SCRIPT, check=False, stdout=subprocess.PIPE)
    nothing = subprocess.run([sys.executable, "-B", os.path.join(BENCH, "perf_flame.py")], text=True,
                             input="", check=False, stderr=subprocess.PIPE)
    return [
        ("stacks of perf script are summed up, idle ones left out", folded == {
            call: 500000, ("kworker/0:1-iw", "hyb_rx_fast [iwarp_hybrid]", "sdp_rx [sdp]"): 250000}),
        ("the event, and the number of samples", (event, number) == ("cpu-clock:ppp", 3)),
        ("perf_flame.py draws them", done.returncode == 0 and
         "<title>sdp_sendmsg [sdp]: 5e+05 ns, 66.7%</title>" in done.stdout and
         xml.etree.ElementTree.fromstring(done.stdout) is not None),
        ("perf_flame.py says that there are none",
         nothing.returncode == 1 and "perf record -g" in nothing.stderr),
    ]


def record(pid, time, regs, stack):
    """A sample as perf record -g dwarf writes it: IP, TID, TIME, CALLCHAIN, REGS_USER, STACK_USER"""
    body = struct.pack("<QIIQ", regs[2], pid, pid, time) + struct.pack("<QQ", 1, regs[2])
    body += struct.pack("<Q3Q", 2, *regs)
    body += struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack))
    return struct.pack("<IHH", stacks.RECORD_SAMPLE, 2, 8 + len(body)) + body


def perf_data(records):
    """A file with the parts that stacks.samples() reads"""
    kind = (stacks.IP | stacks.TID | stacks.TIME | stacks.CALLCHAIN | stacks.REGS | stacks.STACK)
    attr = bytearray(144)
    struct.pack_into("<Q", attr, 24, kind)
    mask = 1 << stacks.REG_BP | 1 << stacks.REG_SP | 1 << stacks.REG_IP
    struct.pack_into("<Q", attr, 80, mask)
    data = b"".join(records)
    head = struct.pack("<8sQQQQQQ", b"PERFILE2", 104, 144, 104, 144, 104 + 144, len(data))
    return head.ljust(104, b"\0") + bytes(attr) + data


PROGRAM = """
long leaf(long *p) { return p[0] * 3; }
long middle(long n) { long a[40]; for (int i = 0; i < 40; i++) a[i] = n + i; return leaf(a) + n; }
long outer(long n) { return middle(n + 1) * 2; }
"""


def compiled(folder):
    """An object of PROGRAM at an address, {function: address}, and its size of frames by readelf"""
    source, path = os.path.join(folder, "p.c"), os.path.join(folder, "p")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-nostdlib", "-static",
                    "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-Wl,-e,0", "-o", path,
                    source], check=True)
    names = subprocess.run(["nm", path], text=True, capture_output=True, check=True).stdout
    return path, {f[2]: int(f[0], 16) for f in map(str.split, names.splitlines()) if len(f) == 3}


def frames(tables, address):
    """The state after a call: the rule of the last row with the largest frame of a function"""
    own = [(s, r) for s, r in zip(tables.starts, tables.rules) if r.end == end_of(tables, address)]
    return max(own, key=lambda pair: pair[1].offset)


def end_of(tables, address):
    return next(r.end for s, r in zip(tables.starts, tables.rules) if s == address)


def unwind_checks():
    with tempfile.TemporaryDirectory() as folder:
        path, where = compiled(folder)
        tables = stacks.Unwinder()
        tables.add(path)
        symbols = stacks.Symbols([f"{a:x} T {n}" for n, a in where.items()])
        middle, outer = (frames(tables, where[f]) for f in ("middle", "outer"))
        sp = 0x7000
        # in the first instruction of leaf(), called from where the frames are largest
        stack = struct.pack("<Q", middle[0] + 1).ljust(8 + middle[1].offset - 8, b"\0")
        stack += struct.pack("<Q", outer[0] + 1).ljust(8 + outer[1].offset - 8, b"\0")
        stack += struct.pack("<Q", 0)
        name = os.path.join(folder, "perf.data")
        with open(name, "wb") as file:
            file.write(perf_data([record(7, 99, (0, sp, where["leaf"]), stack)]))
        found = list(stacks.samples(name))
        calls = [symbols.name(a) for a in tables.stack(found[0])] if found else []
    return [
        ("a sample of perf record is read", len(found) == 1 and found[0].pid == 7
         and found[0].time == 99 and found[0].sp == sp),
        ("code far past the last module is the host's",
         symbols.name(max(where.values()) + stacks.FAR).endswith("[host]")),
        (f"its stack is unwound {calls}", calls == ["leaf", "middle", "outer"]),
    ]


def main():
    checks = layer_checks() + value_checks() + flame_checks() + script_checks() + unwind_checks()
    print(f"TAP version 13\n1..{len(checks)}")
    for number, (what, good) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - profile: {what}")
    return 0 if all(good for _, good in checks) else 1


sys.exit(main())
