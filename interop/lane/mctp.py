"""Debian's nvme on the kernel's own MCTP stack, over a serial line to a drive of ours. Debian's kernels have no
MCTP: ours does (interop/guest/kernel.py), and these cells are not run where nobody has built it."""

import json
import pathlib
import re
import shutil
from contextlib import contextmanager

from interop.guest import luggage
from interop.guest.guest import Guest
from interop.lane.bench import CellFailure, Running
from interop.lane.line import FROM_GUEST, TO_GUEST, Line, damaged, lost
from interop.lane.scene import Scene, cell, close

OWNER = "mctp_owner"
OWN_EID, EID = 8, 9
AT = f"mctp:1,{EID}:1"
FLAVOUR = "6.1-mctp"
KEPT_FRAMES = 40
# Frames of one command of nvme. The first two of each side belong to a question of libnvme's own, without which it
# goes on; then the command's two, and the 65 of its answer.
STRUCK = ((FROM_GUEST, 2), (FROM_GUEST, 3), (TO_GUEST, 2), (TO_GUEST, 30))

# What nvme is told, and what it must then print about the drive that `fabricbench mctp serve` makes.
ASKED = [
    (f"id-ctrl {AT}", r"sn +: FB0000000001\b"),
    (f"id-ctrl mctp:1,{EID}:2", r"cntlid +: 0x2\b"),
    (f"id-ctrl mctp:1,{EID}", r"cntlid +: 0x1\b"),
    (f"id-ns {AT} -n 1", r"nsze +: 0x20000\b"),
    (f"list-ns {AT}", r"\[ +0\]:0x1\b"),
    (f"list-ctrl mctp:1,{EID}", r"(?s)present: 2.*\[ +0\]:0x1.*\[ +1\]:0x2"),
    (f"ns-descs {AT} -n 1", r"uuid +: [0-9a-f-]{36}"),
    (f"smart-log {AT}", r"temperature\s+: 37.C \(310 Kelvin\)"),
    (f"error-log {AT} -e 16", r"entries:16"),
    (f"supported-log-pages {AT}", r"LID 0x2 \(SMART"),
    (f"fid-support-effects-log {AT}", r"FID 02"),
    (f"persistent-event-log {AT}", r"Support Thermal Excursion Event"),
    (f"get-log {AT} -i 2 -l 512", r"0000: 00 36 01 64"),
    (f"self-test-log {AT}", r"Current operation +: 0"),
    (f"endurance-log {AT}", r"Invalid Log Page"),
    (f"admin-passthru {AT} -o 0xde", r"Invalid Command Opcode"),
]

# Messages of many packets from the guest too: firmware in parts of 4 KiB, a security message that comes back
# as it went, a namespace that is made and goes.
UPDATE = f"""set -e
head -c 24564 /dev/urandom >/tmp/code
(printf 'FBFW%-8s' 2.0; cat /tmp/code) >/tmp/image
nvme fw-download {AT} --fw=/tmp/image
nvme fw-commit {AT} -s 2 -a 3
nvme id-ctrl {AT}"""
SECURITY = f"""set -e
head -c 2048 /dev/urandom >/tmp/message
nvme security-send {AT} -p 0xf0 -s 1 -t 2048 -f /tmp/message
nvme security-recv {AT} -p 0xf0 -s 1 -x 2048 -t 2048 -b >/tmp/back
tail -c 2048 /tmp/back | cmp - /tmp/message"""  # nvme says a line of its own first
NAMESPACE = f"""set -e
nvme create-ns {AT} -s 4096 -c 4096 -f 0 -m 1
nvme attach-ns {AT} -n 2 -c 1
nvme list-ns {AT}
nvme delete-ns {AT} -n 2
nvme format {AT} -n 1 -l 1 -f
nvme id-ns {AT} -n 1"""


def expect(guest: Guest, script: str, wanted: str) -> None:
    said = guest.run(script, check=False).output
    if not re.search(wanted, said, re.MULTILINE):
        raise CellFailure(f"'{script.splitlines()[-1]}' does not print {wanted}: {said.strip()[-200:]}")
    if "crc mismatch" in said:
        raise CellFailure(f"'{script.splitlines()[-1]}': a wrong message integrity check")


