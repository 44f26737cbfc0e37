"""Builds the guest: an ELF kernel and an initial file system, from the distribution's packages alone. Where the
distribution's kernels lack what is tested, the kernel is one of our own that was built before.

    python3 -m interop.guest.image 6.1      builds (or finds) the image and prints its folder

The result is cached by the digests of its packages and of these scripts. It is built in a folder of its
own and renamed when it is whole, so that an interrupted build leaves nothing behind that looks finished.
"""

import hashlib
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from interop.guest import cpio, kernel, vmlinux
from interop.guest.archive import Archive, Package, Unavailable, cache_root, codename

HERE = pathlib.Path(__file__).parent
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"  # lib64 has an absolute link to it

CUT_OFF_S = 3600

# What programs ask for by name when they run: pthread_exit() does.
LOADED_LATE = ["lib/x86_64-linux-gnu/libgcc_s.so.1"]

# Who the guest is as an NVMe host.
HOST_ID = "11111111-2222-3333-4444-555555555555"
HOST_NQN = f"nqn.2014-08.org.nvmexpress:uuid:{HOST_ID}"

PROGRAMS = [
    "bin/dash", "bin/ip", "bin/ss", "sbin/tc", "usr/bin/rdma", "usr/sbin/nvme", "usr/bin/rping",
    "usr/bin/ucmatose", "usr/bin/ibv_devinfo", "usr/bin/ibv_devices", "usr/bin/ibv_rc_pingpong",
    "usr/bin/ib_send_lat", "usr/bin/ib_send_bw", "usr/bin/ib_write_lat", "usr/bin/ib_write_bw",
    "usr/bin/ib_read_lat", "usr/bin/ib_read_bw",
]
MODULES = [
    "virtio_pci", "virtio_net", "virtio_console", "configfs", "failover", "net_failover",
    "rdma_rxe", "ib_uverbs", "rdma_ucm", "nvme", "nvmet", "nvmet_rdma", "nvmet_tcp", "nvme_rdma", "nvme_tcp",
    "brd", "null_blk", "veth", "dummy", "sch_netem", "9p", "9pnet_virtio",
    # rdma_rxe and NVMe/TCP ask for these by request_module(), which no dependency shows.
    "dh_generic", "hmac", "sha256_generic", "sha512_generic", "nvme_auth",
    "tls", "gcm", "ghash_generic", "aesni_intel",
    "crc32_generic", "crc32c_generic", "crc32c_intel", "crct10dif_generic", "crc64_rocksoft_generic",
]


@dataclass(frozen=True)
class Flavour:
    """A kernel that the guest can run: the meta package, and the suite that has it. Without one, our own."""
    name: str
    meta_package: str = ""
    suite: str = ""  # of this system's release where it begins with '-'


FLAVOURS = {
    "6.1": Flavour("6.1", "linux-image-amd64"),
    "6.12": Flavour("6.12", "linux-image-amd64", "-backports"),
    "7.3": Flavour("7.3", "linux-image-amd64", "trixie-backports"),
    "6.1-mctp": Flavour("6.1-mctp"),
}


@dataclass(frozen=True)
class Image:
    folder: pathlib.Path
    release: str  # what uname -r says

    @property
    def kernel(self) -> pathlib.Path:
        return self.folder / "vmlinux"

    @property
    def initrd(self) -> pathlib.Path:
        return self.folder / "initrd"


def load(folder: pathlib.Path) -> Image:
    """An image that was built before."""
    return Image(folder, (folder / "release").read_text().strip())


