"""The pytest plugin as a user has it: files of their own, run by the command."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

from conftest import PACKAGE, ROOT

COMMAND = ROOT / "build/release/bin/fabricbench"


def run(folder, *arguments, text=None, timeout=120):
    """pytest on one file with this content (or on nothing); the process and what it printed."""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
    environment.pop("PYTEST_CURRENT_TEST", None)
    if text is not None:
        (folder / "test_it.py").write_text("import pytest\nimport fabricbench as fb\n" + text)
        arguments = ("test_it.py", *arguments)
    return subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "fabricbench.pytest_plugin", *arguments],
                          cwd=folder, capture_output=True, text=True, timeout=timeout, env=environment)


FAILING = """
def test_fails(subsystem, host):
    space = host.connect(subsystem).wait().namespaces[0]
    space.write(0, bytes(512)).wait()
    assert space.read(0).wait() == b"x" * 512
"""


def test_a_failure_shows_the_exchange(tmp_path):
    done = run(tmp_path, text=FAILING)
    assert done.returncode == 1
    assert "fabricbench: the exchange" in done.stdout
    assert "SEND Read SLBA=0" in done.stdout
    assert "reproduce: pytest -p fabricbench.pytest_plugin test_it.py::test_fails" in done.stdout
    capture = pathlib.Path(done.stdout.split("capture: ")[1].splitlines()[0])
    assert capture.stat().st_size > 1000
    if shutil.which("tshark"):
        shown = subprocess.run(["tshark", "-r", capture, "-Y", "_ws.malformed"], capture_output=True, text=True, check=True)
        assert shown.stdout == ""


def test_a_callback_that_raises_is_one_failure_with_its_exchange(tmp_path):
    text = """
class Product(fb.TargetProduct):
    def admission(self, command):
        if command.name == "Identify":
            raise KeyError("in the product")

def test_product(world):
    subsystem = world.subsystem(product=Product())
    world.host().connect(subsystem).wait()
"""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/pytest.ini").write_text("[pytest]\n")
    (tmp_path / "deep/test_deep.py").write_text("import fabricbench as fb\n" + text)
    done = run(tmp_path, "deep/test_deep.py")
    assert "1 failed" in done.stdout and "error" not in done.stdout.splitlines()[-1]
    assert "KeyError: 'in the product'" in done.stdout and "fabricbench: the exchange" in done.stdout
    # From where it was started, whatever its root is.
    assert "reproduce: pytest -p fabricbench.pytest_plugin deep/test_deep.py::test_product" in done.stdout


def test_a_report(tmp_path):
    text = FAILING + """
@pytest.mark.requirement("nvme.write.read-back")
def test_passes(world):
    pass

def test_is_skipped():
    pytest.skip("not today")
"""
    done = run(tmp_path, "--fb-report", "out", "--fb-seed", "7", "--junitxml", "j.xml", text=text)
    assert done.returncode == 1
    result = json.loads((tmp_path / "out/results.json").read_text())
    assert result["summary"] == {"pass": 1, "fail": 1, "skip": 1}
    assert result["seed"] == 7 and result["dut"] == "embedded"
    tests = {one["test"].split("::")[1]: one for one in result["tests"]}
    assert tests["test_passes"]["requirements"] == ["nvme.write.read-back"]
    assert (tmp_path / tests["test_fails"]["capture"]).exists()
    assert "--fb-seed 7" in done.stdout
    properties = xml.parse(tmp_path / "j.xml").getroot().iter("property")
    assert ("requirement", "nvme.write.read-back") in [(one.get("name"), one.get("value")) for one in properties]


def test_seeds(tmp_path):
    text = """
seen = []
@pytest.mark.seeds(5)
def test_each(world, fb_seed):
    assert world.seed == fb_seed
    seen.append(fb_seed)
def test_all():
    assert seen == [3, 4, 5, 6, 7]
"""
    done = run(tmp_path, "--fb-seed", "3", "-v", text=text)
    assert done.returncode == 0, done.stdout
    assert "test_each[seed7] PASSED" in done.stdout


def test_deviations_and_faults_reach_the_fixtures(tmp_path):
    text = """
@pytest.mark.deviation("connect_takes_sqsize_zero")
def test_target(subsystem, host):
    queue = host.raw_queue(subsystem)
    queue.connect().wait()
    assert queue.send_connect(entries=1).wait().ok

def test_honest(subsystem, host):
    queue = host.raw_queue(subsystem)
    queue.connect().wait()
    assert not queue.send_connect(entries=1).wait().ok

@pytest.mark.faults(fb.Schedule(["packet:host->target#3 drop"]))
def test_faults(world, subsystem, host):
    host.connect(subsystem).wait()
    assert [strike.story for strike in world.strikes] == ["drop packet 3 from host to target"]

