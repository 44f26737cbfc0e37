"""How a guest and this machine's programs meet, without privilege.

A tap device inside a user and network namespace of our own: packets are the kernel's on both sides. And,
where namespaces or /dev/net/tun are missing, raw Ethernet over a pair of unix datagram sockets.
"""

import os
import pathlib
import subprocess
import time

from interop.guest.archive import Unavailable

OURS, GUEST = "192.168.78.1", "192.168.78.2"
OURS6, GUEST6 = "fd78::1", "fd78::2"
IPV6 = {OURS: OURS6, GUEST: GUEST6}
MTU = 9000  # leaves room for a RoCE path MTU of 4096
NIC = f"virtio-net-pci,netdev=n0,romfile=,host_mtu={MTU}"
IN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--net"]


def require_tap() -> None:
    """Unavailable when this machine gives no namespace or no tap device."""
    try:
        done = subprocess.run([*IN_NAMESPACE, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unavailable("no unshare") from None
    if done.returncode != 0:
        raise Unavailable("no user namespaces: " + done.stderr.strip())
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Unavailable("no /dev/net/tun")


def make_tap(name: str = "tap0") -> list[str]:
    """Creates the device in the namespace that we are in; returns what QEMU is told."""
    for command in ("link set lo up", f"tuntap add dev {name} mode tap",
                    f"link set {name} mtu {MTU} up", f"addr add {OURS}/24 dev {name}",
                    f"-6 addr add {OURS6}/64 dev {name} nodad"):
        done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"no tap device: ip {command}: {done.stderr.strip()}")
    return ["-netdev", f"tap,id=n0,ifname={name},script=no,downscript=no", "-device", NIC]


def tap_gone(seconds: float, name: str = "tap0") -> None:
    """The cable is out for so long. It is our end: the kernel of the guest gives rdma_rxe's QP 1 up for good
    when it wants to send through an interface that is down."""
    for state, after in (("down", seconds), ("up", 1.0)):
        subprocess.run(["ip", "link", "set", name, state], check=True)
        time.sleep(after)


def two_guests(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """What QEMU is told for each of two guests that are joined by a link of their own, and by nothing else."""
    first, second = folder / "first.sock", folder / "second.sock"
    sides = []
    for number, (local, remote) in enumerate(((first, second), (second, first)), start=1):
        check_socket(local)
        sides.append(["-netdev", f"dgram,id=n0,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}",
                      "-device", f"{NIC},mac=52:54:00:78:00:0{number}"])
    return sides[0], sides[1]


def check_socket(path: pathlib.Path) -> None:
    path.unlink(missing_ok=True)
    if len(str(path)) > 100:
        raise Unavailable(f"a path too long for a unix socket: {path}")


def l2_sockets(folder: pathlib.Path) -> tuple[list[str], str]:
    """What QEMU is told, and the path pair that our side takes: LOCAL,REMOTE."""
    ours, guest = folder / "ours.sock", folder / "guest.sock"
    for path in (ours, guest):
        check_socket(path)
    network = ["-netdev", f"dgram,id=n0,local.type=unix,local.path={guest},"
                          f"remote.type=unix,remote.path={ours}", "-device", NIC]
    return network, f"{ours},{guest}"
