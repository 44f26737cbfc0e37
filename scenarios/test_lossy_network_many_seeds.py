"""A network that loses, doubles, delays and reorders packets, under twenty seeds: twenty different runs.

The plan says what may strike, the seed decides when. RoCE's reliable connections have to hide all of it: a host writes a
pattern and reads it back, and gets what it wrote. world.strikes tells what struck, and a run that fails is repeated
exactly by its seed, or with its decisions alone as a Schedule.
"""

import pytest

import fabricbench as fb

BLOCKS = 256
# About one packet in forty, at most thirty times in each direction.
LOSSY = fb.Plan([
    fb.Rule("drop", every=40, most=30),
    fb.Rule("duplicate", every=40, most=30, amount=("1us", "200us")),
    fb.Rule("delay", every=40, most=30, amount=("1us", "500us")),  # long enough for others to pass it
], name="lossy")


def pattern(seed, lba):
    return bytes([seed & 0xFF, lba & 0xFF, lba >> 8]).ljust(512, bytes([0xA5 ^ lba & 0xFF]))


def write_and_read(world, subsystem, host):
    """Four tasks with a quarter of the blocks each. Every block at once overtakes the one before where it can."""
    space = host.connect(subsystem).wait().namespace(1)

    async def worker(first):
        writes = [space.write(lba, pattern(world.seed, lba)) for lba in range(first, BLOCKS, 4)]
        for write in writes:
            await write
        for lba in range(first, BLOCKS, 4):
            assert await space.read(lba) == pattern(world.seed, lba)

    world.run(*[worker(first) for first in range(4)])
    return space


@pytest.mark.seeds(20)
@pytest.mark.faults(LOSSY)
@pytest.mark.requirement("nvme.write.read-back")
@pytest.mark.requirement("rdma.psn.duplicate-send")
def test_the_pattern_comes_back_whatever_gets_lost(world, subsystem, host):
    space = write_and_read(world, subsystem, host)

    struck = {strike.decision.split()[1] for strike in world.strikes}
    assert struck == {"drop", "duplicate", "delay"} and len(world.strikes) > 20
    # RDMA mends it below NVMe: no command was sent twice, and none was executed twice.
    assert space.retries == 0 and space.paths[0].controller.attempts == 1
    assert subsystem.namespaces[0].totals["writes"] == BLOCKS
    # Neither side has broken a rule of its own on account of the network.
    assert world.findings() == []


@pytest.mark.requirement("rdma.psn.duplicate-write")
def test_a_run_is_repeated_by_its_decisions(fb_seed):
    def run(faults):
        with fb.World(seed=fb_seed, faults=faults) as world:
            write_and_read(world, world.subsystem(), world.host())
            return world.digest, [strike.decision for strike in world.strikes]

    digest, decisions = run(LOSSY)
    assert run(fb.Schedule(decisions)) == (digest, decisions)
    # One fault less: what is left of a failure when faults are taken away one by one is what it takes.
    fewer = fb.Schedule(decisions).without(0)
    assert len(run(fewer)[1]) == len(decisions) - 1
