#!/usr/bin/env python3
"""Compares every field that wire/ declares with a second source: members of structures in headers of the distribution, or the
figures of the specifications, as second_sources.txt has them. A field without a second source fails the test."""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("second_sources.txt")
HEADERS = ("stddef.h", "stdio.h", "stdint.h", "linux/mctp.h", "nvme/types.h", "nvme/mi.h")
STORAGE = {"std::uint8_t": 1, "std::uint16_t": 2, "U24": 3, "std::uint32_t": 4, "std::uint64_t": 8}
DECLARATION = re.compile(r'inline constexpr (\w+)<\s*"([^"]+)",\s*((?:[^<>]|<[^<>]*>)*?)>\s*(\w+)\{\}', re.S)
NAMED = re.compile(r'inline constexpr \w+<\s*"')


@dataclass(frozen=True)
class Place:
    """Bytes of a structure, and which bits of the integer in them; order is "little", "big" or, of one byte or of bytes that are
    no integer, nothing."""
    first: int
    size: int
    high: int
    low: int
    order: str = ""

    def bits(self) -> set[tuple[int, int]]:
        found = set()
        for bit in range(self.low, self.high + 1):
            at = bit // 8 if self.order != "big" else self.size - 1 - bit // 8
            found.add((self.first + at, bit % 8))
        return found


def whole(first: int, size: int, order: str = "") -> Place:
    return Place(first, size, size * 8 - 1, 0, order)


def number(word: str, text: str) -> int:
    """A number, or a constant of this header or another one."""
    if word.isdigit():
        return int(word)
    texts = [text, *(file.read_text() for file in sorted((ROOT / "wire").rglob("*.h")))]
    found = next((one for one in (re.search(rf"constexpr [\w:]+ {word} = (\d+);", each) for each in texts) if one), None)
    if found is None:
        raise SystemExit(f"the constant {word} is no number in the headers")
    return int(found[1])


def declared() -> dict[tuple[str, str], dict[str, Place]]:
    """All fields, by header and namespace."""
    found: dict[tuple[str, str], dict[str, Place]] = {}
    for file in sorted((ROOT / "wire").rglob("*.h")):
        text = re.sub(r"//[^\n]*", "", file.read_text())
        if file.name == "layout.h":
            continue
        spaces = [(one.start(), one.group(1)) for one in re.finditer(r"namespace (\w[\w:]*)\s*\{", text)]
        seen = 0
        for one in DECLARATION.finditer(text):
            kind, _, arguments, name = one.groups()
            seen += 1
            space = [inside for start, inside in spaces if start < one.start()][-1]
            words = [word.strip() for word in re.sub(r"<[^<>]*>", "", arguments).split(",")]
            first = int(words[0])
            if kind == "BytesField":
                place = whole(first, number(words[1], text))
            else:
                size = STORAGE[words[1]]
                order = "" if size == 1 else "big" if kind.startswith("Be") else "little"
                high, low = (int(words[2]), int(words[3])) if kind.endswith("Bits") else (size * 8 - 1, 0)
                place = Place(first, size, high, low, order)
            found.setdefault((str(file.relative_to(ROOT / "wire"))[:-2], space), {})[name] = place
        if seen != len(NAMED.findall(text)):
            raise SystemExit(f"{file}: {len(NAMED.findall(text))} declarations, of which {seen} were understood")
    return found


@dataclass
class Section:
    struct: str
    order: str = "little"
    base: int = 0
    figure: str = ""
    members: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)


