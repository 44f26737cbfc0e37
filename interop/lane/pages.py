"""What docs/interop says of the evidence: a page for each profile, whose sections can be filed upstream as they are, and the
matrix of peers and areas."""

import re
import shlex
import textwrap
from dataclasses import dataclass

from interop.lane.evidence import Evidence
from interop.lane.matrix import CELLS

WIDTH = 110
AREAS = ("fabrics", "discovery", "nvme", "tcp", "rdma", "cm", "auth", "mctp", "mi")
TRANSPORTS = {"rdma": "RDMA", "tcp": "TCP"}
# Who it is, and where its sources are, by how the path in a profile begins.
PARTS = (("host/tcp.c", "nvme-tcp, Linux's host", "drivers/nvme/"), ("host/", "Linux's NVMe host", "drivers/nvme/"),
         ("hw/nvme/", "QEMU's NVMe drive", ""), ("lib/nvmf/", "SPDK's target", ""), ("sw/rxe/", "rdma_rxe", "drivers/infiniband/"),
         ("core/cm.c", "ib_cm", "drivers/infiniband/"), ("", "nvmet", "drivers/nvme/target/"))


@dataclass(frozen=True)
class Peer:
    """Who is under test in a cell, and how `fabricbench run` meets it."""
    title: str
    options: str


DRIVEN = "--dut 'host:ssh root@ADDRESS fabricbench host"
# By the name of the cell without its kernel.
PEERS = {
    "rdma-suite": Peer("nvmet {} over RDMA", "--dut rdma://ADDRESS:4420 --local OURS --slow"),
    "tcp-suite": Peer("nvmet {} over TCP", "--dut tcp://ADDRESS:4420 --local OURS --slow"),
    "tcp-suite-disks": Peer("nvmet {} over TCP with two disks", "--dut tcp://ADDRESS:4420 --local OURS"),
    "tcp-suite-zones": Peer("nvmet {} over TCP with a zoned disk", "--dut tcp://ADDRESS:4420 --local OURS"),
    "qemu-fdp": Peer("QEMU 10's drive with Flexible Data Placement behind nvmet {}", "--dut tcp://ADDRESS:4420 --local OURS"),
    "qemu-zns": Peer("QEMU 10's drive with zones behind nvmet {}", "--dut tcp://ADDRESS:4420 --local OURS"),
    "auth-suite": Peer("nvmet {} over TCP with authentication",
                       "--dut tcp://ADDRESS:4420 --local OURS --dhchap-secret-file SECRETS --slow"),
    "tcp-suite-tls": Peer("nvmet {} over TCP with TLS", "--dut tcp://ADDRESS:4420 --local OURS --tls --psk-file KEYS"),
    "verbs-suite": Peer("nvmet {} over RDMA, from verbs", "--dut rdma://ADDRESS:4420 --device verbs:rxe0"),
    "rdma-device": Peer("rdma_rxe and ib_cm {}", "--dut verbs:rxe0 --local packet:INTERFACE,OURS"),
    "tcp-target-suite": Peer("nvme-tcp {} as a host", f"{DRIVEN} drive' --transport tcp --local OURS --role host"),
    "rdma-target-suite": Peer("nvme-rdma {} as a host", f"{DRIVEN} drive' --transport rdma --local OURS --role host"),
    "tcp-target-suite-tls": Peer("nvme-tcp {} as a host with TLS", f"{DRIVEN} drive --tls' --transport tcp --local OURS --case 'tls_*'"),
    "tcp-target-slow": Peer("nvme-tcp {} as a host, cases that wait", f"{DRIVEN} drive' --transport tcp --local OURS --role host --slow"),
    "rdma-target-slow": Peer("nvme-rdma {} as a host, cases that wait",
                             f"{DRIVEN} drive' --transport rdma --local OURS --role host --slow"),
}


def peer_of(cell: str) -> Peer:
    """A cell that is new here is told by its own title."""
    found = next((one for one in CELLS if one.name == cell), None)
    kernel = found.kernel if found else ""
    peer = PEERS.get(cell.removesuffix(f"-{kernel}"))
    if peer is None:
        return Peer(found.title if found else cell, "--dut URL --local OURS")
    return Peer(peer.title.format(kernel), peer.options)


def areas(kept: Evidence) -> str:
    """A row for each cell that ran a suite, a column for each area that occurs in any."""
    rows = [(one.name, kept.cells[one.name]) for one in CELLS if one.name in kept.cells]
    present = {area for _, cell in rows for area in cell["areas"]}
    columns = [area for area in AREAS if area in present] + sorted(present - set(AREAS))
    lines = ["| peer | cell | " + " | ".join([*columns, "on"]) + " |", "| --- " * (len(columns) + 3) + "|"]
    for name, cell in rows:
        fields = [field(cell["areas"].get(area)) for area in columns]
        lines.append(f"| {escaped(peer_of(name).title)} | `{name}` | " + " | ".join([*fields, cell["day"]]) + " |")
    return "\n".join(lines)


def field(counts: dict[str, int] | None) -> str:
    if counts is None:
        return "-"
    failed = f", {counts['failed']} FAILED" if counts["failed"] else ""
    return f"{counts['passed']} / {counts['deviations']}{failed}"


def links(names: list[str], kept: Evidence, known: dict[str, list[dict]]) -> str:
    """Where the pages are, and how much is in them."""
    lines = []
    for name in names:
        seen = sum(kept.of(name, line) is not None for line in known[name])
        with_capture = sum(bool(one["capture"]) for one in kept.records if one["profile"] == name)
        lines.append(f"- [{title_of(name)}](interop/{name}.md): {len(by_reason(known[name]))} deviations from "
                     f"{len({line['requirement'] for line in known[name]})} requirements; {seen} of the {len(known[name])} lines of "
                     f"its profile were seen, {with_capture} have a capture")
    return "\n".join(lines)


