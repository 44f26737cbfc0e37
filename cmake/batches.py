"""Packs the sources of a target into batches that are compiled together: what a source includes costs more than what it does.

    batches.py --root DIR --out DIR --bytes N SOURCE...

Writes DIR/batch_K.cc, each of which includes its sources, and prints the files to compile, one a line. Sources that give a name
of their own to different things (functions and types of anonymous namespaces, aliases, macros) never share a batch; whatever is
left alone is printed as it is. The result depends on the sources alone, and files whose content stays the same are not written.
"""
from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[A-Za-z_]\w*|::|\S',
                   re.DOTALL)
MACROS = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)", re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# Headers full of macros, and names of an outer namespace that a header further on gives to something else.
ALONE = re.compile(r'#include "[^"]*_macros\.h"|^using deviations::Product;', re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
TYPES = {"class", "struct", "union", "enum"}
NOT_NAMES = {"const", "constexpr", "static", "inline", "auto", "void", "int", "bool", "unsigned", "char", "noexcept", "override",
             "final", "template", "typename", "operator", "mutable", "consteval", "constinit", "requires", "explicit", "decltype",
             "sizeof", "return"} | TYPES


def own_names(text: str) -> dict[str, str]:
    """Names that a source gives at namespace level, with what an alias stands for; "" for definitions of its own."""
    names: dict[str, str] = {}
    for kind, name in MACROS.findall(text):
        if kind == "define":
            names["#" + name] = ""
        else:
            names.pop("#" + name, None)
    tokens = [match.group() for match in TOKEN.finditer(DIRECTIVE.sub("", text)) if match.group()[:2] not in ("//", "/*")]
    statement: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == ";":
            name_of(statement, names)
            statement = []
        elif token == "{":
            if "namespace" in statement or statement[:1] == ["extern"]:
                statement = []
            else:
                name_of(statement, names)
                at = skip(tokens, at)
                # A function ends here; a type or an initialised variable goes on to its semicolon.
                statement = ["="] if "=" in statement or TYPES & set(statement) and "(" not in statement else []
        elif token == "}":
            statement = []
        elif token in ("(", "["):
            statement.append(token)
            at = skip(tokens, at)
        elif statement != ["="]:
            statement.append(token)
        at += 1
    return names


def skip(tokens: list[str], at: int) -> int:
    """The index of the bracket that closes the one here."""
    closing = {"(": ")", "{": "}", "[": "]"}[tokens[at]]
    depth = 0
    while at < len(tokens):
        if tokens[at] in "({[":
            depth += 1
        elif tokens[at] in ")}]":
            depth -= 1
            if depth == 0 and tokens[at] == closing:
                return at
        at += 1
    return at


def name_of(statement: list[str], names: dict[str, str]) -> None:
    if not statement or statement == ["="]:
        return
    if statement[0] in ("using", "namespace"):
        if "=" in statement:
            at = statement.index("=")
            names[statement[at - 1]] = "".join(statement[at + 1:])
        elif statement[1:2] != ["namespace"] and WORD.fullmatch(statement[-1]):
            names[statement[-1]] = "".join(statement[1:])
        else:
            names["using namespace"] = "".join(statement)
        return
    if statement[0] == "template":  # behind its parameters
        depth, at = 0, 1
        for at, token in enumerate(statement[1:], 1):
            depth += {"<": 1, ">": -1}.get(token, 0)
            if depth == 0:
                break
        statement = statement[at + 1:]
    kinds = [at for at, token in enumerate(statement) if token in TYPES]
    if kinds and "(" not in statement[:kinds[0]]:
        rest = [token for token in statement[kinds[0] + 1:] if WORD.fullmatch(token) and token not in NOT_NAMES]
        if rest:
            names[rest[0]] = ""
        return
    head: list[str] = []
    for token in statement:
        if token in ("(", "=", "["):
            break
        head.append(token)
    if head and WORD.fullmatch(head[-1]) and head[-1] not in NOT_NAMES and head[-2:-1] != ["::"] and not head[-1].isupper():
        names[head[-1]] = ""
        for at, token in enumerate(statement[:-1]):  # further declarators: `int kA = 1, kB = 2`
            if statement[at + 1] == "=" and WORD.fullmatch(token):
                names[token] = ""


def calls(text: str) -> set[str]:
    """Functions, constants and types that a source uses by their bare name, wherever they are."""
    return set(re.findall(r"(?<![\w.>:])([a-z]\w*)\(", text)) | set(re.findall(r"(?<![\w.>:])(k?[A-Z]\w*)", text))


@dataclass
class Source:
    file: Path
    size: int
    own: dict[str, str]
    headers: set[str]
    calls: set[str]

    def clashes(self, other: Source) -> bool:
        """A name stands for two things: given by both, or given here and used there for something else."""
        if any(name in other.own and (not target or other.own[name] != target) for name, target in self.own.items()):
            return True
        if any(name in other.headers and name not in self.headers for name in self.own):
            return True
        return not (self.own.keys() - other.own.keys()).isdisjoint(other.calls)


class Batch:
    def __init__(self) -> None:
        self.sources: list[Source] = []

    def has_room(self, one: Source, most: int) -> bool:
        if sum(source.size for source in self.sources) + one.size > most:
            return not self.sources
        return not any(one.clashes(source) or source.clashes(one) for source in self.sources)

    def add(self, one: Source) -> None:
        self.sources.append(one)


def header_names(source: Path, text: str, seen: set[Path]) -> set[str]:
    """Names that headers of the same folder give."""
    names: set[str] = set()
    for name in re.findall(r'^#include "([^"]+\.h)"', text, re.MULTILINE):
        header = source.parent / Path(name).name
        if header in seen or not header.exists() or not str(header).endswith(name):
            continue
        seen.add(header)
        inside = header.read_text()
        names |= own_names(inside).keys()
        names |= header_names(header, inside, seen)
    return names


def pack(sources: list[Path], most: int) -> list[list[Path]]:
    batches: list[Batch] = []
    alone: list[list[Path]] = []
    for source in sources:
        text = source.read_text()
        if ALONE.search(text):
            alone.append([source])
            continue
        one = Source(source, len(text), own_names(text), header_names(source, text, set()), calls(text))
        batch = next((batch for batch in batches if batch.has_room(one, most)), None)
        if batch is None:
            batch = Batch()
            batches.append(batch)
        batch.add(one)
    return [[one.file for one in batch.sources] for batch in batches] + alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="what the sources are included relative to")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("sources", type=Path, nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    kept = set()
    for number, files in enumerate(pack(sorted(options.sources), options.bytes)):
        if len(files) == 1:
            print(files[0])
            continue
        batch = options.out / f"batch_{number}.cc"
        text = "".join(f'#include "{file.relative_to(options.root)}"\n' for file in files)
        if not batch.exists() or batch.read_text() != text:
            batch.write_text(text)
        kept.add(batch)
        print(batch)
    for stale in set(options.out.glob("batch_*.cc")) - kept:
        stale.unlink()


if __name__ == "__main__":
    main()
