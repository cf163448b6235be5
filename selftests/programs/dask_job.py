# SPDX-License-Identifier: GPL-2.0
#
# dask_job.py scheduler ADDR PORT
# dask_job.py worker ADDR PORT OWN-ADDR NAME
# dask_job.py client ADDR PORT WORKERS MB
#
# Dask distributed on several hosts: blocks of a table are made on all workers, sent to
# all others, sorted and hashed there, as a shuffle of a large job does it. The client
# prints the results.
import asyncio
import hashlib
import random
import sys
import time

import dask
from distributed import Client, Scheduler, Worker

addr, port = sys.argv[2], int(sys.argv[3])
# no page of statistics, no profiler, patience with an emulated machine
dask.config.set({
    "distributed.comm.timeouts.connect": "120s", "distributed.comm.timeouts.tcp": "300s",
    "distributed.worker.profile.enabled": False, "distributed.admin.tick.limit": "600s",
    "distributed.worker.memory.target": False, "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False,
    "distributed.scheduler.work-stealing": False, "distributed.comm.compression": None,
    "distributed.scheduler.active-memory-manager.start": False})


async def scheduler():
    async with Scheduler(host=addr, port=port, dashboard=False) as s:
        await s.finished()


async def worker(own, name):
    async with Worker(f"tcp://{addr}:{port}", host=own, name=name, nthreads=1,
                      dashboard=False, death_timeout=200) as w:
        await w.finished()


def block(number, size):
    return random.Random(number).randbytes(size)


def split(data, parts):
    step = len(data) // parts
    return [data[i * step:(i + 1) * step] for i in range(parts)]


def part(pieces, number):
    return pieces[number]


def merge(*parts):
    return bytes(sorted(b"".join(parts)))


def digest(data):
    return len(data), hashlib.sha256(data).hexdigest()


def client(workers, megabytes):
    with Client(f"tcp://{addr}:{port}", timeout=200, set_as_default=True) as c:
        c.wait_for_workers(workers, timeout=300)
        names = sorted(w["name"] for w in c.scheduler_info()["workers"].values())
        print("workers:", names)
        size = (megabytes << 20) // workers
        cut = []
        for i, name in enumerate(names):
            data = c.submit(block, i, size, workers=name, allow_other_workers=False)
            cut.append(c.submit(split, data, workers, workers=name))
        sums = []
        for i, name in enumerate(names):
            # the pieces are cut where they are, and go to the worker that merges
            pieces = [c.submit(part, pieces, i, workers=names[k]) for k, pieces in enumerate(cut)]
            whole = c.submit(merge, *pieces, workers=name)
            sums.append(c.submit(digest, whole, workers=name))
        for result in c.gather(sums):
            print(*result)
        print("map:", sum(c.gather(c.map(lambda x: x * x, range(50)))))
        back = c.submit(block, 99, 1 << 20, workers=names[0]).result()
        print("to the client:", digest(back)[1])
        bad = c.submit(lambda: 1 // 0)
        print("error:", type(bad.exception()).__name__)
        c.shutdown()


if sys.argv[1] == "scheduler":
    asyncio.run(scheduler())
elif sys.argv[1] == "worker":
    asyncio.run(worker(sys.argv[4], sys.argv[5]))
else:
    begin = time.monotonic()
    client(int(sys.argv[4]), int(sys.argv[5]))
    print(f"{time.monotonic() - begin:.1f} s", file=sys.stderr)
