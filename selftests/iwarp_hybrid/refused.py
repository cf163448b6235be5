#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Connects over TCP, again and again, and says nothing.

refused.py ADDRESS PORT COUNT [COUNT]: so many connections, then, when a line comes
in, so many more. Stays until its input ends.
"""
import resource
import socket
import sys


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    where = sys.argv[1], int(sys.argv[2])
    kept = []
    for count in sys.argv[3:]:
        for _ in range(int(count)):
            sock = socket.socket()
            # one that is refused at once may fail here, or not yet
            sock.connect_ex(where)
            kept.append(sock)
        print(f"connected {len(kept)}", flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
