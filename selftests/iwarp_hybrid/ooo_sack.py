# SPDX-License-Identifier: GPL-2.0
"""How long segments that arrive out of order wait for the ACK that follows.

Reads a trace with events "rcv" (sk, seq, end of a segment that TCP is given) and
"xmit" (sk: TCP sends something), by time.
"""
import re
import sys

EVENT = re.compile(r" ([0-9.]+): (rcv|xmit): .* sk=(0x[0-9a-f]+)(?: seq=(\d+) end=(\d+))?")


def before(a, b):
    """Sequence number A comes before B."""
    return (a - b) & 0x80000000 != 0


class Socket:
    """Data of one socket."""

    def __init__(self):
        self.next = None
        self.later = []
        self.waiting = []

    def receive(self, now, seq, end):
        if seq == end:
            return
        if self.next is None:
            self.next = seq
        if before(self.next, seq):
            self.waiting.append(now)
            self.later.append((seq, end))
            return
        if before(self.next, end):
            self.next = end
        moved = True
        while moved:
            moved = False
            for piece in [p for p in self.later if not before(self.next, p[0])]:
                self.later.remove(piece)
                if before(self.next, piece[1]):
                    self.next = piece[1]
                    moved = True

    def send(self, now):
        waits = [now - t for t in self.waiting]
        self.waiting = []
        return waits


def main():
    sockets, waits, looks = {}, [], 0
    for line in sys.stdin:
        m = EVENT.search(line)
        if not m:
            continue
        now, event, sk = float(m[1]), m[2], sockets.setdefault(m[3], Socket())
        if event == "rcv":
            sk.receive(now, int(m[4]), int(m[5]))
            continue
        new = sk.send(now)
        looks += bool(new)
        waits += new
    if waits:
        print(f"{len(waits)} segments, {len(waits) / looks:.1f} for a look,"
              f" waited {sum(waits) / len(waits) * 1e6:.0f} us in the mean,"
              f" {max(waits) * 1e6:.0f} at most")
    else:
        print("no segments")


main()
