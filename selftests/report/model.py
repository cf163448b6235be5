# SPDX-License-Identifier: GPL-2.0
"""Methods of time of the report, as pure functions. Times are ns, rates Gbit/s, sizes bytes.

Pipeline: two hosts, each with a processor, and two NICs; a stream is as fast as its
slowest stage, a message takes as long as all of them. Prices: what a stage has counted
times what that costs on a platform. LogGP: the same stages as few parameters.
"""
import os
import statistics
import tomllib

STAGES = ("host_s", "nic_s", "link", "nic_r", "host_r")


def platform(name, probe=None):
    """Prices from platforms/NAME.toml: {price: value}, without their sources.

    @probe has prices of this machine, which go before those of the file.
    """
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "platforms")
    with open(os.path.join(folder, f"{name}.toml"), "rb") as file:
        prices = tomllib.load(file)
    found = {k: v["value"] if isinstance(v, dict) and "value" in v else v
             for k, v in prices.items()}
    for key, price in prices.items() if probe else ():
        if isinstance(price, dict) and probe.get(price.get("probe"), -1) >= 0:
            found[key] = probe[price["probe"]]
    return found


def host_ns(counts, prices, side):
    """A host's time for a message: @counts has instr, copy, miss, crc with _s or _r.

    instr are instructions that neither copy nor checksum; copy and crc are bytes,
    miss is cache lines.
    """
    return (counts.get(f"instr_{side}", 0) * prices["cpi"] / prices["ghz"]
            + counts.get(f"copy_{side}", 0) * prices["copy_ns"]
            + counts.get(f"miss_{side}", 0) * prices["line_ns"]
            + counts.get(f"crc_{side}", 0) * prices["crc_ns"])


def nic_ns(counts, prices, side):
    """A NIC's time for a message: operations of DMA, and bytes over the bus"""
    return (counts.get(f"dma_{side}", 0) * prices["dma_op_ns"]
            + counts.get(f"dma_bytes_{side}", 0) / prices["bus_bytes_per_ns"])


def stages(counts, prices):
    """Time of each stage for a message"""
    return {"host_s": host_ns(counts, prices, "s"), "nic_s": nic_ns(counts, prices, "s"),
            "link": 8 * counts["wire_bytes"] / prices["link_gbps"],
            "nic_r": nic_ns(counts, prices, "r"), "host_r": host_ns(counts, prices, "r")}


def bandwidth(times, size, compute=0):
    """Gbit/s of a stream whose messages take @times; the sender computes before each"""
    slowest = max(times["host_s"] + compute, *(times[s] for s in STAGES[1:]))
    return 8 * size / slowest


def relay(times, size, compute_ns):
    """ns a message takes of a node that receives it, computes for each byte, and sends it"""
    host = times["host_r"] + compute_ns * size + times["host_s"]
    return max(host, times["nic_s"], times["link"], times["nic_r"])


def latency(times, packets=1):
    """Time of one message that passes in @packets equal pieces, one after the other"""
    piece = [times[s] / packets for s in STAGES]
    return sum(piece) + (packets - 1) * max(piece)


def share(times, side="s"):
    """Part of the time that a host's processor works during a stream"""
    return times[f"host_{side}"] / max(times[s] for s in STAGES)


def fit_line(x, y):
    """Least squares: (intercept, slope, R squared)"""
    mx, my = statistics.fmean(x), statistics.fmean(y)
    sxx = sum((a - mx) ** 2 for a in x)
    sxy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    slope = sxy / sxx
    syy = sum((b - my) ** 2 for b in y)
    return my - slope * mx, slope, sxy ** 2 / (sxx * syy) if syy else 1.0


