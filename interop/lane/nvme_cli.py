"""The nvme-cli of a later Debian with its own libnvme, in a root of its own, against our target over TCP. What it prints in
JSON is compared with what our target was started with and told since (fabricbench ctl)."""

import base64
import json
from contextlib import contextmanager

from interop.guest import userland
from interop.guest.guest import Guest
from interop.guest.image import HOST_ID, HOST_NQN
from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.network import GUEST, OURS
from interop.lane.scene import TARGET_NQN, Scene, boot, cell, close, listen_on

NVME = f"{userland.INSIDE} nvme"
AT = f"-t tcp -a {OURS} -s 4420"
CONTROLLER = "/dev/nvme0"
# Of each namespace: bytes, and bytes of a block.
NAMESPACES = ((64 << 20, 512), (32 << 20, 4096))
ADDED = (16 << 20, 4096)
TEMPERATURE_K = 345
# The version that the target reports by default: 2.0.
VERSION = 0x20000


def asked(guest: Guest, command: str, limit_s: int = 60) -> dict | list:
    """What a command of nvme prints in JSON."""
    said = guest.run(f"{NVME} {command} -o json", limit_s=limit_s).output
    try:
        return json.loads(said)
    except ValueError:
        raise CellFailure(f"'nvme {command}' prints no JSON document: {said.strip()[-200:]}") from None


def expect(seen: object, wanted: object, what: str) -> None:
    if seen != wanted:
        raise CellFailure(f"nvme prints {seen} for {what}, where it is {wanted}")


def expect_in(document: dict, wanted: dict, what: str) -> None:
    """These members, among others."""
    expect({name: document.get(name) for name in wanted}, wanted, what)


def control(scene: Scene, *request: str) -> None:
    scene.bench.run("ctl", control_socket(scene), *request)


def control_socket(scene: Scene) -> str:
    return f"unix:{scene.folder}/control.sock"


@contextmanager
def driven_target(scene: Scene):
    """Our target with both namespaces, that `control` reaches."""
    size, block = NAMESPACES[1]
    with scene.bench.start(*listen_on("tcp"), "--namespace", f"{size},bs={block}", "--control", control_socket(scene),
                           until="listening") as target:
        yield target
        target.finish()


def version(guest: Guest) -> str:
    """'2.13, libnvme 1.13'"""
    words = guest.run(f"{NVME} version").output.split()
    if len(words) < 7 or words[0] != "nvme" or not words[2].startswith("2."):
        raise CellFailure(f"nvme version says '{' '.join(words)}'")
    return f"{words[2]}, libnvme {words[7]}"


def discover(guest: Guest) -> None:
    log = asked(guest, f"discover {AT}")
    expect(len(log["records"]), 1, "the number of discovery entries")
    expect_in(log["records"][0], {"trtype": "tcp", "adrfam": "ipv4", "subtype": "nvme subsystem", "portid": 1, "trsvcid": "4420",
                                  "subnqn": TARGET_NQN, "traddr": OURS, "sectype": "none"}, "the discovery entry")


def connect(guest: Guest) -> None:
    expect(asked(guest, f"connect {AT} -n {TARGET_NQN} -i 2"), {"device": "nvme0"}, "the controller")
    guest.run(linux.wait_for_blocks(len(NAMESPACES)))


