"""Campaigns as a user runs them: plans, failures found, files that replay and shrink, interruption."""

import json
import signal
import time

import pytest

from conftest import wait_until_it_hears

# A defect that loses the ends of writes: it shows in a world of any kind of fabric.
PLANTED = ("--deviation", "write_ends_wrong")


@pytest.fixture
def found(fabricbench, tmp_path):
    """A campaign with a planted defect; its JSON."""
    done = fabricbench("campaign", "--workload", "rdma", "--seeds", "1..60", *PLANTED, "--out", tmp_path / "out", "--json")
    assert done.code == 1, done.out + done.err
    return done.json


def test_honest_products_get_over_the_standard_faults(fabricbench, tmp_path):
    done = fabricbench("campaign", "--seeds", "1..200", "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.out + done.err
    result = done.json
    assert (result["worlds"], result["failures"], result["canary"]) == (200, [], "caught")
    assert result["strikes"] > 1000


def test_the_digest_does_not_depend_on_the_number_of_threads(fabricbench, tmp_path):
    digests = {fabricbench("campaign", "--seeds", "1..100", "--jobs", jobs, "--out", tmp_path / "o", "--json").json["digest"]
               for jobs in (1, 2, 3)}
    assert len(digests) == 1
    other = fabricbench("campaign", "--seeds", "2..101", "--out", tmp_path / "o", "--json").json["digest"]
    assert other not in digests


def test_a_defect_is_found_replayed_and_shrunk(fabricbench, found):
    failure = found["failures"][0]
    again = fabricbench("replay", failure["replay"], "--json")
    assert again.code == 1
    assert again.json["as_recorded"] and again.json["digest"] == failure["digest"]
    less = fabricbench("shrink", failure["replay"], "--json")
    assert less.code == 0, less.err
    assert less.json["decisions_after"] <= 5 and less.json["seconds"] < 30
    assert any("write_ends_wrong" in sentence for sentence in less.json["story"])
    last = fabricbench("replay", less.json["replay"])
    assert last.code == 1 and "as recorded" in last.out


def test_a_world_leaves_its_packets(fabricbench, found, tmp_path):
    done = fabricbench("replay", found["failures"][0]["replay"], "--report", tmp_path / "report", "--json")
    assert done.json["as_recorded"], "listening changes nothing"
    assert (tmp_path / "report" / "captures" / "world.pcapng").stat().st_size > 1000


def test_lines_for_people_fit_the_terminal(fabricbench, tmp_path):
    done = fabricbench("campaign", "--workload", "tcp", "--seeds", "1..40", *PLANTED, "--out", "out", cwd=tmp_path)
    assert done.code == 1
    assert "FAIL" in done.out and "canary caught" in done.out
    assert (tmp_path / "out" / "campaign.json").exists()
    for line in done.out.splitlines():
        assert len(line) <= 80 or "fabricbench shrink" in line or line.startswith("      "), line


def test_a_plan_of_ones_own(fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: lossy\nfaults:\n  - kind: drop\n    every: 10\n    most: 50\n")
    done = fabricbench("campaign", "--workload", "rdma", "--faults", plan, "--seeds", "1..30", "--out", tmp_path / "o", "--json")
    assert done.code == 0 and done.json["plan"] == "lossy" and done.json["strikes"] > 100
    none = fabricbench("campaign", "--faults", "none", "--seeds", "1..30", "--out", tmp_path / "o", "--json")
    assert none.code == 0 and none.json["strikes"] == 0


def test_the_standard_plan_reads_back(fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(fabricbench("campaign", "--print-plan").out)
    said = [fabricbench("campaign", *options, "--seeds", "1..30", "--out", tmp_path / "o", "--json").json["digest"]
            for options in ((), ("--faults", plan))]
    assert said[0] == said[1]


@pytest.mark.parametrize("plan, says", [
    ("faults:\n  - kind: drop\n    often: 3\n", "plan.yaml:3: a fault has no field 'often'"),
    ("faults:\n  - kind: gremlin\n", "plan.yaml:2: unknown kind of fault 'gremlin'"),
    ("faults:\n  - kind: drop\n    where: moon->target\n", "plan.yaml:2: no place 'moon->target'"),
    ("faults: [", "plan.yaml:"),
    ("faults:\n  - kind: frame_drop\n", "none of its faults can occur"),
])
def test_a_bad_plan_is_one_line(fabricbench, tmp_path, plan, says):
    file = tmp_path / "plan.yaml"
    file.write_text(plan)
    done = fabricbench("campaign", "--workload", "rdma", "--faults", file, "--seeds", "1..5", "--out", tmp_path / "o")
    assert done.code == 2 and says in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists(), "nothing was run"


@pytest.mark.parametrize("arguments, says", [
    (("--seeds", "5..1"), "--seeds '5..1'"),
    (("--seeds", "many"), "--seeds 'many'"),
    (("--workload", "golf"), "no workload 'golf'"),
    (("--deviation", "golf"), "golf"),
    (("--faults", "/nowhere/plan.yaml"), "/nowhere/plan.yaml"),
    (("--resume", "/nowhere/campaign.json"), "/nowhere/campaign.json"),
])
def test_wrong_use_is_one_line(fabricbench, tmp_path, arguments, says):
    done = fabricbench("campaign", *arguments, "--out", tmp_path / "o")
    assert done.code == 2 and says in done.err
    assert len(done.err.strip().splitlines()) == 1


def changed(path, **fields):
    world = json.loads(path.read_text())
    world.update(fields)
    path.write_text(json.dumps(world))
    return path


@pytest.mark.parametrize("fields, says", [
    ({"version": "0.0.1"}, "written by version 0.0.1"),
    ({"format": "fabricbench-world-9"}, "not a file of the form"),
    ({"faults": ["packet:moon->target#1 drop"]}, "this world has no packet:moon->target"),
    ({"faults": ["gremlin"]}, "no decision: 'gremlin'"),
    ({"steps": ["0 juggle 1+1"]}, "not a step"),
    ({"steps": ["0 write 999+1"]}, "no room for that step"),
    ({"steps": ["0 vpd_read 1+1"]}, "no room for that step"),
    ({"colour": "red"}, "'colour'"),
    ({"seed": "one"}, "world.json"),
    ({"deviations": ["golf"]}, "golf"),
])
@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_a_bad_file_is_one_line(fabricbench, found, tmp_path, command, fields, says):
    file = tmp_path / "world.json"
    file.write_text(open(found["failures"][0]["replay"], encoding="utf-8").read())
    done = fabricbench(command, changed(file, **fields))
    assert done.code == 2 and says in done.err, done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_world_that_passes_cannot_be_shrunk(fabricbench, found, tmp_path):
    file = tmp_path / "world.json"
    file.write_text(open(found["failures"][0]["replay"], encoding="utf-8").read())
    changed(file, deviations=[])
    done = fabricbench("shrink", file)
    assert done.code == 2 and "it passes" in done.err
    replayed = fabricbench("replay", file)
    assert replayed.code == 1 and "the file has another digest" in replayed.out


def test_an_interrupted_campaign_goes_on_to_the_same_end(fabricbench, start_program, tmp_path):
    options = ["campaign", "--seeds", "1..1500", *PLANTED, "--out", str(tmp_path / "out"), "--json"]
    whole = fabricbench(*options).json
    process = start_program(*options)
    wait_until_it_hears(process, signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, out + err
    part = json.loads(out)
    assert part["interrupted"] and part["worlds"] < 1500
    rest = fabricbench(*options, "--resume", tmp_path / "out" / "campaign.json").json
    assert rest["worlds"] == 1500 and not rest["interrupted"]
    assert rest["digest"] == whole["digest"]
    assert [(f["signature"], f["seed"], f["count"]) for f in rest["failures"]] == \
        [(f["signature"], f["seed"], f["count"]) for f in whole["failures"]]
    done = fabricbench(*options, "--steps", "61", "--resume", tmp_path / "out" / "campaign.json")
    assert done.code == 2 and "another campaign" in done.err


# ---- on a product ----

AT = "tcp://127.0.0.93:4420"
FAULTS = "name: few\nfaults:\n  - kind: segment_split\n    every: 5\n    most: 20\n  - kind: status\n    every: 20\n    most: 1\n    amount: 6\n"


@pytest.fixture
def on_a_product(fabricbench, start_target, tmp_path):
    def run(*more, target=(), namespace="1M"):
        start_target("--listen", AT, "--namespace", namespace, *target)
        (tmp_path / "plan.yaml").write_text(FAULTS)
        return fabricbench("campaign", "--dut", AT, "--faults", tmp_path / "plan.yaml", "--out", tmp_path / "out", "--json", *more)
    return run


def test_a_product_that_behaves(on_a_product):
    done = on_a_product("--seeds", "1..4")
    assert done.code == 0, done.out + done.err
    result = done.json
    assert (result["worlds"], result["failures"], result["canary"]) == (4, [], "caught")
    assert result["product"].startswith(AT + "/nqn.") and result["strikes"] > 20


def test_the_time_is_kept(on_a_product):
    done = on_a_product("--seeds", "1..1000000", "--time", "2s")
    assert done.code == 0, done.out + done.err
    assert 0 < done.json["worlds"] < 1000 and not done.json["interrupted"]


def test_a_defect_of_a_product_is_found_replayed_and_shrunk(on_a_product, fabricbench, tmp_path):
    done = on_a_product("--seeds", "1..6", "--stop-after", "1", target=PLANTED)
    assert done.code == 1, done.out + done.err
    failure = done.json["failures"][0]
    assert failure["signature"].startswith("data: ")
    replayed = fabricbench("replay", failure["replay"], "--times", "3", "--report", tmp_path / "again", "--json")
    assert replayed.code == 1
    assert replayed.json["runs"] == 3 and replayed.json["shown"] >= 2
    assert (tmp_path / "again" / "captures" / "world.pcapng").stat().st_size > 1000
    smaller = fabricbench("shrink", failure["replay"], "--seconds", "20", "--json", timeout=120)
    assert smaller.code == 0, smaller.err
    assert smaller.json["shown"] * 2 > smaller.json["runs"] == 3
    assert smaller.json["steps_after"] < smaller.json["steps_before"]


def answers_to(fabricbench, start_target, tmp_path, *target):
    """The result of a campaign in which PDUs are damaged where a digest covers them."""
    start_target("--listen", AT, "--namespace", "1M", *target)
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults:\n  - {kind: pdu_corrupt, every: 12, most: 2}\n")
    return fabricbench("campaign", "--dut", AT, "--faults", plan, "--seeds", "1..12", "--stop-after", "0", "--out", tmp_path / "out", "--json",
                       timeout=120)


def test_the_answer_to_a_wrong_digest_is_judged(fabricbench, start_target, tmp_path):
    done = answers_to(fabricbench, start_target, tmp_path, "--deviation", "fatal_errors_without_termreq")
    assert done.code == 1, done.out + done.err
    assert [one["signature"] for one in done.json["failures"]] == ["rule: tcp_answers_header_digest (controller)"]
    replay = done.json["failures"][0]["replay"]
    again = fabricbench("replay", replay, "--times", "3", "--json")
    assert again.code == 1 and again.json["shown"] >= 2
    less = fabricbench("shrink", replay, "--seconds", "20", "--json", timeout=120)
    assert less.code == 0 and 0 < less.json["decisions_after"] <= less.json["decisions_before"]


def test_a_product_that_answers_wrong_digests_as_specified(fabricbench, start_target, tmp_path):
    done = answers_to(fabricbench, start_target, tmp_path)
    assert done.code == 0, done.out + done.err
    assert done.json["failures"] == [] and done.json["strikes"] > 5


RDMA = "rdma://127.0.0.93:4420"


def test_a_product_over_rdma_under_faults_of_packets(fabricbench, start_target, tmp_path):
    start_target("--listen", RDMA, "--namespace", "1M")
    done = fabricbench("campaign", "--dut", RDMA, "--seeds", "1..5", "--out", tmp_path / "out", "--json", timeout=120)
    assert done.code == 0, done.out + done.err
    result = done.json
    assert (result["worlds"], result["failures"], result["canary"]) == (5, [], "caught")
    assert result["product"].startswith(RDMA + "/nqn.") and result["strikes"] > 20


def test_a_defect_of_a_product_over_rdma_is_found_replayed_and_shrunk(fabricbench, start_target, tmp_path):
    start_target("--listen", RDMA, "--namespace", "1M", *PLANTED)
    done = fabricbench("campaign", "--dut", RDMA, "--seeds", "1..6", "--stop-after", "1", "--out", tmp_path / "out", "--json", timeout=120)
    assert done.code == 1, done.out + done.err
    failure = done.json["failures"][0]
    assert failure["signature"].startswith("data: ")
    replayed = fabricbench("replay", failure["replay"], "--times", "3", "--json", timeout=120)
    assert replayed.code == 1 and replayed.json["shown"] >= 2
    smaller = fabricbench("shrink", failure["replay"], "--seconds", "20", "--json", timeout=120)
    assert smaller.code == 0 and smaller.json["steps_after"] < smaller.json["steps_before"], smaller.err


@pytest.mark.parametrize("words, hint", [
    (["--dut", "tcp://127.0.0.92:4420"], "127.0.0.92"),
    (["--dut", "rdma://127.0.0.93:4420", "--workload", "tcp"], "workload rdma"),
    (["--dut", "http://127.0.0.93:4420"], "rdma://"),
    (["--dut", AT, "--workload", "management"], "workload"),
    (["--dut", AT, "--deviation", "write_ends_wrong"], "--deviation"),
    (["--dut", AT, "--twice"], "--twice"),
    (["--time", "5"], "--time"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_a_product(fabricbench, words, hint):
    done = fabricbench("campaign", "--seeds", "1", *words)
    assert done.code == 2 and len(done.err.splitlines()) == 1 and hint in done.err


def test_a_product_without_room(on_a_product):
    done = on_a_product("--seeds", "1", namespace="4K")
    assert done.code == 2 and "smaller than" in done.err
