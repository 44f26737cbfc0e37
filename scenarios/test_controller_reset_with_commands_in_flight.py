"""A host resets its controller (CC.EN from 1 to 0) while reads and writes are in flight.

The controller drops the commands that it has not executed and closes the I/O queues without a word about them. The host
has to set everything up anew and to send those commands again: each ends once, with the right data. And what was
acknowledged before the reset must be there after it, flushed or not.
"""

import pytest

from fabricbench import commands

CC, CSTS = 0x14, 0x1C
CC_DISABLED = 0x00460000  # entry sizes as before, EN 0


def block(lba):
    return bytes([lba + 1]) * 512


@pytest.mark.requirement("nvme.write.survives-reset")
@pytest.mark.requirement("nvme.power.reset")
@pytest.mark.parametrize("deviations", [[], ["power_reset_empties_the_cache"]], ids=["honest", "forgets"])
def test_commands_in_flight_are_done_once(world, deviations):
    subsystem = world.subsystem(io_latency="10 ms", power_loss_forgets=True, deviations=deviations)
    medium = subsystem.namespaces[0]
    controller = world.host().connect(subsystem).wait()
    space = controller.namespace(1)
    world.wait_all([space.write(lba, block(lba)) for lba in range(16)])  # acknowledged, and not flushed

    writes = [space.write(lba, block(lba)) for lba in range(16, 32)]
    reads = [space.read(lba) for lba in range(16)]
    world.run_for("1 ms")
    assert medium.totals["writes"] == 16  # those in flight wait in the controller
    reset = controller.reset()
    found = world.wait_all(reads)
    world.wait_all(writes)
    reset.wait()

    if deviations:
        assert found != [block(lba) for lba in range(16)]  # success was said to writes that are gone
        return
    assert found == [block(lba) for lba in range(16)]
    assert all(medium.stored(lba) == block(lba) for lba in range(32))
    assert medium.totals["writes"] == 32 and space.retries == 32
    # It is the same association: a reset leaves the admin queue alone.
    assert [state for _, state in controller.history][-4:] == ["resetting", "enabling", "configuring", "live"]
    assert controller.attempts == 1


@pytest.mark.requirement("fabrics.enable.io-after-disable")
@pytest.mark.requirement("fabrics.reset.clears-ready")
@pytest.mark.parametrize("deviations", [[], ["reset_keeps_queues"]], ids=["honest", "keeps_queues"])
def test_a_reset_ends_the_io_queues(world, deviations):
    """The same without a host's recovery: a queue by hand shows what the controller does by itself."""
    subsystem = world.subsystem(io_latency="10 ms", deviations=deviations)
    host = world.host()
    admin = host.raw_admin(subsystem)
    queue = host.raw_queue(subsystem, qid=1)
    queue.connect().wait()
    queue.send_connect(cntlid=admin.cntlid).wait().check("Connect")
    writes = [queue.send(commands.write(1, lba), block(lba)) for lba in range(4)]
    world.run_for("1 ms")

    admin.send(commands.property_set(CC, CC_DISABLED)).wait().check("CC.EN = 0")
    assert admin.send(commands.property_get(CSTS)).wait().check("CSTS").value & 1 == 0

    world.run_for("1 s")
    if deviations:
        # Writes of before the reset were executed after it: nothing holds them back from what the host writes anew.
        assert subsystem.namespaces[0].totals["writes"] == 4
        for write in writes:
            write.cancel()
        return
    assert not queue.connected and admin.connected
    assert not any(write.wait().answered for write in writes)
    assert subsystem.namespaces[0].totals["writes"] == 0


@pytest.mark.requirement("fabrics.reset.reenable")
def test_a_controller_that_fails_is_left_for_a_new_one(world):
    subsystem = world.subsystem(io_latency="10 ms")
    controller = world.host().connect(subsystem).wait()
    space = controller.namespace(1)
    writes = [space.write(lba, block(lba)) for lba in range(16)]
    world.run_for("1 ms")

    subsystem.controllers[0].fail("a fatal error")
    world.wait_all(writes)

    assert controller.live and controller.attempts == 2 and controller.cntlid == 2
    assert all(subsystem.namespaces[0].stored(lba) == block(lba) for lba in range(16))
