"""NVMe/TCP inside TLS 1.3 with the real tlshd (ktls-utils of Debian 13, GnuTLS) for the handshakes of the guest's kernel, in
place of our agent. The keys are put into the keyring .nvme by nvme-cli 2.13, whose libnvme derives them as ours does with
--psk-compat, and by our agent, which derives them as the specification has it."""

import re
import shutil
from contextlib import contextmanager

from interop.guest import luggage, userland
from interop.guest.guest import Guest
from interop.guest.image import HOST_NQN
from interop.lane import auth, linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS
from interop.lane.nvme_cli import AT, CONTROLLER, NVME, asked, expect_in
from interop.lane.scene import TARGET_NQN, Scene, boot, cell, close, listen_on, url
from interop.lane.tls import KEYS, OTHER_KEY, PATIENCE, agent, give_key, key_file, take_keys

SAID = "/tmp/tlshd.log"
CONFIG = """[debug]
loglevel=3
tls=1
nl=0
[authenticate]
keyrings=.nvme
[authenticate.client]
[authenticate.server]
"""
CIPHERS = {"TLS_AES_128_GCM_SHA256": "AES-128-GCM", "TLS_AES_256_GCM_SHA384": "AES-256-GCM"}
FLAVOUR = "7.3+ktls-utils"
# tlshd 1.0 leaves the hash of a pre-shared key to GnuTLS, which takes SHA-256 for every one: a key of 48 bytes, which goes
# with SHA-384, cannot be used by either side (docs/interop/debian-13.md).
USABLE, UNUSABLE = KEYS[:2], KEYS[2]
# Who gives the keys, what our side derives them with, and which.
WAYS = (("nvme-cli", ("--psk-compat",), USABLE), ("agent", (), USABLE[1:]))


@contextmanager
def with_tlshd(scene: Scene):
    """A guest whose kernel has tlshd for its handshakes, and our agent only for its keys."""
    image = luggage.carry(scene.image, scene.folder / "image", agent(scene))
    try:
        with Guest(image, scene.folder, scene.network, name=scene.folder.name) as guest:
            boot(guest, "tcp")
            guest.run(f"""{userland.mount()}modprobe -a tls nvme_keyring || exit 1
for module in nvmet_tcp nvme_tcp; do modprobe $module tls_handshake_timeout={PATIENCE} || exit 1; done
cat >{userland.ROOT}/etc/tlshd.conf <<'END'
{CONFIG}END
{userland.INSIDE} tlshd --stderr >{SAID} 2>&1 &
for i in $(seq 100); do grep -q "'.nvme' linked" {SAID} && exit 0; sleep 0.1; done
cat {SAID}; exit 1
""")
            yield guest
            (scene.folder / "tlshd.log").write_text(said(guest))
    finally:
        shutil.rmtree(image.folder)


def said(guest: Guest) -> str:
    return guest.run(f"cat {SAID}").output


def give_keys(guest: Guest, who: str, key: str, version: int, hostnqn: str, subnqn: str) -> None:
    """The key for this subsystem and its discovery service, in place of all others."""
    take_keys(guest)
    for nqn in (subnqn, linux.DISCOVERY):
        (insert_key if who == "nvme-cli" else give_key)(guest, key, version, hostnqn, nqn)


def insert_key(guest: Guest, key: str, version: int, hostnqn: str, subnqn: str) -> None:
    """As an administrator does it."""
    done = guest.run(f"{NVME} check-tls-key --insert --identity={version} --hostnqn={hostnqn} --subsysnqn={subnqn} "
                     f"--keydata={key}").output
    if "Inserted TLS key" not in done:
        raise CellFailure(f"nvme check-tls-key says '{done.strip()[-200:]}'")


def expect_ciphers(text: str, suites: list[str]) -> int:
    """Every handshake so far ended well, and with these suites; how many there were."""
    failed = [line for line in text.splitlines() if line.endswith(" failed")]
    if failed:
        raise CellFailure(f"tlshd says '{failed[0]}'")
    seen = re.findall(r"Session description: .*?\((AES-[0-9A-Z-]+)\)", text)
    wanted = {CIPHERS[suite] for suite in suites}
    if set(seen) != wanted:
        raise CellFailure(f"tlshd agrees on {', '.join(sorted(set(seen))) or 'nothing'} where {', '.join(sorted(wanted))} are wanted")
    return len(seen)


def use_target(guest: Guest) -> None:
    """Discovers, connects, writes, reads, resets and leaves, with nvme-cli 2.13."""
    log = asked(guest, f"discover {AT} --tls")["records"]
    expect_in(log[0], {"subnqn": TARGET_NQN, "sectype": "tls13", "treq": "required, sq flow control disable supported"},
              "the discovery entry")
    asked(guest, f"connect {AT} -n {TARGET_NQN} -i 2 --tls")
    guest.run(linux.wait_for_blocks(1))
    guest.run(linux.write_read_compare(2, "64k"), limit_s=60)
    guest.run(f"{NVME} reset {CONTROLLER}", limit_s=60)
    guest.run(linux.wait_live(), limit_s=60)
    guest.run(linux.write_read_compare(1, "4k"), limit_s=60)
    guest.run(f"{NVME} disconnect -n {TARGET_NQN}", limit_s=60)


