"""Two processes on loopback addresses, over each transport; over RDMA each needs UDP port 4791 of its own."""

import collections
import json
import signal
import time

import pytest

Place = collections.namedtuple("Place", "url listen local")


@pytest.fixture(params=["rdma", "tcp"])
def place(request):
    url = f"{request.param}://127.0.0.2:4420"
    return Place(url, ["--listen", url], ["--local", "127.0.0.3"])


def test_discover_connect_identify_read_write(place, fabricbench, start_target, tmp_path):
    target = start_target(*place.listen, "--namespace", "64M")
    assert target.lines[0].startswith(f"listening {place.url} nqn.")
    nqn = target.lines[0].split()[2]
    assert nqn in fabricbench("host", "discover", place.url, *place.local).out
    assert fabricbench("host", "connect", place.url, *place.local).code == 0
    assert "131072" in fabricbench("host", "identify", place.url, *place.local).out  # 64 MiB of 512 bytes
    data = tmp_path / "data"
    data.write_bytes(bytes(range(256)) * 16)
    done = fabricbench("host", "write", place.url, *place.local, "--lba", "8", "--file", data)
    assert done.code == 0, done.err
    back = tmp_path / "back"
    done = fabricbench("host", "read", place.url, *place.local, "--lba", "8", "--blocks", "8", "--file", back)
    assert done.code == 0, done.err
    assert back.read_bytes() == data.read_bytes()
    assert target.stop() == 0


def test_host_writes_and_reads_back_256_mib(place, fabricbench, start_target):
    start_target(*place.listen, "--namespace", "256M")
    done = fabricbench("host", "io", place.url, *place.local, "--verify", "--size", "256M", timeout=120)
    assert done.code == 0, done.out + done.err


def test_blocks_with_metadata_and_protection_information(place, fabricbench, start_target, tmp_path):
    start_target(*place.listen, "--namespace", "8M,bs=4096,pi=1", "--namespace", f"8M,ms=16,pi=3,file={tmp_path / 'disk'}",
                 "--namespace", "8M,ms=64")
    for nsid in ("1", "2", "3"):
        done = fabricbench("host", "io", place.url, *place.local, "--verify", "--size", "4M", "--nsid", nsid)
        assert done.code == 0, done.out + done.err
    assert (tmp_path / "disk").stat().st_size == 16384 * 528
    done = fabricbench("run", "--dut", place.url, *place.local, "--suite", "nvme", "--case", "protection*", timeout=120)
    assert done.code == 0, done.out + done.err


def test_zones_are_listed_written_and_reset(place, fabricbench, start_target, tmp_path):
    start_target(*place.listen, "--namespace", "8M", "--namespace", "8M,zoned=1M,zcap=768K,active=4,open=2,zdes=64")
    to = [place.url, *place.local, "--nsid", "2"]
    said = fabricbench("host", "connect", *to[:-2])
    assert "8 zones of 1 MiB, 4 active, 2 open" in said.out, said.out
    data = tmp_path / "data"
    data.write_bytes(bytes(range(256)) * 64)
    for lba in (2048, 2080):
        done = fabricbench("host", "append", *to, "--lba", 2048, "--file", data)
        assert f"at LBA {lba}" in done.out, done.out + done.err
    back = tmp_path / "back"
    assert fabricbench("host", "read", *to, "--lba", 2080, "--blocks", 32, "--file", back).code == 0
    assert back.read_bytes() == data.read_bytes()
    refused = fabricbench("host", "write", *to, "--lba", 2048, "--file", data)
    assert refused.code != 0 and "Zone Invalid Write" in refused.err
    zones = fabricbench("host", "zones", *to).out.splitlines()
    assert len(zones) == 9 and zones[2].split() == ["2048", "1536", "2112", "closed"]
    assert fabricbench("host", "zone", *to, "--lba", 2048, "--action", "reset").code == 0
    assert fabricbench("host", "zones", *to, "--lba", 2048).out.splitlines()[1].split()[2:] == ["2048", "empty"]


def test_zones_have_random_write_areas(place, fabricbench, start_target, tmp_path):
    start_target(*place.listen, "--namespace", "8M,zoned=1M,zrwa=8K,zrwafg=2K,numzrwa=2")
    to = [place.url, *place.local]
    said = fabricbench("host", "connect", *to)
    assert "8 zones of 1 MiB, write areas of 8 KiB" in said.out, said.out
    data = tmp_path / "data"
    data.write_bytes(bytes(range(256)) * 4)
    assert fabricbench("host", "zone", *to, "--lba", 2048, "--action", "open", "--zrwa").code == 0
    for lba in (2062, 2050, 2050):
        done = fabricbench("host", "write", *to, "--lba", lba, "--file", data)
        assert done.code == 0, done.err
    assert fabricbench("host", "zones", *to).out.splitlines()[2].split(maxsplit=3)[2:] == ["2048", "closed, random write area"]
    assert fabricbench("host", "zone", *to, "--lba", 2051, "--action", "flush").code == 0
    assert fabricbench("host", "zones", *to).out.splitlines()[2].split()[2] == "2052"
    refused = fabricbench("host", "write", *to, "--lba", 2050, "--file", data)
    assert refused.code != 0 and "Zone Invalid Write" in refused.err


def test_the_suite_runs_over_the_socket(place, fabricbench, start_target, tmp_path):
    start_target(*place.listen, "--namespace", "64M")
    done = fabricbench("run", "--dut", place.url, *place.local, "--report", tmp_path, timeout=240)
    assert done.code == 0, done.out + done.err
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["summary"]["pass"] >= 60
    assert results["canary"] == "caught"


