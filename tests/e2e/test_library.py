"""A product that is a library: `run --dut lib:FILE`."""

import json
import os

import pytest

from conftest import PROGRAM

LIBRARIES = PROGRAM.parents[1] / "lib"
EMBEDDED = LIBRARIES / "embedded_product.so"
BAD = LIBRARIES / "bad_product.so"
# Cases that set the embedded product up in a way of their own, which a library is not: they decide nothing here.
SET_UP = {
    "connect_takes_host_identifier_0_where_announced",
    "discovery_without_events_takes_no_keep_alive",
    "h2cdata_below_its_r2t_is_fatal",
    "size_limits_of_commands_hold",
    "streams_go_any_way",
}


def verdicts(finished):
    assert finished.code in (0, 1), finished.err
    return {one["name"]: one["verdict"] for one in json.loads(finished.out)["cases"]}


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
def test_the_embedded_subsystem_gets_the_same_verdicts(fabricbench, transport):
    suites = ["--suite", f"nvme,fabrics,{transport}", "--transport", transport, "--json"]
    behind = verdicts(fabricbench("run", "--dut", f"lib:{EMBEDDED}", *suites))
    plain = verdicts(fabricbench("run", "--role", "controller", *suites))
    judged = {name: verdict for name, verdict in behind.items() if verdict != "skip"}
    assert len(judged) > 500
    different = {name for name, verdict in judged.items() if plain.get(name) != verdict}
    assert different <= SET_UP, {name: (plain.get(name), judged[name]) for name in different - SET_UP}
    assert all(judged[name] == "inconclusive" for name in different)


@pytest.mark.parametrize("medium", ["smbus", "serial", "pcie"])
def test_the_embedded_endpoint_gets_the_same_verdicts(fabricbench, medium):
    options = ["--suite", "mi,mctp", "--transport", medium, "--json"]
    behind = verdicts(fabricbench("run", "--dut", f"lib:{EMBEDDED}", *options))
    plain = verdicts(fabricbench("run", "--role", "endpoint", *options))
    judged = {name: verdict for name, verdict in behind.items() if verdict != "skip"}
    assert len(judged) > 250
    assert {name: (plain.get(name), verdict) for name, verdict in judged.items() if plain.get(name) != verdict} == {}


def test_an_endpoint_behind_the_interface_runs_in_lanes(fabricbench):
    run = fabricbench("run", "--dut", f"lib:{EMBEDDED}", "--transport", "smbus", "--lanes", "all", "--twice", "--json")
    assert run.code == 0, run.out[-2000:]
    assert {one["suite"] for one in run.json["cases"]} == {"mi"}, "MCTP is the bench's"
    assert {one["lane"] for one in run.json["cases"]} >= {"plain", "mi-other-slot"}


def with_messages(**more):
    return {**os.environ, "LIBRARY_MI": "1", **more}


def test_a_library_of_messages_alone_is_met_on_a_medium(fabricbench):
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--json", env=with_messages())
    assert run.code == 1
    assert {one["suite"] for one in run.json["cases"]} == {"mi"} and {one["transport"] for one in run.json["cases"]} == {"smbus"}
    assert any("Invalid Command Opcode" in json.dumps(one) for one in run.json["cases"] if one["verdict"] == "fail")


@pytest.mark.parametrize("defect, line", [
    ("mi_crash", "the library crashed with SIGSEGV (bad address) in mi_message()"),
    ("mi_bad_pointer", "the library crashed with SIGSEGV (bad address) in mi_message()"),
    ("mi_tag", "mi_send() of 12 bytes with tag 8"),
    ("mi_unit", "unit 8"),
    ("mi_set_unit", "mi_set_unit(63): not 64 to"),
])
def test_wrong_use_of_messages_is_named(fabricbench, defect, line):
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--json", env=with_messages(LIBRARY_DEFECT=defect))
    assert run.code == 1, run.err
    failed = [one for one in run.json["cases"] if one["verdict"] == "fail"]
    assert any(line in json.dumps(one) for one in failed), json.dumps(failed, indent=1)[:3000]


def test_a_table_without_messages_is_an_older_one(fabricbench):
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--case", "identify_of_a*", env={**os.environ, "LIBRARY_DEFECT": "old"})
    assert run.code == 0, run.out
    for environment, line in [({**os.environ, "LIBRARY_DEFECT": "old"}, "has no mi_message()"),
                              (with_messages(LIBRARY_DEFECT="mi_bytes"), "'mi_bytes' is not 0 or 64 to 65536")]:
        run = fabricbench("run", "--dut", f"lib:{BAD}", "--transport", "smbus", env=environment)
        assert run.code == 2 and line in run.err, run.err
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--transport", "tcp", env=with_messages())
    assert run.code == 2 and "has no command()" in run.err


