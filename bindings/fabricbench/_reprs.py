"""reprs that never raise: they stand in the output of failures, when a world may be closed, or has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fabricbench._errors import Error

T = TypeVar("T")


def safe(represent: Callable[[T], str]) -> Callable[[T], str]:
    """A __repr__ that says what it is a repr of where the world cannot be asked any more."""

    def represent_safely(self: T) -> str:
        try:
            return represent(self)
        except Error as problem:
            return f"<{type(self).__name__}: {problem}>"
        except AttributeError:  # its __init__ has raised, and a traceback shows it
            return f"<{type(self).__name__}, not made>"

    return represent_safely
