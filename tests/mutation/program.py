"""One command that holds many defects behind switches: the sources that have them are compiled anew, the rest is linked as it is."""
from __future__ import annotations

import concurrent.futures
import hashlib
import json
import re
import shlex
import subprocess
from pathlib import Path

import mutate
from draw import ROOT, Mutant

BUILD = ROOT / "build/release"
OUT = ROOT / "build/mutants"
NUMBERS = OUT / "numbers.json"
LINKED = OUT / "linked"
RUNTIME = Path(__file__).parent / "runtime.h"
# Compiling is the larger part of a small sample: the commands of the release build, but for these.
OPTIONS = ["-O1", "-w", "-Wno-narrowing"]
# Where the runner's sources are told which case and lane it is, which cases are not wanted, and when one was red: what is put
# behind these lines.
PROBES: dict[str, list[tuple[str, str]]] = {
    "conformance/runner/run_case.cc": [
        (r"^CaseResult run_once\([^{]*\{$",
         'const fb_mutation::Scope mutation_scope(environment.lane != nullptr ? environment.lane->name : "plain", info.name);')],
    "conformance/runner/environment.cc": [
        (r"^Declared explore\([^{]*\{$", 'const fb_mutation::Scope mutation_scope("*", "*");')],
    "conformance/runner/runner.cc": [
        (r"^    const Variant& variant = variants\[index\];$",
         "if (fb_mutation::state.leaves_out(variant.lane->name, variant.info->name)) return;"),
        (r"^      const Verdict verdict = results\[index\]\.verdict;$",
         "if (verdict != Verdict::pass && verdict != Verdict::skip) "
         "fb_mutation::state.is_red(variant.info->name, variant.info->requirement);")],
}


def numbered(pool: list[Mutant]) -> dict[int, Mutant]:
    """Numbers for switches. Each keeps that of earlier runs, so that objects stay as they are."""
    known = {tuple(key): number for key, number in json.loads(NUMBERS.read_text())} if NUMBERS.exists() else {}
    for one in pool:
        known.setdefault(one.key, len(known) + 1)
    NUMBERS.write_text(json.dumps([[key, number] for key, number in known.items()]))
    return {known[one.key]: one for one in pool}


def units() -> dict[str, tuple[Path, str, str]]:
    """For each source the unit that it is compiled in (itself, or a batch that includes it), with command and directory."""
    found = {}
    for row in json.loads((BUILD / "compile_commands.json").read_text()):
        unit = Path(row["file"])
        if "/test_" in row["command"].split(" -o ", 1)[1].split()[0]:
            continue
        if unit.is_relative_to(BUILD / "batches"):
            for path in sources_of(unit):
                found[path] = (unit, row["command"], row["directory"])
        elif unit.is_relative_to(ROOT):
            found[str(unit.relative_to(ROOT))] = (unit, row["command"], row["directory"])
    return found


def sources_of(unit: Path) -> list[str]:
    if unit.is_relative_to(BUILD / "batches"):
        return re.findall(r'#include "(.+)"', unit.read_text())
    return [str(unit.relative_to(ROOT))]


def with_probes(path: str, text: str) -> str:
    """A source of the runner that says what it does."""
    for pattern, put in PROBES.get(path, []):
        text, count = re.subn(pattern, lambda head: f"{head[0]} {put}", text, flags=re.M)
        if count != 1:
            raise SystemExit(f"mutants: {path} has no place for its probe")
    return '#include "tests/mutation/runtime.h"\n' + text


def rewritten(paths: list[str], chosen: dict[int, Mutant]) -> dict[str, str]:
    """The sources of a unit that differ from those of the tree."""
    by_path: dict[str, dict[int, mutate.Place]] = {}
    for number, one in chosen.items():
        by_path.setdefault(one.path, {})[number] = one.place
    changed = {path: mutate.rewrite((ROOT / path).read_text(), places) for path, places in by_path.items()}
    return changed | {path: with_probes(path, (ROOT / path).read_text()) for path in paths if path in PROBES}


