"""What came of the defects: scores by area and kind, as a table, a page, or a list of survivors."""
from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import yaml

import mutate
from draw import Mutant
from suite import Outcome


@dataclass
class Tried:
    one: Mutant
    outcome: Outcome
    met_by: list[str]

    @property
    def is_right(self) -> bool:
        """Whether a rule of the area failed that the defect is in. A crash is the product's own."""
        return not self.outcome.requirement or self.one.is_about(self.outcome.requirement)


def tally(ones: list[Tried], equivalent: int) -> dict[str, float]:
    killed = [one for one in ones if one.outcome.how]
    survived = [one for one in ones if not one.outcome.how]
    return {"mutants": len(ones) + equivalent, "killed": len(killed), "right_requirement": sum(one.is_right for one in killed),
            "equivalent": equivalent, "survived": len(survived), "not_met": sum(not one.met_by for one in survived),
            "score": round(len(killed) / len(ones), 4) if ones else 1.0}


def summary(ones: list[Tried], equivalent: list[Mutant]) -> dict:
    def split(name) -> dict:
        names = sorted({name(tried.one) for tried in ones} | {name(one) for one in equivalent})
        return {key: tally([tried for tried in ones if name(tried.one) == key], sum(name(one) == key for one in equivalent))
                for key in names}

    return {**tally(ones, len(equivalent)), "lanes_not_tried": sum(not tried.outcome.lanes for tried in ones),
            "areas": split(lambda one: one.area), "kinds": split(lambda one: one.place.kind)}


def write_survivors(file: Path, ones: list[Tried]) -> None:
    """`met_by`: up to three of the cases in which it makes a difference that nobody judges; none: no case creates the condition."""
    rows = [{"file": tried.one.path, "line": tried.one.place.line, "kind": tried.one.place.kind, "text": tried.one.place.text,
             "nth": tried.one.nth, "area": tried.one.area, "met_by": tried.met_by} for tried in ones if not tried.outcome.how]
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


def write_document(file: Path, result: dict, options: argparse.Namespace) -> None:
    def table(name: str, group: dict[str, dict]) -> list[str]:
        return [f"| {name} | " + " | ".join(HEADS[1:]) + " |", "|---" * len(HEADS) + "|",
                *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows_of(group)), ""]

    untried = result["lanes_not_tried"]
    short = [f"The time was over before {untried} of the {result['survived']} survivors were tried in lanes: the scores here are lower "
             "bounds.", ""] if untried else []
    file.write_text("\n".join([
        "# How far a verdict can be trusted", "",
        f"{result['mutants']} mutants: small defects drawn by a program (seed {options.seed}) from the sources of the emulated products, "
        "none of them written with a case in view. `ci/mutants` puts them behind switches in one command and runs, with each, the cases "
        f"in which it makes a difference at its place: in the plain run all of them, then up to {options.most} in other lanes, until one "
        "is red. This page is written by `ci/mutants --document docs/trust.md`.", "",
        f"The suite finds **{result['killed']} of {result['killed'] + result['survived']}** that are not known to be harmless "
        f"({100 * result['score']:.1f} %).", "",
        *short, *table("area", {**result["areas"], "all": result}), *table("kind", result["kinds"]),
        "- *Equivalent* are survivors in `tests/mutation/reviewed`, each with the reason why nobody could see it or why "
        "the specification allows it. The score leaves them out.",
        "- *Survived*: nobody has looked at these, or they are gaps. "
        f"{result['not_met']} of them are in code whose condition no case creates.",
        "- *Right rule* counts those killed whose first red case is about the defect's own area; a crash counts as right.", "",
        "## Kinds", "", *(f"- **{kind}**: {text}" for kind, text in mutate.KINDS.items()), "",
        "## What the score does not show", "",
        "- Defects that no line of our products resembles: missing features, races of threads, memory errors, hardware.",
        "- Several defects at once: one may hide another.",
        "- Code that virtual time never reaches (sockets, files, Windows) is left out of the draw.",
        "- False alarms: a suite that fails everything would have the best score. The legal variants and the real peers are about those.",
        ""]))
