"""New firmware goes to a drive out of band, while its health is watched out of band too.

The image travels through the tunnel of Admin commands, in command slot 0, and takes seconds on SMBus. A health poll in
command slot 1 must be answered at once all the same. The new firmware runs after the reset and not before, and an image
with a hole must never run.
"""

import pytest

from fabricbench import commands, sc, wire
from fabricbench.enums import CommitAction, LogPage, MiOpcode

PIECE = 4096  # what one request can carry


def image(revision, size=4 * PIECE):
    """What emulated drives take for firmware: "FBFW", the revision in eight characters, and anything."""
    return (b"FBFW" + revision.ljust(8).encode()).ljust(size, b"\x5A")


async def download(endpoint, data, offsets):
    for at in offsets:
        reply = await endpoint.admin(commands.firmware_download(at, PIECE), data[at:at + PIECE])
        assert reply.ok and reply.nvme_status.ok


def commit(endpoint, action):
    return endpoint.admin(commands.firmware_commit(2, action)).wait().nvme_status


@pytest.mark.requirement("mi.slot.both")
@pytest.mark.requirement("nvme.firmware.download.order")
@pytest.mark.requirement("nvme.firmware.activate.before")
@pytest.mark.requirement("nvme.firmware.activate.reset")
def test_health_is_answered_while_an_image_arrives(world, mctp_bus, endpoint):
    drive = mctp_bus.drives[0]
    polls = []

    async def update():
        # The pieces may come in any order.
        await download(endpoint, image("2.5"), [2 * PIECE, 0, 3 * PIECE, PIECE])
        return world.now

    async def watch():
        for _ in range(15):
            # health() would take slot 0 and wait there until the piece has arrived.
            polls.append(await endpoint.command(MiOpcode.SUBSYSTEM_HEALTH_POLL, slot=1))
            await world.sleep("100 ms")

    begin = world.now
    end, _ = world.run(update(), watch())

    assert end - begin > 4 * 0.4  # 4 KiB at 100 kHz: more than 400 ms for each piece
    assert all(poll.ok and poll.answered < end for poll in polls)
    assert max(poll.answered - poll.sent for poll in polls) < 0.02

    assert commit(endpoint, CommitAction.REPLACE_AND_ACTIVATE).ok
    assert drive.subsystem.firmware_revision == "1.0"
    slots = wire.FirmwareSlots(endpoint.log_page(LogPage.FIRMWARE_SLOT, wire.FirmwareSlots.SIZE).wait())
    assert (slots.cafsi, slots.nrafsi) == (1, 2)

    # An NVM subsystem reset that succeeds has no response, and takes the EID with it.
    assert endpoint.command(MiOpcode.RESET, timeout=1).wait().outcome == "timed_out"
    mctp_bus.enumerate()
    assert endpoint.identify().wait().fr == b"2.5".ljust(8)
    assert mctp_bus.drives[1].subsystem.firmware_revision == "1.0"


@pytest.mark.requirement("nvme.firmware.commit.gap")
@pytest.mark.parametrize("deviations", [[], ["firmware_with_holes"]], ids=["honest", "takes_holes"])
def test_an_image_with_a_hole_never_runs(world, deviations):
    bus = world.mctp_bus()
    drive = bus.add_drive(deviations=deviations)
    bus.enumerate()
    endpoint = bus.requester().endpoint(drive)

    world.run(download(endpoint, image("2.5"), [0, PIECE, 3 * PIECE]))
    status = commit(endpoint, CommitAction.ACTIVATE_AT_ONCE)

    if deviations:
        assert drive.subsystem.firmware_revision == "HOLED"  # who knows what that drive runs now
        return
    assert status == sc.invalid_firmware_image and drive.subsystem.firmware_revision == "1.0"
    # The pieces are void: what was missing, sent later, does not make an image of them.
    world.run(download(endpoint, image("2.5"), [2 * PIECE]))
    assert commit(endpoint, CommitAction.ACTIVATE_AT_ONCE) == sc.invalid_firmware_image
