"""`run --dut host:COMMAND`: programs that drive a host, as users get them wrong, break them off and lose them."""

import json
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import pytest
from conftest import PROGRAM

HOST = pathlib.Path(__file__).parent / "independent" / "host"
WITH_HOST = f"host:{shlex.join([sys.executable, str(HOST)])}"

# Says hello, and then does what the rest says.
AFTER_HELLO = """host:read hello; echo '{"id":0,"ok":true,"can":["connect","read"]}'; """


@pytest.mark.parametrize("arguments, said", [
    (["host:", "--local", "127.0.2.1"], "the program that drives the host is missing"),
    (["host:true"], "--local ADDRESS"),
    (["host:true", "--local", "127.0.2.1"], "it has ended with exit code 0"),
    (["host:/no/such/program 2>/dev/null", "--local", "127.0.2.1"], "it has ended with exit code 127"),
    (["host:echo hello; cat", "--local", "127.0.2.1"], "it says what answers no request: hello"),
    (["host:true", "--local", "127.0.2.1", "--transport", "smbus"], "a host is tested over tcp or rdma"),
    ([WITH_HOST, "--local", "203.0.113.9"], "203.0.113.9:4420"),
    ([WITH_HOST, "--local", "127.0.2.1", "--role", "controller"], "has the role host"),
    ([WITH_HOST, "--local", "127.0.2.1", "--deviation", "host_skips_identify"], "host_skips_identify"),
])
def test_what_cannot_be_is_told_in_a_line(fabricbench, arguments, said):
    done = fabricbench("run", "--dut", *arguments)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1 and done.out == ""


def test_a_host_is_judged_from_the_wire(fabricbench, tmp_path):
    done = fabricbench("run", "--dut", WITH_HOST, "--local", "127.0.2.2", "--case", "host_reads_properties_in_their_size",
                       "--report", tmp_path, "--json")
    assert done.code == 0 and done.json["canary"] == "caught"
    case, = done.json["cases"]
    assert (case["verdict"], case["role"], case["transport"]) == ("pass", "host", "tcp")
    assert (tmp_path / "captures" / "host_reads_properties_in_their_size-tcp.pcapng").stat().st_size > 1000
    again = fabricbench("replay", case["replay"], "--local", "127.0.2.2")
    assert again.code == 0


def test_a_program_that_ends_fails_the_case(fabricbench):
    done = fabricbench("run", "--dut", AFTER_HELLO + "read asked; exit 9", "--local", "127.0.2.3", "--case", "host_reports_*", "--json")
    assert done.code == 1
    verdicts = {case["name"]: (case["verdict"], case["reason"]) for case in done.json["cases"]}
    assert ("fail", "the product: the host's program: it has ended with exit code 9") in verdicts.values(), verdicts


def test_what_a_program_does_not_do_is_not_asked(fabricbench):
    done = fabricbench("run", "--dut", AFTER_HELLO + "cat >/dev/null", "--local", "127.0.2.4",
                       "--case", "host_reads_the_discovery_log_after_a_notice", "--json")
    case, = done.json["cases"]
    assert case["verdict"] == "skip" and "does not do 'watch'" in case["reason"]


def test_ctrl_c_leaves_results_and_no_program(fabricbench, tmp_path):
    marker = tmp_path / "drivers"
    command = f"host:echo $$ >>{marker}; exec {WITH_HOST.removeprefix('host:')} 2>/dev/null"
    with subprocess.Popen([PROGRAM, "run", "--dut", command, "--local", "127.0.2.5", "--report", tmp_path / "report"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 60
        while not marker.exists() or len(marker.read_text().split()) < 4:
            assert time.monotonic() < deadline and running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
    assert json.loads((tmp_path / "report" / "results.json").read_text())["cases"]
    for pid in marker.read_text().split():
        assert not pathlib.Path(f"/proc/{pid}").exists()
