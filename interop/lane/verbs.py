"""Cells of the verbs backend: two guests with rdma_rxe, and our command in one of them or in both."""

import re

from interop.guest.guest import Guest
from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.cells import drive_linux_host
from interop.lane.network import GUEST, OURS
from interop.lane.scene import KERNELS, TARGET_NQN, Scene, cell, close

DEVICE = "--device verbs:rxe0"
AT = f"rdma://{GUEST}:4420"


def start_target(guest: Guest, options: str = DEVICE, namespace: str = "64M") -> None:
    """Our target, in the background of the guest at GUEST, ready."""
    guest.run(f"""fabricbench target --listen {AT} {options} --namespace {namespace} --nqn {TARGET_NQN} >/tmp/target.log 2>&1 &
echo $! >/tmp/target.pid
for i in $(seq 200); do
  grep -q listening /tmp/target.log && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
cat /tmp/target.log; exit 1
""")


def stop_target(guest: Guest) -> None:
    """It must end in order, and have said nothing but that it listens."""
    guest.run("""pid=$(cat /tmp/target.pid)
kill $pid
for i in $(seq 200); do
  kill -0 $pid 2>/dev/null || break
  sleep 0.1
done
kill -0 $pid 2>/dev/null && { echo 'the target does not end'; exit 1; }
[ "$(wc -l </tmp/target.log)" = 1 ] || { cat /tmp/target.log; exit 1; }
""")


def kill_target(guest: Guest) -> None:
    guest.run("kill -9 $(cat /tmp/target.pid)")


def host(guest: Guest, command: str, limit_s: int = 60) -> str:
    return guest.run(f"fabricbench host {command}", limit_s=limit_s).output


def without_device(guest: Guest) -> None:
    """Before there is one: what the command says then."""
    for command in ("devices", f"host connect {AT} {DEVICE}", f"target --listen rdma://{OURS}:4420 {DEVICE} --namespace 1M"):
        said = guest.run(f"fabricbench {command}", check=False)
        if said.status != 2 or "rdma link add rxe0 type rxe netdev eth0" not in said.output or said.output.count("\n") != 1:
            raise CellFailure(f"without a device fabricbench {command.split()[0]} says: {said.output.strip()}")


def list_device(guest: Guest, address: str) -> None:
    said = guest.run("fabricbench devices").output
    if not re.search(rf"^verbs:rxe0 .* RoCE +active +4096 .*\b{re.escape(address)}\b", said, re.MULTILINE):
        raise CellFailure(f"fabricbench devices says: {said.strip()}")


def use(guest: Guest) -> str:
    """All that our host does with a good target."""
    for command in ("discover", "connect", "identify"):
        host(guest, f"{command} {AT} {DEVICE}")
    host(guest, f"io {AT} {DEVICE} --verify --size 256K --block-size 4K --queue-depth 1", limit_s=120)
    return verified(guest, "8M")


def verified(guest: Guest, size: str) -> str:
    return host(guest, f"io {AT} {DEVICE} --verify --size {size} --block-size 128K --queue-depth 16", limit_s=120).strip().splitlines()[-1]


@cell("verbs-pair", "our host and our target, both on verbs over rdma_rxe in a guest of its own: verified I/O, either side killed, one without power",
      kernels=KERNELS, link="pair", limit_s=400)
def verbs_pair(scene: Scene) -> str:
    with scene.pair() as (target, initiator):
        target.run(linux.link_up(GUEST))
        initiator.run(linux.link_up(OURS))
        without_device(initiator)
        target.run(linux.make_rxe())
        initiator.run(linux.make_rxe())
        list_device(target, GUEST)
        refused = initiator.run(f"fabricbench host connect {AT} {DEVICE}", check=False)
        if refused.status != 2 or AT not in refused.output:
            raise CellFailure(f"where nobody listens the host says: {refused.output.strip()}")
        start_target(target, namespace="64M,file=/tmp/disk.img")
        text = use(initiator)
        kill_host(initiator)
        verified(initiator, "1M")
        lose_target(target, initiator)
        close(target)
        vanish(target, initiator)
        close(initiator)
    return f"{text}; a killed host, a killed target and a target without power are noticed"


def kill_host(guest: Guest) -> None:
    """In the middle of its I/O. The target must do with that."""
    guest.run(f"""fabricbench host io {AT} {DEVICE} --size 64M --block-size 4K >/tmp/killed.log 2>&1 &
pid=$!
{linux.wait_for_traffic("tx", 1)}
kill -9 $pid
""")


def lose_target(target: Guest, initiator: Guest) -> None:
    """The target is killed and comes back while the host writes."""
    initiator.run(f"""fabricbench host io {AT} {DEVICE} --verify --size 24M --block-size 16K >/tmp/io.log 2>&1 &
echo $! >/tmp/io.pid
{linux.wait_for_traffic("tx", 1)}
""", limit_s=60)
    kill_target(target)
    start_target(target, namespace="64M,file=/tmp/disk.img")
    initiator.run("""pid=$(cat /tmp/io.pid)
for i in $(seq 1200); do
  kill -0 $pid 2>/dev/null || break
  sleep 0.1
done
cat /tmp/io.log
grep -q reconnected /tmp/io.log && grep -q 'verified: every block equal' /tmp/io.log
""", limit_s=130)


