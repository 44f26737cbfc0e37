"""What scripts rely on: exit codes, JSON, reports, one clear line for wrong use."""

import json
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ROOT, wait_until_it_hears

DISPOSITIONS = {"pass", "fail", "skip", "waived", "inconclusive", "error"}


def test_list_names_requirement_and_deviations(fabricbench):
    cases = fabricbench("list", "--json").json["cases"]
    assert len(cases) >= 120
    for case in cases:
        assert set(case) >= {"name", "requirement", "suite", "role", "transports", "deviations"}
    assert len({case["name"] for case in cases}) == len(cases)


def test_coverage_accounts_for_every_requirement(fabricbench):
    requirements = fabricbench("requirements", "--coverage", "--json").json["requirements"]
    for entry in requirements:
        assert entry["state"] in {"covered", "exception", "todo"}
        assert entry["state"] != "covered" or entry["cases"]
        assert entry["state"] != "exception" or entry["reason"]


def test_run_writes_a_report(fabricbench, tmp_path):
    # By a short name: the last line of the summary names the folder, however long that is.
    done = fabricbench("run", "--seed", "1", "--case", "connect_*", "--report", "report", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    tmp_path = tmp_path / "report"
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["seed"] == 1 and results["canary"] == "caught"
    assert results["cases"] and {c["verdict"] for c in results["cases"]} <= DISPOSITIONS
    assert results["summary"]["pass"] == len([c for c in results["cases"] if c["verdict"] == "pass"])
    for case in results["cases"]:
        assert (tmp_path / case["capture"]).stat().st_size > 0
    suites = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert len(list(suites.iter("testcase"))) >= len(results["cases"])
    assert all(len(line) <= 80 for line in done.out.splitlines()), "the summary fits 80 columns"


def test_same_seed_same_digest_whatever_the_jobs(fabricbench):
    one = fabricbench("run", "--seed", "3", "--jobs", "1", "--json").json
    two = fabricbench("run", "--seed", "3", "--jobs", "2", "--json").json
    other = fabricbench("run", "--seed", "4", "--json").json
    assert one["digest"] == two["digest"] != other["digest"]


def test_replay_gives_the_same_bytes(fabricbench, tmp_path):
    fabricbench("run", "--seed", "9", "--case", "connect_*", "--report", tmp_path)
    case = json.loads((tmp_path / "results.json").read_text())["cases"][0]
    done = fabricbench("replay", case["replay"])
    assert done.code == 0
    assert case["digest"] in done.out


# Debian's tshark knows no MCTP.
DISSECTOR = ROOT / "sim" / "capture" / "wireshark" / "mctp.lua"


@pytest.fixture
def wireshark_home(tmp_path):
    """A home whose Wireshark has our dissector, and two guesses less."""
    home = tmp_path / "home"
    plugins, settings = home / ".local" / "lib" / "wireshark" / "plugins", home / ".config" / "wireshark"
    for folder in (plugins, settings):
        folder.mkdir(parents=True)
    shutil.copy(DISSECTOR, plugins)
    # The guess at RPC over RDMA takes empty messages for its own, and fails on them. Sockets Direct is guessed at by the port
    # of a connection request, and then in the request itself, which is too short for it.
    (settings / "disabled_protos").write_text("rpcordma\ninfiniband_sdp\n")
    return home


def dissected(captures, home):
    """For each the number of its packets, and those that are malformed or made our dissector fail. One sharkd looks at many:
    a tshark each is four times the work, most of it starting."""
    asked = []
    for at, capture in enumerate(captures):
        # sharkd remembers what a filter chose, across captures: each has one of its own, by a packet that there is not.
        # A field that Wireshark 4.0 forgot to register (Arbitration in an answer to Get Features) says nothing about the packet.
        # A payload that begins with a number below 65536 is guessed to be Ethernet's, of whatever protocol has that number.
        malformed = ('_ws.malformed && !(_ws.expert.message contains "Unregistered hf")'
                     ' && !(frame.protocols contains "infiniband:ethertype")')
        broken = f"({malformed}) || _ws.lua.error || frame.number == {10_000_000 + at}"
        asked += [("load", {"file": str(capture)}), ("status", {}), ("frames", {"filter": broken, "column0": "frame.protocols:1"})]
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": at + 1, "method": method, "params": parameters}) + "\n"
                   for at, (method, parameters) in enumerate(asked))
    done = subprocess.run(["sharkd", "-"], input=text, capture_output=True, text=True, check=True, env=os.environ | {"HOME": str(home)})
    said = {answer["id"]: answer["result"] for answer in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.split("\n")))}
    assert len(said) == len(asked), done.stderr
    return [(said[at + 2]["frames"], said[at + 3]) for at in range(0, len(asked), 3) if said[at + 1] == {"status": "OK"}]


