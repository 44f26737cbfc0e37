"""A host uses a command identifier again while its first command is still in flight.

A completion says by the identifier alone which command it answers, so the host could not tell the two apart. The target
has to refuse the second with Command ID Conflict, not to execute it, and to finish the first as if nothing was.
"""

import pytest

import fabricbench as fb
from fabricbench import commands, sc

FIRST, SECOND = b"first   " * 64, b"second  " * 64


class Lenient(fb.TargetProduct):
    """Never looks whether an identifier is in use; the first command is slower than the second."""

    def refuses(self, command, check, status):
        return check != "command.cid.unique"

    def latency(self, command):
        return "10 ms" if command.sqe.cdw10 == 0 else "1 ms"  # CDW10: the low half of SLBA


def io_queue(world, subsystem, transport):
    """An I/O queue that sends what it is told. A response goes to the oldest command with its identifier."""
    host = world.host(transport=transport)
    admin = host.raw_admin(subsystem)
    # Data of a write goes with its command: when the target asks for it by identifier later, the host has it wrong.
    queue = host.raw_queue(subsystem, qid=1, in_capsule_bytes=4096)
    queue.connect().wait()
    queue.send_connect(cntlid=admin.cntlid).wait().check("Connect")
    return queue


@pytest.mark.requirement("nvme.completion.identity")
@pytest.mark.breaks("nvme_cid_reuse")
@pytest.mark.parametrize("transport", ["rdma", "tcp"])
def test_the_second_command_is_refused(world, transport):
    subsystem = world.subsystem(transport=transport, io_latency="10 ms")
    queue = io_queue(world, subsystem, transport)
    answers = [queue.send(commands.write(1, lba).copy(cid=7), data) for lba, data in enumerate([FIRST, SECOND])]

    early, late = (answer.wait() for answer in answers)
    # The refusal comes at once, and is of the second command. The first one's answer comes when it is done.
    assert early.status == sc.command_id_conflict and early.status.dnr
    assert late.ok and late.at - early.at > 0.009
    assert subsystem.namespaces[0].stored(0, 2) == FIRST + bytes(512)
    # The identifier is free again.
    queue.send(commands.write(1, 1).copy(cid=7), SECOND).wait().check("a third write")
    # The rules that are held against every trace name the host as the one who is wrong.
    assert [(one["rule"], one["actor"]) for one in world.findings()] == [("nvme_cid_reuse", "host")]


@pytest.mark.breaks("nvme_cid_reuse")
def test_without_the_check_data_is_mixed_up(world):
    subsystem = world.subsystem(transport="tcp", product=Lenient())
    subsystem.namespaces[0].store(0, FIRST + SECOND)
    queue = io_queue(world, subsystem, "tcp")
    reads = [queue.send(commands.read(1, lba).copy(cid=7), room=512) for lba in range(2)]
    first, second = (read.wait().check("read") for read in reads)
    # Both succeed, and each has the other's data: no digest and no status tells the host.
    assert (first.data, second.data) == (SECOND, FIRST)


@pytest.mark.requirement("nvme.host.cid-unique")
@pytest.mark.deviation("host_reuses_identifiers")
def test_a_host_with_one_identifier_for_all_commands(world, host):
    subsystem = world.subsystem(io_latency="1 ms")
    space = host.connect(subsystem).wait().namespace(1)
    space.write(0, FIRST).wait()  # one at a time does no harm
    assert world.findings() == []

    pair = [space.write(lba, SECOND) for lba in range(2)]
    with pytest.raises(fb.CommandError, match="block 0 .*Command ID Conflict"):
        pair[0].wait()
    pair[1].wait()
    # It was block 1 that the target refused: the host holds a write for done that was never executed.
    assert subsystem.namespaces[0].stored(0, 2) == SECOND + bytes(512)
    assert {one["rule"] for one in world.findings()} == {"nvme_cid_reuse"}
