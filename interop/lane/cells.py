"""The cells of the matrix. One function each: it raises CellFailure, GuestFailure or Unavailable, or
returns one line that says what was seen."""

import pathlib
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

from interop.guest import luggage
from interop.guest.guest import Guest
from interop.guest.image import HOST_NQN, Image
from interop.lane import auth, linux
from interop.lane.bench import Bench, CellFailure
from interop.lane.network import GUEST, OURS, l2_sockets, make_tap, two_guests

TARGET_NQN = "nqn.2026-11.org.fabricbench:interop"


def url(transport: str) -> str:
    return f"{transport}://{GUEST}:4420"


def listen_on(transport: str, namespace: str = "64M") -> tuple[str, ...]:
    return ("target", "--listen", f"{transport}://{OURS}:4420", "--namespace", namespace, "--nqn",
            TARGET_NQN)


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
        elif self.link == "l2":
            self.network, paths = l2_sockets(self.folder)
            self.local = f"l2:{paths},{OURS}"

    def guest(self) -> Guest:
        return Guest(self.image, self.folder, self.network, name=self.folder.name)

    @contextmanager
    def pair(self, program: pathlib.Path | None = None):
        """Two guests, joined and up, with the command or another program inside: one at GUEST, one at OURS."""
        image = luggage.carry(self.image, program or self.bench.program, self.folder / "image")
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


def host_commands(scene: Scene, transport: str, *options: str, hosts: str = "") -> str:
    to = [url(transport), "--local", scene.local, *options]
    with scene.guest() as guest, scene.recorded():
        nvmet_over(guest, transport, hosts)
        found = scene.bench.run("host", "discover", *to).output
        if linux.SUBSYSTEM not in found:
            raise CellFailure(f"host discover does not list {linux.SUBSYSTEM}")
        scene.bench.run("host", "connect", *to)
        scene.bench.run("host", "identify", *to)
        said = scene.bench.run("host", "io", *to, "--verify", "--size", "16M", "--queue-depth", "16",
                               limit_s=120).output
        close(guest, linux.nvmet_down(transport))
    return said.strip().splitlines()[-1]


@cell("rdma-host", "our host against nvmet over RDMA (rdma_rxe): discover, connect, verified I/O",
      kernels=("6.1", "6.12"))
def rdma_host(scene: Scene) -> str:
    return host_commands(scene, "rdma")


@cell("rdma-host-l2", "the same through raw Ethernet on a unix socket", link="l2")
def rdma_host_l2(scene: Scene) -> str:
    return host_commands(scene, "rdma")


@cell("rdma-suite", "the conformance suite against nvmet over RDMA (rdma_rxe)",
      kernels=("6.1", "6.12"), limit_s=400)
def rdma_suite(scene: Scene) -> str:
    return suite_against_nvmet(scene, "rdma")


def suite_against_nvmet(scene: Scene, transport: str, *options: str, hosts: str = "") -> str:
    with scene.guest() as guest:
        nvmet_over(guest, transport, hosts)
        summary = scene.bench.suite("--dut", url(transport), "--local", scene.local, "--profile",
                                    f"linux-{scene.kernel}", "--slow", *options, limit_s=300)
        close(guest, (linux.forget_host(auth.BENCH_NQN) if hosts else "") + linux.nvmet_down(transport))
    return summary


@cell("rdma-target",
      "Linux nvme-rdma on rdma_rxe against our target: nvme-cli (firmware, Format NVM and reservations too), verified I/O",
      kernels=("6.1", "6.12"))
def rdma_target(scene: Scene) -> str:
    return linux_host_drives(scene, "rdma")


def linux_host_drives(scene: Scene, transport: str, *options: str, connect: str = "") -> str:
    with scene.guest() as guest, scene.recorded():
        boot(guest, transport)
        with scene.bench.start(*listen_on(transport), *options, until="listening") as target:
            drive_linux_host(guest, transport, OURS, connect)
            target.finish()
        close(guest)
    return f"booted in {guest.boot_seconds:.1f} s; every byte equal"


@cell("rdma-host-trouble", "our host against nvmet over RDMA while the guest loses, doubles and reorders")
def rdma_host_trouble(scene: Scene) -> str:
    with scene.guest() as guest, scene.recorded():
        nvmet_over(guest, "rdma")
        guest.run(linux.trouble())
        said = scene.bench.run("host", "io", url("rdma"), "--local", scene.local, "--verify", "--size",
                               "4M", "--queue-depth", "8", limit_s=150).output
        guest.run(linux.trouble_over())
        close(guest, linux.nvmet_down("rdma"))
    return said.strip().splitlines()[-1]