def loggp(sizes, times):
    """LogGP of a transport: @times has the stages of each size, which ascend.

    o_s and o_r are the hosts' times of the smallest message, g the gap of such, G the
    gap per byte of long ones (from the larger half of the sizes), L what a message
    takes beside the hosts' times.
    """
    small = times[0]
    half = len(sizes) // 2 if len(sizes) > 3 else 0
    gaps = [max(t[s] for s in STAGES) for t in times]
    slope = fit_line(sizes[half:], gaps[half:])[1] if len(sizes) > half + 1 else 0.0
    return {"L_us": (small["nic_s"] + small["link"] + small["nic_r"]) / 1e3,
            "o_s_us": small["host_s"] / 1e3, "o_r_us": small["host_r"] / 1e3,
            "g_us": gaps[0] / 1e3, "G_ns_per_byte": slope, "from": list(sizes)}


# ------------------------------------------------------- occupancy (platform p3-2000)

def occupancy(curve, size):
    """us that a message of @size occupies a link: L + m/B"""
    return curve["latency_us"] + 8 * size / curve["mbit"]


def updates(curve, block, image, compute_ns=0):
    """Images a second in blocks through a pipeline of stages that also compute"""
    rate = block / occupancy(curve, block) * 1e6 / image
    return min(rate, 1e9 / (compute_ns * image)) if compute_ns else rate


def block_for_rate(curve, rate, image, blocks, compute_ns=0):
    """Smallest block with which that many images a second pass, None if there is none"""
    fit = [b for b in sorted(blocks) if updates(curve, b, image, compute_ns) >= rate]
    return fit[0] if fit else None


def block_for_latency(curve, bound_us, blocks, hops=1, compute_ns=0):
    """Largest block that passes within the bound, None if there is none"""
    fit = [b for b in sorted(blocks) if partial_us(curve, b, hops, compute_ns) <= bound_us]
    return fit[-1] if fit else None


def partial_us(curve, block, hops=1, compute_ns=0):
    """Latency of an update of one block through @hops links and as many computing stages"""
    return hops * (occupancy(curve, block) + compute_ns * block / 1e3)


def response_us(curve, fraction, partitions, image, chunks=4, compute_ns=0):
    """Mean response time of queries, of which @fraction want the whole image

    A zoom wants @chunks of the partitions, or the image if it is not partitioned.
    """
    parts = max(1, partitions)
    block = image / parts
    each = occupancy(curve, block) + compute_ns * block / 1e3
    return fraction * parts * each + (1 - fraction) * min(chunks, parts) * each


# ----------------------------------------------------------------------------- shapes

def monotone(values, rising=True, slack=0.0):
    """Does each value go the same way as the one before, but for a share of @slack?"""
    pairs = zip(values, values[1:])
    if rising:
        return all(b >= a * (1 - slack) for a, b in pairs)
    return all(b <= a * (1 + slack) for a, b in pairs)


def spread(values):
    """Greatest difference from the mean, relative"""
    mean = statistics.fmean(values)
    return max(abs(v - mean) for v in values) / mean if mean else 0.0


def crossing(x, first, second):
    """Where @first falls to @second or below, by straight lines; None if it never does"""
    ahead = [a - b for a, b in zip(first, second)]
    for i in range(1, len(x)):
        if ahead[i - 1] > 0 >= ahead[i]:
            return x[i - 1] + (x[i] - x[i - 1]) * ahead[i - 1] / (ahead[i - 1] - ahead[i])
    return None


def geomean(values):
    return statistics.geometric_mean(values)


def trimmed_mean(values):
    """The papers' rule: without the best and the worst"""
    if len(values) < 3:
        return statistics.fmean(values)
    return statistics.fmean(sorted(values)[1:-1])


def confidence(values):
    """Half width of the interval that holds the mean with 95 %, by Student's t"""
    # two-sided 97.5 % by degrees of freedom; beyond the table it is near enough
    student = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
    n = len(values)
    if n < 2:
        return 0.0
    factor = student[n - 2] if n - 2 < len(student) else 2.1
    return factor * statistics.stdev(values) / n ** 0.5


def interpolate(x, y, at):
    """Value at @at by straight lines, by the last slope beyond the end"""
    for i in range(1, len(x)):
        if at <= x[i] or i == len(x) - 1:
            return y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1])
    return y[0]