def test_what_is_malformed_shows(fabricbench, tmp_path, wireshark_home):
    """The eye by which captures are judged sees a packet that is too short, and no more in a good one behind it."""
    fabricbench("run", "--report", tmp_path, "--case", "packets_too_short_for_their_opcode_are_dropped", "--case", "connect_*")
    short = next((tmp_path / "captures").glob("packets_too_short*"))
    good = next((tmp_path / "captures").glob("connect_*"))
    shown = dissected([good, short, good], wireshark_home)
    assert [(packets > 0, bool(broken)) for packets, broken in shown] == [(True, False), (True, True), (True, False)]
    script = wireshark_home / ".local" / "lib" / "wireshark" / "plugins" / DISSECTOR.name
    script.write_text(re.sub(r"(function \w+\.dissector\(.*\n)", r"\1  error('broken on purpose')\n", script.read_text(), count=1))
    fabricbench("run", "--report", tmp_path / "mctp", "--case", "get_endpoint_id_has_three_bytes")
    (_, broken), *_ = dissected(sorted((tmp_path / "mctp" / "captures").iterdir()), wireshark_home)
    assert broken


def test_captures_dissect_cleanly(fabricbench, tmp_path, wireshark_home):
    fabricbench("run", "--seed", "1", "--report", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    # Wireshark 4.0 reads range descriptors up to the end of log page 0Eh and beyond, whatever NLRD says, and an entry of the
    # error log beyond its 64 bytes.
    # So it does with log pages that are read after events, in part.
    # It crashes where an NVMe/TCP queue is nearly full of Writes.
    misread = ("nvme.lba-status.", "nvme.log.error-reserved", "nvme.host.aer.each", "tcp.data.several-commands")
    captures = [tmp_path / case["capture"] for case in results["cases"]
                if case["capture"] and not case["sends_malformed"] and not case["requirement"].startswith(misread)]
    # Most of the time goes into opening them: one in five is opened.
    captures = captures[::5]
    assert len(captures) >= 800
    batches = [captures[at:at + 100] for at in range(0, len(captures), 100)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, shown in zip(batches, pool.map(lambda some: dissected(some, wireshark_home), batches)):
            assert len(shown) == len(batch)
            for capture, (packets, broken) in zip(batch, shown):
                assert packets > 0, f"{capture.name}: an empty capture"
                assert not broken, (capture.name, broken)


WRONG = [
    (["run", "--suite", "no-such-suite"], "no-such-suite"),
    (["run", "--case", "no_such_case"], "no_such_case"),
    (["run", "--seed", "abc"], "abc"),
    (["run", "--jobs", "0"], "jobs"),
    (["run", "--waivers", "/nonexistent.yaml"], "/nonexistent.yaml"),
    (["run", "--dut", "gopher://1.2.3.4"], "gopher"),
    (["run", "--report", "/proc/no/such"], "/proc/no/such"),
    (["replay", "not-a-token"], "not-a-token"),
    (["target", "--listen", "rdma://127.0.0.2:99999"], "99999"),
    (["target", "--listen", "rdma://127.0.0.2:4420", "--namespace", "12Q"], "12Q"),
    (["target", "--listen", "rdma://127.0.0.2:4420", "--namespace", "1M", "--deviation", "no_such_deviation"],
     "no_such_deviation"),
    (["host", "io", "rdma://", "--verify"], "rdma://"),
    (["no-such-command"], "no-such-command"),
    ([], ""),
]


@pytest.mark.parametrize("arguments, named", WRONG, ids=[" ".join(w[0])[:40] for w in WRONG])
def test_wrong_use_is_one_line_and_exit_2(fabricbench, arguments, named):
    done = fabricbench(*arguments)
    assert done.code == 2, done.out + done.err
    assert 1 <= len(done.err.strip().splitlines()) <= 2
    assert named in done.err


def test_help_shows_an_example_each(fabricbench):
    for command in ["run", "selftest", "list", "requirements", "replay", "target", "devices", "host",
                    "host io", "host connect", "host discover", "host identify", "host read",
                    "host write"]:
        done = fabricbench(*command.split(), "--help")
        assert done.code == 0
        assert re.search(r"fabricbench " + command, done.out), f"{command} --help has no example"


def test_ctrl_c_leaves_what_was_finished(start_program, tmp_path):
    process = start_program("run", "--jobs", "1", "--twice", "--report", tmp_path)
    wait_until_it_hears(process, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=20)
    assert code in (0, 130)  # 0 when the machine finished the suite first
    assert "cases" in json.loads((tmp_path / "results.json").read_text())


def test_a_deviation_that_no_case_could_catch_is_told(fabricbench):
    done = fabricbench("run", "--case", "icresp_has_its_shape", "--deviation", "connect_takes_sqsize_zero", "--json")
    line = "deviation 'connect_takes_sqsize_zero' could have no effect: no case of this run checks fabrics.connect.sqsize.minimum"
    assert done.code == 0 and line in done.err and done.err.count("\n") == 1, done.err
    assert any(line in remark and "connect_refuses_sqsize_zero" in remark for remark in done.json["remarks"])
    done = fabricbench("run", "--case", "connect_refuses_sqsize_zero", "--deviation", "connect_takes_sqsize_zero", "--json")
    assert done.code == 1 and not done.err and not any("could have no effect" in remark for remark in done.json["remarks"])


def test_a_deviation_is_caught_by_name(fabricbench):
    case = next(c for c in fabricbench("list", "--json").json["cases"]
                if c["role"] == "controller" and c["deviations"])
    done = fabricbench("run", "--case", case["name"], "--deviation", case["deviations"][0], "--json")
    assert done.code == 1
    assert done.json["cases"][0]["verdict"] == "fail"
    assert done.json["cases"][0]["expected"] and done.json["cases"][0]["seen"]
