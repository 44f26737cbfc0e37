"""Builders of well-formed commands. They give records, so that a script may alter any field before it sends them:

>>> from fabricbench import commands
>>> commands.read(nsid=1, lba=0, blocks=8).copy(nsid=99).nsid
99
"""

from fabricbench import _core
from fabricbench._units import plain_call

globals().update({name: plain_call(getattr(_core.commands, name)) for name in vars(_core.commands) if not name.startswith("_")})
__all__ = [name for name in vars(_core.commands) if not name.startswith("_")]
