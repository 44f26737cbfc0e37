"""A kernel of our own, for what the distribution's kernels leave out: MCTP.

    python3 -m interop.guest.kernel build       builds it, or finds it built, and prints its folder
    python3 -m interop.guest.kernel path        prints its folder if it is built; else exit code 2

Built once from Debian's kernel source and kernel.config, which takes some ten minutes on two idle cores;
cached by the digests of both. It is built in a folder of its own, and what is whole is renamed into place. One
build runs at a time. An interrupted one leaves its folder, in which the next one of the same kernel goes on;
make knows what it has finished.
"""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from interop.guest.archive import Archive, Package, Unavailable, cache_root, reason_in

CONFIG = pathlib.Path(__file__).parent / "kernel.config"
SOURCE = "linux-source-6.1"
PROGRAMS = ["make", "gcc", "ld", "flex", "bison", "bc", "tar", "xz"]
HOW_TO_BUILD = "the kernel with MCTP is not built; ci/interop --build-kernel builds it"


def find(archive: Archive) -> pathlib.Path:
    """The folder with vmlinux and release. Unavailable when nobody has built them."""
    folder = _folder(_source(archive))
    if not folder.exists():
        raise Unavailable(HOW_TO_BUILD)
    return folder


def build(archive: Archive) -> pathlib.Path:
    source = _source(archive)
    folder = _folder(source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _require_programs()
            work = folder.parent / f"build-{folder.name}"
            for left in folder.parent.glob("build-*"):
                if left != work:
                    shutil.rmtree(left)
            work.mkdir(exist_ok=True)
            _make(archive.fetch([source])[0], work, folder)
            shutil.rmtree(work)
    return folder


def _source(archive: Archive) -> Package:
    archive.refresh()
    return archive.find([SOURCE])[0]


def _folder(source: Package) -> pathlib.Path:
    digest = hashlib.sha256(f"{source.name} {source.digest}\n".encode() + CONFIG.read_bytes())
    return cache_root() / "kernel" / digest.hexdigest()[:16]


def _require_programs() -> None:
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise Unavailable(f"the kernel cannot be built: no {', '.join(missing)}")


def _make(deb: pathlib.Path, work: pathlib.Path, folder: pathlib.Path) -> None:
    source, made = work / "source", work / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    with open(folder.parent / "build.log", "w") as log:
        if not source.exists():
            _unpack(deb, work, source, log)
        make = ["make", "-C", source, "ARCH=x86_64", f"-j{os.cpu_count()}"]
        _run([*make, f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"], log)
        _check_taken((source / ".config").read_text())
        _run([*make, "vmlinux"], log)
        _run(["strip", "-o", made / "vmlinux", source / "vmlinux"], log)
    (made / "release").write_text((source / "include/config/kernel.release").read_text())
    made.rename(folder)


def _unpack(deb: pathlib.Path, work: pathlib.Path, source: pathlib.Path, log) -> None:
    package, half = work / "package", work / "half"
    for path in (package, half):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    _run(["dpkg-deb", "-x", deb, package], log)
    archives = list(package.glob("usr/src/*.tar.xz"))
    if len(archives) != 1:
        raise Unavailable(f"{deb.name} holds {len(archives)} source archives")
    _run(["tar", "-x", "--strip-components=1", "-C", half, "-f", archives[0]], log)
    shutil.rmtree(package)
    half.rename(source)


def _check_taken(text: str) -> None:
    """An option whose conditions are not met is dropped without a word; the guest would miss it later."""
    have = set(text.splitlines())
    dropped = [line for line in CONFIG.read_text().splitlines() if line.startswith("CONFIG_") and line not in have]
    if dropped:
        raise Unavailable(f"the kernel's configuration does not take {', '.join(dropped)}")


def _run(command: list, log) -> None:
    """In a process group of its own: make's children do not end with it."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "LC_ALL": "C"})
    try:
        status = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if status != 0:
        text = pathlib.Path(log.name).read_text(errors="replace")
        errors = re.findall(r"^.*\b[Ee]rror:.*$", text, re.MULTILINE)
        raise Unavailable(f"the kernel cannot be built (kept in {log.name}): {errors[0] if errors else reason_in(text)}")


def main() -> int:
    if sys.argv[1:] not in (["build"], ["path"]):
        print("usage: python3 -m interop.guest.kernel build|path", file=sys.stderr)
        return 2
    # A request to end is an exception, so that make's children go too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        archive = Archive(cache_root() / "apt")
        print(build(archive) if sys.argv[1] == "build" else find(archive))
    except Unavailable as missing:
        print(f"kernel: {missing}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
