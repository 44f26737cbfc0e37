"""The NetworkDirect programs as a user runs them: client and server are two processes over loopback addresses, with the
project's provider in a catalogue of the test. Each process takes one of the addresses that the provider serves."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import PROGRAM, ROOT

PROGRAMS = PROGRAM.parent / "networkdirect"
PROVIDER = PROGRAM.parent.parent / "lib" / "libfabricbench_networkdirect.so"
# RoCE's port is bound on an address as long as an adapter of it is open: tests that run side by side have addresses of their own.
NETWORK = int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1")[2:]) + 1
SERVER = f"127.0.{NETWORK}.2"
CLIENT = f"127.0.{NETWORK}.3"
PAIRS = ["nd_ping", "nd_pingpong", "nd_write_pingpong", "nd_read_pingpong", "nd_connect_rate", "nd_windows"]
# Those that print a row for each size of a message.
TABLES = PAIRS[:4]
ALONE = ["nd_addresses", "nd_register", "nd_cq"]
# One that goes on until something stops it.
ENDLESS = ["--count", "900000", "--timeout", "3"]


@pytest.fixture
def surroundings(tmp_path):
    catalogue = tmp_path / "providers"
    catalogue.write_text(
        f"provider {{6D1C2E74-93B5-4A0F-A852-0EC7419F36DB}} {PROVIDER}\n"
        "entry id=0x3e9 service1=0x8e flags=0x14 chain=0x1 version=0x20000 family=0x2 address_max=0x10 address_min=0x10 "
        "socket_type=0xffffffff protocol=0x0 name=fabricbench\n")
    return {**os.environ, "FABRICBENCH_PROVIDERS": str(catalogue), "FABRICBENCH_ND_ADDRESSES": f"{SERVER},{CLIENT}"}


@pytest.fixture
def start(surroundings):
    """start("nd_ping", "-s", SERVER): a process of its own, killed when the test is over."""
    started = []

    def run(name, *arguments):
        process = subprocess.Popen([str(PROGRAMS / name), *map(str, arguments)], env=surroundings, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def start_server(start):
    def run(name, *arguments):
        server = start(name, "-s", SERVER, *arguments)
        line = server.stdout.readline()
        assert line.startswith(f"listening {SERVER}:"), line + server.stderr.read()
        return server

    return run


def finish(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    assert all(len(line) <= 80 for line in out.splitlines()), out
    return process.returncode, out, err


def succeeds(process):
    code, out, err = finish(process)
    assert (code, err) == (0, ""), out + err
    return out


def fails(process, name, *calls):
    """It ends by itself and says in one line which call failed and how."""
    code, _, err = finish(process)
    assert code == 1, err
    assert err.count("\n") == 1 and err.startswith(name + ": "), err
    assert " ND_" in err or " 0x" in err, err
    assert not calls or any(f"{name}: {call}: " in err for call in calls), err
    return err


def test_addresses_lists_what_the_provider_serves(start):
    out = succeeds(start("nd_addresses"))
    assert [line for line in out.splitlines() if line[0] != " "] == [SERVER, CLIENT]
    assert "largest registration" in out and "writes in order              yes" in out
    assert [line for line in succeeds(start("nd_addresses", CLIENT)).splitlines() if line[0] != " "] == [CLIENT]


def test_an_address_of_no_provider_and_no_provider_at_all(start, surroundings):
    assert "ND_INVALID_ADDRESS" in fails(start("nd_addresses", "192.0.2.77"), "nd_addresses", "NdCheckAddress")
    surroundings["FABRICBENCH_PROVIDERS"] += ".missing"
    fails(start("nd_addresses"), "nd_addresses", "NdQueryAddressList")
    fails(start("nd_pingpong", "-s", SERVER), "nd_pingpong", "NdOpenAdapter")


@pytest.mark.parametrize("waiting", ["-p", "-b"])
@pytest.mark.parametrize("name", TABLES)
def test_messages_of_every_size(start, start_server, name, waiting):
    server = start_server(name, waiting)
    out = succeeds(start(name, "-c", SERVER, waiting, "--count", 100))
    succeeds(server)
    sizes = [int(line.split()[0]) for line in out.splitlines()[1:]]
    assert sizes == [4**i for i in range(12)], out


@pytest.mark.parametrize("name", TABLES)
def test_messages_in_pieces(start, start_server, name):
    server = start_server(name, "-n", 3)
    succeeds(start(name, "-c", SERVER, "-n", 2, "--count", 20, "--largest", 100003))
    succeeds(server)


@pytest.mark.parametrize("depth", [1, 3])
def test_ping_with_few_receives(start, start_server, depth):
    server = start_server("nd_ping", "-q", depth)
    succeeds(start("nd_ping", "-c", SERVER, "--count", 50, "--largest", 5000))
    assert "received 400 messages" in succeeds(server)


def test_a_server_takes_several_clients(start, start_server):
    server = start_server("nd_pingpong", "--count", 3)
    for _ in range(3):
        succeeds(start("nd_pingpong", "-c", SERVER, "--local", CLIENT, "--count", 5, "--largest", 64))
    succeeds(server)


@pytest.mark.parametrize("threads,depth", [(1, 1), (2, 8)])
def test_connections(start, start_server, threads, depth):
    server = start_server("nd_connect_rate", "-t", threads, "-q", depth)
    out = succeeds(start("nd_connect_rate", "-c", SERVER, "-t", threads, "-q", depth, "--count", 200))
    assert out.splitlines()[1].split()[2] == "200", out
    assert "served 200 connections" in succeeds(server)


@pytest.mark.parametrize("waiting", ["-p", "-b"])
def test_windows(start, start_server, waiting):
    server = start_server("nd_windows", waiting)
    out = succeeds(start("nd_windows", "-c", SERVER, waiting, "--count", 2))
    succeeds(server)
    assert len(out.splitlines()) == 7 and out.count("ND_ACCESS_VIOLATION") == 6, out


def test_registration(start):
    out = succeeds(start("nd_register", SERVER, "-t", 3, "--count", 50, "--largest", 65536))
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["1", "2", "3"], out


def test_completion_queues(start):
    out = succeeds(start("nd_cq", SERVER))
    assert sum(line.endswith(" ok") for line in out.splitlines()) == 12, out


@pytest.mark.parametrize("name", PAIRS + ALONE)
def test_help_and_wrong_arguments(start, name):
    out = succeeds(start(name, "--help"))
    assert out.startswith(name + ": ") and "Exit code" in out
    wrong = [["--nonsense"], ["nonsense"]]
    if name in PAIRS:
        wrong += [[], ["-s"], ["-c", "nowhere"], ["-s", SERVER, "-c", SERVER], ["-s", SERVER, "--count", "0"],
                  ["-s", SERVER, "--local", CLIENT], ["-c", SERVER, "--count", "99999999999999999999"]]
    for arguments in wrong:
        code, out, err = finish(start(name, *arguments))
        assert (code, out) == (2, ""), arguments
        assert err.startswith(name + ": ") and err.count("\n") == 1 and len(err) <= 120, err


def test_nobody_there(start, start_server):
    err = fails(start("nd_pingpong", "-c", SERVER, "--timeout", 3), "nd_pingpong", "Connect")
    assert "REFUSED" in err or "TIMEOUT" in err or "UNREACHABLE" in err
    server = start_server("nd_ping")
    assert "ND_CONNECTION_REFUSED" in fails(start("nd_ping", "-c", SERVER + ":1"), "nd_ping", "Connect")
    # The server has heard nothing of that.
    succeeds(start("nd_ping", "-c", SERVER, "--count", 1, "--largest", 1))
    succeeds(server)


def test_programs_that_do_not_belong_together(start, start_server):
    server = start_server("nd_ping")
    port = 54401
    assert "ND_CONNECTION_REFUSED" in fails(start("nd_pingpong", "-c", f"{SERVER}:{port}"), "nd_pingpong", "Connect")
    assert "another program" in fails(server, "nd_ping", "GetPrivateData")


def test_one_server_an_address(start, start_server):
    start_server("nd_ping")
    fails(start("nd_pingpong", "-s", SERVER), "nd_pingpong", "NdOpenAdapter")


def under_way(start, start_server, name):
    server = start_server(name, "--timeout", 3)
    client = start(name, "-c", SERVER, *ENDLESS)
    if name == "nd_connect_rate":
        time.sleep(1)  # it prints at its end
    else:
        # A heading and, when its first size is done, a row; that takes some of them too long.
        assert client.stdout.readline(), client.communicate()
        time.sleep(0.5)
    assert server.poll() is None and client.poll() is None
    return server, client


@pytest.mark.parametrize("name", PAIRS)
def test_control_c_ends_both_sides_soon(start, start_server, name):
    server, client = under_way(start, start_server, name)
    client.send_signal(signal.SIGINT)
    assert finish(client)[0] == -signal.SIGINT
    fails(server, name)
    # The addresses are free again at once.
    start_server(name).send_signal(signal.SIGINT)


def test_control_c_while_nobody_has_come(start_server):
    server = start_server("nd_pingpong")
    server.send_signal(signal.SIGINT)
    assert finish(server, 10)[0] == -signal.SIGINT


@pytest.mark.parametrize("victim", ["server", "client"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_killed_peer_is_noticed(start, start_server, name, victim):
    server, client = under_way(start, start_server, name)
    killed, left = (server, client) if victim == "server" else (client, server)
    killed.kill()
    fails(left, name)


# ---- annotations that a compiler for Windows lacks ----

def test_annotations_of_mingw_are_complete(tmp_path):
    compiler = shutil.which("x86_64-w64-mingw32-g++")
    if compiler is None:
        pytest.skip("no compiler for Windows")
    ours = (ROOT / "networkdirect" / "win32" / "include" / "sal.h").read_text().split("#ifndef FABRICBENCH_NO_OLD_ANNOTATIONS")[0]
    names = re.findall(r"^#define (_\w+)", ours, re.MULTILINE)
    assert len(names) > 250
    source = tmp_path / "annotated.cc"
    source.write_text("#include <sal.h>\n" + "".join(f"#ifndef {name}\n#error {name}\n#endif\n" for name in names))
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    alone = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert alone.returncode != 0, "its own header is complete: ours is not needed any more"
    done = subprocess.run([*command, f"-I{ROOT}/networkdirect/mingw", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
