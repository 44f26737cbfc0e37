"""Linux as the host under test: our target plays the tester, `fabricbench host drive` in the guest does what it is asked.

A driver is reached through a network of its own, which QEMU makes: the link between the guest and the bench is what is
tested, and cases stop, delay and cut what is on it.
"""

import json
import pathlib
import re
import shlex
import shutil
import socket
import sys
import threading
from contextlib import contextmanager, suppress

from interop.guest import luggage
from interop.guest.guest import COMPLAINT, Guest, GuestFailure
from interop.lane import relay, tls
from interop.lane.bench import FALLEN, CellFailure
from interop.lane.network import OURS, check_socket
from interop.lane.scene import KERNELS, SECURE_KERNELS, Scene, boot, cell

PORT = 7000  # of the namespace that the cell has for itself
SIDE, SIDE_GUEST = "10.0.2.0/24", "10.0.2.15"
SIDE_LINK = ["-netdev", f"user,id=side,net={SIDE},restrict=on,hostfwd=tcp:127.0.0.1:{PORT}-{SIDE_GUEST}:{PORT}",
             "-device", "virtio-net-pci,netdev=side,romfile="]
# The kernel's own patience is 30 and 60 seconds; cases in which a controller is silent would wait for it again and again.
IMPATIENT = "io_timeout=5 admin_timeout=5"
LOGS = ("drive.log", "kernel.log")

# Faults of the kernels that these cases lead to: a function of the trace, and what it does there. A complaint with none of
# them fails the cell. A case in which a kernel falls over one of them says nothing about the rule that it is for.
KNOWN_COMPLAINTS = {
    "6.1": {"nvme_tcp_recv_skb": "nvme-tcp reads on behind a PDU that it has refused, into memory that is none of the command's",
            "nvme_tcp_try_send": "nvme-tcp puts a command that gets a second R2T into its list twice",
            "nvme_tcp_get_address": "the address of a controller is read from a socket that is being closed"},
    "6.12": {"nvme_tcp_recv_skb": "nvme-tcp takes data for a command that writes"},
}
TRACE_LINES = 80  # of a complaint

# Whatever the case before has left behind is not the next one's. The bench waits half a minute for the first word of a
# driver, in which a guest can be started again, too.
TIDY_UP = """listener=$(cat /run/driver.pid)
drivers=/proc/$listener/task/$listener/children
for i in $(seq 20); do old=$(cat $drivers); [ -z "$old" ] && break; sleep 0.25; done
[ -n "$old" ] && kill -9 $old && echo "a driver that did not end"
killall -9 nvme 2>/dev/null && sleep 0.5  # what an event has begun
for controller in /sys/class/nvme/*; do
  [ -e $controller ] || break
  echo "a controller that was left behind"
  (echo 1 >$controller/delete_controller) 2>/dev/null &
done </dev/null
fit=1
for i in $(seq 20); do [ -z "$(ls /sys/class/nvme)" ] && fit=0 && break; sleep 0.25; done
[ $fit = 0 ] || echo 'a controller that cannot be deleted'
"""
# In the same call, which takes its time: what the kernel has said since the last time, from a byte on.
HEAR = """echo KERNEL
tail -c +{first} /tmp/kernel.log
exit $fit
"""

# What nvme-cli's rule for udev does (70-nvmf-autoconnect.rules) with an event of a discovery service; the guest has no udev.
EVENT = """#!/bin/sh
[ "$ACTION/$SUBSYSTEM" = change/nvme ] || exit 0
[ "$NVME_AEN" = 0x70f002 ] || [ "$NVME_EVENT" = rediscover ] || exit 0
nvme connect-all --quiet --device=${DEVNAME##*/} --transport=$NVME_TRTYPE --traddr=$NVME_TRADDR --trsvcid=$NVME_TRSVCID \\
  --host-traddr=$NVME_HOST_TRADDR --host-iface=${NVME_HOST_IFACE:-none} </dev/null >>/tmp/drive.log 2>&1 &
"""


def begin_sessions(*options: str) -> str:
    def script(path: str, text: str) -> str:
        return f"cat >{path} <<'END'\n{text}END\nchmod 755 {path}\n"
    return f"""set -e
{script("/run/event", EVENT)}ip link set eth1 up
ip addr add {SIDE_GUEST}/24 dev eth1
cat /dev/kmsg >/tmp/kernel.log &
busybox uevent /run/event >/dev/null 2>&1 &
umask 077; echo {relay.TOKEN} >/run/token; umask 022
fabricbench host drive --listen {SIDE_GUEST}:{PORT} --token-file /run/token --verbose {" ".join(options)} >/run/sessions 2>>/tmp/drive.log &
echo $! >/run/driver.pid
for i in $(seq 100); do [ -s /run/sessions ] && exit 0; sleep 0.1; done
echo 'no sessions'; exit 1
"""


