# SPDX-License-Identifier: GPL-2.0
"""The lane of real machines: sdpbench and perftest between two hosts, over ssh.

HOSTS names them: the first is the server. Both need sdpbench, and for verbs perftest, in
the PATH of a shell that ssh starts. To measure SDP both need the module, and for SDP and
verbs an RDMA device.
"""
import json
import shlex
import subprocess
import time

from lanes import Lane
from points import Trouble

SSH = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
SIZES = {"bw": "-S 64,1K,4K,16K,64K,256K,1M", "lat": "-L 1,64,1K,4K,16K,64K"}
# perftest: program, column of the figure, name of the figure, for a message of size bytes
VERBS = {"verbs-send bw": ("ib_send_bw", 3, "mbps"), "verbs-send lat": ("ib_send_lat", 4, "lat_us"),
         "verbs-write bw": ("ib_write_bw", 3, "mbps"),
         "verbs-write lat": ("ib_write_lat", 4, "lat_us")}
LIMIT = 300


def run(host, command, limit=LIMIT):
    """Runs a command there; (exit status, output)"""
    try:
        done = subprocess.run([*SSH, host, command], capture_output=True, text=True, check=False,
                              timeout=limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {limit} s"
    return done.returncode, done.stdout if not done.returncode else " ".join(done.stderr.split())


def table(text, column):
    """[(size, figure)] of what perftest prints"""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) > column and words[0].isdigit():
            found.append((int(words[0]), float(words[column])))
    return found


def address(host):
    """Name or address by which the other host reaches it"""
    return host.rpartition("@")[2]


class RealLane(Lane):
    """Two machines"""

    def run(self, lot, number):
        for host in dict.fromkeys(lot[0].settings["HOSTS"].split()):
            status, text = run(host, "sdpbench --version", 20)
            if status:
                raise Trouble(f"{host} does not answer as it should ({text or status}): ssh has to "
                              "log in there without a password, and sdpbench has to be in its PATH")
        for point in lot:
            began = time.monotonic()
            rows, failed = self.measure(point)
            self.ended(point, rows, failed, time.monotonic() - began)

    def measure(self, point):
        server, client = point.settings["HOSTS"].split()
        what, test = point.settings["WHAT"], point.settings["TEST"]
        if what.startswith("verbs"):
            program, column, field = VERBS[f"{what} {test}"]
            listen, ask = f"{program} -a", f"{program} -a {shlex.quote(address(server))}"
        else:
            listen = f"sdpbench -s -1 -t {what}"
            ask = f"sdpbench -t {what} -T {test} -j -w 10 --trim -r 10 {SIZES[test]} " \
                f"{shlex.quote(address(server))}"
        with subprocess.Popen([*SSH, server, f"timeout {LIMIT} {listen}"], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as other:
            time.sleep(2)
            status, text = run(client, ask)
            if status:
                other.terminate()
        if status:
            return [], [f"{what} {test} between {server} and {client}: {text or status}"]
        if what.startswith("verbs"):
            found = [{"size": size, field: figure} for size, figure in table(text, column)]
        else:
            found = json.loads(text)["rows"]
        return [{**row, "part": "real", "link": "real", "what": what, "test": test}
                for row in found], []
