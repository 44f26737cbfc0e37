"""A subsystem with a volatile write cache loses power.

What was flushed before, or written with FUA, or while the cache was off, must be there afterwards. Of the rest the
target may keep an arbitrary part: of each block the old data or the new. A host that puts a record on the medium which
says "the data is there" has to flush in between; without that the record may survive and the data may not.
"""

import pytest

from fabricbench import commands

BLOCKS = 32


def block(lba, generation):
    return bytes([lba, generation]) * 256


def write_all(world, space, generation):
    world.wait_all([space.write(lba, block(lba, generation)) for lba in range(BLOCKS)])


def generations(space):
    """Which of the writes each block holds. A block that holds parts of two, or another's, is found at once."""
    data = space.read(0, BLOCKS).wait()
    found = [data[512 * lba + 1] for lba in range(BLOCKS)]
    assert all(data[512 * lba:512 * (lba + 1)] == block(lba, found[lba]) for lba in range(BLOCKS) if found[lba])
    return found


@pytest.mark.requirement("nvme.power.flush")
@pytest.mark.seeds(4)
@pytest.mark.parametrize("deviations", [[], ["power_takes_flushed_data"]], ids=["honest", "flushes_nothing"])
def test_what_was_flushed_survives(world, fb_seed, deviations):
    subsystem = world.subsystem(power_loss_forgets=True, deviations=deviations)
    space = world.host().connect(subsystem).wait().namespace(1)
    write_all(world, space, 1)
    space.flush().wait()
    write_all(world, space, 2)
    subsystem.power_cycle()

    found = generations(space)  # the read waits until the host has connected again
    if deviations:
        assert 0 in found  # blocks of which the host believes that they are safe
    else:
        assert set(found) == {1, 2}


@pytest.mark.requirement("nvme.power.fua")
@pytest.mark.requirement("nvme.power.cache-off")
def test_fua_and_a_cache_that_is_off(world):
    subsystem = world.subsystem(power_loss_forgets=True)
    controller = world.host().connect(subsystem).wait()
    space = controller.namespace(1)
    write_all(world, space, 1)  # into the cache
    for lba in range(0, BLOCKS, 2):
        controller.io(commands.write(1, lba).copy(fua=1), block(lba, 2)).wait().check("Write with FUA")
    subsystem.power_cycle()
    found = generations(space)
    assert found[0::2] == [2] * (BLOCKS // 2)
    assert set(found[1::2]) == {0, 1}  # some are lost: FUA speaks of its own blocks alone

    controller.features.volatile_write_cache = 0
    write_all(world, space, 3)
    subsystem.power_cycle()
    assert generations(space) == [3] * BLOCKS


def committed_without_data(world, flush):
    """Writes data, and in the next block a record of it, 16 times. After the loss: how many records have no data."""
    subsystem = world.subsystem(power_loss_forgets=True)
    space = world.host().connect(subsystem).wait().namespace(1)
    for lba in range(0, BLOCKS, 2):
        space.write(lba, block(lba, 1)).wait()
        if flush:
            space.flush().wait()
        space.write(lba + 1, block(lba + 1, 1)).wait()
    subsystem.power_cycle()
    found = generations(space)
    return sum(record > data for data, record in zip(found[0::2], found[1::2]))


@pytest.mark.requirement("nvme.power.flush")
def test_a_record_needs_a_flush_before_it(world):
    assert committed_without_data(world, flush=True) == 0
    assert committed_without_data(world, flush=False) > 0
