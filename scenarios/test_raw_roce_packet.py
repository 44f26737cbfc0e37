"""A peer that makes RoCEv2 packets by hand, and a target whose device has to judge them.

A packet with a wrong invariant CRC may be anybody's: it is dropped without a word, and changes nothing. A packet behind
a gap in the PSNs is answered by one NAK that names the PSN that is expected, however many follow it. When the missing
packet comes it is taken as if nothing had been.
"""

import pytest

import fabricbench as fb
from fabricbench import commands, sc, wire
from fabricbench.enums import RoceOpcode

SEQUENCE_NAK = 0x60  # syndrome: NAK, PSN sequence error


class Peer:
    """A connection for an admin queue, made by hand."""

    def __init__(self, world, **options):
        port = world.subsystem(**options).target.ports[0]
        self.roce = world.raw_roce(port.address)
        # NVMe's private data: queue 0, with room for 32 commands.
        self.connection = self.roce.connect(port.port, wire.RdmaRequest(qid=0, hrqsize=32, hsqsize=31))

    def send(self, ahead, good_icrc=True):
        """A SEND with a command capsule, so many packets ahead of the first PSN. Its CID is 7 and as many more."""
        command = commands.property_get(0x1C).copy(cid=7 + ahead)
        psn = (self.connection.send_psn + ahead) % (1 << 24)
        self.roce.send(opcode=RoceOpcode.SEND_ONLY, qpn=self.connection.remote_qpn, psn=psn, ackreq=True, payload=bytes(command),
                       good_icrc=good_icrc)

    def hear(self):
        """All that comes within 10 ms: acknowledgements as (syndrome, how far from the first PSN), completions as CIDs."""
        heard = []
        while (packet := self.roce.next_packet("10 ms")) is not None:
            assert packet.icrc_good and packet.qpn == self.connection.local_qpn
            if packet.opcode == RoceOpcode.ACKNOWLEDGE:
                heard.append((packet.aeth.syndrome & 0x60, packet.psn - self.connection.send_psn))
            else:
                cqe = wire.Cqe(packet.payload[:16])
                # There was no Connect yet, so the command is answered, but not with what it asks for.
                assert fb.Status(cqe.status) == sc.command_sequence_error
                heard.append(cqe.cid)
        return heard


@pytest.mark.requirement("rdma.icrc.bad-dropped")
@pytest.mark.breaks("rdma_icrc", "nvme_connect_first")
def test_a_wrong_icrc_is_dropped_without_a_word(world):
    peer = Peer(world)
    peer.send(0, good_icrc=False)
    assert peer.hear() == []
    # The PSN was not used up: the same packet, this time whole, is the first.
    peer.send(0)
    assert peer.hear() == [(0, 0), 7]


@pytest.mark.requirement("rdma.psn.gap")
@pytest.mark.breaks("rdma_psn_first", "rdma_psn")
def test_a_gap_is_answered_by_one_nak(world):
    peer = Peer(world)
    for ahead in (1, 2, 3):
        peer.send(ahead)
    assert peer.hear() == [(SEQUENCE_NAK, 0)]
    # What came ahead of its turn was not kept: the sender has to send all of it again.
    peer.send(0)
    peer.send(1)
    assert [one for one in peer.hear() if isinstance(one, int)] == [7, 8]


@pytest.mark.breaks("rdma_icrc", "rdma_ack_beyond", "nvme_connect_first")
def test_a_device_that_does_not_look_at_the_icrc_is_found(world):
    peer = Peer(world, deviations=["rdma_takes_bad_icrc"])
    peer.send(0, good_icrc=False)
    assert 7 in peer.hear()  # it has executed a command that nobody has sent so
