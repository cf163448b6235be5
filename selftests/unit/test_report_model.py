#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The model of the report against cases that were computed by hand"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../report"))
import model  # noqa: E402 pylint: disable=wrong-import-position

IMAGE = 16 << 20
POWERS = [64 << n for n in range(11)]
CHECKS = []


def near(what, got, wanted, by=0.005):
    """@got is @wanted but for a share"""
    good = got is not None and abs(got - wanted) <= by * abs(wanted) + 1e-12
    CHECKS.append((what, good, f"{got}, not {wanted}"))


def same(what, got, wanted):
    CHECKS.append((what, got == wanted, f"{got}, not {wanted}"))


def pipeline():
    """Stages by hand: 100 instructions of CPI 2 at 4 GHz are 50 ns, and so on"""
    prices = {"ghz": 4.0, "cpi": 2.0, "copy_ns": 0.5, "crc_ns": 0.25, "line_ns": 10,
              "bus_bytes_per_ns": 2.0, "dma_op_ns": 30, "link_gbps": 8}
    counts = {"instr_s": 100, "copy_s": 200, "miss_s": 3, "crc_s": 400, "dma_s": 2,
              "dma_bytes_s": 100, "wire_bytes": 120, "instr_r": 40, "dma_r": 1,
              "dma_bytes_r": 100}
    times = model.stages(counts, prices)
    near("sender: 50 + 100 + 30 + 100", times["host_s"], 280)
    near("sender's NIC: 2 x 30 + 50", times["nic_s"], 110)
    near("link: 120 bytes at 8 Gb/s", times["link"], 120)
    near("receiver's NIC: 30 + 50", times["nic_r"], 80)
    near("receiver: 20", times["host_r"], 20)
    near("a stream is as fast as its slowest stage", model.bandwidth(times, 100), 800 / 280)
    near("computation is the sender's", model.bandwidth(times, 100, 120), 2.0)
    near("a message takes all stages", model.latency(times), 610)
    near("two packets: half of all, and half of the slowest", model.latency(times, 2), 305 + 140)
    near("the sender is always busy", model.share(times), 1.0)
    near("the receiver is not", model.share(times, "r"), 20 / 280)
    near("a relay's processor: 280 + 20 + 100", model.relay(times, 100, 1), 400)
    near("a relay's link is slower", model.relay({**times, "link": 900}, 100, 1), 900)


def xeon():
    """Results that the prices of xeon-2003 give for the designs of the paper"""
    # the paper's lists have seven pieces for 2 KB, ours ten cheaper ones
    prices = {**model.platform("xeon-2003"), "dma_op_ns": 400}
    size = 2048

    def times(copy, crc, operations):
        return model.stages({"copy_s": copy, "crc_s": crc, "dma_s": operations,
                             "dma_bytes_s": size, "wire_bytes": size}, prices)

    near("host-based 2.0 Gb/s", model.bandwidth(times(size, size, 1), size), 2.0)
    near("host-assisted 6.0 Gb/s", model.bandwidth(times(size, 0, 1), size), 6.0)
    for operations, gbps in ((1, 7.05), (2, 6.01), (4, 4.65), (5, 4.17), (6, 3.79), (7, 3.47)):
        near(f"offloaded, {operations} operations",
             model.bandwidth(times(0, 0, operations), size), gbps)
    for kb, crosses in ((4, 4.0), (128, 127.7)):
        n = kb * 1024
        stream = model.stages({"copy_s": n, "wire_bytes": n}, prices)
        nic = model.stages({"dma_s": 7 * n / 2048, "dma_bytes_s": n, "wire_bytes": n}, prices)
        x = [c / 10 for c in range(3000)]
        at = model.crossing(x, [model.bandwidth(stream, n, c * 1e3) for c in x],
                            [model.bandwidth(nic, n, c * 1e3) for c in x])
        near(f"overlap crosses, {kb} KB", at, crosses, 0.03)


