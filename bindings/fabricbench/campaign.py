"""Campaigns: many seeded worlds under faults, with failures grouped by cause.

>>> from fabricbench import campaign
>>> result = campaign.run("rdma", seeds="1..20", deviations=["write_ends_wrong"])
>>> result.worlds, result.ok, result.failures[0].signature
(20, False, 'data: corrupt')
>>> small = campaign.shrink(result.failures[0].replay())

The same seeds on the machines of a Dask cluster: ``campaign.run(seeds="1..1000000", cluster="tcp://scheduler:8786")``.
Seed by seed the outcome is that of a run on one machine, and of ``fabricbench campaign`` with the same options.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fabricbench import _core
from fabricbench._errors import SetupError
from fabricbench._faults import Plan
from fabricbench._units import names_of

if TYPE_CHECKING:
    from distributed import Client

#: What the core makes of a seed: the fields of SeedOutcome.
Outcome = tuple[int, str, str, str, int, int]
#: Outcomes in the order of seeds.
Batches = Generator[list[Outcome], None, None]

#: Seconds that seeds run here between two looks at the progress.
_BATCH_S = 0.25


class SeedOutcome(NamedTuple):
    """Outcome of one seed."""

    seed: int
    #: pass, fail or inconclusive.
    verdict: str
    #: Of a failure: what failures with the same cause have in common.
    signature: str
    text: str
    #: Of the world: two runs of one seed have the same.
    digest: int
    #: Faults that occurred.
    strikes: int


@dataclass(frozen=True)
class Progress:
    """Progress of a campaign."""

    done: int
    total: int
    #: Distinct ones so far.
    failures: int
    seconds: float
    #: Something that a person should know, once: the cluster has no workers, say.
    note: str = ""

    @property
    def rate(self) -> float:
        """Worlds per second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Job:
    """What all seeds of a campaign have in common, as plain values that can be sent anywhere."""

    workload: str
    #: YAML; None is the standard plan.
    plan: str | None
    #: Commands of one world.
    steps: int
    deviations: tuple[str, ...]
    twice: bool

    def run(self, first: int, count: int, jobs: int) -> list[Outcome]:
        """So many seeds from `first` on, in `jobs` threads, without Python's lock."""
        return _core.run_seeds(self.workload, self.plan, first, count, self.steps, list(self.deviations), self.twice, jobs)


@dataclass(frozen=True)
class CampaignFailure:
    """Failures with one cause."""

    signature: str
    #: Of the first.
    text: str
    #: The lowest that shows it.
    seed: int
    #: Worlds that showed it.
    count: int
    #: Of the first one's world: 16 hexadecimal digits.
    digest: str
    _job: Job = field(repr=False, compare=False)

    def replay(self) -> str:
        """The text of a file for ``fabricbench replay`` and ``fabricbench shrink``, and for shrink() here."""
        return _core.replay_file(self._job.workload, self._job.plan, self._job.steps, list(self._job.deviations), self.seed,
                                 self.signature, int(self.digest, 16))


@dataclass(frozen=True)
class CampaignResult:
    """Result of a campaign."""

    workload: str
    #: The first and the last.
    seeds: tuple[int, int]
    worlds: int
    #: One a distinct cause, in the order of their first seeds.
    failures: list[CampaignFailure]
    #: Worlds whose faults went beyond what the specifications promise to survive.
    inconclusive: int
    #: Faults that occurred.
    strikes: int
    #: caught, missed (the campaign is void then), or not run.
    canary: str
    #: Of all outcomes in the order of seeds, as the command prints it: 16 hexadecimal digits.
    digest: str
    #: Of the worlds, without the canary's.
    seconds: float

    @property
    def rate(self) -> float:
        """Worlds per second."""
        return self.worlds / self.seconds if self.seconds > 0 else 0.0

    @property
    def ok(self) -> bool:
        """No failures, and the canary not missed: what the command ends with 0 for."""
        return not self.failures and self.canary != "missed"

    def __repr__(self) -> str:
        return (f"<CampaignResult {self.workload} {self.seeds[0]}..{self.seeds[1]}: {len(self.failures)} distinct failures, "
                f"{self.inconclusive} inconclusive, canary {self.canary}, digest {self.digest}>")


@dataclass(frozen=True)
class Shrunk:
    """A failure, reduced to what it needs."""

    #: The text of the smaller file.
    replay: str
    decisions_before: int
    decisions_after: int
    steps_before: int
    steps_after: int
    seconds: float
    #: What happens in its world, a sentence each.
    story: list[str]


def _seeds_of(seeds: range | tuple[int, int] | str) -> tuple[int, int]:
    first, last = -1, -1
    if isinstance(seeds, range) and seeds.step == 1:
        first, last = seeds.start, seeds.stop - 1
    elif isinstance(seeds, tuple) and len(seeds) == 2 and all(isinstance(seed, int) for seed in seeds):
        first, last = seeds
    elif isinstance(seeds, str) and (match := re.fullmatch(r"([0-9]+)(?:\.\.([0-9]+))?", seeds)):
        first, last = int(match[1]), int(match[2] or match[1])
    if not 0 <= first <= last < 1 << 64:
        raise SetupError(f"seeds: {seeds!r}: a range is wanted, as '1..10000', (1, 10000) or range(1, 10001), below 2^64")
    return first, last


