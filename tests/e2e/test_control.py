"""A running target and running drives that are told what to do."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from conftest import PROGRAM, ROOT

AT = "tcp://127.0.0.96:4420"
sys.path.insert(0, os.environ.get("PYTHONPATH", str(ROOT / "build" / "release" / "python")).split(":")[0])
control = pytest.importorskip("fabricbench.control")


@pytest.fixture
def disk(start_target, tmp_path):
    path = tmp_path / "ctl"
    target = start_target("--listen", AT, "--namespace", "64M", "--control", f"unix:{path}")
    with control.Control(f"unix:{path}") as client:
        client.path, client.target = path, target
        yield client


@pytest.fixture
def ctl(fabricbench, disk):
    return lambda *words: fabricbench("ctl", f"unix:{disk.path}", *words)


@pytest.fixture
def read(fabricbench):
    """One block, by a host of its own."""
    return lambda lba: fabricbench("host", "read", AT, "--lba", lba, "--file", os.devnull)


def refused(call, *words, code=-32000, **parameters):
    with pytest.raises(control.ControlError) as caught:
        call(*words, **parameters)
    assert caught.value.code == code
    return str(caught.value)


def accepted(call, *words, **parameters):
    try:
        return call(*words, **parameters)
    except control.ControlError:
        return False


# ---- the socket ----

def test_the_socket_is_its_owners_alone_and_goes_with_the_target(disk):
    assert stat.S_IMODE(os.stat(disk.path).st_mode) == 0o600
    assert disk.target.stop() == 0
    assert not disk.path.exists()


def test_a_socket_that_a_kill_left_is_taken_over_and_one_in_use_is_not(disk, fabricbench, start_target):
    words = ["--listen", "tcp://127.0.0.94:4420", "--namespace", "1M", "--control", f"unix:{disk.path}"]
    taken = fabricbench("target", *words)
    assert taken.code == 2 and len(taken.err.splitlines()) == 1 and str(disk.path) in taken.err
    disk.target.kill()
    assert disk.path.exists()
    start_target(*words)
    with control.Control(disk.path) as again:
        assert len(again.call("subsystem.list")) == 1


def test_what_is_no_place_for_a_socket_is_one_line(fabricbench, tmp_path):
    for path, words in ((tmp_path / "nowhere" / "ctl", "No such file"), ("x" * 200, "too long"), (tmp_path, "in use")):
        done = fabricbench("target", "--listen", AT, "--namespace", "1M", "--control", f"unix:{path}")
        assert done.code == 2 and len(done.err.splitlines()) == 1 and words in done.err


def test_bytes_that_are_no_requests(disk):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(disk.path))
        client.sendall(b"\xff\x00nonsense\n\n   \n")
        file = client.makefile("rb")
        assert json.loads(file.readline())["error"]["code"] == -32700
        # Pieces of a line, and several lines at once.
        request = b'{"jsonrpc":"2.0","id":7,"method":"stats"}\n'
        for byte in request:
            client.sendall(bytes([byte]))
        client.sendall(request * 3)
        assert [json.loads(file.readline())["id"] for _ in range(4)] == [7] * 4
        # A line without an end.
        try:
            for _ in range(40):
                client.sendall(b"x" * 65536)
        except OSError:
            pass
        assert json.loads(file.readline() or b'{"error":{"code":-32700}}')["error"]["code"] == -32700
    assert disk.call("stats")["controllers"] == 0


def test_a_client_that_never_reads_is_dropped(disk):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(disk.path))
        try:
            for _ in range(4000):
                client.sendall(b'{"jsonrpc":"2.0","id":7,"method":"rpc.discover"}\n')
        except OSError:
            pass
        assert disk.call("stats")["controllers"] == 0


# ---- the command ----

def test_methods_are_listed_and_described(ctl):
    listed = ctl()
    assert listed.code == 0 and "namespace.add [nqn=] spec= [nsid=]" in listed.out
    methods = ctl("rpc.discover").json["methods"]
    assert len(methods) >= 20
    for method in methods:
        assert method["description"]
        for parameter in method["params"]:
            assert parameter["description"] and parameter["schema"]["type"]


def test_what_a_user_types_wrong(ctl, fabricbench, tmp_path):
    for words, code, hint in ((["namespace.ad"], 1, "did you mean 'namespace.add'"), (["namespace.add", "sice=64M"], 1, "no parameter 'sice'"),
                              (["namespace.add", "64M"], 2, "is no parameter"), (["namespace.remove", "nsid=7"], 1, "no namespace 7"),
                              (["namespace.remove", "nsid=1", "nsid=2"], 2, "given twice"), (["namespace.list", "--prometheus"], 2, "stats"),
                              (["namespace.add", "spec=63"], 1, "not a whole number of blocks")):
        done = ctl(*words)
        assert (done.code, len(done.err.splitlines())) == (code, 1), done.err
        assert hint in done.err
    nobody = fabricbench("ctl", f"unix:{tmp_path}/none", "stats")
    assert nobody.code == 2 and "No such file" in nobody.err


def test_statistics_for_prometheus(ctl, fabricbench):
    assert fabricbench("host", "io", AT, "--size", "1M").code == 0
    shown = ctl("stats", "--prometheus").out.splitlines()
    assert [line for line in shown if line.startswith("fabricbench_commands ")]
    written = [line for line in shown if line.startswith("fabricbench_namespace_bytes_written{")]
    assert len(written) == 1 and 'nsid="1"' in written[0] and written[0].endswith(f" {1 << 20}")


# ---- what it does ----

def test_namespaces_come_and_go(disk, fabricbench):
    made = disk.call("namespace.add", spec="8M,bs=4096")
    assert (made["nsid"], made["blocks"], made["block_bytes"]) == (2, 2048, 4096)
    names = [one["nsid"] for one in fabricbench("host", "identify", AT, "--json").json["namespaces"]]
    assert names == [1, 2]
    assert disk.call("namespace.resize", nsid=2, size="4M")["blocks"] == 1024
    assert "whole number" in refused(disk.call, "namespace.resize", nsid=2, size=4097)
    assert disk.call("namespace.remove", nsid=2) is True
    assert [one["nsid"] for one in disk.call("namespace.list")] == [1]
    refused(disk.call, "namespace.remove", nsid=2)


def test_blocks_are_spoiled_corrupted_and_protected(disk, fabricbench, read):
    assert fabricbench("host", "io", AT, "--verify", "--size", "1M").code == 0
    disk.call("namespace.spoil", nsid=1, lba=8)
    done = read(8)
    assert done.code != 0 and "Unrecovered Read Error" in done.err
    before = disk.call("namespace.read", nsid=1, lba=9)
    disk.call("namespace.corrupt", nsid=1, lba=9, offset=5)
    after = disk.call("namespace.read", nsid=1, lba=9)
    assert [i for i in range(512) if before[2 * i:2 * i + 2] != after[2 * i:2 * i + 2]] == [5]
    disk.call("namespace.protect", nsid=1, on=True)
    io = fabricbench("host", "io", AT, "--size", "64K")
    assert io.code == 1 and "Write Protected" in io.err + io.out
    assert "beyond" in refused(disk.call, "namespace.spoil", nsid=1, lba=1 << 40)


def test_blocks_are_stored_behind_the_back_of_hosts(disk, read):
    disk.call("namespace.write", nsid=1, lba=3, data="5a" * 1024)
    assert disk.call("namespace.read", nsid=1, lba=4) == "5a" * 512
    assert "no whole blocks" in refused(disk.call, "namespace.write", nsid=1, lba=3, data="5a" * 100)
    assert "hexadecimal" in refused(disk.call, "namespace.write", nsid=1, lba=3, data="no")
    assert "beyond" in refused(disk.call, "namespace.write", nsid=1, lba=1 << 40, data="5a" * 512)
    before = disk.call("namespace.list")[0]["reads"]
    assert read(3).code == 0
    assert disk.call("namespace.list")[0]["reads"] > before


def test_a_subsystem_is_hidden_from_a_port(disk, fabricbench):
    port = disk.call("ana.get")[0]["portid"]
    disk.call("subsystem.hide", portid=port)
    assert fabricbench("host", "connect", AT).code != 0
    disk.call("subsystem.expose", portid=port)
    assert fabricbench("host", "connect", AT).code == 0
    assert "no port" in refused(disk.call, "subsystem.hide", portid=4711)


def test_the_next_commands_are_answered_as_told(disk, fabricbench, read):
    rule = disk.call("command.fail", opcode=2, sct=2, sc=0x81, count=2)
    assert disk.call("command.list")[0]["status"] == "Unrecovered Read Error (2/81h)"
    assert [read(0).code == 0 for _ in range(3)] == [False, False, True]
    assert disk.call("command.list") == []
    assert disk.call("stats")["rule_strikes"] == 2
    refused(disk.call, "command.clear", id=rule)
    refused(disk.call, "command.delay", queues="admin", time="1s")
    refused(disk.call, "command.fail", sct=0, sc=0)
    disk.call("command.delay", time="700ms")
    started = time.monotonic()
    assert read(0).code == 0
    assert time.monotonic() - started > 0.7


def test_connections_are_dropped(disk, start_program):
    host = start_program("host", "io", AT, "--size", "60M", "--block-size", "512", "--queue-depth", "1")
    deadline = time.monotonic() + 20
    while not (found := disk.call("controller.list")) and time.monotonic() < deadline:
        time.sleep(0.05)
    cntlid = found[0]["cntlid"]
    assert {one["qid"] for one in disk.call("connection.list") if one["cntlid"] == cntlid} >= {0}
    refused(disk.call, "connection.drop", cntlid=cntlid, qid=99)
    assert disk.call("connection.drop", cntlid=cntlid, qid=0) is True
    assert disk.call("connection.list") == [] or all(one["cntlid"] is None for one in disk.call("connection.list"))
    host.send_signal(signal.SIGINT)
    host.wait(timeout=30)


def test_a_failing_power_supply(disk, fabricbench):
    disk.call("power.off", time="1s")
    assert fabricbench("host", "identify", AT).code == 2
    assert "off" in refused(disk.call, "listener.add", url="tcp://127.0.0.96:4499")
    deadline = time.monotonic() + 20
    while fabricbench("host", "identify", AT).code != 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert fabricbench("host", "io", AT, "--verify", "--size", "1M").code == 0


def test_listeners_hosts_states_and_referrals(disk, fabricbench, read):
    disk.call("listener.add", url="tcp://127.0.0.96:4498")
    assert fabricbench("host", "identify", "tcp://127.0.0.96:4498").code == 0
    disk.call("listener.remove", url="tcp://127.0.0.96:4498")
    assert fabricbench("host", "identify", "tcp://127.0.0.96:4498").code == 2
    assert "address already in use" in refused(disk.call, "listener.add", url=AT).lower()
    assert len(disk.call("listener.list")) == 1
    disk.call("ana.set", state="inaccessible")
    assert read(0).code != 0
    disk.call("ana.set", state="optimized")
    assert read(0).code == 0
    disk.call("host.allow_any", on=False)
    assert fabricbench("host", "identify", AT).code in (1, 2)
    disk.call("host.allow_any", on=True)
    disk.call("referral.add", url="tcp://127.0.0.98:8009")
    assert "127.0.0.98" in fabricbench("host", "discover", AT, "--no-referrals").out
    disk.call("referral.remove", url="tcp://127.0.0.98:8009")
    assert "127.0.0.98" not in fabricbench("host", "discover", AT, "--no-referrals").out


def test_deviations_and_plans_are_switched(disk, fabricbench):
    def judged():
        return fabricbench("run", "--dut", AT, "--case", "connect_refuses_sqsize_zero").code
    assert judged() == 0
    assert disk.call("deviation.on", names="connect_takes_sqsize_zero") == ["connect_takes_sqsize_zero"]
    assert judged() == 1
    assert disk.call("deviation.off") == []
    assert judged() == 0
    assert "did you mean" in refused(disk.call, "deviation.on", names=["connect_takes_sqsize_zeros"])
    plan = "name: rough\nfaults:\n  - kind: slow\n    every: 5\n    most: 20\n    amount: 1ms\n"
    assert disk.call("fault.start", plan=plan, seed=3)["plan"] == "rough"
    assert fabricbench("host", "io", AT, "--verify", "--size", "1M", "--block-size", "4K").code == 0
    assert disk.call("fault.status")["strikes"]
    assert disk.call("fault.stop")["strikes"] > 0
    assert "cannot reach" in refused(disk.call, "fault.start", plan="faults:\n  - kind: drop\n")
    assert "either" in refused(disk.call, "fault.start", code=-32602)
    refused(disk.call, "fault.stop")


def test_it_stops_when_told(disk):
    disk.call("target.stop")
    assert disk.target.process.wait(timeout=20) == 0


# ---- drives ----

@pytest.fixture
def drives(tmp_path):
    process = subprocess.Popen([str(PROGRAM), "mctp", "serve", "--socket", str(tmp_path / "bus"), "--control", f"unix:{tmp_path}/ctl"],
                               stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("LD_PRELOAD"):
            break
    environment = dict(os.environ, **dict(word.split("=", 1) for word in line.split()))
    with control.Control(tmp_path / "ctl") as client:
        client.environment = environment
        yield client
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0


def test_drives_are_told_too(drives):
    listed = drives.call("drive.list")
    assert [one["eid"] for one in listed] == [9, 10]
    assert "name one" in refused(drives.call, "health.get", code=-32602)
    drives.call("health.set", eid=9, temperature=345, percentage_used=101)
    assert drives.call("health.get", drive=1)["temperature"] == 345
    assert drives.call("health.get", drive=2)["temperature"] != 345
    drives.call("firmware.set", eid=9, revision="2.5")
    assert [one["firmware"] == "2.5" for one in drives.call("drive.list")] == [True, False]
    refused(drives.call, "firmware.set", eid=9, revision="longer than eight")
    links = [port for port in range(8) if accepted(drives.call, "link.set", eid=9, port=port, on=False)]
    assert links, "a drive has a port of PCI Express"
    drives.call("link.set", eid=9, port=links[0], on=True)
    drives.call("drive.remove", eid=10)
    refused(drives.call, "drive.remove", eid=10)
    assert [one["present"] for one in drives.call("drive.list")] == [True, False]
    drives.call("drive.insert", eid=10)
    drives.call("pace.set", eid=9, latency="300ms", more_count=2)
    assert drives.call("drive.list")[0]["latency_ms"] == 300
    names = [one for one in ("admin_offset_ignored",)]
    assert drives.call("deviation.on", eid=9, names=names) == names
    assert drives.call("deviation.off", eid=9) == []
    assert drives.call("stats")["drives"][0]["drive"] == "1"
