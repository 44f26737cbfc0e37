"""A drive becomes hot and cools down again while somebody reads long pages from it.

The health poll has to follow: the temperature in degrees Celsius, the warning (SMART's critical warning, inverted) from
the threshold on and no longer than above it, and the change flags, each once for each change. The pages that are read
in the other command slot must neither hold the polls up nor get into their answers.
"""

from itertools import groupby

import pytest

from fabricbench import wire
from fabricbench.enums import MiOpcode

CTEMP, PDLU, SPARE, CWARN = 1 << 9, 1 << 10, 1 << 11, 1 << 12  # in the composite controller status
TEMPERATURE_WARNING, RELIABILITY_WARNING = 0x02, 0x04
CLEAR_STATUS = 1 << 31  # CS


def heat(world, bus):
    """The drive's temperature goes from 310 K to 360 K and back in steps of 5 K: what the polls said meanwhile."""
    drive = bus.drives[0]
    endpoint = bus.requester().endpoint(drive)
    steps = [*range(310, 360, 5), *range(360, 305, -5)]
    polls = []
    done = False

    async def weather():
        nonlocal done
        for kelvins in steps:
            drive.subsystem.temperature = kelvins
            await world.sleep("100 ms")
        done = True

    async def load():
        while not done:
            # 4 KiB through the tunnel, in command slot 0: more than 400 ms on SMBus.
            assert (await endpoint.identify()).sn.startswith(b"FB")

    async def watch():
        while not done:
            reply = await endpoint.command(MiOpcode.SUBSYSTEM_HEALTH_POLL, nmd1=CLEAR_STATUS, slot=1)
            assert reply.ok and reply.answered - reply.sent < 0.05
            polls.append(wire.SubsystemHealth(reply.data))
            await world.sleep("20 ms")

    world.run(weather(), load(), watch())
    return steps, polls


def check(steps, polls):
    threshold = 343  # WCTEMP of Identify Controller, which is the threshold until a host sets another
    assert [celsius for celsius, _ in groupby(poll.ctemp for poll in polls)] == [kelvins - 273 for kelvins in steps]
    for poll in polls:
        assert ~poll.sw & 0xFF == (TEMPERATURE_WARNING if poll.ctemp + 273 >= threshold else 0)
    # Each change is told once: the poll that tells it clears it.
    assert sum(bool(poll.ccs & CTEMP) for poll in polls) == len(steps) - 1
    assert sum(bool(poll.ccs & CWARN) for poll in polls) == 2
    assert {poll.ccs for poll in polls} == {0, CTEMP, CTEMP | CWARN}


@pytest.mark.requirement("mi.health.temperature")
@pytest.mark.requirement("mi.health.warnings")
@pytest.mark.requirement("mi.health.clear")
def test_the_poll_follows_the_temperature(world, mctp_bus):
    check(*heat(world, mctp_bus))


@pytest.mark.requirement("mi.health.life-used.range")
@pytest.mark.requirement("mi.health.changes.life-used")
@pytest.mark.requirement("mi.health.changes.spare")
@pytest.mark.requirement("mi.health.warnings.each")
def test_a_drive_that_wears_out(mctp_bus, endpoint):
    subsystem = mctp_bus.drives[0].subsystem
    subsystem.percentage_used = 130  # rated life is not the end of a drive
    assert endpoint.health().wait().ccs == PDLU
    subsystem.available_spare = 40
    subsystem.critical_warning = RELIABILITY_WARNING

    # PDLU is there still, for nobody has cleared it.
    health = endpoint.health(clear=True).wait()
    assert health.pdlu == 130 and health.sw == 0xFF ^ RELIABILITY_WARNING and health.ccs == PDLU | SPARE | CWARN
    # Every controller says so, and SMART, which the tunnel of Admin commands gives, says the same.
    smart = endpoint.smart().wait()
    assert (smart.pused, smart.avsp, smart.cw) == (130, 40, RELIABILITY_WARNING)
    for one in endpoint.controller_health().wait():
        assert (one.ctemp, one.pdlu, one.spare, one.cwarn) == (smart.ctemp, 130, 40, RELIABILITY_WARNING)

    subsystem.critical_warning = 0
    health = endpoint.health(clear=True).wait()
    assert health.sw == 0xFF and health.ccs == CWARN
    assert endpoint.health().wait().ccs == 0


@pytest.mark.parametrize("deviation", ["temperature_in_kelvins", "warnings_are_not_inverted", "changes_are_never_cleared"])
def test_drives_that_tell_it_wrongly_are_found(world, deviation):
    bus = world.mctp_bus()
    bus.add_drive(deviations=[deviation])
    bus.enumerate()
    steps, polls = heat(world, bus)
    with pytest.raises(AssertionError):
        check(steps, polls)
