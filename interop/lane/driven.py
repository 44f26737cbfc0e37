"""Linux as the host under test: our target plays the tester, `fabricbench host drive` in the guest does what it is asked.

A driver is reached through a network of its own, which QEMU makes: the link between the guest and the bench is what is
tested, and cases stop, delay and cut what is on it.
"""

import pathlib
import shlex
import shutil
import sys
from contextlib import contextmanager, suppress

from interop.guest import luggage
from interop.guest.guest import Guest, GuestFailure
from interop.lane import relay
from interop.lane.network import OURS
from interop.lane.scene import Scene, boot, cell, close

PORT = 7000  # of the namespace that the cell has for itself
SIDE, SIDE_GUEST = "10.0.2.0/24", "10.0.2.15"
SIDE_LINK = ["-netdev", f"user,id=side,net={SIDE},restrict=on,hostfwd=tcp:127.0.0.1:{PORT}-{SIDE_GUEST}:{PORT}",
             "-device", "virtio-net-pci,netdev=side,romfile="]
# The kernel's own patience is 30 and 60 seconds; cases in which a controller is silent would wait for it again and again.
IMPATIENT = "io_timeout=5 admin_timeout=5"
LOGS = ("drive.log", "kernel.log")

# One connection, one case, one driver. Whatever the case before has left behind is not its; the bench waits half a minute for
# the first word of a driver.
SESSION = """#!/bin/sh
exec 2>>/tmp/drive.log
read -r uptime rest </proc/uptime
echo "session $$ at $uptime" | tee /dev/kmsg >&2
old=$(cat /run/driver.pid 2>/dev/null)
if [ -n "$old" ]; then
  for i in $(seq 22); do kill -0 $old 2>/dev/null || break; sleep 0.5; done
  kill -9 $old 2>/dev/null && echo "driver $old did not end" >&2
fi
echo $$ >/run/driver.pid
left() { ls /sys/class/nvme; }
for controller in $(left); do
  echo "left behind: $controller" >&2
  echo 1 >/sys/class/nvme/$controller/delete_controller &
done </dev/null >/dev/null
for i in $(seq 20); do [ -z "$(left)" ] && break; sleep 0.5; done
[ -z "$(left)" ] || echo "still there: $(left)" >&2
exec fabricbench host drive
"""

# What nvme-cli's rule for udev does (70-nvmf-autoconnect.rules) with an event of a discovery service; the guest has no udev.
EVENT = """#!/bin/sh
[ "$ACTION/$SUBSYSTEM" = change/nvme ] || exit 0
[ "$NVME_AEN" = 0x70f002 ] || [ "$NVME_EVENT" = rediscover ] || exit 0
nvme connect-all --quiet --device=${DEVNAME##*/} --transport=$NVME_TRTYPE --traddr=$NVME_TRADDR --trsvcid=$NVME_TRSVCID \\
  --host-traddr=$NVME_HOST_TRADDR --host-iface=${NVME_HOST_IFACE:-none} </dev/null >>/tmp/drive.log 2>&1 &
"""


def begin_sessions() -> str:
    def script(path: str, text: str) -> str:
        return f"cat >{path} <<'END'\n{text}END\nchmod 755 {path}\n"
    return f"""set -e
{script("/run/session", SESSION)}{script("/run/event", EVENT)}ip link set eth1 up
ip addr add {SIDE_GUEST}/24 dev eth1
cat /dev/kmsg >/tmp/kernel.log &
busybox uevent /run/event >/dev/null 2>&1 &
busybox nc -ll -p {PORT} -e /run/session >/dev/null 2>&1 &
for i in $(seq 100); do ss -ltn | grep -q ':{PORT} ' && exit 0; sleep 0.1; done
echo 'no sessions'; exit 1
"""


@contextmanager
def driven_guest(scene: Scene, transport: str):
    """A guest whose Linux can be driven from here."""
    image = luggage.carry(scene.image, scene.bench.program, scene.folder / "image")
    try:
        with Guest(image, scene.folder, scene.network + SIDE_LINK, name=scene.folder.name) as guest:
            boot_driven(guest, transport)
            try:
                yield guest
            finally:
                keep_logs(guest, scene.folder)
    finally:
        shutil.rmtree(image.folder)


def boot_driven(guest: Guest, transport: str) -> None:
    boot(guest, transport)
    guest.run(f"modprobe nvme_core {IMPATIENT}\nmodprobe -a nvme_{transport} nvme_fabrics")
    guest.run(begin_sessions())


def keep_logs(guest: Guest, folder: pathlib.Path) -> None:
    with suppress(GuestFailure):  # which the cell has then met by itself
        for name in LOGS:
            (folder / name).write_text(guest.run(f"cat /tmp/{name}").output)


def driver() -> str:
    """What the bench starts for each case."""
    return shlex.join([sys.executable, "-E", "-S", str(pathlib.Path(relay.__file__)), str(PORT)])


def suite_against_host(scene: Scene, transport: str) -> str:
    with driven_guest(scene, transport) as guest:
        summary = scene.bench.suite("--dut", f"host:{driver()}", "--transport", transport, "--local", OURS, "--role", "host",
                                    "--profile", f"linux-{scene.kernel}", limit_s=LIMIT_S)
        close(guest)
    return summary


LIMIT_S = 3000


@cell("tcp-target-suite", "the host cases of the suite: our target plays the tester, Linux nvme-tcp is the host under test",
      kernels=("6.1", "6.12"), limit_s=LIMIT_S + 200)
def tcp_target_suite(scene: Scene) -> str:
    return suite_against_host(scene, "tcp")


@cell("rdma-target-suite", "the same over RDMA: our target on softroce, Linux nvme-rdma on rdma_rxe",
      kernels=("6.1", "6.12"), limit_s=LIMIT_S + 200)
def rdma_target_suite(scene: Scene) -> str:
    return suite_against_host(scene, "rdma")