def build(name: str) -> Image:
    """The image of this flavour, from the cache or made now. Unavailable says what is missing."""
    flavour = FLAVOURS[name]
    archive = Archive(cache_root() / "apt")
    archive.refresh()
    tools = archive.find(_package_names())
    if flavour.meta_package:
        suite = codename() + flavour.suite if flavour.suite.startswith("-") else flavour.suite
        image = archive.target_of(flavour.meta_package, suite)
        release = image.removeprefix("linux-image-")
        if not release.startswith(flavour.name + "."):
            raise Unavailable(f"no Linux {flavour.name} in {suite or codename()}: it has {release}")
        # Later ones come in parts: the kernel, its modules, and what is built in.
        late_parts = [f"linux-{part}-{release}" for part in ("base", "binary", "modules")]
        parts = [name for name in archive.depends_of(image, suite) if name in late_parts]
        stock = archive.find([image, *parts], suite)
        folder = _folder(name, stock + tools)
        if not folder.exists():
            _make(folder, archive.fetch(stock, suite) + archive.fetch(tools), release,
                  lambda packages: vmlinux.extract(_compressed_kernel(packages, release).read_bytes()))
        return load(folder)
    built = kernel.find(archive)
    folder = _folder(name, tools, built.name)
    if not folder.exists():
        _make(folder, archive.fetch(tools), (built / "release").read_text().strip(),
              lambda _: (built / "vmlinux").read_bytes())
    return load(folder)


def _compressed_kernel(packages: pathlib.Path, release: str) -> pathlib.Path:
    """Where the packages have it, which later ones keep beside its modules. These are moved to where all tools look."""
    late = packages / "usr/lib/modules"
    if late.exists():
        late.rename(packages / "lib/modules")
    beside = packages / "lib/modules" / release / "vmlinuz"
    return beside if beside.exists() else packages / "boot" / f"vmlinuz-{release}"


