"""Programs of a Debian on this machine: a root of their packages, entered in namespaces of their own, without privilege.

The packages come from that release's archive, with all that they depend on; they are unpacked and never installed. A root is
cached by the digests of its packages and of these scripts. A program finds nothing of this machine in it but /proc, /dev, /sys,
/tmp and the folders that it is given, which have the same names inside.
"""

import hashlib
import pathlib
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field

from interop.guest import image, inside, userland
from interop.guest.archive import Package, Unavailable, cache_root
from interop.guest.userland import Userland

LOADER = "/lib64/ld-linux-x86-64.so.2"  # a program that is in each of them


@dataclass(frozen=True)
class Root:
    folder: pathlib.Path
    packages: dict[str, str] = field(default_factory=dict)  # versions, by name

    def entered(self, program: Iterable[str], folders: Iterable[pathlib.Path] = ()) -> list[str]:
        """The command that runs a program of the root, which sees these folders of this machine."""
        return inside.entered(self.folder, program, folders)

    def loaded(self, program: str) -> list[str]:
        """The command that runs a program of the root with its libraries and sees this machine, as one that needs devices must."""
        return [str(self.folder / LOADER.lstrip("/")), "--library-path", str(self.folder / image.LIBRARIES), str(self.folder / program)]

    def require(self) -> None:
        """Unavailable where this machine does not let anybody in."""
        try:
            done = subprocess.run(self.entered([LOADER, "--version"]), capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise Unavailable(f"no {inside.NAMESPACES[0]}") from None
        if done.returncode != 0:
            raise Unavailable("no root can be entered: " + done.stderr.strip())


def build(name: str, release: str, wanted: Userland) -> Root:
    """From the cache or made now. Unavailable says what is missing."""
    archive, packages = userland.resolve(release, wanted)
    folder = _folder(f"{release}-{name}", packages)
    if not folder.exists():
        _make(folder, archive.fetch(packages))
    root = Root(folder, {one.name: version_of(one) for one in packages})
    root.require()
    return root


def version_of(package: Package) -> str:
    """As its maintainers call it, from NAME_VERSION_ARCHITECTURE.deb."""
    return package.file.split("_")[1].replace("%3a", ":")


def _folder(name: str, packages: list[Package]) -> pathlib.Path:
    digest = hashlib.sha256()
    for package in packages:
        digest.update(f"{package.name} {package.digest}\n".encode())
    for script in (__file__, userland.__file__):
        digest.update(pathlib.Path(script).read_bytes())
    return cache_root() / "root" / f"{name}-{digest.hexdigest()[:16]}"


def _make(folder: pathlib.Path, debs: list[pathlib.Path]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder.parent) as work:
        made = pathlib.Path(work) / "made"
        made.mkdir()
        userland.fill(made, debs)
        image.keep(made, folder)