@pytest.mark.deviation("vpd_read_one_byte_short")
def test_endpoint(endpoint):
    with pytest.raises(fb.MiError):
        endpoint.read_vpd(0, 9).wait()
"""
    done = run(tmp_path, text=text)
    assert done.returncode == 0, done.stdout


def test_broken_rules_fail_a_scenario_that_does_not_own_up(tmp_path):
    text = """
def reuse(subsystem, host):
    queue = host.raw_admin(subsystem)
    one = fb.commands.async_event_request().copy(cid=77)
    queue.post(one)
    queue.post(one)
    host._machine  # nothing else
    queue.next_response().wait()

def test_unowned(subsystem, host):
    reuse(subsystem, host)

@pytest.mark.breaks("nvme_cid_reuse")
def test_owned(subsystem, host):
    reuse(subsystem, host)
"""
    done = run(tmp_path, text=text)
    assert "1 error" in done.stdout and "2 passed" in done.stdout
    assert "nvme_cid_reuse (nvme.host.cid-unique)" in done.stdout


@pytest.mark.parametrize("text, words", [
    ('@pytest.mark.requirement("no.such")\ndef test_x(): pass\n', "no requirement is called 'no.such'"),
    ('@pytest.mark.deviation("no_such")\ndef test_x(): pass\n', "deviation 'no_such': there is none of that name"),
])
def test_mistakes_are_one_line(tmp_path, text, words):
    done = run(tmp_path, text=text)
    assert done.returncode == 4
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


# ---- the suite as items ----

def test_the_suite_as_items(tmp_path):
    done = run(tmp_path, "-q", "--fabricbench-suite", "nvmeof,mi", "--collect-only")
    assert done.returncode == 0
    for suite in ("fabrics", "nvme", "tcp", "auth", "mi"):
        assert f"\nfabricbench-{suite}::" in "\n" + done.stdout
    assert "fabricbench-rdma::" not in done.stdout


def test_the_suite_passes_in_parallel(tmp_path):
    done = run(tmp_path, "-q", "-n", "2", "--fabricbench-suite", "fabrics", "--fb-report", "out")
    assert done.returncode == 0, done.stdout[-2000:]
    result = json.loads((tmp_path / "out/results.json").read_text())
    assert set(result["summary"]) <= {"pass", "skip"} and result["summary"]["pass"] > 100


def test_a_case_that_fails_tells_how_to_replay_it(tmp_path):
    done = run(tmp_path, "--fabricbench-suite", "fabrics", "-k", "io_connect_refuses_sqsize_zero and tcp",
               "--fb-deviation", "connect_takes_sqsize_zero")
    assert done.returncode == 1
    assert "FAIL  io_connect_refuses_sqsize_zero over tcp" in done.stdout
    token = done.stdout.split("reproduce: fabricbench replay ")[1].split()[0]
    replayed = subprocess.run([COMMAND, "replay", token], capture_output=True, text=True)
    assert replayed.returncode == 1 and "io_connect_refuses_sqsize_zero" in replayed.stdout


@pytest.mark.parametrize("arguments, words", [
    (["--fabricbench-suite", "nonsense"], "no suite 'nonsense'"),
    (["--fabricbench-suite", "fabrics", "--fb-dut", "tcp://nowhere"], "tcp://nowhere"),
])
def test_wrong_options_are_one_line(tmp_path, arguments, words):
    done = run(tmp_path, *arguments)
    assert done.returncode == 4
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


# ---- a product at an address ----

@pytest.fixture
def product():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([COMMAND, "target", "--listen", f"tcp://127.0.0.1:{port}", "--namespace", "16M"],
                               stdout=subprocess.PIPE, text=True)
    _, url, nqn = process.stdout.readline().split()
    yield f"{url}/{nqn}"
    process.send_signal(signal.SIGTERM)
    process.wait(10)


def test_against_a_product_at_an_address(tmp_path, product):
    text = """
def test_dut(world, host, dut):
    controller = host.connect(dut).wait()
    space = controller.namespaces[0]
    space.write(8, b"real" * 1024).wait()
    assert space.read(8, 8).wait() == b"real" * 1024
    assert controller.identify().wait().subnqn.startswith(b"nqn.")
    assert world.now > 0
    controller.shutdown().wait()

def test_behind(subsystem):
    assert False, "skipped with a product at an address"
"""
    done = run(tmp_path, "--fb-dut", product, "-rs", text=text)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout and "needs the emulated one" in done.stdout


def test_the_suite_against_a_product_at_an_address(tmp_path, product):
    done = run(tmp_path, "-q", "--fabricbench-suite", "fabrics", "--fb-dut", product, "-k", "property or sqsize")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