def _package_names() -> list[str]:
    lines = (HERE / "tools.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _folder(name: str, packages: list[Package], built: str = "") -> pathlib.Path:
    """Named after all inputs: the packages, the kernel that was built, these scripts."""
    digest = hashlib.sha256(built.encode())
    for package in packages:
        digest.update(f"{package.name} {package.digest}\n".encode())
    for script in sorted(HERE.iterdir()):
        if script.name in ("archive.py", "cpio.py", "image.py", "init", "vmlinux.py"):
            digest.update(script.read_bytes())
    return cache_root() / "guest" / f"{name}-{digest.hexdigest()[:16]}"


def _make(folder: pathlib.Path, debs: list[pathlib.Path], release: str,
          kernel_in: Callable[[pathlib.Path], bytes]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    _forget_cut_off(folder.parent)
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder.parent) as work_name:
        work = pathlib.Path(work_name)
        packages, tree, made = work / "packages", work / "tree", work / "made"
        for path in (packages, tree, made):
            path.mkdir()
        for deb in debs:
            unpack(deb, packages)
        (made / "vmlinux").write_bytes(kernel_in(packages))
        _fill(tree, packages, release)
        cpio.write(tree, made / "initrd")
        (made / "release").write_text(release + "\n")
        keep(made, folder)


def keep(made: pathlib.Path, folder: pathlib.Path) -> None:
    """Puts a finished image into the cache. Another process may have finished the same one first."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():
            raise


def print_folder(program: str, name: str, known: list[str], builder: Callable[[str], Image]) -> int:
    """What the command line does: exit code 2 and one line on standard error if the image cannot be had."""
    if name not in known:
        print(f"{program}: no '{name}'; known are {', '.join(known)}", file=sys.stderr)
        return 2
    try:
        print(builder(name).folder)
    except Unavailable as missing:
        print(f"{program}: {missing}", file=sys.stderr)
        return 2
    return 0


def _forget_cut_off(cache: pathlib.Path) -> None:
    """What a build leaves that was killed. One that goes on is younger."""
    for left in cache.glob("build-*"):
        if time.time() - left.stat().st_mtime > CUT_OFF_S:
            shutil.rmtree(left, ignore_errors=True)


def unpack(deb: pathlib.Path, to: pathlib.Path) -> None:
    done = subprocess.run(["dpkg-deb", "-x", deb, to], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        deb.unlink(missing_ok=True)  # a cut download; the next build fetches it again
        raise Unavailable(f"{deb.name} cannot be unpacked: {done.stderr.strip()}")


def _fill(tree: pathlib.Path, packages: pathlib.Path, release: str) -> None:
    for folder in ("bin", "sbin", "lib64", LIBRARIES, "proc", "sys", "dev", "tmp", "run", "root",
                   "etc/nvme", "etc/libibverbs.d", "lib"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "lib" / "x86_64-linux-gnu").symlink_to("../" + LIBRARIES)
    _add_busybox(tree, packages)
    shutil.copy(packages / LOADER, tree / "lib64/")
    for program in PROGRAMS:
        target = tree / "bin" / pathlib.Path(program).name
        target.unlink(missing_ok=True)
        shutil.copy(packages / program, target)
        _add_libraries(packages / program, tree, packages)
    for library in LOADED_LATE:
        shutil.copy(packages / library, tree / LIBRARIES)
    (tree / "bin/sh").unlink(missing_ok=True)
    (tree / "bin/sh").symlink_to("dash")
    providers = tree / LIBRARIES / "libibverbs"
    providers.mkdir()
    shutil.copy(packages / LIBRARIES / "libibverbs/librxe-rdmav34.so", providers)
    _write_texts(tree)
    if (packages / "lib/modules" / release).exists():
        _add_modules(tree, packages, release)


def _add_busybox(tree: pathlib.Path, packages: pathlib.Path) -> None:
    busybox = packages / "bin/busybox"
    shutil.copy(busybox, tree / "bin/busybox")
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout
    for applet in applets.split():
        if applet != "busybox":
            (tree / "bin" / applet).symlink_to("busybox")
    (tree / "sbin/modprobe").symlink_to("/bin/busybox")  # where the kernel looks for it


def _add_libraries(program: pathlib.Path, tree: pathlib.Path, packages: pathlib.Path) -> None:
    path = f"{packages}/{LIBRARIES}:{packages}/lib/x86_64-linux-gnu"
    listed = subprocess.run([packages / LOADER, "--library-path", path, "--list", program],
                            capture_output=True, text=True, check=False)
    for name, where in re.findall(r"^\s+(lib\S+) => (\S+)", listed.stdout, re.MULTILINE):
        if not where.startswith(str(packages)):
            raise Unavailable(f"{program.name} needs {name}, which no package of tools.txt has")
        target = tree / LIBRARIES / name
        if not target.exists():
            shutil.copy(pathlib.Path(where).resolve(), target)


def _write_texts(tree: pathlib.Path) -> None:
    texts = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": "root:x:0:\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/protocols": "tcp 6 TCP\nudp 17 UDP\n",
        "etc/libibverbs.d/rxe.driver": "driver rxe\n",
        "etc/nvme/hostnqn": HOST_NQN + "\n",
        "etc/nvme/hostid": HOST_ID + "\n",
    }
    for name, text in texts.items():
        (tree / name).write_text(text)
    shutil.copy(HERE / "init", tree / "init")
    (tree / "init").chmod(0o755)


def _add_modules(tree: pathlib.Path, packages: pathlib.Path, release: str) -> None:
    subprocess.run(["depmod", "-b", packages, release], check=True)
    wanted: dict[str, None] = {}
    for module in MODULES:
        shown = subprocess.run(["modprobe", "-d", packages, "-S", release, "--show-depends", module],
                               capture_output=True, text=True, check=False)
        for file in re.findall(r"^insmod (\S+)", shown.stdout, re.MULTILINE):
            wanted[file] = None
    for name in wanted:
        source = pathlib.Path(name)
        target = tree / source.relative_to(packages)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".xz":
            target.with_suffix("").write_bytes(lzma.decompress(source.read_bytes()))
        else:
            shutil.copy(source, target)
    folder = f"lib/modules/{release}"
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if (packages / folder / name).exists():
            shutil.copy(packages / folder / name, tree / folder)
    subprocess.run(["depmod", "-b", tree, release], check=True)


def main() -> int:
    return print_folder("image", sys.argv[1] if len(sys.argv) > 1 else "6.1", list(FLAVOURS), build)


if __name__ == "__main__":
    sys.exit(main())