def identify(guest: Guest) -> None:
    expect_in(asked(guest, f"id-ctrl {CONTROLLER}"),
              {"sn": f"{'FB0000000001':20}", "mn": f"{'fabricbench emulated controller':40}", "fr": f"{'1.0':8}", "ver": VERSION,
               "cntlid": 1, "cntrltype": 1, "subnqn": TARGET_NQN, "sqes": 0x66, "cqes": 0x44}, "the controller")
    expect(asked(guest, f"list-ns {CONTROLLER}")["nsid_list"], [{"nsid": 1}, {"nsid": 2}], "the list of namespaces")
    for nsid, (size, block) in enumerate(NAMESPACES, 1):
        seen = asked(guest, f"id-ns {CONTROLLER} -n {nsid}")
        expect(1 << seen["lbafs"][seen["flbas"] & 0xF]["ds"], block, f"the block size of namespace {nsid}")
        expect_in(seen, {"nsze": size // block, "ncap": size // block, "nvmcap": size}, f"namespace {nsid}")
        kinds = [one["Type"] for one in asked(guest, f"ns-descs {CONTROLLER} -n {nsid}")["ns-descs"]]
        expect(sorted(kinds), ["csi", "eui64", "nguid", "uuid"], f"the descriptors of namespace {nsid}")


def list_everything(guest: Guest, namespaces: tuple) -> None:
    devices = asked(guest, "list")["Devices"]
    expect([(one["NameSpace"], one["PhysicalSize"], one["SectorSize"]) for one in devices],
           [(nsid, size, block) for nsid, (size, block) in enumerate(namespaces, 1)], "the list of devices")
    hosts = asked(guest, "list-subsys")
    expect_in(hosts[0], {"HostNQN": HOST_NQN, "HostID": HOST_ID}, "the host")
    path = hosts[0]["Subsystems"][0]["Paths"][0]
    expect_in(hosts[0]["Subsystems"][0], {"NQN": TARGET_NQN}, "the subsystem")
    expect_in(path, {"Name": "nvme0", "Transport": "tcp", "State": "live",
                     "Address": f"traddr={OURS},trsvcid=4420,src_addr={GUEST}"}, "the path")


def write_read_compare(guest: Guest) -> None:
    """By commands of nvme-cli, which the SMART log counts."""
    before = asked(guest, f"smart-log {CONTROLLER}")
    guest.run(f"""set -e
head -c 65536 /dev/urandom >/tmp/a
{NVME} write /dev/nvme0n1 -s 8 -c 127 -z 65536 -d /tmp/a
{NVME} read /dev/nvme0n1 -s 8 -c 127 -z 65536 -d /tmp/b
cmp /tmp/a /tmp/b
{NVME} compare /dev/nvme0n1 -s 8 -c 127 -z 65536 -d /tmp/a
{NVME} flush /dev/nvme0n1
{NVME} write-zeroes /dev/nvme0n1 -s 8 -c 7
head -c 4096 /dev/zero >/tmp/z
{NVME} compare /dev/nvme0n1 -s 8 -c 7 -z 4096 -d /tmp/z
{NVME} dsm /dev/nvme0n1 --ad --slbs=8 --blocks=8
""", limit_s=60)
    if guest.run(f"{NVME} compare /dev/nvme0n1 -s 16 -c 7 -z 4096 -d /tmp/z", check=False).status == 0:
        raise CellFailure("a Compare of other data succeeded")
    after = asked(guest, f"smart-log {CONTROLLER}")
    expect(after["host_write_commands"] - before["host_write_commands"], 1, "the writes since")
    expect_in(after, {"media_errors": 0, "critical_warning": 0}, "the SMART log")


def ask_features(guest: Guest) -> None:
    queues = asked(guest, f"get-feature {CONTROLLER} -f 7")["feature: 0x07"][0]
    expect_in(queues, {"name": "Number of Queues", "Current": "0x00010001"}, "the number of queues")
    guest.run(f"{NVME} set-feature {CONTROLLER} -f 4 -V 0x15e")
    threshold = asked(guest, f"get-feature {CONTROLLER} -f 4")["feature: 0x04"][0]
    expect(threshold["Current"], "0x0000015e", "the temperature threshold")


def change_and_look(scene: Scene, guest: Guest) -> None:
    """Our target changes while the host is connected."""
    control(scene, "health.set", f"temperature={TEMPERATURE_K}")
    expect(asked(guest, f"smart-log {CONTROLLER}")["temperature"], TEMPERATURE_K, "the temperature")
    size, block = ADDED
    control(scene, "namespace.add", f"spec={size},bs={block}")
    guest.run(linux.wait_for_blocks(len(NAMESPACES) + 1))
    list_everything(guest, (*NAMESPACES, ADDED))
    control(scene, "namespace.remove", f"nsid={len(NAMESPACES) + 1}")
    guest.run(linux.wait_for_blocks(len(NAMESPACES)))
    list_everything(guest, NAMESPACES)
    control(scene, "ana.set", "state=non-optimized", "group=1")
    groups = asked(guest, f"ana-log {CONTROLLER}")["ANA DESC LIST "]
    expect([one["state"] for one in groups], ["non-optimized"], "the ANA state")
    control(scene, "ana.set", "state=optimized", "group=1")


def show_boot_table(scene: Scene, guest: Guest) -> None:
    """A table that our host writes from an association of its own, as nvme reads it."""
    table = scene.folder / "NBFT"
    scene.bench.run("host", "nbft", "write", f"tcp://{OURS}:4420/{TARGET_NQN}", "--hdr-digest", "--output", str(table))
    packed = base64.b64encode(table.read_bytes()).decode()
    guest.run(f"mkdir -p {userland.ROOT}/tmp/nbft\nbase64 -d > {userland.ROOT}/tmp/nbft/NBFT <<'END'\n{packed}\nEND\n")
    shown = asked(guest, "nbft show --nbft-path /tmp/nbft")[0]
    namespaces = shown["subsystem"]
    expect([one["subsys_nqn"] for one in namespaces], [TARGET_NQN] * len(NAMESPACES), "the subsystems of a boot table")
    expect([one["nsid"] for one in namespaces], [1, 2], "the namespaces of a boot table")
    expect_in(namespaces[0], {"traddr": OURS, "trsvcid": "4420", "transport": "tcp"}, "the first namespace of a boot table")
    expect(shown["hfi"][0]["ipaddr"], OURS, "the interface of a boot table")


@cell("nvme-cli-13-tcp", "nvme-cli 2.13 and libnvme 1.13 of Debian 13 over TCP against our target: every answer in JSON compared "
      "with what the target was told", kernels=("7.3",), flavour="7.3+nvme-cli")
def nvme_cli_tcp(scene: Scene) -> str:
    with scene.guest() as guest, scene.recorded():
        boot(guest, "tcp")
        guest.run(userland.mount() + "modprobe nvme_tcp")
        with driven_target(scene):
            discover(guest)
            connect(guest)
            identify(guest)
            list_everything(guest, NAMESPACES)
            write_read_compare(guest)
            ask_features(guest)
            change_and_look(scene, guest)
            guest.run(f"{NVME} reset {CONTROLLER}", limit_s=60)
            guest.run(linux.wait_live(), limit_s=60)
            list_everything(guest, NAMESPACES)
            show_boot_table(scene, guest)
            guest.run(f"{NVME} disconnect -n {TARGET_NQN} | grep 'disconnected 1 '")
            guest.run(f"{NVME} connect-all {AT}\n{NVME} disconnect-all\n[ -z \"$(ls /sys/class/nvme)\" ]", limit_s=60)
        said = version(guest)
        close(guest)
    return f"nvme-cli {said}; every answer as the target was told"
