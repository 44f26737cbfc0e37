"""Writes what the module's tables say as Python: enumerations, and stubs of the records, the statuses and the options.

    generate.py MODULE FOLDER

The layouts and enumerations are declared once, in C++; an editor and mypy read them here.
"""

import importlib.util
import keyword
import pathlib
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("_core", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path, text):
    if path.is_symlink():
        path.unlink()
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


#: What options take, beside the numbers of the wire.
OF_OPTIONS = {"ControllerModel", "MiRevision", "ProtectionUse"}


def enums(core):
    lines = ['"""Numbers of the wire by name: each is an int, so that it goes wherever a number does."""',
             "", "from enum import IntEnum", ""]
    names = []
    for name, members in sorted(core.enums.items()):
        names.append(name)
        story = f"{name}, as an option." if name in OF_OPTIONS else f"{name} of the specification; values as the wire carries them."
        lines += ["", f"class {name}(IntEnum):", f'    """{story}"""', ""]
        for member, value in members:
            lines.append(f"    {member.upper()} = {value:#x}")
        lines += ["", "    def __repr__(self) -> str:", '        return f"{type(self).__name__}.{self.name}"', ""]
    lines += ["", "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]", ""]
    return "\n".join(lines)


def field_type(record, name):
    """What a field gives and takes, as a type of wire.pyi, and what an argument of that name is."""
    if getattr(record, name).bits == 0:
        return "_Bytes", "Buffer | str"
    return ("_Flag" if isinstance(getattr(record(), name), bool) else "_Number"), "int"


def field_story(field):
    """Where it stands, and how it counts: an editor shows it."""
    where = f"Byte {field.offset}" if field.size == 1 else f"Bytes {field.offset} to {field.offset + field.size - 1}"
    if field.bits == 0:
        return where + "."
    return f"{where}, {field.bits} bit{'s' if field.bits > 1 else ''}" + (", a 0's based count." if field.zero_based else ".")


def wire(core):
    lines = ['"""Structures of the wire as record types: bytes with named fields."""', "",
             "from typing import Any, ClassVar, Protocol", "", "from typing_extensions import Self", "",
             "from fabricbench._core import Field, Record as Record", "",
             "class Array(Protocol):", '    """Of numpy, or what has its interface."""', "    @property",
             "    def __array_interface__(self) -> Any: ...", "",
             "# What goes wherever bytes are wanted.", "Buffer = bytes | bytearray | memoryview | Record | Array", "",
             "_Number = Field[int, int]", "_Flag = Field[bool, int]", "_Bytes = Field[bytes, Buffer | str]", "",
             "def record_types() -> dict[str, type[Record]]:", '    """Every record type by name."""']
    for name, record in core.record_types.items():
        fields = [f for f in vars(record) if f != "SIZE" and not f.startswith("_") and not keyword.iskeyword(f)]
        lines += ["", f"class {name}(Record):", f'    """A structure of {record.SIZE} bytes."""', "    SIZE: ClassVar[int]"]
        arguments = []
        for field in fields:
            kind, given = field_type(record, field)
            lines += [f"    {field}: {kind}", f'    """{field_story(getattr(record, field))}"""']
            arguments.append(f"{field}: {given} = ...")
        star = ", *, " + ", ".join(arguments) if arguments else ""
        lines.append(f"    def __init__(self, data: Buffer | None = ...{star}) -> None: ...")
        lines.append(f"    def copy(self{star}) -> Self: ...")
    return "\n".join(lines) + "\n"


def statuses(core):
    lines = ["from fabricbench._core import Status", ""]
    lines += [f"{name}: Status" for name in sorted(core.statuses)]
    return "\n".join(lines) + "\n"


def options(core):
    lines = ['"""Options as keyword arguments: their names and types."""', "", "from __future__ import annotations", "",
             "from datetime import timedelta", "from typing import Sequence, TypedDict, Union", "",
             '#: Seconds, text such as "250 us" or "10 ms", or a timedelta.', "Time = Union[float, str, timedelta]", ""]
    for name, rows in core.option_tables.items():
        lines += ["", f"class {name}(TypedDict, total=False):"]
        lines += [f"    {option}: {kind}" for option, kind in rows.items()]
        lines.append("")
    return "\n".join(lines)


def main():
    core = load(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    write(folder / "enums.py", enums(core))
    write(folder / "wire.pyi", wire(core))
    write(folder / "sc.pyi", statuses(core))
    write(folder / "options.py", options(core))


if __name__ == "__main__":
    main()
