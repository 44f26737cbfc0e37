"""The cells of the matrix. One function each: it raises CellFailure, GuestFailure or Unavailable, or
returns one line that says what was seen."""

import pathlib
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

from interop.guest.guest import Guest
from interop.guest.image import Image
from interop.lane import linux
from interop.lane.bench import Bench, CellFailure
from interop.lane.network import GUEST, OURS, l2_sockets, make_tap

TARGET_NQN = "nqn.2026-11.org.fabricbench:interop"
TARGET_URL = f"rdma://{GUEST}:4420"


@dataclass
class Scene:
    """What a cell gets: an image, the command, a folder for its evidence, and which link to use."""
    image: Image
    bench: Bench
    folder: pathlib.Path
    kernel: str
    link: str
    local: str = OURS
    network: list[str] = field(default_factory=list)

    def connect_link(self) -> None:
        if self.link == "tap":
            self.network = make_tap()
        else:
            self.network, paths = l2_sockets(self.folder)
            self.local = f"l2:{paths},{OURS}"

    def guest(self) -> Guest:
        return Guest(self.image, self.folder, self.network, name=self.folder.name)

    @contextmanager
    def recorded(self):
        """Keeps the packets of the tap device, where dumpcap is there."""
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


@dataclass(frozen=True)
class Cell:
    name: str
    title: str
    kernel: str
    link: str
    limit_s: int
    run: Callable[[Scene], str]


CELLS: list[Cell] = []


def cell(name: str, title: str, kernels: tuple[str, ...] = ("6.1",), link: str = "tap",
         limit_s: int = 240):
    """Registers a cell, once for each kernel."""
    def register(function: Callable[[Scene], str]) -> Callable[[Scene], str]:
        for kernel in kernels:
            CELLS.append(Cell(f"{name}-{kernel}", f"{title}, Linux {kernel}", kernel, link, limit_s,
                              function))
        return function
    return register


def nvmet_over_rdma(guest: Guest) -> None:
    guest.boot()
    guest.run(linux.rxe())
    guest.run(linux.nvmet("rdma"))


def close(guest: Guest, script: str = "") -> None:
    """The end of every cell: what was set up comes down again, and the kernel has nothing to say."""
    if script:
        guest.run(script)
    guest.check_kernel()


def host_commands(scene: Scene) -> str:
    to = [TARGET_URL, "--local", scene.local]
    with scene.guest() as guest, scene.recorded():
        nvmet_over_rdma(guest)
        found = scene.bench.run("host", "discover", *to).output
        if linux.SUBSYSTEM not in found:
            raise CellFailure(f"host discover does not list {linux.SUBSYSTEM}")
        scene.bench.run("host", "connect", *to)
        scene.bench.run("host", "identify", *to)
        said = scene.bench.run("host", "io", *to, "--verify", "--size", "16M", "--queue-depth", "16",
                               limit_s=120).output
        close(guest, linux.nvmet_down("rdma"))
    return said.strip().splitlines()[-1]


@cell("rdma-host", "our host against nvmet over RDMA (rdma_rxe): discover, connect, verified I/O",
      kernels=("6.1", "6.12"))
def rdma_host(scene: Scene) -> str:
    return host_commands(scene)


@cell("rdma-host-l2", "the same through raw Ethernet on a unix socket", link="l2")
def rdma_host_l2(scene: Scene) -> str:
    return host_commands(scene)


@cell("rdma-suite", "the conformance suite against nvmet over RDMA (rdma_rxe)",
      kernels=("6.1", "6.12"), limit_s=400)
def rdma_suite(scene: Scene) -> str:
    with scene.guest() as guest:
        nvmet_over_rdma(guest)
        summary = scene.bench.suite("--dut", TARGET_URL, "--local", scene.local, "--profile",
                                    f"linux-{scene.kernel}", "--slow", limit_s=300)
        close(guest, linux.nvmet_down("rdma"))
    return summary


@cell("rdma-target", "Linux nvme-rdma on rdma_rxe against our target: nvme-cli, verified I/O",
      kernels=("6.1", "6.12"))
def rdma_target(scene: Scene) -> str:
    listen = ("target", "--listen", f"rdma://{OURS}:4420", "--namespace", "64M", "--nqn", TARGET_NQN)
    with scene.guest() as guest, scene.recorded():
        guest.boot()
        guest.run(linux.rxe())
        with scene.bench.start(*listen, until="listening") as target:
            drive_linux_host(guest, "rdma", OURS)
            target.finish()
        close(guest)
    return f"booted in {guest.boot_seconds:.1f} s; every byte equal"


