"""Errors as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench._core import MiReply, Status


class Error(Exception):
    """Base of all exceptions of this package."""


class WaitError(Error):
    """A wait for an operation ended without a value."""


class Deadlock(WaitError):
    """Virtual time: nothing can ever happen again. The text names every pending operation."""


class TimedOut(WaitError, TimeoutError):
    """The limit of a wait passed, or the world's patience."""


class Cancelled(WaitError):
    """cancel() was called."""


class Abandoned(WaitError):
    """The object that would have completed the operation no longer exists."""


class Closed(Error):
    """The world is closed, or the object in it no longer exists."""


class Ended(Error):
    """A callback raised an exception earlier, or the bench failed: the world cannot continue."""


class Busy(Error):
    """The world is already running, in another thread or in the caller of this callback; or an operation is not complete yet."""


class SetupError(Error, ValueError):
    """Something in the surroundings is wrong: a file, an address, an unknown name."""


class BenchBroken(Error):
    """An invariant of fabricbench itself does not hold: a defect of the bench, never of a product."""


class CommandError(Error):
    """A command completed with a status other than success."""

    #: The status that it was answered with.
    status: Status


class ConnectionLost(Error):
    """The connection ended before the command was answered."""


class ConnectError(Error):
    """The association could not be established, or ended permanently."""

    #: transport, refused, command, timeout, violation, authentication, unsupported or closed.
    kind: str
    #: Where the controller refused: its answer.
    status: Status
    #: The same attempt would end the same way.
    permanent: bool
    #: Connect Invalid Parameters: the offset that the answer names (IPO), and whether it counts in the data.
    parameter_offset: int
    parameter_in_data: bool


class MiError(Error):
    """A management request got no answer, an invalid one, or one other than Success."""

    #: answered, timed_out or violation.
    outcome: str
    #: The NVMe-MI status.
    status: int
    reply: MiReply


for _public in [one for one in vars().values() if isinstance(one, type) and issubclass(one, Error)]:
    _public.__module__ = "fabricbench"  # where its users know it from, and what tracebacks say
