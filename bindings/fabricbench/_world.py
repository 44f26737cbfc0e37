"""Worlds: everything that a scenario consists of, on one clock."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fabricbench import _core, _tasks, ladder
from fabricbench._faults import Plan, Schedule, Strike, argument_of
from fabricbench._host import Host
from fabricbench._mi import MctpBus
from fabricbench._products import HostProduct, TargetProduct, product_of
from fabricbench._raw import RawRoce, RawTcp
from fabricbench._reprs import safe
from fabricbench._target import Subsystem, Target
from fabricbench._units import blocks_of, check_transport, keywords, names_of, plain_messages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from fabricbench._core import Op
    from fabricbench.options import LinkOptions, ListenerOptions, SubsystemOptions, TcpHostOptions, TcpTargetOptions, Time


@plain_messages
class Machine:
    """A machine of the world: a name and an address. Created by target(), host() and machine() of the world."""

    def __init__(self, core: _core.Machine) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The name that links and faults use."""
        return self._core.name

    @property
    def address(self) -> str:
        """Its IP address."""
        return self._core.address

    @safe
    def __repr__(self) -> str:
        return f"<Machine {self.name} {self.address}>"


@plain_messages
class Link:
    """One or both directions between two machines of a virtual world."""

    def __init__(self, world: World, fabric: _core.Fabric, directions: Sequence[tuple[str, str]]) -> None:
        self._world = world
        self._fabric = fabric
        self._directions = list(directions)

    def _each(self, call: Callable[..., Any], *arguments: Any) -> None:
        for start, end in self._directions:
            call(self._world._core, self._fabric, start, end, *arguments)

    def cut(self, span: Time | None = None) -> None:
        """Nothing passes for this time, or until restore(). Data that TCP sent meanwhile arrives afterwards."""
        self._each(_core.link_cut, span)

    def restore(self) -> None:
        """Ends a cut."""
        self._each(_core.link_restore)

    def drop_next(self, count: int = 1) -> None:
        """Drops the next packets (TCP: segments, each of which costs a retransmission)."""
        self._each(_core.link_drop, count)

    def watch(self, call: Callable[[int, bytes], Any] | None) -> None:
        """`call(ordinal, payload)` for each datagram; it may return "drop", "duplicate", a delay (seconds or "2 ms"),
        other bytes that are no longer, or None. None removes the callback. Not called for TCP."""
        self._each(_core.link_watch, call)

    @keywords("link", "LinkOptions")
    def configure(self, *, bandwidth: int | None = None, **options: Unpack[LinkOptions]) -> None:
        """Another latency, MTU, queue or bandwidth (bits a second, 0 for any) from now on."""
        self._each(_core.link_set, dict(options), bandwidth)

    @property
    def counters(self) -> dict[str, int]:
        """Packets by their fate, summed over the directions."""
        total: dict[str, int] = {}
        for start, end in self._directions:
            for name, value in _core.link_counters(self._world._core, self._fabric, start, end).items():
                total[name] = total.get(name, 0) + value
        return total

    def __repr__(self) -> str:
        return f"<Link {', '.join('->'.join(ends) for ends in self._directions)}>"