def expect_refusals(scene: Scene, guest: Guest, key: str, options: tuple[str, ...]) -> None:
    """Our target, which has this key, lets nobody in, and reports each once."""
    with scene.bench.start(*listen_on("tcp"), "--tls", "--psk-file", key_file(scene.folder, key), until="listening") as target:
        for option in options:
            if guest.run(f"{NVME} connect {AT} -n {TARGET_NQN} {option}", limit_s=60, check=False).status == 0:
                raise CellFailure(f"our target lets a host in that should not get a connection: nvme connect {option}".rstrip())
        target.finish()
    refusals = [line for line in target.log.read_text().splitlines() if line.startswith("refused ")]
    if len(refusals) != len(options):
        raise CellFailure(f"our target reports {len(refusals)} refusals, not {len(options)}: {' / '.join(refusals)[-200:]}")


@cell("tlshd-target", "Linux nvme-tcp with TLS through tlshd 1.0 of Debian 13 against our target: keys of nvme-cli 2.13 and of ours, "
      "verified I/O, reset, refusals", kernels=("7.3",), limit_s=400, flavour=FLAVOUR)
def tlshd_target(scene: Scene) -> str:
    with with_tlshd(scene) as guest, scene.recorded():
        for who, options, keys in WAYS:
            for key, version, _ in keys:
                give_keys(guest, who, key, version, HOST_NQN, TARGET_NQN)
                with scene.bench.start(*listen_on("tcp"), "--tls", "--psk-file", key_file(scene.folder, key), *options,
                                       until="listening") as target:
                    use_target(guest)
                    target.finish()
        handshakes = expect_ciphers(said(guest), [suite for _, _, suite in USABLE])
        expect_refusals(scene, guest, OTHER_KEY, ("--tls", ""))  # the last of the keys is still in the keyring
        key, version, _ = UNUSABLE
        give_keys(guest, "agent", key, version, HOST_NQN, TARGET_NQN)
        expect_refusals(scene, guest, key, ("--tls",))
        close(guest)
    return f"{len(USABLE)} keys, {handshakes} handshakes, both derivations; every byte equal; other keys and those of 48 bytes are refused"


@cell("tlshd-host", "our host against nvmet over TCP with TLS through tlshd 1.0 of Debian 13: keys of nvme-cli 2.13 and of ours, "
      "verified I/O, refusals", kernels=("7.3",), limit_s=400, flavour=FLAVOUR)
def tlshd_host(scene: Scene) -> str:
    at = [url("tcp"), "--local", scene.local, "--hostnqn", auth.BENCH_NQN, "--tls"]
    with with_tlshd(scene) as guest, scene.recorded():
        guest.run(linux.nvmet("tcp", settings=linux.TLS_REQUIRED))
        for who, options, keys in WAYS:
            for key, version, _ in keys:
                give_keys(guest, who, key, version, auth.BENCH_NQN, linux.SUBSYSTEM)
                to = [*at, "--psk-file", key_file(scene.folder, key), "--psk-identity-version", str(version), *options]
                found = scene.bench.run("host", "discover", *to).output
                if linux.SUBSYSTEM not in found or "(TLS required)" not in found:
                    raise CellFailure(f"host discover does not list {linux.SUBSYSTEM} with TLS")
                scene.bench.run("host", "identify", *to)
                verified = scene.bench.run("host", "io", *to, "--verify", "--size", "8M", "--queue-depth", "16", limit_s=120).output
        handshakes = expect_ciphers(said(guest), [suite for _, _, suite in USABLE])
        give_keys(guest, "agent", UNUSABLE[0], UNUSABLE[1], auth.BENCH_NQN, linux.SUBSYSTEM)
        for key, version in ((OTHER_KEY, 0), (OTHER_KEY, 1), UNUSABLE[:2]):
            if scene.bench.run("host", "connect", *at, "--psk-file", key_file(scene.folder, key), "--psk-identity-version",
                               str(version), check=False).status == 0:
                raise CellFailure("nvmet lets a host with another key, or one of 48 bytes, in")
        if scene.bench.run("host", "connect", *at[:-1], check=False).status == 0:
            raise CellFailure("nvmet lets a host without TLS in")
        close(guest, linux.nvmet_down("tcp"))
    return f"{len(USABLE)} keys, {handshakes} handshakes, both derivations; {verified.strip().splitlines()[-1]}; other keys and those of 48 bytes are refused"
