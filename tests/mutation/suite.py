"""Runs of the suite with one defect turned on, cheapest first: where it makes a difference, and only until the first red case."""
from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from draw import Mutant

SECONDS = 300  # processor time of one run; runtime.h limits that of a case
PLAIN, ALL = "plain", "*"

Pair = tuple[str, str]  # lane, case


@dataclass
class Outcome:
    how: str = ""  # "" survived, else "red", "crash", "hang"
    case: str = ""  # the first that was red, and its requirement
    requirement: str = ""
    lanes: bool = False  # whether it was tried in lanes, or needed to be
    left: int = 0  # cases in lanes that it was not tried in


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    os.setsid()


def run(program: Path, options: list[str], **variables: str) -> tuple[int, str]:
    """Exit code and standard output."""
    process = subprocess.Popen([str(program), "run", "--seed", "1", "--jobs", "1", "--json", *options], env=os.environ | variables,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=limits, text=True)
    try:
        out, _ = process.communicate(timeout=6 * SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return -signal.SIGKILL, ""
    return process.returncode, out


def outcome_of(code: int, out: str) -> Outcome:
    if code == 0:
        return Outcome()
    words = out.split()
    if words[:1] == ["red"] and len(words) == 3:
        return Outcome("red", words[1], words[2])
    try:  # what the oracle says is said at the end
        cases = [case for case in json.loads(out)["cases"] if case["verdict"] in ("fail", "error", "inconclusive")]
    except (ValueError, KeyError):
        return Outcome("hang" if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGPROF) else "crash")
    return Outcome("red", cases[0]["name"], cases[0]["requirement"]) if cases else Outcome("red")


@dataclass
class Met:
    """Where each mutant makes a difference at its place, and what the cases are about."""
    pairs: dict[int, set[Pair]] = field(default_factory=dict)
    requirements: dict[str, str] = field(default_factory=dict)
    red: list[str] = field(default_factory=list)  # without any defect; should be none

    def read(self, file: Path) -> None:
        names: list[str] = []
        for line in file.read_text().splitlines():
            kind, rest = line.split(" ", 1)
            if kind == "name":
                names.append(rest)
                continue
            number, *places = rest.split()
            split = (place.split(":") for place in places)
            self.pairs.setdefault(int(number), set()).update((names[int(lane)], names[int(case)]) for lane, case in split)

    def plain(self, number: int) -> set[Pair]:
        """Those of the plain run. What is met while the product is asked what it declares belongs to every case."""
        met = self.pairs.get(number, set())
        if any(ALL in pair for pair in met):
            return {(PLAIN, name) for name in self.requirements}
        return {pair for pair in met if pair[0] == PLAIN}

    def lanes(self, number: int, most: int) -> tuple[set[Pair], int]:
        """Up to so many of those in lanes, drawn, and how many are left."""
        met = [pair for pair in self.pairs.get(number, set()) if pair[0] not in (PLAIN, ALL)]
        met.sort(key=lambda pair: hashlib.sha256(repr(pair).encode()).digest())
        return set(met[:most]), max(0, len(met) - most)

    def add(self, other: Met) -> None:
        for number, pairs in other.pairs.items():
            self.pairs.setdefault(number, set()).update(pairs)
        self.red += other.red

    def some(self, number: int) -> list[str]:
        """Up to three, of the plain run where they are in it."""
        met = self.pairs.get(number, set())
        return sorted({name for lane, name in met if lane == PLAIN} or {name for _, name in met})[:3]


def asked(program: Path, *words: str) -> list[dict]:
    out = subprocess.run([str(program), *words, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["lanes" if "--list-lanes" in words else "cases"]


def honest(program: Path, out: Path, lanes: list[str], parts: int, jobs: int) -> Met:
    """A run of these lanes without a defect. The same seed goes the same way up to the first difference: where a mutant makes none,
    it need not be tried. What an earlier run of the same command found is taken over."""
    met = Met(requirements={case["name"]: case["requirement"] for case in asked(program, "list")})

    def part(some: list[str]) -> tuple[Path, str]:
        file = out / f"met-{hashlib.sha256(repr(some).encode()).hexdigest()[:12]}"
        if file.exists() and file.stat().st_mtime > program.stat().st_mtime:
            return file, ""
        code, text = run(program, ["--lanes", ",".join(some)], FABRICBENCH_MUTANT="0", FABRICBENCH_MUTANTS_MET=f"{file}.new")
        if code != 0:
            return file, text or f"exit code {code}"
        os.replace(f"{file}.new", file)
        return file, ""

    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        for file, red in threads.map(part, [lanes[at::parts] for at in range(min(parts, len(lanes)))]):
            if red:
                met.red.append(outcome_of(1, red).case or red[:100])
            else:
                met.read(file)
    return met


def tried(program: Path, number: int, one: Mutant, met: Met, pairs: set[Pair]) -> Outcome:
    """The defect in these cases: at first in those about its area."""
    near = {pair for pair in pairs if one.is_about(met.requirements.get(pair[1], ""))}
    for some in (near, pairs - near):
        if not some:
            continue
        with tempfile.NamedTemporaryFile("w", prefix="fabricbench-mutant-") as cases:
            cases.write("".join(f"{lane} {name}\n" for lane, name in sorted(some)))
            cases.flush()
            lanes = ",".join(sorted({lane for lane, _ in some}))
            outcome = outcome_of(*run(program, ["--lanes", lanes], FABRICBENCH_MUTANT=str(number), FABRICBENCH_MUTANT_CASES=cases.name))
        if outcome.how:
            return outcome
    return Outcome()
