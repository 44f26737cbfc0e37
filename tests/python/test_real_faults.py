"""Faults in real time, on the way to a controller in another process."""

import contextlib
import subprocess
import sys

import pytest

import fabricbench as fb
from conftest import PACKAGE, ROOT

PROGRAM = ROOT / "build" / "release" / "bin" / "fabricbench"


@contextlib.contextmanager
def target_at(url):
    target = subprocess.Popen([PROGRAM, "target", "--listen", url, "--namespace", "16M"], stdout=subprocess.PIPE, text=True)
    _, url, nqn = target.stdout.readline().split()
    yield f"{url}/{nqn}"
    target.terminate()
    target.wait()


@pytest.fixture
def product():
    """The URL of a controller in another process."""
    with target_at("tcp://127.0.0.1:0") as url:
        yield url


@pytest.fixture
def rdma_product():
    """The same over RDMA."""
    with target_at("rdma://127.0.0.14:4420") as url:
        yield url


def faulty(*rules: fb.Rule) -> fb.World:
    return fb.World(seed=7, real=True, faults=fb.Plan(list(rules)), record=True)


def test_commands_to_a_real_product_are_answered_as_the_plan_says(product):
    with faulty(fb.Rule("status", every=4, most=3, amount=0x286)) as world:
        controller = world.host(address="127.0.0.1").connect(product).wait()
        space = controller.namespaces[0]
        failed = 0
        for block in range(20):
            try:
                space.write(block, b"x" * space.block_bytes).wait()
            except fb.CommandError:
                failed += 1
        assert len(world.strikes) == failed == 3
        assert all("with status 2/86h" in strike.story for strike in world.strikes)
        world.disarm()
        space.write(0, b"y" * space.block_bytes).wait()
        assert space.read(0, 1).wait() == b"y" * space.block_bytes
        assert len(world.strikes) == 3


def test_a_connection_that_is_reset_is_made_again(product):
    with faulty(fb.Rule("segment_reset", every=1, most=1, after=40, where="host->target")) as world:
        host = world.host(address="127.0.0.1")
        controller = host.connect(product).wait()
        space = controller.namespaces[0]
        for block in range(40):
            space.write(block, bytes([block]) * space.block_bytes).wait(30)
        assert [strike.decision.split()[1] for strike in world.strikes] == ["segment_reset"]
        for block in range(40):
            assert space.read(block, 1).wait(30) == bytes([block]) * space.block_bytes


def test_discovery_leads_through_the_proxy(product):
    with faulty() as world:
        host = world.host(address="127.0.0.1")
        entries = host.discover(product.rsplit("/", 1)[0]).wait()
        assert entries and all(f":{entry.trsvcid}" not in product for entry in entries if entry.subtype == 2)
        controller = host.connect(next(entry.url for entry in entries if entry.subtype == 2)).wait()
        assert controller.namespaces


def test_a_schedule_strikes_where_it_says(product):
    schedule = fb.Schedule(["admission#2 slow 1000"])
    with fb.World(real=True, faults=schedule) as world:
        space = world.host(address="127.0.0.1").connect(product).wait().namespaces[0]
        for block in range(4):
            space.read(block, 1).wait()
        assert [strike.decision for strike in world.strikes] == ["admission#2 slow 1000"]


def test_a_schedule_for_another_place_is_refused():
    with pytest.raises(fb.SetupError, match="there is no place 'packet:host->host'"):
        fb.World(real=True, faults=fb.Schedule(["packet:host->host#7 drop"]))


@pytest.mark.parametrize("kind", ["key_invalidate", "frame_drop", "power_cycle", "fatal"])
def test_what_no_proxy_can_cause_is_refused(kind):
    with pytest.raises(fb.SetupError, match="a proxy for NVMe/TCP cannot reach"):
        fb.World(real=True, faults=fb.Plan([fb.Rule(kind)]))


def test_packets_to_a_real_product_are_lost_and_sent_again(rdma_product):
    with faulty(fb.Rule("drop", every=9, most=5), fb.Rule("corrupt", every=31, most=2)) as world:
        space = world.host(address="127.0.0.1").connect(rdma_product).wait().namespaces[0]
        for block in range(32):
            space.write(block, bytes([block]) * space.block_bytes).wait(30)
        for block in range(32):
            assert space.read(block, 1).wait(30) == bytes([block]) * space.block_bytes
        kinds = [strike.decision.split()[1] for strike in world.strikes]
        assert kinds.count("drop") >= 5 and kinds.count("corrupt") >= 2
        assert {strike.decision.split("#")[0] for strike in world.strikes} <= {"packet:host->target", "packet:target->host"}


def test_a_schedule_drops_one_packet_to_a_product(rdma_product):
    with fb.World(real=True, faults=fb.Schedule(["packet:host->target#5 drop"])) as world:
        space = world.host(address="127.0.0.1").connect(rdma_product).wait().namespaces[0]
        space.read(0, 1).wait(30)
        assert [strike.decision for strike in world.strikes] == ["packet:host->target#5 drop"]


@pytest.mark.parametrize("kind, url, where", [("slow", "rdma://127.0.0.3:4420/nqn.2014-08.org.nvmexpress:x", "NVMe/RDMA"),
                                              ("drop", "tcp://127.0.0.1:4420/nqn.2014-08.org.nvmexpress:x", "NVMe/TCP")])
def test_a_fault_that_a_transport_does_not_have_is_refused_at_connect(kind, url, where):
    with faulty(fb.Rule(kind)) as world:
        with pytest.raises(fb.SetupError, match=f"a proxy for {where} cannot reach"):
            world.host(address="127.0.0.1").connect(url)


def test_a_test_of_the_plugin_has_its_faults_against_a_real_product(product, tmp_path):
    (tmp_path / "test_it.py").write_text('''
import pytest
import fabricbench as fb


@pytest.mark.faults(fb.Plan([fb.Rule("slow", every=1, most=2, amount=1000)]))
def test_it(host, dut, world):
    space = host.connect(dut).wait().namespaces[0]
    for block in range(8):
        space.read(block, 1).wait()
    assert len(world.strikes) == 2
''')
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "fabricbench.pytest_plugin", "-p", "no:cacheprovider", tmp_path,
                           "--fb-dut", product, "--fb-local", "127.0.0.1"], text=True, capture_output=True,
                          env={"PYTHONPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"})
    assert "1 passed" in done.stdout, done.stdout + done.stderr
