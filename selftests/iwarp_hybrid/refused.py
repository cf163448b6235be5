#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Connects over TCP, again and again, and says nothing.

refused.py ADDRESS PORT COUNT [COUNT]: so many connections, then, when a line comes
in, so many more. Stays until its input ends.

refused.py ADDRESS PORT COUNT from OTHER...: a client at each address OTHER connects, then
so many connections come from another address. Prints for both whether any ends before
the time that a Request may take. The listener keeps peers by one of 64 hashes of their address:
one client may share it with the many, hence it counts if any client waits.

refused.py ADDRESS PORT COUNT stuck: a client sends a Request that the listener cannot pass on,
then so many connections come. Prints whether the client ends before that time.

refused.py ADDRESS PORT COUNT answered: so many clients send a Request, take the answer, and do not
close. Prints how many got an answer, and how many were reset. Stays until its input ends.
"""
import resource
import select
import socket
import sys
import time

REQUEST_TIME = 10  # seconds, HYB_T_REQUEST
REQUEST = b"MPA ID Req Frame\x40\x01\0\0"


def ended(socks, timeout):
    """Those that the peer has ended, after at most this many milliseconds."""
    poll = select.poll()
    for sock in socks:
        poll.register(sock, select.POLLIN)
    return {fd for fd, _ in poll.poll(timeout)}


def crowd(where, count, others):
    """Clients, then many from elsewhere. None if that took too long."""
    start = time.monotonic()
    clients = [socket.create_connection(where, source_address=(o, 0)) for o in others]
    many = []
    for _ in range(count):
        sock = socket.socket()
        sock.connect_ex(where)
        many.append(sock)
    # the listener ends those above its limit
    ended([*clients, *many], 5000)
    time.sleep(1)
    gone = ended([*clients, *many], 0)
    if time.monotonic() - start >= REQUEST_TIME:
        return None
    mine = {c.fileno() for c in clients}
    return mine <= gone, len(gone - mine)


def stuck(where, count):
    """Does the client end? None if that took too long."""
    start = time.monotonic()
    client = socket.create_connection(where)
    client.sendall(REQUEST)
    many = []
    for _ in range(count):
        sock = socket.socket()
        sock.connect_ex(where)
        many.append(sock)
    gone = ended([client], 2000)
    return gone if time.monotonic() - start < REQUEST_TIME else None


def patience(where, count):
    """Repeats it if the machine was slow."""
    for _ in range(5):
        gone = stuck(where, count)
        if gone is not None:
            print("client", "ended" if gone else "waits", flush=True)
            return
        time.sleep(1)
    print("the machine is too slow", flush=True)


def fairness(where, count, others):
    """Repeats it if the machine was slow."""
    for _ in range(5):
        result = crowd(where, count, others)
        if result:
            clients, many = result
            print("client", "ended" if clients else "waits", flush=True)
            print("others", "ended" if many else "wait", flush=True)
            return
        time.sleep(1)
    print("the machine is too slow", flush=True)


def answered(where, count):
    """Clients that the listener refuses, and that stay."""
    socks, replies, resets = [], 0, 0
    for _ in range(count):
        sock = socket.create_connection(where)
        sock.sendall(REQUEST)
        socks.append(sock)
    for sock in socks:
        try:
            replies += sock.recv(64).startswith(b"MPA ID Rep Frame")
        except ConnectionResetError:
            resets += 1
    print(f"{replies} answered, {resets} reset", flush=True)
    sys.stdin.readline()


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    where = sys.argv[1], int(sys.argv[2])
    if len(sys.argv) > 5 and sys.argv[4] == "from":
        fairness(where, int(sys.argv[3]), sys.argv[5:])
        return
    if sys.argv[4:] == ["answered"]:
        answered(where, int(sys.argv[3]))
        return
    if sys.argv[4:] == ["stuck"]:
        patience(where, int(sys.argv[3]))
        return
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
