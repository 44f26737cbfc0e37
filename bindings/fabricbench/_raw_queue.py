"""The raw level of a host: one queue that says anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricbench import _core, commands
from fabricbench._reprs import safe
from fabricbench._units import plain_call, plain_messages

if TYPE_CHECKING:
    from fabricbench._core import Completion, Op
    from fabricbench._host import Host
    from fabricbench.wire import Buffer


@plain_messages
class RawQueue:
    """One queue that says anything: it sends exactly the entries it is given, and validates nothing.

    CID 0 in a command means "choose for me" unless `keep_cid`; any other is sent as it is, duplicates included. A
    response goes to the oldest outstanding command with its CID, the rest to next_response().
    """

    def __init__(self, host: Host, core: _core.RawQueue, subnqn: str) -> None:
        self._host = host
        self._core = core
        self._subnqn = subnqn
        #: Controller identifier, after send_connect() of an admin queue.
        self.cntlid = 0xFFFF
        # The core's own methods in front of those below, which say the same: with less of a detour.
        setattr(self, "send", plain_call(core.send))
        setattr(self, "post", plain_call(core.post))

    def connect(self) -> Op[None]:
        """The transport connection alone. ConnectError when it is refused."""
        return self._core.connect()

    def send_connect(self, *, cntlid: int = 0xFFFF, entries: int = 32, kato_ms: int = 0, cattr: int = 0,
                     hostnqn: str | None = None, hostid: bytes | None = None, subnqn: str | None = None) -> Op[Completion]:
        """The Fabrics Connect command for this queue, with the host's names unless others are given."""
        sqe, data = commands.connect(hostnqn=hostnqn or self._host.hostnqn, subnqn=subnqn or self._subnqn,
                                     hostid=self._host.hostid if hostid is None else hostid, qid=self._core.qid, entries=entries,
                                     kato_ms=kato_ms, cntlid=cntlid, cattr=cattr)
        def learn(answer: Completion) -> Completion:
            if answer.ok:
                self.cntlid = answer.dw0 & 0xFFFF
            return answer
        return self.send(sqe, data).then(learn)

    def send(self, command: Buffer, data: Buffer | None = None, room: int = 0, *, in_capsule: bool = True, keep_sgl: bool = False,
             keep_cid: bool = False) -> Op[Completion]:
        """The entry, with `data` or with room for so many bytes. Data goes in the capsule where it fits, unless `in_capsule` is
        False; `keep_sgl` leaves the entry's own SGL, `keep_cid` its CID 0. The answer whatever its status."""
        return self._core.send(command, data, room, in_capsule=in_capsule, keep_sgl=keep_sgl, keep_cid=keep_cid)

    def post(self, command: Buffer, data: Buffer | None = None, room: int = 0, *, in_capsule: bool = True, keep_sgl: bool = False,
             keep_cid: bool = False) -> None:
        """The same without waiting: the response goes to next_response()."""
        self._core.post(command, data, room, in_capsule=in_capsule, keep_sgl=keep_sgl, keep_cid=keep_cid)

    def enable(self) -> None:
        """CC.EN = 1 as a host would write it, and waits for CSTS.RDY."""
        self.send(commands.property_set(0x14, 0x00460001)).wait().check("CC")
        # As long as the controller says that it may take (CAP.TO, in units of 500 ms).
        units = self.send(commands.property_get(0)).wait().check("CAP").value >> 24 & 0xFF
        world = self._host._world
        end = world.now + max(units, 1) * 0.5
        while not self.send(commands.property_get(0x1C)).wait().check("CSTS").value & 1:
            if world.now > end:
                raise TimeoutError(f"CSTS.RDY stays 0 for {max(units, 1) * 0.5} s")
            world.run_for("1 ms")

    def send_capsule(self, capsule: Buffer, cid: int) -> Op[Completion]:
        """Exactly these bytes as one capsule; the response with that CID is the answer."""
        return self._core.send_capsule(capsule, cid)

    def post_capsule(self, capsule: Buffer) -> bool:
        """The same without waiting. False when not connected."""
        return self._core.post_capsule(capsule)

    def next_response(self) -> Op[Completion]:
        """The next response that no sent command claims, or the end of the connection."""
        return self._core.next_response()

    def ended(self) -> Op[str]:
        """Done when the connection has ended: why."""
        return self._core.ended()

    def disconnect(self) -> None:
        """Starts an orderly disconnect of the transport."""
        self._core.disconnect()

    def expose(self, data: bytes) -> tuple[int, int, int]:
        """RDMA: memory that the controller may reach by hand-made SGLs: address, key, length. Occupies a slot permanently."""
        return self._core.expose(data)

    @property
    def connected(self) -> bool:
        """Whether the transport connection stands."""
        return self._core.connected

    @property
    def outstanding(self) -> int:
        """Commands that were sent and not answered."""
        return self._core.outstanding

    @safe
    def __repr__(self) -> str:
        return f"<RawQueue {self._core.qid}, {'connected' if self.connected else 'not connected'}>"
