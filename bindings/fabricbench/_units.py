"""Sizes, URLs and keywords as people write them, and what is said of those that are wrong."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import reprlib
import socket
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fabricbench import _core

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T", bound=type)

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_of(value: int | str, field: str) -> int:
    """Bytes: an int, or text such as "64M" or "4KiB"."""
    if isinstance(value, bool):
        raise TypeError(f"{field}: bytes are wanted, as an int or text such as '64M', not bool")
    if isinstance(value, int):
        if value < 0:
            raise ValueError(f"{field}: {value} is negative")
        return value
    if not isinstance(value, str):
        raise TypeError(f"{field}: bytes are wanted, as an int or text such as '64M', not {type(value).__name__}")
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(i?B)?", value)
    if found is None:
        raise ValueError(f"{field}: '{value}' is no size; write 4096, '64M' or '1G'")
    return int(found[1]) * _SIZES[found[2]]


def blocks_of(size: int | str, block_bytes: int, field: str = "size") -> int:
    """The blocks of so many bytes: at least one, and no part of one left over."""
    wanted = size_of(size, field)
    if not isinstance(block_bytes, int) or block_bytes <= 0:
        return wanted  # what is wrong with block_bytes is said where it is looked at
    if wanted == 0 or wanted % block_bytes != 0:
        raise ValueError(f"{field}: {wanted} bytes are not a whole number of blocks of {block_bytes} bytes")
    return wanted // block_bytes


def check_transport(transport: str, device: str) -> None:
    """ValueError for what fabrics do not run over."""
    if transport not in ("rdma", "tcp"):
        raise ValueError(f"transport: '{transport}'; there are rdma and tcp")
    if device not in ("softroce", "ND:default", "NDK:default"):
        raise ValueError(f"device: '{device}'; there are softroce, ND:default and NDK:default")
    if transport == "tcp" and device != "softroce":
        raise ValueError("device: NVMe/TCP has no RDMA device")


def names_of(value: Iterable[str], field: str) -> list[str]:
    """A list of names. One name alone would be taken letter by letter."""
    if isinstance(value, str):
        raise TypeError(f"{field}: a list is wanted, not str; write ['{value}']")
    return list(value)


def split_url(url: str) -> tuple[str, str, int, str]:
    """Transport, address, port and NQN of ``tcp://HOST:PORT[/NQN]`` or ``rdma://...``. Names are resolved."""
    if not isinstance(url, str) or not url.startswith(("tcp://", "rdma://")):
        raise ValueError(f"'{url}' is no place to connect to; write tcp://ADDRESS:PORT/NQN or rdma://ADDRESS:PORT/NQN")
    return _core.parse_url(url)


def address_towards(url: str) -> str:
    """Our own address on the way to that product, as the routing table has it. Empty for what is no URL of a fabric."""
    if not url.startswith(("tcp://", "rdma://")):
        return ""
    _, address, port, _ = split_url(url)
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        host, _, scope = address.partition("%")
        probe.connect((host, port, 0, socket.if_nametoindex(scope)) if scope else (host, port))
        own: str = probe.getsockname()[0]
    return f"{own}%{scope}" if scope and "%" not in own else own


#: What --fb-dut and Suite take, by how it begins.
_PRODUCTS = ("embedded", "tcp://", "rdma://", "mctp:", "serial:", "ND:", "verbs:", "host:")