def cluster():
    """Results that the two numbers of p3-2000 give for the applications"""
    curves = model.platform("p3-2000")
    tcp, fast = curves["tcp"], curves["socketvia"]
    for kb, t, t_rate, f, f_rate in ((1, 61.1, 1.00, 19.8, 3.08), (2, 77.1, 1.58, 30.6, 3.99),
                                     (16, 302.0, 3.23, 180.9, 5.40), (64, 1073, 3.64, 696, 5.61)):
        near(f"TCP, {kb} KB", model.occupancy(tcp, kb << 10), t)
        near(f"TCP, {kb} KB, updates", model.updates(tcp, kb << 10, IMAGE), t_rate)
        near(f"SocketVIA, {kb} KB", model.occupancy(fast, kb << 10), f)
        near(f"SocketVIA, {kb} KB, updates", model.updates(fast, kb << 10, IMAGE), f_rate)
    near("computing bounds", model.updates(fast, 64 << 10, IMAGE, 18), 3.31)
    for rate, plain, chosen in ((0.5, 3.7, 5.1), (2, 2.1, 7.6), (3, 1.7, 15.2), (3.2, 1.7, 9.9)):
        block = model.block_for_rate(tcp, rate, IMAGE, POWERS)
        other = model.block_for_rate(fast, rate, IMAGE, POWERS)
        slow = model.partial_us(tcp, block)
        near(f"gain at {rate}/s, same block", slow / model.partial_us(fast, block), plain, 0.02)
        near(f"gain at {rate}/s, own block", slow / model.partial_us(fast, other), chosen, 0.02)
    same("no block is fast enough", model.block_for_rate(tcp, 4, IMAGE, POWERS), None)
    same("largest block within 100 us", model.block_for_latency(tcp, 100, POWERS), 2048)
    same("no block is quick enough", model.block_for_latency(tcp, 40, POWERS), None)
    for parts, fraction, curve in ((64, 0.54, tcp), (64, 0.84, fast), (8, 0.14, tcp),
                                   (8, 0.71, fast)):
        near(f"{parts} partitions: 150 ms at {fraction}",
             model.response_us(curve, fraction, parts, IMAGE), 150e3, 0.02)
    near("the whole image, TCP", model.response_us(tcp, 1, 0, IMAGE), 263e3)
    near("the whole image, SocketVIA", model.response_us(fast, 0.5, 0, IMAGE), 176e3)


def parameters():
    """A transport of 2 us and 3 us overhead, 0.5 ns a byte at the sender"""
    sizes = [1, 1000, 10000, 100000]
    times = [{"host_s": 2000 + 0.5 * m, "nic_s": 100, "link": 200, "nic_r": 300, "host_r": 3000}
             for m in sizes]
    fit = model.loggp(sizes, times)
    near("o of the sender", fit["o_s_us"], 2.0)
    near("o of the receiver", fit["o_r_us"], 3.0)
    near("L", fit["L_us"], 0.6)
    near("gap of small messages: the receiver's", fit["g_us"], 3.0)
    near("gap per byte of the longer half", fit["G_ns_per_byte"], 0.5)


def shapes():
    same("rising", model.monotone([1, 2, 2, 3]), True)
    same("not rising", model.monotone([1, 2, 1.9, 3]), False)
    same("rising but for a little", model.monotone([1, 2, 1.9, 3], slack=0.05), True)
    same("falling", model.monotone([3, 2, 2.05], rising=False, slack=0.03), True)
    near("spread", model.spread([9, 10, 11]), 0.1)
    near("crossing half way", model.crossing([0, 10], [2, 0], [1, 1]), 5)
    same("no crossing", model.crossing([0, 10], [2, 2], [1, 1]), None)
    near("best and worst dropped", model.trimmed_mean([1, 5, 6, 100]), 5.5)
    near("two are too few for that", model.trimmed_mean([1, 3]), 2)
    near("confidence of three", model.confidence([1, 2, 3]), 4.303 / 3 ** 0.5)
    intercept, slope, square = model.fit_line([0, 1, 2], [1, 3, 5])
    near("intercept", intercept, 1)
    near("slope", slope, 2)
    near("R squared", square, 1)
    near("between points", model.interpolate([0, 10], [0, 20], 4), 8)
    near("beyond them", model.interpolate([0, 10, 20], [0, 20, 30], 30), 40)
    near("geometric mean", model.geomean([1, 4]), 2)


def main():
    for part in (pipeline, xeon, cluster, parameters, shapes):
        part()
    print(f"TAP version 13\n1..{len(CHECKS)}")
    for number, (what, good, why) in enumerate(CHECKS, 1):
        print(f"{'ok' if good else 'not ok'} {number} - report model: {what}")
        if not good:
            print(f"# {why}")
    return 0 if all(good for _, good, _ in CHECKS) else 1


sys.exit(main())
