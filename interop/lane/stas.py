"""nvme-stas of Debian 13 in the guest: stafd finds our target's discovery service, by configuration or by multicast DNS, follows what
changes and where it refers to, and stacd connects what it finds. Either is killed and comes back to what is there."""

import json
import pathlib
import re
import subprocess
import time
from contextlib import contextmanager

from interop.guest import root, userland
from interop.guest.guest import Guest, GuestFailure
from interop.guest.root import Root
from interop.guest.userland import FOR_INSTALLATION, INSIDE, RELEASE, ROOT, Userland
from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS
from interop.lane.scene import TARGET_NQN, Scene, boot, cell, close

DISCOVERY_PORT, REFERRED_PORT = 8009, 8010
ADDED_NQN, REFERRED_NQN = f"{TARGET_NQN}.added", f"{TARGET_NQN}.referred"
# For mDNS on our side of the link; the guest has its own.
ANNOUNCER = Userland(("avahi-daemon", "dbus-daemon", "dbus-system-bus-common"), FOR_INSTALLATION)
PATIENCE_S = 180

# What the installation of the packages would have made, and what a service manager starts. Events reach stafd through udev.
SERVICES = f"""set -e
for user in messagebus:101 avahi:102; do
  echo "${{user%:*}}:x:${{user#*:}}:${{user#*:}}::/:/bin/false" >>{ROOT}/etc/passwd
  echo "${{user%:*}}:x:${{user#*:}}:" >>{ROOT}/etc/group
done
mkdir -p /run/dbus /run/stafd /run/stacd {ROOT}/var/cache/stafd {ROOT}/var/cache/stacd {ROOT}/var/run {ROOT}/etc/stas
[ -e {ROOT}/var/run/dbus ] || {{ rmdir {ROOT}/var/run; ln -s /run {ROOT}/var/run; }}
modprobe -a nvme_tcp
{INSIDE} /usr/lib/systemd/systemd-udevd --daemon
{INSIDE} dbus-daemon --system --nopidfile --fork
"""
AVAHI = f"{INSIDE} avahi-daemon --daemonize --no-drop-root --no-chroot --no-rlimits"
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="signal"/>
    <allow receive_requested_reply="true" receive_type="method_return"/>
    <allow receive_requested_reply="true" receive_type="error"/>
  </policy>
</busconfig>
"""


def configure(guest: Guest, zeroconf: bool) -> None:
    by_name = "" if zeroconf else f"controller=transport=tcp;traddr={OURS};trsvcid={DISCOVERY_PORT}\n"
    stafd = ("[Global]\ntron=true\nreconnect-delay=2\nip-family=ipv4\n"
             f"[Service Discovery]\nzeroconf={'enabled' if zeroconf else 'disabled'}\n[Controllers]\n{by_name}")
    stacd = ("[Global]\ntron=true\nreconnect-delay=2\n"
             "[I/O controller connection management]\ndisconnect-scope=only-stas-connections\ndisconnect-trtypes=tcp\n")
    guest.run(f"cat >{ROOT}/etc/stas/stafd.conf <<'end'\n{stafd}end\ncat >{ROOT}/etc/stas/stacd.conf <<'end'\n{stacd}end\n")


def start(guest: Guest, daemon: str) -> None:
    guest.run(f"{INSIDE} /usr/bin/python3 -u /usr/sbin/{daemon} >>/tmp/{daemon}.log 2>&1 </dev/null & echo $! >/run/{daemon}.pid")


def kill(guest: Guest, daemon: str, signal: str = "KILL") -> None:
    guest.run(f"kill -{signal} $(cat /run/{daemon}.pid)\nwhile kill -0 $(cat /run/{daemon}.pid) 2>/dev/null; do sleep 0.1; done")


def controllers(guest: Guest) -> dict[str, tuple[str, str, str]]:
    """What the kernel has, by the device: the NQN, the port and whether it is live."""
    said = guest.run("for each in /sys/class/nvme/nvme*; do [ -e $each/subsysnqn ] || continue\n"
                     "echo ${each##*/} $(cat $each/subsysnqn) $(cat $each/address) $(cat $each/state); done").output
    found = {}
    for line in said.splitlines():
        words = line.split()
        port = re.search(r"trsvcid=(\d+)", line)
        if len(words) >= 4 and port:
            found[words[0]] = (words[1], port[1], words[-1])
    return found


def live(guest: Guest) -> set[tuple[str, str]]:
    return {(nqn, port) for nqn, port, state in controllers(guest).values() if state == "live"}


def expect_live(scene: Scene, guest: Guest, wanted: set[tuple[str, str]], when: str) -> None:
    """Until these are live, and no others are there."""
    deadline = time.monotonic() + PATIENCE_S
    while (seen := live(guest)) != wanted or len(controllers(guest)) != len(wanted):
        if time.monotonic() > deadline:
            for daemon in ("stafd", "stacd"):
                (scene.folder / f"{daemon}.log").write_text(guest.run(f"cat /tmp/{daemon}.log", check=False).output)
            raise CellFailure(f"{when}, live are {sorted(seen)} where {sorted(wanted)} are due")
        time.sleep(0.5)


def listed(guest: Guest, command: str) -> list[dict]:
    """What stafctl or stacctl prints, which is Python's way to write a list."""
    said = guest.run(f"{INSIDE} {command}", limit_s=60).output
    try:
        return json.loads(said.replace("'", '"').replace("None", "null").replace("True", "true").replace("False", "false"))
    except ValueError:
        raise CellFailure(f"'{command}' prints {said.strip()[-200:]}") from None


