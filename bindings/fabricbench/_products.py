"""Products written in Python: subclass, override what should behave differently, and pass an object to the world.

Methods are called while the world runs. An exception ends the world and is raised by the wait() that ran it, with its
traceback. A method that is not overridden costs nothing.
"""

from __future__ import annotations

import difflib
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from fabricbench._core import SeenCommand, Status
    from fabricbench.options import Time
    from fabricbench.wire import Cqe, Sqe


class Answer(IntEnum):
    """What happens to a completion."""

    SEND = 0
    WITHHOLD = 1
    SEND_TWICE = 2
    DISCONNECT_INSTEAD = 3


class Delivery(IntEnum):
    """What happens to a message of a management endpoint."""

    SEND = 0
    WITHHOLD = 1
    SEND_TWICE = 2


class _Product:
    """What every product has."""

    def __init_subclass__(cls, **rest: Any) -> None:
        """A hook with a name that is nearly right would never be asked, and the product be an honest one."""
        super().__init_subclass__(**rest)
        hooks = [name for base in cls.__mro__[1:] if base.__module__ == __name__ for name, one in vars(base).items() if callable(one)]
        known = {name for name in hooks if not name.startswith("_")}
        if cls.__module__ == __name__:
            return
        for name, one in vars(cls).items():
            if callable(one) and not name.startswith("_") and name not in known:
                if near := difflib.get_close_matches(name, known, 1, 0.8):
                    raise TypeError(f"{cls.__name__}.{name}: no hook is called so; is '{near[0]}' meant? "
                                    "(What is no hook may begin with _.)")

    def departs(self, point: str) -> bool:
        """Called at each fault point; True makes the product misbehave there."""
        return False


class _TransportProduct(_Product):
    """What every product has that speaks over a fabric."""

    def capsule_out(self, qid: int, capsule: bytes) -> bytes | None:
        """A capsule on its way out (commands of a host, responses of a target): other bytes, or None."""

    def capsule_in(self, qid: int, capsule: bytes) -> None:
        """A capsule that arrived, before any check."""

    def pdus_out(self, qid: int, pdus: list[bytes]) -> list[bytes] | None:
        """PDUs of NVMe/TCP on their way out, whole and with digests: other ones, fewer or more, or None."""

    def private_data_out(self, message: str, data: bytes) -> bytes | None:
        """RDMA private data on its way out; `message` is req, rep or rej."""


class TargetProduct(_TransportProduct):
    """An emulated target that behaves as overridden, and otherwise as specified."""

    def admission(self, command: SeenCommand) -> Status | int | str | None:
        """A command was fetched, before any check. A status answers it at once without executing it."""

    def refuses(self, command: SeenCommand, check: str, status: Status) -> bool | Status | None:
        """The check of that name failed, and the answer would be `status`. False goes on as if it had passed; another
        status is the answer instead."""

    def own_command(self, command: SeenCommand) -> int | None:
        """How many bytes move with a command that execute() executes; None leaves it to the model."""

    def execute(self, command: SeenCommand, data: bytearray) -> Status | tuple[Status, int] | None:
        """A command of own_command(): `data` came from the host, or is filled for it. The status, or the status and
        DW0 with DW1 above it; None is Success. (Base, Figure "Command Opcode": bits 1:0 say which way data goes.)"""

    def latency(self, command: SeenCommand) -> Time | None:
        """Further time between the arrival of an I/O command and its execution."""

    def property_read(self, offset: int, value: int) -> int | None:
        """A property is read: another value, or None."""

    def property_write(self, offset: int, value: int) -> int | bool | None:
        """A property is written: another value, False to ignore the write, or None."""

    def data_out(self, command: SeenCommand, data: bytearray) -> None:
        """Data on its way to the host (Identify, log pages, what is read); it may be changed in place."""

    def data_in(self, command: SeenCommand, data: bytearray) -> None:
        """Data from the host before it takes effect; it may be changed in place."""

    def completion(self, command: SeenCommand, cqe: Cqe) -> Answer | None:
        """A completion on its way out; its fields may be changed."""


class HostProduct(_TransportProduct):
    """A host with overridden behaviour."""

    def command_out(self, qid: int, sqe: Sqe, data: bytearray) -> None:
        """A command on its way out, before the transport writes its SGL; both may be changed in place."""


class EndpointProduct(_Product):
    """A management endpoint with overridden behaviour. Messages are bytes, from the header on, without check."""

    def message_in(self, message: bytes) -> bool | None:
        """A message arrived whole, with its check, before anything is looked at. False: it is not seen."""

    def admission(self, request: bytes) -> int | None:
        """A command is about to be executed. An NVMe-MI status answers it at once."""

    def delay(self, request: bytes) -> Time | None:
        """Time that the command takes beyond what the options say."""

    def response(self, request: bytes, body: bytes) -> bytes | None:
        """A response before its check is computed: another one, or None."""

    def message_out(self, request: bytes, message: bytes) -> Delivery | bytes | None:
        """A message on its way out with its check: what becomes of it, or other bytes."""


P = TypeVar("P", TargetProduct, HostProduct, EndpointProduct)


def product_of(value: P | None, kind: type[P], what: str = "product") -> P | None:
    """An object of that kind of product, or None; TypeError for anything else, the class instead of an object too."""
    if value is None or isinstance(value, kind):
        return value
    given = f"the class {value.__name__}; put () behind it" if isinstance(value, type) else type(value).__name__
    raise TypeError(f"{what}: a {kind.__name__} is wanted, not {given}")
