"""Which defects there are to draw from: places of the products' sources by area, and the survivors that somebody reviewed."""
from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

import mutate

ROOT = Path(__file__).resolve().parents[2]
REVIEWED = Path(__file__).parent / "reviewed"
TOPS = ("model", "networkdirect", "sim", "wire")
SHARE = 0.10821  # of all places, about 2,400

# Where products are, by area, and the requirements that a defect there breaks.
AREAS: list[tuple[str, str, str]] = [  # path, area, pattern of requirement ids
    (r"(model|sim)/.*tls|model/auth|wire/fabrics/auth", "authentication", r"auth\.|tcp\.tls|tcp\.host\.tls"),
    (r"model/transport/tcp|wire/tcp|model/subsystem/.*tcp", "tcp", r"tcp\.|fabrics\."),
    (r"model/transport/rdma", "rdma", r"rdma\.|cm\.|fabrics\."),
    (r"model/transport", "transport", r"fabrics\.|tcp\.|rdma\.|nvme\."),
    (r"sim/rdma/softroce|wire/rdma", "rdma", r"rdma\.|cm\.|fabrics\."),
    (r"sim/mctp|wire/mctp", "mctp", r"mctp\.|mi\."),
    (r"model/(mi|drive)|wire/mi", "mi", r"mi\.|mctp\."),
    (r"model/host", "host", r".*host|nvme\.|fabrics\.|tcp\.|auth\."),
    (r"model/subsystem|wire/(nvme|fabrics)", "subsystem", r"nvme\.|fabrics\.|tcp\.|auth\.|mi\."),
    (r"networkdirect/(provider|consumer)", "networkdirect", r"networkdirect\.|nd"),
    (r"networkdirect/ndk/(provider|consumer|kernel)", "ndk", r"ndk\.|networkdirect\."),
]
PATTERN_OF = {area: re.compile(pattern) for _, area, pattern in reversed(AREAS)}
# Never reached in virtual time or by the suite (a transport for tests), a file that no peer sees (the boot table), text for people,
# options that a program got wrong, or what a product does at a fault point that is on.
LEFT_OUT = re.compile(r"_windows\.cc|sim/mctp/(socket_server|serial_fd|af_mctp|i2c_adapter|i2c_server)\.cc|model/drive/variants\.cc|_socket\.cc|wire/fabrics/nbft\.cc|block_store_file|names?\.cc|wire/.*/(opcodes|status|describe)\.cc|_text|/exports/|loopback\.cc|check_options\.cc|leniency\.cc|behaviour\.cc|misdeeds\.cc")
# What media, endpoints and devices count for tests and people; no peer sees it.
STATISTICS = re.compile(r"\+\+.*counters(_\b|\.)")

Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Mutant:
    path: str
    area: str
    place: mutate.Place
    nth: int  # among places of the same kind and line text in its file

    @property
    def key(self) -> Key:
        return (self.path, self.place.kind, self.place.text, self.nth)

    def is_about(self, requirement: str) -> bool:
        """Whether this is a rule of its area; the oracle's rules are named after areas as well."""
        return PATTERN_OF[self.area].match(requirement.removeprefix("oracle.")) is not None


def area_of(path: str) -> str:
    if LEFT_OUT.search(path):
        return ""
    return next((area for pattern, area, _ in AREAS if re.match(pattern, path)), "")


def numbered(places: list[mutate.Place]) -> list[tuple[mutate.Place, int]]:
    """Each place with its number among those of the same kind and line text."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for place in places:
        nth = seen[place.kind, place.text] = seen.get((place.kind, place.text), -1) + 1
        found.append((place, nth))
    return found


def mutants_of(path: str) -> list[Mutant]:
    return [Mutant(path, area_of(path), place, nth) for place, nth in numbered(mutate.places((ROOT / path).read_text()))
            if not place.equal]


def pool() -> list[Mutant]:
    """A share of all places, chosen by what they say, so that an edit elsewhere leaves the others as they are."""
    paths = [str(file.relative_to(ROOT)) for top in TOPS for file in sorted((ROOT / top).rglob("*.cc"))]
    found = [one for path in paths if area_of(path) for one in mutants_of(path) if not is_statistics(one)]
    return sorted((one for one in found if rank(one) < SHARE), key=rank)


def rank(one: Mutant) -> float:
    return int.from_bytes(hashlib.sha256(repr(one.key).encode()).digest()[:8], "big") / 2**64


def is_statistics(one: Mutant) -> bool:
    return one.place.kind == "assignment" and one.path.startswith(("networkdirect/", "sim/")) and bool(STATISTICS.search(one.place.text))


def reviewed() -> dict[Key, str]:
    """Survivors that somebody looked at, and why: defects that change nothing, or that the specification allows."""
    entries = [entry for file in sorted(REVIEWED.glob("*.yaml")) for entry in yaml.safe_load(file.read_text()) or []]
    return {key_of(entry): entry["reason"] for entry in entries}


def key_of(entry: dict) -> Key:
    return (entry["file"], entry["kind"], entry["text"], entry.get("nth", 0))


def drawn(chosen: list[Mutant], count: int, seed: int, unit_of: dict[str, str] | None) -> list[Mutant]:
    """A sample of that size. With units of compilation: whole ones, in a drawn order, until there are enough."""
    shuffled = random.Random(seed).sample(chosen, len(chosen))
    if unit_of is not None:
        order = list(dict.fromkeys(unit_of.get(one.path, "") for one in shuffled))
        shuffled.sort(key=lambda one: order.index(unit_of.get(one.path, "")))
    return shuffled[:count]
