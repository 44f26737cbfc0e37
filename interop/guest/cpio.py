"""Writes a folder as a "newc" cpio archive, which is what a kernel takes as its first file system. All
files belong to root, times are zero: the same tree gives the same bytes."""

import os
import pathlib
import stat


def _entry(number: int, mode: int, name: str, content: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return _padded(head) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def write(tree: pathlib.Path, to: pathlib.Path) -> None:
    paths = sorted(path for path in tree.rglob("*"))
    with open(to, "wb") as out:
        for number, path in enumerate(paths, start=1):
            status = path.lstat()
            content = b""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path).encode()
            elif stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            out.write(_entry(number, status.st_mode, path.relative_to(tree).as_posix(), content))
        out.write(_entry(0, 0, "TRAILER!!!", b""))
