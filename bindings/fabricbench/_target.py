"""Emulated targets: ports, subsystems, namespaces, and what happens to them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench import _core
from fabricbench._core import TargetController
from fabricbench._products import TargetProduct, product_of
from fabricbench._reprs import safe
from fabricbench._units import blocks_of, check_transport, keywords, names_of, plain_messages
from fabricbench.enums import AnaState

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from fabricbench._world import World
    from fabricbench.options import ListenerOptions, NamespaceOptions, SubsystemOptions, TcpTargetOptions
    from fabricbench.wire import Buffer


@plain_messages
class Port:
    """Where a target listens."""

    def __init__(self, portid: int, transport: str, machine: str, address: str, port: int) -> None:
        #: PORTID in Identify and the discovery log.
        self.portid = portid
        #: rdma or tcp.
        self.transport = transport
        #: Name of the machine, as links have it.
        self.machine = machine
        self.address = address
        self.port = port

    @property
    def url(self) -> str:
        """``tcp://10.0.1.1:4420``."""
        return f"{self.transport}://{self.address}:{self.port}"

    @safe
    def __repr__(self) -> str:
        return f"<Port {self.portid} {self.url}>"


@plain_messages
class Target:
    """An emulated target. Its discovery service answers on every port under the well-known name."""

    def __init__(self, world: World, kind: str, product: TargetProduct | None, deviations: Sequence[str]) -> None:
        product, named = product_of(product, TargetProduct), names_of(deviations, "deviations")
        self._world = world
        self._kind = kind
        self._name = name = world._name(kind)
        self._core = _core.make_target(world._core, world._fabric, product, named, name)
        #: In the order in which they were added; PORTIDs count from 1.
        self.ports: list[Port] = []

    @property
    def name(self) -> str:
        """Of the machine with its first port."""
        return self._name

    @keywords("add_port", "ListenerOptions")
    def add_port(self, *, transport: str = "rdma", address: str | None = None, tcp: TcpTargetOptions | None = None,
                 tls: str = "", psks: str = "", device: str = "softroce", **listen: Unpack[ListenerOptions]) -> Port:
        """Listens on a further machine. Subsystems are reachable through every port unless they are hidden there.

        Over TCP, `tls` is "offered" or "required" with the keys in `psks`: lines ``HOSTNQN SUBNQN NVMeTLSkey-1:...``.
        """
        check_transport(transport, device)
        portid = len(self.ports) + 1
        # The first port is on the machine that has the target's name, others on the next of the same kind.
        name = self._name if portid == 1 else self._world._name(self._kind)
        core = _core.make_machine(self._world._core, self._world._fabric, name, self._world._address("target", address), 5, device,
                                  self._world._between is not None)
        at, port = self._core.listen(core, transport, portid, dict(listen), dict(tcp or {}), tls, psks)
        self.ports.append(Port(portid, transport, name, at, port))
        return self.ports[-1]

    @keywords("subsystem", "SubsystemOptions")
    def add_subsystem(self, *, secrets: str | None = None, authentication_required: bool = True,
                      **options: Unpack[SubsystemOptions]) -> Subsystem:
        """A subsystem without namespaces. With `secrets` (lines ``HOSTNQN DHHC-1:...``) hosts authenticate."""
        return Subsystem(self, self._core.add_subsystem(dict(options), secrets, authentication_required))

    def hide(self, subsystem: Subsystem, portid: int) -> None:
        """No longer reachable or listed through that port; associations continue."""
        self._core.hide(portid, subsystem._core)

    def expose(self, subsystem: Subsystem, portid: int) -> None:
        """Ends hide()."""
        self._core.expose(portid, subsystem._core)

    def add_referral(self, address: str, port: int = 4420, transport: str = "rdma") -> None:
        """Adds a referral to another service to the discovery log."""
        self._core.add_referral(address, port, transport)

    @safe
    def __repr__(self) -> str:
        return f"<Target {self._name}, {len(self.ports)} ports>"


