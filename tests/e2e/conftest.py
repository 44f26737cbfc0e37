"""The command as a user runs it. FABRICBENCH names the program; default: the release build."""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(
    os.environ.get("FABRICBENCH", ROOT / "build" / "release" / "bin" / "fabricbench"))

# A shell's background ignores SIGINT, and so would all programs that tests start: those inherit what is ignored, not a handler.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Finished:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def fabricbench():
    """Runs the command to its end: fabricbench("list", "--json").json"""

    def run(*arguments, timeout=300, **options):
        return Finished(subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True,
                                       text=True, timeout=timeout, check=False, **options))

    return run


class Target:
    """A `fabricbench target` process of its own, up until stop() or kill()."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([str(PROGRAM), "target", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.5)
            if ready:
                line = self.process.stdout.readline()
                if line.startswith("listening "):
                    self.lines.append(line.strip())
                    return
                if not line:
                    break
        self.process.kill()
        raise RuntimeError("the target did not come up: " + self.process.stderr.read())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)


def wait_until_it_hears(process, number):
    """Until the command has made itself ready for this signal: before that it would only be ended by it."""
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        state = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        masks = re.findall(r"^Sig(?:Blk|Cgt):\s*([0-9a-f]+)$", state, re.MULTILINE)
        if any(int(mask, 16) >> (number - 1) & 1 for mask in masks):
            return
        time.sleep(0.005)
    raise AssertionError(f"process {process.pid} does not listen for signal {number}")


@pytest.fixture
def start_target():
    started = []

    def start(*arguments):
        target = Target(*arguments)
        started.append(target)
        return target

    yield start
    for target in started:
        if target.process.poll() is None:
            target.kill()


@pytest.fixture
def start_program():
    """Starts the command in the background: start_program("host", "io", ...)."""
    started = []

    def start(*arguments):
        process = subprocess.Popen([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
