"""Campaigns from Python: the same as the command's, here and on a cluster of Dask on loopback, whatever ends in the middle."""

import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import threading
import time
import tty

import pytest

import fabricbench as fb
from fabricbench import campaign

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("FABRICBENCH", str(ROOT / "build" / "release" / "bin" / "fabricbench"))
PACKAGES = pathlib.Path(fb.__file__).parents[1]
PLANTED = "write_ends_wrong"

# Of Dask's own making, with the version of Tornado beside it.
pytestmark = pytest.mark.filterwarnings("ignore:make_current is deprecated")


def command(*arguments, expect=0, **environment):
    done = subprocess.run([PROGRAM, "campaign", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | environment)
    assert done.returncode == expect, done.stdout + done.stderr
    return done


class Watched:
    """The command with a terminal for its progress, so that its waiting can be for what it has done and not for some seconds."""

    LONG = 180  # a machine may be busy

    def __init__(self, *arguments, **options):
        terminal, its_end = pty.openpty()
        tty.setraw(its_end)
        self.process = subprocess.Popen([PROGRAM, "campaign", *map(str, arguments)], stdout=subprocess.PIPE, stderr=its_end, text=True,
                                        **options)
        os.close(its_end)
        self._said = b""
        self._reader = threading.Thread(target=self._read, args=(terminal,))
        self._reader.start()

    def _read(self, terminal):
        with contextlib.suppress(OSError), open(terminal, "rb", buffering=0) as shown:  # the other end is gone
            while some := shown.read(4096):
                self._said += some

    def until_it_has_done(self, worlds):
        end = time.monotonic() + self.LONG
        while not any(int(done) >= worlds for done in re.findall(rb"(\d+) of \d+ worlds", self._said)):
            assert self.process.poll() is None and time.monotonic() < end, self._said
            time.sleep(0.05)

    def finish(self):
        """Its exit code, what it printed, and what it said on standard error beside its progress."""
        out, _ = self.process.communicate(timeout=self.LONG)
        self._reader.join()
        return self.process.returncode, out, re.sub(r"\r\x1b\[K(\d+ of \d+ worlds[^\r\n]*)?", "", self._said.decode())


def the_same(result, said):
    """A result here and the command's JSON."""
    assert result.digest == said["digest"]
    assert (result.worlds, result.inconclusive, result.strikes, result.canary) == tuple(
        said[key] for key in ("worlds", "inconclusive", "strikes", "canary"))
    found = [{key: getattr(failure, key) for key in ("signature", "text", "seed", "count", "digest")} for failure in result.failures]
    assert found == [{key: failure[key] for key in found[0]} for failure in said["failures"]] if found else said["failures"] == []
    return True


# ---- on one machine ----

def test_a_campaign_is_that_of_the_command(tmp_path):
    said = json.loads(command("--seeds", "1..120", "--out", tmp_path, "--json").stdout)
    result = campaign.run(seeds="1..120", jobs=2)
    assert the_same(result, said) and result.ok and result.seeds == (1, 120)
    assert campaign.run(seeds=(1, 120), jobs=1).digest == campaign.run(seeds=range(1, 121), jobs=3).digest == result.digest


def test_seeds_that_once_blamed_an_honest_product():
    # A fault took the request away from who watches, not from its endpoint.
    for seed in (12945, 76949):
        assert not campaign.run(seeds=(seed, seed), canaries=False).failures


def test_a_failure_is_the_commands_replays_and_shrinks(tmp_path):
    said = json.loads(command("--workload", "tcp", "--seeds", "1..40", "--deviation", PLANTED, "--steps", 40, "--out", tmp_path, "--json",
                              expect=1).stdout)
    result = campaign.run("tcp", seeds="1..40", deviations=[PLANTED], steps=40)
    assert the_same(result, said) and not result.ok
    replay = result.failures[0].replay()
    assert json.loads(replay) == json.loads(pathlib.Path(said["failures"][0]["replay"]).read_text())
    small = campaign.shrink(replay, seconds=2)
    assert small.steps_after < small.steps_before and small.story
    with pytest.raises(fb.SetupError):
        campaign.shrink(replay.replace(f'"{PLANTED}"', ""), seconds=2)


def test_plans(tmp_path):
    none = campaign.run("rdma", plan=fb.Plan(), seeds="1..20", canaries=False)
    assert none.strikes == 0 and none.canary == "not run" and none.ok
    lossy = fb.Plan([fb.Rule("drop", every=40, most=12)], name="lossy")
    file = tmp_path / "plan.yaml"
    file.write_text(lossy.to_yaml())
    said = json.loads(command("--workload", "rdma", "--faults", file, "--seeds", "1..20", "--out", tmp_path, "--json").stdout)
    assert said["strikes"] > 20 and the_same(campaign.run("rdma", plan=lossy, seeds="1..20"), said)
    assert campaign.run(plan=fb.Plan.standard(), seeds="1..20").digest == campaign.run(seeds="1..20").digest


def test_outcomes_come_in_the_order_of_seeds_and_may_be_left():
    outcomes = campaign.seed_outcomes(seeds="7..1000000000", jobs=2)
    some = [next(outcomes) for _ in range(40)]
    outcomes.close()
    assert [one.seed for one in some] == list(range(7, 47))
    assert {one.verdict for one in some} <= {"pass", "inconclusive"} and all(one.digest for one in some)
    last = list(campaign.seed_outcomes(seeds=str(2**64 - 1)))
    assert [one.seed for one in last] == [2**64 - 1]


def test_progress_and_ctrl_c():
    told = []
    threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        campaign.run(seeds="1..100000000", progress=told.append)
    assert time.monotonic() - began < 5
    assert told and told[-1].done > 0 and told[-1].total == 100_000_000 and told[-1].rate > 0


@pytest.mark.parametrize(("wrong", "error", "words"), [
    ({"workload": "fc"}, fb.SetupError, "no workload 'fc'; known are: mixed"),
    ({"seeds": "5..1"}, fb.SetupError, "seeds: '5..1'"),
    ({"seeds": "all"}, fb.SetupError, "seeds: 'all'"),
    ({"seeds": ""}, fb.SetupError, "seeds: ''"),
    ({"seeds": range(5, 5)}, fb.SetupError, "seeds: range(5, 5)"),
    ({"seeds": range(1, 9, 2)}, fb.SetupError, "seeds: range(1, 9, 2)"),
    ({"seeds": (1, 2**64)}, fb.SetupError, "seeds: (1, 18446744073709551616)"),
    ({"seeds": (-1, 4)}, fb.SetupError, "seeds: (-1, 4)"),
    ({"seeds": 17}, fb.SetupError, "seeds: 17"),
    ({"plan": "faults: []"}, TypeError, "plan: a Plan is wanted, not str"),
    ({"workload": "management", "plan": fb.Plan([fb.Rule("drop", where="host->target")])}, fb.SetupError, "host->target"),
    ({"steps": 0}, ValueError, "steps: 0 is outside 1 to 100000"),
    ({"jobs": 0}, ValueError, "jobs: 0 is outside 1 to 256"),
    ({"deviations": "no_such"}, TypeError, "deviations: a list is wanted, not str"),
    ({"deviations": ["no_such"]}, fb.SetupError, "no_such"),
    ({"jobs": 2, "cluster": "tcp://127.0.0.1:1"}, ValueError, "jobs: not beside a cluster"),
    ({"cluster": 8786}, TypeError, "cluster: an address or a Client is wanted, not int"),
    ({"cluster": "scheduler"}, fb.SetupError, "scheduler: no Dask scheduler answers there: missing port number"),
    ({"cluster": "fc://scheduler:1"}, fb.SetupError, "fc://scheduler:1: no Dask scheduler answers there: unknown address scheme"),
])
def test_what_is_wrong_is_named(wrong, error, words):
    with pytest.raises(error) as caught:
        campaign.run(**wrong)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_workloads_have_names_and_words():
    assert set(campaign.workloads()) == {"mixed", "rdma", "tcp", "management"} and all(campaign.workloads().values())


def test_without_dask_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "fabricbench._dask", raising=False)
    monkeypatch.delattr(fb, "_dask", raising=False)
    with pytest.raises(fb.SetupError, match="no Python module 'distributed'"):
        campaign.run(cluster="tcp://127.0.0.1:8786")


