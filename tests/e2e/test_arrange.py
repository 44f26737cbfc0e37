"""Arranged cases judge products in other processes, whose owner's program makes happen what they request (run --arrange)."""

import json
import re
import signal
import stat
import subprocess
import sys

import pytest

from conftest import PROGRAM, ROOT

AT = "tcp://127.0.0.98:4420"
BMC = ROOT / "examples" / "arrange" / "bmc.py"


@pytest.fixture
def arranged_cases(fabricbench):
    """The names of the cases of a role that request something, but for those that are about time."""
    def cases(role):
        timed = ("mi.event.", "mi.mpr.")
        return [one["name"] for one in fabricbench("list", "--role", role, "--json").json["cases"]
                if one["requests"] and not one["requirement"].startswith(timed)]
    return cases


@pytest.fixture
def disk(start_target, tmp_path):
    path = tmp_path / "ctl"

    def start(*options):
        start_target("--listen", AT, "--namespace", "64M", "--namespace", "64M", "--control", f"unix:{path}", *options)
        return f"unix:{path}"

    return start


def driver_of(socket_path):
    return f"{PROGRAM} target drive --control {socket_path}"


def ctl(fabricbench, socket_path, *words):
    return fabricbench("ctl", socket_path, *words).json


def by_verdict(results):
    verdicts = {}
    for case in results["cases"]:
        verdicts.setdefault(case["verdict"], []).append(f"{case['name']}: {case['reason']}")
    return verdicts


# ---- a target of ours in another process ----

def test_arranged_cases_judge_a_target_in_another_process(fabricbench, disk, arranged_cases):
    socket_path = disk()
    before = [ctl(fabricbench, socket_path, method) for method in ("namespace.list", "ana.get", "health.get", "referral.list")]
    hosts_before = ctl(fabricbench, socket_path, "subsystem.list")[0]
    result = fabricbench("run", "--dut", AT, "--arrange", driver_of(socket_path), "--case", ",".join(arranged_cases("controller")),
                         "--json", timeout=280)
    verdicts = by_verdict(result.json)
    assert result.code == 0, result.err + json.dumps(verdicts, indent=1)
    assert len(verdicts["pass"]) >= 50, verdicts
    assert set(verdicts) <= {"pass", "skip"}, verdicts
    # What was changed is what it was, but for what hosts have written.
    after = [ctl(fabricbench, socket_path, method) for method in ("namespace.list", "ana.get", "health.get", "referral.list")]
    counters = ("reads", "writes", "bytes_read", "bytes_written")
    for spaces in (before[0], after[0]):
        for space in spaces:
            for name in counters:
                space.pop(name)
    assert before == after
    hosts_after = ctl(fabricbench, socket_path, "subsystem.list")[0]
    assert (hosts_before["allow_any_host"], hosts_before["allowed_hosts"]) == (hosts_after["allow_any_host"], hosts_after["allowed_hosts"])


@pytest.mark.parametrize("case, deviation", [
    ("namespace_change_is_announced", "event_namespace_missing"),
    ("io_in_an_inaccessible_group_is_refused", "ana_inaccessible_served"),
    ("connect_refuses_host_that_is_not_allowed", "connect_takes_any_host"),
    ("discovery_change_is_announced", "discovery_changes_untold"),
])
def test_deviations_are_seen_through_a_driver(fabricbench, disk, case, deviation):
    known = {one["name"]: one for one in fabricbench("list", "--case", case, "--json").json["cases"]}[case]["deviations"]
    chosen = deviation if deviation in known else known[0]
    socket_path = disk("--deviation", chosen)
    result = fabricbench("run", "--dut", AT, "--arrange", driver_of(socket_path), "--case", case, "--json")
    assert result.code == 1, result.out
    assert next(one for one in result.json["cases"] if one["name"] == case)["verdict"] == "fail"


def test_without_a_driver_they_are_skipped_with_the_reason(fabricbench, disk):
    disk()
    result = fabricbench("run", "--dut", AT, "--case", "namespace_change_is_announced", "--json")
    case = result.json["cases"][0]
    assert case["verdict"] == "skip" and "'namespace_resize'" in case["reason"] and "--arrange" in case["reason"]


def script(tmp_path, body):
    path = tmp_path / "driver.py"
    path.write_text("import json, sys, time\n"
                    "def answer(request, **content): print(json.dumps({'id': request['id'], **content}), flush=True)\n" + body)
    return f"{sys.executable} {path}"


HELLO = "for line in sys.stdin:\n  request = json.loads(line)\n  if request['do'] == 'hello':\n    answer(request, ok=True, can={can})\n"


def test_what_the_driver_cannot_do_is_skipped_with_the_reason(fabricbench, disk, tmp_path):
    disk()
    command = script(tmp_path, HELLO.format(can="['temperature']"))
    result = fabricbench("run", "--dut", AT, "--arrange", command, "--case", "namespace_change_is_announced", "--json")
    assert "does not say it can do" in result.json["cases"][0]["reason"]


