"""Peers by hand: they say any bytes and validate nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench import _core
from fabricbench.enums import RoceOpcode
from fabricbench.wire import Aeth, IcReq, IcResp, Reth
from fabricbench._units import plain_messages

if TYPE_CHECKING:
    from fabricbench.options import Time
    from fabricbench.wire import Buffer


@plain_messages
class RawTcp:
    """An NVMe/TCP connection by hand: PDUs out as bytes, PDUs in as they came."""

    def __init__(self, core: _core.RawTcp) -> None:
        self._core = core

    def connect(self, address: str, port: int = 4420) -> None:
        """The TCP connection alone."""
        self._core.connect(address, port)

    def greet(self, address: str, port: int = 4420, request: IcReq | None = None) -> IcResp:
        """Connects and exchanges ICReq and ICResp; digests and alignment of build() follow from them."""
        return IcResp(self._core.greet(address, port, request))

    def build(self, header: Buffer, data: bytes | None = None) -> bytes:
        """A PDU that is right for what was agreed: lengths, padding and digests are filled in."""
        return self._core.build(header, data)

    def send(self, pdu: Buffer) -> None:
        """Exactly these bytes."""
        self._core.send(pdu)

    def send_command(self, command: Buffer, data: Buffer | None = None) -> None:
        """A capsule with the command, its CID as it is, and data in the capsule."""
        self._core.send_command(command, data)

    def next_pdu(self, limit: Time = 10) -> bytes | None:
        """The next PDU that came, digests and all; None when the peer closes, or nothing comes in time."""
        return self._core.next_pdu(limit)

    @property
    def closed(self) -> bool:
        """The peer has ended the connection."""
        return self._core.closed

    def finish(self) -> None:
        """Our side's FIN."""
        self._core.finish()

    def close(self) -> None:
        """Resets the connection."""
        self._core.close()


@dataclass(frozen=True)
class RocePacket:
    """A packet that came."""

    opcode: RoceOpcode
    qpn: int
    psn: int
    ackreq: bool
    payload: bytes
    icrc_good: bool
    text: str
    aeth: Aeth | None = None
    reth: Reth | None = None
    ieth: Any = None


@plain_messages
@dataclass(frozen=True)
class RoceConnection:
    """A connection made by hand."""

    local_qpn: int
    remote_qpn: int
    send_psn: int
    receive_psn: int


@plain_messages
class RawRoce:
    """A peer on UDP port 4791: any packet, with a good ICRC or a bad one."""

    def __init__(self, core: _core.RawRoce) -> None:
        self._core = core

    def connect(self, port: int = 4420, private_data: Buffer = b"") -> RoceConnection:
        """REQ, REP, RTU. ConnectError when the answer is no REP."""
        return RoceConnection(**self._core.connect(port, private_data))

    def send(self, *, good_icrc: bool = True, cut: int = 0, **fields: Any) -> None:
        """A packet of named fields: opcode, qpn, psn, ackreq, se, migreq, tver, pkey, padcnt, reth, aeth, deth,
        immediate, ieth, payload. `cut` bytes are left off at the end."""
        self._core.send(fields, good_icrc, cut)

    def send_bytes(self, packet: Buffer, *, good_icrc: bool = True, cut: int = 0) -> None:
        """Any bytes from the BTH to the pad; the ICRC is added."""
        self._core.send_bytes(packet, good_icrc, cut)

    @property
    def received(self) -> int:
        """Packets that came so far."""
        return self._core.received

    def next_packet(self, limit: Time = 1) -> RocePacket | None:
        """The next packet that is no MAD; None when nothing comes in time."""
        packet = self._core.next_packet(limit)
        if packet is None:
            return None
        packet["opcode"] = RoceOpcode(packet["opcode"])
        return RocePacket(**packet)


@dataclass(frozen=True)
class MctpPacket:
    """An MCTP packet that came."""

    #: Seconds of the world's time.
    at: float
    version: int
    destination: int
    source: int
    som: bool
    eom: bool
    sequence: int
    owner: bool
    tag: int
    payload: bytes


@plain_messages
class RawMctp:
    """A peer on an MCTP medium: any packet, message or frame, towards one drive. It puts nothing together."""

    def __init__(self, core: _core.RawMctp) -> None:
        self._core = core

    @property
    def eid(self) -> int:
        """What it says it is."""
        return self._core.eid

    def send(self, **fields: Any) -> None:
        """A packet of named fields: payload, destination, source, version, reserved, sequence, tag, som, eom, owner.
        What is not given is as in a good request of one packet to the drive."""
        self._core.send(fields)

    def send_bytes(self, packet: Buffer) -> None:
        """Any bytes as a packet, from the MCTP header on; the medium's frame is added."""
        self._core.send_bytes(packet)

    def send_frame(self, frame: Buffer) -> None:
        """Any bytes as a frame of the medium."""
        self._core.send_frame(frame)

    def send_message(self, body: Buffer, *, tag: int = 0, owner: bool = True, unit: int = 64) -> None:
        """A message cut into packets of at most `unit` bytes of payload."""
        self._core.send_message(body, tag, owner, unit)

    def next_packet(self, limit: Time = 1) -> MctpPacket | None:
        """The next packet that came; None when nothing does in time."""
        packet = self._core.next_packet(limit)
        return None if packet is None else MctpPacket(**packet)

    @property
    def damaged(self) -> int:
        """Frames that came with a check that did not hold."""
        return self._core.damaged

    @property
    def undelivered(self) -> int:
        """Packets that nobody acknowledged."""
        return self._core.undelivered
