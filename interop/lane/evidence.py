"""The evidence that docs/interop keeps of the runs: for each line of a profile one case that showed it, with its capture,
and how many cases of each area passed in each cell that runs a suite.

It is harvested from what a run left below build/interop, and merged: a cell that was not run keeps what it had.
"""

import fnmatch
import gzip
import io
import json
import pathlib
import re
from dataclasses import dataclass, field

import yaml

from interop.lane.bench import FALLEN
from interop.lane.matrix import CELLS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILES = ROOT / "conformance" / "profiles"
LEDGER = ROOT / "conformance" / "requirements"
CAPTURE_MAX = 64 * 1024  # compressed; what is larger stays in the report of its cell
LINE_KEYS = ("requirement", "case", "transport", "seen")  # what tells one line of a profile from the others
SAME = ("cell", "case", "findings", "kernel")  # what makes a record no other one when it is seen again
KERNEL = re.compile(r"Linux version (\S+) .* (Debian \S+) \(\d{4}-")
KERNEL_LOGS = ("dmesg.log", "kernel.log", "target/dmesg.log")  # of the kernel that was tested
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def profiles() -> dict[str, list[dict]]:
    """The lines of each profile."""
    return {path.stem: yaml.load(path.read_text(), LOADER)["deviations"] for path in sorted(PROFILES.glob("*.yaml"))}


def ledger() -> dict[str, dict]:
    """Every requirement, by its id."""
    found = {}
    for path in sorted(LEDGER.glob("*.yaml")):
        document = yaml.load(path.read_text(), LOADER)
        for entry in document["requirements"]:
            found[entry["id"]] = {**(document.get("defaults") or {}), **entry}
    return found


def key_of(line: dict) -> dict:
    return {key: line[key] for key in LINE_KEYS if key in line}