def expect_listed(guest: Guest, command: str, ports: set[str]) -> None:
    seen = {one["trsvcid"] for one in listed(guest, command)}
    if seen != ports:
        raise CellFailure(f"'{command}' lists ports {sorted(seen)} where {sorted(ports)} are due")


def target_at(scene: Scene, port: int, discovery: int, nqn: str, discovery_nqn: str, *options: str, environment: dict | None = None):
    return scene.bench.start("target", "--listen", f"tcp://{OURS}:{port}", "--discovery-listen", f"tcp://{OURS}:{discovery}",
                             "--discovery-nqn", discovery_nqn, "--namespace", "16M", "--nqn", nqn,
                             "--control", f"unix:{scene.folder}/{port}.sock", *options, until="listening", environment=environment)


def control(scene: Scene, *request: str) -> None:
    scene.bench.run("ctl", f"unix:{scene.folder}/4420.sock", *request)


@contextmanager
def daemons(scene: Scene, zeroconf: bool):
    with scene.guest() as guest, scene.recorded():
        boot(guest, "tcp")
        guest.run(userland.mount() + SERVICES, limit_s=60)
        if zeroconf:
            guest.run(AVAHI, limit_s=60)
        configure(guest, zeroconf)
        try:
            yield guest
        finally:
            keep_logs(scene, guest)
        for daemon in ("stafd", "stacd"):
            kill(guest, daemon, "TERM")
        guest.run(f"{INSIDE} nvme disconnect-all\n[ -z \"$(ls /sys/class/nvme)\" ]", limit_s=60)
        close(guest)


def keep_logs(scene: Scene, guest: Guest) -> None:
    for daemon in ("stafd", "stacd"):
        try:
            (scene.folder / f"{daemon}.log").write_text(guest.run(f"cat /tmp/{daemon}.log", check=False).output)
        except GuestFailure:
            return


OWN, OTHER = "nqn.2014-08.org.fabricbench:discovery", "nqn.2014-08.org.fabricbench:discovery.other"


@cell("stas-config", "nvme-stas 2.4 of Debian 13: stafd knows our discovery service by its configuration, follows changes and a referral, "
      "and stacd connects what it finds; both are killed and started again", kernels=("7.3",), flavour="7.3+nvme-stas", limit_s=500)
def stas_by_configuration(scene: Scene) -> str:
    first = {(OWN, str(DISCOVERY_PORT)), (TARGET_NQN, "4420")}
    other = {(OTHER, str(REFERRED_PORT)), (REFERRED_NQN, "4421")}
    with daemons(scene, zeroconf=False) as guest, \
            target_at(scene, 4420, DISCOVERY_PORT, TARGET_NQN, OWN) as target, \
            target_at(scene, 4421, REFERRED_PORT, REFERRED_NQN, OTHER) as referred:
        for daemon in ("stafd", "stacd"):
            start(guest, daemon)
        expect_live(scene, guest, first, "at first")
        expect_listed(guest, "stafctl ls", {str(DISCOVERY_PORT)})
        expect_listed(guest, "stacctl ls", {"4420"})
        guest.run(linux.write_read_compare(1, "16k"), limit_s=60, check=False)
        control(scene, "subsystem.add", f"nqn={ADDED_NQN}")
        expect_live(scene, guest, first | {(ADDED_NQN, "4420")}, "after a subsystem was added")
        control(scene, "subsystem.remove", f"nqn={ADDED_NQN}")
        expect_live(scene, guest, first, "after it was removed")
        control(scene, "referral.add", f"url=tcp://{OURS}:{REFERRED_PORT}")
        expect_live(scene, guest, first | other, "after a referral was added")
        for daemon in ("stafd", "stacd"):
            before = controllers(guest)
            kill(guest, daemon)
            start(guest, daemon)
            time.sleep(3)
            expect_live(scene, guest, first | other, f"after {daemon} was killed and came back")
            if set(controllers(guest)) != set(before):
                raise CellFailure(f"{daemon} connects again what was connected when it was killed")
        expect_listed(guest, "stafctl ls", {str(DISCOVERY_PORT), str(REFERRED_PORT)})
        expect_listed(guest, "stacctl ls", {"4420", "4421"})
        control(scene, "referral.remove", f"url=tcp://{OURS}:{REFERRED_PORT}")
        expect_live(scene, guest, first, "after the referral was removed")
        version = guest.run(f"{INSIDE} stafctl --version").output.split()
        for daemon in ("stafd", "stacd"):
            kill(guest, daemon, "TERM")
        guest.run(f"{INSIDE} nvme disconnect-all", limit_s=60)
        for daemon in ("stafd", "stacd"):
            start(guest, daemon)
        expect_live(scene, guest, first, "after both began anew")
        referred.finish()
        target.finish()
    return f"nvme-stas {version[1]}: a subsystem that comes and goes, a referral, both killed and back"