@plain_messages
class World:
    """Everything that a scenario consists of, on one clock.

    In virtual time (the default) a run is a pure function of the script and of `seed`: the same digest every time, and
    hours cost what happens in them. With ``real=True`` the same engines talk to real products over sockets.

    `faults` is a Plan or a Schedule of what happens in this world. In real time they happen on the way from its hosts and
    raw queues to a product. Over TCP a proxy inside the world stands in front of each controller, and a capture shows both
    connections of the proxy; over RDMA they are faults of packets, and a capture shows what the product sent and received.
    SetupError names a fault that cannot be caused there. `record` keeps a capture and the exchange;
    `monitors` checks the trace against the rules that apply to any trace. Close it, or use it in a ``with`` statement.
    """

    @keywords("World", "LinkOptions")
    def __init__(self, seed: int = 1, *, real: bool = False, faults: Plan | Schedule | None = None, record: bool = False,
                 monitors: bool = False, busy_poll: bool = False, bandwidth: int | None = None, title: str = "",
                 **links: Unpack[LinkOptions]) -> None:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 64:
            raise ValueError(f"seed: {seed!r} is no number from 0 to 2**64 - 1")
        plan = argument_of(faults)
        if real and links:
            raise ValueError("a world in real time has no simulated links")
        self._core = _core.World(seed, real, busy_poll)
        self._recorder: _core.Recorder | None = None
        if record or monitors:
            self._recorder = _core.make_recorder(self._core, monitors, title)
        self._between = _core.make_between(self._core, plan, seed) if real and plan is not None else None
        self._fabric = None if real else _core.make_fabric(self._core, dict(links), bandwidth, plan, seed)
        place = self._between or self._fabric
        self._faults = None if place is None else place.faults
        self._alarms = _core.make_alarms(self._core)
        self._names: dict[str, itertools.count[int]] = {}
        self._addresses = {"host": itertools.count(1), "target": itertools.count(1), "machine": itertools.count(1)}

    # ---- its life ----

    def __enter__(self) -> World:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything in it. Objects of it that Python still holds raise Closed from then on.

        Warns of a rule or decision of its faults that named a place that does not exist, so it had no effect.
        """
        if self._faults is not None and not self.closed:
            misplaced = _core.misplaced(self._faults)
            for words in ([misplaced] if misplaced else []) + (_core.remarks(self._between) if self._between else []):
                warnings.warn(f"faults: {words}", stacklevel=2)
        self._core.close()

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._core.closed

    @property
    def now(self) -> float:
        """Seconds since the beginning of the world."""
        return self._core.now_ns / 1e9

    @property
    def now_ns(self) -> int:
        """The same in nanoseconds, exactly."""
        return self._core.now_ns

    @property
    def seed(self) -> int:
        """Seed of its random choices."""
        return self._core.seed

    @property
    def digest(self) -> str:
        """64 bits over everything that happened: equal runs have equal digests."""
        return f"{self._core.digest:016x}"

    @property
    def patience(self) -> float:
        """Longest wait() without a limit of its own, in seconds: an hour of virtual, twenty seconds of real time."""
        return self._core.patience

    @patience.setter
    def patience(self, span: Time) -> None:
        self._core.patience = span

    # ---- running it ----

    def run_for(self, span: Time) -> None:
        """Lets this much time pass."""
        self._core.run_for(span)

    def run_until(self, condition: Callable[[], bool], limit: Time | None = None) -> bool:
        """Runs until the condition holds; it is evaluated after each event. False if the time is up, or nothing can happen."""
        return self._core.run_until(condition, limit)

    def run_until_idle(self, limit: Time = 3600) -> bool:
        """Virtual time: runs until nothing can ever happen again. False if that was not reached within `limit`."""
        return self._core.run_until_idle(limit)

    def sleep(self, span: Time) -> Op[None]:
        """An operation that completes after this time."""
        return _core.sleep(self._core, self._alarms, span)

    def wait_any(self, ops: Sequence[Op[Any]], limit: Time | None = None) -> Op[Any] | None:
        """Runs until one of them is complete, and returns it; None if the limit passed first."""
        index = self._core.run_until_any(list(ops), limit)
        return None if index is None else ops[index]

    def wait_all(self, ops: Sequence[Op[Any]], limit: Time | None = None) -> list[Any]:
        """Waits for all of them; returns their values in order."""
        return [op.wait(limit) for op in ops]

    def run(self, *scenarios: Coroutine[Op[Any], None, Any]) -> Any:
        """Runs ``async def`` scenarios concurrently on the clock of the world until all are complete.

        One gives its value, several a list. ``await`` any Op, ``await world.sleep(...)``. An exception in one ends all.
        """
        values = _tasks.run(self._core, scenarios)
        return values[0] if len(values) == 1 else values

    def pending(self) -> str:
        """The pending operations, as text."""
        return self._core.pending()

    def random(self, name: str, count: int = 1) -> list[int]:
        """64-bit numbers of the stream of that name: the same for the same seed."""
        return self._core.random(name, count)

    # ---- what is in it ----

    def _name(self, name: str) -> str:
        number = next(self._names.setdefault(name, itertools.count(1)))
        return name if number == 1 else f"{name}{number}"

    def _address(self, kind: str, address: str | None) -> str:
        if address is not None:
            return address
        if self._fabric is None:
            raise ValueError("address: in real time, an address of this machine")
        subnet = {"host": 0, "target": 1, "machine": 2}[kind]
        number = next(self._addresses[kind])
        return f"10.0.{subnet + number // 250 * 3}.{number % 250}"

    def _machine(self, kind: str, name: str, address: str | None, mtu_code: int, device: str = "softroce") -> Machine:
        return Machine(_core.make_machine(self._core, self._fabric, self._name(name), self._address(kind, address), mtu_code, device,
                                          self._between is not None))

    def machine(self, name: str = "machine", *, address: str | None = None, mtu_code: int = 5) -> Machine:
        """A separate machine, for raw peers. `mtu_code` bounds the path MTU of its RDMA device (1: 256 to 5: 4096)."""
        return self._machine("machine", name, address, mtu_code)

    def link(self, start: Machine | Host | str, end: Machine | Host | str, *, both: bool = True) -> Link:
        """The link between two machines, by name or by what is on them; `both=False` for one direction."""
        if self._fabric is None:
            raise ValueError("a world in real time has no simulated links")
        names = [one if isinstance(one, str) else one.name for one in (start, end)]
        directions = [(names[0], names[1])]
        if both:
            directions.append((names[1], names[0]))
        return Link(self, self._fabric, directions)

    @keywords("target", "ListenerOptions")
    def target(self, name: str = "target", *, transport: str = "rdma", address: str | None = None, ports: int = 1,
               product: TargetProduct | None = None, deviations: Sequence[str] = (), tcp: TcpTargetOptions | None = None,
               tls: str = "", psks: str = "", device: str = "softroce", **listen: Unpack[ListenerOptions]) -> Target:
        """An emulated target with the given number of ports, each on its own machine (`name`, `name`2, ...).

        `product` decides how it departs from the specification; `deviations` are named misbehaviours of the catalogue.
        `device` is what its RDMA runs on: softroce, or ND:default or NDK:default for that behind NetworkDirect or NDK.
        """
        if not isinstance(ports, int) or isinstance(ports, bool) or ports < 1:
            raise ValueError(f"ports: {ports!r} is no number of ports from 1 on")
        made = Target(self, name, product, deviations)
        for number in range(ports):
            made.add_port(transport=transport, address=address if number == 0 else None, tcp=tcp, tls=tls, psks=psks,
                          device=device, **listen)
        return made

    @keywords("subsystem", "SubsystemOptions")
    def subsystem(self, *, transport: str = "rdma", size: int | str | None = "64M", block_bytes: int = 512, ports: int = 1,
                  product: TargetProduct | None = None, deviations: Sequence[str] = (), device: str = "softroce",
                  **options: Unpack[SubsystemOptions]) -> Subsystem:
        """Shortcut: a target, a subsystem on all of its ports, and a namespace of `size` (None: no namespace)."""
        if size is not None:
            blocks_of(size, block_bytes)
        target = self.target(transport=transport, ports=ports, product=product, deviations=deviations, device=device)
        made = target.add_subsystem(**options)
        if size is not None:
            made.add_namespace(size=size, block_bytes=block_bytes)
        return made

    def host(self, name: str = "host", *, transport: str | None = None, address: str | None = None, hostnqn: str = "",
             policy: str = "round_robin", product: HostProduct | None = None, deviations: Sequence[str] = (),
             mtu_code: int = 5, tcp: TcpHostOptions | None = None, psks: str = "", device: str = "softroce") -> Host:
        """A correct host, unless `product` or `deviations` make it misbehave.

        `transport` is rdma unless given; in real time it is that of the first URL the host connects to.
        `policy` chooses among the paths of a namespace: round_robin, queue_depth or numa. With keys (`psks`, lines
        ``HOSTNQN SUBNQN NVMeTLSkey-1:...``) its connections over TCP may be TLS. `device` is that of :meth:`target`.
        """
        if transport is None and (self._fabric is not None or device != "softroce"):
            transport = "rdma"
        if transport is None and (tcp or psks):
            transport = "tcp"
        check_transport(transport or "rdma", device)
        given, named = product_of(product, HostProduct), names_of(deviations, "deviations")
        machine = self._machine("host", name, address, mtu_code, device)

        def make(chosen: str) -> _core.Host:
            return _core.make_host(self._core, machine._core, chosen, hostnqn, policy, dict(tcp or {}), given, named, psks)

        return Host(self, make, machine._core, transport)

    def mctp_bus(self, medium: str = "smbus", *, name: str = "bus") -> MctpBus:
        """An MCTP network whose owner has EID 8, with one medium: smbus, pcie or serial."""
        return MctpBus(self, medium, name)

    def raw_tcp(self, machine: Machine | None = None) -> RawTcp:
        """A raw NVMe/TCP peer, on its own machine unless one is given."""
        return RawTcp(_core.make_raw_tcp((machine or self.machine("peer"))._core))

    def raw_roce(self, to: str, machine: Machine | None = None) -> RawRoce:
        """A raw RoCEv2 peer, towards the device at that address."""
        return RawRoce(_core.make_raw_roce((machine or self.machine("peer"))._core, to))

    # ---- faults and evidence ----

    @property
    def strikes(self) -> list[Strike]:
        """Faults of the plan that occurred so far."""
        self._core.pending()  # raises Closed where there are no faults to ask for
        return [] if self._faults is None else [Strike(*strike) for strike in _core.strikes(self._core, self._faults)]

    def disarm(self) -> None:
        """Disables all faults of the plan from now on."""
        self._core.pending()
        if self._faults is not None:
            _core.disarm(self._core, self._faults)

    def note(self, text: str) -> None:
        """Adds text to the trace: a comment in the capture, a line in the ladder."""
        if not isinstance(text, str):
            raise TypeError(f"note: text is wanted, not {type(text).__name__}")
        self._core.note(text)

    def listen(self, call: Callable[[str, float, str, str, str, bytes], None]) -> None:
        """`call(kind, time, actor, label, text, bytes)` for every event of the trace from now on: packets, changes of
        state, faults, notes. Slow."""
        _core.listen(self._core, call)

    def marks(self, name: str) -> int:
        """How often the run reached a named mark of the engines ("rc.nak.sequence.sent")."""
        return self._core.marks(name)

    def _recording(self) -> _core.Recorder:
        if self._recorder is None:
            raise ValueError("this world is not recorded; make it with record=True")
        return self._recorder

    def save_capture(self, path: str | os.PathLike[str]) -> None:
        """Writes everything so far as a pcapng file, which Wireshark opens."""
        self._recording().save(os.fspath(path))

    def capture(self) -> bytes:
        """The same as bytes."""
        return self._recording().capture()

    def said(self) -> list[ladder.Said]:
        """The exchange so far: commands, completions, PDUs, CM messages, faults and notes, one entry each."""
        return [ladder.Said(*one) for one in self._recording().said()]

    def ladder(self, last: int = 60) -> str:
        """The last part of the exchange as a text diagram."""
        return ladder.text(self.said(), last)

    def findings(self) -> list[dict[str, Any]]:
        """Broken rules (``monitors=True``): rule, requirement, packet, time, actor, text."""
        return self._recording().findings()

    @safe
    def __repr__(self) -> str:
        return "<World closed>" if self.closed else f"<World seed {self.seed}, {self.now:.6f} s>"
