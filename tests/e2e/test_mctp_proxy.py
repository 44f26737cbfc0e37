"""The proxy between a management controller and a drive on serial lines."""

import json
import re
import signal
import subprocess

import pytest

from conftest import PROGRAM


def started(pattern, *arguments):
    process = subprocess.Popen([str(PROGRAM), "mctp", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    found = re.match(pattern, line)
    if found is None:
        process.kill()
        raise RuntimeError(line + process.stderr.read())
    return process, found.group(1)


@pytest.fixture(name="between")
def fixture_between():
    """A drive and a proxy before it: between([drive arguments], [proxy arguments]) gives the proxy and the line for a requester."""
    processes = []

    def start(for_drive=(), for_proxy=()):
        drive, line = started(r"serving serial:(\S+) ", "serve", "--serial", "pty", *for_drive)
        processes.append(drive)
        proxy, front = started(r"between serial:(\S+) -> ", "proxy", "--serial", "pty", "--to-serial", line, *for_proxy)
        processes.append(proxy)
        return proxy, "serial:" + front

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


# None of them says anything that a requester must not say.
CASES = ("--case", "subsystem_health_is_eight_bytes", "--case", "subsystem_information_is_32_bytes", "--case",
         "subsystem_life_used_is_that_of_smart", "--case", "subsystem_temperature_is_that_of_smart", "--case",
         "vpd_is_the_same_in_any_pieces")


def test_a_drive_is_judged_through_a_quiet_proxy(between, fabricbench, tmp_path):
    proxy, line = between(for_proxy=["--report", tmp_path / "report", "--capture", tmp_path / "p.pcapng"])
    done = fabricbench("run", "--no-config", "--dut", line, *CASES, timeout=300)
    assert done.code == 0, done.out
    code, out, err = stop(proxy)
    assert code == 0 and "no findings" in out and err == "", (out, err)
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert results["findings"] == [] and results["summary"]["pass"] > 3
    assert fabricbench("check", tmp_path / "p.pcapng").code == 0


def test_frames_are_lost_by_plan(between, fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: lossy\nfaults:\n  - {kind: frame_drop, every: 20, most: 4, from: 10}\n"
                    "  - {kind: frame_corrupt, every: 30, most: 2, from: 10}\n")
    proxy, line = between(for_proxy=["--faults", plan, "--seed", "7", "--report", tmp_path / "report"])
    fabricbench("run", "--no-config", "--dut", line, *CASES, timeout=300)
    _, out, err = stop(proxy)
    assert re.search(r"[1-6] faults?", out), (out, err)
    remarks = json.loads((tmp_path / "report" / "results.json").read_text())["remarks"]
    assert any("drop frame" in remark for remark in remarks)


def test_wrong_use_is_one_line(fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: a\nfaults:\n  - kind: drop\n")
    for arguments, word in ((["--serial", "pty"], "--to-serial"),
                            (["--serial", "pty", "--to-serial", "/nowhere/x"], "/nowhere/x"),
                            (["--serial", "/nowhere/x", "--to-serial", "/nowhere/x"], "same line"),
                            (["--serial", "pty", "--to-serial", "pty", "--seed", "3"], "--faults"),
                            (["--serial", "pty", "--to-serial", "pty", "--faults", plan], "plan.yaml:3: a proxy of MCTP cannot reach 'drop'"),
                            (["--serial", "pty", "--to-serial", "pty", "--capture", "/nowhere/x"], "/nowhere/x")):
        done = fabricbench("mctp", "proxy", *arguments, timeout=20)
        assert done.code == 2 and len(done.err.splitlines()) == 1 and word in done.err, (arguments, done.err)
