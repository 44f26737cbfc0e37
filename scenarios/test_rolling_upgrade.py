"""New firmware for a subsystem whose host writes to it all the time, through two controllers.

The image goes to one controller in pieces and is committed to slot 2, to run after the next reset. Then the host resets
its controllers one after the other, so that there is always a path. Until the first reset the old firmware has to run,
after it all controllers have to name the new revision, and no write may fail.
"""

import pytest

from fabricbench import sc
from fabricbench.enums import CommitAction, EventType, LogPage


def image(revision):
    """Firmware of the emulated subsystem: a magic number, the revision in eight characters, and anything."""
    return b"FBFW" + revision.ljust(8).encode() + bytes(range(256)) * 64


def block(number):
    return number.to_bytes(4, "little") * 128


def two_controllers(world, **options):
    subsystem = world.subsystem(ports=2, firmware="1.0", io_latency="100 us", **options)
    host = world.host()
    return subsystem, host, [host.connect(subsystem, port=number).wait() for number in (1, 2)]


async def revisions(controllers):
    return [bytes((await controller.identify()).fr).decode().strip() for controller in controllers]


@pytest.mark.requirement("nvme.firmware.activate.before")
@pytest.mark.requirement("nvme.firmware.activate.reset")
@pytest.mark.requirement("nvme.firmware.activate.all")
def test_one_controller_after_the_other(world):
    subsystem, host, controllers = two_controllers(world)
    first, second = controllers
    space = host.namespace(1)
    upgraded = False
    written = 0

    async def write():
        nonlocal written
        while not upgraded:
            await space.write(written, block(written))
            written += 1

    async def upgrade():
        nonlocal upgraded
        for piece in reversed(first.firmware_download(image("2.0"))):
            await piece
        (await first.firmware_commit(2, CommitAction.REPLACE_AND_ACTIVATE)).check("commit")
        slots = await second.log.firmware()  # all controllers share the slots
        assert (slots.cafsi, slots.nrafsi) == (1, 2)
        assert await revisions(controllers) == ["1.0", "1.0"]

        await first.reset()
        assert await revisions(controllers) == ["2.0", "2.0"]
        assert not second.history[4:]  # the second was live all the time
        await second.reset()
        slots = await second.log.firmware()
        assert (slots.cafsi, slots.nrafsi) == (2, 0)
        upgraded = True

    world.run(write(), upgrade())
    assert written > 10 and subsystem.firmware_revision == "2.0"
    assert all(subsystem.namespaces[0].stored(lba) == block(lba) for lba in range(written))


@pytest.mark.requirement("nvme.firmware.activate.at-once")
@pytest.mark.requirement("nvme.firmware.event")
@pytest.mark.parametrize("at_once", [True, False])
def test_activation_without_a_reset(world, at_once):
    subsystem, host, (first, second) = two_controllers(world, firmware_update={"activates_at_once": at_once})
    write = host.namespace(1).write(0, block(7))
    world.wait_all(first.firmware_download(image("2.0")))
    answer = first.firmware_commit(2, CommitAction.ACTIVATE_AT_ONCE).wait()
    write.wait()

    if not at_once:
        # A status that is no error: the image is in its slot, and runs after a reset.
        assert answer.status == sc.firmware_needs_controller_reset and subsystem.firmware_revision == "1.0"
        second.reset().wait()
        assert subsystem.firmware_revision == "2.0"
        return
    assert answer.ok and subsystem.firmware_revision == "2.0"
    # Every host has to hear that the controller that it identified is another one now.
    events = [host.next_event().wait() for _ in range(2)]
    assert {(event.controller.cntlid, event.type, event.log_page) for event in events} == {
        (1, EventType.NOTICE, LogPage.FIRMWARE_SLOT), (2, EventType.NOTICE, LogPage.FIRMWARE_SLOT)}