def test_a_driver_that_refuses_makes_a_case_inconclusive(fabricbench, disk, tmp_path):
    disk()
    command = script(tmp_path, HELLO.format(can="['namespace_resize']") + "  else:\n    answer(request, ok=False, text='not today')\n")
    result = fabricbench("run", "--dut", AT, "--arrange", command, "--case", "namespace_change_is_announced", "--json")
    case = result.json["cases"][0]
    assert case["verdict"] == "inconclusive" and "not today" in case["reason"]


@pytest.mark.parametrize("body, said", [
    ("sys.exit(3)\n", "it has ended with exit code 3"),
    ("print('hello', flush=True)\nsys.stdin.read()\n", "answers no request"),
    ("for line in sys.stdin: answer(json.loads(line), ok=False, text='no such array')\n", "no such array"),
    ("for line in sys.stdin: answer(json.loads(line), ok=True, can=7)\n", "members of other types"),
])
def test_a_bad_driver_is_one_line_and_exit_code_2(fabricbench, disk, tmp_path, body, said):
    disk()
    result = fabricbench("run", "--dut", AT, "--arrange", script(tmp_path, body), "--case", "namespace_change_is_announced")
    assert result.code == 2 and said in result.err and result.err.count("\n") == 1, result.err


@pytest.mark.parametrize("dut", ["embedded", "host:true"])
def test_arrange_is_for_products_at_an_address(fabricbench, dut):
    more = [] if dut == "embedded" else ["--transport", "tcp", "--local", "127.0.0.1"]
    result = fabricbench("run", "--dut", dut, "--arrange", "true", *more)
    assert result.code == 2 and result.err.count("\n") == 1


# ---- a drive of ours in another process ----

@pytest.fixture
def drive(tmp_path):
    path = tmp_path / "bus"
    process = subprocess.Popen([PROGRAM, "mctp", "serve", "--serial", "pty", "--control", f"unix:{path}"], text=True,
                               stdout=subprocess.PIPE)
    line = process.stdout.readline()
    yield re.search(r"/dev/pts/\d+", line).group(), f"unix:{path}"
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=20)
    process.stdout.close()


def test_arranged_cases_judge_a_drive_in_another_process(fabricbench, drive, arranged_cases):
    port, socket_path = drive
    before = ctl(fabricbench, socket_path, "health.get")
    result = fabricbench("run", "--dut", f"serial:{port}", "--arrange", f"{PROGRAM} mctp drive --control {socket_path}",
                         "--case", ",".join(arranged_cases("endpoint")), "--json", timeout=280)
    verdicts = by_verdict(result.json)
    assert result.code == 0, result.err + json.dumps(verdicts, indent=1)
    assert len(verdicts["pass"]) >= 10 and set(verdicts) <= {"pass", "skip"}, verdicts
    assert ctl(fabricbench, socket_path, "health.get") == before


# ---- drivers over TCP ----

@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("a secret\n")
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    return path


