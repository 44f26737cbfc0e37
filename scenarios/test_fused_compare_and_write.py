"""Two hosts share a block that serves them as a lock, by fused Compare and Write.

Who finds the lock free writes its own name into it in the same operation, so that exactly one of two that come at once
gets it; the other's Compare fails, and its Write must not be executed. Behind the lock each adds to a counter in
another block, by a plain read and a plain write: with a lock that holds no addition is lost.
"""

import pytest

import fabricbench as fb
from fabricbench import sc

LOCK, COUNTER = 0, 1
FREE = bytes(512)
ROUNDS = 8


async def swap(space, expected, data):
    """Writes the lock if it holds what is expected; whether it did."""
    try:
        await space.compare_and_write(LOCK, expected, data)
        return True
    except fb.CommandError as refused:
        assert refused.status == sc.compare_failure
        return False


async def add(world, space, name):
    """Takes the lock, adds one and gives the lock back, so many times. How often the lock was not ours any more."""
    stolen = 0
    for _ in range(ROUNDS):
        while not await swap(space, FREE, name):
            await world.sleep("20 us")
        count = int.from_bytes(await space.read(COUNTER), "little")
        await world.sleep("50 us")  # plenty of time for another to come in
        await space.write(COUNTER, (count + 1).to_bytes(512, "little"))
        if not await swap(space, name, FREE):
            stolen += 1
            await space.write(LOCK, FREE)
    return stolen


def count_together(world, **options):
    """What the counter says after both have added, and how often a lock was stolen."""
    subsystem = world.subsystem(**options)
    spaces = [world.host(name).connect(subsystem).wait().namespace(1) for name in ("first", "second")]
    stolen = world.run(*(add(world, space, bytes([number + 1]) * 512) for number, space in enumerate(spaces)))
    return int.from_bytes(subsystem.namespaces[0].stored(COUNTER), "little"), sum(stolen)


@pytest.mark.requirement("nvme.fused.equal")
@pytest.mark.requirement("nvme.fused.mismatch")
def test_one_of_two_wins(world):
    assert count_together(world) == (2 * ROUNDS, 0)


def test_a_target_that_writes_although_the_compare_failed(world):
    counter, stolen = count_together(world, deviations=["fused_write_in_any_case"])
    # The loser is told that it lost, and yet the lock names it: the winner finds the lock gone, and additions are lost.
    assert counter < 2 * ROUNDS and stolen > 0
