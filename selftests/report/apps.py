# SPDX-License-Identifier: GPL-2.0
"""The papers' filter pipeline as a simulation, with simpy: three nodes in each of three
stages, and one that views. A block occupies the sender's and the receiver's link for as
long as the curve of the transport says; the viewing node computes while the next one comes. The panels can be listed where simpy is not installed.
"""
import model

COPIES = 3
STAGES = 3
QUERY = 16      # bytes, over one link


class Pipeline:
    """Nodes and what they share"""

    def __init__(self, curve, compute_ns):
        import simpy    # pylint: disable=import-outside-toplevel
        self.env = simpy.Environment()
        self.curve, self.compute_ns = curve, compute_ns
        one = lambda: simpy.Resource(self.env, 1)       # noqa: E731
        self.out = [[one() for _ in range(COPIES)] for _ in range(STAGES)]
        self.into = [[one() for _ in range(COPIES)] for _ in range(STAGES - 1)] + [[one()]]
        self.viewer = one()
        self.ends = []

    def hold(self, resources, time):
        """Occupies all of @resources at once"""
        asked = [r.request() for r in resources]
        for request in asked:
            yield request
        yield self.env.timeout(time)
        for resource, request in zip(resources, asked):
            resource.release(request)

    def block(self, number, size):
        """One block from its source to the viewer"""
        copy = number % COPIES
        for stage in range(STAGES):
            into = self.into[stage]
            yield from self.hold([self.out[stage][copy], into[copy % len(into)]],
                                 model.occupancy(self.curve, size))
        yield from self.hold([self.viewer], self.compute_ns * size / 1e3)
        self.ends.append(self.env.now)

    def run(self, blocks, size):
        """us at which each of @blocks that are sent at once has been viewed"""
        for number in range(blocks):
            self.env.process(self.block(number, size))
        self.env.run()
        return self.ends


def updates(curve, block, image, compute_ns=0):
    """Full updates a second, from the middle of a long row of blocks"""
    ends = Pipeline(curve, compute_ns).run(90, block)
    return 60 / (ends[-1] - ends[-61]) * 1e6 * block / image


def partial_us(curve, block, compute_ns=0):
    """us of an update of one block, from the query on"""
    return model.occupancy(curve, QUERY) + Pipeline(curve, compute_ns).run(1, block)[0]


def response_us(curve, fraction, partitions, image, compute_ns=0):
    """Mean us of a query, of which @fraction want the whole image and the others 4 chunks"""
    parts = max(1, partitions)

    def query(chunks):
        ends = Pipeline(curve, compute_ns).run(chunks, image / parts)
        return model.occupancy(curve, QUERY) + ends[-1]
    return fraction * query(parts) + (1 - fraction) * query(min(4, parts))


def waste_us(block, factor, compute_ns, driven, images=40):
    """us that each fast node of three waits for the slow one, for a block the slow one took

    In turn, each node gets a block and the next round begins when all have done theirs;
    demand driven, each node takes a block as soon as it has none.
    """
    step = compute_ns * block / 1e3
    if not driven:
        return (factor - 1) * step
    blocks = iter(range(COPIES * images))
    import simpy    # pylint: disable=import-outside-toplevel
    env, done, took = simpy.Environment(), [], [0]

    def node(time, slow):
        for _ in blocks:
            yield env.timeout(time)
            took[0] += slow
        if not slow:
            done.append(env.now)

    for n in range(COPIES):
        env.process(node(step * (factor if n == 0 else 1), n == 0))
    env.run()
    # the others have ended and wait for the last block of the slow node
    return sum(env.now - t for t in done) / len(done) / max(1, took[0])
