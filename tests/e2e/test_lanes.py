"""The suite in other surroundings: `run --lanes`, and what a report says of them."""

import json
import xml.etree.ElementTree

import pytest


def test_lanes_are_listed(fabricbench):
    lanes = fabricbench("run", "--list-lanes", "--json").json["lanes"]
    assert len(lanes) >= 12 and lanes[0]["name"] == "plain"
    assert all(lane["name"] and lane["text"] for lane in lanes)
    assert lanes[1]["name"] in fabricbench("run", "--list-lanes").out


def test_a_lane_is_named_where_its_results_are(fabricbench, tmp_path):
    # A defect that shows in one lane alone would be a finding; here every lane has the same one.
    done = fabricbench("run", "--lanes", "plain,io-queue-3", "--case", "read_beyond_the_end_is_refused", "--transport", "tcp",
                       "--deviation", "read_past_the_end", "--report", "report", cwd=tmp_path)
    assert done.code == 1, done.out + done.err
    results = json.loads((tmp_path / "report" / "results.json").read_text())["cases"]
    assert [case["lane"] for case in results] == ["plain", "io-queue-3"]
    assert {case["verdict"] for case in results} == {"fail"}
    assert "io-queue-3: " in done.out
    assert len({case["capture"] for case in results}) == 2
    names = [case.get("name") for case in xml.etree.ElementTree.parse(tmp_path / "report" / "junit.xml").iter("testcase")]
    assert "read_beyond_the_end_is_refused [io-queue-3]" in names
    assert "[io-queue-3]" in (tmp_path / "report" / "results.tap").read_text()
    again = fabricbench("replay", results[1]["replay"], "--json").json
    assert again["cases"][0]["lane"] == "io-queue-3" and again["cases"][0]["digest"] == results[1]["digest"]


def test_plain_is_the_run_without_lanes(fabricbench):
    choice = ("run", "--seed", "5", "--suite", "tcp", "--role", "controller", "--json")
    assert fabricbench(*choice).json["digest"] == fabricbench(*choice, "--lanes", "plain").json["digest"]


@pytest.mark.parametrize("lanes, word", [("no-such", "io-queue-2"), ("ipv6", "embedded")])
def test_what_cannot_be_had_is_one_clear_line(fabricbench, lanes, word):
    product = [] if lanes == "no-such" else ["--dut", "serial:/dev/null"]
    done = fabricbench("run", "--lanes", lanes, *product)
    assert done.code == 2 and len(done.err.strip().splitlines()) == 1
    if lanes == "no-such":
        assert word in done.err
