"""What every cell stands on: a guest, the command, a link between them, packets recorded and judged."""

import base64
import io
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

from interop.guest import luggage
from interop.guest.guest import Guest
from interop.guest.image import Image
from interop.lane import linux
from interop.lane.bench import Bench, CellFailure, SuiteRun, summary_in_words
from interop.lane.network import GUEST, OURS, l2_sockets, make_tap, two_guests

TARGET_NQN = "nqn.2026-11.org.fabricbench:interop"
INTERRUPTED = 130  # what a run says that a signal ended


def url(transport: str) -> str:
    return f"{transport}://{GUEST}:4420"


def listen_on(transport: str, namespace: str = "64M") -> tuple[str, ...]:
    return ("target", "--listen", f"{transport}://{OURS}:4420", "--namespace", namespace, "--nqn",
            TARGET_NQN)


@dataclass
class Scene:
    """What a cell gets: an image, the command, a folder for its evidence, and which link to use."""
    image: Image | None  # none where the cell has no guest
    bench: Bench
    folder: pathlib.Path
    kernel: str
    link: str
    local: str = OURS
    network: list[str] = field(default_factory=list)

    def connect_link(self) -> None:
        if self.link == "tap":
            self.network = make_tap()
        elif self.link == "l2":
            self.network, paths = l2_sockets(self.folder)
            self.local = f"l2:{paths},{OURS}"

    def guest(self) -> Guest:
        return Guest(self.image, self.folder, self.network, name=self.folder.name)

    @contextmanager
    def alone(self):
        """One guest without a link to anybody, up, with the command inside."""
        image = luggage.carry(self.image, self.folder / "image", self.bench.program)
        try:
            with Guest(image, self.folder, [], name=self.folder.name) as guest:
                guest.boot()
                yield guest
        finally:
            shutil.rmtree(image.folder)

    @contextmanager
    def pair(self, program: pathlib.Path | None = None):
        """Two guests, joined and up, with the command or another program inside: one at GUEST, one at OURS."""
        image = luggage.carry(self.image, self.folder / "image", program or self.bench.program)
        guests = [Guest(image, self.folder / name, network, name=f"{self.folder.name}-{name}")
                  for name, network in zip(("target", "host"), two_guests(self.folder))]
        try:
            for guest in guests:
                guest.boot()
            yield guests
        finally:
            for guest in guests:
                guest.kill()
            shutil.rmtree(image.folder)

    def suite_inside(self, guest: Guest, arguments: str, limit_s: int) -> str:
        """Runs the conformance suite in a guest that has the command, with its kernel's profile; as Bench.suite().
        A run that is not over after `limit_s` is interrupted, and what it had judged until then is kept."""
        said = guest.run(f"""timeout -s INT {limit_s} fabricbench run {arguments} --profile linux-{self.kernel} --report /tmp/report >/tmp/said.txt 2>&1
status=$?
[ $status -le 1 ] || tail -n 5 /tmp/said.txt
exit $status
""", limit_s=limit_s + 90, check=False)
        if said.status not in (0, 1, INTERRUPTED):
            raise CellFailure(f"fabricbench run ended with {said.status}: {said.output.strip()}")
        results = guest.run("cat /tmp/report/results.json").output
        report = self.folder / "report"
        report.mkdir(exist_ok=True)
        (report / "results.json").write_text(results)
        document = json.loads(results)
        bring_captures(guest, "/tmp/report", document["cases"], report)
        if said.status == INTERRUPTED:
            raise CellFailure(f"not over in {limit_s} s: {summary_in_words(document)}")
        return SuiteRun(document, said.status).summary()

    @contextmanager
    def recorded(self):
        """Keeps the packets of the tap device, where dumpcap is there. Both sides of what passed are then
        held against the rules that need no case: the peer's, and our own."""
        program = shutil.which("dumpcap")
        if program is None or self.link != "tap":
            yield
            return
        recorder = subprocess.Popen([program, "-q", "-P", "-i", "tap0", "-w",
                                     str(self.folder / "link.pcap")], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        try:
            yield
        finally:
            recorder.terminate()
            recorder.wait()
        self.bench.judge(self.folder / "link.pcap")


@dataclass(frozen=True)
class Cell:
    name: str
    title: str
    kernel: str
    link: str
    limit_s: int
    run: Callable[[Scene], str]
    flavour: str  # the image that it boots
    alone: bool = False  # nothing else at the same time: it measures
    waits: bool = False  # for nearly all of its time
    recorded: bool = True  # its outcome: otherwise it runs with --all or by name alone
    system: str = "Linux"  # what `kernel` is a version of; a Debian's programs run without a guest
    profile: str = ""  # the deviations that are expected, where they are not those of the kernel
    prepare: Callable[[], object] | None = None  # what must be in the cache before the cell loses its network

    @property
    def has_guest(self) -> bool:
        return self.system == "Linux"

    @property
    def expected(self) -> str:
        """The profile with the deviations of its peer."""
        return self.profile or f"linux-{self.kernel}"

    @property
    def is_settled(self) -> bool:
        return not self.has_guest or version_of(self.kernel) <= version_of(SETTLED)


CELLS: list[Cell] = []

# Debian's: of its release, of that one's backports, and of the next release's backports.
KERNELS = ("6.1", "6.12", "7.3")
# The newest kernel that each change is tested with. Later ones run with --all or by name, until all lines of their profile are verified.
SETTLED = "6.12"
# Those that authenticate and have TLS.
SECURE_KERNELS = KERNELS[1:]


def version_of(kernel: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", kernel)]


def cell(name: str, title: str, kernels: tuple[str, ...] = ("6.1",), link: str = "tap",
         limit_s: int = 240, flavour: str = "", alone: bool = False, waits: bool = False, recorded: bool = True, profile: str = "",
         prepare: Callable[[], object] | None = None):
    """Registers a cell, once for each kernel; `flavour` where it is not the stock kernel."""
    def register(function: Callable[[Scene], str]) -> Callable[[Scene], str]:
        for kernel in kernels:
            CELLS.append(Cell(f"{name}-{kernel}", f"{title}, Linux {kernel}", kernel, link, limit_s,
                              function, flavour or kernel, alone, waits, recorded, profile=profile, prepare=prepare))
        return function
    return register


def cell_of_packages(name: str, title: str, releases: tuple[str, ...], limit_s: int = 240):
    """Registers a cell that needs no guest but programs of a Debian, once for each release, the newest first."""
    def register(function: Callable[[Scene], str]) -> Callable[[Scene], str]:
        for release in releases:
            CELLS.append(Cell(f"{name}-{release}", f"{title}, Debian {release}", release, "none", limit_s, function, "", system="Debian"))
        return function
    return register


def bring_captures(guest: Guest, inside: str, cases: list[dict], report: pathlib.Path) -> None:
    """Out of a guest, to where a suite beside it leaves them: those of the cases that say something about the peer."""
    names = sorted({case["capture"] for case in cases if case["disposition"] != "as_expected" and case["capture"]})
    if not names:
        return
    packed = guest.run(f"cd {inside} && tar -c -f - {shlex.join(names)} 2>/dev/null | gzip | base64", limit_s=60).output
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed)), mode="r:gz") as archive:
        for name in names:
            (report / name).parent.mkdir(parents=True, exist_ok=True)
            (report / name).write_bytes(archive.extractfile(name).read())


def boot(guest: Guest, transport: str) -> None:
    guest.boot()
    guest.run(linux.rxe() if transport == "rdma" else linux.link_up())


def nvmet_over(guest: Guest, transport: str, hosts: str = "") -> None:
    boot(guest, transport)
    guest.run(linux.nvmet(transport) + hosts)


def close(guest: Guest, script: str = "") -> None:
    """The end of every cell: what was set up comes down again, and the kernel has nothing to say."""
    if script:
        guest.run(script)
    guest.check_kernel()
