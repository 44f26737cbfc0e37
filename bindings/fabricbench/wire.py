"""Structures of the wire as record types: bytes with named fields.

>>> from fabricbench import wire
>>> command = wire.ReadWriteSqe(opcode=0x02, nsid=1, slba=7)
>>> command.slba, len(command)
(7, 64)

Fields are ints, bools or bytes, as the wire carries them: a 0's based count stays one (``nlb=7`` is eight blocks).
A value that does not fit is a ValueError that names the field and its limits. ``record.view(Other)`` looks at the same
bytes as another structure, ``record.copy(field=...)`` gives a changed copy, ``bytes(record)`` what is sent.
"""

from typing import Any, Protocol

from fabricbench import _core


class Array(Protocol):
    """Of numpy, or what has its interface."""

    @property
    def __array_interface__(self) -> Any:
        """As numpy describes it."""


Record = _core.Record
#: What goes wherever bytes are wanted.
Buffer = bytes | bytearray | memoryview | Record | Array
globals().update(_core.record_types)
__all__ = ["Array", "Buffer", "Record", "record_types", *_core.record_types]


def record_types() -> dict[str, type[Record]]:
    """Every record type by name."""
    return dict(_core.record_types)
