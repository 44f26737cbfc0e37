"""What can go wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench._core import MiReply, Status


class Error(Exception):
    """Everything that this package raises by itself."""


class WaitError(Error):
    """An operation that was waited for came to no value."""


class Deadlock(WaitError):
    """Virtual time: nothing can ever happen again. The text names every operation that still waits."""


class TimedOut(WaitError, TimeoutError):
    """The limit of a wait passed, or the world's patience."""


class Cancelled(WaitError):
    """cancel() was called."""


class Abandoned(WaitError):
    """Whoever was to finish the operation is gone."""


class Closed(Error):
    """The world is closed, or the thing in it is no more."""


class Ended(Error):
    """A callback raised earlier, or the bench broke: the world does not go on."""


class Busy(Error):
    """The world is being run: by another thread, or by who is called back now. Or an operation is not done yet."""


class SetupError(Error, ValueError):
    """Something in the surroundings is wrong: a file, an address, a name that there is not."""


class BenchBroken(Error):
    """An invariant of fabricbench itself does not hold: a defect of the bench, never of a product."""


class CommandError(Error):
    """A command was answered with a status that is no success."""

    #: The status that it was answered with.
    status: Status


class ConnectionLost(Error):
    """The connection ended before the command was answered."""


class ConnectError(Error):
    """An association did not come about, or ended for good."""

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
    """A management request got no answer, none that may be believed, or one that is no Success."""

    #: answered, timed_out or violation.
    outcome: str
    #: The NVMe-MI status.
    status: int
    reply: MiReply


for _public in [one for one in vars().values() if isinstance(one, type) and issubclass(one, Error)]:
    _public.__module__ = "fabricbench"  # where its users know it from, and what tracebacks say
