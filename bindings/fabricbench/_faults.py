"""Faults as data: a plan lists possible faults, a schedule the faults that occur. Pass either to a world when it is created."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabricbench import _core


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault: where it can occur, and what its amount means."""

    name: str
    site: str
    #: none, nanoseconds, count, bit, bytes, rate (kB/s), status or state.
    unit: str
    low: int
    high: int
    #: No check of the protocol can notice it.
    lies: bool
    story: str


def fault_kinds() -> dict[str, FaultKind]:
    """Every kind by name; ``fabricbench campaign --list-faults`` prints the same."""
    return {facts["name"]: FaultKind(**facts) for facts in _core.fault_kinds()}


@dataclass
class Rule:
    """One kind of fault: in about every `every`-th thing, at most `most` times at one place of one world.

    `where` names a place ("host->target", "target", "namespace"); default: everywhere that the kind can occur.
    `amount` is a number in the kind's unit or (low, high) to draw from; times may be text ("10us"). Without it, what
    fault_kinds() has for the kind: 1 us to 2 s for a delay, for example.
    `after` and `before` bound which things are counted: not before the `after`-th, not from the `before`-th on.
    """

    kind: str
    every: int = 100
    where: str | None = None
    most: int = 4
    amount: int | str | tuple[int | str, int | str] | None = None
    after: int | None = None
    before: int | None = None

    def __post_init__(self) -> None:
        known = fault_kinds()
        if self.kind not in known:
            near = _core.nearest_word(str(self.kind), list(known))
            hint = f"; is '{near}' meant?" if near else "; fault_kinds() has them all"
            raise ValueError(f"kind: there is no fault '{self.kind}'{hint}")
        for field in ("every", "most", "after", "before"):
            value = getattr(self, field)
            if value is None and field in ("after", "before"):
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field}: an int is wanted, not {type(value).__name__}")
            if value < (0 if field == "after" else 1):
                raise ValueError(f"{field}: {value} is below {0 if field == 'after' else 1}")
        if self.where is not None and not (isinstance(self.where, str) and re.fullmatch(r'[^"\x00-\x1f]+', self.where)):
            raise ValueError(f"where: {self.where!r} is no place, such as 'host->target'")
        if self.before is not None and (self.after or 0) >= self.before:
            raise ValueError(f"after: {self.after or 0} is not below before: {self.before}, so that nothing is left")

    def _lines(self) -> list[str]:
        lines = [f"  - kind: {self.kind}", f"    every: {self.every}", f"    most: {self.most}"]
        if self.where is not None:
            lines.append(f'    where: "{self.where}"')
        if isinstance(self.amount, tuple):
            lines.append(f"    amount: [{self.amount[0]}, {self.amount[1]}]")
        elif self.amount is not None:
            lines.append(f"    amount: {self.amount}")
        if self.after is not None:
            lines.append(f"    from: {self.after}")
        if self.before is not None:
            lines.append(f"    to: {self.before}")
        return lines


@dataclass
class Plan:
    """Possible faults. A seed turns the plan into a schedule; `swarm` selects some of the rules for each world."""

    rules: list[Rule] = field(default_factory=list)
    name: str = "plan"
    swarm: bool = False
    _text: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.rules
        for rule in given if isinstance(given, (list, tuple)) else [given]:
            if not isinstance(rule, Rule):
                raise TypeError(f"rules: a list of Rule is wanted, not {type(rule).__name__}; Plan.load() and Plan.from_yaml() read files")

    @classmethod
    def from_yaml(cls, text: str, source: str = "plan") -> Plan:
        """A plan as ``fabricbench campaign --faults`` reads it; SetupError names the line that is wrong."""
        return cls(name=source, _text=_core.plan_yaml(text, source))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """The same from a file."""
        with open(path, encoding="utf-8") as file:
            return cls.from_yaml(file.read(), str(path))

    @classmethod
    def standard(cls) -> Plan:
        """Faults of every layer, few enough for correct products to recover from: the default of campaigns."""
        return cls(name="standard", _text=_core.standard_plan())

    def to_yaml(self) -> str:
        """The plan as a file."""
        if self._text is not None:
            return self._text
        lines = [f"name: {self.name}", f"swarm: {'true' if self.swarm else 'false'}", "faults:" if self.rules else "faults: []"]
        for rule in self.rules:
            lines += rule._lines()
        return _core.plan_yaml("\n".join(lines) + "\n", self.name)

    def schedule(self, seed: int, places: Sequence[str]) -> Schedule:
        """The schedule for a seed and these places ("packet:host->target")."""
        return Schedule(_core.generate_schedule(self.to_yaml(), seed, list(places)))


class Schedule:
    """Decisions, each at a place and an ordinal: ``"packet:host->target#7 drop"``, ``"... delay 2000000"``."""

    def __init__(self, decisions: Iterable[str] = ()) -> None:
        if isinstance(decisions, str):
            raise TypeError("decisions: a list is wanted, not str; write ['" + decisions + "']")
        self.decisions = list(decisions)
        for decision in self.decisions:
            _core.tell_decision(decision)

    def __len__(self) -> int:
        return len(self.decisions)

    def without(self, index: int) -> Schedule:
        """The same without one decision; the others are not affected."""
        return Schedule(self.decisions[:index] + self.decisions[index + 1:])

    def story(self) -> list[str]:
        """As text: "drop packet 7 from host to target"."""
        return [_core.tell_decision(decision) for decision in self.decisions]

    def __repr__(self) -> str:
        return f"<Schedule of {len(self.decisions)}: {'; '.join(self.story()[:4])}>"


@dataclass(frozen=True)
class Strike:
    """A fault that occurred."""

    #: Seconds of the world's time.
    at: float
    decision: str
    story: str


def argument_of(faults: Any) -> Any:
    """What the core takes: None, the text of a plan, or decisions."""
    if faults is None:
        return None
    if isinstance(faults, Plan):
        return faults.to_yaml()
    if isinstance(faults, Schedule):
        return faults.decisions
    raise TypeError(f"faults: a Plan or a Schedule is wanted, not {type(faults).__name__}")