@pytest.fixture
def listening():
    started = []

    def start(*options):
        process = subprocess.Popen([PROGRAM, "target", "drive", *map(str, options)], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        started.append(process)
        line = process.stdout.readline()
        assert line.startswith("listening on "), process.stderr.read()
        return line.split()[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
        process.stdout.close()
        process.stderr.close()


def test_a_driver_that_listens_takes_the_token(fabricbench, disk, listening, token, tmp_path):
    at = listening("--control", disk(), "--listen", "0.0.0.0:0", "--token-file", token)
    join = f"{PROGRAM} target drive --connect 127.0.0.1:{at.rpartition(':')[2]}"
    case = ("--case", "namespace_change_is_announced")
    assert fabricbench("run", "--dut", AT, "--arrange", f"{join} --token-file {token}", *case).code == 0
    wrong = tmp_path / "wrong"
    wrong.write_text("another secret\n")
    wrong.chmod(0o600)
    for options in ("", f" --token-file {wrong}"):
        result = fabricbench("run", "--dut", AT, "--arrange", join + options, *case)
        assert result.code == 2, result.out


def test_a_driver_without_a_token_listens_on_loopback_alone(fabricbench, token):
    result = fabricbench("target", "drive", "--listen", "0.0.0.0:0")
    assert result.code == 2 and "--token-file" in result.err and result.err.count("\n") == 1
    token.chmod(0o644)
    result = fabricbench("target", "drive", "--listen", "127.0.0.1:0", "--token-file", token)
    assert result.code == 2 and str(token) in result.err


# ---- nvmet, as far as a folder can play configfs ----

SUBNQN = "nqn.2026-11.org.example:disk"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


@pytest.fixture
def configfs(tmp_path):
    root, store = tmp_path / "nvmet", tmp_path / "store"
    store.write_bytes(bytes(1 << 20))
    subsystem, port = root / "subsystems" / SUBNQN, root / "ports" / "1"
    (root / "hosts").mkdir(parents=True)
    write(subsystem / "attr_allow_any_host", "1")
    (subsystem / "allowed_hosts").mkdir()
    write(subsystem / "namespaces" / "1" / "device_path", str(store))
    write(subsystem / "namespaces" / "1" / "enable", "1")
    write(subsystem / "namespaces" / "1" / "revalidate_size", "")
    for name, value in (("trtype", "tcp"), ("traddr", "0.0.0.0"), ("trsvcid", "4420"), ("adrfam", "ipv4")):
        write(port / f"addr_{name}", value)
    write(port / "ana_groups" / "1" / "ana_state", "optimized")
    (port / "subsystems").mkdir()
    for name in (SUBNQN, f"{SUBNQN}.2"):
        (port / "subsystems" / name).symlink_to(subsystem)
    return root


class Session:
    def __init__(self, *words, hello=None):
        self.process = subprocess.Popen([PROGRAM, *map(str, words)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.number = 0
        self.hello = self.ask("hello", **(hello or {"transport": "tcp", "traddr": "192.0.2.7", "trsvcid": 4420, "subnqn": SUBNQN}))

    def ask(self, what, **fields):
        self.number += 1
        self.process.stdin.write(json.dumps({"id": self.number, "do": what, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer.pop("id") == self.number
        return answer

    def end(self):
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, err


def test_nvmet_is_changed_and_put_back(configfs):
    subsystem, port = configfs / "subsystems" / SUBNQN, configfs / "ports" / "1"
    session = Session("target", "drive", "--configfs", configfs)
    assert session.hello["ok"], session.hello
    assert {"ana_state", "namespace_resize", "any_host", "host_allow", "referral_add", "subsystem_hide"} <= set(session.hello["can"])
    assert session.ask("ana_state", group=1, state="inaccessible") == {"ok": True}
    assert (port / "ana_groups" / "1" / "ana_state").read_text() == "inaccessible"
    session.ask("ana_state", group=1, state="change")
    assert session.ask("namespace_resize", nsid=1, blocks=100, block_bytes=4096)["ok"]
    assert (configfs.parent / "store").stat().st_size == 409600
    assert session.ask("any_host", on=False)["ok"] and session.ask("host_allow", hostnqn="nqn.example:me")["ok"]
    assert [one.name for one in (subsystem / "allowed_hosts").iterdir()] == ["nqn.example:me"]
    assert (subsystem / "attr_allow_any_host").read_text() == "0"
    assert session.ask("subsystem_hide")["ok"] and not (port / "subsystems" / SUBNQN).exists()
    refused = session.ask("namespace_resize", nsid=7, blocks=1, block_bytes=512)
    assert refused["ok"] is False and "namespaces/7" in refused["text"]
    assert session.ask("host_allow", hostnqn="../evil")["ok"] is False
    assert session.ask("temperature", kelvins=300)["ok"] is False
    assert session.end() == (0, "")
    assert (port / "ana_groups" / "1" / "ana_state").read_text() == "optimized"
    assert (configfs.parent / "store").stat().st_size == 1 << 20
    assert (subsystem / "attr_allow_any_host").read_text() == "1" and not list((subsystem / "allowed_hosts").iterdir())
    assert (port / "subsystems" / SUBNQN).exists()


def test_the_only_subsystem_of_a_port_is_not_hidden(configfs):
    """The kernel would close the port, and end what the case has connected there."""
    (configfs / "ports" / "1" / "subsystems" / f"{SUBNQN}.2").unlink()
    session = Session("target", "drive", "--configfs", configfs)
    assert "subsystem_hide" not in session.hello["can"] and "referral_add" in session.hello["can"]
    assert session.end()[0] == 0


def test_nvmet_that_is_not_there_is_told_in_a_line(fabricbench, tmp_path):
    result = fabricbench("target", "drive", "--configfs", tmp_path, input='{"id":1,"do":"hello"}\n')
    assert result.code == 2 and result.err.count("\n") == 1 and "nvmet" in result.err


# ---- the example for a BMC ----

def test_the_example_for_a_bmc(tmp_path):
    tool, log = tmp_path / "ipmitool", tmp_path / "log"
    tool.write_text(f'#!/bin/sh\necho "$@" >>{log}\n')
    tool.chmod(0o755)
    process = subprocess.run([sys.executable, BMC, "--host", "bmc", "--user", "root", "--password-file", "pw", "--ipmitool", str(tool),
                              "--settle", "0"], text=True, capture_output=True, check=True, timeout=60,
                             input='{"id":0,"do":"hello"}\n{"id":1,"do":"power_cycle"}\n{"id":2,"do":"link","port":0,"up":false}\n')
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    assert answers[0] == {"id": 0, "ok": True, "name": "BMC", "can": ["power_cycle"]}
    assert answers[1] == {"id": 1, "ok": True} and answers[2]["ok"] is False
    assert [line.split()[-2:] for line in log.read_text().splitlines()] == [["power", "off"], ["power", "on"]]
