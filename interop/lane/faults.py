"""Cells in which something goes wrong on purpose: bad links, links that go away, resets in the middle of
I/O, a target that is killed. In each, every byte is compared afterwards."""

import time

from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS, tap_gone
from interop.lane.scene import TARGET_NQN, Scene, boot, cell, close, listen_on, nvmet_over, url


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


@cell("tcp-target-killed", "Linux nvme-tcp while our target is killed and comes back, on a bad link")
def tcp_target_killed(scene: Scene) -> str:
    return target_killed(scene, "tcp")


@cell("rdma-host-lost", "our host's verified I/O against nvmet over RDMA while the link and the port go away and come back",
      limit_s=400)
def rdma_host_lost(scene: Scene) -> str:
    return host_loses_its_target(scene, "rdma")


@cell("tcp-host-lost", "our host's verified I/O against nvmet over TCP while the link and the port go away and come back",
      limit_s=400)
def tcp_host_lost(scene: Scene) -> str:
    return host_loses_its_target(scene, "tcp")


def host_loses_its_target(scene: Scene, transport: str) -> str:
    with scene.guest() as guest, scene.recorded():
        nvmet_over(guest, transport)
        guest.run(linux.slow())
        with scene.bench.begin("host", "io", url(transport), "--local", scene.local, "--verify", "--size", "32M",
                               "--block-size", "16K", "--queue-depth", "4") as io:
            guest.run(linux.wait_for_traffic("rx", 4), limit_s=60)
            tap_gone(1)
            guest.run(linux.wait_for_traffic("rx", 4), limit_s=60)
            # Longer than the keep alive timeout of our host.
            tap_gone(12)
            io.wait_for("reconnected", limit_s=60)
            guest.run(linux.wait_for_traffic("rx", 4), limit_s=60)
            guest.run(linux.port_gone(1))
            said = io.end(limit_s=120)
        if said.count("lost the association") < 2 or said.count("reconnected") != said.count("lost the association"):
            raise CellFailure("the association was not lost and won back both times")
        guest.run(linux.slow_over())
        close(guest, linux.nvmet_down(transport))
    return f"{said.count('reconnected')} associations lost and won back; every block equal"


@cell("rdma-target-reset", "Linux nvme-rdma resets our target's controller in the middle of its I/O, and the link goes away",
      limit_s=400)
def rdma_target_reset(scene: Scene) -> str:
    return linux_host_loses_its_target(scene, "rdma")


@cell("tcp-target-reset", "Linux nvme-tcp resets our target's controller in the middle of its I/O, and the link goes away",
      limit_s=400)
def tcp_target_reset(scene: Scene) -> str:
    return linux_host_loses_its_target(scene, "tcp")


def linux_host_loses_its_target(scene: Scene, transport: str) -> str:
    with scene.guest() as guest, scene.recorded():
        boot(guest, transport)
        with scene.bench.start(*listen_on(transport), until="listening") as target:
            guest.run(linux.connect(transport, OURS, TARGET_NQN, options="-k 2 -c 1 -l 120"))
            guest.run(linux.slow())
            guest.run(linux.begin_writing(4), limit_s=60)
            guest.run(f"for i in 1 2 3; do {linux.still_writing()} || exit 1; nvme reset /dev/nvme0; sleep 0.3; done",
                      limit_s=60)
            guest.run(linux.end_writing(), limit_s=100)
            guest.run(linux.read_back(), limit_s=60)
            guest.run(linux.begin_writing(4), limit_s=60)
            for seconds in (1, 8):
                tap_gone(seconds)
            guest.run(linux.end_writing(), limit_s=160)
            guest.run(linux.wait_live(), limit_s=60)
            guest.run(linux.read_back(), limit_s=60)
            guest.run(linux.slow_over())
            guest.run(linux.disconnect(TARGET_NQN), limit_s=60)
            target.finish()
        close(guest)
    return "three resets and two outages while it was written; every byte equal"