# ---- on many ----

class Cluster:
    """A scheduler and workers on loopback, each a process of its own."""

    def __init__(self, folder, **settings):
        self._folder = folder
        self._environment = os.environ | {f"DASK_DISTRIBUTED__{key}": str(value) for key, value in settings.items()}
        self._processes = []
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
        self.address = self._address(file)

    def _start(self, program, *arguments, packages=PACKAGES):
        log = open(self._folder / f"{program}-{len(self._processes)}.log", "w")
        with log:
            process = subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{program}", *map(str, arguments), "--no-dashboard"],
                                       env=self._environment | {"PYTHONPATH": str(packages)}, stdout=log, stderr=log, cwd=self._folder,
                                       start_new_session=True)
        self._processes.append(process)
        return process

    def _address(self, file):
        for _ in range(600):
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                return json.loads(file.read_text())["address"]
            time.sleep(0.05)
        raise AssertionError((self._folder / "scheduler-0.log").read_text())

    def worker(self, *arguments, nanny=False, **options):
        return self._start("worker", self.address, "--nthreads", 1, "--nanny" if nanny else "--no-nanny", "--host", "127.0.0.1",
                           "--local-directory", self._folder / f"worker-{len(self._processes)}", *arguments, **options)

    def wait_for(self, count):
        import distributed
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=30)

    def close(self):
        for process in self._processes:  # a nanny's worker goes with it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers that nobody kills."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.worker()
    made.worker(nanny=True)
    made.wait_for(2)
    yield made
    made.close()


