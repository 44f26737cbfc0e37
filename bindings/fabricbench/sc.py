"""Status codes by name: ``sc.invalid_field``, ``sc.lba_out_of_range``. They compare by type and code alone."""

from fabricbench import _core

globals().update(_core.statuses)
__all__ = list(_core.statuses)
