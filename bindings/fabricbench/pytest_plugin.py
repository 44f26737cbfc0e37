"""fabricbench for pytest: worlds as fixtures, the exchange in a failure's output, the conformance suite as items.

    pytest -p fabricbench.pytest_plugin scenarios
    pytest -p fabricbench.pytest_plugin --fabricbench-suite nvmeof,mi

Fixtures: world, subsystem, host, dut, mctp_bus, endpoint, faults. Markers: requirement, seeds, deviation, faults, breaks.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import tempfile
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from _pytest.runner import collect_one_node

import fabricbench as fb
from fabricbench._units import address_towards, check_product
from fabricbench.suite import Case, CaseResult, Suite, deviations, requirements, suites_of

_MARKERS = [
    "requirement(id): the requirement that the scenario is about; it stands in the report",
    "seeds(count): runs the test once for each seed, from --fb-seed on",
    "deviation(name): the emulated product behind the fixtures misbehaves so (fabricbench list --deviations)",
    "faults(plan): a Plan or Schedule for the test's world",
    "breaks(rule, ...): rules that the scenario breaks on purpose; any other finding of the monitors fails it",
]


#: Where a session without a report keeps its captures.
_FOLDER = pytest.StashKey[pathlib.Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fabricbench")
    group.addoption("--fb-dut", default="embedded", metavar="URL",
                    help="the product under test: embedded (default), tcp://ADDRESS:PORT[/NQN] ...")
    group.addoption("--fb-local", default="", metavar="HOST", help="our own address, for a product at an address")
    group.addoption("--fb-seed", type=int, default=1, metavar="N", help="seed of every random choice (default 1)")
    group.addoption("--fb-report", default="", metavar="DIR", help="leave results.json and the captures of failures in this folder")
    group.addoption("--fb-ladder", type=int, default=60, metavar="N",
                    help="lines of the exchange that a failure shows (default 60; 0: all)")
    group.addoption("--fb-deviation", action="append", default=[], metavar="NAME", help="make the embedded product misbehave in one way")
    group.addoption("--fabricbench-suite", default="", metavar="LIST",
                    help="run these suites as items: fabrics, discovery, nvme, rdma, cm, tcp, auth, mctp, mi; nvmeof, all")


class NeverWaited(UserWarning):
    """A test started an operation and never used its value."""


def pytest_configure(config: pytest.Config) -> None:
    try:
        check_product(str(config.getoption("--fb-dut")))
    except ValueError as problem:
        raise pytest.UsageError(f"--fb-dut {problem}") from None
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    # Whoever asks for suites and names no file wants the suites alone.
    if config.getoption("--fabricbench-suite") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


def _is_real(config: pytest.Config) -> bool:
    return bool(config.getoption("--fb-dut") != "embedded")


# ---- fixtures ----

def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("seeds")
    if marker is None or "fb_seed" not in metafunc.fixturenames:
        return
    first = metafunc.config.getoption("--fb-seed")
    seeds = range(first, first + int(marker.args[0]))
    metafunc.parametrize("fb_seed", seeds, ids=[f"seed{seed}" for seed in seeds])


@pytest.fixture
def fb_seed(request: pytest.FixtureRequest) -> int:
    """The seed of the test's world: --fb-seed, or one of those of the marker `seeds`."""
    seed: int = request.config.getoption("--fb-seed")
    return seed


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> fb.Plan | fb.Schedule | None:
    """The faults of the test's world: those of the marker `faults`. Override it to compute them."""
    marker = request.node.get_closest_marker("faults")
    return None if marker is None else marker.args[0]


