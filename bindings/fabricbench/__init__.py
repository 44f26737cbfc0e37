"""fabricbench: NVMe over Fabrics and NVMe-MI from Python.

>>> import fabricbench as fb
>>> with fb.World(seed=1) as world:
...     subsystem = world.subsystem(size="1M")
...     host = world.host()
...     controller = host.connect(subsystem).wait()
...     space = controller.namespaces[0]
...     space.write(0, b"fabricbench!" * 128).wait()
...     space.read(0, blocks=3).wait()[:12]
b'fabricbench!'

Every action gives an Op: ``wait()`` for its value, or start several before the first wait. Times are seconds, or text
such as "250 us"; sizes are bytes, or text such as "64M".
"""

try:
    from fabricbench import _core
except ImportError as _problem:
    from fabricbench._wrong_python import explain
    raise explain(_problem) from None

from fabricbench import campaign, commands, enums, ladder, sc, suite, wire
from fabricbench._core import Completion, MiReply, Op, SeenCommand, Status, TargetController, __version__
from fabricbench._errors import (Abandoned, BenchBroken, Busy, Cancelled, Closed, CommandError, ConnectError, ConnectionLost, Deadlock,
                                 Ended, Error, MiError, SetupError, TimedOut, WaitError)
from fabricbench._faults import FaultKind, Plan, Rule, Schedule, Strike, fault_kinds
from fabricbench._host import Controller, DiscoveryEntry, Event, Host, Namespace, Path, Zone
from fabricbench._logs import Features, Logs
from fabricbench._mi import Drive, Endpoint, MctpBridge, MctpBus, Requester
from fabricbench._products import Answer, Delivery, EndpointProduct, HostProduct, TargetProduct
from fabricbench._raw import MctpPacket, RawMctp, RawRoce, RawTcp, RoceConnection, RocePacket
from fabricbench._raw_queue import RawQueue
from fabricbench._target import Port, Subsystem, Target, TargetNamespace
from fabricbench._world import Link, Machine, World

__all__ = [
    "Abandoned", "Answer", "BenchBroken", "Busy", "Cancelled", "Closed", "CommandError", "Completion", "ConnectError",
    "ConnectionLost", "Controller", "Deadlock", "Delivery", "DiscoveryEntry", "Drive", "Ended", "Endpoint", "EndpointProduct",
    "Error", "Event", "FaultKind", "Features", "Host", "HostProduct", "Link", "Logs", "Machine", "MctpBridge", "MctpBus",
    "MctpPacket", "MiError", "MiReply", "Namespace", "Op", "Path", "Plan", "Port", "RawMctp", "RawQueue", "RawRoce", "RawTcp",
    "Requester", "RoceConnection", "RocePacket", "Rule", "Schedule", "SeenCommand", "SetupError", "Status", "Strike",
    "Subsystem", "Target", "TargetController", "TargetNamespace", "TargetProduct", "TimedOut", "WaitError", "World", "Zone",
    "__version__", "campaign", "commands", "enums", "fault_kinds", "ladder", "sc", "suite", "wire",
]