@pytest.fixture
def start_cluster(tmp_path):
    made = []

    def start(**settings):
        folder = tmp_path / f"cluster-{len(made)}"
        folder.mkdir()
        made.append(Cluster(folder, **settings))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def one_machine():
    """What came of the seeds of the tests that kill."""
    seeds = (1, 600)
    outcomes = list(campaign.seed_outcomes(seeds=seeds, deviations=[PLANTED]))
    assert len({one.verdict for one in outcomes}) > 1
    return seeds, outcomes, campaign.run(seeds=seeds, deviations=[PLANTED], canaries=False)


# Without allowed failures, Dask itself gives up what a dead worker had, and the campaign has to ask again.
@pytest.mark.parametrize("allowed", [3, 0])
def test_a_worker_that_dies_loses_no_seed_and_counts_none_twice(start_cluster, one_machine, allowed):
    seeds, here, result_here = one_machine
    cluster = start_cluster(SCHEDULER__ALLOWED_FAILURES=allowed)
    victims = [cluster.worker(), cluster.worker()]
    cluster.worker(nanny=True)
    cluster.wait_for(3)
    there = []
    for outcome in campaign.seed_outcomes(seeds=seeds, deviations=[PLANTED], cluster=cluster.address):
        there.append(outcome)
        if len(there) == 60:
            victims[0].kill()
    assert there == here
    told = []

    def kill_in_the_middle(progress):
        told.append(progress)
        if progress.done >= 60:
            victims[1].kill()

    result = campaign.run(seeds=seeds, deviations=[PLANTED], cluster=cluster.address, progress=kill_in_the_middle, canaries=False)
    killed_at = next(progress.done for progress in told if progress.done >= 60)
    assert killed_at < 600 and told[-1].done == 600 and victims[1].wait() == -signal.SIGKILL
    assert (result.digest, result.failures, result.strikes, result.inconclusive, result.worlds) == (
        result_here.digest, result_here.failures, result_here.strikes, result_here.inconclusive, 600)


def test_the_command_on_a_cluster_says_the_same(cluster, tmp_path):
    for options in (("--seeds", "1..400"), ("--seeds", "1..30", "--faults", "none", "--twice"),
                    ("--seeds", "5..300", "--workload", "tcp", "--deviation", PLANTED, "--stop-after", 1)):
        code = 1 if PLANTED in options else 0
        here, there = (json.loads(command(*options, *where, "--out", tmp_path, "--json", expect=code).stdout)
                       for where in ((), ("--dask", cluster.address)))
        for result in (here, there):
            del result["seconds"], result["rate_per_s"]
        assert there == here


def state_of(folder, seeds):
    """What a command has left that did not come to its end: with the digest of one machine."""
    state = json.loads((folder / "campaign.json").read_text())
    assert state["interrupted"] and 1 < state["next"] <= seeds
    assert state["digest"] == campaign.run(seeds=(1, state["next"] - 1), canaries=False).digest
    return state


def test_what_an_interrupted_command_has_done_is_gone_on_from(cluster, tmp_path):
    watched = Watched("--seeds", "1..1000000", "--out", tmp_path, "--dask", cluster.address, start_new_session=True)
    watched.until_it_has_done(20)
    os.killpg(watched.process.pid, signal.SIGINT)  # as a terminal does it: the command and its helper
    code, out, errors = watched.finish()
    assert (code, errors) == (130, "") and "INTERRUPTED" in out
    state = state_of(tmp_path, 1_000_000)
    last = state["next"] + 99
    (tmp_path / "campaign.json").write_text(json.dumps(state | {"seeds": f"1..{last}"}))
    rest = command("--seeds", f"1..{last}", "--dask", cluster.address, "--resume", tmp_path / "campaign.json", "--json")
    assert json.loads(rest.stdout)["digest"] == campaign.run(seeds=(1, last), canaries=False).digest


