"""NVMe/TCP with header and data digests, and a network card that flips bits which TCP's own checksum does not see.

A wrong data digest costs the command: the host executes it anew on the same connection. A wrong header digest is a
fatal error: the connection ends with H2CTermReq, and the host makes a new association. In either case the application
gets the data that it wrote. Without digests it gets whatever came, and nobody knows.
"""

import pytest

import fabricbench as fb
from fabricbench import wire
from fabricbench.enums import FatalStatus, PduType

DIGESTS = {"header_digest": True, "data_digest": True}
BLOCKS = 8
PATTERN = bytes(range(256)) * 16


class FlipsOneBit(fb.TargetProduct):
    """A target whose card flips a bit of the next C2HData of an I/O queue, at that byte."""

    def __init__(self, at):
        self.at = at
        self.armed = False

    def pdus_out(self, qid, pdus):
        data = next((index for index, pdu in enumerate(pdus) if pdu[0] == PduType.C2H_DATA), None)
        if qid == 0 or data is None or not self.armed:
            return None
        self.armed = False
        pdu = bytearray(pdus[data])
        pdu[self.at] ^= 0x10
        return [*pdus[:data], bytes(pdu), *pdus[data + 1:]]


class Listener(fb.HostProduct):
    """An honest host whose H2CTermReq PDUs are kept."""

    def __init__(self):
        self.fatal = []

    def pdus_out(self, qid, pdus):
        self.fatal += [FatalStatus(wire.TermReq(pdu[:24]).fes) for pdu in pdus if pdu[0] == PduType.H2C_TERM_REQ]


def read_once_with_a_flip(world, at, digests):
    """The pattern is written, and read again while a bit flips: controller, what was read, and the host's fatal errors."""
    card, listener = FlipsOneBit(at), Listener()
    subsystem = world.subsystem(transport="tcp", product=card)
    host = world.host(transport="tcp", tcp=digests, product=listener)
    controller = host.connect(subsystem, reconnect_delay="10 ms").wait()
    space = controller.namespace(1)
    space.write(0, PATTERN).wait()
    card.armed = True
    return controller, space.read(0, BLOCKS).wait(), listener.fatal


@pytest.mark.requirement("tcp.host.digest.data-wrong")
@pytest.mark.requirement("tcp.host.digest.data-not-fatal")
@pytest.mark.breaks("tcp_ddgst")
def test_a_wrong_data_digest_costs_the_command(world):
    controller, data, fatal = read_once_with_a_flip(world, at=100, digests=DIGESTS)
    assert data == PATTERN
    assert controller.namespace(1).retries == 1 and controller.attempts == 1 and fatal == []


@pytest.mark.requirement("tcp.host.digest.header-wrong")
@pytest.mark.requirement("fabrics.host.reconnect")
@pytest.mark.breaks("tcp_hdgst")
def test_a_wrong_header_digest_costs_the_connection(world):
    # Byte 20 is in DATAL: a host that believed it would wait for data that never comes, or write beyond its buffer.
    controller, data, fatal = read_once_with_a_flip(world, at=20, digests=DIGESTS)
    assert data == PATTERN
    assert controller.namespace(1).retries == 1 and controller.attempts == 2
    assert fatal == [FatalStatus.HEADER_DIGEST_ERROR]


def test_without_digests_nobody_notices(world):
    controller, data, _ = read_once_with_a_flip(world, at=100, digests={})
    assert data != PATTERN and controller.namespace(1).retries == 0


# The first association takes less than 60 PDUs in each direction: a host that cannot even connect does not try again.
@pytest.mark.seeds(5)
@pytest.mark.faults(fb.Plan([fb.Rule("pdu_corrupt", every=20, most=8, after=60)]))
def test_flips_in_both_directions_cost_time_only(world):
    subsystem = world.subsystem(transport="tcp")
    host = world.host(transport="tcp", tcp=DIGESTS)
    space = host.connect(subsystem, reconnect_delay="10 ms").wait().namespace(1)

    async def writer(first):
        for lba in range(first, first + 128, BLOCKS):
            await space.write(lba, PATTERN)
            assert await space.read(lba, BLOCKS) == PATTERN

    world.run(writer(0), writer(128))
    assert world.strikes and subsystem.namespaces[0].stored(0, 256) == PATTERN * 32
