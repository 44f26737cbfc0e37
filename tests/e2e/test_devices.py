"""The suites behind the programming interfaces of Windows: the same verdicts as on the bare device, and what an interface
does not have is skipped with its reason."""
import json

import pytest

SUITES = ["fabrics", "nvme", "rdma", "cm"]


def verdicts(fabricbench, *options):
    result = fabricbench("run", "--suite", ",".join(SUITES), "--transport", "rdma", "--twice", "--jobs", "2", "--json", *options)
    assert result.code == 0, result.out + result.err
    return {case["name"]: (case["verdict"], case.get("reason", "")) for case in json.loads(result.out)["cases"]}


@pytest.mark.parametrize("device, absent", [("ND:default", 67), ("NDK:default", 59)])
def test_the_same_verdicts(fabricbench, device, absent):
    bare, behind = verdicts(fabricbench), verdicts(fabricbench, "--device", device)
    skipped = {name: reason for name, (verdict, reason) in behind.items() if verdict == "skip"}
    assert {name: verdict for name, (verdict, _) in bare.items() if name not in skipped} == {
        name: verdict for name, (verdict, _) in behind.items() if name not in skipped}
    assert len(skipped) == absent
    for reason in skipped.values():
        assert "interface" in reason or "NetworkDirect" in reason, reason


def test_a_defect_shows_behind_each(fabricbench):
    for device in ("softroce", "ND:default", "NDK:default"):
        result = fabricbench("run", "--case", "connect_refuses_sqsize_zero", "--transport", "rdma", "--device", device,
                             "--deviation", "connect_takes_sqsize_zero")
        assert result.code == 1, result.out


def test_an_unknown_device(fabricbench):
    result = fabricbench("run", "--device", "IB:default")
    assert result.code == 2
    assert "IB:default" in result.err and result.err.count("\n") == 1
