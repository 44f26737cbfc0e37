"""The captures of the whole suite in a later Wireshark, with its own dissectors for everything: NVMe/TCP, NVMe and the connection
manager over RDMA, MCTP and NVMe-MI, for which earlier ones have our Lua file. No guest and no product: the suite against ourselves."""

import collections
import json
import pathlib
import subprocess
from contextlib import contextmanager

from interop.guest import root
from interop.guest.root import Root
from interop.guest.userland import FOR_INSTALLATION, Userland
from interop.lane.bench import CellFailure
from interop.lane.scene import Scene, cell_of_packages

RELEASES = ("sid", "trixie")
WANTED = Userland(("tshark",), FOR_INSTALLATION)
# Guesses that fail: at RPC over RDMA, which takes empty messages for its own, and at Sockets Direct, by the port of a connection
# request and then in the request itself, which is too short for it.
GUESSES = ("rpcordma", "infiniband_sdp")
# Requirements whose captures these versions misread: range descriptors of log page 0Eh up to its end and beyond, whatever NLRD
# says; an entry of the error log beyond its 64 bytes; log pages that are read after events, in part.
MISREAD = ("nvme.lba-status.", "nvme.log.error-reserved", "nvme.host.aer.each")
# NVMe-MI requests of another length than their opcode's, and MCTP messages of a type without its content, on purpose. Our Lua file
# does not look into them, and the rules hold the cases to what they send otherwise.
OF_ANOTHER_LENGTH = ("mi.buffer.read.request-data", "mi.error.generic", "mi.error.status", "mi.reset.request.size",
                     "mi.admin.request.size", "mi.config.request.size", "mi.vpd.read.request-data", "mctp.message.type")
# A payload that begins with a number below 65536 is guessed to be Ethernet's, of whatever protocol has that number.
MALFORMED = '_ws.malformed && !(frame.protocols contains "infiniband:ethertype")'
# What the packets of a case are, by its transport, and how many of the captures must have them. Some cases send none.
EXPECTED = {"tcp": "nvme-tcp", "rdma": "nvme-rdma", "smbus": "nvme-mi || mctpc", "serial": "nvme-mi || mctpc", "pcie": "nvme-mi || mctpc"}
# Most of the time goes into opening captures: one in five is opened, other ones for each release.
OPENED = 5
LOOKED_AT = 10  # of these, one in so many
LEAST = 800
SHARKD_LIMIT_S = 600
NOWHERE = 10_000_000  # sharkd remembers what a filter chose, across captures: each has one of its own, by a packet that there is not


def is_judged(case: dict) -> bool:
    return bool(case["capture"]) and not case["sends_malformed"] and not case["requirement"].startswith(MISREAD) \
        and case["requirement"] not in OF_ANOTHER_LENGTH


def questions(cases: list[dict], report: pathlib.Path) -> list[tuple[str, dict]]:
    """Three for each capture: to open it, which packets are malformed, and in some whether its protocol is recognised."""
    asked = []
    for at, case in enumerate(cases):
        expected = EXPECTED.get(case["transport"]) if at % LOOKED_AT == 0 else None
        asked += [("load", {"file": str(report / case["capture"])}),
                  ("frames", {"filter": f"({MALFORMED}) || frame.number == {NOWHERE + at}", "column0": "frame.protocols:1"}),
                  ("frames", {"filter": f"({expected or 'frame.number == 1'}) && frame.number != {NOWHERE + at}", "limit": 1})]
    return asked


@contextmanager
def within(limit_s: int):
    try:
        yield
    except subprocess.TimeoutExpired:
        raise CellFailure(f"sharkd did not end within {limit_s} s") from None


def dissect(inside: Root, scene: Scene, asked: list[tuple[str, dict]]) -> list:
    """What sharkd answers, in this order."""
    home = scene.folder / "home"
    (home / ".config/wireshark").mkdir(parents=True)
    (home / ".config/wireshark/disabled_protos").write_text("".join(f"{name}\n" for name in GUESSES))
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": at + 1, "method": method, "params": parameters}) + "\n"
                   for at, (method, parameters) in enumerate(asked))
    with open(scene.folder / "sharkd.log", "w") as log, within(SHARKD_LIMIT_S):
        done = subprocess.run(inside.entered(["sharkd", "-"], [scene.folder]), input=text, text=True, stdout=subprocess.PIPE, stderr=log,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home)}, timeout=SHARKD_LIMIT_S, check=False)
    said = {answer["id"]: answer for answer in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.split("\n")))}
    missing = [at for at in range(len(asked)) if "result" not in said.get(at + 1, {})]
    if done.returncode != 0 or missing:
        raise CellFailure(f"sharkd ended with {done.returncode} and {len(missing)} of {len(asked)} questions without an answer, "
                          f"first: {asked[missing[0]] if missing else 'none'}")
    return [said[at + 1]["result"] for at in range(len(asked))]


def judge(cases: list[dict], answers: list) -> collections.Counter:
    """How many captures of each protocol were recognised; CellFailure where a packet is malformed or a protocol is not seen."""
    found: collections.Counter = collections.Counter()
    wrong = []
    for at, case in enumerate(cases):
        opened, malformed, expected = answers[3 * at:3 * at + 3]
        if opened != {"status": "OK"}:
            wrong.append(f"{case['capture']} cannot be opened: {opened}")
        for packet in malformed[:1]:
            wrong.append(f"{case['capture']}: {len(malformed)} malformed packets, first: {packet['num']} of {packet['c'][0]}")
        if expected and case["transport"] in EXPECTED and at % LOOKED_AT == 0:
            found[EXPECTED[case["transport"]]] += 1
    unseen = set(EXPECTED.values()) - set(found)
    wrong += [f"no packet is dissected as {protocol}" for protocol in sorted(unseen)]
    if wrong:
        raise CellFailure(f"{len(wrong)} of {len(cases)} captures: {'; '.join(wrong[:3])}")
    return found


@cell_of_packages("tshark", "captures of the suite against ourselves in the Wireshark of a later Debian, its own dissectors for "
                  "NVMe/TCP, RDMA, MCTP and NVMe-MI: nothing malformed where the case sends nothing malformed",
                  RELEASES, limit_s=1200)
def wireshark(scene: Scene) -> str:
    inside = root.build("tshark", scene.kernel, WANTED)
    report = scene.folder / "own"
    scene.bench.run("run", "--seed", "1", "--report", str(report), limit_s=400)
    cases = [case for case in json.loads((report / "results.json").read_text())["cases"] if is_judged(case)]
    cases = cases[RELEASES.index(scene.kernel)::OPENED]
    if len(cases) < LEAST:
        raise CellFailure(f"only {len(cases)} captures")
    found = judge(cases, dissect(inside, scene, questions(cases, report)))
    return f"Wireshark {inside.packages['tshark'].split('-')[0]}: {len(cases)} captures, nothing malformed; protocols in " \
           f"{sum(found.values())} of them looked at"
