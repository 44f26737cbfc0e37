"""Programs of a later Debian with their own libraries, in an image: a root of their own in the guest, entered by chroot.

    python3 -m interop.guest.userland 7.3+nvme-cli     builds (or finds) the image and prints its folder

The packages come from that release's archive, with all that they depend on; they are unpacked and never installed, and the
guest's own programs stay as they are. An image is cached by the digests of its packages, of the image that it adds to, and
of this script.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from interop.guest import image, inside, luggage
from interop.guest.archive import Archive, Package, Unavailable, cache_root
from interop.guest.image import HOST_ID, HOST_NQN, Image

RELEASE = "trixie"
ROOT = f"/opt/{RELEASE}"
INSIDE = f"chroot {ROOT}"


@dataclass(frozen=True)
class Userland:
    """What is wanted, and what its packages ask for that only their installation or their service manager uses."""
    packages: tuple[str, ...]
    left_out: tuple[str, ...] = ()


FOR_INSTALLATION = ("adduser", "debconf", "dpkg", "init-system-helpers", "login.defs", "mount", "passwd", "systemd", "tar", "tzdata",
                    "uuid-runtime")
USERLANDS = {
    "nvme-cli": Userland(("nvme-cli",), FOR_INSTALLATION),
    "nvme-stas": Userland(("nvme-stas", "avahi-daemon", "dbus-daemon", "dbus-system-bus-common", "nvme-cli", "udev"), FOR_INSTALLATION),
    "ktls-utils": Userland(("ktls-utils", "nvme-cli"), FOR_INSTALLATION),
}

# Links of the file system standard, which a package has that nothing here depends on.
MERGED = ("bin", "lib", "lib64", "sbin")
# What no program reads here.
UNREAD = ("usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man", "usr/share/lintian", "usr/share/zoneinfo",
          "usr/lib/x86_64-linux-gnu/gconv", "usr/lib/udev/hwdb.d", "usr/lib/udev/rules.d")


def build(name: str) -> Image:
    """KERNEL+USERLAND, or KERNEL alone: from the cache or made now. Unavailable says what is missing."""
    kernel, _, wanted = name.partition("+")
    base = image.build(kernel)
    if not wanted:
        return base
    userland = USERLANDS[wanted]
    archive, packages = resolve(RELEASE, userland)
    folder = _folder(name, packages, base)
    if not folder.exists():
        _make(folder, archive.fetch(packages), base)
    return image.load(folder)


def resolve(release: str, userland: Userland) -> tuple[Archive, list[Package]]:
    """The archive of a release, and what it has for this: the packages and all that they depend on."""
    archive = Archive(cache_root() / f"apt-{release}", release)
    archive.refresh()
    return archive, archive.find([one for one in archive.closure(list(userland.packages)) if one not in userland.left_out])


def mount() -> str:
    """Once in a guest, before a program is run in there."""
    return f"for each in proc sys dev run tmp; do mount --rbind /$each {ROOT}/$each || exit 1; done\n"


def _folder(name: str, packages: list[Package], base: Image) -> pathlib.Path:
    digest = hashlib.sha256(base.folder.name.encode())
    for package in packages:
        digest.update(f"{package.name} {package.digest}\n".encode())
    digest.update(pathlib.Path(__file__).read_bytes())
    return cache_root() / "guest" / f"{name}-{digest.hexdigest()[:16]}"


def _make(folder: pathlib.Path, debs: list[pathlib.Path], base: Image) -> None:
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder.parent) as work_name:
        work = pathlib.Path(work_name)
        root, made = work / "tree" / ROOT.lstrip("/"), work / "made"
        root.mkdir(parents=True)
        made.mkdir()
        fill(root, debs)
        luggage.add(base, made, work / "tree")
        image.keep(made, folder)


def fill(root: pathlib.Path, debs: list[pathlib.Path]) -> None:
    """Makes an empty folder a root with the packages."""
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for deb in debs:
        image.unpack(deb, root)
    for name in UNREAD:
        shutil.rmtree(root / name, ignore_errors=True)
    _write_texts(root)
    _compile(root)


def _compile(root: pathlib.Path) -> None:
    """Modules of Python, as their installation would have done. An emulated processor takes a minute for what a daemon imports.
    Where nobody gets into the root, that is how it is."""
    folders = [f"/usr/lib/{one.name}" for one in sorted((root / "usr/lib").glob("python3*"))]
    if folders and (root / "usr/bin/python3").exists():
        command = ["/usr/bin/python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", *folders]
        subprocess.run(inside.entered(root, command), capture_output=True, check=False)


def _write_texts(root: pathlib.Path) -> None:
    """What their installation would have left behind."""
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "etc/nvme", "var/lib", "mnt"):
        (root / name).mkdir(parents=True, exist_ok=True)
    texts = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": "root:x:0:\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "etc/machine-id": HOST_ID.replace("-", "") + "\n",
        "etc/nvme/hostnqn": HOST_NQN + "\n",
        "etc/nvme/hostid": HOST_ID + "\n",
    }
    for name, text in texts.items():
        (root / name).write_text(text)


def main() -> int:
    known = [f"{kernel}+{one}" for kernel in image.FLAVOURS for one in USERLANDS]
    return image.print_folder("userland", sys.argv[1] if len(sys.argv) > 1 else f"7.3+{next(iter(USERLANDS))}", known, build)


if __name__ == "__main__":
    sys.exit(main())
