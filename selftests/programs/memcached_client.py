# SPDX-License-Identifier: GPL-2.0
#
# memcached_client.py ADDR PORT N: N requests of several kinds, and threads that set and
# get; prints what memcached answers
import hashlib
import random
import socket
import sys
import threading

addr, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Client:
    def __init__(self):
        self.sock = socket.create_connection((addr, port), timeout=60)
        self.file = self.sock.makefile("rb")

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        return self.file.readline().decode().rstrip()

    def set(self, key, value):
        self.send(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
        return self.line()

    def get(self, key):
        self.send(b"get %s\r\n" % key)
        head = self.line().split()
        if head[0] != "VALUE":
            return None
        value = self.file.read(int(head[3]))
        self.file.readline()
        self.line()
        return value


def check(seed, res):
    rng = random.Random(seed)
    client = Client()
    bad = 0
    for i in range(count // 4):
        key = b"%d-%d" % (seed, rng.randrange(100))
        value = rng.randbytes(rng.choice((1, 30, 300, 1400, 5000)))
        if client.set(key, value) != "STORED" or client.get(key) != value:
            bad += 1
    res[seed] = bad


first = Client()
first.send(b"".join(b"set p%d 0 0 3 noreply\r\nabc\r\n" % i for i in range(count)))
first.send(b"".join(b"get p%d\r\n" % i for i in range(count)))
answers = [first.file.readline() for _ in range(3 * count)]
print("pipeline", hashlib.sha256(b"".join(answers)).hexdigest())
largest = random.Random(7).randbytes(1000000)
print("large", first.set(b"large", largest), first.get(b"large") == largest)
print("none", first.get(b"nothing"))
print("counter", first.set(b"n", b"41"))
first.send(b"incr n 1\r\nbogus\r\nset x 0 0 -1\r\n")
print(first.line(), first.line(), first.line())
results = {}
threads = [threading.Thread(target=check, args=(i, results)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("wrong", sorted(results.items()))
first.send(b"quit\r\n")
print("end", first.file.read())
