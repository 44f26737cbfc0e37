"""An operation is not its value; what a test forgets of one is told."""

import pytest

import fabricbench as fb
from fabricbench import commands, wire
from test_plugin import run

NOT_ITS_VALUE = "an operation, not its value: call .wait()"


@pytest.fixture
def space():
    with fb.World() as world:
        yield world.host().connect(world.subsystem(size="1M")).wait().namespace(1)


@pytest.mark.parametrize("use", [bool, len, list, iter, bytes, int, lambda op: op == b"", lambda op: op != b"", lambda op: b"x" in op,
                                 lambda op: op[0], lambda op: op < 1, lambda op: not op, lambda op: op and True],
                         ids=["bool", "len", "list", "iter", "bytes", "int", "==", "!=", "in", "[]", "<", "not", "and"])
def test_an_operation_is_not_its_value(space, use):
    op = space.read(0)
    with pytest.raises(TypeError, match=NOT_ITS_VALUE):
        use(op)
    assert op.wait() == bytes(512)


def test_operations_can_be_kept_by_identity(space):
    ops = [space.read(0), space.read(1)]
    assert len({*ops}) == 2 and ops[0] in ops and {ops[0]: "first"}[ops[0]] == "first"
    assert [op.wait() for op in ops] == [bytes(512)] * 2


def plugin(tmp_path, body, *options):
    text = "\ndef test_it(world, subsystem, host):\n    space = host.connect(subsystem).wait().namespace(1)\n"
    return run(tmp_path, "-rw", *options, text=text + "".join(f"    {line}\n" for line in body.splitlines()))


def test_an_error_that_nobody_looked_at_fails_the_test(tmp_path):
    done = plugin(tmp_path, 'space.write(0, b"a" * 512).wait()\nspace.compare(0, b"b" * 512)\nspace.flush().wait()')
    assert done.returncode == 1
    assert "test_it.py:7: Compare of" in done.stdout and "Compare Failure" in done.stdout
    assert "operations ended with an error that the test did not look at" in done.stdout


def test_an_error_of_an_operation_that_is_kept_fails_the_test(tmp_path):
    done = plugin(tmp_path, 'space.write(0, b"a" * 512).wait()\nop = space.compare(0, b"b" * 512)\nworld.wait_any([op])\nassert op.over')
    assert done.returncode == 1 and "test_it.py:7: Compare of" in done.stdout


@pytest.mark.parametrize("body", [
    'with pytest.raises(fb.CommandError):\n    space.compare(0, b"b" * 512).wait()',
    'op = space.compare(0, b"b" * 512)\nworld.run_for(1)\nop.cancel()',
    'op = space.compare(0, b"b" * 512)\nworld.run_for(1)\nwith pytest.raises(fb.CommandError):\n    op.result()',
    'async def scenario():\n    with pytest.raises(fb.CommandError):\n        await space.compare(0, b"b" * 512)\nworld.run(scenario())'],
    ids=["waited for", "cancelled", "looked at", "awaited"])
def test_an_error_that_was_looked_at_is_the_tests_own(tmp_path, body):
    done = plugin(tmp_path, body)
    assert done.returncode == 0, done.stdout
    assert "never waited for" not in done.stdout


def test_an_operation_that_nobody_waited_for_is_a_warning(tmp_path):
    done = plugin(tmp_path, "space.write(0, bytes(512))\nworld.run_for(1)")
    assert done.returncode == 0
    assert "test_it.py:6: NeverWaited: never waited for: Write of" in done.stdout


def test_a_test_that_fails_anyway_is_told_nothing_more(tmp_path):
    done = plugin(tmp_path, 'space.compare(0, b"b" * 512)\nworld.run_for(1)\nassert False')
    assert done.returncode == 1 and "did not look at" not in done.stdout


def test_an_error_can_be_raised_twice(space):
    space.write(0, b"a" * 512).wait()
    op = space.compare(0, b"b" * 512)
    for _ in range(2):
        with pytest.raises(fb.CommandError, match="Compare Failure"):
            op.wait()
    with pytest.raises(fb.CommandError, match="Compare Failure"):
        op.result()


def test_an_event_still_goes_to_who_waits_for_it(tmp_path):
    """An operation that the test let go of takes nothing away from the next."""
    done = plugin(tmp_path, "host.next_event()\nsubsystem.add_namespace(size='1M')\nassert host.next_event().wait().info == 0")
    assert done.returncode == 0, done.stdout


