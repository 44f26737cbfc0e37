"""The cells of the matrix. One function each: it raises CellFailure, GuestFailure or Unavailable, or
returns one line that says what was seen."""

from interop.guest.guest import Guest
from interop.guest.image import HOST_NQN
from interop.lane import auth, linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS
from interop.lane.scene import KERNELS, SECURE_KERNELS, TARGET_NQN, Scene, boot, cell, close, listen_on, nvmet_over, url


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
      kernels=KERNELS)
def rdma_host(scene: Scene) -> str:
    return host_commands(scene, "rdma")


@cell("rdma-host-l2", "the same through raw Ethernet on a unix socket", link="l2")
def rdma_host_l2(scene: Scene) -> str:
    return host_commands(scene, "rdma")


@cell("rdma-suite", "the conformance suite against nvmet over RDMA (rdma_rxe)",
      kernels=KERNELS, limit_s=520)
def rdma_suite(scene: Scene) -> str:
    return suite_against_nvmet(scene, "rdma")


def suite_against_nvmet(scene: Scene, transport: str, *options: str, hosts: str = "") -> str:
    with scene.guest() as guest:
        nvmet_over(guest, transport, hosts)
        summary = scene.bench.suite("--dut", url(transport), "--local", scene.local, "--profile",
                                    f"linux-{scene.kernel}", "--slow", *options, limit_s=420)
        close(guest, (linux.forget_host(auth.BENCH_NQN) if hosts else "") + linux.nvmet_down(transport))
    return summary


@cell("rdma-target",
      "Linux nvme-rdma on rdma_rxe against our target: nvme-cli (firmware, Format NVM and reservations too), verified I/O",
      kernels=KERNELS)
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


@cell("tcp-host", "our host against nvmet over TCP: discover, connect, verified I/O", kernels=KERNELS)
def tcp_host(scene: Scene) -> str:
    return host_commands(scene, "tcp")


@cell("tcp-host-digests", "the same with header and data digests", kernels=KERNELS)
def tcp_host_digests(scene: Scene) -> str:
    return host_commands(scene, "tcp", "--hdr-digest", "--data-digest")


@cell("tcp-suite", "the conformance suite against nvmet over TCP", kernels=KERNELS, limit_s=520)
def tcp_suite(scene: Scene) -> str:
    return suite_against_nvmet(scene, "tcp")


@cell("tcp-target",
      "Linux nvme-tcp against our target: nvme-cli (firmware, Format NVM and reservations too), verified I/O",
      kernels=KERNELS)
def tcp_target(scene: Scene) -> str:
    return linux_host_drives(scene, "tcp")


@cell("tcp-target-digests", "the same with header and data digests", kernels=KERNELS)
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


@cell("tcp-suite-disks", "the cases about commands against nvmet over TCP with two block devices that count and discard",
      kernels=KERNELS, limit_s=400)
def tcp_suite_disks(scene: Scene) -> str:
    with scene.guest() as guest:
        boot(guest, "tcp")
        guest.run(linux.counting_nvmet())
        summary = scene.bench.suite("--dut", url("tcp"), "--local", scene.local, "--profile",
                                    f"linux-{scene.kernel}", "--suite", "nvme", limit_s=300)
        close(guest, linux.nvmet_down("tcp"))
    return summary


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


@cell("auth-host", "our host and nvmet over TCP authenticate each other (DH-HMAC-CHAP), every hash",
      kernels=SECURE_KERNELS, limit_s=400)
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


@cell("auth-suite", "the authentication suite against nvmet over TCP", kernels=SECURE_KERNELS, limit_s=520)
def auth_suite(scene: Scene) -> str:
    return suite_against_nvmet(
        scene, "tcp", "--suite", "auth", "--dhchap-secret-file", str(auth.secret_file(scene.folder)),
        hosts=linux.allow_host(auth.BENCH_NQN, auth.HOST_SECRET, auth.CONTROLLER_SECRET) +
        linux.demand(auth.BENCH_NQN, "hmac(sha256)", "ffdhe2048"))


@cell("auth-target", "Linux nvme-tcp and our target authenticate each other, every hash",
      kernels=SECURE_KERNELS, limit_s=400)
def auth_target(scene: Scene) -> str:
    return linux_authenticates(scene, "tcp")


@cell("auth-rdma-target", "Linux nvme-rdma and our target authenticate each other", kernels=SECURE_KERNELS,
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
    guest.run(f"nvme connect-all -t {transport} -a {address} -s 4420\nnvme disconnect -n {TARGET_NQN} | grep 'disconnected 1 '")
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