@contextmanager
def drive_on_a_line(scene: Scene):
    """A guest that owns the bus, and a drive that it has given its EID. What crossed the line is judged once
    everybody has gone."""
    image = luggage.carry(scene.image, scene.folder / "image", scene.bench.program.parent / OWNER)
    try:
        with Line(scene.folder) as line, Guest(image, scene.folder, line.port, name=scene.folder.name) as guest:
            guest.boot()
            with served_on(scene, line) as drive:
                interface, holder = own_the_bus(guest)
                yield guest, line
                close(guest, f"kill {holder}\nwhile [ -e /sys/class/net/{interface} ]; do sleep 0.05; done")
                drive.finish()
    finally:
        shutil.rmtree(image.folder)
    keep(line, scene.folder / "frames.txt")
    scene.bench.judge(scene.folder / "line.pcapng")


def served_on(scene: Scene, line: Line) -> Running:
    started = []
    line.join(lambda: started.append(scene.bench.begin(
        "mctp", "serve", "--serial", str(line.end), "--capture", str(scene.folder / "line.pcapng"),
        "--counters", str(scene.folder / "counters.json"))))
    started[0].wait_for("serving", 20)
    return started[0]


def own_the_bus(guest: Guest) -> tuple[str, str]:
    """The interface, and the process that holds it."""
    said = guest.run(f"{OWNER} /dev/hvc0 {OWN_EID} {EID}").output
    found = re.fullmatch(rf"endpoint {EID} on (\w+), held by (\d+)\n", said)
    if not found:
        raise CellFailure(f"{OWNER} said '{said.strip()}'")
    return found.groups()


def keep(line: Line, to: pathlib.Path) -> None:
    """The first of each length: enough for a decoder, and not too much to be kept with the tests."""
    by_length = {}
    for frame in line.kept():
        by_length.setdefault(len(frame), frame)
    to.write_text("".join(f"{frame.hex()}\n" for frame in list(by_length.values())[:KEPT_FRAMES]))


def judge_counters(scene: Scene) -> None:
    """What the drive has to say against a peer and a line that did nothing wrong."""
    for drive in json.loads((scene.folder / "counters.json").read_text())["endpoints"]:
        for what in ("packets_dropped", "messages_abandoned", "nvme_mi_discarded"):
            if drive[what]:
                raise CellFailure(f"the drive counts {what}: {drive[what]}")


@cell("mctp-cli", "nvme-cli through AF_MCTP and a serial line against our drive: logs, firmware, security, namespaces; "
      "messages of many packets both ways", link="none", flavour=FLAVOUR)
def mctp_cli(scene: Scene) -> str:
    with drive_on_a_line(scene) as (guest, line):
        for command, wanted in ASKED:
            expect(guest, f"nvme {command}", wanted)
        expect(guest, UPDATE, r"^fr +: 2\.0")
        guest.run(SECURITY)
        expect(guest, NAMESPACE, r"(?s)\[ +1\]:0x2$.*lbaf +1 .*lbads:12 .*in use")
        frames = len(line.kept())
    judge_counters(scene)
    return f"booted in {guest.boot_seconds:.1f} s; {frames} frames of the kernel, none dropped"


@cell("mctp-cli-trouble", "the same line loses and damages frames: the command fails, the one after it does not",
      link="none", flavour=FLAVOUR)
def mctp_cli_trouble(scene: Scene) -> str:
    ask, wanted = f"nvme {ASKED[0][0]}", ASKED[0][1]
    struck = [(sender, number, how) for sender, number in STRUCK for how in (damaged, lost)]
    with drive_on_a_line(scene) as (guest, line):
        expect(guest, ask, wanted)
        for sender, number, how in struck:
            line.strike(sender, number, how)
            status = guest.run(ask, check=False).status
            if line.outstanding():
                raise CellFailure(f"there is no frame {number} of the {sender}")
            if status == 0:
                raise CellFailure(f"a command succeeded whose frame {number} of the {sender} was {how.__name__}")
            expect(guest, ask, wanted)
    return f"{len(struck)} frames affected, the next command answered as before"