def test_a_scheduler_that_goes_leaves_what_was_done(start_cluster, tmp_path):
    cluster = start_cluster()
    cluster.worker()
    cluster.wait_for(1)
    watched = Watched("--seeds", "1..1000000", "--out", tmp_path, "--dask", cluster.address)
    watched.until_it_has_done(20)
    cluster.scheduler.kill()
    code, out, errors = watched.finish()
    assert (code, errors) == (2, f"fabricbench: {cluster.address}: the Dask scheduler is gone\n")
    assert "INTERRUPTED" in out and f"--resume {tmp_path / 'campaign.json'}" in out
    state_of(tmp_path, 1_000_000)


def test_wrong_surroundings_of_the_command(tmp_path):
    nowhere = "tcp://127.0.0.1:1"
    began = time.monotonic()
    errors = command("--seeds", "1..3", "--dask", nowhere, "--out", tmp_path, expect=2).stderr
    assert errors.startswith(f"fabricbench: {nowhere}: no Dask scheduler answers there: ") and errors.count("\n") == 1
    assert time.monotonic() - began < 20
    errors = command("--dask", nowhere, "--jobs", 2, expect=2).stderr
    assert "--jobs" in errors and "--dask" in errors and errors.count("\n") == 1
    errors = command("--dask", nowhere, "--workload", "fc", expect=2).stderr
    assert "no workload 'fc'" in errors and errors.count("\n") == 1
    errors = command("--dask", nowhere, expect=2, FABRICBENCH_PYTHON="/no/such/python").stderr
    assert "/no/such/python" in errors and "FABRICBENCH_PYTHON" in errors and errors.count("\n") == 1
    errors = command("--dask", nowhere, expect=2, FABRICBENCH_PYTHON="false").stderr
    assert errors == "fabricbench: false: it ended too early\n"
    assert list(tmp_path.iterdir()) == []


def test_workers_that_cannot_run_seeds_are_named(start_cluster, tmp_path):
    old = tmp_path / "old.py"
    old.write_text("from fabricbench import _core\n_core.__version__ = '0.0.9'\n")
    cluster = start_cluster()
    notes = []
    worker = cluster.worker("--preload", old)
    with pytest.raises(fb.SetupError, match=r"^worker tcp://127.0.0.1:\d+: it has fabricbench 0\.0\.9 .*, and this campaign is of "):
        campaign.run(seeds="1..50", cluster=cluster.address, progress=lambda progress: notes.append(progress.note))
    worker.kill()
    worker.wait()
    # Nobody was there at first; that is said once.
    assert notes == [f"{cluster.address}: the cluster has no workers; waiting for some"]
    empty = tmp_path / "empty"
    empty.mkdir()
    cluster.worker(packages=empty)
    with pytest.raises(fb.SetupError, match=r"^worker tcp://127.0.0.1:\d+: it has no fabricbench"):
        campaign.run(seeds="1..50", cluster=cluster.address)


def test_somebodys_own_client(cluster):
    import distributed
    with distributed.Client(cluster.address, set_as_default=False) as client:
        assert campaign.run(seeds="1..60", cluster=client).digest == campaign.run(seeds="1..60").digest
        outcomes = campaign.seed_outcomes(seeds="1..10000000", cluster=client)
        assert next(outcomes).seed == 1
        began = time.monotonic()
        outcomes.close()
        assert time.monotonic() - began < 5 and client.status == "running"


