"""Sizes and URLs as people write them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_of(value: int | str, field: str) -> int:
    """Bytes: an int, or text such as "64M" or "4KiB"."""
    if isinstance(value, int):
        if value < 0:
            raise ValueError(f"{field}: {value} is negative")
        return value
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(i?B)?", value)
    if found is None:
        raise ValueError(f"{field}: '{value}' is no size; write 4096, '64M' or '1G'")
    return int(found[1]) * _SIZES[found[2]]


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
    """Transport, address, port and NQN of ``tcp://ADDRESS:PORT[/NQN]`` or ``rdma://...``."""
    found = re.fullmatch(r"(tcp|rdma)://(\[[0-9a-fA-F:]+\]|[0-9.]+):(\d+)(?:/(.+))?", url)
    if found is None:
        raise ValueError(f"'{url}' is no place to connect to; write tcp://ADDRESS:PORT/NQN or rdma://ADDRESS:PORT/NQN")
    return found[1], found[2].strip("[]"), int(found[3]), found[4] or ""


def address_towards(url: str) -> str:
    """Our own address on the way to that product, as the routing table has it. Empty for what is no URL of a fabric."""
    if not url.startswith(("tcp://", "rdma://")):
        return ""
    _, address, port, _ = split_url(url)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, port))
        own: str = probe.getsockname()[0]
    return own