def check_product(url: str) -> None:
    """ValueError for what is no product at all."""
    if url.startswith(("tcp://", "rdma://")) and not re.fullmatch(r"\w+://(\[[^\]]+\]|[^\[\]:/]+):\d+(/.*)?", url):
        raise ValueError(f"'{url}': a host and a port are wanted, as tcp://HOST:PORT[/NQN]")
    if url == "embedded" or url.startswith(_PRODUCTS[1:]):
        return
    if re.fullmatch(r"[\w.-]+:\d+(/.*)?", url):
        raise ValueError(f"'{url}' is no product; did you mean 'tcp://{url}'?")
    near = difflib.get_close_matches(url.partition(":")[0], [one.partition(":")[0] for one in _PRODUCTS], 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise ValueError(f"'{url}' is no product; known are embedded, tcp://HOST:PORT[/NQN], rdma://HOST:PORT[/NQN], mctp:NET,EID, "
                     f"serial:PATH, ND:LIBRARY, verbs:NAME and host:COMMAND{hint}")


def keywords(what: str, table: str) -> Callable[[C], C]:
    """For a function with options of a table: an option that there is not is named, with the one that comes near."""
    def decorate(call: C) -> C:
        known = [name for name, one in inspect.signature(call).parameters.items() if name != "self" and one.kind is not one.VAR_KEYWORD]
        known += _core.option_tables[table]

        @functools.wraps(call)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in known:
                    near = _core.nearest_word(name, known)
                    raise TypeError(f"{what}: no option '{name}'" + (f"; is '{near}' meant?" if near else ""))
            return call(*args, **given)

        return checked  # type: ignore[return-value]

    return decorate


def _plain(error: TypeError, call: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> Exception:
    """What does not fit of the arguments, in place of the extension's list of all that would."""
    text = str(error)
    found = re.search(r"^\s*1\. \((.*)\) ->", text, re.MULTILINE)
    listed = re.findall(r"(\w+): ([\w.]+)", found[1])[1:] if found else []
    bound = inspect.signature(call).bind(*args, **given)
    bound.apply_defaults()
    fields = [field for field in bound.arguments if field != "self"]
    # The extension names its arguments, or has them in the order of ours.
    types = dict(listed)
    if len(listed) == len(fields) and all(re.fullmatch(r"arg\d+", field) for field, _ in listed):
        types = {field: kind for field, (_, kind) in zip(fields, listed)}
    name = call.__name__
    for field, value in bound.arguments.items():
        if field == "self" or isinstance(value, (tuple, dict)):
            continue
        wanted = types.get(field, "")
        if isinstance(value, int) and not isinstance(value, bool) and not 0 <= value < 1 << 64:
            return ValueError(f"{name}: {field}: {value} is {'negative' if value < 0 else 'too large'}")
        if wanted in ("int", "str", "bool", "bytes", "float") and type(value).__name__ != wanted and not isinstance(value, int):
            return TypeError(f"{name}: {field}: {'an' if wanted == 'int' else 'a'} {wanted} is wanted, not {type(value).__name__}")
    shown = ", ".join(f"{field}={reprlib.repr(bound.arguments[field])}" for field in fields)
    return TypeError(f"{name}: these arguments do not fit: {shown}")


def _plainly(call: C) -> C:
    @functools.wraps(call)
    def checked(*args: Any, **given: Any) -> Any:
        try:
            return call(*args, **given)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            wrong = _plain(error, call, args, given)
        raise wrong

    return checked  # type: ignore[return-value]


def _of_extension(call: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> TypeError | ValueError:
    """The same for a function of the extension itself, whose docstring begins with its signature."""
    found = re.match(r"(\w+)\((.*)\) -> ", (call.__doc__ or "").split("\n")[0])
    name, listed = (found[1], found[2]) if found else (call.__name__, "")
    parts = [part for part in re.findall(r"(?:[^,\[\]()]|\[[^\]]*\]|\([^)]*\))+", listed) if not part.strip().startswith("self:")]
    known: dict[str, str] = {}
    positional: list[str] = []
    needed: list[str] = []
    for part in (part.strip() for part in parts):
        if part == "*":
            positional = list(known)
            continue
        field, _, kind = part.partition(":")
        known[field] = kind.split("=")[0].strip()
        if "=" not in part:
            needed.append(field)
    positional = positional if "*" in listed else list(known)
    for field in given:
        if known and field not in known:
            near = _core.nearest_word(field, list(known))
            return TypeError(f"{name}: no argument '{field}'" + (f"; is '{near}' meant?" if near else f"; there are {', '.join(known)}"))
    if known and len(args) > len(positional):
        return TypeError(f"{name}: {len(args)} arguments in a row; there are {', '.join(positional)}")
    bound = dict(zip(positional, args)) | given
    missing = [field for field in needed if field not in bound]
    if missing:
        return TypeError(f"{name}: '{missing[0]}' is missing; there are {', '.join(known)}")
    for field, value in bound.items():
        wanted = known.get(field, "")
        if wanted == "int" and isinstance(value, int) and not isinstance(value, bool):
            return ValueError(f"{name}: {field}: {value} is {'negative' if value < 0 else 'too large'}")
        if wanted in ("int", "str", "bool", "bytes", "float") and type(value).__name__ != wanted:
            return TypeError(f"{name}: {field}: {'an' if wanted == 'int' else 'a'} {wanted} is wanted, not {type(value).__name__}")
    shown = ", ".join(f"{field}={reprlib.repr(value)}" for field, value in bound.items())
    return TypeError(f"{name}: these arguments do not fit: {shown}")


def plain_call(call: C) -> C:
    """A function of the extension that is given to scripts as it is: arguments that do not fit are named in one line."""
    def checked(*args: Any, **given: Any) -> Any:
        try:
            return call(*args, **given)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            wrong = _of_extension(call, args, given)
        raise wrong

    checked.__name__ = call.__name__
    checked.__doc__ = call.__doc__
    return checked  # type: ignore[return-value]


def plain_messages(made: T) -> T:
    """For a class in front of the extension: arguments that do not fit are named in one line."""
    for name, one in list(vars(made).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(one):
            setattr(made, name, _plainly(one))
        elif isinstance(one, property) and one.fset is not None:
            setattr(made, name, property(one.fget, _plainly(one.fset), one.fdel, one.__doc__))
    return made
