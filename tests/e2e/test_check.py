"""Captures judged: what a run left, what a real kernel said, and files that are no captures."""

import json
import struct
import time

import pytest

from conftest import ROOT

KERNEL = ROOT / "tests" / "data" / "rxe-nvme-kernel-6.1.pcap"


def capture_of(fabricbench, tmp_path, case, *arguments):
    fabricbench("run", "--case", case, "--report", tmp_path, *arguments)
    found = sorted((tmp_path / "captures").glob("*.pcapng"))
    assert found
    return found


def test_captures_of_good_products_have_no_findings(fabricbench, tmp_path):
    for path in capture_of(fabricbench, tmp_path, "write_*"):
        done = fabricbench("check", path, "--json")
        assert done.code == 0, (path, done.out)
        report = done.json
        assert set(report) >= {"packets", "decoded", "findings"}
        assert report["packets"] > 0 and report["findings"] == []
        assert report["decoded"]["commands"] > 0 and report["decoded"]["completions"] > 0


def test_a_broken_rule_is_named_with_its_packet(fabricbench, tmp_path):
    paths = capture_of(fabricbench, tmp_path, "payload_is_padded_to_four_bytes", "--deviation", "rdma_pads_with_garbage")
    findings = []
    for path in paths:
        done = fabricbench("check", path, "--json")
        assert done.code in (0, 1)
        findings += done.json["findings"]
    assert findings
    for finding in findings:
        assert set(finding) >= {"rule", "requirement", "packet", "time", "text"}
        assert finding["packet"] >= 1
    assert "rdma_pad_zero" in {finding["rule"] for finding in findings}


def test_the_kernel_breaks_no_rule(fabricbench):
    done = fabricbench("check", KERNEL, "--json")
    report = done.json
    assert report["packets"] > 1500 and report["decoded"]["rdma_connections"] > 20
    # The small peer says wrong things to see what the kernel does about them.
    assert {f["from"].split()[0] for f in report["findings"]} == {"10.7.0.1"}
    assert done.code == 1
    assert any("was not seen" in line for line in report["missing"])


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_linux_and_we_break_no_rule(fabricbench, kernel):
    """Both ways over TCP with digests and over RDMA, some packets lost: a recording of interop/lane/recording.py."""
    done = fabricbench("check", ROOT / "tests" / "data" / f"linux-{kernel}.pcap", "--json")
    report = done.json
    assert done.code == 0 and report["findings"] == [] and report["complete"]
    decoded = report["decoded"]
    # Two hosts over each transport, each with an admin queue and an I/O queue.
    assert decoded["rdma_connections"] == 4 and decoded["nvme_tcp_connections"] == 4
    assert decoded["commands"] > decoded["completions"] > 80  # requests for events wait
    assert decoded["not_readable"] == 0


def test_words_fit_the_screen(fabricbench):
    done = fabricbench("check", KERNEL)
    assert done.code == 1
    assert all(len(line) <= 80 for line in done.out.splitlines()), done.out
    assert "findings of" in done.out


def test_a_cut_file_is_judged_up_to_there(fabricbench, tmp_path):
    whole = KERNEL.read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[:20000])
    done = fabricbench("check", cut, "--json")
    assert done.code == 2
    assert done.json["packets"] > 10 and done.json["complete"] is False
    assert done.err.count("\n") == 1 and str(cut) in done.err


@pytest.mark.parametrize("content", [b"", b"no capture at all", b"\xd4\xc3\xb2\xa1" + bytes(4)])
def test_what_is_no_capture_gets_one_line(fabricbench, tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    done = fabricbench("check", path)
    assert done.code == 2 and done.out == ""
    assert done.err.count("\n") == 1 and str(path) in done.err
    missing = fabricbench("check", tmp_path / "nowhere")
    assert missing.code == 2 and "nowhere" in missing.err and missing.err.count("\n") == 1


def test_packets_behind_vlan_tags_and_a_missing_beginning(fabricbench, tmp_path):
    """The kernel's packets again, from the middle on, each with a VLAN tag."""
    whole = KERNEL.read_bytes()
    link = struct.unpack_from("<I", whole, 20)[0]
    assert link == 1
    out = bytearray(whole[:24])
    at, number = 24, 0
    while at < len(whole):
        seconds, micros, kept, length = struct.unpack_from("<IIII", whole, at)
        frame = whole[at + 16:at + 16 + kept]
        at += 16 + kept
        number += 1
        if number < 10:
            continue
        tagged = frame[:12] + b"\x81\x00\x00\x05" + frame[12:]
        out += struct.pack("<IIII", seconds, micros, kept + 4, length + 4) + tagged
    path = tmp_path / "vlan.pcap"
    path.write_bytes(out)
    report = fabricbench("check", path, "--json").json
    assert report["decoded"]["roce_packets"] > 1500
    assert {f["from"].split()[0] for f in report["findings"]} <= {"10.7.0.1"}
    assert report["missing"]


def test_a_hundred_megabytes_take_less_than_five_seconds(fabricbench, tmp_path):
    """Ten thousand times the same few exchanges would be one connection: the file repeats the recording."""
    whole = KERNEL.read_bytes()
    path = tmp_path / "large.pcap"
    with path.open("wb") as file:
        file.write(whole)
        for _ in range(100 * 1000 * 1000 // len(whole)):
            file.write(whole[24:])
    start = time.monotonic()
    done = fabricbench("check", path, "--json")
    spent = time.monotonic() - start
    assert done.code == 1 and done.json["packets"] > 400_000
    assert spent < 15, f"{spent:.1f} s"  # machines of tests are shared; alone it is below five
