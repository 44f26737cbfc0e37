"""A drive that hangs in VPD Read, and asks for more time instead of an answer.

It says More Processing Required again and again, or once and then nothing more. Its requester must give up in bounded
time, must not believe a half answer, and must go on serving the other drives of the bus meanwhile. The command slot of
the drive stays taken until it is aborted.
"""

import pytest

import fabricbench as fb
from fabricbench import wire
from fabricbench.enums import MiOpcode, MiSlotState, MiStatus, Primitive

ASKS_AGAIN = "slow_commands_ask_again_and_again"  # every 100 ms; the specification allows it once for a command


class HangsInVpdRead(fb.EndpointProduct):
    """A drive whose VPD Read takes ten minutes; all else is at once."""

    def delay(self, request):
        return "10 min" if request[4] == MiOpcode.VPD_READ else None


class AsksAndForgets(fb.EndpointProduct):
    """A drive that asks for time once, without saying how much, and never answers."""

    def admission(self, request):
        return MiStatus.MORE_PROCESSING if request[4] == MiOpcode.VPD_READ else None


def two_drives(world, product, deviations=(), **patience):
    bus = world.mctp_bus()
    drives = [bus.add_drive(product=product, deviations=deviations), bus.add_drive()]
    bus.enumerate()
    requester = bus.requester(**patience)
    return [requester.endpoint(drive) for drive in drives]


def give_up(world, endpoint, neighbour):
    """Reads the VPD while a neighbour's health is polled: the error, how long it took, and the slowest poll."""
    begin, slowest = world.now, 0

    async def read():
        with pytest.raises(fb.MiError) as caught:
            await endpoint.read_vpd()
        return caught.value, world.now - begin

    async def poll():
        nonlocal slowest
        for _ in range(100):
            asked = world.now
            await neighbour.health()
            slowest = max(slowest, world.now - asked)
            await world.sleep("10 ms")

    (error, took), _ = world.run(read(), poll())
    return error, took, slowest


@pytest.mark.requirement("mi.requester.more-processing.bounded")
@pytest.mark.requirement("mi.abort.process")
@pytest.mark.breaks("mi_more_once")
@pytest.mark.parametrize("tolerance", [1, 20])
def test_a_drive_that_asks_again_and_again(world, tolerance):
    # Some requesters bear with a few more than one, for drives are known that need it.
    endpoint, neighbour = two_drives(world, HangsInVpdRead(), [ASKS_AGAIN], more_processing_count_max=tolerance)
    error, took, slowest = give_up(world, endpoint, neighbour)

    assert error.outcome == "violation" and error.reply.more_processing == tolerance + 1
    assert took < 0.1 * (tolerance + 2)
    assert slowest < 0.02

    # The drive is still at it: another command in that slot is discarded without a word, one in the other is served.
    state = wire.PrimitiveResponse(endpoint.primitive(Primitive.GET_STATE).wait().message).cpsr
    assert state & 3 == MiSlotState.PROCESS
    assert endpoint.command(MiOpcode.SUBSYSTEM_HEALTH_POLL, timeout=1).wait().outcome == "timed_out"
    assert endpoint.command(MiOpcode.SUBSYSTEM_HEALTH_POLL, slot=1).wait().ok
    endpoint.primitive(Primitive.ABORT).wait()
    assert endpoint.health().wait().df


@pytest.mark.requirement("mi.requester.more-processing.zero")
@pytest.mark.requirement("mi.requester.timeout")
def test_a_drive_that_asks_once_and_forgets(world):
    endpoint, neighbour = two_drives(world, AsksAndForgets(), timeout=2)
    error, took, slowest = give_up(world, endpoint, neighbour)
    # No time was given: the requester waits as long as it would for the first answer, and as long for the last.
    assert error.outcome == "timed_out" and error.reply.more_processing == 1
    assert 2 < took < 4.1 and slowest < 0.02


@pytest.mark.requirement("mi.requester.more-processing.waits")
def test_a_drive_that_is_slow_and_honest_is_waited_for(world):
    endpoint, _ = two_drives(world, HangsInVpdRead())
    begin = world.now
    # It asks for the ten minutes once; the answer that comes then is as good as any.
    assert len(endpoint.read_vpd(0, 128).wait()) == 128 and world.now - begin > 600