@pytest.fixture
def world(request: pytest.FixtureRequest, fb_seed: int, faults: fb.Plan | fb.Schedule | None) -> Iterator[fb.World]:
    """A separate, recorded world for the test, with monitors."""
    real = _is_real(request.config)
    with fb.World(seed=fb_seed, real=real, faults=faults, record=True, monitors=True, title=request.node.name) as made:
        request.node.fb_world = made
        made._core.watch_ops(os.path.dirname(os.path.abspath(fb.__file__)))
        yield made
        _check_operations(request.node, made)
        allowed: set[str] = set()
        for marker in request.node.iter_markers("breaks"):
            allowed.update(marker.args)
        broken = [] if made.closed else [one for one in made.findings() if one["level"] == "mandatory" and one["rule"] not in allowed]
        excused = faults is not None or request.node.get_closest_marker("deviation") is not None or "*" in allowed
        if broken and not excused:
            lines = ["rules were broken; mark the test with @pytest.mark.breaks(...) where that is its purpose:"]
            for one in broken[:10]:
                lines.append(f"{one['rule']} ({one['requirement']}) by {one['actor']}, packet {one['packet']}: {one['text']}")
            pytest.fail("\n".join(lines), pytrace=False)


def _check_operations(item: pytest.Item, world: fb.World) -> None:
    """Fails a test that left an error in an operation, and warns of operations that nobody waited for."""
    if world.closed or getattr(item, "fb_failed", False):
        return
    errors = []
    for file, line, what, error, waited in world._core.unobserved_ops():
        if error is not None:
            errors.append(f"{file}:{line}: {what}: {error}")
        elif not waited:
            warnings.warn_explicit(f"never waited for: {what}; call .wait(), or .cancel() where its value does not matter",
                                   NeverWaited, file or str(item.path), line)
    if errors:
        pytest.fail("\n".join(["operations ended with an error that the test did not look at; call .wait():", *errors[:10]]), pytrace=False)


def _deviations(request: pytest.FixtureRequest) -> list[str]:
    return [str(marker.args[0]) for marker in request.node.iter_markers("deviation")]


def _product_of(name: str) -> str:
    for one in deviations():
        if one["name"] == name:
            return one["product"]
    raise pytest.UsageError(f"deviation '{name}': there is none of that name")


def _deviations_for(request: pytest.FixtureRequest, *products: str) -> list[str]:
    return [name for name in _deviations(request) if _product_of(name) in products]


@pytest.fixture
def subsystem(request: pytest.FixtureRequest, world: fb.World) -> fb.Subsystem:
    """An emulated subsystem over RDMA with one namespace of 64 MiB. Skipped with a product at an address."""
    if _is_real(request.config):
        pytest.skip("reaches behind the product: it needs the emulated one")
    return world.subsystem(deviations=_deviations_for(request, "controller", "rdma", "cm"))


@pytest.fixture
def host(request: pytest.FixtureRequest, world: fb.World) -> fb.Host:
    """A host; over the transport of the product at an address, otherwise over RDMA."""
    wrongs = _deviations_for(request, "host")
    url = str(request.config.getoption("--fb-dut"))
    if not _is_real(request.config):
        return world.host(deviations=wrongs)
    local = str(request.config.getoption("--fb-local")) or address_towards(url)
    return world.host(transport=url.split(":")[0], address=local, deviations=wrongs)


@pytest.fixture
def dut(request: pytest.FixtureRequest) -> Any:
    """What host.connect() takes: the emulated subsystem, or the URL of --fb-dut."""
    if _is_real(request.config):
        return request.config.getoption("--fb-dut")
    return request.getfixturevalue("subsystem")


@pytest.fixture
def mctp_bus(request: pytest.FixtureRequest, world: fb.World) -> fb.MctpBus:
    """An SMBus with two drives, enumerated: EIDs 9 and 10."""
    if _is_real(request.config):
        pytest.skip("the virtual bus is emulated")
    bus = world.mctp_bus()
    bus.add_drive(deviations=_deviations_for(request, "endpoint"))
    bus.add_drive()
    bus.enumerate()
    return bus


@pytest.fixture
def endpoint(mctp_bus: fb.MctpBus) -> fb.Endpoint:
    """The management endpoint of the bus's first drive, as a requester on it sees it."""
    return mctp_bus.requester().endpoint(9)


