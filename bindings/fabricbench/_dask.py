"""Seeds on the workers of a Dask cluster. fabricbench.campaign comes here when a cluster is asked for, and the command
`fabricbench campaign --dask` starts this as a program; main() says what the two say to each other."""

# mypy: allow-untyped-calls
# (Half of distributed has no types.)

from __future__ import annotations

import asyncio
import functools
import importlib.util
import json
import logging
import os
import queue
import signal
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import dask
import distributed
from distributed.comm.core import connect

from fabricbench import _core
from fabricbench._errors import Error, SetupError
from fabricbench.campaign import Batches, Job, Outcome, resized

#: Seconds until a scheduler that does not answer is not there.
CONNECT_S = 5.0
#: Seconds that a chunk of seeds should take: long against what handing it out costs, short against what is lost with it.
CHUNK_S = 1.0
#: Seeds of the first chunks; what they take says how many come next.
CHUNK_FIRST = 4
#: Chunks that are in hand or waiting for each thread of a worker. An adaptive cluster of Dask grows while there are more than
#: five seconds of work for a worker; it takes two of these at their length and those that wait for half a second each.
IN_FLIGHT = 12
#: Seeds handed out beyond the first whose outcome is not there yet: outcomes are kept until all before them are there.
AHEAD_MAX = 500_000
#: Workers that a chunk, alone on trial, may end before the campaign is given up.
ENDED_MAX = 5
#: Seconds after which a chunk without an answer is given to another worker too, and how many times what it should take.
STRAGGLER_S = 60.0
STRAGGLER_TIMES = 20
#: Seconds between two looks at who is there.
LOOK_S = 1.0

#: A worker's address, what is wrong with it ("" for nothing), seconds that the seeds took, outcomes.
Answer = tuple[str, str, float, list[Outcome]]


# ---- on a worker ----

@functools.lru_cache(maxsize=None)
def build() -> str:
    """The version, and a number made of what a few worlds come to: a build in which they come to something else is another."""
    fold = _core.CampaignFold(1)
    for outcome in _core.run_seeds("mixed", None, 1, 6, 60, [], False, 1):
        fold.take(outcome)
    return f"{_core.__version__} ({fold.result()['digest']})"


def run_chunk(wanted: str, job: Job, first: int, count: int) -> Answer:
    """The task. It raises nothing: an answer names its worker, an exception would not."""
    worker: str = distributed.get_worker().address
    try:
        if build() != wanted:
            return worker, f"it has fabricbench {build()}, and this campaign is of {wanted}", 0.0, []
        began = time.monotonic()
        outcomes = job.run(first, count, 1)
        return worker, "", time.monotonic() - began, outcomes
    except Exception as error:
        return worker, f"{type(error).__name__}: {error}", 0.0, []


# ---- here ----

async def _identity(address: str) -> dict[str, Any]:
    security = distributed.Security().get_connection_args("client")
    comm = await connect(address, timeout=CONNECT_S, **security)
    try:
        await comm.write({"op": "identity", "reply": True})
        identity: dict[str, Any] = await asyncio.wait_for(comm.read(), CONNECT_S)
        return identity
    finally:
        comm.abort()


def _connect(address: str) -> distributed.Client:
    """A client. A look beforehand, since one that cannot connect complains for seconds after its exception."""
    try:
        # In a thread, for the caller's may have an event loop of its own.
        with ThreadPoolExecutor(1) as thread:
            identity: dict[str, Any] = thread.submit(lambda: asyncio.run(_identity(address))).result()
        if identity.get("type") != "Scheduler":
            raise SetupError(f"{address}: a {identity.get('type')} of Dask answers there, not the scheduler")
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False, name="fabricbench")
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(f"{address}: no Dask scheduler answers there: {_line(error)}") from error


def _line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


@dataclass(eq=False)
class _Chunk:
    """Seeds that are run together."""

    first: int
    count: int
    #: When it was last given to a worker, in time.monotonic().
    asked_at: float = 0.0
    #: How often it was given out.
    copies: int = 0
    #: Workers that ended while they had it.
    ended: int = 0
    on_trial: bool = False
    #: Who ran it, once it was run.
    worker: str = ""
    outcomes: list[Outcome] = field(default_factory=list)