@dataclass
class Evidence:
    """What is kept. A record names its capture by `capture`, or has none and says by `capture_bytes` whether that is for
    its size: the size as the cell had it, 0 where the case left none."""
    cells: dict[str, dict] = field(default_factory=dict)
    records: list[dict] = field(default_factory=list)
    captures: dict[str, bytes] = field(default_factory=dict)  # by name, compressed

    def of(self, profile: str, line: dict) -> dict | None:
        wanted = key_of(line)
        return next((one for one in self.records if one["profile"] == profile and one["line"] == wanted), None)

    @staticmethod
    def read(folder: pathlib.Path) -> "Evidence":
        kept = folder / "deviations.json"
        if not kept.exists():
            return Evidence()
        document = json.loads(kept.read_text())
        return Evidence(document["cells"], document["records"],
                        {path.name: path.read_bytes() for path in sorted((folder / "captures").glob("*"))})

    def write(self, folder: pathlib.Path) -> None:
        """The folder of captures then has those that are named, and no others."""
        captures = folder / "captures"
        captures.mkdir(parents=True, exist_ok=True)
        for path in captures.iterdir():
            if path.name not in self.captures:
                path.unlink()
        for name, data in self.captures.items():
            (captures / name).write_bytes(data)
        (folder / "deviations.json").write_text(
            json.dumps({"cells": self.cells, "records": self.records}, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def harvested(old: Evidence, results: list[dict], run: pathlib.Path, known: dict[str, list[dict]]) -> tuple[Evidence, list[str]]:
    """The old evidence, renewed by the cells that ran; what of them is in no profile any more. `results` are the outcomes
    of the cells, and `run` is the folder with theirs."""
    profile_of = {one.name: one.expected for one in CELLS}
    cells = {name: cell for name, cell in old.cells.items() if name in profile_of}
    seen: list[dict] = []  # one for each case that showed a line
    unknown: list[str] = []
    ran: set[str] = set()
    for name in (one["cell"] for one in results if one["verdict"] != "not run" and one["cell"] in profile_of):
        report = run / name / "report"
        if not (report / "results.json").exists():
            continue  # no cell with a suite, or one that ended before it: it says nothing about any line
        ran.add(name)
        document = json.loads((report / "results.json").read_text())
        cells[name] = about(document, run / name)
        profile = profile_of[name]
        for case in document["cases"]:
            if case["disposition"] != "waived":
                continue
            line = line_of(case, known.get(profile, []))
            if line is None:
                unknown.append(f"{name}: {case['name']}: {case['waiver']}")
            else:
                seen.append({**record_of(profile, line, name, case, report),
                             "day": cells[name]["day"], "kernel": cells[name]["kernel"]})
    return chosen(old, seen, ran, cells, known), unknown


def about(document: dict, folder: pathlib.Path) -> dict:
    """When a cell ran, on which kernel, and what its cases came to."""
    areas: dict[str, dict[str, int]] = {}
    fallen = json.loads((folder / FALLEN).read_text()) if (folder / FALLEN).exists() else []
    for case in document["cases"]:
        if case["disposition"] == "regression" and case["name"] in fallen:
            continue
        what = ("failed" if case["disposition"] in ("regression", "unexpected_pass") else
                "deviations" if case["disposition"] == "waived" else "passed" if case["verdict"] == "pass" else "")
        if what:
            counts = areas.setdefault(case["suite"], {"passed": 0, "deviations": 0, "failed": 0})
            counts[what] += 1
    return {"day": document["started"][:10], "kernel": kernel_in(folder), "areas": areas}


def kernel_in(folder: pathlib.Path) -> str:
    """What the kernel under test calls itself; nothing where its log does not say."""
    for name in KERNEL_LOGS:
        if (folder / name).exists():
            with open(folder / name, errors="replace") as log:
                found = next((match for match in map(KERNEL.search, log) if match), None)
            if found:
                return f"{found[1]} ({found[2]})"
    return ""


def shows(signature: str, seen: str) -> bool:
    """Whether a line covers the signature, as the runner has it: with values that stand as N there, and whole rules."""
    if seen.endswith(": the product breaks this rule"):
        return signature.startswith(seen[:seen.rindex(": ")])
    return signature == seen or fnmatch.fnmatchcase(signature, seen) or fnmatch.fnmatchcase(signature, re.sub(r"\d+", "N", seen))


def line_of(case: dict, lines: list[dict]) -> dict | None:
    """The line that waived a case: the runner takes the first that fits, and ends its text with the line's reason and source."""
    for line in lines:
        if (fnmatch.fnmatchcase(case["requirement"], line["requirement"]) and
                fnmatch.fnmatchcase(case["name"], line.get("case", "*")) and
                line.get("transport", case["transport"]) == case["transport"] and shows(case["signature"], line["seen"]) and
                case["waiver"].endswith(f": {line['reason']} ({line['source']})")):
            return line
    return None


def record_of(profile: str, line: dict, cell: str, case: dict, report: pathlib.Path) -> dict:
    capture = report / case["capture"] if case["capture"] else None
    size = capture.stat().st_size if capture is not None and capture.exists() else 0
    return {"profile": profile, "line": key_of(line), "cell": cell, "cells": [cell], "case": case["name"], "role": case["role"],
            "transport": case["transport"], "requirement": case["requirement"], "findings": case["findings"],
            "capture": "", "capture_bytes": size, "from": str(capture) if size else ""}


def chosen(old: Evidence, seen: list[dict], ran: set[str], cells: dict[str, dict], known: dict[str, list[dict]]) -> Evidence:
    """One record for each line, in the order of the profiles: the one with the smallest capture. One that a run shows again,
    of the same kernel, stays as it is: no run makes other files of the same findings."""
    made = Evidence(cells)
    for profile, lines in known.items():
        for line in lines:
            wanted = key_of(line)
            candidates = [one for one in seen if one["profile"] == profile and one["line"] == wanted]
            before = old.of(profile, line)
            also = [cell for cell in before["cells"] if cell in cells and cell not in ran] if before else []
            if before and before["cell"] in also:
                candidates.append(before)
            if not candidates:
                continue
            again = before is not None and any(all(one[key] == before[key] for key in SAME) for one in candidates)
            best = before if again else min(
                candidates, key=lambda one: (one["capture_bytes"] == 0, one["capture_bytes"], one["cell"], one["case"]))
            record = {**best, "cells": sorted({one["cell"] for one in candidates} | set(also))}
            keep_capture(made, record, old)
            made.records.append(record)
    return made


def keep_capture(made: Evidence, record: dict, old: Evidence) -> None:
    """Under a name that no other record has."""
    before = record["capture"]
    origin = record.pop("from", "")
    data = packed(pathlib.Path(origin).read_bytes()) if origin else old.captures.get(before, b"")
    record["capture"] = ""
    if not data or len(data) > CAPTURE_MAX:
        return
    stem = f"{record['profile']}-{record['case']}-{record['transport']}"
    number = 1
    while (name := f"{stem}{f'-{number}' if number > 1 else ''}.pcapng.gz") in made.captures:
        number += 1
    record["capture"] = name
    made.captures[name] = data


def packed(data: bytes) -> bytes:
    """The same bytes from the same bytes: neither a time nor a name of a file is in it."""
    into = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=into, mtime=0) as out:
        out.write(data)
    return into.getvalue()


def faults(kept: Evidence, known: dict[str, list[dict]], rules: dict[str, dict]) -> list[str]:
    """What makes the evidence untrue: what it names and does not have, or has and does not name."""
    again = "python3 -m interop.lane.document --seen build/interop/results.json harvests a run"
    found = []
    for record in kept.records:
        where = f"{record['profile']}, {record['line']['requirement']} ({record['case']} in {record['cell']})"
        if not any(key_of(line) == record["line"] for line in known.get(record["profile"], [])):
            found.append(f"the record of {where} belongs to no line of its profile any more; {again}")
        if record["requirement"] not in rules:
            found.append(f"the record of {where} names a requirement that is not there: {record['requirement']}; {again}")
        if record["capture"] and record["capture"] not in kept.captures:
            found.append(f"the capture {record['capture']} is not there; {again}")
    named = {record["capture"] for record in kept.records}
    found += [f"no record names the capture {name}" for name in kept.captures if name not in named]
    return found
