"""Why the extension module cannot be imported, for the people who see it."""

from __future__ import annotations

import importlib.machinery
import pathlib
import re
import sys


def explain(problem: ImportError) -> ImportError:
    """The extension is built for one version of Python: others say that the import is circular."""
    folder = pathlib.Path(__file__).parent
    found = sorted(one.name for one in folder.glob("_core.*.so"))
    if any(name == "_core" + suffix for name in found for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        return problem
    this = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    if not found:
        return ImportError(f"fabricbench is not built in {folder}: put the package of a build (build/release/python) on PYTHONPATH")
    for name in found:
        if version := re.match(r"_core\.cpython-(\d)(\d+)-", name):
            wanted = f"{version[1]}.{version[2]}"
            return ImportError(f"fabricbench was built for Python {wanted}, and this is {this} ({sys.executable}); run python{wanted}, "
                               f"or build it for this one with cmake -DPython3_EXECUTABLE={sys.executable}")
    return ImportError(f"fabricbench was built as {found[0]}, which this Python ({this}, {sys.executable}) cannot load")
