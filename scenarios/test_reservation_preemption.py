"""A cluster of two hosts: the second takes a shared namespace over from the first.

Both register a key, and the first acquires a reservation (Write Exclusive - Registrants Only). When the second believes
that the first has failed it preempts it. From that moment on a write of the first is answered Reservation Conflict and
does not reach the medium, and the first hears by an event that its registration is gone.
"""

import pytest

import fabricbench as fb
from fabricbench import commands, sc, wire
from fabricbench.enums import AcquireAction, EventType, LogPage, RegisterAction, ReservationNotice, ReservationType

TYPE = ReservationType.WRITE_EXCLUSIVE_REGISTRANTS_ONLY
FIRST_KEY, SECOND_KEY = 0xA11CE, 0xB0B
OLD, NEW = b"first " * 256, b"second" * 256  # three blocks each


def acquire(controller, action, key, victim=0):
    # The record calls both NRKEY and PRKEY `other`: the second key of the 16 bytes.
    keys = wire.ReservationKeys(crkey=key, other=victim)
    return controller.io(commands.reservation_acquire(1, action, TYPE), keys)


def report(controller):
    """Keys of the registrants of the namespace, each with whether it holds the reservation."""
    data = controller.io(commands.reservation_report(1, 4096), room=4096).wait().check("report").data
    count = wire.ReservationStatus(data).regstrnt
    begin, size = wire.ReservationStatus.SIZE, wire.RegisteredController.SIZE
    entries = [wire.RegisteredController(data[begin + i * size:begin + (i + 1) * size]) for i in range(count)]
    return {entry.rkey: entry.holder for entry in entries}


def cluster(world, subsystem):
    """Two hosts that are registered; the first holds the reservation."""
    controllers = [world.host(name).connect(subsystem).wait() for name in ("first", "second")]
    for controller, key in zip(controllers, (FIRST_KEY, SECOND_KEY)):
        command = commands.reservation_register(1, RegisterAction.REGISTER_KEY)
        controller.io(command, wire.ReservationKeys(other=key)).wait().check("register")
    acquire(controllers[0], AcquireAction.ACQUIRE, FIRST_KEY).wait().check("acquire")
    assert report(controllers[1]) == {FIRST_KEY: True, SECOND_KEY: False}
    return controllers


@pytest.mark.requirement("nvme.reservation.preempt.holder")
@pytest.mark.requirement("nvme.reservation.access.write")
@pytest.mark.requirement("nvme.reservation.notice.preempted")
def test_the_second_host_takes_over(world, subsystem):
    first, second = cluster(world, subsystem)
    first.namespace(1).write(0, OLD).wait()

    acquire(second, AcquireAction.PREEMPT, SECOND_KEY, FIRST_KEY).wait().check("preempt")
    assert report(second) == {SECOND_KEY: True}

    with pytest.raises(fb.CommandError) as refused:
        first.namespace(1).write(0, b"too late" * 192).wait()
    # The host must not try again and again: the reservation does not pass by itself.
    assert refused.value.status == sc.reservation_conflict and first.namespace(1).retries == 0
    assert first.namespace(1).read(0, 3).wait() == OLD  # write exclusive: anybody may still read
    second.namespace(1).write(0, NEW).wait()
    assert subsystem.namespaces[0].stored(0, 3) == NEW

    event = first.host.next_event().wait()
    notice = wire.ReservationNotification(event.log)
    assert (event.type, event.log_page) == (EventType.COMMAND_SET, LogPage.RESERVATION_NOTIFICATION)
    assert (notice.rnlpt, notice.nsid) == (ReservationNotice.REGISTRATION_PREEMPTED, 1)
    assert second.host.events_waiting == 0  # who preempts is not told of it


class SlowMedium(fb.TargetProduct):
    """A write is executed a second after it came."""

    def latency(self, command):
        return "1 s" if command.name == "Write" else None


@pytest.mark.requirement("nvme.reservation.preempt.abort")
@pytest.mark.parametrize("deviations", [[], ["reservation_aborts_nothing"]], ids=["honest", "aborts_nothing"])
def test_after_preempt_and_abort_nothing_old_is_under_way(world, deviations):
    subsystem = world.subsystem(product=SlowMedium(), deviations=deviations)
    first, second = cluster(world, subsystem)
    late = first.io(commands.write(1, 0, 3), OLD)
    world.run_for("1 ms")

    acquire(second, AcquireAction.PREEMPT_AND_ABORT, SECOND_KEY, FIRST_KEY).wait().check("preempt and abort")
    world.run_for("1 ms")  # the answers to two hosts take different ways
    if deviations:
        assert not late.done  # still somewhere in the target, after the second host was told that it is not
        return
    assert late.done and late.wait().status in (sc.abort_requested, sc.aborted_preempt_and_abort)
    assert subsystem.namespaces[0].totals["writes"] == 0
