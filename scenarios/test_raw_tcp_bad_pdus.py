"""A peer that speaks NVMe/TCP by hand, byte for byte, and gets one PDU wrong.

The controller has to answer with a C2HTermReq that names the error (FES), the field (FEI) and brings the wrong header
back, and has to close the connection. Hosts on other connections must not notice. A peer that greets as it should is
served, with the digests that it asked for.
"""

import pytest

from fabricbench import commands, wire
from fabricbench.enums import FatalStatus, PduType

GREETING = wire.IcReq(type=PduType.IC_REQ, hlen=128, plen=128)
HEADER, SEQUENCE = FatalStatus.INVALID_HEADER_FIELD, FatalStatus.SEQUENCE_ERROR

# Whether the peer greets first, the PDU, and FES and FEI of the answer.
WRONG = {
    "icreq_of_another_version": (False, GREETING.copy(pfv=5), HEADER, 8),
    "icreq_too_short": (False, GREETING.copy(hlen=64), HEADER, 2),
    "command_before_icreq": (False, wire.CapsuleCmd(type=PduType.CAPSULE_CMD, hlen=72, plen=72), SEQUENCE, None),
    "icreq_twice": (True, GREETING, SEQUENCE, None),
    "reserved_type": (True, wire.CommonHeader(type=0x55, hlen=8, plen=8), HEADER, 0),
    "type_of_the_other_direction": (True, wire.DataPdu(type=PduType.C2H_DATA, hlen=24, plen=24), HEADER, 0),
    "header_length": (True, wire.CapsuleCmd(type=PduType.CAPSULE_CMD, hlen=64, plen=72), HEADER, 2),
}


def send_wrong(world, subsystem, greets, pdu):
    """The peer after the wrong PDU, and the C2HTermReq that came (None: nothing)."""
    port = subsystem.target.ports[0]
    peer = world.raw_tcp()
    if greets:
        peer.greet(port.address, port.port)
    else:
        peer.connect(port.address, port.port)
    peer.send(pdu)
    return peer, peer.next_pdu(limit=1)


@pytest.mark.requirement("tcp.icreq.pfv")
@pytest.mark.requirement("tcp.icreq.first")
@pytest.mark.requirement("tcp.icreq.second")
@pytest.mark.requirement("tcp.pdu.reserved-type")
@pytest.mark.requirement("tcp.termreq.header")
@pytest.mark.breaks("tcp_icreq_fields", "tcp_icreq_once", "tcp_icreq_first", "tcp_type", "tcp_hlen")
@pytest.mark.parametrize("greets, pdu, fes, fei", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_pdu_is_a_fatal_error(world, greets, pdu, fes, fei):
    subsystem = world.subsystem(transport="tcp")
    neighbour = world.host(transport="tcp").connect(subsystem).wait()

    peer, answer = send_wrong(world, subsystem, greets, pdu)
    term = wire.TermReq(answer[:24])
    assert (term.type, term.fes) == (PduType.C2H_TERM_REQ, fes)
    if fei is not None:  # of sequence errors no field is to blame
        assert term.fei == fei
    assert len(answer) >= 24 + 8 and bytes(pdu).startswith(answer[24:])  # as much of the header as was looked at
    assert peer.next_pdu() is None and peer.closed

    neighbour.namespace(1).write(0, b"undisturbed" + bytes(501)).wait()
    assert neighbour.attempts == 1


@pytest.mark.requirement("tcp.digest.header.used")
def test_a_peer_that_greets_as_it_should_is_served(world):
    subsystem = world.subsystem(transport="tcp")
    port = subsystem.target.ports[0]
    peer = world.raw_tcp()
    agreed = peer.greet(port.address, port.port, GREETING.copy(hdgst_enable=1, ddgst_enable=1))
    assert agreed.pfv == 0 and agreed.hdgst_enable and agreed.ddgst_enable

    sqe, data = commands.connect(hostnqn="nqn.2026-11.org.example:by-hand", subnqn=subsystem.nqn, hostid=b"by hand".ljust(16))
    # Everything is by hand here: the CID, and the SGL that says that the data is in the capsule.
    in_capsule = wire.SglPlain(type=0, subtype=1, length=len(data))
    peer.send_command(sqe.copy(cid=7, sgl1=in_capsule), data)
    answer = wire.CapsuleResp(peer.next_pdu()[:24])
    assert answer.type == PduType.CAPSULE_RESP and answer.plen == 28  # 4 bytes of header digest
    cqe = wire.Cqe(answer.cqe)
    assert (cqe.cid, cqe.status) == (7, 0) and subsystem.controllers[0].in_association


@pytest.mark.breaks("tcp_type")
def test_a_target_that_passes_over_what_it_does_not_know_is_found(world):
    subsystem = world.subsystem(transport="tcp", deviations=["pdu_of_any_type_taken"])
    peer, answer = send_wrong(world, subsystem, *WRONG["reserved_type"][:2])
    # The peer may have meant a PDU of a later revision, and waits for what it believes to be under way.
    assert answer is None and not peer.closed
