"""A cable is out for longer than the Keep Alive Timeout while a host writes.

The controller hears nothing, so it has to end the association when KATO has passed, and not before. The host has to
notice as well, to make a new association when the cable is back, and to finish its writes: all that was acknowledged is
there afterwards. A cable that is out for a moment only must cost nothing but time.
"""

import pytest

import fabricbench as fb
from fabricbench import sc

KATO = 5  # seconds


def block(number):
    return bytes([number, number ^ 0xFF]) * 256


def write_through_an_outage(world, subsystem, host, outage):
    """128 writes with the cable out in between. The host's controller, and when the target's was seen to be gone."""
    controller = host.connect(subsystem, kato_ms=1000 * KATO).wait()
    space = host.namespace(1)

    async def writer(first):
        for lba in range(first, first + 64):
            await space.write(lba, block(lba))
            await world.sleep("1 ms")

    async def accident():
        await world.sleep("30 ms")
        world.link(host, "target").cut(outage)
        began = world.now
        while world.now < began + outage:
            await world.sleep("100 ms")
            if not subsystem.controllers:
                return world.now
        return None

    # Two writers at once, so that the cut hits commands in flight.
    *_, ended = world.run(writer(0), writer(64), accident())
    return controller, ended


@pytest.mark.requirement("fabrics.keep-alive.expires")
@pytest.mark.requirement("fabrics.host.reconnect")
def test_a_long_outage_ends_the_association_and_loses_no_write(world, subsystem, host):
    controller, ended = write_through_an_outage(world, subsystem, host, 3 * KATO)

    # No Keep Alive came after the association was made: KATO counts from there.
    assert KATO <= ended <= KATO + 1
    assert controller.live and controller.cntlid == 2  # a new one of the dynamic controller model
    assert [state for _, state in controller.history].count("live") == 2
    assert host.namespace(1).retries == 2  # the two writes that were in flight
    assert all(subsystem.namespaces[0].stored(lba) == block(lba) for lba in range(128))


@pytest.mark.requirement("fabrics.keep-alive.keeps")
def test_a_short_outage_is_bridged_by_the_transport(world, subsystem, host):
    controller, ended = write_through_an_outage(world, subsystem, host, 1)
    assert ended is None and controller.attempts == 1 and host.namespace(1).retries == 0
    assert all(subsystem.namespaces[0].stored(lba) == block(lba) for lba in range(128))


@pytest.mark.requirement("fabrics.keep-alive.reconnect-after")
@pytest.mark.deviation("keep_alive_locks_out")
def test_a_subsystem_that_lets_nobody_back_in_is_found(world, subsystem, host):
    # The host tries for its controller loss timeout of ten minutes, and only then tells the application.
    with pytest.raises(fb.CommandError) as failed:
        write_through_an_outage(world, subsystem, host, 3 * KATO)
    assert failed.value.status == sc.host_pathing_error and world.now > 600
