"""The distribution's archive, read with apt under a configuration of our own.

Lists and downloads live in the cache folder; nothing is installed, the machine's sources are read and
left alone, and no privilege is needed. The backports suite is known here only.
"""

import fcntl
import os
import pathlib
import re
import subprocess
import time
from dataclasses import dataclass

LISTS_MAX_AGE_S = 24 * 3600
APT_LIMIT_S = 300
MIRROR = "http://deb.debian.org/debian"
LATER_SUITES = ("trixie-backports",)
UNRELEASED = "sid"  # has neither updates nor a security archive beside it


class Unavailable(Exception):
    """Something around the guest is missing; the text names it."""


@dataclass(frozen=True)
class Package:
    name: str
    url: str
    file: str
    digest: str


def cache_root() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "fabricbench"


class Archive:
    """That of this machine's release with its backports, or that of another release: each has a folder of its own."""

    def __init__(self, root: pathlib.Path, release: str = ""):
        self.root = root
        self._release = release
        for folder in ("lists/partial", "cache/archives/partial", "etc", "debs"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "status").touch()
        self._write_sources()
        self._options = [
            "-o", f"Dir::State::Lists={root}/lists",
            "-o", f"Dir::State::status={root}/status",
            "-o", f"Dir::Cache={root}/cache",
            "-o", f"Dir::Etc::SourceList={root}/etc/sources.list",
            "-o", f"Dir::Etc::SourceParts={root}/etc/sources.d",
            "-o", "APT::Sandbox::User=",
            "-o", "Acquire::Languages=none",
            "-o", "Acquire::Retries=2",
            "-o", "Acquire::http::Timeout=20",
        ]

    def _write_sources(self) -> None:
        release = self._release or codename()
        lines = [f"deb {MIRROR} {release} main"]
        if release != UNRELEASED:
            lines += [f"deb {MIRROR} {release}-updates main", f"deb {MIRROR}-security {release}-security main"]
        if not self._release:
            lines.append(f"deb {MIRROR} {release}-backports main")
            # Kernels alone: what is in a backports suite is not taken for anything else. A mirror may keep an old list of it.
            lines += [f"deb [check-valid-until=no] {MIRROR} {suite} main" for suite in LATER_SUITES if not suite.startswith(release)]
        path = self.root / "etc" / "sources.list"
        text = "\n".join(lines) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    def refresh(self) -> None:
        """Fetches the lists when they are old. A machine without a network goes on with those it has."""
        stamp = self.root / "refreshed"
        with open(self.root / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_MAX_AGE_S:
                return
            done = self._apt("apt-get", "-q", "update")
            if done.returncode == 0 and "W: Failed to fetch" not in done.stderr:
                stamp.touch()
            elif not stamp.exists():
                raise Unavailable("the package archive cannot be read: " + reason_in(done.stderr))

    def find(self, names: list[str], suite: str = "") -> list[Package]:
        """The candidates of these packages, with their digests."""
        targets = [f"{name}/{suite}" if suite else name for name in names]
        done = self._apt("apt-get", "download", "--print-uris", *targets)
        if done.returncode != 0:
            raise Unavailable("no package: " + reason_in(done.stderr))
        found = []
        for line in done.stdout.splitlines():
            match = re.fullmatch(r"'(\S+)' (\S+) \d+ (\S+)", line.strip())
            if match:
                url, file, digest = match.groups()
                found.append(Package(file.split("_")[0], url, file, digest))
        missing = set(names) - {package.name for package in found}
        if missing:
            raise Unavailable("no package: " + ", ".join(sorted(missing)))
        return sorted(found, key=lambda package: package.name)

    def closure(self, names: list[str]) -> list[str]:
        """These packages and all that they depend on, recommended ones left out."""
        done = self._apt("apt-get", "install", "--yes", "--no-install-recommends", "--print-uris", *names)
        found = re.findall(r"^'\S+' ([^_\s]+)_\S+ \d+ ", done.stdout, re.MULTILINE)
        if done.returncode != 0 or not found:
            raise Unavailable("no package: " + reason_in(done.stderr))
        return sorted(found)

    def depends_of(self, package: str, suite: str = "") -> list[str]:
        """The names of the packages that a package depends on now."""
        release = ["-t", suite] if suite else []
        shown = self._apt("apt-cache", *release, "--no-all-versions", "show", package)
        match = re.search(r"^Depends: (.*)$", shown.stdout, re.MULTILINE)
        if shown.returncode != 0 or not match:
            raise Unavailable(f"no package: {package} {suite}".rstrip())
        return [name.split()[0] for name in match.group(1).split(",")]

    def target_of(self, meta_package: str, suite: str = "") -> str:
        """The kernel image that a meta package depends on now."""
        images = [name for name in self.depends_of(meta_package, suite) if name.startswith("linux-image-")]
        if not images:
            raise Unavailable(f"no package: {meta_package} {suite}".rstrip())
        return images[0]

    def fetch(self, packages: list[Package], suite: str = "") -> list[pathlib.Path]:
        """The packages as files. What was fetched before stays; apt checks the digests."""
        debs = self.root / "debs"
        wanted = [package for package in packages if not (debs / package.file).exists()]
        if wanted:
            targets = [f"{package.name}/{suite}" if suite else package.name for package in wanted]
            done = self._apt("apt-get", "-q", "download", *targets, folder=debs)
            if done.returncode != 0:
                raise Unavailable("a package cannot be fetched: " + reason_in(done.stderr))
        return [debs / package.file for package in packages]

    def _apt(self, *command: str, folder: pathlib.Path | None = None) -> subprocess.CompletedProcess:
        program, *rest = command
        try:
            return subprocess.run([program, *self._options, *rest], cwd=folder, capture_output=True,
                                  text=True, env={**os.environ, "LC_ALL": "C"}, check=False,
                                  timeout=APT_LIMIT_S)
        except FileNotFoundError:
            raise Unavailable(f"no {program}: the guest is made of Debian packages") from None
        except subprocess.TimeoutExpired:
            raise Unavailable(f"the package archive is too slow: {program} {rest[-1]}") from None


def codename() -> str:
    try:
        text = pathlib.Path("/etc/os-release").read_text()
    except OSError:
        text = ""
    match = re.search(r"^VERSION_CODENAME=(\w+)", text, re.MULTILINE)
    if not match or not re.search(r"^ID=debian", text, re.MULTILINE):
        raise Unavailable("this machine does not run Debian: no packages for the guest")
    return match.group(1)


def reason_in(text: str) -> str:
    """The line of what apt said that names what went wrong: the first complaint, or the last line."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    complaints = [line for line in lines if line.startswith(("E: ", "W: Failed"))]
    return (complaints or lines[-1:] or ["no reason given"])[0].removeprefix("E: ")
