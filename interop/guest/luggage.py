"""Puts a program of this machine, with its shared libraries, into an image: the guest runs it as PROGRAM's name.

A kernel takes several archives behind each other as its first file system; the second one is ours.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from interop.guest import cpio
from interop.guest.archive import Unavailable
from interop.guest.image import Image, load

HOME = "opt/luggage"


def carry(image: Image, folder: pathlib.Path, *programs: pathlib.Path) -> Image:
    """An image in `folder` that has the programs in /bin."""
    for program in programs:
        if not program.exists():
            raise Unavailable(f"no {program}")
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as tree_name:
        tree = pathlib.Path(tree_name)
        for program in programs:
            _pack(program, tree)
        add(image, folder, tree)
    return load(folder)


def add(image: Image, folder: pathlib.Path, tree: pathlib.Path) -> None:
    """Makes `folder` an image that has what is in the tree, too."""
    (folder / "release").write_text(image.release + "\n")
    (folder / "vmlinux").symlink_to(image.kernel)
    cpio.write(tree, folder / "luggage")
    with open(folder / "initrd", "wb") as whole:
        for part in (image.initrd, folder / "luggage"):
            with open(part, "rb") as content:
                shutil.copyfileobj(content, whole)
    (folder / "luggage").unlink()


def _pack(program: pathlib.Path, tree: pathlib.Path) -> None:
    """The libraries go with their loader: those of the guest may be others."""
    home = tree / HOME
    (home / "lib").mkdir(parents=True, exist_ok=True)
    (tree / "bin").mkdir(exist_ok=True)
    shutil.copy(program, home / program.name)
    _strip(home / program.name)
    loader = ""
    for name, path in libraries(program):
        shutil.copy(pathlib.Path(path).resolve(), home / "lib" / name)
        if name.startswith("ld-linux"):
            loader = name
    if not loader:
        raise Unavailable(f"{program} names no loader")
    start = tree / "bin" / program.name
    start.write_text(f'#!/bin/sh\nexec /{HOME}/lib/{loader} --library-path /{HOME}/lib /{HOME}/{program.name} "$@"\n')
    start.chmod(0o755)


def _strip(program: pathlib.Path) -> None:
    """What only debuggers read would fill the guest's memory."""
    if shutil.which("strip") is not None:
        subprocess.run(["strip", program], check=False)


def libraries(program: pathlib.Path) -> list[tuple[str, str]]:
    """Names and paths of all that the loader maps, itself included."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False,
                            env={**os.environ, "LC_ALL": "C"})
    missing = re.findall(r"^\s+(\S+) => not found", listed.stdout, re.MULTILINE)
    if listed.returncode != 0 or missing:
        raise Unavailable(f"{program} has not all its libraries here: {' '.join(missing) or listed.stderr.strip()}")
    found = re.findall(r"^\s+(lib\S+) => (/\S+)", listed.stdout, re.MULTILINE)
    found += [(pathlib.Path(path).name, path) for path in re.findall(r"^\s+(/\S*ld-linux\S+)", listed.stdout, re.MULTILINE)]
    return found