def _within(name: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ValueError(f"{name}: {value} is outside {low} to {high}")
    return value


def _job_of(workload: str, plan: Plan | None, steps: int, deviations: Sequence[str], twice: bool) -> Job:
    if plan is not None and not isinstance(plan, Plan):
        raise TypeError(f"plan: a Plan is wanted, not {type(plan).__name__}")
    text = plan.to_yaml() if plan is not None else None
    job = Job(workload, text, _within("steps", steps, 1, 100_000), tuple(names_of(deviations, "deviations")), twice)
    job.run(0, 0, 1)  # names what is unknown
    return job


def resized(size: int, seconds: float, target_s: float) -> int:
    """How many seeds take so long, where these took `seconds`: at most four times as many, for few say little."""
    return max(1, min(int(size * target_s / max(seconds, 1e-6)), 4 * size))


def _run_here(job: Job, first: int, last: int, jobs: int) -> Batches:
    size = 4 * jobs
    while first <= last:
        size = min(size, last - first + 1)
        began = time.monotonic()
        outcomes = job.run(first, size, jobs)
        yield outcomes
        first += len(outcomes)
        size = resized(size, time.monotonic() - began, _BATCH_S)


def _run_there(cluster: str | Client, job: Job, first: int, last: int, note: Callable[[str], None]) -> Batches:
    try:
        from fabricbench import _dask
    except ModuleNotFoundError as missing:
        raise SetupError(f"cluster: there is no Python module '{missing.name}' (Debian: python3-distributed, PyPI: distributed)") from None
    return _dask.run(cluster, job, first, last, note)


def _batches(job: Job, first: int, last: int, jobs: int | None, cluster: str | Client | None,
             note: Callable[[str], None]) -> Batches:
    if cluster is None:
        return _run_here(job, first, last, _within("jobs", os.cpu_count() or 1 if jobs is None else jobs, 1, 256))
    if jobs is not None:
        raise ValueError("jobs: not beside a cluster; its workers say how many threads they have")
    return _run_there(cluster, job, first, last, note)


def seed_outcomes(workload: str = "mixed", *, plan: Plan | None = None, seeds: range | tuple[int, int] | str = "1..1000",
                  steps: int = 60, deviations: Sequence[str] = (), twice: bool = False, jobs: int | None = None,
                  cluster: str | Client | None = None,
                  note: Callable[[str], None] = lambda text: None) -> Generator[SeedOutcome, None, None]:
    """Each seed's outcome in the order of seeds, as soon as it and those before it are there.

    Arguments and errors are those of run(). `note` is told what a person should know. A caller that stops before the end closes
    the generator: what runs on a cluster is cancelled then.
    """
    job = _job_of(workload, plan, steps, deviations, twice)
    first, last = _seeds_of(seeds)
    batches = _batches(job, first, last, jobs, cluster, note)

    def one_by_one() -> Generator[SeedOutcome, None, None]:
        with closing(batches):
            for batch in batches:
                yield from map(SeedOutcome._make, batch)

    return one_by_one()


def run(workload: str = "mixed", *, plan: Plan | None = None, seeds: range | tuple[int, int] | str = "1..1000", steps: int = 60,
        deviations: Sequence[str] = (), twice: bool = False, jobs: int | None = None, cluster: str | Client | None = None,
        progress: Callable[[Progress], None] | None = None, canaries: bool = True) -> CampaignResult:
    """A campaign from its first seed to its last.

    `workload` is one of workloads(). Without a `plan` the faults are those of the standard one; ``Plan()`` has none. `seeds`
    are "1..1000" or (1, 1000), both included, or a range. `steps` is the number of commands in a world, `deviations` what the
    products do wrong, `twice` runs each world twice and fails where the digests differ. `jobs` is the number of threads here:
    as many as there are processors, if left out. `cluster` is the address of a Dask scheduler ("tcp://scheduler:8786") or a
    Client: seeds run on its workers then. `progress` is called now and then. With `canaries` a defect is planted afterwards,
    which has to be found.

    SetupError: an unknown workload or deviation, a plan that does not fit, no scheduler at that address, a worker with another
    version of fabricbench. Error: one seed came to two digests, or ended every worker that ran it. Ctrl-C is KeyboardInterrupt
    and cancels what runs on the cluster; use seed_outcomes() to keep the results so far.
    """
    job = _job_of(workload, plan, steps, deviations, twice)
    first, last = _seeds_of(seeds)
    fold = _core.CampaignFold(first)
    began = time.monotonic()

    def tell(done: int, note: str = "") -> None:
        if progress is not None:
            progress(Progress(done, last - first + 1, len(fold.result()["failures"]), time.monotonic() - began, note))

    done = 0
    batches = _batches(job, first, last, jobs, cluster, lambda text: tell(done, text))
    with closing(batches):
        for batch in batches:
            for outcome in batch:
                fold.take(outcome)
            done += len(batch)
            tell(done)
    seconds = time.monotonic() - began
    all_of_it = fold.result()
    failures = [CampaignFailure(one["signature"], one["text"], one["seed"], one["count"], f"{one['digest']:016x}", job)
                for one in all_of_it["failures"]]
    canary = _core.look_for_canaries(job.workload, job.plan, job.steps, first) if canaries else "not run"
    return CampaignResult(workload, (first, last), done, failures, all_of_it["inconclusive"], all_of_it["strikes"], canary,
                          all_of_it["digest"], seconds)


def shrink(replay: str, seconds: float = 25.0) -> Shrunk:
    """The smallest world found in so many seconds that still shows the failure of this replay file (its text).

    SetupError: the text is no such file, or its world does not fail as it says.
    """
    return Shrunk(**_core.shrink(replay, seconds))


def workloads() -> dict[str, str]:
    """Workloads: names, with a sentence for each."""
    return dict(_core.workloads())
