"""Writes the tables of docs/interop.md and the pages of docs/interop from what the lane and the profiles hold, and from runs.

    python3 -m interop.lane.document                rewrites tables and pages
    python3 -m interop.lane.document --seen FILE    first takes the outcomes and the evidence of a run, from its results.json
                                                    and the cells beside that: a capture for each line of a profile. Cells
                                                    that were not run keep theirs, their outcomes too
    python3 -m interop.lane.document --check        says whether they are true (exit code 1 if not)
"""

import argparse
import json
import pathlib
import re
import sys

from interop.lane import evidence, pages
from interop.lane.evidence import ROOT, Evidence
from interop.lane.matrix import CELLS

DOCUMENT = ROOT / "docs" / "interop.md"
FOLDER = ROOT / "docs" / "interop"
PART = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
ROW = re.compile(r"^\| `(\S+)` \|.*\|$", re.MULTILINE)
REWRITES = "python3 -m interop.lane.document rewrites it"


def cells() -> str:
    """One row for each cell; its kernels together."""
    rows: dict[str, list] = {}
    for one in CELLS:
        name = one.name.removesuffix(f"-{one.kernel}")
        title = one.title.removesuffix(f", {one.system} {one.kernel}")
        rows.setdefault(name, [title, [], one.system])[1].append(one.kernel)
    lines = ["| cell | of | what meets what |", "| --- | --- | --- |"]
    lines += [f"| `{name}-*` | {system} {', '.join(kernels)} | {title} |" for name, (title, kernels, system) in rows.items()]
    return "\n".join(lines)


def outcomes(results: list[dict], before: str = "") -> str:
    """What became of each cell; those that were not run keep their rows of the table before."""
    rows = {match[1]: match[0] for match in ROW.finditer(before)}
    for one in results:
        if one["verdict"] == "not run" and one["cell"] in rows:
            continue
        text = re.sub(r"\S*/(?=build/interop/)", "", one["text"]).replace("|", "\\|")
        rows[one["cell"]] = f"| `{one['cell']}` | {one['verdict']} | {one['seconds']:.0f} | {text} | {one.get('day', '')} |"
    known = [one.name for one in CELLS]
    order = [name for name in known if name in rows] + [one["cell"] for one in results if one["cell"] not in known]
    lines = ["| cell | | seconds | what was seen | on |", "| --- | --- | --- | --- | --- |", *(rows[name] for name in order)]
    boots = sorted(seconds for one in results for seconds in one["boots"])
    if boots:
        lines += ["", f"In the last run {len(boots)} guests were booted to their agent, in {boots[0]:.1f} to {boots[-1]:.1f} seconds, "
                  f"half of them below {boots[len(boots) // 2]:.1f}."]
    return "\n".join(lines)


def renewed(text: str, tables: dict[str, str]) -> str:
    """The text with these tables in it; the others as they are."""
    def table(match: re.Match) -> str:
        made = tables.get(match.group(2))
        return match.group(0) if made is None else match.group(1) + made + "\n" + match.group(3)
    return PART.sub(table, text)


def seen_in(text: str) -> str:
    """The table of outcomes."""
    return next((match.group(0) for match in PART.finditer(text) if match.group(2) == "seen"), "")


def has_all_outcomes(text: str) -> bool:
    seen = seen_in(text)
    # Kernels that are not settled yet come and go, and so do cells whose outcome is not recorded.
    settled = [one.name for one in CELLS if one.recorded and one.is_settled]
    later = {one.name for one in CELLS} - set(settled)
    return [name for name in re.findall(r"^\| `(\S+)`", seen, re.MULTILINE) if name not in later] == settled


def tables_of(kept: Evidence, known: dict[str, list[dict]]) -> dict[str, str]:
    return {"cells": cells(), "areas": pages.areas(kept), "pages": pages.links(list(known), kept, known)}


def pages_of(kept: Evidence, known: dict[str, list[dict]], rules: dict[str, dict]) -> dict[str, str]:
    return {f"{name}.md": pages.page(name, lines, kept, rules) for name, lines in known.items()}


def write(document: pathlib.Path, folder: pathlib.Path, seen: pathlib.Path | None, known: dict[str, list[dict]],
          rules: dict[str, dict]) -> list[str]:
    """Rewrites everything; what should be told of it."""
    kept = Evidence.read(folder)
    said = []
    text = document.read_text()
    if seen is not None:
        results = json.loads(seen.read_text())["cells"]
        kept, unknown = evidence.harvested(kept, results, seen.parent, known)
        said += [f"no profile has the line any more that waived {one}" for one in unknown]
        kept.write(folder)
        text = renewed(text, {"seen": outcomes(results, seen_in(text))})
    document.write_text(renewed(text, tables_of(kept, known)))
    for name, page in pages_of(kept, known, rules).items():
        (folder / name).write_text(page)
    return said


def faults(document: pathlib.Path, folder: pathlib.Path, known: dict[str, list[dict]], rules: dict[str, dict]) -> list[str]:
    """What is not as write() would make it."""
    kept = Evidence.read(folder)
    found = evidence.faults(kept, known, rules)
    text = document.read_text()
    if renewed(text, tables_of(kept, known)) != text:
        found.append(f"{document.name}: its tables are not those of the lane, the profiles and the evidence; {REWRITES}")
    if not has_all_outcomes(text):
        found.append(f"{document.name}: its table of outcomes does not hold each cell; "
                     "python3 -m interop.lane.document --seen build/interop/results.json writes it after a run of those that are missing")
    for name, page in pages_of(kept, known, rules).items():
        if not (folder / name).exists() or (folder / name).read_text() != page:
            found.append(f"{folder.name}/{name}: it is not what the profile and the evidence make; {REWRITES}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="interop.lane.document")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seen", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    known, rules = evidence.profiles(), evidence.ledger()
    found = (faults(DOCUMENT, FOLDER, known, rules) if options.check else
             write(DOCUMENT, FOLDER, options.seen, known, rules))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if options.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