def test_the_plugin_names_a_product_that_is_none(tmp_path):
    done = run(tmp_path, "--fb-dut", "udp://x", text="\ndef test_it(host):\n    pass\n")
    assert done.returncode == 4
    assert "'udp://x' is no product; known are embedded, tcp://HOST:PORT[/NQN]" in done.stderr


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
@pytest.mark.parametrize("mdts", [0, 1, 5, 8, 9, 11, 12])
def test_what_mdts_allows_is_moved(transport, mdts):
    """Identify says a limit, or there is none; up to it every transfer is served, beyond it refused."""
    with fb.World() as world:
        subsystem = world.subsystem(transport=transport, mdts=mdts, size="64M")
        host = world.host(transport=transport)
        queue = host.raw_admin(subsystem)
        said = wire.IdentifyController(queue.send(commands.identify(cns=1), room=4096).wait().data).mdts
        assert said == mdts
        io = host.raw_queue(subsystem, qid=1, cntlid=queue.cntlid)
        io.connect().wait()
        io.send_connect(cntlid=queue.cntlid).wait().check("Connect")
        limit = 4096 << said if said else 1 << 62
        for size in (4096, 1 << 20, (1 << 20) + 4096, 2 << 20, 8 << 20, 15 << 20):
            data = size.to_bytes(8, "little") * (size // 8)
            status = io.send(commands.write(1, 0, size // 512), data=data).wait().status
            assert status.ok == (size <= limit), (size, str(status))
            if status.ok:
                assert io.send(commands.read(1, 0, size // 512), room=size).wait().data == data


def test_a_listener_with_a_bound_is_claimed_in_identify():
    with fb.World() as world:
        target = world.target(transport="tcp", transfer_bytes_max=65536)
        subsystem = target.add_subsystem(mdts=0)
        subsystem.add_namespace(size="16M")
        controller = world.host(transport="tcp").connect(subsystem).wait()
        assert controller.identify().wait().mdts == 4
        with pytest.raises(ValueError, match="transfer_bytes_max: 8192 is below what a subsystem"):
            target.add_port(transport="tcp", transfer_bytes_max=8192)


def test_in_real_time_a_host_follows_its_url(tmp_path):
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with fb.World(real=True) as world:
        target = world.target(transport="tcp", address="127.0.0.1", port=port)
        subsystem = target.add_subsystem()
        subsystem.add_namespace(size="1M")
        for url in (f"tcp://127.0.0.1:{port}/{subsystem.nqn}", f"tcp://127.0.0.1:{port}", f"tcp://localhost:{port}"):
            host = world.host(address="127.0.0.1")
            controller = host.connect(url).wait()
            assert host.transport == "tcp" and controller.subnqn == subsystem.nqn
            assert controller.namespace(1).read(0).wait() == bytes(512)
            with pytest.raises(ValueError, match="this host speaks tcp, and rdma://127.0.0.2:4420 is rdma"):
                host.connect("rdma://127.0.0.2:4420")


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
def test_a_url_without_an_nqn_is_a_discovery_service(transport):
    with fb.World() as world:
        subsystem = world.subsystem(transport=transport, size="1M")
        host = world.host(transport=transport)
        assert host.connect(subsystem.target.ports[0].url).wait().subnqn == subsystem.nqn
        bare = world.target("bare", transport=transport)
        with pytest.raises(fb.ConnectError, match="lists no subsystem for this host"):
            host.connect(bare.ports[0].url).wait()


def test_a_wrong_python_is_named(tmp_path):
    import pathlib
    import shutil
    import subprocess
    import sys

    package = tmp_path / "fabricbench"
    shutil.copytree(pathlib.Path(fb.__file__).parent, package, symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
    built, = package.glob("_core*.so")
    built.rename(package / "_core.cpython-399-x86_64-linux-gnu.so")
    done = subprocess.run([sys.executable, "-c", "import fabricbench"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: fabricbench was built for Python 3.99, and this is cpython 3.")
    (package / "_core.cpython-399-x86_64-linux-gnu.so").unlink()
    done = subprocess.run([sys.executable, "-c", "import fabricbench"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(tmp_path)})
    assert "fabricbench is not built in" in done.stderr.strip().splitlines()[-1]