class Gate:
    """Lets one session after the other into a guest that is fit for it: a kernel that has complained, or that does not get
    rid of a controller, is started again. What was wrong is kept, and told at the end."""

    def __init__(self, guest: Guest, transport: str, kernel: str, *, secure: bool):
        self.guest = guest
        self.transport = transport
        self.secure = secure
        self.path = guest.folder / "gate.sock"
        self.complaints: list[str] = []
        self.known_complaints: list[tuple[str, str]] = []  # the case that was on, and what the kernel did
        self._known = KNOWN_COMPLAINTS.get(kernel, {})
        self.sessions = 0
        self.case = ""
        self.restarts = 0
        self._heard = 0  # of the kernel's log
        check_socket(self.path)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.path))
        self._socket.listen()

    def open(self) -> None:
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            asking, _ = self._socket.accept()
            with asking, suppress(OSError):
                case = b"".join(iter(lambda: asking.recv(4096), b"")).decode()
                try:
                    self._make_fit()
                    self.case = case
                    asking.sendall(b"ready")
                except GuestFailure as failure:
                    self._note(str(failure))

    def _make_fit(self) -> None:
        self.sessions += 1
        try:
            found = self.guest.run(f"echo 'session {self.sessions}' | tee /dev/kmsg >>/tmp/drive.log\n" + TIDY_UP +
                                   HEAR.format(first=self._heard + 1), check=False)
            left, _, said = found.output.partition("KERNEL\n")
            for line in left.splitlines():
                self._note(line)
            complained = self._take(said)
            if found.status == 0 and not complained:
                return
        except GuestFailure as failure:
            self._note(str(failure))
        self._start_again()

    def hear(self) -> bool:
        """Whether the kernel has complained since the last time."""
        return self._take(self.guest.run(f"tail -c +{self._heard + 1} /tmp/kernel.log").output)

    def _take(self, said: str) -> bool:
        self._heard += len(said.encode())
        lines = said.splitlines()
        first = next((number for number, line in enumerate(lines) if COMPLAINT.search(line)), None)
        if first is None:
            return False
        trace = "\n".join(lines[first:first + TRACE_LINES])
        known = [what for function, what in self._known.items() if re.search(rf"\b{function}\+", trace)]
        if known:
            self.known_complaints.append((self.case, known[0]))
        else:
            self.complaints.append(lines[first])
        self._note(f"{lines[first]}{''.join(f' ({what})' for what in known[:1])}")
        return True

    def _start_again(self) -> None:
        folder = self.guest.folder
        keep_logs(self.guest)
        self.guest.kill()
        for name in (*LOGS, "console.log"):
            if (folder / name).exists():
                (folder / name).rename(folder / f"{pathlib.Path(name).stem}-until-{self.sessions}.log")
        self._heard = 0
        self.restarts += 1
        boot_driven(self.guest, self.transport, secure=self.secure)

    def _note(self, text: str) -> None:
        """Found after a session, and before this one."""
        with open(self.guest.folder / "gate.log", "a") as log:
            log.write(f"before session {self.sessions}, after {self.case or 'the greeting'}: {text}\n")


@contextmanager
def driven_guest(scene: Scene, transport: str, *, secure: bool):
    """A guest whose Linux can be driven from here, over TLS too where it is `secure`, and its gate."""
    programs = [scene.bench.program, *([tls.agent(scene)] if secure else [])]
    image = luggage.carry(scene.image, scene.folder / "image", *programs)
    try:
        with Guest(image, scene.folder, scene.network + SIDE_LINK, name=scene.folder.name) as guest:
            boot_driven(guest, transport, secure=secure)
            gate = Gate(guest, transport, scene.kernel, secure=secure)
            gate.open()
            yield gate
            keep_logs(guest)
    finally:
        shutil.rmtree(image.folder)


