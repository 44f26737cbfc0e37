"""Two drives behind an MCTP bridge, a third beside it, and the bridge forgets its routes while answers are on their way.

What comes for the drives behind it is dropped without a word: MCTP has no error for that. So the requester has to come
to an end by its own timeout, must not take a half answer for a whole one, and must go on with the drive that is on its
own bus. When the bus owner has enumerated the buses again all drives are reached again.
"""

import pytest

import fabricbench as fb

TIMEOUT = 1.0


def bus_with_a_bridge(world):
    bus = world.mctp_bus()
    near = bus.add_drive()
    bridge = bus.add_bridge()
    segment = bus.add_segment_behind(bridge)
    far = [bus.add_drive(segment=segment) for _ in range(2)]
    bus.enumerate()
    return bus, bridge, near, far


@pytest.mark.requirement("mi.requester.timeout")
@pytest.mark.requirement("mctp.requester.spoiled")
def test_requests_through_a_bridge_without_routes_end(world):
    bus, bridge, near, far = bus_with_a_bridge(world)
    assert [known.eid for known in bus.known if known.behind == bridge.eid] == [drive.eid for drive in far]
    requester = bus.requester(timeout=TIMEOUT)
    begin = world.now

    # 4 KiB from each take a second on their bus: the routes vanish in the middle of both messages.
    identifies = [requester.endpoint(drive).identify() for drive in far]
    world.run_for("100 ms")
    assert bridge.forwarded > 20  # of the control commands, and of the beginning of the answers
    bridge.forget_routes()

    for identify in identifies:
        with pytest.raises(fb.MiError, match="no answer") as caught:
            identify.wait()
        assert caught.value.outcome == "timed_out"
    assert TIMEOUT <= world.now - begin < TIMEOUT + 0.1
    assert requester.endpoint(near).health().wait().df

    # A new request is no better off, and says so in the same way.
    with pytest.raises(fb.MiError, match="no answer"):
        requester.endpoint(far[0]).health().wait()


@pytest.mark.parametrize("accident", ["bridge_forgets", "drive_loses_power"])
def test_another_enumeration_brings_them_back(world, accident):
    bus, bridge, near, far = bus_with_a_bridge(world)
    requester = bus.requester(timeout=TIMEOUT)
    if accident == "bridge_forgets":
        bridge.forget_routes()
    else:
        far[0].power_cycle()

    bus.enumerate()
    assert len({drive.eid for drive in [near, *far]} - {0}) == 3
    for drive in [near, *far]:
        assert requester.endpoint(drive).health().wait().df