def test_two_runs_are_the_same(fabricbench):
    runs = [fabricbench("run", "--dut", f"lib:{BAD}", "--twice", "--json") for _ in range(2)]
    assert [run.code for run in runs] == [0, 0], runs[0].out[-2000:]
    assert runs[0].json["digest"] == runs[1].json["digest"]
    assert {one["suite"] for one in runs[0].json["cases"]} == {"nvme"}, "the rest is about the fabric, which is the bench's"


def test_a_library_with_a_memory_of_its_own_is_no_subject(fabricbench):
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--case", "identify_controller*", "--twice", env={**os.environ, "LIBRARY_DEFECT": "random"})
    assert run.code == 1


@pytest.mark.parametrize("defect, line", [
    ("twice", "which the library has completed already"),
    ("unknown", "which was never given to the library"),
    ("too_long", "although its data could not be moved: Data SGL Length Invalid"),
    ("sent_twice", "after the data of command"),
    ("no_controller", "connect() gave no controller"),
    ("nothing", "create() returned NULL"),
    ("late", "now_ns() was called after destroy()"),
    ("crash", "the library crashed with SIGSEGV (bad address) in command(): opcode 6 on queue 0"),
    ("bad_pointer", "the library crashed with SIGSEGV (bad address) in command(): opcode 6 on queue 0"),
    ("abort", "the library crashed with SIGABRT (abort() or a failed assertion) in command(): opcode 6 on queue 0"),
])
def test_wrong_use_fails_the_case_and_names_it(fabricbench, defect, line):
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--case", "identify_*,connect_takes_*", "--json", env={**os.environ, "LIBRARY_DEFECT": defect})
    assert run.code == 1, run.err
    failed = [one for one in run.json["cases"] if one["verdict"] == "fail"]
    assert len(run.json["cases"]) > 5 and failed
    assert any(line in json.dumps(one) for one in failed), json.dumps(failed, indent=1)[:3000]


@pytest.mark.parametrize("defect, line", [
    ("null", "fabricbench_product() returned NULL"),
    ("abi", "is built for version 99 of fabricbench/product.h; this program has version 1"),
    ("size", "'size' of its table is 16"),
    ("missing", "its table is wrong: 'on_data' is missing"),
    ("nqn", "its table is wrong: 'subnqn' is no NQN"),
])
def test_a_wrong_table_is_refused(fabricbench, defect, line):
    run = fabricbench("run", "--dut", f"lib:{BAD}", env={**os.environ, "LIBRARY_DEFECT": defect})
    assert run.code == 2
    assert line in run.err and len(run.err.strip().splitlines()) == 1, run.err


def test_what_cannot_be_loaded_is_refused(fabricbench, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    for path, line in [(tmp_path / "absent.so", "No such file"), (tmp_path / "text.so", "cannot be loaded"),
                       (PROGRAM.parent / "libfabricbench_mctp.so", "has no function fabricbench_product()")]:
        run = fabricbench("run", "--dut", f"lib:{path}")
        assert run.code == 2
        assert line in run.err and len(run.err.strip().splitlines()) == 1, run.err
    for options, line in [(["--dut", "lib:"], "the path of the library is missing"),
                          (["--dut", f"lib:{BAD}", "--local", "127.0.0.1"], "a library needs none"),
                          (["--dut", f"lib:{BAD}", "--slow"], "in virtual time every case is run"),
                          (["--dut", f"lib:{BAD}", "--arrange", "true"], "--arrange is for"),
                          (["--dut", f"lib:{BAD}", "--transport", "serial"], "has no mi_message()"),
                          (["--dut", f"lib:{BAD}", "--transport", "kernel"], "a library is tested over tcp or rdma, its NVMe-MI over smbus"),
                          (["--dut", f"lib:{BAD}", "--deviation", "connect_takes_sqsize_zero"], "cannot change lib:")]:
        run = fabricbench("run", *options)
        assert run.code == 2
        assert line in run.err and len(run.err.strip().splitlines()) == 1, run.err


def test_a_failure_is_replayed(fabricbench, tmp_path):
    environment = {**os.environ, "LIBRARY_DEFECT": "twice"}
    report = tmp_path / "report"
    run = fabricbench("run", "--dut", f"lib:{BAD}", "--case", "identify_of_a*", "--report", report, "--json", env=environment)
    failed = [one for one in run.json["cases"] if one["verdict"] == "fail"]
    again = fabricbench("replay", failed[0]["replay"], env=environment)
    assert again.code == 1 and "completed already" in " ".join(again.out.split())
