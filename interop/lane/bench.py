"""Runs fabricbench beside a guest, and keeps what it said."""

import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Collection
from dataclasses import dataclass

from interop.guest.archive import Unavailable


class CellFailure(Exception):
    """Something that should work did not; the text says what."""


@dataclass(frozen=True)
class Said:
    status: int
    output: str


# Beside a report: the cases in which the product itself fell, as a list of names.
FALLEN = "fallen.json"


@dataclass(frozen=True)
class SuiteRun:
    document: dict  # results.json
    status: int

    def summary(self, not_judged: Collection[str] = ()) -> str:
        """What it came to, in words; CellFailure when something in it is red that is judged."""
        text = summary_in_words(self.document)
        if self.status == 0:
            return text
        red = [case["name"] for case in self.document["cases"] if case["disposition"] in ("regression", "unexpected_pass")]
        errors = [case["name"] for case in self.document["cases"] if case["verdict"] == "error"]
        judged = [name for name in red if name not in not_judged] + errors
        if judged or not red:
            raise CellFailure(f"{text}: {', '.join(judged[:4])}{' ...' if len(judged) > 4 else ''}")
        return f"{text}, not judged: {', '.join(red)}"


def summary_in_words(document: dict) -> str:
    summary = document["summary"]
    return ", ".join(f"{summary[key]} {word}" for key, word in (
        ("pass", "passed"), ("waived", "documented deviations"), ("fail", "failed"),
        ("error", "errors"), ("inconclusive", "inconclusive"), ("skip", "skipped"),
        ("unexpected_pass", "unexpected passes")) if summary.get(key))


class Bench:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path):
        self.program = program
        self.folder = folder

    def run(self, *arguments: str, limit_s: int = 60, check: bool = True, environment: dict | None = None) -> Said:
        try:
            done = subprocess.run([self.program, *arguments], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s,
                                  check=False, env={**os.environ, **(environment or {})})
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            said = late.stdout or b""
            status, output = 124, said.decode(errors="replace") if isinstance(said, bytes) else said
        self._log(arguments, output, status)
        if check and status != 0:
            lines = [line for line in output.strip().splitlines() if line.strip()]
            last = lines[-1] if lines else "no word"
            how = f"did not end within {limit_s} s" if status == 124 else f"ended with {status}"
            raise CellFailure(f"fabricbench {' '.join(arguments[:2])} {how}: {last}")
        return Said(status, output)

    def suite(self, *arguments: str, limit_s: int) -> str:
        """Runs the conformance suite; its summary when all was as expected."""
        return self.run_suite(*arguments, limit_s=limit_s).summary()

    def run_suite(self, *arguments: str, limit_s: int) -> SuiteRun:
        report = self.folder / "report"
        said = self.run("run", *arguments, "--report", str(report), limit_s=limit_s, check=False)
        results = report / "results.json"
        if said.status not in (0, 1) or not results.exists():
            lines = said.output.strip().splitlines() or ["no word"]
            raise CellFailure(f"fabricbench run ended with {said.status}: {lines[-1]}")
        return SuiteRun(json.loads(results.read_text()), said.status)

    def judge(self, capture: pathlib.Path) -> None:
        """Holds what passed on the link against the rules that need no case."""
        said = self.run("check", str(capture), "--json", limit_s=120, check=False)
        if said.status not in (0, 1):
            raise CellFailure(f"fabricbench check ended with {said.status}: {said.output.strip().splitlines()[-1:]}")
        findings = json.loads(said.output)["findings"]
        if findings:
            first = findings[0]
            raise CellFailure(f"{len(findings)} findings on the wire; packet {first['packet']} from {first['from']}: "
                              f"{first['text']} ({first['rule']})")

    def begin(self, *arguments: str) -> "Running":
        """Starts a command that ends by itself."""
        return Running(self.program, self.folder, arguments, until="", limit_s=0)

    def peer(self, name: str, *arguments: str, until: str) -> "Running":
        """Starts a program that is built beside the command."""
        program = self.program.parent / name
        if not program.exists():
            raise Unavailable(f"no {program}")
        return Running(program, self.folder, arguments, until, limit_s=20)

    def start(self, *arguments: str, until: str, limit_s: int = 20, environment: dict | None = None) -> "Running":
        """Starts a command that serves, and waits until it has printed a line that begins so."""
        return Running(self.program, self.folder, arguments, until, limit_s, environment)

    def _log(self, arguments, output: str, status: int) -> None:
        with open(self.folder / "bench.log", "a") as log:
            log.write(f"$ fabricbench {' '.join(arguments)}\n{output}\n[{status}]\n")


def unused(path: pathlib.Path) -> pathlib.Path:
    """The same with a number, where there is such a file: several of a kind may run."""
    number = 1
    while (one := path if number == 1 else path.with_stem(f"{path.stem}-{number}")).exists():
        number += 1
    return one


class Running:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path, arguments, until: str, limit_s: int,
                 environment: dict | None = None):
        self.log = unused(folder / f"{program.name}-{arguments[0]}.log")
        with open(self.log, "w") as out:
            self.process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})})
        self.wait_for(until, limit_s)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_) -> None:
        self.kill()

    def wait_for(self, text: str, limit_s: int) -> None:
        """Until it has said this."""
        deadline = time.monotonic() + limit_s
        while text not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise CellFailure(f"{self.log.stem} did not say '{text}': {self.log.read_text().strip()[-200:]}")
            time.sleep(0.05)

    def end(self, limit_s: int) -> str:
        """Waits until it ends by itself, in order; what it said."""
        try:
            status = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise CellFailure(f"{self.log.stem} did not end within {limit_s} s") from None
        said = self.log.read_text()
        if status != 0:
            raise CellFailure(f"{self.log.stem} ended with {status}: {said.strip()[-200:]}")
        return said

    def finish(self, limit_s: int = 20, statuses: Collection[int] = (0,)) -> None:
        """Asks it to end, which it must do in order."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise CellFailure("fabricbench did not end when it was asked to") from None
        if status not in statuses:
            raise CellFailure(f"fabricbench ended with {status}: {self.log.read_text().strip()[-200:]}")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
