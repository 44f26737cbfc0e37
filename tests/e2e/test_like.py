"""`--like PROFILE`: our products misbehave as a known peer does, line by line of its profile."""

import fnmatch
import json

import pytest
import yaml

from conftest import ROOT

AT = "tcp://127.0.0.99:4420"
PROFILES = ROOT / "conformance" / "profiles"
# Of a profile's lines about controllers over TCP: those whose case fails as it did with the kernel.
SHARE = 0.9


def lines_of(name):
    return yaml.safe_load((PROFILES / f"{name}.yaml").read_text())["deviations"]


@pytest.mark.parametrize("name", ["linux-6.1", "linux-6.12", "linux-7.3", "qemu-10", "spdk-26.05"])
def test_each_line_is_played_or_says_why_not(fabricbench, name):
    known = {one["name"] for one in fabricbench("list", "--deviations", "--json").json["deviations"]}
    for line in lines_of(name):
        played = [one.strip() for one in line.get("plays", "").split(",") if one.strip()]
        assert bool(played) != ("unplayed" in line), line["requirement"]
        assert set(played) <= known, line["requirement"]


def covers(line, case):
    return fnmatch.fnmatchcase(case["requirement"], line["requirement"]) and fnmatch.fnmatchcase(case["name"], line.get("case", "*")) and \
        line.get("transport", case["transport"]) == case["transport"]


def test_the_suite_sees_the_peer_that_is_played(fabricbench, start_target):
    name = "linux-6.12"
    played = [line["requirement"] for line in lines_of(name) if "unplayed" not in line and line.get("transport", "tcp") == "tcp"]
    listed = fabricbench("list", "--role", "controller", "--suite", "fabrics,nvme,tcp", "--json").json["cases"]
    about = [case["name"] for case in listed if any(fnmatch.fnmatchcase(case["requirement"], one) for one in played)]
    start_target("--listen", AT, "--namespace", "64M", "--namespace", "64M", "--like", name)
    cases = fabricbench("run", "--dut", AT, "--case", ",".join(about), "--json", timeout=600).json["cases"]
    judged, alike, other = 0, 0, []
    for line in lines_of(name):
        mine = [case for case in cases if covers(line, case) and case["verdict"] not in ("skip", "inconclusive")]
        if not mine or "unplayed" in line:
            continue
        judged += 1
        if any(case["verdict"] == "fail" for case in mine):
            alike += 1
        else:
            other.append(line["requirement"])
    assert judged > 30
    assert alike >= SHARE * judged, json.dumps(other, indent=1)


def test_what_no_line_is_about_is_told(fabricbench):
    result = fabricbench("mctp", "serve", "--serial", "pty", "--like", "linux-6.12")
    assert result.code == 2 and "none of its lines" in result.err and result.err.count("\n") == 1
    result = fabricbench("target", "--listen", AT, "--namespace", "1M", "--like", "linux-0.99")
    assert result.code == 2 and "linux-6.12" in result.err