def announcer() -> Root:
    """With the user that the installation of Avahi would have made. Inside there is one user only."""
    made = root.build("avahi", RELEASE, ANNOUNCER)
    for name, line in (("passwd", "avahi:x:0:0::/:/bin/false\n"), ("group", "avahi:x:0:\n")):
        known = made.folder / "etc" / name
        if "avahi:" not in known.read_text():
            known.write_text(known.read_text() + line)
    return made


@contextmanager
def announced(scene: Scene):
    """An Avahi on our side of the link, with a bus of its own. What our target is told to find it."""
    inside = announcer()
    folder = scene.folder.resolve()
    socket, rules = folder / "bus", folder / "bus.conf"
    rules.write_text(BUS.format(socket=socket))
    (folder / "avahi.conf").write_text("[server]\nhost-name=bench\nuse-ipv6=no\nallow-interfaces=tap0\nenable-dbus=yes\n")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={socket}"}
    running = []
    (folder / "run").mkdir()
    try:
        bus = ("dbus-daemon", f"--config-file={rules}", "--nofork", "--nopidfile")
        avahi = ("avahi-daemon", "-f", str(folder / "avahi.conf"), "--no-drop-root", "--no-chroot", "--no-rlimits")
        for name, program in (("bus", bus), ("avahi", avahi)):
            with open(folder / f"{name}.log", "w") as log:
                running.append(subprocess.Popen(inside.entered(program, [folder]), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                env=environment))
            wait_until(folder, name, running[-1], lambda: socket.exists() if name == "bus" else
                       "Server startup complete" in (folder / "avahi.log").read_text())
        yield {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={socket}"}
    finally:
        for one in reversed(running):
            one.terminate()
            one.wait()


def wait_until(folder: pathlib.Path, name: str, process: subprocess.Popen, ready) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise CellFailure(f"{name} does not come up: {(folder / f'{name}.log').read_text().strip()[-200:]}")
        time.sleep(0.1)


@cell("stas-mdns", "nvme-stas 2.4 and Avahi of Debian 13: stafd finds our discovery service, which our target announces by multicast DNS; "
      "the target goes and comes back", kernels=("7.3",), flavour="7.3+nvme-stas", limit_s=900, recorded=False, prepare=announcer)
def stas_by_mdns(scene: Scene) -> str:
    first = {(OWN, str(DISCOVERY_PORT)), (TARGET_NQN, "4420")}
    with daemons(scene, zeroconf=True) as guest, announced(scene) as environment:
        for daemon in ("stafd", "stacd"):
            start(guest, daemon)
        for _ in range(2):
            with target_at(scene, 4420, DISCOVERY_PORT, TARGET_NQN, OWN, "--mdns", environment=environment) as target:
                expect_live(scene, guest, first, "once it was announced")
                guest.run(linux.write_read_compare(1, "16k"), limit_s=60, check=False)
                target.finish()
        with target_at(scene, 4420, DISCOVERY_PORT, TARGET_NQN, OWN, "--mdns", environment=environment) as target:
            expect_live(scene, guest, first, "when it was back")
            found = scene.bench.run("host", "discover", "mdns:", environment=environment).output
            if TARGET_NQN not in found:
                raise CellFailure(f"our host does not find it by mDNS: {found.strip()[-200:]}")
            target.finish()
    return "found by mDNS three times, by stafd and by our host"