# ---- what a failure shows ----

def _file_name(nodeid: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.=-]+", "_", nodeid.replace(".py::", "-")) + ".pcapng"


def _folder(config: pytest.Config) -> pathlib.Path:
    """Where captures go: the report's, or one of the session's own."""
    report = config.getoption("--fb-report")
    if report:
        folder = pathlib.Path(report) / "captures"
    else:
        if _FOLDER not in config.stash:
            config.stash[_FOLDER] = pathlib.Path(tempfile.mkdtemp(prefix="fabricbench-"))
        folder = config.stash[_FOLDER]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _reproduce(item: pytest.Item) -> str:
    config = item.config
    seed = item.callspec.params.get("fb_seed") if hasattr(item, "callspec") else None
    # From where pytest was started, wherever its root is.
    path = os.path.relpath(item.path, config.invocation_params.dir)
    words = ["pytest", "-p", "fabricbench.pytest_plugin", "::".join([path, *item.nodeid.split("::")[1:]])]
    if seed is not None:
        words[-1] = re.sub(r"seed\d+", "seed" + str(seed), words[-1])
        words += ["--fb-seed", str(config.getoption("--fb-seed"))]
    elif config.getoption("--fb-seed") != 1:
        words += ["--fb-seed", str(config.getoption("--fb-seed"))]
    if _is_real(config):
        words += ["--fb-dut", config.getoption("--fb-dut")]
    return shlex.join(words)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if call.when == "call":
        setattr(item, "fb_failed", report.failed)
    for marker in item.iter_markers("requirement"):
        if call.when == "call":
            item.user_properties.append(("requirement", str(marker.args[0])))
            report.user_properties = list(item.user_properties)
    made: fb.World | None = getattr(item, "fb_world", None)
    if made is None or not report.failed or made.closed:
        return
    try:
        path = _folder(item.config) / _file_name(item.nodeid)
        made.save_capture(path)
        ladder = made.ladder(item.config.getoption("--fb-ladder"))
    except fb.Error as problem:
        report.sections.append(("fabricbench", f"the exchange could not be kept: {problem}"))
        return
    report.user_properties.append(("capture", str(path)))
    report.sections.append(("fabricbench: the exchange", ladder or "(nothing was said)"))
    facts = [f"world: seed {made.seed}, {made.now:.6f} s, digest {made.digest}", f"capture: {path}", f"reproduce: {_reproduce(item)}"]
    report.sections.append(("fabricbench", "\n".join(facts)))


# ---- the conformance suite as items ----

class CaseFailed(Exception):
    """A conformance case whose verdict is FAIL or ERROR."""

    def __init__(self, result: CaseResult, capture: pathlib.Path) -> None:
        super().__init__(result.reason)
        self.result = result
        self.capture = capture


class ConformanceItem(pytest.Item):
    """One case over one transport."""

    def __init__(self, *, suite: Suite, case: Case, transport: str, **rest: Any) -> None:
        super().__init__(**rest)
        self._suite, self._case, self._transport = suite, case, transport
        self.add_marker(pytest.mark.requirement(case.requirement))

    def runtest(self) -> None:
        config = self.config
        result = self._suite.run(self._case.name, self._transport, seed=config.getoption("--fb-seed"),
                                 deviations=config.getoption("--fb-deviation"))
        if result.verdict in ("skip", "inconclusive"):
            pytest.skip(f"{result.verdict}: {result.reason}")
        if result.verdict != "pass":
            path = _folder(config) / f"{self._case.name}-{self._transport}.pcapng"
            path.write_bytes(result.capture)
            self.user_properties.append(("capture", str(path)))
            raise CaseFailed(result, path)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        failed = excinfo.value
        if not isinstance(failed, CaseFailed):
            return super().repr_failure(excinfo, style)
        result = failed.result
        lines = [f"{result.verdict.upper()}  {result.name} over {result.transport}", f"  {result.requirement}: {result.section}"]
        lines += [f"  {finding}" for finding in result.findings] or [f"  {result.reason}"]
        lines += ["", result.ladder(self.config.getoption("--fb-ladder")), ""]
        lines += [f"capture: {failed.capture}", f"reproduce: fabricbench replay {result.replay}"]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[str, int | None, str]:
        return self._case.file, None, f"{self._case.name}[{self._transport}]"


