"""Messages find no receive posted: the receiver answers them with RNR NAKs (receiver not ready).

The sender has to wait as long as the NAK says and to send the message again, NVMe hosts and controllers as often as it
takes (RNR retry count 7). So a short storm costs time and nothing else. One that outlasts the patience of the host ends
the association; the host makes a new one as soon as it can, and its writes are there all the same.
"""

import pytest

import fabricbench as fb

RNR_TIMER = 0.00064  # what the emulated devices ask for: code 12


def block(lba):
    return bytes([lba + 1]) * 512


def storm(place, messages):
    """The first 60 messages to `place` get through, enough for the host to connect; the next so many do not."""
    return pytest.mark.faults(fb.Schedule([f"receive:{place}#{60 + i} receive_missing" for i in range(messages)]))


def write_in_the_storm(world, subsystem, **options):
    """Writes 100 blocks; the host's controller, and the shortest time between two RNR NAKs."""
    controller = world.host().connect(subsystem, **options).wait()
    space = controller.namespace(1)
    world.wait_all([space.write(lba, block(lba)) for lba in range(100)])

    assert len(world.strikes) == world.marks("rc.rnr.sent")  # an RNR NAK for each message that found no receive
    assert all(subsystem.namespaces[0].stored(lba) == block(lba) for lba in range(100))
    # With faults the fixture excuses broken rules; these faults are no reason for any.
    assert world.findings() == []
    times = [strike.at for strike in world.strikes]
    return controller, min(later - before for before, later in zip(times, times[1:]))


@pytest.mark.requirement("rdma.rnr.no-receive")
@pytest.mark.requirement("rdma.requester.rnr-wait")
@pytest.mark.parametrize("place", [pytest.param(place, marks=storm(place, 20)) for place in ("target", "host")])
def test_a_short_storm_costs_time_only(world, subsystem, place):
    controller, shortest_wait = write_in_the_storm(world, subsystem)
    assert len(world.strikes) == 20
    assert all(strike.decision.startswith(f"receive:{place}#") for strike in world.strikes)
    assert controller.attempts == 1 and controller.namespace(1).retries == 0
    assert shortest_wait >= RNR_TIMER


@pytest.mark.requirement("fabrics.host.reconnect")
@storm("target", 300)
def test_a_long_storm_ends_the_association(world, subsystem):
    controller, _ = write_in_the_storm(world, subsystem, io_timeout="50 ms", abort_grace="20 ms")
    assert controller.live and controller.attempts > 1
    assert controller.namespace(1).retries > 0


@storm("host", 20)
@pytest.mark.deviation("rdma_ignores_rnr_timer")
def test_a_sender_that_does_not_wait_is_found(world, subsystem):
    _, shortest_wait = write_in_the_storm(world, subsystem)
    assert shortest_wait < RNR_TIMER