@cell("rdma-host-trouble", "our host against nvmet over RDMA while the guest loses, doubles and reorders")
def rdma_host_trouble(scene: Scene) -> str:
    with scene.guest() as guest, scene.recorded():
        nvmet_over_rdma(guest)
        guest.run(linux.trouble())
        said = scene.bench.run("host", "io", TARGET_URL, "--local", scene.local, "--verify", "--size",
                               "4M", "--queue-depth", "8", limit_s=150).output
        guest.run(linux.trouble_over())
        close(guest, linux.nvmet_down("rdma"))
    return said.strip().splitlines()[-1]


@cell("rdma-target-killed", "Linux nvme-rdma while our target is killed and comes back, on a bad link")
def rdma_target_killed(scene: Scene) -> str:
    disk = scene.folder / "disk.img"
    listen = ("target", "--listen", f"rdma://{OURS}:4420", "--namespace", f"64M,file={disk}", "--nqn",
              TARGET_NQN)
    with scene.guest() as guest, scene.recorded():
        guest.boot()
        guest.run(linux.rxe())
        with scene.bench.start(*listen, until="listening") as target:
            guest.run(linux.connect("rdma", OURS, TARGET_NQN, options="-k 2 -c 1 -l 120"))
            guest.run(linux.trouble())
            guest.run(linux.write_read_compare(1, "16k"), limit_s=100)
            guest.run("nvme flush /dev/nvme0 -n 1")
            target.kill()
        time.sleep(1)
        with scene.bench.start(*listen, until="listening") as target:
            guest.run(linux.trouble_over())
            # The state is still "live" until the first keep alive is missed.
            guest.run("dd if=/dev/nvme0n1 of=/tmp/b bs=16k count=64 iflag=direct\ncmp /tmp/a /tmp/b",
                      limit_s=100)
            guest.run(linux.wait_live(), limit_s=60)
            guest.run(linux.write_read_compare(1, "16k"), limit_s=60)
            guest.run(f"nvme disconnect -n {TARGET_NQN}", limit_s=60)
            target.finish()
        close(guest)
    return "what was flushed was there after kill -9; every byte equal"


def drive_linux_host(guest: Guest, transport: str, address: str) -> None:
    """Everything that nvme-cli and the block layer do with a target of ours."""
    guest.run(f"modprobe nvme_{transport}")
    found = guest.run(f"nvme discover -t {transport} -a {address} -s 4420").output
    if TARGET_NQN not in found:
        raise CellFailure(f"nvme discover does not list {TARGET_NQN}")
    guest.run(linux.connect(transport, address, TARGET_NQN))
    for command in ("id-ctrl", "id-ns -n 1", "list-ns", "smart-log", "error-log", "effects-log",
                    "get-feature -f 7 -H", "get-property -o 0x1c", "fw-log", "ana-log"):
        name, _, rest = command.partition(" ")
        guest.run(f"nvme {name} /dev/nvme0 {rest}")
    guest.run(linux.write_read_compare(4, "64k"), limit_s=60)
    guest.run(linux.write_read_compare(2, "4k"), limit_s=60)
    guest.run("nvme flush /dev/nvme0 -n 1")
    guest.run("nvme compare /dev/nvme0n1 -s 0 -c 7 -z 4096 -d /tmp/a")
    different = guest.run("dd if=/dev/zero of=/tmp/z bs=4096 count=1 2>/dev/null\n"
                          "nvme compare /dev/nvme0n1 -s 0 -c 7 -z 4096 -d /tmp/z", check=False)
    if different.status == 0:
        raise CellFailure("a Compare of other data succeeded")
    guest.run("nvme write-zeroes /dev/nvme0n1 -s 0 -c 7\n"
              "dd if=/dev/nvme0n1 of=/tmp/b bs=4096 count=1 iflag=direct\ncmp /tmp/b /tmp/z")
    guest.run("nvme reset /dev/nvme0", limit_s=60)
    guest.run(linux.wait_live(), limit_s=60)
    guest.run(linux.write_read_compare(1, "16k"), limit_s=60)
    guest.run(f"nvme disconnect -n {TARGET_NQN}")