@cell("rdma-target-killed", "Linux nvme-rdma while our target is killed and comes back, on a bad link")
def rdma_target_killed(scene: Scene) -> str:
    return target_killed(scene, "rdma")


def target_killed(scene: Scene, transport: str) -> str:
    listen = listen_on(transport, f"64M,file={scene.folder / 'disk.img'}")
    with scene.guest() as guest, scene.recorded():
        boot(guest, transport)
        with scene.bench.start(*listen, until="listening") as target:
            guest.run(linux.connect(transport, OURS, TARGET_NQN, options="-k 2 -c 1 -l 120"))
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


@cell("tcp-host", "our host against nvmet over TCP: discover, connect, verified I/O", kernels=("6.1", "6.12"))
def tcp_host(scene: Scene) -> str:
    return host_commands(scene, "tcp")


@cell("tcp-host-digests", "the same with header and data digests", kernels=("6.1", "6.12"))
def tcp_host_digests(scene: Scene) -> str:
    return host_commands(scene, "tcp", "--hdr-digest", "--data-digest")


@cell("tcp-suite", "the conformance suite against nvmet over TCP", kernels=("6.1", "6.12"), limit_s=400)
def tcp_suite(scene: Scene) -> str:
    return suite_against_nvmet(scene, "tcp")


@cell("tcp-target",
      "Linux nvme-tcp against our target: nvme-cli (firmware, Format NVM and reservations too), verified I/O",
      kernels=("6.1", "6.12"))
def tcp_target(scene: Scene) -> str:
    return linux_host_drives(scene, "tcp")


@cell("tcp-target-digests", "the same with header and data digests", kernels=("6.1", "6.12"))
def tcp_target_digests(scene: Scene) -> str:
    return linux_host_drives(scene, "tcp", connect="--hdr-digest --data-digest")


@cell("tcp-target-zones", "Linux nvme-tcp on a zoned namespace of our target: report, append, reset, writes in order",
      kernels=("6.1",))
def tcp_target_zones(scene: Scene) -> str:
    zoned = "64M,bs=4096,zoned=4M,zcap=3M,active=8,open=4"
    with scene.guest() as guest, scene.recorded():
        boot(guest, "tcp")
        with scene.bench.start(*listen_on("tcp", zoned), until="listening") as target:
            guest.run(linux.connect("tcp", OURS, TARGET_NQN))
            said = guest.run(linux.use_zones(), limit_s=60).output
            guest.run(linux.disconnect(TARGET_NQN))
            target.finish()
        close(guest)
    return said.strip().splitlines()[-1]


@cell("tcp-suite-zones", "the cases about zones against nvmet over TCP with a zoned block device", kernels=("6.1",))
def tcp_suite_zones(scene: Scene) -> str:
    with scene.guest() as guest:
        boot(guest, "tcp")
        guest.run(linux.zoned_nvmet())
        scene.bench.run("host", "zones", url("tcp"), "--local", scene.local)
        cases = ("*zone*", "append*", "write_*", "open_*", "close_*", "finish_*", "reset_*", "offline_*", "extension_*",
                 "report_*", "partial_report*", "reserved_*_action*", "extended_report*", "active_*", "refused_open*",
                 "unwritten_*", "deallocation_*", "copy_begins*", "combination_*")
        chosen = [word for case in cases for word in ("--case", case)]
        summary = scene.bench.suite("--dut", url("tcp"), "--local", scene.local, "--profile",
                                    f"linux-{scene.kernel}", *chosen, "--verbose", limit_s=120)
        close(guest, linux.nvmet_down("tcp"))
    return summary


@cell("tcp-target-killed", "Linux nvme-tcp while our target is killed and comes back, on a bad link")
def tcp_target_killed(scene: Scene) -> str:
    return target_killed(scene, "tcp")


@cell("auth-host", "our host and nvmet over TCP authenticate each other (DH-HMAC-CHAP), every hash",
      kernels=("6.12",), limit_s=400)