def test_a_deviating_product_is_caught_over_the_socket(place, fabricbench, start_target):
    case = next(c for c in fabricbench("list", "--json").json["cases"]
                if "connect_takes_sqsize_zero" in c["deviations"])
    start_target(*place.listen, "--namespace", "64M", "--deviation",
                 "connect_takes_sqsize_zero")
    done = fabricbench("run", "--dut", place.url, *place.local, "--case", case["name"], "--json")
    assert done.code == 1
    assert done.json["cases"][0]["verdict"] == "fail"


def test_a_rule_that_was_not_confirmed_leaves_a_product_to_a_person(place, fabricbench, start_target):
    """The same deviation fails the embedded product; of one behind a socket the report says what it did, and asks."""
    rule, deviation = "fabrics.enable.bad-entry-size", "enable_takes_bad_entry_size"
    case = next(c["name"] for c in fabricbench("list", "--json").json["cases"] if c["requirement"] == rule)
    inside = fabricbench("selftest", "--case", case)
    assert inside.code == 0 and "0 missed" in inside.out
    start_target(*place.listen, "--namespace", "64M", "--deviation", deviation)
    product = ["run", "--dut", place.url, *place.local, "--case", case]
    alone = fabricbench(*product)
    assert alone.code == 2 and "no case could be decided" in alone.err, alone.err
    done = fabricbench(*product, "--case", "connect_refuses_sqsize_zero")
    assert done.code == 0 and "INCONCLUSIVE" in done.out and "a person should look" in " ".join(done.out.split()), done.out
    assert "expected" in done.out and "seen" in done.out


def test_kill_and_restart_loses_nothing_that_was_acknowledged(place, start_target, start_program, tmp_path):
    store = tmp_path / "namespace.img"
    listen = [*place.listen, "--namespace", f"256M,file={store}"]
    target = start_target(*listen)
    host = start_program("host", "io", place.url, *place.local, "--verify", "--size", "256M", "--block-size", "16K")
    # The sparse file tells how far the host is, whatever the speed of the machine.
    while host.poll() is None and store.stat().st_blocks * 512 < 8 << 20:
        time.sleep(0.005)
    target.kill()
    assert host.poll() is None, "the host was still at work when the target was killed"
    time.sleep(0.5)
    start_target(*listen)
    out, err = host.communicate(timeout=180)
    assert host.returncode == 0, out + err
    assert "reconnect" in (out + err).lower(), "the host says that it lost and regained the target"


def test_a_load_has_figures_and_a_time_line(place, fabricbench, start_target):
    start_target(*place.listen, "--namespace", "64M")
    load = ["host", "io", place.url, *place.local, "--random", "--read-percent", "60", "--block-size", "4K", "--verify"]
    done = fabricbench(*load, "--size", "4M", "--time", "2s", "--io-queues", "3", "--json", timeout=60)
    assert done.code == 0, done.err
    result = done.json
    assert result["verified"] and result["reads_compared"] > 0 and len(result["timeline"]) >= 2
    for kind in ("read", "write"):
        latency = result[kind]["latency_ns"]
        ordered = [latency["min"], *latency["percentiles"].values(), latency["max"]]
        assert ordered == sorted(ordered) and list(latency["percentiles"]) == ["50", "90", "95", "99", "99.9", "99.99"]
        assert sum(one["commands"] for one in latency["histogram"]) == result[kind]["commands"]
    assert sum(one["reads"] + one["writes"] for one in result["timeline"]) == result["read"]["commands"] + result["write"]["commands"]
    assert result["read"]["commands"] > result["write"]["commands"]
    # Once through, at a rate: 64 commands at 100 a second.
    paced = fabricbench(*load, "--size", "256K", "--rate", "100", "--json", timeout=60).json
    assert paced["read"]["commands"] + paced["write"]["commands"] == 64
    assert 0.6 < paced["read"]["seconds"] < 5
    shown = fabricbench(*load, "--size", "4M", "--time", "1s")
    assert shown.code == 0 and "second" in shown.out and "verified" in shown.out


def test_a_target_grants_as_many_queues_as_it_was_given(place, fabricbench, start_target):
    start_target(*place.listen, "--namespace", "16M", "--io-queues", "40", "--queue-entries", "300", "--busy-poll")
    load = ["host", "io", place.url, *place.local, "--random", "--read-percent", "50", "--block-size", "4K", "--size", "1M", "--verify"]
    done = fabricbench(*load, "--io-queues", "40", "--busy-poll", timeout=60)
    assert done.code == 0 and "granted" not in done.err, done.err
    done = fabricbench(*load, "--io-queues", "41", timeout=60)
    assert done.code == 0 and "the controller granted 40 of the 41 I/O queues" in done.err, done.err
    for option, wrong in (("--io-queues", "0"), ("--queue-entries", "1")):
        done = fabricbench("target", *place.listen, option, wrong)
        assert done.code == 2 and option in done.err and len(done.err.splitlines()) == 1, done.err


def test_a_taken_port_is_one_line(place, fabricbench, start_target):
    start_target(*place.listen, "--namespace", "1M")
    done = fabricbench("target", *place.listen, "--namespace", "1M")
    assert done.code == 2
    assert "127.0.0.2" in done.err and len(done.err.strip().splitlines()) == 1


def test_nobody_there_is_told_soon(place, fabricbench):
    start = time.monotonic()
    done = fabricbench("host", "connect", place.url.replace("127.0.0.2", "127.0.0.9"), *place.local)
    assert done.code in (1, 2) and "127.0.0.9" in done.err
    assert time.monotonic() - start < 60


def test_sigterm_ends_in_order(place, start_target):
    target = start_target(*place.listen, "--namespace", "1M")
    target.process.send_signal(signal.SIGTERM)
    assert target.process.wait(timeout=20) == 0
