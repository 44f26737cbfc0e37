"""Products that break one rule from the start, or go down: the run has a report all the same, and names the rule."""

import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import pytest

CONTROLLER = pathlib.Path(__file__).parent / "independent" / "controller"


@contextlib.contextmanager
def running(*options):
    process = subprocess.Popen([sys.executable, str(CONTROLLER), *map(str, options)], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait()


def with_verdict(results, verdict):
    return {case["name"]: case for case in results["cases"] if case["verdict"] == verdict}


# ---- a product whose defect is harmless ----

def test_success_with_flow_control_is_one_failure(fabricbench):
    with running("--success-always", "--uuids", "--rich") as (url, _):
        done = fabricbench("run", "--dut", url, "--json", timeout=900)
    failed = with_verdict(done.json, "fail")
    assert [case["requirement"] for case in failed.values()] == ["tcp.success.flow-control"], failed
    assert not with_verdict(done.json, "error")
    assert done.code == 1 and len(with_verdict(done.json, "pass")) >= 190 and len(with_verdict(done.json, "inconclusive")) < 40


def test_hosts_work_with_success_and_flow_control(fabricbench):
    with running("--success-always") as (url, _):
        for command in (("connect", url), ("identify", url), ("io", url, "--verify", "--size", "1M")):
            done = fabricbench("host", *command)
            assert done.code == 0, done.out + done.err
            warnings = [line for line in done.err.splitlines() if line.startswith("warning:")]
            assert len(warnings) == 1 and "SUCCESS in C2HData although SQ flow control is on" in warnings[0], done.err


def test_a_read_without_its_data_is_no_success(fabricbench, tmp_path):
    """What the buffer held before is what was written: it would compare equal."""
    with running("--defect", "no-read-data") as (url, _):
        for command in (("io", url, "--verify", "--size", "1M"), ("read", url, "--lba", "0", "--file", tmp_path / "blocks")):
            done = fabricbench("host", *command)
            assert done.code in (1, 2) and "Data Transfer Error" in done.err, done.err
            assert "answered Read with Success although not all its data came" in done.err


@pytest.mark.parametrize("defect, says", [("io-unanswered", "no answer to Connect on queue 1"), ("no-icresp", "no ICResp within ")])
def test_a_product_that_is_silent_is_one_line(fabricbench, defect, says):
    with running("--defect", defect) as (url, _):
        done = fabricbench("host", "connect", url, timeout=60)
        assert done.code == 2 and says in done.err and done.err.count("\n") == 1, (done.code, done.err)


def test_a_product_that_closes_slowly_does_not_slow_the_run(fabricbench):
    with running("--slow-close") as (url, _):
        start = time.monotonic()
        done = fabricbench("run", "--dut", url, "--json", timeout=900)
        took = time.monotonic() - start
    assert done.code == 0 and not with_verdict(done.json, "fail"), with_verdict(done.json, "fail")
    assert took < 150, f"{took:.0f} s"


# ---- products with which a host that behaves cannot work ----

FEW = "icresp_*,*sqhd*,identify_*,connect_refuses_*,c2hdata_*,auth_demand_*,read_only_property_*,success_needs_*,*csts*,*cap_*,connect_gives_*,enable_makes_ready"

DEFECTS = {
    "icresp-pfv": {"tcp.icresp.shape"},
    "icresp-cpda": {"tcp.icresp.cpda", "tcp.icresp.shape"},
    "icresp-maxh2cdata": {"tcp.icresp.maxh2cdata-least", "tcp.icresp.maxh2cdata"},
    "no-icresp": {"tcp.icresp.shape"},
    "authreq": {"auth.controller.demand.announced"},
    "cap-mqes": {"fabrics.property.cap"},
    "mpsmin": {"fabrics.property.cap"},
    "cfs": {"fabrics.enable.ready"},
    "never-ready": {"fabrics.enable.ready"},
    "cntlid": {"oracle.identify.controller", "fabrics.connect.cntlid.allocated", "nvme.identify.controller.cntlid", "nvme.identify.cntid-unused"},
    "icdoff": {"tcp.identify.capsules"},
    "datao": {"tcp.c2hdata.contiguous"},
    "early-response": {"tcp.c2hdata.contiguous", "tcp.c2hdata.last"},
    "no-data": {"tcp.c2hdata.last"},
    "no-read-data": {"tcp.c2hdata.last"},
    "second-icresp": {"tcp.icresp.shape"},
    "sqhd-stuck": {"fabrics.flow-control.on"},
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_costs_no_run(fabricbench, defect, tmp_path):
    with running("--defect", defect) as (url, _):
        done = fabricbench("run", "--dut", url, "--case", FEW, "--report", tmp_path / "report", timeout=900)
    assert done.code == 1, done.out + done.err
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    named = {case["requirement"] for case in with_verdict(results, "fail").values()}
    assert named and named <= DEFECTS[defect], named
    assert not with_verdict(results, "error") and results["canary"] == "caught"
    assert results["remarks"] or defect in ("cap-mqes", "mpsmin", "sqhd-stuck", "second-icresp", "no-read-data"), "it says why a host that behaves could not work"
    assert all(case["reason"] for case in with_verdict(results, "inconclusive").values())


# A loop over many values costs a few waits, not one for each: without a budget each of these takes more than 300 s.
@pytest.mark.parametrize("defect, cases", [("deaf", "each_value_of_an_h2cdata_header_counts,no_h2cdata_is_taken_for_another,icresp_*,property_*"),
                                           ("wrong-cid", "every_log_*,identify_*,icresp_*")])
def test_what_never_answers_costs_a_bounded_time(fabricbench, defect, cases, tmp_path):
    report = tmp_path / "report"
    with running("--defect", defect) as (url, _):
        start = time.monotonic()
        done = fabricbench("run", "--dut", url, "--case", cases, "--report", report, timeout=400)
        took = time.monotonic() - start
    assert done.code in (0, 1, 2) and took < 200, f"exit {done.code} after {took:.0f} s"
    results = json.loads((report / "results.json").read_text())
    assert not with_verdict(results, "error") and len(results["cases"]) > 10
    assert with_verdict(results, "pass")
    longest = max(case["duration_wall_us"] for case in results["cases"])
    assert longest < 70e6, f"a case took {longest / 1e6:.0f} s"


def test_a_flood_of_responses_ends_the_connection_and_not_the_run(fabricbench, tmp_path):
    report = tmp_path / "report"
    with running("--defect", "response-flood") as (url, _):
        done = fabricbench("run", "--dut", url, "--case", "connect_refuses_sqsize_zero,enable_makes_ready,icresp_*", "--captures", "none",
                           "--report", report, timeout=300)
    assert done.code == 1, done.out + done.err
    results = json.loads((report / "results.json").read_text())
    assert not with_verdict(results, "error") and with_verdict(results, "pass") and with_verdict(results, "fail")


def test_a_product_that_no_host_can_use_is_no_success(fabricbench, tmp_path):
    """No case of these says what is wrong: Connect of an I/O queue is never answered."""
    with running("--defect", "io-unanswered") as (url, _):
        done = fabricbench("run", "--dut", url, "--case", "icresp_*,connect_refuses_sqsize_zero,flush_succeeds", "--report", tmp_path / "report")
    assert done.code == 2 and "not all cases could be decided: " in done.err and done.err.count("\n") == 1, done.err
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert with_verdict(results, "pass") and not with_verdict(results, "fail")


# A defect that is the business of many cases.
@pytest.mark.parametrize("defect", ["connect-fails", "identify-fails"])
def test_whatever_is_wrong_there_is_a_report(fabricbench, defect, tmp_path):
    with running("--defect", defect) as (url, _):
        done = fabricbench("run", "--dut", url, "--report", tmp_path / "report", timeout=900)
    assert done.code == 1, done.out + done.err
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert len(results["cases"]) > 100 and results["canary"] == "caught"
    assert not with_verdict(results, "error")
    assert with_verdict(results, "fail"), "the defect is found"


# ---- products that go down ----

@pytest.mark.parametrize("defect, says", [("dies", "refused"), ("hangs", "no answer to ICReq")])
def test_a_product_that_goes_down_leaves_its_verdicts(fabricbench, defect, says, tmp_path):
    report = tmp_path / "report"
    with running("--defect", defect, "--connections", 60) as (url, _):
        done = fabricbench("run", "--dut", url, "--suite", "tcp", "--report", report, timeout=600)
    assert done.code == 1, done.out + done.err
    results = json.loads((report / "results.json").read_text())
    stopped = results["stopped"]
    assert says in stopped["why"] and stopped["after"] in done.out and stopped["not_run"] > 10
    assert len(with_verdict(results, "pass")) > 5, "what was judged before stays"
    after = [case for case in results["cases"] if case["reason"].startswith("not run: the product went down in or after")]
    assert len(after) == stopped["not_run"] and all(case["verdict"] == "inconclusive" for case in after)
    bench = ElementTree.parse(report / "junit.xml").getroot().find("testsuite[@name='bench']")
    assert [case.get("name") for case in bench if case.find("failure") is not None] == ["product_stays_up"]


def test_nobody_there_is_one_line_and_a_report(fabricbench, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    done = fabricbench("run", "--dut", f"tcp://127.0.0.1:{port}", "--report", tmp_path / "report")
    assert done.code == 2 and len(done.err.splitlines()) == 1 and str(port) in done.err, done.err
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {case["verdict"] for case in results["cases"]} == {"inconclusive"}


# ---- a target that says whom it refuses ----

HOST = "nqn.2014-08.org.nvmexpress:uuid:laptop"


def test_a_refused_connect_is_a_line_and_may_be_let_pass(fabricbench, start_target):
    url = "tcp://127.0.0.2:4437"
    target = start_target("--listen", url, "--namespace", "1M")
    refused = fabricbench("host", "connect", url, "--hostnqn", HOST)
    assert refused.code == 2 and "1/82h" in refused.err
    target.stop()
    line = next(line for line in target.process.stderr.read().splitlines() if line.startswith("refused Connect"))
    assert "HOSTNQN" in line and "no UUID" in line and "1/82h" in line and "--lenient hostnqn" in line
    for lenient in (("--lenient",), ("--lenient", "hostid,hostnqn")):
        target = start_target("--listen", url, "--namespace", "1M", *lenient)
        done = fabricbench("host", "connect", url, "--hostnqn", HOST)
        assert done.code == 0, done.err
        target.stop()
        assert "let pass Connect" in target.process.stderr.read()
    wrong = fabricbench("target", "--listen", url, "--namespace", "1M", "--lenient", "hostname")
    assert wrong.code == 2 and "hostnqn" in wrong.err and len(wrong.err.splitlines()) == 1
