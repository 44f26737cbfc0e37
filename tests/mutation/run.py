"""Measures the suite by defects that nobody planted: draws small defects from the sources of the products, builds one command
that holds them behind switches, and runs the suite with each. A defect is killed when the run is red, hangs or crashes.

Run by ci/mutants, which builds the release tree first.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
import mutate  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
OUT = ROOT / "build/mutants"
REVIEWED = Path(__file__).parent / "reviewed"
POOL = 2400
SECONDS = 300  # processor time of one run of the suite; a defect that needs more hangs. All lanes take about 125 beside other work
LANES_AT_ONCE = 8  # one run each; no further one after the first that is red
# Where the runner's sources say which case and lane it is, so that a mutant is tried where it makes a difference and nowhere else.
PROBES = {
    "conformance/runner/run_case.cc": (r"^CaseResult run_once\([^{]*\{$",
                                       "fb_mutation::Scope(environment.lane != nullptr ? environment.lane->name : \"plain\", info.name)"),
    "conformance/runner/environment.cc": (r"^Declared explore\([^{]*\{$", "fb_mutation::Scope(\"*\", \"*\")"),
}

# Where products are, by area, and the requirements that a defect there breaks.
AREAS: list[tuple[str, str, str]] = [  # path, area, pattern of requirement ids
    (r"(model|sim)/.*tls|model/auth|wire/fabrics/auth", "authentication", r"auth\.|tcp\.tls|tcp\.host\.tls"),
    (r"model/transport/tcp|wire/tcp|model/subsystem/.*tcp", "tcp", r"tcp\.|fabrics\."),
    (r"model/transport/rdma", "rdma", r"rdma\.|fabrics\."),
    (r"model/transport", "transport", r"fabrics\.|tcp\.|rdma\.|nvme\."),
    (r"sim/rdma/softroce|wire/rdma", "rdma", r"rdma\.|cm\."),
    (r"sim/mctp|wire/mctp", "mctp", r"mctp\.|mi\."),
    (r"model/(mi|drive)|wire/mi", "mi", r"mi\.|mctp\."),
    (r"model/host", "host", r".*host|nvme\.|fabrics\.|tcp\.|auth\."),
    (r"model/subsystem|wire/(nvme|fabrics)", "subsystem", r"nvme\.|fabrics\.|tcp\.|auth\.|mi\."),
    (r"networkdirect/(provider|consumer)", "networkdirect", r"networkdirect\.|nd"),
    (r"networkdirect/ndk/(provider|consumer|kernel)", "ndk", r"ndk\.|networkdirect\."),
]
# Never reached in virtual time, text for people, or what a product does when it is told to depart.
LEFT_OUT = re.compile(r"_windows\.cc|sim/mctp/(socket_server|serial_fd|af_mctp)\.cc|model/drive/variants\.cc|_socket\.cc|block_store_file|names?\.cc|wire/.*/(opcodes|status|describe)\.cc|_text|/exports/|misdeeds\.cc")
# What media, endpoints and devices count for tests and people; no peer sees it.
STATISTICS = re.compile(r"\+\+.*counters_\b")


@dataclass(frozen=True)
class Mutant:
    path: str
    area: str
    place: mutate.Place
    nth: int  # among places of the same kind and line text in its file

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.path, self.place.kind, self.place.text, self.nth)


def area_of(path: str) -> str:
    if LEFT_OUT.search(path):
        return ""
    return next((area for pattern, area, _ in AREAS if re.match(pattern, path)), "")


def pool() -> list[Mutant]:
    """A share of all places, chosen by what they say, so that an edit elsewhere leaves the others as they are."""
    found = []
    for top in ("model", "networkdirect", "sim", "wire"):
        for file in sorted((ROOT / top).rglob("*.cc")):
            path = str(file.relative_to(ROOT))
            area = area_of(path)
            if not area:
                continue
            seen: dict[tuple[str, str], int] = {}
            for place in mutate.places(file.read_text()):
                if place.kind == "assignment" and path.startswith(("networkdirect/", "sim/")) and STATISTICS.search(place.text):
                    continue
                nth = seen[place.kind, place.text] = seen.get((place.kind, place.text), -1) + 1
                found.append(Mutant(path, area, place, nth))
    found.sort(key=lambda one: hashlib.sha256(repr(one.key).encode()).digest())
    return found[:POOL]


def reviewed() -> dict[tuple[str, str, str, int], str]:
    """Survivors that somebody looked at: defects that change nothing, or that the specification allows."""
    entries = [entry for file in sorted(REVIEWED.glob("*.yaml")) for entry in yaml.safe_load(file.read_text()) or []]
    return {(e["file"], e["kind"], e["text"], e.get("nth", 0)): e["reason"] for e in entries}


# ---- one command with all of them ----

def units() -> dict[str, tuple[Path, str, str]]:
    """For each source the unit that it is compiled in (itself, or a batch that includes it), with command and directory."""
    found = {}
    for row in json.loads((BUILD / "compile_commands.json").read_text()):
        unit = Path(row["file"])
        if "/test_" in row["command"].split(" -o ", 1)[1].split()[0]:
            continue
        if unit.is_relative_to(BUILD / "batches"):
            for path in re.findall(r'#include "(.+)"', unit.read_text()):
                found[path] = (unit, row["command"], row["directory"])
        elif unit.is_relative_to(ROOT):
            found[str(unit.relative_to(ROOT))] = (unit, row["command"], row["directory"])
    return found


def probed(path: str) -> str:
    """A source of the runner that names its case."""
    pattern, scope = PROBES[path]
    name, arguments = scope.split("(", 1)
    text, count = re.subn(pattern, lambda head: f"{head[0]} const {name} mutation_scope({arguments};", (ROOT / path).read_text(), flags=re.M)
    if count != 1:
        raise SystemExit(f"mutants: {path} has no place for its probe")
    return '#include "tests/mutation/runtime.h"\n' + text


def compile_unit(unit: Path, command: str, directory: str, chosen: dict[int, Mutant]) -> tuple[str, list[int]]:
    """The object of a unit with its rewritten sources, and the numbers that did not compile."""
    name = str(unit.relative_to(ROOT)).replace("/", "_")
    source, target = OUT / "src" / name, OUT / "obj" / (name + ".o")
    target.parent.mkdir(parents=True, exist_ok=True)
    words = shlex.split(command)
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    words = [word for word in words if word != "-Werror"] + ["-w", "-Wno-narrowing"]
    includes = re.findall(r'#include "(.+)"', unit.read_text()) if unit.is_relative_to(BUILD / "batches") else []
    paths = includes or [str(unit.relative_to(ROOT))]
    dropped: list[int] = []
    while True:
        by_path: dict[str, dict[int, mutate.Place]] = {}
        for number, one in chosen.items():
            by_path.setdefault(one.path, {})[number] = one.place
        rewritten = {path: mutate.rewrite((ROOT / path).read_text(), places) for path, places in by_path.items()}
        rewritten |= {path: probed(path) for path in paths if path in PROBES}
        for path, text in rewritten.items():
            (OUT / "src" / path).parent.mkdir(parents=True, exist_ok=True)
            (OUT / "src" / path).write_text(text)
        source.write_text("".join(f'#include "{OUT / "src" / path if path in rewritten else ROOT / path}"\n' for path in paths))
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True)
        if done.returncode == 0:
            return str(target), dropped
        wrong = {(file, int(line) - 1) for file, line in re.findall(r"^(?:In file included from )?(/\S+?):(\d+)", done.stderr, re.M)}
        bad = [number for number, one in chosen.items() if (str(OUT / "src" / one.path), one.place.line) in wrong] or list(chosen)
        if not bad:
            raise SystemExit(f"mutants: {unit} does not compile: {done.stderr[-2000:]}")
        dropped += bad
        chosen = {number: one for number, one in chosen.items() if number not in bad}


def build(numbered: dict[int, Mutant], jobs: int) -> tuple[Path, list[int]]:
    known = units()
    by_unit: dict[Path, dict[int, Mutant]] = {known[path][0]: {} for path in PROBES}
    commands: dict[Path, tuple[str, str]] = {known[path][0]: known[path][1:] for path in PROBES}
    dropped = []
    for number, one in numbered.items():
        if one.path not in known:
            dropped.append(number)
            continue
        unit, command, directory = known[one.path]
        by_unit.setdefault(unit, {})[number] = one
        commands[unit] = (command, directory)
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        done = list(threads.map(lambda unit: compile_unit(unit, *commands[unit], by_unit[unit]), sorted(by_unit)))
    objects = [target for target, _ in done]
    dropped += [number for _, numbers in done for number in numbers]
    lines = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "-s", "bin/fabricbench"], capture_output=True,
                           text=True, check=True).stdout.strip().split("\n")
    link = next(line for line in reversed(lines) if " -o bin/fabricbench" in line)
    program = OUT / "fabricbench"
    # A rewritten object comes before the libraries, so that their member of the same name is never taken.
    link = link.replace(" -o bin/fabricbench", f" {shlex.join(objects)} -o {shlex.quote(str(program))}")
    subprocess.run(link.split("&&", 1)[1].rsplit("&&", 1)[0] if link.startswith(":") else link, shell=True, cwd=BUILD, check=True)
    return program, dropped


# ---- the suite with each ----

@dataclass
class Outcome:
    how: str  # "" survived, else "red", "crash", "hang"
    cases: list[str]
    requirements: list[str]


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    os.setsid()


def run_suite(program: Path, number: int, extra: list[str], met: Path | None = None) -> Outcome:
    environment = dict(os.environ, FABRICBENCH_MUTANT=str(number))
    if met:
        environment["FABRICBENCH_MUTANTS_MET"] = str(met)
    process = subprocess.Popen([str(program), "run", "--seed", "1", "--jobs", "1", "--json", *extra], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=limits)
    try:
        out, _ = process.communicate(timeout=6 * SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return Outcome("hang", [], [])
    if process.returncode == 0:
        return Outcome("", [], [])
    try:
        cases = json.loads(out)["cases"]
    except (ValueError, KeyError):
        return Outcome("hang" if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else "crash", [], [])
    red = [case for case in cases if case["verdict"] in ("fail", "error", "inconclusive")]
    return Outcome("red", [case["name"] for case in red], [case["requirement"] for case in red])


@dataclass
class Met:
    """Where one mutant makes a difference at its place: cases by lane. `*` is what all cases share, the look at what the product declares."""
    cases: dict[str, set[str]]

    def stages(self) -> list[list[str]]:
        """The runs that can see it, cheapest first."""
        everywhere = set().union(*self.cases.values())
        lanes = [lane for lane in self.cases if lane not in ("*", "plain")]
        found = [self.chosen(set() if "*" in everywhere else self.cases["plain"])] if {"*", "plain"} & set(self.cases) else []
        for at in range(0, len(lanes), LANES_AT_ONCE):
            some = lanes[at:at + LANES_AT_ONCE]
            found.append(["--lanes", ",".join(some), *self.chosen(set().union(*(self.cases[lane] for lane in some)))])
        return found

    def some(self) -> list[str]:
        """Up to three, of the plain run where they are in it."""
        return sorted(self.cases.get("plain") or set().union(*self.cases.values()))[:3]

    @staticmethod
    def chosen(names: set[str]) -> list[str]:
        """Options for these cases; for very many it is quicker to run all."""
        return [word for name in sorted(names) for word in ("--case", name)] if len(names) < 1000 else []


def read_met(file: Path) -> dict[int, Met]:
    names: list[str] = []
    found: dict[int, Met] = {}
    for line in file.read_text().splitlines():
        kind, rest = line.split(" ", 1)
        if kind == "name":
            names.append(rest)
            continue
        number, *places = rest.split()
        cases: dict[str, set[str]] = {}
        for place in places:
            lane, case = place.split(":")
            cases.setdefault(names[int(lane)], set()).add(names[int(case)])
        found[int(number)] = Met(cases)
    return found


def is_right(one: Mutant, outcome: Outcome) -> bool:
    """Whether a rule of the area failed that the defect is in. A crash is the product's own."""
    if not outcome.requirements:
        return True
    pattern = next(ids for _, area, ids in AREAS if area == one.area)
    return any(re.match(pattern, requirement) for requirement in outcome.requirements)


