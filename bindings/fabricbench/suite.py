"""The conformance suite from Python: its cases, and running them one at a time.

>>> from fabricbench.suite import Suite
>>> result = Suite().run("connect_refuses_sqsize_zero", "rdma")
>>> result.verdict
'pass'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench import _core
from fabricbench._units import address_towards
from fabricbench.ladder import Said, text

#: Names that stand for several suites.
ALIASES = {
    "nvmeof": ["fabrics", "discovery", "nvme", "tcp", "auth"],
    "all": ["fabrics", "discovery", "nvme", "rdma", "cm", "tcp", "auth", "mctp", "mi"],
}


def suites_of(names: str | Sequence[str]) -> list[str]:
    """Suites by name, or by an alias ("nvmeof": fabrics, discovery, nvme, tcp and auth; "all"), separated by commas."""
    given = names.split(",") if isinstance(names, str) else names
    found: list[str] = []
    for name in given:
        for one in ALIASES.get(name.strip(), [name.strip()]):
            if one not in found:
                found.append(one)
    return found


@dataclass(frozen=True)
class Case:
    """A conformance case."""

    name: str
    #: Id in the ledger of requirements.
    requirement: str
    suite: str
    #: The side that is judged: controller, host, requester ...
    role: str
    #: What it runs over with this product.
    transports: list[str]
    #: Deviations that break its requirement.
    deviations: list[str]
    file: str


@dataclass(frozen=True)
class CaseResult:
    """Result of a case."""

    name: str
    requirement: str
    #: Document, revision and section of the requirement.
    section: str
    transport: str
    #: pass, fail, skip, inconclusive or error.
    verdict: str
    reason: str
    #: Each check that did not hold, in words.
    findings: list[str]
    #: Rules that a monitor saw broken.
    monitored: list[dict[str, Any]]
    digest: str
    #: Seconds of the case's own time.
    duration_virtual: float
    #: A pcapng file.
    capture: bytes
    said: list[Said]
    #: What ``fabricbench replay`` takes.
    replay: str

    def ladder(self, last: int = 40) -> str:
        """The last part of the exchange as a text diagram."""
        return text(self.said, last)

    def __repr__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"<CaseResult {self.name} over {self.transport}: {self.verdict}{why}>"


class Suite:
    """The cases that a product can be tested with.

    `dut` is "embedded" or the URL of a product (``tcp://ADDRESS:PORT[/NQN]``, ``rdma://...``, ``serial:PATH``,
    ``mctp:NET,EID``, ``ND:LIBRARY``, ``verbs:NAME``), `local` our own address for one (without: as it is routed).
    `transport` keeps to one; `slow` runs what takes long in real time too. SetupError where there is no such product.
    """

    def __init__(self, dut: str = "embedded", *, local: str = "", transport: str = "", slow: bool = False) -> None:
        self._core = _core.Suite(dut, local or address_towards(dut), transport, slow)

    def cases(self, suites: str | Sequence[str] = (), *, names: Sequence[str] = (), roles: Sequence[str] = ()) -> list[Case]:
        """By name. `names` are patterns ("connect_*"). SetupError for what is unknown."""
        return [Case(**case) for case in self._core.cases(suites_of(suites) if suites else [], list(names), list(roles))]

    def run(self, name: str, transport: str, *, seed: int = 1, deviations: Sequence[str] = ()) -> CaseResult:
        """One case over one of its transports, in a world of its own."""
        result = self._core.run(name, transport, seed, list(deviations))
        result["said"] = [Said(*one) for one in result["said"]]
        return CaseResult(**result)


def requirements() -> list[dict[str, str]]:
    """The ledger: id, document, revision, section, level, text and confidence of each requirement."""
    return _core.requirements()


def deviations() -> list[dict[str, str]]:
    """The catalogue of misbehaviours: name, requirement, product and what it does."""
    return _core.deviations()
