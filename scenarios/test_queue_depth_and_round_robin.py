"""A host has two ways to a namespace, one of them ten times slower, and chooses one for every command.

Round robin gives each path its turn, fast or slow, so that the slow one sets the pace. Queue depth takes the path with
the fewest commands in flight, so that the fast one does most of the work. With numa all goes one way as long as that is
possible. Whatever the policy, a path that is only non-optimized gets nothing while there is an optimized one.
"""

from collections import Counter

import pytest

import fabricbench as fb
from fabricbench.enums import AnaState

READS, IN_FLIGHT = 200, 8
POLICIES = ["round_robin", "queue_depth", "numa"]


class CountingTarget(fb.TargetProduct):
    """Behind port 2 a read takes ten times as long. Counts reads by controller: each port has one."""

    def __init__(self):
        self.reads = Counter()

    def latency(self, command):
        if command.name != "Read":
            return None
        self.reads[command.cntlid] += 1
        return "500 us" if command.cntlid == 2 else "50 us"


class TwoPaths:
    def __init__(self, world, policy, deviations=()):
        self.world, self.product = world, CountingTarget()
        self.subsystem = world.subsystem(ports=2, product=self.product)
        self.host = world.host(policy=policy, deviations=deviations)
        for number in (1, 2):
            self.host.connect(self.subsystem, port=number).wait()

    def read(self):
        """200 reads, 8 at a time. How many of them port 1 and port 2 got, and the time that all took."""
        space, left = self.host.namespace(1), READS
        before, began = self.product.reads.copy(), self.world.now

        async def reader():
            nonlocal left
            while left > 0:
                left -= 1
                await space.read(0)

        self.world.run(*(reader() for _ in range(IN_FLIGHT)))
        return self.product.reads[1] - before[1], self.product.reads[2] - before[2], self.world.now - began


def test_who_gets_the_commands(fb_seed):
    ports, times = {}, {}
    for policy in POLICIES:
        with fb.World(seed=fb_seed, monitors=True) as world:  # a world for each: the same situation
            *ports[policy], times[policy] = TwoPaths(world, policy).read()
            assert world.findings() == []

    assert ports["round_robin"] == [READS // 2, READS // 2]
    assert ports["numa"] == [READS, 0]
    fast, slow = ports["queue_depth"]
    assert fast + slow == READS and fast > 5 * slow > 0
    assert times["queue_depth"] < times["round_robin"] / 2


@pytest.mark.requirement("nvme.ana.non-optimized")
@pytest.mark.parametrize("policy", POLICIES)
def test_a_non_optimized_path_is_for_want_of_a_better_one(world, policy):
    paths = TwoPaths(world, policy)
    paths.subsystem.set_ana_state(AnaState.NON_OPTIMIZED, portid=2)
    world.run_for("1 ms")
    # The network says it as well as the target: not a packet goes to port 2.
    second = world.link(paths.host, "target2")
    before = second.counters["sent"]
    assert paths.read()[:2] == (READS, 0) and second.counters["sent"] == before

    paths.subsystem.set_ana_state(AnaState.INACCESSIBLE, portid=1)
    world.run_for("1 ms")
    assert paths.read()[:2] == (0, READS) and second.counters["sent"] > before + 2 * READS


def test_a_host_that_does_not_read_the_ana_log_goes_on_as_before(world):
    paths = TwoPaths(world, "numa", deviations=["host_ignores_ana_notices"])
    paths.subsystem.set_ana_state(AnaState.NON_OPTIMIZED, portid=1)
    world.run_for("1 ms")
    assert paths.read()[:2] == (READS, 0)  # the better path is the other