def boot_driven(guest: Guest, transport: str, *, secure: bool) -> None:
    boot(guest, transport)
    # Linux 6.12 looks at the namespaces of a controller side by side, and nvme-tcp gives them memory from one place without a
    # lock: pages are freed twice. On one processor these works come one after the other.
    guest.run("echo 1 >/sys/devices/virtual/workqueue/cpumask")
    guest.run(f"modprobe nvme_core {IMPATIENT}")
    if secure:
        tls.begin_handshakes(guest)
    guest.run(f"modprobe -a nvme_{transport} nvme_fabrics")
    guest.run(begin_sessions(*(["--tls"] if secure else [])))


def keep_logs(guest: Guest) -> None:
    with suppress(GuestFailure):  # what has gone has nothing to say
        for name in LOGS:
            (guest.folder / name).write_text(guest.run(f"cat /tmp/{name}").output)


def driver(gate: Gate) -> str:
    """What the bench starts for each case."""
    return shlex.join([sys.executable, "-E", "-S", str(pathlib.Path(relay.__file__)), str(gate.path), str(PORT)])


def suite_against_host(scene: Scene, transport: str, *options: str, secure: bool = False) -> str:
    with driven_guest(scene, transport, secure=secure) as gate:
        ran = scene.bench.run_suite("--dut", f"host:{driver(gate)}", "--transport", transport, "--local", OURS, "--role", "host",
                                    "--profile", f"linux-{scene.kernel}", *options, limit_s=LIMIT_S)
        gate.hear()
    fallen = sorted({case for case, _ in gate.known_complaints})
    (scene.folder / FALLEN).write_text(json.dumps(fallen))
    summary = ran.summary(not_judged=fallen)
    if gate.complaints:
        raise CellFailure(f"{summary}; the kernel complained {len(gate.complaints)} times, first: {gate.complaints[0]}")
    known = "".join(f"; {what}" for what in sorted({what for _, what in gate.known_complaints}))
    return f"{summary}{known}{f' (guests started again: {gate.restarts})' if gate.restarts else ''}"


LIMIT_S = 2000


@cell("tcp-target-suite", "the host cases of the suite: our target plays the tester, Linux nvme-tcp is the host under test",
      kernels=KERNELS, limit_s=LIMIT_S + 200)
def tcp_target_suite(scene: Scene) -> str:
    return suite_against_host(scene, "tcp")


@cell("rdma-target-suite", "the same over RDMA: our target on softroce, Linux nvme-rdma on rdma_rxe",
      kernels=KERNELS, limit_s=LIMIT_S + 200)
def rdma_target_suite(scene: Scene) -> str:
    return suite_against_host(scene, "rdma")


@cell("tcp-target-suite-tls", "the host cases about TLS: what Linux nvme-tcp begins a connection with, and what goes on over it",
      kernels=SECURE_KERNELS, limit_s=520)
def tcp_target_suite_tls(scene: Scene) -> str:
    return suite_against_host(scene, "tcp", "--case", "tls_host_*", secure=True)


# Those that wait: for a keep alive, for a path to be given up, for a namespace that is looked for. Not among them are those
# about Abort, which Linux does not send, and which wait for it for five minutes.
SLOW = ("host_asks_for_the_size_of_a_namespace_that_changed", "host_finds_a_new_namespace", "host_hears_of_every_change_*",
        "host_keeps_a_discovery_service_alive", "host_keeps_alive_*", "host_keeps_each_controller_alive", "host_sends_keep_alive",
        "host_leaves_a_discovery_service_when_done", "host_leaves_a_namespace_that_is_gone", "host_leaves_a_path_that_is_lost",
        "host_leaves_an_inaccessible_path", "host_loses_no_write_with_a_path", "host_repeats_no_write_that_may_still_run",
        "host_waits_before_it_repeats_writes_elsewhere", "host_waits_longer_where_traffic_keeps_alive")


def slow_suite_against_host(scene: Scene, transport: str) -> str:
    return suite_against_host(scene, transport, "--slow", *(word for case in SLOW for word in ("--case", case)))


@cell("tcp-target-slow", "the host cases that wait, over TCP: keep alive, lost paths, namespaces that come and go",
      kernels=KERNELS, limit_s=LIMIT_S + 200, waits=True)
def tcp_target_slow(scene: Scene) -> str:
    return slow_suite_against_host(scene, "tcp")


@cell("rdma-target-slow", "the same over RDMA", kernels=KERNELS, limit_s=LIMIT_S + 200, waits=True)
def rdma_target_slow(scene: Scene) -> str:
    return slow_suite_against_host(scene, "rdma")