@plain_messages
class Subsystem:
    """An emulated NVM subsystem, seen from behind: what a test changes while hosts are at work."""

    __slots__ = ("_core", "_target", "__weakref__")  # a property with a wrong name is an error

    def __init__(self, target: Target | None, core: _core.Subsystem) -> None:
        self._core = core
        self._target = target

    @property
    def target(self) -> Target:
        """The target that it belongs to; that of a drive on an MCTP bus has none."""
        if self._target is None:
            raise ValueError("the subsystem of a drive has no port on a fabric")
        return self._target

    @property
    def nqn(self) -> str:
        """Its NVMe Qualified Name."""
        return self._core.nqn

    @keywords("namespace", "NamespaceOptions")
    def add_namespace(self, *, size: int | str | None = None, file: str | os.PathLike[str] | None = None,
                      **options: Unpack[NamespaceOptions]) -> TargetNamespace:
        """A namespace of `size` bytes ("64M") or of `blocks`; hosts are notified. `file` keeps its data."""
        if size is not None:
            if "blocks" in options:
                raise ValueError("namespace: size or blocks, not both")
            options["blocks"] = blocks_of(size, options.get("block_bytes", 512))
        return TargetNamespace(self._core.add_namespace(dict(options), file))

    @property
    def namespaces(self) -> list[TargetNamespace]:
        """In ascending order of NSID."""
        return [TargetNamespace(one) for one in self._core.namespaces()]

    @property
    def controllers(self) -> list[TargetController]:
        """Current controllers; in the dynamic model, one per association."""
        return self._core.controllers()

    def set_ana_state(self, state: AnaState | int, *, group: int = 1, portid: int = 0) -> None:
        """For hosts that use that port (0: any). They are notified."""
        self._core.set_ana_state(group, state, portid)

    def ana_state(self, *, group: int = 1, portid: int = 1) -> AnaState:
        """State for hosts that use that port."""
        return AnaState(self._core.ana_state(group, portid))

    @property
    def temperature(self) -> int:
        """Composite temperature in kelvins; hosts are notified if a threshold is passed."""
        return self._core.temperature()

    @temperature.setter
    def temperature(self, kelvins: int) -> None:
        self._core.set_temperature(kelvins)

    @property
    def critical_warning(self) -> int:
        """The bits of SMART's critical warning."""
        return self._core.critical_warning()

    @critical_warning.setter
    def critical_warning(self, bits: int) -> None:
        self._core.set_critical_warning(bits)

    @property
    def percentage_used(self) -> int:
        """Of its life; may pass 100."""
        return self._core.percentage_used()

    @percentage_used.setter
    def percentage_used(self, percent: int) -> None:
        self._core.set_percentage_used(percent)

    @property
    def available_spare(self) -> int:
        """In percent."""
        return self._core.available_spare()

    @available_spare.setter
    def available_spare(self, percent: int) -> None:
        self._core.set_available_spare(percent)

    @property
    def firmware_revision(self) -> str:
        """Revision of the active firmware."""
        return self._core.firmware_revision()

    @property
    def sanitizing(self) -> bool:
        """Whether a sanitize operation is in progress."""
        return self._core.sanitizing()

    def allow_any_host(self, on: bool = True) -> None:
        """Any host may connect, or only those of allow_host()."""
        self._core.allow_any_host(on)

    def allow_host(self, hostnqn: str) -> None:
        """This host may connect."""
        self._core.allow_host(hostnqn)

    def disallow_host(self, hostnqn: str) -> None:
        """This host may no longer connect."""
        self._core.disallow_host(hostnqn)

    def set_moved(self, moved: bool = True) -> None:
        """Connect is answered with Connect Restart Discovery from now on."""
        self._core.set_moved(moved)

    def reset(self) -> None:
        """An NVM Subsystem Reset: every association ends, CSTS.NSSRO is set."""
        self._core.reset()

    def power_cycle(self) -> None:
        """Power is lost and returns: like a reset, and persistent state is loaded again.

        Of a subsystem that was made with ``power_loss_forgets=True``, the content of the volatile write cache is lost.
        """
        self._core.power_cycle()

    def end_associations(self, why: str = "a script ends them") -> None:
        """Every connection of every host is closed."""
        self._core.end_associations(why)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subsystem) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    @safe
    def __repr__(self) -> str:
        return f"<Subsystem {self.nqn}>"


@plain_messages
class TargetNamespace:
    """A namespace behind the controllers: its blocks without a host in between."""

    def __init__(self, core: _core.TargetNamespace) -> None:
        self._core = core

    @property
    def nsid(self) -> int:
        """Its NSID."""
        return self._core.nsid

    @property
    def blocks(self) -> int:
        """NSZE."""
        return self._core.blocks

    @property
    def block_bytes(self) -> int:
        """Data and metadata of one block."""
        return self._core.block_bytes

    @property
    def alive(self) -> bool:
        """False once it was deleted."""
        return self._core.alive

    @property
    def uuid(self) -> bytes:
        """16 bytes."""
        return self._core.uuid

    @property
    def totals(self) -> dict[str, int]:
        """What hosts read and wrote: reads, writes, bytes_read, bytes_written."""
        return self._core.totals

    def stored(self, lba: int, blocks: int = 1) -> bytes:
        """The content of these blocks."""
        return self._core.stored(lba, blocks)

    def store(self, lba: int, data: Buffer) -> None:
        """Stores whole blocks without a host command."""
        self._core.store(lba, data)

    def resize(self, blocks: int) -> None:
        """Changes NSZE, within its original size, and notifies the hosts."""
        self._core.resize(blocks)

    def remove(self) -> bool:
        """Deletes it and notifies the hosts. False if it did not exist."""
        return self._core.remove()

    def set_write_protected(self, on: bool = True) -> None:
        """As the feature Namespace Write Protection Config does."""
        self._core.set_write_protected(on)

    def set_uncorrectable(self, lba: int, blocks: int = 1) -> None:
        """These blocks answer Unrecovered Read Error until they are written."""
        self._core.set_uncorrectable(lba, blocks)

    @safe
    def __repr__(self) -> str:
        return f"<TargetNamespace {self.nsid}, {self.blocks} blocks>"
