"""A host loses one of two controllers with a write under way, and has the other one reset it.

By time alone the host has to wait for keep alive timeouts before it may write elsewhere. With Cross-Controller Reset (NVM
Express Base 2.3, 8.3.3) it goes on as soon as the controller behind the cut cable certainly executes nothing any more. A
copy of an old write must never come to lie on top of a newer one.
"""

import pytest

import fabricbench as fb


class SlowController(fb.TargetProduct):
    """The writes of controller 2 are under way when the cable breaks, and executed shortly before its keep alive timer expires."""

    def latency(self, command):
        return "19 s" if command.name == "Write" and command.cntlid == 2 else "50 us"


def block(number, generation):
    return bytes([number, generation]) * 256


def lose_a_controller(world, deviations=(), **reset):
    """What is stored in the end, and how long the first writes took."""
    subsystem = world.subsystem(ports=2, product=SlowController(), deviations=deviations, cross_controller_reset=reset)
    host = world.host()
    for number in (1, 2):
        host.connect(subsystem, port=number, kato_ms=20_000).wait()
    space = host.namespace(1)
    old = [space.write(lba, block(lba, 1)) for lba in range(2)]
    world.run_for("1 ms")
    world.link(host, "target2").cut()
    begun = world.now
    world.wait_all(old)
    took = world.now - begun
    world.wait_all([space.write(lba, block(lba, 2)) for lba in range(2)])
    world.run_for("2 min")
    return [subsystem.namespaces[0].stored(lba) for lba in range(2)], took


@pytest.mark.requirement("nvme.ccr.host.proceeds")
def test_a_reset_is_faster_than_time_and_as_safe(world):
    stored, took = lose_a_controller(world, limit=4)
    assert stored == [block(0, 2), block(1, 2)]
    assert took < 20  # the keep alive timeout


@pytest.mark.requirement("nvme.ccr.host.failed")
def test_after_a_failure_time_decides(world):
    stored, took = lose_a_controller(world, limit=4, reaches_others=False)
    assert took > 20  # the keep alive timeout
    assert stored == [block(0, 2), block(1, 2)]


@pytest.mark.requirement("nvme.ccr.reset.association")
def test_a_controller_that_only_claims_to_be_reset_overwrites_newer_data(world):
    stored, _ = lose_a_controller(world, ["ccr_resets_nothing"], limit=4)
    assert stored != [block(0, 2), block(1, 2)]
