"""Management: drives on an MCTP bus, and requesters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench import _core
from fabricbench._core import MiReply
from fabricbench._products import EndpointProduct, TargetProduct, product_of
from fabricbench._raw import RawMctp
from fabricbench._reprs import safe
from fabricbench._target import Subsystem
from fabricbench._units import names_of, plain_messages
from fabricbench.enums import Cns, FeatureId, LogPage, MiConfiguration, MiOpcode, Primitive
from fabricbench.wire import ControllerHealth, ControllerInfo, IdentifyController, PortInfo, SmartLog, SubsystemHealth, SubsystemInfo

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from fabricbench._core import Op
    from fabricbench._world import World
    from fabricbench.options import DeviceOptions, EndpointOptions, NamespaceOptions, RequesterOptions, SubsystemOptions, Time
    from fabricbench.wire import Buffer


@dataclass(frozen=True)
class KnownEndpoint:
    """What the bus owner knows about an endpoint."""

    eid: int
    bus: str
    bridge: bool
    #: EID of the bridge in front of it; 0 for none.
    behind: int
    types: list[int]


@plain_messages
class Drive:
    """A managed drive: an NVM subsystem and its management endpoint."""

    def __init__(self, core: _core.Drive) -> None:
        self._core = core

    @property
    def eid(self) -> int:
        """0 until the bus was enumerated."""
        return self._core.eid

    @property
    def subsystem(self) -> Subsystem:
        """Its NVM subsystem: controllers 1 and 2, and one namespace by default."""
        return Subsystem(None, self._core.subsystem)

    def reset_endpoint(self) -> None:
        """An endpoint reset: outstanding commands are discarded."""
        self._core.reset_endpoint()

    def power_cycle(self) -> None:
        """Power is lost and returns, as in Subsystem.power_cycle(); a dynamic EID is lost until the next enumeration."""
        self._core.power_cycle()

    @safe
    def __repr__(self) -> str:
        return f"<Drive EID {self.eid}>"


@plain_messages
class MctpBridge:
    """A bridge with segments behind it."""

    def __init__(self, core: _core.MctpBridge) -> None:
        self._core = core

    @property
    def eid(self) -> int:
        """0 until the bus was enumerated."""
        return self._core.eid

    @property
    def forwarded(self) -> int:
        """Packets so far."""
        return self._core.forwarded

    def forget_routes(self) -> None:
        """As after a reset: nothing is forwarded until the bus is enumerated again."""
        self._core.forget_routes()


@plain_messages
class MctpBus:
    """An MCTP network with its bus owner at EID 8. Add drives, then enumerate()."""

    def __init__(self, world: World, medium: str, name: str) -> None:
        self._world = world
        self._core = _core.make_bus(world._core)
        self._media: list[str] = []
        #: Drives in the order of their adding.
        self.drives: list[Drive] = []
        self.add_segment(medium, name)

    def add_segment(self, medium: str, name: str) -> int:
        """Another medium with the owner on it; returns its number. The first is 0."""
        number = self._core.add_segment(medium, name, self._world._fabric)
        self._media.append(medium)
        return number

    def add_drive(self, *, segment: int = 0, address: int | None = None, variant: str = "", device: DeviceOptions | None = None,
                  endpoint: EndpointOptions | None = None, subsystem: SubsystemOptions | None = None,
                  namespaces: Sequence[NamespaceOptions] = (), product: EndpointProduct | None = None,
                  target_product: TargetProduct | None = None, deviations: Sequence[str] = (), static_eid: int = 0) -> Drive:
        """A drive at that address: 8-bit form on SMBus, bus/device/function on PCI Express.

        `variant` is a kind of drive that differs in what the specifications leave open; `product` decides how its
        endpoint departs from them, `target_product` how its controllers do.
        """
        product = product_of(product, EndpointProduct)
        target_product = product_of(target_product, TargetProduct, "target_product")
        named = names_of(deviations, "deviations")
        core = self._core.add_drive(segment, address, variant, dict(device or {}), dict(endpoint or {}),
                                    dict(subsystem or {}), [dict(one) for one in namespaces], product, target_product, named,
                                    static_eid)
        self.drives.append(Drive(core))
        return self.drives[-1]

    def add_bridge(self, *, segment: int = 0, address: int | None = None, name: str = "bridge") -> MctpBridge:
        """A bridge on a segment, without media behind it."""
        return MctpBridge(self._core.add_bridge(segment, address, name))

    def add_segment_behind(self, bridge: MctpBridge, medium: str = "smbus", name: str = "behind") -> int:
        """A medium behind a bridge; its number."""
        number = self._core.add_segment_behind(bridge._core, medium, name)
        self._media.append(medium)
        return number

    def enumerate(self) -> int:
        """Assigns an EID to every endpoint, from 9 on; returns their number."""
        assigned: int = self._core.enumerate()["assigned"]
        return assigned

    @property
    def known(self) -> list[KnownEndpoint]:
        """Endpoints known to the owner, by EID."""
        return [KnownEndpoint(**one) for one in self._core.known()]

    def raw_peer(self, drive: Drive, *, eid: int = 0x20, segment: int = 0, address: int | None = None) -> RawMctp:
        """A raw peer beside the owner, towards that drive. Call it after enumerate(), which would otherwise assign an EID to it."""
        return RawMctp(_core.make_raw_mctp(self._core, segment, address, eid, drive._core))

    def requester(self, **options: Unpack[RequesterOptions]) -> Requester:
        """A management requester on the owner's port."""
        return Requester(_core.make_requester(self._core, dict(options)))