def drawn(chosen: list[Mutant], count: int, seed: int, together: bool) -> list[Mutant]:
    """A sample of that size; `together` takes whole units of compilation, in a drawn order, until there are enough."""
    shuffled = random.Random(seed).sample(chosen, len(chosen))
    if together:
        unit = {path: str(row[0]) for path, row in units().items()}
        order = list(dict.fromkeys(unit.get(one.path, "") for one in shuffled))
        shuffled.sort(key=lambda one: order.index(unit.get(one.path, "")))
    return shuffled[:count]


def main() -> int:
    parser = argparse.ArgumentParser(prog="ci/mutants", description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="draw N of the pool (default: all of it)")
    parser.add_argument("--together", action="store_true", help="draw all defects of few sources, so that little is compiled")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--area", choices=sorted({area for _, area, _ in AREAS}), help="only defects of this area")
    parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    parser.add_argument("--survivors", metavar="FILE", help="write the survivors, for review, as YAML")
    parser.add_argument("--document", metavar="FILE", help="write the scores as a Markdown page")
    parser.add_argument("--at-least", type=float, metavar="SCORE", help="fail where the score is lower, 0 to 1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    chosen = [one for one in pool() if not options.area or one.area == options.area]
    if options.sample is not None and options.sample < len(chosen):
        chosen = drawn(chosen, options.sample, options.seed, options.together)
    known = reviewed()
    equivalent = [one for one in chosen if one.key in known]
    numbered = dict(enumerate((one for one in chosen if one.key not in known), 1))
    say = (lambda text: print(text, file=sys.stderr, flush=True))
    start = time.monotonic()
    say(f"mutants: building {len(numbered)} defects")
    program, dropped = build(numbered, options.jobs)
    for number in dropped:
        del numbered[number]
    built = time.monotonic() - start
    # The same seed goes the same way up to the first difference: where a mutant makes none, it need not be tried.
    honest = run_suite(program, 0, ["--lanes", "all"], OUT / "met")
    if honest.how:
        say(f"mutants: without a defect the suite is {honest.how}: {', '.join(honest.cases[:5])}")
        return 2
    met = read_met(OUT / "met")
    say(f"mutants: built in {built:.0f} s; {len(set(met) & set(numbered))} of {len(numbered)} make a difference at their place in some case")

    def judge(number: int) -> tuple[int, Outcome]:
        for stage in met[number].stages() if number in met else []:
            outcome = run_suite(program, number, stage)
            if outcome.how:
                return number, outcome
        return number, Outcome("", [], [])

    outcomes: dict[int, Outcome] = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        for number, outcome in threads.map(judge, numbered):
            outcomes[number] = outcome
            if len(outcomes) % 20 == 0:
                gone = time.monotonic() - start
                say(f"mutants: {len(outcomes)} of {len(numbered)}, {gone:.0f} s, "
                    f"about {gone / len(outcomes) * (len(numbered) - len(outcomes)):.0f} s left")

    result = summary(numbered, outcomes, equivalent)
    if options.survivors:
        write_survivors(Path(options.survivors), numbered, outcomes, met)
    if options.document:
        write_document(Path(options.document), result)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_table(result)
    if options.at_least is not None and result["score"] < options.at_least:
        say(f"mutants: the score is {result['score']:.3f}, and {options.at_least:.3f} is wanted")
        return 1
    return 0


def tally(ones: list[tuple[Mutant, Outcome]], equivalent: int) -> dict[str, float]:
    killed = [(one, outcome) for one, outcome in ones if outcome.how]
    return {"mutants": len(ones) + equivalent, "killed": len(killed), "right_requirement": sum(is_right(*pair) for pair in killed),
            "equivalent": equivalent, "survived": len(ones) - len(killed),
            "score": round(len(killed) / len(ones), 4) if ones else 1.0}


def summary(numbered: dict[int, Mutant], outcomes: dict[int, Outcome], equivalent: list[Mutant]) -> dict:
    ones = [(numbered[number], outcomes[number]) for number in numbered]

    def split(name) -> dict:
        names = sorted({name(one) for one, _ in ones} | {name(one) for one in equivalent})
        return {key: tally([(one, outcome) for one, outcome in ones if name(one) == key],
                           sum(name(one) == key for one in equivalent)) for key in names}

    return {**tally(ones, len(equivalent)), "areas": split(lambda one: one.area), "kinds": split(lambda one: one.place.kind)}


def write_survivors(file: Path, numbered: dict[int, Mutant], outcomes: dict[int, Outcome], met: dict[int, Met]) -> None:
    """`met_by`: up to three of the cases in which it makes a difference that nobody judges; none: no case creates the condition."""
    rows = [{"file": one.path, "line": one.place.line, "kind": one.place.kind, "text": one.place.text, "nth": one.nth,
             "area": one.area, "met_by": met[number].some() if number in met else []}
            for number, one in numbered.items() if not outcomes[number].how]
    rows.sort(key=lambda row: (row["area"], row["file"], row["line"]))
    file.write_text(yaml.safe_dump(rows, sort_keys=False, width=140))


def rows_of(group: dict[str, dict]) -> list[tuple]:
    return [(name, row["mutants"], row["killed"], row["equivalent"], row["survived"], f"{100 * row['score']:.1f} %",
             f"{100 * row['right_requirement'] / row['killed']:.0f} %" if row["killed"] else "-") for name, row in group.items()]


HEADS = ("", "mutants", "killed", "equivalent", "survived", "score", "right rule")


def print_table(result: dict) -> None:
    for name, group in (("area", result["areas"]), ("kind", result["kinds"]), ("", {"all": result})):
        for row in [(name, *HEADS[1:])] * bool(name) + rows_of(group):
            print(f"{row[0]:16}" + "".join(f"{cell!s:>12}" for cell in row[1:]))
        print()


def write_document(file: Path, result: dict) -> None:
    def table(name: str, group: dict[str, dict]) -> list[str]:
        return [f"| {name} | " + " | ".join(HEADS[1:]) + " |", "|---" * len(HEADS) + "|",
                *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows_of(group)), ""]

    file.write_text("\n".join([
        "# How far a verdict can be trusted", "",
        f"{result['mutants']} mutants: small defects drawn by a program from the sources of the emulated products, none of them "
        "written with a case in view. `ci/mutants` puts them behind switches in one command and runs, with each, every case in every "
        "lane in which it makes a difference at its place. This page is written by `ci/mutants --document docs/trust.md`.", "",
        *table("area", {**result["areas"], "all": result}), *table("kind", result["kinds"]),
        "## Kinds", "", *(f"- **{kind}**: {text}" for kind, text in mutate.KINDS.items()), "",
        "## What the score does not show", "",
        "- Defects that no line of our products resembles: missing features, races of threads, memory errors, hardware.",
        "- Code that virtual time never reaches (sockets, files, Windows) is left out of the draw.",
        "- *Equivalent* are survivors in `tests/mutation/reviewed`, each with the reason why nobody could see it or why "
        "the specification allows it.",
        "- *Right rule* counts kills in which a requirement of the defect's own area failed; a crash counts as right.", ""]))


if __name__ == "__main__":
    sys.exit(main())
