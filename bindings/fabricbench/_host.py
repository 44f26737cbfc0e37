"""Hosts: associations, and namespaces as block devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from fabricbench import _core, commands
from fabricbench._logs import Features, Logs
from fabricbench._raw_queue import RawQueue
from fabricbench._reprs import safe
from fabricbench._target import Port, Subsystem
from fabricbench._units import keywords, plain_call, plain_messages, split_url
from fabricbench.enums import AnaState, Cns, CommandSet, CommitAction, EventType, KvOpcode, SelfTestCode, ZoneSendAction, ZoneState
from fabricbench.wire import IdentifyController, IdentifyNamespace

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from typing_extensions import Unpack

    from fabricbench._core import Completion, Op
    from fabricbench._world import World
    from fabricbench.options import ConnectOptions, RawQueueOptions, Time
    from fabricbench.wire import Array, Buffer

T = TypeVar("T")
W = TypeVar("W", bound="WriteableBuffer | Array")


@dataclass(frozen=True)
class DiscoveryEntry:
    """An entry of a discovery log."""

    subnqn: str
    traddr: str
    trsvcid: str
    #: rdma or tcp.
    transport: str
    portid: int
    cntlid: int
    #: 1 a referral, 2 an NVM subsystem, 3 the service itself.
    subtype: int
    usable: bool

    @property
    def url(self) -> str:
        """What connect() takes."""
        return f"{self.transport}://{self.traddr}:{self.trsvcid}/{self.subnqn}"


class Event(NamedTuple):
    """An asynchronous event, and the log page that the host read for it."""

    #: Seconds of the world's time.
    at: float
    controller: Controller
    type: EventType | int
    info: int
    log_page: int
    log: bytes

    def __repr__(self) -> str:
        return f"<Event {self.type!r} info {self.info:#x}, log page {self.log_page:#04x} of {len(self.log)} bytes, at {self.at:.6f} s>"


class Path(NamedTuple):
    """One path to a namespace."""

    controller: Controller
    #: optimized, non_optimized, change, inaccessible, down or lost.
    state: str


def _where(host: Host, to: Subsystem | Port | str, portid: int | None = None, subnqn: str | None = None) -> tuple[str, int, str]:
    address, port, nqn = _named(host, to, portid, subnqn)
    if (between := host._world._between) is not None:
        address, port = _core.entrance(host._world._core, between, host._machine, address, port, host.transport)
    return address, port, nqn


def _named(host: Host, to: Subsystem | Port | str, portid: int | None, subnqn: str | None) -> tuple[str, int, str]:
    if portid is not None and isinstance(to, (str, Port)):
        what = "a URL" if isinstance(to, str) else "a Port"
        raise ValueError(f"connect: port={portid} is the number of a port of a Subsystem; {what} is one")
    if isinstance(to, str):
        kind, address, port, named = split_url(to)
        if subnqn and named and subnqn != named:
            raise ValueError(f"connect: {to} names a subsystem, and subnqn='{subnqn}' another")
        if (transport := host._follow(kind)) != kind:
            raise ValueError(f"connect: this host speaks {transport}, and {to} is {kind}; make it with transport='{kind}'")
        return address, port, subnqn or named
    transport = host.transport
    if isinstance(to, Port):
        if to.transport != transport:
            raise ValueError(f"connect: this host speaks {transport}, and port {to.portid} is {to.transport}; "
                             f"make it with transport='{to.transport}'")
        return to.address, to.port, subnqn or ""
    if not isinstance(to, Subsystem):
        raise TypeError(f"connect: a Subsystem, a Port or a URL is wanted, not {type(to).__name__}")
    if to.target._world is not host._world:
        raise ValueError(f"connect: {to.nqn} is of another world than this host")
    ports = [port for port in to.target.ports if port.transport == transport and portid in (None, port.portid)]
    if not ports:
        others = sorted({port.transport for port in to.target.ports if portid in (None, port.portid)})
        hint = f"; it has one over {others[0]}: make the host with transport='{others[0]}'" if others else ""
        numbered = f" with number {portid}" if portid is not None else ""
        raise ValueError(f"connect: the target has no port over {transport}{numbered}{hint}")
    return ports[0].address, ports[0].port, subnqn or to.nqn


@plain_messages
class Host:
    """A host of the world; World.host() creates one."""

    def __init__(self, world: World, make: Callable[[str], _core.Host], machine: _core.Machine, transport: str | None) -> None:
        self._world = world
        self._make = make
        self._made: _core.Host | None = None if transport is None else make(transport)
        self._machine = machine

    @property
    def _core(self) -> _core.Host:
        if self._made is None:
            self._made = self._make("rdma")
        return self._made

    def _follow(self, transport: str) -> str:
        """Of a host whose transport is not decided yet, it is that of the first URL."""
        if self._made is None:
            self._made = self._make(transport)
        return self._made.transport

    @property
    def name(self) -> str:
        """Of its machine, as links have it."""
        return self._machine.name

    @property
    def hostnqn(self) -> str:
        """Its NVMe Qualified Name."""
        return self._core.hostnqn

    @property
    def hostid(self) -> bytes:
        """Its host identifier, 16 bytes."""
        return self._core.hostid

    @property
    def transport(self) -> str:
        """rdma or tcp."""
        return self._core.transport

    @keywords("connect", "ConnectOptions")
    def connect(self, to: Subsystem | Port | str, *, port: int | None = None, subnqn: str | None = None, secret: str | None = None,
                controller_secret: str | None = None, tls: bool = False, **options: Unpack[ConnectOptions]) -> Op[Controller]:
        """An association: admin queue, initialisation, I/O queues, namespaces found. Complete when it is live.

        `to` is a Subsystem (with the number of a `port`, or its first), a Port with `subnqn`, or a URL such as
        ``tcp://192.0.2.7:4420/NQN``. Without an NQN the URL is that of a discovery service, and the subsystem that it lists is
        connected to. Raises ConnectError if there is no association. `secret` (DHHC-1:...) is what the host authenticates
        with, `controller_secret` what it requires of the controller; `tls` secures every connection.
        """
        address, number, nqn = _where(self, to, port, subnqn)
        if not nqn and isinstance(to, Port):
            raise ValueError("connect: which subsystem? Give its NQN as subnqn")
        op = self._core.connect(address, number, nqn, dict(options), secret, controller_secret, tls)
        return op.then(lambda core: Controller(self, core))

    def discover(self, to: Port | Subsystem | str, *, follow_referrals: bool = True) -> Op[list[DiscoveryEntry]]:
        """Entries of the discovery service, including those of referrals."""
        address, number, _ = _where(self, to)
        op = self._core.discover(address, number, follow_referrals)
        return op.then(lambda entries: [DiscoveryEntry(**entry) for entry in entries])

    def shutdown(self) -> Op[None]:
        """Orderly shutdown of every controller."""
        return self._core.shutdown()

    @property
    def controllers(self) -> list[Controller]:
        """All associations, including those that ended, in the order of their connects."""
        return [Controller(self, core) for core in self._core.controllers()]

    @property
    def namespaces(self) -> list[Namespace]:
        """Namespaces with a path; the same namespace over several controllers is one."""
        return [Namespace(self, core) for core in self._core.namespaces()]

    def namespace(self, nsid: int, subnqn: str | None = None) -> Namespace:
        """The one with that NSID (and of that subsystem). KeyError if the host has none."""
        for space in self.namespaces:
            if space.nsid == nsid and subnqn in (None, space.subnqn):
                return space
        raise KeyError(f"the host sees no namespace {nsid}")

    def next_event(self) -> Op[Event]:
        """The next asynchronous event of any controller that was not returned yet."""
        def made(one: dict[str, Any]) -> Event:
            kind = one["type"]
            return Event(one["at"], Controller(self, one["controller"]), EventType(kind) if kind in set(EventType) else kind,
                         one["info"], one["log_page"], one["log"])
        return self._core.next_event().then(made)

    @property
    def events_waiting(self) -> int:
        """Events that next_event() would return immediately."""
        return self._core.events_waiting

    @keywords("raw_queue", "RawQueueOptions")
    def raw_queue(self, to: Subsystem | Port | str, *, port: int | None = None, subnqn: str | None = None,
                  **options: Unpack[RawQueueOptions]) -> RawQueue:
        """A raw queue, which sends exactly the entries that it gets. Not connected yet."""
        address, number, nqn = _where(self, to, port, subnqn)
        return RawQueue(self, _core.make_raw_queue(self._core, address, number, dict(options), nqn), nqn)

    def raw_admin(self, to: Subsystem | Port | str, *, port: int | None = None, subnqn: str | None = None, entries: int = 32,
                  kato_ms: int = 0, enable: bool = True) -> RawQueue:
        """A raw admin queue after transport connection, Connect and (by default) CC.EN = 1."""
        queue = self.raw_queue(to, port=port, subnqn=subnqn, entries=entries)
        queue.connect().wait()
        queue.send_connect(entries=entries, kato_ms=kato_ms).wait().check("Connect")
        if enable:
            queue.enable()
        return queue

    @safe
    def __repr__(self) -> str:
        return f"<Host {self.name} over {self.transport}>"


@plain_messages
class Controller:
    """One association with a controller, as its host sees it."""

    def __init__(self, host: Host, core: _core.HostController) -> None:
        #: The host that it belongs to.
        self.host = host
        self._core = core
        #: Log pages.
        self.log = Logs(self)
        #: Features, as attributes and by number.
        self.features = Features(self)

    @property
    def cntlid(self) -> int:
        """Controller identifier."""
        return self._core.cntlid

    @property
    def state(self) -> str:
        """idle, connecting, enabling, configuring, live, resetting, recovering, shutting_down, closing or gone."""
        return self._core.state

    @property
    def live(self) -> bool:
        """I/O is possible."""
        return self._core.live

    @property
    def subnqn(self) -> str:
        """Of its subsystem."""
        return self._core.subnqn

    @property
    def attempts(self) -> int:
        """Connection attempts so far."""
        return self._core.attempts

    @property
    def keep_alives_sent(self) -> int:
        """Keep Alive commands so far."""
        return self._core.keep_alives_sent

    @property
    def error(self) -> str:
        """Why it is not live: how the association was lost, or why the last attempt failed. Empty if it is live."""
        return self._core.error

    @property
    def facts(self) -> dict[str, Any]:
        """Values that the host uses: cap, vs, cntlid, max_transfer, io_entries, io_queues, keep_alive_time and so on."""
        return self._core.facts

    @property
    def history(self) -> list[tuple[float, str]]:
        """Each change of state with its time in seconds."""
        return self._core.history

    @property
    def namespaces(self) -> list[Namespace]:
        """Namespaces of this controller."""
        return [Namespace(self.host, core) for core in self._core.namespaces()]

    def namespace(self, nsid: int) -> Namespace:
        """The one with that NSID. KeyError if there is none."""
        for space in self.namespaces:
            if space.nsid == nsid:
                return space
        raise KeyError(f"controller {self.cntlid} has no namespace {nsid}")

    def ana_state(self, group: int = 1) -> AnaState:
        """State of a group, as known to the host."""
        return AnaState(self._core.ana_state(group))

    # ---- life ----

    def reached(self, state: str) -> Op[str]:
        """Complete when the controller is in that state."""
        return self._core.reached(state)

    def shutdown(self) -> Op[None]:
        """Orderly: drains I/O, CC.SHN, disconnect."""
        return self._core.shutdown()

    def reset(self) -> Op[None]:
        """A controller reset; complete when it is live again."""
        return self._core.reset()

    def disconnect(self) -> None:
        """Closes the connections without notifying the controller."""
        self._core.disconnect()

    def reauthenticate(self) -> Op[None]:
        """Authenticates every queue once more."""
        return self._core.reauthenticate()

    def rescan(self) -> None:
        """Reads the list of namespaces again."""
        self._core.rescan()

    # ---- commands ----

    def admin(self, command: Buffer, data: Buffer | None = None, room: int = 0) -> Op[Completion]:
        """Any admin command, with `data` to send, or `room` bytes to receive. Returns the completion whatever its status is."""
        return self._core.admin(command, data, room)

    def io(self, command: Buffer, data: Buffer | None = None, room: int = 0) -> Op[Completion]:
        """Any I/O command on one of the queues, without the retries of a namespace."""
        return self._core.io(command, data, room)

    def _checked(self, op: Op[Completion], what: str, make: Callable[[Completion], T]) -> Op[T]:
        return op.then(lambda answer: make(answer.check(what)))

    def identify(self) -> Op[IdentifyController]:
        """Identify Controller (CNS 01h)."""
        return self._checked(self.admin(commands.identify(Cns.CONTROLLER), room=4096), "identify controller",
                             lambda answer: IdentifyController(answer.data))

    def identify_namespace(self, nsid: int) -> Op[IdentifyNamespace]:
        """Identify Namespace (CNS 00h)."""
        return self._checked(self.admin(commands.identify(Cns.IDENTIFY_NAMESPACE, nsid), room=4096), f"identify namespace {nsid}",
                             lambda answer: IdentifyNamespace(answer.data))

    def active_namespaces(self) -> Op[list[int]]:
        """NSIDs of the first 1,024 active namespaces (CNS 02h)."""
        def listed(answer: Completion) -> list[int]:
            numbers = [int.from_bytes(answer.data[at:at + 4], "little") for at in range(0, 4096, 4)]
            return numbers[:numbers.index(0)] if 0 in numbers else numbers
        return self._checked(self.admin(commands.identify(Cns.ACTIVE_NAMESPACE_LIST), room=4096), "active namespaces", listed)

    def get_property(self, offset: int) -> Op[int]:
        """Property Get: 0 CAP, 8 VS, 14h CC, 1Ch CSTS ..."""
        return self._checked(self.admin(commands.property_get(offset)), f"property {offset:#x}", lambda answer: answer.value)

    def set_property(self, offset: int, value: int) -> Op[None]:
        """Property Set."""
        return self._checked(self.admin(commands.property_set(offset, value)), f"property {offset:#x}", lambda answer: None)

    def firmware_download(self, image: bytes, piece: int = 4096) -> list[Op[None]]:
        """Sends the image in pieces. All are started; wait for each."""
        ops = []
        for at in range(0, len(image), piece):
            part = image[at:at + piece]
            command = commands.firmware_download(at, len(part))
            ops.append(self._checked(self.admin(command, data=part), f"firmware image at {at}", lambda answer: None))
        return ops

    def firmware_commit(self, slot: int, action: CommitAction | int = CommitAction.REPLACE_AND_ACTIVATE) -> Op[Completion]:
        """Firmware Commit. Returns the completion whatever its status is: 1/0Bh and similar ones request a reset."""
        return self.admin(commands.firmware_commit(slot, action))

    def format(self, nsid: int, lbaf: int = 0) -> Op[None]:
        """Format NVM with the LBA format of that number."""
        return self._checked(self.admin(commands.format_nvm(nsid, lbaf)), f"format of namespace {nsid}", lambda answer: None)

    def sanitize(self, action: int) -> Op[None]:
        """Starts a sanitize operation (SanitizeAction)."""
        return self._checked(self.admin(commands.sanitize(action)), "sanitize", lambda answer: None)

    def self_test(self, code: SelfTestCode | int, nsid: int = 0) -> Op[None]:
        """Starts (or aborts) a device self-test."""
        return self._checked(self.admin(commands.device_self_test(code, nsid)), "device self-test", lambda answer: None)

    def create_namespace(self, blocks: int, *, lba_format: int = 0, shared: bool = True) -> Op[int]:
        """Namespace Management, create; its NSID."""
        content = IdentifyNamespace(nsze=blocks, ncap=blocks, flbas_low=lba_format & 0xF, flbas_high=lba_format >> 4,
                                    nmic=1 if shared else 0)
        return self._checked(self.admin(commands.create_namespace(), data=content), "create namespace", lambda answer: answer.dw0)

    def delete_namespace(self, nsid: int) -> Op[None]:
        """Namespace Management, delete."""
        return self._checked(self.admin(commands.delete_namespace(nsid)), f"delete namespace {nsid}", lambda answer: None)

    def attach_namespace(self, nsid: int, controllers: Sequence[int] | None = None) -> Op[None]:
        """Namespace Attachment, attach; to this controller unless others are named."""
        listed = [self.cntlid] if controllers is None else list(controllers)
        content = b"".join(one.to_bytes(2, "little") for one in [len(listed), *listed]).ljust(4096, b"\0")
        return self._checked(self.admin(commands.attach_namespace(nsid), data=content), f"attach namespace {nsid}", lambda answer: None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Controller) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    @safe
    def __repr__(self) -> str:
        return f"<Controller {self.cntlid} of {self.host.name}, {self.state}>"


@dataclass(frozen=True)
class Zone:
    """A zone of a zoned namespace, in blocks; with `zrwa` it has a Zone Random Write Area."""

    start: int
    capacity: int
    write_pointer: int
    state: ZoneState
    zrwa: bool = False


@plain_messages
class Namespace:
    """A namespace as a block device, over one controller or several.

    Operations take any length and are split as the controllers ask for. A command that is lost with its connection is
    sent again over another path, or as soon as a path is available. A permanent failure is a CommandError with its status.
    """

    def __init__(self, host: Host, core: _core.HostNamespace) -> None:
        self._host = host
        self._core = core
        # The core's own method in front of the one below, which says the same: a short read would notice a longer detour.
        setattr(self, "read", plain_call(core.read))

    @property
    def nsid(self) -> int:
        """Its NSID."""
        return self._core.nsid

    @property
    def blocks(self) -> int:
        """NSZE, as known to the host."""
        return self._core.blocks

    @property
    def block_bytes(self) -> int:
        """Of one block in buffers."""
        return self._core.block_bytes

    @property
    def subnqn(self) -> str:
        """Of its subsystem."""
        return self._core.subnqn

    @property
    def max_transfer(self) -> int:
        """The most bytes that one command moves."""
        return self._core.max_transfer

    @property
    def key_value(self) -> bool:
        """Of the Key Value command set: it has keys and values instead of blocks."""
        return self._core.command_set == CommandSet.KEY_VALUE

    @property
    def zoned(self) -> bool:
        """Of the Zoned Namespace command set."""
        return self._core.command_set == CommandSet.ZONED

    @property
    def waiting(self) -> int:
        """Commands that are waiting for a path."""
        return self._core.waiting

    @property
    def retries(self) -> int:
        """Commands that were sent again so far."""
        return self._core.retries

    @property
    def identity(self) -> bytes:
        """Its strongest identifier, type first: UUID, NGUID or EUI-64."""
        return self._core.identity

    @property
    def paths(self) -> list[Path]:
        """Its paths."""
        return [Path(Controller(self._host, core), state) for core, state in self._core.paths()]

    @overload
    def read(self, lba: int, blocks: int = 1, into: None = None) -> Op[bytes]: ...
    @overload
    def read(self, lba: int, blocks: int = 1, *, into: W) -> Op[W]: ...
    @overload
    def read(self, lba: int, blocks: int, into: W) -> Op[W]: ...
    def read(self, lba: int, blocks: int = 1, into: Any = None) -> Op[Any]:
        """Reads blocks as bytes; or into the writable buffer `into`, as many as it holds, and returns it."""
        return self._core.read(lba, blocks, into)

    def write(self, lba: int, data: Buffer) -> Op[None]:
        """Writes whole blocks. The buffer is not copied: do not change it until the operation is complete."""
        return self._core.write(lba, data)

    def compare(self, lba: int, data: Buffer) -> Op[None]:
        """CommandError with sc.compare_failure if the blocks differ."""
        return self._core.compare(lba, data)

    def compare_and_write(self, lba: int, expected: Buffer, data: Buffer) -> Op[None]:
        """Fused Compare and Write of one range, on one queue. Not repeated after a loss."""
        return self._core.compare_and_write(lba, expected, data)

    def flush(self) -> Op[None]:
        """Earlier writes are on stable media afterwards."""
        return self._core.flush()

    def write_zeroes(self, lba: int, blocks: int) -> Op[None]:
        """The blocks read as zeroes."""
        return self._core.write_zeroes(lba, blocks)

    def verify(self, lba: int, blocks: int) -> Op[None]:
        """Reads without a transfer to the host."""
        return self._core.verify(lba, blocks)

    def write_uncorrectable(self, lba: int, blocks: int) -> Op[None]:
        """The blocks cannot be read until they are written."""
        return self._core.write_uncorrectable(lba, blocks)

    def set_placement(self, identifier: int | None) -> None:
        """Writes from now on carry this placement identifier; None: none. The directive must be enabled in the namespace."""
        self._core.set_placement(identifier)

    def deallocate(self, lba: int, blocks: int) -> Op[None]:
        """Dataset Management, Deallocate."""
        return self._core.deallocate(lba, blocks)

    def copy(self, sources: Sequence[tuple[int, int]], to: int) -> Op[None]:
        """Copies runs of (first block, blocks), one after the other, to `to`."""
        return self._core.copy(list(sources), to)

    # ---- keys and values ----

    def store(self, key: Buffer, value: Buffer, *, new: bool = False, replace: bool = False) -> Op[None]:
        """Stores the value of a key. `new`: the key must not exist (sc.key_exists); `replace`: it must (sc.key_does_not_exist)."""
        return self._core.key_value(KvOpcode.STORE, key, value, 0, (1 if replace else 0) | (2 if new else 0))

    def retrieve(self, key: Buffer, room: int = 65536) -> Op[tuple[bytes, int]]:
        """The value of a key, up to `room` bytes, and the size of the whole value."""
        return self._core.key_value(KvOpcode.RETRIEVE, key, b"", room, 0)

    def delete_key(self, key: Buffer) -> Op[None]:
        """Deletes a key. Whether it is an error that it does not exist, feature 20h says."""
        return self._core.key_value(KvOpcode.REMOVE, key, b"", 0, 0)

    def has_key(self, key: Buffer) -> Op[bool]:
        """Whether the key exists."""
        return self._core.key_value(KvOpcode.EXIST, key, b"", 0, 0)

    def keys(self, start: Buffer = b"", room: int = 4096) -> Op[list[bytes]]:
        """Keys from this one on, in the order of the controller, as many as fit into `room` bytes."""
        return self._core.key_value(KvOpcode.LIST, start, b"", room, 0)

    # ---- zones ----

    def zones(self, lba: int = 0) -> Op[list[Zone]]:
        """Every zone from the one with that block on."""
        def made(zones: list[dict[str, Any]]) -> list[Zone]:
            return [Zone(one["start"], one["capacity"], one["write_pointer"], ZoneState(one["state"]), bool(one["attributes"] & 8))
                    for one in zones]
        return self._core.report_zones(lba).then(made)

    def zone_append(self, start: int, data: Buffer) -> Op[int]:
        """Appends to the zone that starts there; returns the block of the data."""
        return self._core.zone_append(start, data)

    def zone_send(self, action: ZoneSendAction | int, start: int = 0, *, all: bool = False, zrwa: bool = False) -> Op[None]:
        """Zone Management Send: open, close, finish, reset ... With `zrwa`, Open Zone allocates a Zone Random Write Area;
        FLUSH_EXPLICIT_ZRWA commits it up to block `start`."""
        return self._core.zone_send(action, start, all, zrwa)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Namespace) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    @safe
    def __repr__(self) -> str:
        return f"<Namespace {self.nsid}, {self.blocks} blocks of {self.block_bytes}>"