def table() -> dict[tuple[str, str], Section]:
    sections: dict[tuple[str, str], Section] = {}
    now = Section("-")
    for number, line in enumerate(TABLE.read_text().split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if head := re.fullmatch(r"\[(\S+) (\S+)\] (\S+)", line):
            if (head[1], head[2]) in sections:
                raise SystemExit(f"{TABLE.name}:{number}: a second section of {head[1]} {head[2]}")
            now = sections[head[1], head[2]] = Section(head[3])
        elif word := re.fullmatch(r"(order|base|figure) (.+)", line):
            setattr(now, word[1], int(word[2]) if word[1] == "base" else word[2])
        elif member := re.fullmatch(r"(\w+) = (\w+)", line):
            now.members[member[1]] = member[2]
        elif place := re.fullmatch(r"(\w+) (\d+)(?:-(\d+))?(?:\.(\d+)(?::(\d+))?)?", line):
            first, last = int(place[2]), int(place[3] or place[2])
            size = last - first + 1
            high = int(place[4]) if place[4] else size * 8 - 1
            low = int(place[5] or place[4] or 0)
            if not now.figure:
                raise SystemExit(f"{TABLE.name}:{number}: numbers without the figure that they are of")
            now.places[place[1]] = Place(first - now.base, size, high, low, "" if size == 1 else now.order)
        else:
            raise SystemExit(f"{TABLE.name}:{number}: not understood: {line}")
    return sections


def members_of(sections: dict[tuple[str, str], Section], fields: dict[tuple[str, str], dict[str, Place]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Offset and size of each member that the table names, from a compiler."""
    lines, wanted = [], []
    for key, section in sections.items():
        if section.struct == "-":
            continue
        for name in fields.get(key, {}):
            if name not in section.places:
                wanted.append((section.struct, section.members.get(name, name)))
    wanted = sorted(set(wanted))
    def compiled(ones: list[tuple[str, str]]) -> subprocess.CompletedProcess[str]:
        lines = [f"#include <{header}>" for header in HEADERS] + ["int main(void) {"]
        lines += [f'  printf("%zu %zu\\n", offsetof(struct {s}, {m}), sizeof(((struct {s} *)0)->{m})); // {s} {m}' for s, m in ones]
        lines += ["  return 0;", "}"]
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder) / "offsets.c", Path(folder) / "offsets"
            source.write_text("\n".join(lines) + "\n")
            done = subprocess.run(["cc", "-w", "-o", str(program), str(source)], capture_output=True, text=True)
            if done.returncode != 0:
                return done
            return subprocess.run([str(program)], capture_output=True, text=True, check=True)
    done = compiled(wanted)
    if done.returncode != 0:
        missing = set(re.findall(r"// (\w+) (\w+)$", done.stderr, re.M)) or set(re.findall(r"struct (\w+)['’] has no member named ['‘](\w+)['’]", done.stderr))
        wanted = [one for one in wanted if one not in missing]
        done = compiled(wanted)
    if done.returncode != 0:
        raise SystemExit(f"the headers' offsets cannot be had: {done.stderr[:2000]}")
    return {one: tuple(map(int, line.split())) for one, line in zip(wanted, done.stdout.split("\n"))}  # type: ignore[misc]


def differences() -> list[str]:
    fields, sections = declared(), table()
    offsets = members_of(sections, fields)
    found = []
    for key, ones in fields.items():
        section = sections.get(key)
        if section is None:
            found.append(f"wire/{key[0]}.h {key[1]}: no second source: {', '.join(ones)}")
            continue
        for name, place in ones.items():
            where = f"wire/{key[0]}.h {key[1]}.{name}"
            source = section.places.get(name)
            if source is None:
                member = offsets.get((section.struct, section.members.get(name, name)))
                if member is None:
                    found.append(f"{where}: no second source")
                    continue
                source = whole(member[0] - section.base, member[1], "" if member[1] == 1 else section.order)
            if place.bits() != source.bits():
                found.append(f"{where}: declared at {place}, the second source has {source}")
            elif place.order and place.order != source.order and section.order != "host" and place.bits() == source.bits():
                # Bytes that cover the same bits may still be read in the other order.
                if place.high // 8 != place.low // 8:
                    found.append(f"{where}: declared {place.order}-endian, the second source is {source.order}-endian")
    for key, section in sections.items():
        for name in [*section.places, *section.members]:
            if name not in fields.get(key, {}):
                found.append(f"{TABLE.name}: [{key[0]} {key[1]}] {name}: no such field")
    return found


def main() -> int:
    found = differences()
    for line in found:
        print(line)
    count = sum(len(ones) for ones in declared().values())
    print(f"{count} fields, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