@plain_messages
class Requester:
    """Sends requests to management endpoints, and checks every answer."""

    def __init__(self, core: _core.MiRequester) -> None:
        self._core = core

    def endpoint(self, drive: Drive | int) -> Endpoint:
        """The endpoint of a drive, or at an EID."""
        return Endpoint(self, drive if isinstance(drive, int) else drive.eid)

    @property
    def strays(self) -> int:
        """Messages that answered no request."""
        return self._core.strays


@plain_messages
class Endpoint:
    """A management endpoint, as seen by its requester. An answer other than Success raises MiError."""

    def __init__(self, requester: Requester, eid: int) -> None:
        if not 0 <= eid <= 255:
            raise ValueError(f"eid: {eid} is outside 0 to 255")
        self._core = requester._core
        self.eid = eid

    # ---- well-behaved ----

    def info(self) -> Op[SubsystemInfo]:
        """Read NVMe-MI Data Structure: NVM subsystem information."""
        return self._core.subsystem_info(self.eid)

    def port_info(self, port: int = 0) -> Op[PortInfo]:
        """Read NVMe-MI Data Structure: port information."""
        return self._core.port_info(self.eid, port)

    def controllers(self) -> Op[list[int]]:
        """Read NVMe-MI Data Structure, controller list: their identifiers."""
        return self._core.controllers(self.eid)

    def controller_info(self, cntlid: int = 1) -> Op[ControllerInfo]:
        """Read NVMe-MI Data Structure: controller information."""
        return self._core.controller_info(self.eid, cntlid)

    def health(self, *, clear: bool = False) -> Op[SubsystemHealth]:
        """NVM Subsystem Health Status Poll."""
        return self._core.health(self.eid, clear)

    def controller_health(self, *, clear: bool = False) -> Op[list[ControllerHealth]]:
        """Controller Health Status Poll of all controllers."""
        return self._core.controller_health(self.eid, clear)

    def read_vpd(self, offset: int = 0, length: int = 128) -> Op[bytes]:
        """VPD Read."""
        return self._core.read_vpd(self.eid, offset, length)

    def write_vpd(self, offset: int, data: bytes) -> Op[MiReply]:
        """VPD Write."""
        return self._core.write_vpd(self.eid, offset, data)

    def reset(self) -> Op[MiReply]:
        """Reset NVM Subsystem."""
        return self._core.reset_subsystem(self.eid)

    def shut_down(self, *, abrupt: bool = False) -> Op[MiReply]:
        """Shutdown."""
        return self._core.shut_down(self.eid, abrupt)

    def configuration(self, id: MiConfiguration | int, port: int = 0) -> Op[MiReply]:
        """Configuration Get."""
        return self._core.get_configuration(self.eid, id, port)

    def set_unit(self, unit: int, port: int = 0) -> Op[MiReply]:
        """The MCTP transmission unit of a port, and of the requester's own."""
        return self._core.set_unit(self.eid, port, unit)

    def identify(self, cntlid: int = 1) -> Op[IdentifyController]:
        """Identify Controller through the tunnel of Admin commands."""
        return self._core.identify(self.eid, cntlid, Cns.CONTROLLER, 0).then(IdentifyController)

    def smart(self, cntlid: int = 1) -> Op[SmartLog]:
        """SMART / Health Information through the tunnel."""
        return self._core.get_log(self.eid, cntlid, LogPage.SMART, SmartLog.SIZE).then(SmartLog)

    def log_page(self, lid: LogPage | int, length: int, cntlid: int = 1) -> Op[bytes]:
        """Any log page through the tunnel, in pieces."""
        return self._core.get_log(self.eid, cntlid, lid, length)

    def get_feature(self, fid: FeatureId | int, cntlid: int = 1) -> Op[int]:
        """DW0 of Get Features through the tunnel."""
        return self._core.get_feature(self.eid, cntlid, fid)

    def set_feature(self, fid: FeatureId | int, value: int, cntlid: int = 1) -> Op[None]:
        """Set Features with CDW11 through the tunnel."""
        return self._core.set_feature(self.eid, cntlid, fid, value)

    def admin(self, command: Buffer, data: Buffer | None = None, *, cntlid: int = 1, offset: int = 0, length: int = 0) -> Op[MiReply]:
        """Any Admin command through the tunnel; `length` bytes from `offset` of its data. Returns the reply, whatever its status is."""
        return self._core.admin(self.eid, cntlid, command, data, offset, length)

    # ---- raw ----

    def command(self, opcode: MiOpcode | int, nmd0: int = 0, nmd1: int = 0, data: bytes = b"", *, slot: int = 0,
                timeout: Time | None = None) -> Op[MiReply]:
        """Any MI command. Returns the reply, whatever its status is."""
        return self._core.command(self.eid, opcode, nmd0, nmd1, data, slot, timeout)

    def primitive(self, opcode: Primitive | int, *, slot: int = 0, parameter: int = 0) -> Op[MiReply]:
        """A control primitive."""
        return self._core.primitive(self.eid, opcode, slot, parameter)

    def request(self, body: Buffer, *, timeout: Time | None = None) -> Op[MiReply]:
        """Any message body; its check is added. CSI says which slot."""
        return self._core.request(self.eid, body, timeout)

    def send_raw(self, message: Buffer, *, tag: int | None = None, answers: int = 1, wait: Time = 0.5) -> Op[list[bytes]]:
        """Exactly these bytes as one message; the messages that came back with its tag, as they are."""
        return self._core.send_raw(self.eid, message, tag, answers, wait)

    @safe
    def __repr__(self) -> str:
        return f"<Endpoint EID {self.eid}>"
