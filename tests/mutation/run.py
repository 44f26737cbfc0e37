"""Measures the suite by defects that nobody planted: draws small defects from the sources of the products, builds one command
that holds them behind switches, and runs the suite with each. A defect is killed when a case is red, hangs or crashes.

Run by ci/mutants, which builds the release tree first.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import signal
import sys
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
import draw  # noqa: E402
import program  # noqa: E402
import scores  # noqa: E402
import suite  # noqa: E402
from draw import Mutant  # noqa: E402
from suite import Outcome  # noqa: E402

OUTCOMES = program.OUT / "outcomes.jsonl"
CASES_IN_LANES = 2000


def say(text: str) -> None:
    print(f"mutants: {text}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/mutants", description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="draw N of the pool (default: all of it)")
    parser.add_argument("--together", action="store_true", help="draw all defects of few sources, so that little is compiled")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--area", choices=sorted({area for _, area, _ in draw.AREAS}), help="only defects of this area")
    parser.add_argument("--again", metavar="FILE", help="only the defects of a file that --survivors wrote")
    parser.add_argument("--most", type=int, default=CASES_IN_LANES, metavar="N",
                        help=f"in lanes a defect is tried with up to N drawn cases (default: {CASES_IN_LANES})")
    parser.add_argument("--minutes", type=float, metavar="M", help="begin with no defect after so long; the scores are of those done")
    parser.add_argument("--resume", action="store_true", help=f"take over what {OUTCOMES.relative_to(draw.ROOT)} says of earlier runs")
    parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    parser.add_argument("--survivors", metavar="FILE", help="write the survivors, for review, as YAML")
    parser.add_argument("--document", metavar="FILE", help="write the scores as a Markdown page")
    parser.add_argument("--at-least", type=float, metavar="SCORE", help="fail where the score is lower, 0 to 1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def sample(options: argparse.Namespace, pool: dict[int, Mutant]) -> dict[int, Mutant]:
    number_of = {one.key: number for number, one in pool.items()}
    chosen = [one for one in pool.values() if not options.area or one.area == options.area]
    if options.again:
        wanted = {draw.key_of(entry) for entry in yaml.safe_load(Path(options.again).read_text()) or []}
        chosen = [one for one in chosen if one.key in wanted]
    if options.sample is not None and options.sample < len(chosen):
        unit_of = {path: str(row[0]) for path, row in program.units().items()} if options.together else None
        chosen = draw.drawn(chosen, options.sample, options.seed, unit_of)
    return {number_of[one.key]: one for one in chosen}


class Measuring:
    """The outcomes as they come, kept in a file, until the time is over or somebody ends it."""

    def __init__(self, command: Path, chosen: dict[int, Mutant], met: suite.Met, options: argparse.Namespace, start: float) -> None:
        self.command, self.chosen, self.met, self.options, self.start = command, chosen, met, options, start
        self.outcomes: dict[int, Outcome] = {}
        self.over = False
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        signal.signal(signal.SIGINT, lambda *_: self.stop())
        if options.resume and OUTCOMES.exists():
            numbers = {one.key: number for number, one in chosen.items()}
            rows = [json.loads(line) for line in OUTCOMES.read_text().splitlines()]
            self.outcomes = {numbers[tuple(row["key"])]: Outcome(**row["outcome"]) for row in rows if tuple(row["key"]) in numbers}
            say(f"{len(self.outcomes)} were tried before")
        self.file = OUTCOMES.open("a" if options.resume else "w")

    def stop(self) -> None:
        self.over = True

    def is_over(self) -> bool:
        minutes = self.options.minutes
        return self.over or (minutes is not None and time.monotonic() - self.start > 60 * minutes)

    def plain(self, number: int) -> Outcome:
        outcome = suite.tried(self.command, number, self.chosen[number], self.met, self.met.plain(number))
        outcome.lanes = bool(outcome.how)
        return outcome

    def in_lanes(self, number: int) -> Outcome:
        pairs, left = self.met.lanes(number, self.options.most)
        outcome = suite.tried(self.command, number, self.chosen[number], self.met, pairs)
        outcome.lanes, outcome.left = True, 0 if outcome.how else left
        return outcome

    def each(self, name: str, numbers: list[int], judge) -> None:
        def unless_over(number: int) -> Outcome | None:
            return None if self.is_over() else judge(number)

        begun, done = time.monotonic(), 0
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as threads:
            for number, outcome in zip(numbers, threads.map(unless_over, numbers)):
                if outcome is None:
                    continue
                self.outcomes[number] = outcome
                self.file.write(json.dumps({"key": self.chosen[number].key, "outcome": dataclasses.asdict(outcome)}) + "\n")
                self.file.flush()
                done += 1
                if done % 20 == 0:
                    gone = time.monotonic() - begun
                    say(f"{name}: {done} of {len(numbers)}, about {gone / done * (len(numbers) - done):.0f} s left")

    def all(self) -> dict[int, Outcome]:
        self.each("plain", [number for number in self.chosen if number not in self.outcomes], self.plain)
        left = [number for number, outcome in self.outcomes.items() if not outcome.lanes]
        if left and not self.is_over():
            others = [lane["name"] for lane in suite.asked(self.command, "run", "--list-lanes") if lane["name"] != suite.PLAIN]
            self.met.add(suite.honest(self.command, program.OUT, others, 4 * self.options.jobs, self.options.jobs))
            say(f"{len(left)} are left for lanes after {time.monotonic() - self.start:.0f} s")
        if not self.met.red:
            self.each("in lanes", left, self.in_lanes)
        return self.outcomes


def is_green(met: suite.Met) -> bool:
    if met.red:
        say(f"without a defect the suite is red: {', '.join(met.red[:5])}")
    return not met.red


def main() -> int:
    options = arguments()
    start = time.monotonic()
    program.OUT.mkdir(parents=True, exist_ok=True)
    pool = program.numbered(draw.pool())
    chosen = sample(options, pool)
    known = draw.reviewed()
    equivalent = [one for one in chosen.values() if one.key in known]
    chosen = {number: one for number, one in chosen.items() if one.key not in known}
    say(f"building {len(chosen)} defects")
    command, dropped = program.build(set(chosen), pool, options.jobs)
    chosen = {number: one for number, one in chosen.items() if number not in dropped}
    built = time.monotonic() - start
    met = suite.honest(command, program.OUT, [suite.PLAIN], 1, 1)
    if not is_green(met):
        return 2
    say(f"built in {built:.0f} s, {len(dropped)} do not compile; {sum(number in met.pairs for number in chosen)} of {len(chosen)} make a "
        f"difference at their place in the plain run, seen after {time.monotonic() - start:.0f} s")
    outcomes = Measuring(command, chosen, met, options, start).all()
    if not is_green(met):
        return 2
    say(f"{len(outcomes)} of {len(chosen)} after {time.monotonic() - start:.0f} s")

    ones = [scores.Tried(chosen[number], outcome, met.some(number)) for number, outcome in sorted(outcomes.items())]
    result = scores.summary(ones, equivalent)
    if options.survivors:
        scores.write_survivors(Path(options.survivors), ones)
    if options.document:
        scores.write_document(Path(options.document), result, options)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        scores.print_table(result)
    if options.at_least is not None and result["score"] < options.at_least:
        say(f"the score is {result['score']:.3f}, and {options.at_least:.3f} is wanted")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