def vanish(target: Guest, initiator: Guest) -> None:
    """The target's machine loses its power: rdma_rxe would try for ever, the host's keep alive does not."""
    initiator.run(f"""fabricbench host io {AT} {DEVICE} --size 64M --block-size 4K >/tmp/vanish.log 2>&1 &
echo $! >/tmp/io.pid
{linux.wait_for_traffic("tx", 1)}
""", limit_s=60)
    target.kill()
    initiator.run("""pid=$(cat /tmp/io.pid)
for i in $(seq 300); do
  grep -q 'lost the association' /tmp/vanish.log && break
  sleep 0.1
done
grep 'lost the association' /tmp/vanish.log || { cat /tmp/vanish.log; exit 1; }
kill -INT $pid
for i in $(seq 200); do
  kill -0 $pid 2>/dev/null || exit 0
  sleep 0.1
done
echo 'the host does not end'; exit 1
""", limit_s=60)


@cell("verbs-host", "our host on verbs over rdma_rxe in a guest against nvmet in another: discover, connect, verified I/O",
      kernels=KERNELS, link="pair")
def verbs_host(scene: Scene) -> str:
    with scene.pair() as (target, initiator):
        target.run(linux.rxe(GUEST))
        target.run(linux.nvmet("rdma"))
        initiator.run(linux.rxe(OURS))
        text = use(initiator)
        kill_host(initiator)
        verified(initiator, "1M")
        close(initiator)
        close(target, linux.nvmet_down("rdma"))
    return text


@cell("verbs-target", "Linux nvme-rdma in a guest against our target on verbs over rdma_rxe in another: nvme-cli, verified I/O",
      kernels=KERNELS, link="pair", limit_s=400)
def verbs_target(scene: Scene) -> str:
    with scene.pair() as (target, initiator):
        target.run(linux.rxe(GUEST))
        initiator.run(linux.rxe(OURS))
        start_target(target)
        drive_linux_host(initiator, "rdma", GUEST)
        stop_target(target)
        close(initiator)
        close(target)
    return "every byte equal"


@cell("verbs-suite", "the conformance suite on verbs over rdma_rxe in a guest against nvmet in another",
      kernels=KERNELS, link="pair", limit_s=520)
def verbs_suite(scene: Scene) -> str:
    with scene.pair() as (target, initiator):
        target.run(linux.rxe(GUEST))
        target.run(linux.nvmet("rdma"))
        initiator.run(linux.rxe(OURS))
        summary = scene.suite_inside(initiator, f"--dut {AT} {DEVICE}", limit_s=400)
        close(initiator)
        close(target, linux.nvmet_down("rdma"))
    return summary


TEST = "test_sim_rdma_verbs"


@cell("verbs-device", f"the device's own tests ({TEST}) over rdma_rxe that talks to itself", kernels=KERNELS, link="pair")
def verbs_device(scene: Scene) -> str:
    with scene.pair(scene.bench.program.parent / TEST) as (guest, _):
        guest.run(linux.rxe(GUEST))
        said = guest.run(f"{TEST} --gtest_brief=1", limit_s=150).output
        close(guest)
    passed, skipped = (re.search(rf"\[ +{word} +\] (\d+) test", said) for word in ("PASSED", "SKIPPED"))
    if passed is None or skipped is not None:
        raise CellFailure(f"{TEST}: {said.strip().splitlines()[-1]}")
    return f"{passed.group(1)} tests passed"


@cell("verbs-speed", "softroce over UDP and verbs over rdma_rxe between the same two guests, one after the other", link="pair", limit_s=400, alone=True)
def verbs_speed(scene: Scene) -> str:
    sizes = (("4K", 1, "2M"), ("4K", 32, "8M"), ("128K", 8, "32M"))
    figures: dict[str, list[str]] = {}
    with scene.pair() as (target, initiator):
        target.run(linux.link_up(GUEST))
        initiator.run(linux.link_up(OURS))
        for device in ("softroce", "verbs:rxe0"):
            if device != "softroce":  # which would want the port that the kernel has from then on
                target.run(linux.make_rxe())
                initiator.run(linux.make_rxe())
            start_target(target, f"--device {device}")
            for block, depth, size in sizes:
                said = host(initiator, f"io {AT} --device {device} --size {size} --block-size {block} --queue-depth {depth}", limit_s=120)
                figures[f"{device} {block} depth {depth}"] = re.findall(r"^(?:write|read).*", said, re.MULTILINE)
            stop_target(target)
        close(initiator)
        close(target)
    (scene.folder / "figures.txt").write_text("".join(f"{name}\n  " + "\n  ".join(lines) + "\n" for name, lines in figures.items()))
    return f"figures in build/interop/{scene.folder.name}/figures.txt"
