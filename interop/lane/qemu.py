"""NVMe drives of another maker: those of Debian 13's QEMU, which has Flexible Data Placement, zones and protection information, in
the guest, whose nvmet hands the commands of a fabric on to them (passthru)."""

import fnmatch
import json
import pathlib

from interop.guest import root
from interop.guest.guest import Guest
from interop.guest.root import Root
from interop.guest.userland import FOR_INSTALLATION, RELEASE, Userland
from interop.lane import linux
from interop.lane.scene import Scene, boot, cell, close, url

WANTED = Userland(("qemu-system-x86",), FOR_INSTALLATION)
PROFILE = "qemu-10"
PROFILES = pathlib.Path(__file__).resolve().parents[2] / "conformance" / "profiles"
MEGABYTES = 64
# A Copy of blocks that are not there ends QEMU 10.0: block_account_one_io() asserts that the operation had begun, which it had not.
FATAL = ("ranges_have_64_bit_addresses", "copy_*", "strangers_do_not_copy_*")
# Namespaces of each drive, as QEMU's -device has them, beside their names.
PLACED = ("fdp.ruhs=0;1;2", "fdp.ruhs=3;4,logical_block_size=4096,physical_block_size=4096,ms=8,pi=1")
ZONED = ("zoned=true,zoned.zone_size=1M,zoned.zone_capacity=768K,zoned.max_open=6,zoned.max_active=10,logical_block_size=4096,"
         "physical_block_size=4096", "", "zoned=true,zoned.zone_size=1M,zoned.zone_capacity=768K,zoned.max_open=6,zoned.max_active=10,"
         "zoned.zrwas=64K,zoned.zrwafg=16K,zoned.numzrwa=4,logical_block_size=4096,physical_block_size=4096")


def qemu() -> Root:
    return root.build("qemu", RELEASE, WANTED)


def drive(folder: pathlib.Path, namespaces: tuple[str, ...], of_subsystem: str = "") -> list[str]:
    """What QEMU is told: a controller in a subsystem with these namespaces, a file each."""
    told = ["-device", f"nvme-subsys,id=s0,nqn=drive{of_subsystem}", "-device", "nvme,id=c0,serial=QEMU0001,subsys=s0"]
    for nsid, options in enumerate(namespaces, 1):
        disk = folder / f"disk{nsid}"
        with open(disk, "wb") as file:
            file.truncate(MEGABYTES << 20)
        names = f"uuid=0f5a3c0e-3d6b-4c1e-9d0a-5a1b2c3d4e{nsid:02},eui64=0x52540000000000a{nsid}"
        told += ["-drive", f"file={disk},format=raw,if=none,id=d{nsid}",
                 "-device", f"nvme-ns,drive=d{nsid},bus=c0,nsid={nsid},{names}{',' if options else ''}{options}"]
    return told


def guest_with(scene: Scene, inside: Root, told: list[str]) -> Guest:
    program = (*inside.loaded("usr/bin/qemu-system-x86_64"), "-L", str(inside.folder / "usr/share/qemu"),
               "-L", str(inside.folder / "usr/share/seabios"))
    modules = {"QEMU_MODULE_DIR": str(inside.folder / "usr/lib/x86_64-linux-gnu/qemu")}
    return Guest(scene.image, scene.folder, [*scene.network, *told], name=scene.folder.name, program=program, environment=modules)


def chosen(scene: Scene, suites: tuple[str, ...]) -> str:
    """The cases of these suites that are for controllers over TCP, without those that end QEMU."""
    known = json.loads(scene.bench.run("list", "--role", "controller", "--json").output)["cases"]
    return ",".join(one["name"] for one in known if one["suite"] in suites and "tcp" in one["transports"] and
                    not any(fnmatch.fnmatchcase(one["name"], pattern) for pattern in FATAL))


def suite_against(scene: Scene, told: list[str], suites: tuple[str, ...]) -> str:
    inside = qemu()
    with guest_with(scene, inside, told) as guest:
        boot(guest, "tcp")
        guest.run(linux.passthru(), limit_s=60)
        summary = scene.bench.suite("--dut", url("tcp"), "--local", scene.local, "--profile", str(PROFILES / f"{PROFILE}.yaml"),
                                    "--case", chosen(scene, suites), limit_s=700)
        close(guest, linux.passthru_down())
    return f"QEMU {inside.packages['qemu-system-x86'].split('+')[0].split(':')[-1]}: {summary}"


@cell("qemu-fdp", "the suite over TCP against a drive of QEMU 10 behind nvmet's passthru: Flexible Data Placement, protection information",
      kernels=("7.3",), limit_s=800, profile=PROFILE, prepare=qemu)
def qemu_fdp(scene: Scene) -> str:
    placing = ",fdp=on,fdp.nruh=8,fdp.nrg=1,fdp.runs=8M"
    return suite_against(scene, drive(scene.folder, PLACED, placing), ("nvme", "fabrics"))


@cell("qemu-zns", "the suite over TCP against a drive of QEMU 10 behind nvmet's passthru: zones", kernels=("7.3",),
      limit_s=800, profile=PROFILE, prepare=qemu)
def qemu_zns(scene: Scene) -> str:
    return suite_against(scene, drive(scene.folder, ZONED), ("nvme",))
