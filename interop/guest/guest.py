"""A Linux guest: boots an image, runs shell scripts in it, brings back output and kernel log.

    with Guest(image.build("6.1"), folder, network=["-netdev", ..., "-device", ...]) as guest:
        guest.boot()
        guest.run("rdma link")
        guest.check_kernel()

The folder keeps the evidence: console.log (what the kernel printed), agent.log (each script with its
status and output), dmesg.log.
"""

import base64
import fcntl
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass

from interop.guest.archive import Unavailable, cache_root
from interop.guest.image import Image

QEMU = "qemu-system-x86_64"
BOOT_LIMIT_S = 120
KVM_LIMIT_S = 10
AGENT_SLACK_S = 20  # on top of a script's own limit, before the guest counts as hung

# What no run may leave in a kernel log.
COMPLAINT = re.compile(
    r"WARNING:|BUG:|\bBUG at|Oops|general protection fault|Kernel panic|possible recursive locking|"
    r"possible circular locking|inconsistent lock state|suspicious RCU usage|detected stalls?|"
    r"blocked for more than|UBSAN:|KASAN:|KCSAN:|refcount_t:|Unable to handle|unable to handle|"
    r"Call Trace:|kernel NULL pointer|list_(add|del) corruption|scheduling while atomic")


class GuestFailure(Exception):
    """The guest hung, died, or its kernel complained; the text says which, and where the evidence is."""


@dataclass(frozen=True)
class Outcome:
    status: int
    output: str


KVM = ["-accel", "kvm", "-cpu", "host"]
EMULATION = ["-accel", "tcg,thread=multi", "-cpu", "max"]


def accelerator(image: Image) -> list[str]:
    """KVM where a kernel really comes up under it: the device node alone says little, and inside
    containers and nested machines it may be there and hang. Asked once for each start of the machine."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return EMULATION
    machine = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    answer = cache_root() / f"kvm-{machine}"
    if not answer.exists():
        with tempfile.TemporaryDirectory() as folder:
            guest = Guest(image, pathlib.Path(folder), [], "kvm probe", accel=KVM)
            try:
                guest.boot_once(KVM_LIMIT_S)
                works = True
            except GuestFailure:
                works = False
            guest.kill()
        answer.parent.mkdir(parents=True, exist_ok=True)
        answer.write_text("works" if works else "does not work")
    return KVM if answer.read_text() == "works" else EMULATION


@contextmanager
def one_at_a_time():
    """Guests that boot at once take each other's processors, and all come up late. Over all processes that use the cache."""
    path = cache_root() / "booting"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # the kernel lets it go with the process
        yield


def require_qemu() -> None:
    if shutil.which(QEMU) is None:
        raise Unavailable(f"no {QEMU}")


