"""NVMe/TCP inside TLS 1.3. The guest's kernel seals the records; the handshakes are our agent's (tests/interop/tls_agent.cc),
which puts the derived keys into the keyring .nvme, too."""

import pathlib
import re
import shutil
import zlib
from contextlib import contextmanager

from interop.guest import luggage
from interop.guest.guest import Guest
from interop.guest.image import HOST_NQN
from interop.lane import auth, linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS
from interop.lane.scene import SECURE_KERNELS, TARGET_NQN, Scene, boot, cell, close, listen_on, url

AGENT = "tls_agent"
# As whom a case of the suite connects besides.
STRANGER_NQN = "nqn.2014-08.org.nvmexpress:uuid:0badcafe-0000-4000-8000-00000000beef"
SAID = "/tmp/tls_agent.log"
# How long the kernel waits for a handshake, in seconds: its own 10 are few for an emulated processor on a busy machine.
PATIENCE = 60

# The keys, with the version of the identity that they are used under, and the suite that goes with their length.
# Transformed or not is one of the three ways in the interchange form.
KEYS = (
    (auth.secret(5, transform=1, kind="NVMeTLSkey-1"), 0, "TLS_AES_128_GCM_SHA256"),
    (auth.secret(6, transform=0, kind="NVMeTLSkey-1"), 1, "TLS_AES_128_GCM_SHA256"),
    (auth.secret(7, transform=2, size=48, kind="NVMeTLSkey-1"), 1, "TLS_AES_256_GCM_SHA384"),
)
OTHER_KEY = auth.secret(8, transform=1, kind="NVMeTLSkey-1")


def key_file(folder: pathlib.Path, key: str) -> str:
    """As --psk-file takes it: the key of any host and any subsystem."""
    path = folder / f"keys-{zlib.crc32(key.encode()):08x}"
    path.write_text(key + "\n")
    path.chmod(0o600)
    return str(path)


def agent(scene: Scene) -> pathlib.Path:
    """The program that a guest must carry to begin_handshakes()."""
    return scene.bench.program.parent / AGENT


def begin_handshakes(guest: Guest) -> None:
    """Somebody for the handshakes of the guest's kernel, whose NVMe/TCP is not loaded yet."""
    guest.run(f"""modprobe -a tls nvme_keyring || exit 1
for module in nvmet_tcp nvme_tcp; do modprobe $module tls_handshake_timeout={PATIENCE} || exit 1; done
{AGENT} serve >{SAID} 2>&1 &
for i in $(seq 100); do grep -q serving {SAID} && exit 0; sleep 0.1; done
cat {SAID}; exit 1
""")


@contextmanager
def with_agent(scene: Scene):
    """A guest whose kernel has somebody for its handshakes."""
    image = luggage.carry(scene.image, scene.folder / "image", agent(scene))
    try:
        with Guest(image, scene.folder, scene.network, name=scene.folder.name) as guest:
            boot(guest, "tcp")
            begin_handshakes(guest)
            yield guest
            (scene.folder / "tls_agent.log").write_text(guest.run(f"cat {SAID}").output)
    finally:
        shutil.rmtree(image.folder)


def give_key(guest: Guest, key: str, version: int, hostnqn: str, subnqn: str) -> None:
    guest.run(f"{AGENT} key {key} {hostnqn} {subnqn} {version}")


def take_keys(guest: Guest) -> None:
    guest.run(f"{AGENT} clear")


def expect_suites(guest: Guest, side: str, suites: set[str]) -> None:
    """Every handshake of the kernel ended well, with these suites."""
    said = guest.run(f"cat {SAID}").output
    failed = [line for line in said.splitlines() if "failed" in line]
    if failed:
        raise CellFailure(f"the agent says '{failed[0]}'")
    seen = {line.split(", ")[-2] for line in said.splitlines() if line.startswith(f"{side} done: ")}
    if seen != suites:
        raise CellFailure(f"the agent says '{said.strip()}' where {', '.join(sorted(suites))} are wanted")


def expect_one_line(said: str, what: str) -> None:
    lines = said.strip().splitlines()
    if len(lines) != 1 or "TLS" not in lines[0]:
        raise CellFailure(f"{what} is told in {len(lines)} lines: {' / '.join(lines)[-200:]}")


@cell("tcp-host-tls", "our host against nvmet over TCP with TLS: discover, connect, verified I/O, both identities and both suites",
      kernels=SECURE_KERNELS)