def title_of(profile: str) -> str:
    return profile.replace("linux-", "Linux ").replace("qemu-", "QEMU ")


def by_reason(lines: list[dict]) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for line in lines:
        groups.setdefault(line["reason"], []).append(line)
    return groups


def page(profile: str, lines: list[dict], kept: Evidence, rules: dict[str, dict]) -> str:
    title = title_of(profile)
    shown = []
    for reason, group in by_reason(lines).items():
        records = [(line, record) for line in group if (record := kept.of(profile, line)) and record["requirement"] in rules]
        if records:
            shown.append((headline(reason), records))
    parts = [f"# What {title} does otherwise", introduction(profile), "## Deviations",
             "\n".join(f"- [{heading}](#{anchor(heading)}): {', '.join(sorted({who(line) for line, _ in records}))}"
                       for heading, records in shown)]
    for heading, records in shown:
        parts += section(heading, records, rules)
    missing = [line for line in lines if kept.of(profile, line) is None]
    if missing:
        parts += ["## Not seen in the last run", not_seen(missing)]
    return "\n\n".join(parts) + "\n"


def introduction(profile: str) -> str:
    return f"""\
`/usr/bin/python3 -m interop.lane.document` writes this page, from [the profile](../../conformance/profiles/{profile}.yaml),
the [requirements](../../conformance/requirements) and [what was seen](deviations.json). Each section can be filed as it is.
Requirements are told in the words of this project; document and section say where the rule stands.

Captures are pcapng in gzip: Wireshark and tshark open them as they are, and comments of the packets name the steps of the
case (`frame.comment`). `gunzip` makes them into files for `fabricbench check`.

In the commands ADDRESS is the peer's, and OURS is one of the machine that runs the bench. `--report DIR` leaves the capture in
DIR. How the peers were set up is in `interop/lane`, by the names of the cells; [interop.md](../interop.md) says what these are."""


def section(heading: str, records: list[tuple[dict, dict]], rules: dict[str, dict]) -> list[str]:
    parts = [f"## {heading}", "\n".join(dict.fromkeys(f"{who(line)}: {place(line)}." for line, _ in records))]
    for line, record in records:
        rule = rules[record["requirement"]]
        unsure = ", from memory" if rule["confidence"] == "memory" else ""
        parts += [f"### {record['requirement']}{over(line)}",
                  wrapped(" ".join(rule["text"].split()), "> "),
                  f"{rule['document']} {rule['revision']}, section {rule['section']}, {rule['level']}{unsure}.",
                  "\n".join([*findings(record), *origin(record)]),
                  f"```sh\n{command(record)}\n```"]
    return parts


def over(line: dict) -> str:
    return f", over {TRANSPORTS.get(line['transport'], line['transport'])}" if "transport" in line else ""


def who(line: dict) -> str:
    return next(name for prefix, name, _ in PARTS if line["source"].startswith(prefix))


def place(line: dict) -> str:
    """A file, and the function in it where the profile names one."""
    path, _, function = line["source"].partition(" ")
    folder = next(folder for prefix, _, folder in PARTS if path.startswith(prefix))
    return f"`{folder}{path}`" + (f", `{function}`" if function else "")


def findings(record: dict) -> list[str]:
    lines = []
    for one in record["findings"]:
        lines.append(wrapped(f"{escaped(one['what'])}: expected {escaped(' or '.join(one['expected']))}; "
                             f"seen **{escaped(one['seen'])}**", "- ", "  "))
    return lines


def origin(record: dict) -> list[str]:
    others = [f"`{name}`" for name in record["cells"] if name != record["cell"]]
    kernel = f", kernel {record['kernel']}" if record["kernel"] else ""
    lines = [wrapped(f"Case `{record['case']}` in cell `{record['cell']}` ({peer_of(record['cell']).title}{kernel}, "
                     f"{record['day']})" + (f"; also in {', '.join(others)}" if others else ""), "- ", "  ")]
    if record["capture"]:
        lines.append(f"- Capture: [{record['capture']}](captures/{record['capture']})")
    elif record["capture_bytes"]:
        lines.append(f"- Capture: too large to be kept here ({record['capture_bytes'] // 1024} KiB); the report of the cell has it, "
                     f"`build/interop/{record['cell']}/report`")
    else:
        lines.append("- Capture: none was left by the cell")
    return lines


def command(record: dict) -> str:
    return f"fabricbench run {peer_of(record['cell']).options} \\\n  --case {shlex.quote(record['case'])} --report report"


def not_seen(missing: list[dict]) -> str:
    lines = []
    for line in missing:
        sometimes = " (shows sometimes)" if line.get("shows") == "sometimes" else ""
        lines.append(wrapped(f"{escaped(line['requirement'])}{over(line)}{sometimes}: {escaped(line['reason'])}; "
                             f"{who(line)}, {place(line)}", "- ", "  "))
    return "\n".join(lines)


def headline(reason: str) -> str:
    """A sentence begins with a capital, but no name of a program is changed for that."""
    return escaped(reason[0].upper() + reason[1:] if re.fullmatch(r"[a-z']+", reason.split()[0]) else reason)


def anchor(heading: str) -> str:
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def escaped(text: str) -> str:
    return re.sub(r"([\\|<*`\[\]])", r"\\\1", " ".join(text.split()))


def wrapped(text: str, first: str, following: str | None = None) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=first if following is None else following,
                         break_long_words=False, break_on_hyphens=False)