class _Campaign:
    """Hands out chunks, and puts what comes back into the order of seeds. What a chunk came to counts once, however often it
    was run."""

    def __init__(self, client: distributed.Client, job: Job, first: int, last: int, note: Callable[[str], None]) -> None:
        self._client: Any = client
        self._address: str = self._client.scheduler.address
        self._job = job
        self._last = last
        self._note = note
        self._name = f"fabricbench-{uuid.uuid4().hex}"
        self._next = first  # to be handed out
        self._told = first  # outcomes below it have been given away
        self._open: dict[int, _Chunk] = {}  # by first seed, in their order: handed out and not given away
        self._in_flight: dict[distributed.Future, _Chunk] = {}
        self._finished: queue.SimpleQueue[distributed.Future] = queue.SimpleQueue()
        self._suspects: deque[_Chunk] = deque()
        self._trial: _Chunk | None = None
        self._seconds_a_seed = 0.0
        self._size = CHUNK_FIRST
        self._threads: dict[str, int] = {}
        self._looked_at = -LOOK_S
        self._dry = False

    def batches(self) -> Batches:
        try:
            while self._told <= self._last:
                self._look_around()
                self._hand_out()
                self._try_suspect()
                self._help_stragglers()
                for future in self._wait():
                    self._take(future)
                if ready := self._ready():
                    yield ready
        except OSError as lost:  # whichever call it was that met it first: processing(), run(), submit()
            raise self._gone() from lost
        finally:
            self._leave()

    # ---- out ----

    def _look_around(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        self._check()
        before = self._threads
        try:
            self._threads = self._client.nthreads()
        except (OSError, asyncio.TimeoutError):  # the client is connecting again, or gives up
            return
        if self._threads and not before:
            for chunk in self._open.values():  # nobody could have run them
                chunk.asked_at = now
        if not self._threads and not self._dry:
            self._note(f"{self._address}: the cluster has no workers; waiting for some")
        self._dry = not self._threads

    def _check(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()

    def _gone(self) -> SetupError:
        return SetupError(f"{self._address}: the Dask scheduler is gone")

    def _hand_out(self) -> None:
        threads = max(1, sum(self._threads.values()))
        while (self._next <= self._last and len(self._in_flight) < IN_FLIGHT * threads and self._next - self._told < AHEAD_MAX):
            left = self._last - self._next + 1
            # Smaller ones towards the end, so that all threads end at about the same time.
            chunk = _Chunk(self._next, min(self._size, left, left // (2 * threads) + 1))
            self._next += chunk.count
            self._open[chunk.first] = chunk
            self._submit(chunk)

    def _submit(self, chunk: _Chunk, priority: int = 0, workers: Sequence[str] | None = None) -> None:
        chunk.asked_at = time.monotonic()
        chunk.copies += 1
        key = f"{self._name}-{chunk.first}-{chunk.copies}"
        future = self._client.submit(run_chunk, build(), self._job, chunk.first, chunk.count, key=key, pure=False, priority=priority,
                                     workers=workers, allow_other_workers=workers is not None)
        self._in_flight[future] = chunk
        future.add_done_callback(self._finished.put)

    def _try_suspect(self) -> None:
        """Chunks whose workers ended more often than Dask allows, one at a time: most only stood in line behind another."""
        if self._trial is None and self._suspects and self._threads:
            self._trial = self._suspects.popleft()
            self._trial.on_trial = True
            self._submit(self._trial, priority=10)

    def _help_stragglers(self) -> None:
        """What takes far too long is given to another worker too: its machine may be hung, or cut off."""
        if len(self._threads) < 2 or self._seconds_a_seed == 0.0:
            return
        now = time.monotonic()
        late = {future: chunk for future, chunk in self._in_flight.items()
                if chunk.copies == 1 and now - chunk.asked_at > max(STRAGGLER_S, STRAGGLER_TIMES * chunk.count * self._seconds_a_seed)}
        if not late:
            return
        holders = {key: worker for worker, keys in self._client.processing().items() for key in keys}
        for future, chunk in late.items():
            others = [worker for worker in self._threads if worker != holders.get(future.key)]
            self._submit(chunk, priority=10, workers=others)

    # ---- in ----

    def _wait(self) -> list[distributed.Future]:
        finished = []
        try:
            finished.append(self._finished.get(timeout=0.2))
            while True:
                finished.append(self._finished.get_nowait())
        except queue.Empty:
            return finished

    def _take(self, future: distributed.Future) -> None:
        chunk = self._in_flight.pop(future)
        try:
            answer: Answer = future.result()
        except distributed.KilledWorker as killed:
            self._workers_ended(chunk, killed)
            return
        except distributed.CancelledError:  # the scheduler lost it, or its connection was lost
            self._check()
            if not chunk.worker:
                self._submit(chunk, priority=10)
            return
        except Exception as error:  # the task could not even begin
            raise SetupError(self._who_lacks_it() or f"{self._address}: a worker cannot run seeds: {_line(error)}") from error
        worker, problem, seconds, outcomes = answer
        if problem:
            raise SetupError(f"worker {worker}: {problem}")
        if chunk is self._trial:
            self._trial = None
        if chunk.worker:
            self._compare(chunk, worker, outcomes)
            return
        chunk.worker, chunk.outcomes = worker, outcomes
        self._learn(chunk.count, seconds)

    def _learn(self, count: int, seconds: float) -> None:
        before = self._seconds_a_seed or seconds / count
        self._seconds_a_seed = 0.7 * before + 0.3 * seconds / count
        # Small chunks that come late must not undo what large ones have said.
        known = max(count, self._size)
        self._size = min(resized(known, known * self._seconds_a_seed, CHUNK_S), AHEAD_MAX)

    def _workers_ended(self, chunk: _Chunk, killed: distributed.KilledWorker) -> None:
        chunk.ended += killed.allowed_failures + 1
        if chunk is self._trial:
            self._trial = None
        if chunk.on_trial and chunk.ended >= ENDED_MAX:
            raise Error(f"seeds {chunk.first}..{chunk.first + chunk.count - 1} ended {chunk.ended} workers one after the other, "
                        f"the last {killed.last_worker.address}; run without a cluster they may show why")
        if not chunk.worker:
            self._suspects.append(chunk)

    def _compare(self, chunk: _Chunk, worker: str, outcomes: list[Outcome]) -> None:
        """A chunk came back twice: what counts is the first answer, and the second has to be the same."""
        for index, (one, other) in enumerate(zip(chunk.outcomes, outcomes, strict=True)):
            if one[4] == other[4]:
                continue
            what = f"two runs of one world differ: {one[4]:016x} on {chunk.worker}, {other[4]:016x} on {worker}"
            if chunk.first not in self._open:
                raise Error(f"seed {one[0]}: not deterministic: {what}")
            chunk.outcomes[index] = (one[0], "fail", "not deterministic", what, *one[4:])

    def _who_lacks_it(self) -> str:
        """A worker without this module, in words; empty when each has it."""
        found = self._client.run(importlib.util.find_spec, __name__, on_error="return")
        for worker, spec in found.items():
            if spec is None or isinstance(spec, BaseException):
                return f"worker {worker}: it has no fabricbench, or an old one: {'no ' + __name__ if spec is None else _line(spec)}"
        return ""

    def _ready(self) -> list[Outcome]:
        ready: list[Outcome] = []
        while (chunk := self._open.get(self._told)) is not None and chunk.worker:
            del self._open[chunk.first]
            self._told += chunk.count
            ready += chunk.outcomes
        return ready

    def _leave(self) -> None:
        if self._in_flight and self._client.status == "running":
            try:
                self._client.cancel(list(self._in_flight), force=True)
            except Exception:  # the scheduler is gone, and what was cancelled with it
                pass


def run(cluster: str | distributed.Client, job: Job, first: int, last: int, note: Callable[[str], None]) -> Batches:
    """The outcomes of these seeds in their order; SetupError, Error as campaign.run() has them."""
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise ValueError("cluster: an asynchronous Client cannot be waited for; give its scheduler's address")
        yield from _Campaign(cluster, job, first, last, note).batches()
        return
    if not isinstance(cluster, str):
        raise TypeError(f"cluster: an address or a Client is wanted, not {type(cluster).__name__}")
    client = _connect(cluster)
    try:
        yield from _Campaign(client, job, first, last, note).batches()
    finally:
        client.close(timeout=2)


# ---- for the command ----

def _request() -> dict[str, Any]:
    text = b""
    while not text.endswith(b"\n"):
        more = os.read(0, 65536)
        if not more:
            raise SetupError("no campaign on standard input")
        text += more
    request: dict[str, Any] = json.loads(text)
    return request


def _end_with_the_command() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _say(lines: Sequence[object]) -> None:
    sys.stdout.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    sys.stdout.flush()


def main(address: str) -> int:
    """Reads a campaign from standard input, one line of JSON: version, workload, plan (YAML), first, last, steps, deviations,
    twice. Writes lines of JSON: an outcome each, [seed, verdict, signature, text, digest, strikes], in the order of seeds;
    {"note": text} in between; {"error": text} as the last where something is wrong. The end of standard input ends it."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)  # what matters is said in words
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    dask.config.set({"distributed.comm.timeouts.connect": CONNECT_S})  # of a scheduler that was there before
    try:
        asked = _request()
        threading.Thread(target=_end_with_the_command, daemon=True).start()
        if asked["version"] != _core.__version__:
            raise SetupError(f"the command is of version {asked['version']}, the Python package of {_core.__version__} ({_core.__file__})")
        job = Job(asked["workload"], asked["plan"], asked["steps"], tuple(asked["deviations"]), asked["twice"])
        for batch in run(address, job, asked["first"], asked["last"], lambda text: _say([{"note": text}])):
            _say(batch)
        return 0
    except (KeyboardInterrupt, BrokenPipeError):  # the command has ended it, or has ended itself
        return 130
    except Error as problem:
        _say([{"error": str(problem)}])
    except Exception as broken:
        _say([{"error": f"{address}: {type(broken).__name__}: {_line(broken)}"}])
    return 2


if __name__ == "__main__":
    # Workers know the module by its name, so the one that runs must have it too.
    from fabricbench import _dask

    code = _dask.main(sys.argv[1])
    # Threads of Dask that still wait for a lost scheduler keep nobody here.
    os._exit(code)
