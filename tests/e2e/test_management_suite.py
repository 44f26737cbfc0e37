"""Management endpoints as devices under test: on a real serial line, and behind the sockets of the bus."""

import json
import os
import re
import signal
import subprocess

import pytest

from conftest import PROGRAM


@pytest.fixture
def serial_drive():
    """A drive at the other end of a pseudo-terminal; gives its URL."""
    started = []

    def start(*options):
        process = subprocess.Popen([PROGRAM, "mctp", "serve", "--serial", "pty", *options], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        started.append(process)
        return re.match(r"serving (serial:\S+) ", process.stdout.readline()).group(1)

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0, process.stderr.read()


def results(done):
    return {case["name"]: case for case in json.loads(done.out)["cases"]}


def test_a_drive_on_a_serial_line_is_judged(fabricbench, serial_drive, tmp_path):
    url = serial_drive()
    done = fabricbench("run", "--dut", url, "--json", "--report", tmp_path, "--case", "*port*", "--case", "*controller*",
                       "--case", "*serial*", "--case", "*eid*", timeout=300)
    cases = results(done)
    assert done.code == 0, [(name, case["reason"]) for name, case in cases.items() if case["verdict"] == "fail"]
    passed = [name for name, case in cases.items() if case["verdict"] == "pass"]
    assert len(passed) >= 10, cases.keys()
    assert all(case["transport"] == "serial" and case["role"] == "endpoint" for case in cases.values())


def test_two_runs_find_the_same_drive(fabricbench, serial_drive):
    url = serial_drive()
    for _ in range(2):
        done = fabricbench("run", "--dut", url, "--case", "*read_data*", "--case", "*ports*", timeout=120)
        assert done.code == 0, done.out + done.err


def test_a_deviating_drive_on_a_serial_line_is_caught(fabricbench, serial_drive):
    url = serial_drive("--deviation", "vpd_header_checksum_wrong")
    case = next(one for one in json.loads(fabricbench("list", "--json").out)["cases"]
                if "vpd_header_checksum_wrong" in one["deviations"])
    done = fabricbench("run", "--dut", url, "--case", case["name"], timeout=120)
    assert done.code == 1, done.out + done.err


def test_a_paced_line_shows_packets_one_by_one(fabricbench, serial_drive):
    """Without a pace an answer is whole before anybody could pause it."""
    url = serial_drive("--timing")
    done = fabricbench("run", "--dut", url, "--json", "--case", "pause_stops_between_two_packets", "--case",
                       "abort_ends_an_answer", timeout=120)
    assert [case["verdict"] for case in results(done).values()] == ["pass", "pass"], done.out


def test_a_drive_whose_answers_are_all_broken_is_judged(fabricbench, serial_drive):
    """Nothing can be learnt from it, but that its integrity checks are wrong is for a case to say."""
    done = fabricbench("run", "--dut", serial_drive("--deviation", "checks_of_zero"), "--json", "--suite", "mi",
                       "--case", "*mic*", "--case", "*port*", "--case", "*check*", timeout=300)
    cases = results(done)
    failed = {case["requirement"] for case in cases.values() if case["verdict"] == "fail"}
    assert done.code == 1 and "mi.message.mic.sent" in failed, (done.err, cases)


def test_a_drive_that_takes_no_eid_is_judged(fabricbench, serial_drive):
    done = fabricbench("run", "--dut", serial_drive("--deviation", "refuses_forced_eids"), "--json", "--suite", "mctp",
                       "--case", "*set_endpoint_id*", "--case", "*forced*", "--case", "*eid*", timeout=300)
    cases = results(done)
    assert done.code == 1 and cases["an_eid_can_be_forced"]["verdict"] == "fail", (done.err, cases)


def test_a_line_where_nobody_is_is_named(fabricbench):
    """One line says why nothing can be judged."""
    near, far = os.openpty()
    done = fabricbench("run", "--dut", "serial:" + os.ttyname(far), timeout=120)
    os.close(near)
    os.close(far)
    assert done.code == 2 and "no answer" in done.err and len(done.err.splitlines()) == 1, done.err


def test_the_bus_is_judged_through_its_sockets(fabricbench):
    done = fabricbench("mctp", "exec", "--", PROGRAM, "run", "--dut", "mctp:1,9", "--suite", "mi", "--json",
                       "--case", "*port*", "--case", "*controller*", "--case", "*vpd*", timeout=300)
    cases = results(done)
    assert done.code == 0, [(name, case["reason"]) for name, case in cases.items() if case["verdict"] == "fail"]
    assert sum(case["verdict"] == "pass" for case in cases.values()) >= 10, cases.keys()
    assert all(case["transport"] == "kernel" for case in cases.values())


def test_what_a_kernel_keeps_to_itself_is_not_judged(fabricbench):
    """The sockets let nobody say MCTP control messages: those cases do not apply, and say so."""
    done = fabricbench("mctp", "exec", "--", PROGRAM, "run", "--dut", "mctp:1,9", "--suite", "mctp", "--json", timeout=300)
    cases = results(done)
    assert done.code == 0, [(name, case["verdict"], case["reason"]) for name, case in cases.items()
                            if case["verdict"] not in ("pass", "skip")]
    assert "control messages" in cases["get_endpoint_id_has_three_bytes"]["reason"]


def test_a_deviation_shows_through_the_sockets(fabricbench):
    """What a user of a BMC stack would do: the same program against a drive that misbehaves."""
    listed = json.loads(fabricbench("list", "--json").out)["cases"]
    case = next(one for one in listed if one["requirement"] == "mi.message.mic.sent" and one["deviations"])
    good = fabricbench("mctp", "exec", "--", "nvme", "id-ctrl", "mctp:1,9:1")
    assert good.code == 0, good.err
    bad = fabricbench("mctp", "exec", "--deviation", case["deviations"][0], "--", "nvme", "id-ctrl", "mctp:1,9:1")
    assert bad.code != 0


@pytest.mark.parametrize("url, why", [
    ("serial:", "the path is missing"),
    ("serial:/nonexistent", "/nonexistent"),
    ("serial:/dev/null", "/dev/null"),
    ("mctp:1", "no EID"),
    ("mctp:x,9", "no network number"),
    ("mctp:1,3", "not an EID from 8 to 254"),
    ("mctp:1,9,2", "not an EID from 8 to 254"),
])
def test_wrong_products(fabricbench, url, why):
    done = fabricbench("run", "--dut", url)
    assert done.code == 2 and why in done.err and len(done.err.splitlines()) == 1, done.err


def test_wrong_use_of_serve(fabricbench):
    for options, why in ((("--serial", "/nonexistent"), "/nonexistent"), ((), "needs either --socket or --serial"),
                         (("--serial", "pty", "--socket", "x"), "needs either"), (("--serial", "pty", "--dbus"), "--dbus"),
                         (("--serial", "pty", "--deviation", "no_such"), "no_such"),
                         (("--serial", "pty", "--deviation", "owner_asks_once"), "not of an endpoint")):
        done = fabricbench("mctp", "serve", *options)
        assert done.code == 2 and why in done.err and len(done.err.splitlines()) == 1, (options, done.err)


def test_a_drive_that_goes_away_is_no_verdict_of_pass(fabricbench):
    """The line is dead after the first answers: cases fail, the run ends, nothing hangs."""
    serve = subprocess.Popen([PROGRAM, "mctp", "serve", "--serial", "pty"], stdout=subprocess.PIPE, text=True)
    url = re.match(r"serving (serial:\S+) ", serve.stdout.readline()).group(1)
    run = subprocess.Popen([PROGRAM, "run", "--dut", url, "--case", "*port*"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    os.kill(serve.pid, signal.SIGKILL)
    serve.wait()
    out, _ = run.communicate(timeout=300)
    assert run.returncode in (1, 2), out
