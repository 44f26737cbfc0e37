"""Writes the tables of docs/interop.md from what the lane and the profiles hold.

    python3 -m interop.lane.document            rewrites the tables
    python3 -m interop.lane.document --check    says whether they are true (exit code 1 if not)
"""

import pathlib
import re
import sys

import yaml

from interop.lane import verbs  # noqa: F401: its cells
from interop.lane.cells import CELLS

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
        wanted = rows.setdefault((one["reason"], where), [])
        if one["requirement"] not in wanted:
            wanted.append(one["requirement"])
    lines = ["| what it does | over | requirement |", "| --- | --- | --- |"]
    lines += [f"| {reason} | {where} | {', '.join(wanted)} |" for (reason, where), wanted in rows.items()]
    return "\n".join(lines)


def renewed(text: str) -> str:
    def table(match: re.Match) -> str:
        name = match.group(2)
        return match.group(1) + (cells() if name == "cells" else deviations(name)) + "\n" + match.group(3)
    return PART.sub(table, text)


def main(arguments: list[str]) -> int:
    text = DOCUMENT.read_text()
    if "--check" not in arguments:
        DOCUMENT.write_text(renewed(text))
        return 0
    if renewed(text) == text:
        return 0
    print(f"{DOCUMENT.relative_to(ROOT)}: its tables are not those of the lane and the profiles; "
          "python3 -m interop.lane.document rewrites them", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
