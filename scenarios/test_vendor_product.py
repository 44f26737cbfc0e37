"""A product with commands of its own: a scratch memory in the controller, behind vendor specific Admin opcodes.

Bits 1:0 of an opcode say which way its data goes, so C1h brings data from the host, C2h takes data to it, and C0h moves
none. The product says how many bytes move and executes the command; queues, transports and completions are the
model's. Data of any size has to arrive whole over RDMA and TCP, and what the product refuses must change nothing.
"""

import pytest

import fabricbench as fb
from fabricbench import commands, sc

FILL, STORE, FETCH = 0xC0, 0xC1, 0xC2
SCRATCH = 64 << 10


class ScratchMemory(fb.TargetProduct):
    """CDW10: number of dwords; CDW11: byte offset. FILL has the byte in CDW12, and returns a count in DW0."""

    def __init__(self):
        self.memory = bytearray(SCRATCH)
        self.fills = 0

    def own_command(self, command):
        if command.qid != 0 or command.opcode not in (FILL, STORE, FETCH):
            return None  # the model knows it, or refuses it
        return 0 if command.opcode == FILL else 4 * command.sqe.cdw10

    def execute(self, command, data):
        begin, length = command.sqe.cdw11, 4 * command.sqe.cdw10
        if begin + length > SCRATCH:
            return sc.lba_out_of_range
        place = slice(begin, begin + length)
        if command.opcode == STORE:
            self.memory[place] = data
        elif command.opcode == FETCH:
            data[:] = self.memory[place]
        else:
            self.memory[place] = bytes([command.sqe.cdw12]) * length
            self.fills += 1
            return sc.success, self.fills
        return None


def command(opcode, length, offset, byte=0):
    return commands.any_command(opcode).copy(cdw10=length // 4, cdw11=offset, cdw12=byte)


@pytest.fixture(params=["rdma", "tcp"])
def connected(request, world):
    """The product, and two controllers of two hosts."""
    product = ScratchMemory()
    subsystem = world.subsystem(transport=request.param, product=product)
    hosts = [world.host(transport=request.param) for _ in range(2)]
    return product, *[host.connect(subsystem).wait() for host in hosts]


@pytest.mark.parametrize("length", [4, 512, 60 << 10])
def test_data_goes_both_ways(connected, length):
    product, first, second = connected
    pattern = bytes(range(251)) * (length // 251 + 1)

    # 60 KiB are fetched by the controller (RDMA READ, or R2T).
    first.admin(command(STORE, length, 1024), data=pattern[:length]).wait().check("store")
    assert product.memory[1024:1024 + length] == pattern[:length]
    assert not any(product.memory[:1024]) and not any(product.memory[1024 + length:])
    answer = second.admin(command(FETCH, length, 1024), room=length).wait().check("fetch")
    assert answer.data == pattern[:length]


def test_a_command_without_data_returns_a_number(connected):
    product, first, second = connected
    ops = [controller.admin(command(FILL, 256, 0, 0xAB)) for controller in (first, second, first)]
    assert sorted(op.wait().check("fill").dw0 for op in ops) == [1, 2, 3]
    assert product.memory[:260] == b"\xAB" * 256 + bytes(4)


@pytest.mark.requirement("nvme.opcode.admin-unknown")
@pytest.mark.requirement("nvme.opcode.io-unknown")
def test_what_is_refused_changes_nothing(connected):
    product, first, _ = connected
    answer = first.admin(command(STORE, 512, SCRATCH - 256), data=b"\xFF" * 512).wait()
    assert answer.status == sc.lba_out_of_range and not any(product.memory)
    # An opcode next to its own ones, and one of its own on an I/O queue: those are the model's, which has no such commands.
    assert first.admin(command(0xC4, 0, 0)).wait().status == sc.invalid_opcode
    assert first.io(command(FILL, 4, 0, 1)).wait().status == sc.invalid_opcode
