"""Writes the tables of docs/interop.md from what the lane and the profiles hold, and from a run of all cells.

    python3 -m interop.lane.document                rewrites the tables
    python3 -m interop.lane.document --seen FILE    the table of outcomes too, from the results.json of a run
    python3 -m interop.lane.document --check        says whether they are true (exit code 1 if not): that of outcomes
                                                    has to hold each cell
"""

import argparse
import json
import pathlib
import re
import sys

import yaml

from interop.lane.matrix import CELLS

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "interop.md"
PROFILES = ROOT / "conformance" / "profiles"
PART = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def cells() -> str:
    """One row for each cell; its kernels together."""
    rows: dict[str, list] = {}
    for one in CELLS:
        name = one.name.removesuffix(f"-{one.kernel}")
        title = one.title.removesuffix(f", Linux {one.kernel}")
        rows.setdefault(name, [title, []])[1].append(one.kernel)
    lines = ["| cell | Linux | what meets what |", "| --- | --- | --- |"]
    lines += [f"| `{name}-*` | {', '.join(kernels)} | {title} |" for name, (title, kernels) in rows.items()]
    return "\n".join(lines)


def deviations(profile: str) -> str:
    """What a peer does, each once, with the requirements that it breaks."""
    known = yaml.safe_load((PROFILES / f"{profile}.yaml").read_text())["deviations"]
    rows: dict[tuple[str, str], list[str]] = {}
    for one in known:
        where = one.get("transport", "tcp" if one["requirement"].startswith("tcp.") else "any")
        when = f"{one['shows']}: " if "shows" in one else ""
        wanted = rows.setdefault((when + one["reason"], where), [])
        if one["requirement"] not in wanted:
            wanted.append(one["requirement"])
    lines = ["| what it does | over | requirement |", "| --- | --- | --- |"]
    lines += [f"| {reason} | {where} | {', '.join(wanted)} |" for (reason, where), wanted in rows.items()]
    return "\n".join(lines)


def outcomes(results: list[dict]) -> str:
    """What became of each cell."""
    lines = ["| cell | | seconds | what was seen |", "| --- | --- | --- | --- |"]
    for one in results:
        text = re.sub(r"\S*/(?=build/interop/)", "", one["text"]).replace("|", "\\|")
        lines.append(f"| `{one['cell']}` | {one['verdict']} | {one['seconds']:.0f} | {text} |")
    boots = sorted(seconds for one in results for seconds in one["boots"])
    if boots:
        lines += ["", f"{len(results)} cells, {sum(one['seconds'] for one in results) / 60:.0f} minutes of them together. "
                  f"{len(boots)} guests were booted to their agent, in {boots[0]:.1f} to {boots[-1]:.1f} seconds, half of them "
                  f"below {boots[len(boots) // 2]:.1f}."]
    return "\n".join(lines)


def renewed(text: str, results: list[dict] | None = None) -> str:
    def table(match: re.Match) -> str:
        name = match.group(2)
        if name == "seen" and results is None:
            return match.group(0)
        made = outcomes(results) if name == "seen" else cells() if name == "cells" else deviations(name)
        return match.group(1) + made + "\n" + match.group(3)
    return PART.sub(table, text)


def has_all_outcomes(text: str) -> bool:
    seen = next((match.group(0) for match in PART.finditer(text) if match.group(2) == "seen"), "")
    return re.findall(r"^\| `(\S+)`", seen, re.MULTILINE) == [one.name for one in CELLS]


def main() -> int:
    parser = argparse.ArgumentParser(prog="interop.lane.document")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seen", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    text = DOCUMENT.read_text()
    if not options.check:
        results = json.loads(options.seen.read_text())["cells"] if options.seen else None
        DOCUMENT.write_text(renewed(text, results))
        return 0
    if renewed(text) == text and has_all_outcomes(text):
        return 0
    print(f"{DOCUMENT.relative_to(ROOT)}: its tables are not those of the lane and the profiles; "
          "python3 -m interop.lane.document rewrites them", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