def test_what_the_documentation_shows_runs(cluster):
    text = (ROOT / "docs" / "campaigns-on-a-cluster.md").read_text()
    blocks = re.findall(r"<!-- runs on loopback -->\n```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block.replace("tcp://scheduler:8786", cluster.address), "campaigns-on-a-cluster.md", "exec"), {})


# ---- what a cluster seldom does, by one that does nothing else ----

class FakeFuture:
    def __init__(self, client, key, answer):
        self.key, self._client, self.answer = key, client, answer

    def add_done_callback(self, call):
        self._call = call
        if self.answer is not None:
            call(self)

    def finish(self, answer):
        self.answer = answer
        self._call(self)

    def result(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class FakeClient:
    """One that asks `decide` for each chunk: an answer, an exception, or None for none yet."""

    status = "running"
    scheduler = type("Scheduler", (), {"address": "tcp://fake:1"})

    def __init__(self, decide):
        self._decide = decide
        self.asked = []
        self.futures = []

    def nthreads(self):
        return {"tcp://a:1": 1, "tcp://b:1": 1}

    def processing(self):
        return {"tcp://a:1": [future.key for future in self.futures if future.answer is None]}

    def cancel(self, futures, force):
        self.cancelled = len(futures)

    def submit(self, function, wanted, job, first, count, *, key, workers, **options):
        self.asked.append((first, count, workers))
        self.futures.append(FakeFuture(self, key, self._decide(self, job, first, count, workers)))
        return self.futures[-1]


def fake_run(decide, seeds=(1, 400)):
    from fabricbench import _dask
    client = FakeClient(decide)
    job = campaign.Job("mixed", None, 5, (), False)
    outcomes = [one for batch in _dask._Campaign(client, job, *seeds, note=lambda text: None).batches() for one in batch]
    return client, outcomes


def answer(job, first, count, worker="tcp://a:1", seconds=0.01):
    return worker, "", seconds, job.run(first, count, 1)


def test_chunks_grow_to_what_takes_a_second_and_shrink_towards_the_end():
    client, outcomes = fake_run(lambda client, job, first, count, workers: answer(job, first, count, seconds=count * 0.025), (1, 1600))
    assert [one[0] for one in outcomes] == list(range(1, 1601))
    sizes = [count for first, count, workers in client.asked]
    assert sizes[0] == 4 and 30 <= max(sizes) <= 40 and sizes[-1] == 1


def test_a_chunk_that_ends_every_worker_is_named():
    import distributed

    class Gone:
        address = "tcp://c:1"

    def decide(client, job, first, count, workers):
        return distributed.KilledWorker("key", Gone, 3) if first <= 150 < first + count else answer(job, first, count)

    with pytest.raises(fb.Error, match=r"seeds \d+\.\.\d+ ended 8 workers one after the other, the last tcp://c:1") as caught:
        fake_run(decide)
    first, last = map(int, re.search(r"(\d+)\.\.(\d+)", str(caught.value)).groups())
    assert first <= 150 <= last and not isinstance(caught.value, fb.SetupError)


def test_a_chunk_that_the_scheduler_lost_is_asked_for_again():
    import distributed
    lost = set()

    def decide(client, job, first, count, workers):
        if first in lost:
            return answer(job, first, count)
        lost.add(first)
        return distributed.CancelledError()

    client, outcomes = fake_run(decide)
    assert [one[0] for one in outcomes] == list(range(1, 401)) and len(client.asked) == 2 * len(lost)


def test_a_straggler_is_given_to_another_worker_and_counts_once(monkeypatch):
    from fabricbench import _dask
    monkeypatch.setattr(_dask, "STRAGGLER_S", 0.0)

    def decide(client, job, first, count, workers):
        return None if first == 5 and workers is None else answer(job, first, count)

    client, outcomes = fake_run(decide)
    assert [one[0] for one in outcomes] == list(range(1, 401))
    assert [workers for first, count, workers in client.asked if first == 5] == [None, ["tcp://b:1"]]
    assert client.cancelled == 1


def test_two_answers_that_differ_are_reported(monkeypatch):
    from fabricbench import _dask
    monkeypatch.setattr(_dask, "STRAGGLER_S", 0.0)

    def other(job, first, count):
        worker, problem, seconds, outcomes = answer(job, first, count, "tcp://b:1")
        return worker, problem, seconds, [(*one[:4], one[4] ^ 1, one[5]) for one in outcomes]

    late = {}

    def decide(client, job, first, count, workers):
        """Both copies of 9 are answered before 5 is, so that nothing of it has been given away."""
        if first in (5, 9) and workers is None:
            late[first] = len(client.futures)
            return None
        if first == 9:
            client.futures[late[9]].finish(other(job, 9, count))
        if first == 5:
            threading.Timer(0.5, lambda: client.futures[late[5]].finish(answer(job, 5, count))).start()
            return None
        return answer(job, first, count)

    client, outcomes = fake_run(decide)
    assert [one[0] for one in outcomes if one[1] == "fail"] == [9, 10, 11, 12]
    assert outcomes[8][2] == "not deterministic" and "tcp://a:1" in outcomes[8][3] and "tcp://b:1" in outcomes[8][3]

    def decide_late(client, job, first, count, workers):
        """5 was given away when its first copy comes back after all, and something is still to be done."""
        if first == 5 and workers is None:
            late[5] = len(client.futures)
            return None
        if first == 105:
            threading.Timer(0.5, lambda: client.futures[late[5]].finish(other(job, 5, 4))).start()
            return None
        return answer(job, first, count)

    with pytest.raises(fb.Error, match="seed 5: not deterministic: two runs of one world differ: "):
        fake_run(decide_late, (1, 105))