def auth_host(scene: Scene) -> str:
    secrets = auth.secret_file(scene.folder)
    to = [url("tcp"), "--local", scene.local, "--hostnqn", HOST_NQN, "--dhchap-secret-file", str(secrets)]
    with scene.guest() as guest, scene.recorded():
        nvmet_over(guest, "tcp", linux.allow_host(HOST_NQN, auth.HOST_SECRET, auth.CONTROLLER_SECRET))
        for hash_name, group in auth.VARIATIONS:
            guest.run(linux.demand(HOST_NQN, f"hmac({hash_name})", group))
            # nvmet refuses an offer of NULL alone, and uses its own group whatever else is offered.
            offer = f"{group},{'ffdhe2048' if group == 'null' else 'null'}"
            scene.bench.run("host", "connect", *to, "--dhchap-group", offer)
        scene.bench.run("host", "io", *to, "--dhchap-group", group, "--verify", "--size", "8M", limit_s=120)
        wrong = auth.secret_file(scene.folder, host=auth.OTHER_SECRET)
        refused = scene.bench.run("host", "connect", *to[:-1], str(wrong), check=False)
        if refused.status == 0:
            raise CellFailure("a host with another secret is let in")
        close(guest, linux.forget_host(HOST_NQN) + linux.nvmet_down("tcp"))
    return f"{len(auth.VARIATIONS)} variations, both directions; a wrong secret is refused"


@cell("auth-suite", "the authentication suite against nvmet over TCP", kernels=("6.12",), limit_s=400)
def auth_suite(scene: Scene) -> str:
    return suite_against_nvmet(
        scene, "tcp", "--suite", "auth", "--dhchap-secret-file", str(auth.secret_file(scene.folder)),
        hosts=linux.allow_host(auth.BENCH_NQN, auth.HOST_SECRET, auth.CONTROLLER_SECRET) +
        linux.demand(auth.BENCH_NQN, "hmac(sha256)", "ffdhe2048"))


@cell("auth-target", "Linux nvme-tcp and our target authenticate each other, every hash",
      kernels=("6.12",), limit_s=400)
def auth_target(scene: Scene) -> str:
    return linux_authenticates(scene, "tcp")


@cell("auth-rdma-target", "Linux nvme-rdma and our target authenticate each other", kernels=("6.12",),
      limit_s=400)
def auth_rdma_target(scene: Scene) -> str:
    return linux_authenticates(scene, "rdma", auth.VARIATIONS[:3])


def linux_authenticates(scene: Scene, transport: str, variations=auth.VARIATIONS) -> str:
    secrets = auth.secret_file(scene.folder)
    both = f"--dhchap-secret={auth.HOST_SECRET} --dhchap-ctrl-secret={auth.CONTROLLER_SECRET}"
    with scene.guest() as guest, scene.recorded():
        boot(guest, transport)
        for hash_name, group in variations:
            with scene.bench.start(*listen_on(transport), "--dhchap-secret-file", str(secrets),
                                   "--dhchap-hash", hash_name, "--dhchap-group", group,
                                   until="listening") as target:
                guest.run(linux.connect(transport, OURS, TARGET_NQN, options=both), limit_s=60)
                guest.run(linux.write_read_compare(1, "16k"), limit_s=60)
                guest.run(f"nvme disconnect -n {TARGET_NQN}", limit_s=60)
                refused = guest.run(linux.connect(transport, OURS, TARGET_NQN, options="-c 0 -l 0 "
                                                  f"--dhchap-secret={auth.OTHER_SECRET}"), check=False)
                if refused.status == 0:
                    raise CellFailure("our target lets a host with another secret in")
                target.finish()
        close(guest)
    return f"{len(variations)} variations, both directions; a wrong secret is refused"


def drive_linux_host(guest: Guest, transport: str, address: str, options: str = "") -> None:
    """Everything that nvme-cli and the block layer do with a target of ours."""
    guest.run(f"modprobe nvme_{transport}")
    found = guest.run(f"nvme discover -t {transport} -a {address} -s 4420").output
    if TARGET_NQN not in found:
        raise CellFailure(f"nvme discover does not list {TARGET_NQN}")
    guest.run(linux.connect(transport, address, TARGET_NQN, options=options))
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
    guest.run(linux.reserve_report_and_release(), limit_s=60)
    guest.run(linux.save_and_look_back(), limit_s=60)
    guest.run(linux.stream_and_lock(), limit_s=60)
    guest.run(linux.update_format_and_ask(), limit_s=60)
    guest.run(linux.write_read_compare(1, "16k"), limit_s=60)
    guest.run(f"nvme disconnect -n {TARGET_NQN}")