class ConformanceCollector(pytest.Collector):
    """The cases of one suite."""

    def __init__(self, *, suite: Suite, cases: list[Case], **rest: Any) -> None:
        super().__init__(**rest)
        self._suite, self._cases = suite, cases

    def collect(self) -> Iterator[ConformanceItem]:
        for case in self._cases:
            for transport in case.transports:
                yield ConformanceItem.from_parent(self, name=f"{case.name}[{transport}]", suite=self._suite, case=case, transport=transport)


def _check_markers(items: list[pytest.Item]) -> None:
    """A requirement or a deviation that there is none of is a mistake of the scenario."""
    known: set[str] = set()
    for item in items:
        for marker in item.iter_markers("requirement"):
            known = known or {one["id"] for one in requirements()}
            if not marker.args or marker.args[0] not in known:
                raise pytest.UsageError(f"{item.nodeid}: no requirement is called {marker.args[0] if marker.args else '(none)'!r}; "
                                        "fabricbench requirements has them all")
        for marker in item.iter_markers("deviation"):
            _product_of(str(marker.args[0]) if marker.args else "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    _check_markers(items)
    wanted = config.getoption("--fabricbench-suite")
    if not wanted:
        return
    try:
        suite = Suite(config.getoption("--fb-dut"), local=config.getoption("--fb-local"))
        for name in suites_of(wanted):
            node = f"fabricbench-{name}"
            collector = ConformanceCollector.from_parent(session, name=node, nodeid=node, suite=suite, cases=suite.cases(name))
            # Told to those who count what was collected.
            report = collect_one_node(collector)
            collector.ihook.pytest_collectreport(report=report)
            items.extend(one for one in report.result if isinstance(one, pytest.Item))
    except (fb.SetupError, ValueError) as problem:
        raise pytest.UsageError(str(problem)) from None


# ---- the report ----

class _Report:
    """results.json of a session, from the reports that reach this process."""

    def __init__(self, folder: pathlib.Path, config: pytest.Config) -> None:
        self._folder, self._config = folder, config
        self._tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        fresh = {"test": report.nodeid, "verdict": "pass", "reason": "", "requirements": [], "capture": None, "seconds": 0.0}
        test = self._tests.setdefault(report.nodeid, fresh)
        test["seconds"] = round(test["seconds"] + report.duration, 6)
        for key, value in report.user_properties:
            if key == "capture":
                test["capture"] = value
            elif key == "requirement" and value not in test["requirements"]:
                test["requirements"].append(value)
        if report.failed:
            test["verdict"] = "fail" if report.when == "call" else "error" if test["verdict"] == "pass" else test["verdict"]
            test["reason"] = report.longreprtext.strip().splitlines()[-1][:400] if report.longreprtext.strip() else ""
        elif report.skipped and test["verdict"] == "pass":
            test["verdict"] = "skip"
            test["reason"] = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        summary: dict[str, int] = {}
        for test in self._tests.values():
            summary[test["verdict"]] = summary.get(test["verdict"], 0) + 1
        self._folder.mkdir(parents=True, exist_ok=True)
        result = {"tool": {"name": "fabricbench", "version": fb.__version__}, "seed": self._config.getoption("--fb-seed"),
                  "dut": self._config.getoption("--fb-dut"), "summary": summary,
                  "tests": sorted(self._tests.values(), key=lambda one: str(one["test"]))}
        (self._folder / "results.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    # Of a session that is spread over processes, the one that hears of all results writes them.
    if config.getoption("--fb-report") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(pathlib.Path(config.getoption("--fb-report")), config), "fabricbench-report")