class Unit:
    """A unit of compilation with its defects."""

    def __init__(self, unit: Path, command: str, directory: str, chosen: dict[int, Mutant]) -> None:
        self.unit, self.directory, self.chosen = unit, directory, chosen
        self.paths = sources_of(unit)
        name = str(unit.relative_to(ROOT)).replace("/", "_")
        self.source, self.target, self.made = OUT / "src" / name, OUT / "obj" / (name + ".o"), OUT / "obj" / (name + ".made")
        words = shlex.split(command)
        words[words.index("-o") + 1] = str(self.target)
        words[words.index("-c") + 1] = str(self.source)
        self.words = [word for word in words if word != "-Werror"] + [*OPTIONS, "-MD", "-MF", f"{self.target}.d"]

    def compile(self) -> list[int]:
        """Gives the numbers of those that do not compile; they are left out."""
        changed = rewritten(self.paths, self.chosen)
        wanted = hashlib.sha256(repr((self.words, RUNTIME.read_text(), sorted(changed.items()))).encode()).hexdigest()
        known = self.of_earlier_run(wanted)
        if known is not None:
            return known
        self.made.parent.mkdir(parents=True, exist_ok=True)
        self.made.unlink(missing_ok=True)
        dropped: list[int] = []
        chosen = self.chosen
        while True:
            for path, text in changed.items():
                (OUT / "src" / path).parent.mkdir(parents=True, exist_ok=True)
                (OUT / "src" / path).write_text(text)
            lines = [f'#include "{OUT / "src" / path if path in changed else ROOT / path}"\n' for path in self.paths]
            self.source.write_text("".join(lines))
            done = subprocess.run(self.words, cwd=self.directory, capture_output=True, text=True)
            if done.returncode == 0:
                self.made.write_text(json.dumps([wanted, dropped]))
                return dropped
            bad = blamed(done.stderr, chosen)
            if not bad:
                raise SystemExit(f"mutants: {self.unit} does not compile: {done.stderr[-2000:]}")
            dropped += bad
            chosen = {number: one for number, one in chosen.items() if number not in bad}
            changed = rewritten(self.paths, chosen)

    def of_earlier_run(self, wanted: str) -> list[int] | None:
        """What compile() gave when it made the same object of the same headers, if it has."""
        if not self.made.exists():
            return None
        had, dropped = json.loads(self.made.read_text())
        at = self.made.stat().st_mtime
        read = Path(f"{self.target}.d").read_text().replace("\\\n", " ").split(":", 1)[1].split()
        others = [Path(file) for file in read if not file.startswith(str(OUT))]  # those are in `wanted`
        fresh = had == wanted and all(file.exists() and file.stat().st_mtime < at for file in others)
        return dropped if fresh else None


def blamed(errors: str, chosen: dict[int, Mutant]) -> list[int]:
    """Which of them a compiler's errors are about; all where it cannot be told."""
    wrong = {(file, int(line) - 1) for file, line in re.findall(r"^(?:In file included from )?(/\S+?):(\d+)", errors, re.M)}
    return [number for number, one in chosen.items() if (str(OUT / "src" / one.path), one.place.line) in wrong] or list(chosen)


def build(sample: set[int], pool: dict[int, Mutant], jobs: int) -> tuple[Path, set[int]]:
    """The command, and the numbers of the sample that it does not hold. A unit has all its defects of the pool, so that other
    samples find it made."""
    known = units()
    rows = {row[0]: row for row in known.values()}
    needed = {known[pool[number].path][0] for number in sample if pool[number].path in known}
    by_unit: dict[Path, dict[int, Mutant]] = {known[path][0]: {} for path in PROBES} | {unit: {} for unit in needed}
    for number, one in pool.items():
        if one.path in known and known[one.path][0] in needed:
            by_unit[known[one.path][0]][number] = one
    made = [Unit(*rows[unit], by_unit[unit]) for unit in sorted(by_unit)]
    dropped = {number for number in sample if pool[number].path not in known}
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        for numbers in threads.map(Unit.compile, made):
            dropped |= sample & set(numbers)
    return link([str(one.target) for one in made]), dropped


def link(objects: list[str]) -> Path:
    lines = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "-s", "bin/fabricbench"], capture_output=True,
                           text=True, check=True).stdout.strip().split("\n")
    command = next(line for line in reversed(lines) if " -o bin/fabricbench" in line)
    program = OUT / "fabricbench"
    newest = max(Path(one).stat().st_mtime for one in [*objects, str(BUILD / "bin/fabricbench")])
    if program.exists() and LINKED.exists() and LINKED.read_text() == " ".join(objects) and newest < program.stat().st_mtime:
        return program
    # A rewritten object comes before the libraries, so that their member of the same name is never taken.
    command = command.replace(" -o bin/fabricbench", f" {shlex.join(objects)} -o {shlex.quote(str(program))}")
    subprocess.run(command.split("&&", 1)[1].rsplit("&&", 1)[0] if command.startswith(":") else command, shell=True, cwd=BUILD, check=True)
    LINKED.write_text(" ".join(objects))
    return program
