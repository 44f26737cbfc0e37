"""One read takes much longer than the others, and its host wants to be rid of it.

An Abort races with the completion of its command. Either the command ends with Command Abort Requested and the Abort
says so, or the Abort says that it did nothing and the command ends as if nobody had asked: one of the two, never both,
and each command is answered once. Nothing else on the queue is disturbed.
"""

import pytest

import fabricbench as fb
from fabricbench import commands, sc

SLOW_LBA = 100
VICTIM = 0x700  # command identifier of the slow read


class SlowBlock(fb.TargetProduct):
    """So many reads of one block take so long; all others are as fast as ever."""

    def __init__(self, duration, times):
        self.duration, self.times = duration, times

    def latency(self, command):
        if command.name != "Read" or command.sqe.cdw10 != SLOW_LBA or self.times == 0:
            return None
        self.times -= 1
        return self.duration


def block(lba):
    return bytes([lba]) * 512


def race(world, deviations=()):
    """Aborts the read 5 us later each time. What the Abort says (True: aborted), and how the read ended."""
    subsystem = world.subsystem(product=SlowBlock("100 us", times=1000), deviations=deviations)
    subsystem.namespaces[0].store(0, b"".join(block(lba) for lba in range(128)))
    host = world.host()
    admin = host.raw_admin(subsystem)
    queue = host.raw_queue(subsystem, qid=1)
    queue.connect().wait()
    queue.send_connect(cntlid=admin.cntlid).wait().check("Connect")

    outcomes = set()
    for microseconds in range(80, 120, 5):
        slow = queue.send(commands.read(1, SLOW_LBA).copy(cid=VICTIM), room=512)
        others = [queue.send(commands.read(1, lba), room=512) for lba in range(8)]
        world.run_for(f"{microseconds} us")
        aborted = admin.send(commands.abort(1, VICTIM)).wait().check("Abort").dw0 & 1 == 0
        answer = slow.wait()
        outcomes.add((aborted, str(answer.status)))
        assert answer.data == block(SLOW_LBA) or not answer.ok
        assert [other.wait().data for other in others] == [block(lba) for lba in range(8)]
    world.run_for("10 ms")  # a second completion of any of them would be found by the rule nvme_completion_twice
    return outcomes


@pytest.mark.requirement("nvme.abort.unknown")
@pytest.mark.requirement("nvme.completion.identity")
def test_either_the_abort_or_the_completion_wins(world):
    assert race(world) == {(True, str(sc.abort_requested)), (False, str(sc.success))}


@pytest.mark.parametrize("deviation", ["abort_claims_success", "abort_without_effect"])
def test_an_abort_that_does_not_tell_the_truth(world, deviation):
    # The host would give the buffer to somebody else, and the read writes into it.
    assert (True, str(sc.success)) in race(world, [deviation])


def test_a_host_aborts_what_takes_too_long(world):
    """What an application sees of it is nothing but time: the host aborts the first attempt and reads again."""
    subsystem = world.subsystem(product=SlowBlock("20 s", times=1))
    subsystem.namespaces[0].store(SLOW_LBA, block(SLOW_LBA))
    controller = world.host().connect(subsystem, io_timeout="2 s").wait()
    space = controller.namespace(1)

    slow, fast = space.read(SLOW_LBA), space.read(0)
    fast.wait(limit="1 ms")
    assert slow.wait() == block(SLOW_LBA)
    assert 2 < world.now < 2.1 and space.retries == 1
    assert controller.attempts == 1  # no reset, no new association