class Guest:
    def __init__(self, image: Image, folder: pathlib.Path, network: list[str], name: str = "guest",
                 memory: str = "1G", cpus: int = 2, accel: list[str] | None = None, program: tuple[str, ...] = (QEMU,),
                 environment: dict[str, str] | None = None):
        self.image = image
        self.folder = folder
        self.name = name
        self.boot_seconds = 0.0
        self._network = network
        self._memory = memory
        self._cpus = cpus
        self._accel = accel
        self._program = program  # QEMU, where it is not this machine's
        self._environment = environment
        self._process: subprocess.Popen | None = None
        self._port: socket.socket | None = None
        self._received = b""
        self._scripts = 0

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_) -> None:
        self.kill()

    # ---- life ----

    def boot(self) -> None:
        """Until the agent answers. One more try, said aloud, when it never came up at all."""
        with one_at_a_time():
            try:
                self.boot_once()
            except GuestFailure as failure:
                print(f"{self.name}: {failure}; trying once more", flush=True)
                self.kill()
                os.replace(self.folder / "console.log", self.folder / "console-first.log")
                self.boot_once()
        print(f"{self.name}: booted in {self.boot_seconds:.1f} s", flush=True)

    def boot_once(self, limit_s: int = BOOT_LIMIT_S) -> None:
        require_qemu()
        accel = self._accel or accelerator(self.image)
        self.folder.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        ours, theirs = socket.socketpair()
        # An emulated processor that waits for a busy machine stands still for seconds; what stalls does so for ever.
        # Half of a boot would go to self-tests of ciphers, which the last parameter leaves out where the one before it
        # does not, to encrypted keys, and to security modules that nobody configures.
        parameters = ("console=ttyS0 loglevel=5 panic=-1 mitigations=off nokaslr rdinit=/init net.ifnames=0 "
                      "rcupdate.rcu_cpu_stall_timeout=100 watchdog_thresh=60 lsm=capability "
                      "cryptomgr.notests initcall_blacklist=crypto_kdf108_init,jent_mod_init,init_encrypted")
        command = [
            *self._program, "-M", "q35", *accel, "-smp", str(self._cpus), "-m", self._memory, "-nodefaults",
            "-nographic", "-no-reboot", "-kernel", str(self.image.kernel), "-initrd",
            str(self.image.initrd), "-append", parameters,
            "-serial", f"file:{self.folder}/console.log",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={theirs.fileno()}",
            "-device", "virtserialport,chardev=agent,name=agent", *self._network]
        with open(self.folder / "qemu.log", "wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[theirs.fileno()],
                                             env={**os.environ, **(self._environment or {})})
        theirs.close()
        self._port = ours
        self._received = b""
        words = self._line(started + limit_s, "never booted")
        if not words.startswith("ready"):
            raise GuestFailure(f"the agent said '{words}' where it says ready")
        self.boot_seconds = time.monotonic() - started

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._port is not None:
            self._port.close()
            self._port = None

    # ---- commands ----

    def run(self, script: str, limit_s: int = 30, check: bool = True) -> Outcome:
        """Runs a shell script in the guest. With `check`, a status other than 0 is a GuestFailure."""
        self._scripts += 1
        encoded = base64.b64encode(script.encode()).decode()
        assert self._port is not None, "boot() comes first"
        deadline = time.monotonic() + limit_s + AGENT_SLACK_S
        try:
            self._port.sendall(f"{self._scripts} {limit_s} {encoded}\n".encode())
        except OSError as problem:
            raise GuestFailure(f"the guest is gone: {problem}{self._evidence()}") from None
        what = f"hung in '{first_line(script)}'"
        words = self._line(deadline, what).split()
        if words[:2] != ["done", str(self._scripts)] or len(words) != 4:
            raise GuestFailure(f"the agent answered '{' '.join(words)}'")
        output = self._bytes(int(words[3]), deadline, what).decode(errors="replace")
        outcome = Outcome(int(words[2]), output)
        with open(self.folder / "agent.log", "a") as log:
            log.write(f"$ {script.strip()}\n{output}\n[{outcome.status}]\n")
        if check and outcome.status != 0:
            said = output.strip().splitlines()[-3:]
            raise GuestFailure(f"'{first_line(script)}' ended with {outcome.status}: {' / '.join(said)}")
        return outcome

    def dmesg(self) -> str:
        text = self.run("dmesg").output
        (self.folder / "dmesg.log").write_text(text)
        return text

    def check_kernel(self) -> None:
        """GuestFailure when the kernel printed anything that it should not."""
        for line in self.dmesg().splitlines():
            if COMPLAINT.search(line):
                raise GuestFailure(f"the kernel complained: {line.strip()}{self._evidence()}")

    # ---- the agent's port ----

    def _line(self, deadline: float, what: str) -> str:
        while b"\n" not in self._received:
            self._receive(deadline, what)
        line, _, self._received = self._received.partition(b"\n")
        return line.decode(errors="replace")

    def _bytes(self, count: int, deadline: float, what: str) -> bytes:
        while len(self._received) < count:
            self._receive(deadline, what)
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _receive(self, deadline: float, what: str) -> None:
        assert self._port is not None
        left = deadline - time.monotonic()
        try:
            self._port.settimeout(max(left, 0.01))
            data = self._port.recv(65536) if left > 0 else None
        except TimeoutError:
            data = None
        except OSError:
            data = b""
        if data is None:
            self.kill()
            raise GuestFailure(f"the guest {what}{self._evidence()}")
        if not data:
            self.kill()
            raise GuestFailure(f"the guest ended by itself{self._evidence()}")
        self._received += data

    def _evidence(self) -> str:
        """What the console said last, and the complaint in it if there is one."""
        text = ""
        for name in ("qemu.log", "console.log"):
            path = self.folder / name
            if path.exists():
                text += path.read_text(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        complaints = [line for line in lines if COMPLAINT.search(line)]
        said = complaints[:1] or lines[-1:]
        return f" (kept in {self.folder}{'; console: ' + said[0] if said else ''})"


def first_line(script: str) -> str:
    lines = script.strip().splitlines()
    return lines[0][:60] if lines else ""