def tcp_host_tls(scene: Scene) -> str:
    at = [url("tcp"), "--local", scene.local, "--hostnqn", auth.BENCH_NQN, "--tls"]
    with with_agent(scene) as guest, scene.recorded():
        guest.run(linux.nvmet("tcp", settings=linux.TLS_REQUIRED))
        for key, version, _ in KEYS:
            for subnqn in (linux.SUBSYSTEM, linux.DISCOVERY):
                give_key(guest, key, version, auth.BENCH_NQN, subnqn)
            to = [*at, "--psk-file", key_file(scene.folder, key), "--psk-identity-version", str(version)]
            found = scene.bench.run("host", "discover", *to).output
            if linux.SUBSYSTEM not in found or "(TLS required)" not in found:
                raise CellFailure(f"host discover does not list {linux.SUBSYSTEM} with TLS")
            scene.bench.run("host", "connect", *to)
            scene.bench.run("host", "identify", *to)
            said = scene.bench.run("host", "io", *to, "--verify", "--size", "8M", "--queue-depth", "16", limit_s=120).output
        expect_suites(guest, "server", {suite for _, _, suite in KEYS})
        # Under version 0 the identity is known and the key is another; under version 1 so is the identity.
        for version in (0, 1):
            refused = scene.bench.run("host", "connect", *at, "--psk-file", key_file(scene.folder, OTHER_KEY),
                                      "--psk-identity-version", str(version), check=False)
            if refused.status == 0:
                raise CellFailure("nvmet lets a host with another key in")
            expect_one_line(refused.output, "that nvmet does not know the key")
        if scene.bench.run("host", "connect", *at[:-1], check=False).status == 0:
            raise CellFailure("nvmet lets a host without TLS in")
        close(guest, linux.nvmet_down("tcp"))
    return f"{len(KEYS)} keys; {said.strip().splitlines()[-1]}; other keys are refused"


@cell("tcp-target-tls", "Linux nvme-tcp with TLS against our target: discover, verified I/O, reset, both identities and both suites",
      kernels=SECURE_KERNELS)
def tcp_target_tls(scene: Scene) -> str:
    with with_agent(scene) as guest, scene.recorded():
        for key, version, _ in KEYS:
            take_keys(guest)
            for subnqn in (TARGET_NQN, linux.DISCOVERY):
                give_key(guest, key, version, HOST_NQN, subnqn)
            with scene.bench.start(*listen_on("tcp"), "--tls", "--psk-file", key_file(scene.folder, key),
                                   until="listening") as target:
                found = guest.run(linux.discover_securely(OURS, HOST_NQN), limit_s=60).output
                # It has no word for TREQ where more than one of its bits is set.
                for wanted in (rf"subnqn: +{re.escape(TARGET_NQN)}", r"sectype: +tls13"):
                    if not re.search(wanted, found):
                        raise CellFailure(f"nvme discover does not print {wanted}: {found.strip()[-200:]}")
                guest.run(linux.connect_securely(OURS, TARGET_NQN, HOST_NQN), limit_s=60)
                guest.run(linux.write_read_compare(2, "64k"), limit_s=60)
                guest.run("nvme id-ctrl /dev/nvme0\nnvme reset /dev/nvme0", limit_s=60)
                guest.run(linux.wait_live(), limit_s=60)
                guest.run(linux.write_read_compare(1, "4k"), limit_s=60)
                guest.run(linux.disconnect(TARGET_NQN), limit_s=60)
                target.finish()
        expect_suites(guest, "client", {suite for _, _, suite in KEYS})
        with scene.bench.start(*listen_on("tcp"), "--tls", "--psk-file", key_file(scene.folder, OTHER_KEY),
                               until="listening") as target:
            for version in (0, 1):
                take_keys(guest)
                give_key(guest, KEYS[0][0], version, HOST_NQN, TARGET_NQN)
                if guest.run(linux.connect_securely(OURS, TARGET_NQN, HOST_NQN), limit_s=60, check=False).status == 0:
                    raise CellFailure("our target lets a host with another key in")
            if guest.run(linux.connect("tcp", OURS, TARGET_NQN), limit_s=60, check=False).status == 0:
                raise CellFailure("our target lets a host without TLS in")
            target.finish()
        refusals = [line for line in target.log.read_text().splitlines() if line.startswith("refused ")]
        if len(refusals) != 3:
            raise CellFailure(f"our target tells of {len(refusals)} refusals where 3 are due: {' / '.join(refusals)[-200:]}")
        close(guest)
    return f"{len(KEYS)} keys, {2 * len(KEYS)} associations; every byte equal; other keys are refused"


@cell("tcp-suite-tls", "the suites of TCP (TLS too) and Fabrics against nvmet over TCP with TLS", kernels=SECURE_KERNELS, limit_s=520)
def tcp_suite_tls(scene: Scene) -> str:
    key, version, _ = KEYS[1]
    with with_agent(scene) as guest:
        guest.run(linux.nvmet("tcp", settings=linux.TLS_REQUIRED))
        for each in (0, 1):
            for subnqn in (linux.SUBSYSTEM, linux.DISCOVERY):
                give_key(guest, key, each, auth.BENCH_NQN, subnqn)
        give_key(guest, key, version, STRANGER_NQN, linux.SUBSYSTEM)
        summary = scene.bench.suite("--dut", url("tcp"), "--local", scene.local, "--profile", f"linux-{scene.kernel}",
                                    "--suite", "tcp,fabrics,discovery", "--tls", "--psk-file", key_file(scene.folder, key),
                                    "--psk-identity-version", str(version), limit_s=420)
        close(guest, linux.nvmet_down("tcp"))
    return summary
