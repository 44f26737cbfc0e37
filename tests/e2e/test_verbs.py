"""--device verbs:NAME where there is no such device: one line that names it and both commands, and exit code 2. What it does with
one is for ci/interop, in guests."""
import pytest

NAME = "verbs:nonesuch0"
URL = "rdma://127.0.0.2:4420"
COMMANDS = ["modprobe rdma_rxe", "rdma link add rxe0 type rxe netdev eth0"]


def one_line(result, *words):
    assert result.code == 2, result.out + result.err
    assert result.err.count("\n") == 1 and not result.out
    for word in words:
        assert word in result.err, result.err


@pytest.mark.parametrize("command", [
    ["host", "connect", URL], ["host", "io", URL, "--local", "127.0.0.2"], ["host", "discover", URL],
    ["target", "--listen", URL, "--namespace", "1M"], ["run", "--dut", URL + "/nqn.2026-11.test:a"], ["run", "--dut", URL]])
def test_no_such_device(fabricbench, command):
    one_line(fabricbench(*command, "--device", NAME), NAME, *COMMANDS)


@pytest.mark.parametrize("command, word", [
    (["host", "connect", "tcp://127.0.0.1:4420"], "tcp://127.0.0.1:4420"),
    (["target", "--listen", "tcp://127.0.0.1:4420", "--namespace", "1M"], "tcp://127.0.0.1:4420"),
    (["run", "--dut", "verbs:rxe0", "--local", "packet:lo,192.0.2.1"], "verbs:rxe0"),
    (["run", "--dut", URL, "--local", "l2:/a,/b,192.0.2.1"], "l2"),
    (["run", "--dut", "tcp://127.0.0.1:4420"], "tcp://127.0.0.1:4420"),
    (["run"], NAME),
    (["host", "connect", URL, "--local", "l2:/a,/b,192.0.2.1"], "l2"),
    (["host", "connect", URL, "--capture", "file"], "--capture"),
    (["target", "--listen", URL, "--namespace", "1M", "--deviation", "cm_accepts_any_transport"], "--deviation")])
def test_where_it_has_no_place(fabricbench, command, word):
    one_line(fabricbench(*command, "--device", NAME), word)


@pytest.mark.parametrize("name", ["verbs", "verbs:", "IB:default", "ND:default"])
def test_a_wrong_name(fabricbench, name):
    for command in (["host", "connect", URL], ["run", "--dut", URL]):
        one_line(fabricbench(*command, "--device", name), f"'{name}'", "verbs:NAME")


def test_the_list_names_all_or_says_how_to_make_one(fabricbench):
    known = fabricbench("devices", "--json").json["devices"]
    listed = fabricbench("devices")
    if not known:
        return one_line(listed, *COMMANDS)
    for device in known:
        assert set(device) == {"name", "node_guid", "transport", "active", "mtu", "addresses"}
        assert device["name"] in listed.out


@pytest.mark.parametrize("dut, local, words", [
    ("verbs:", "packet:lo,192.0.2.1", ["verbs:NAME"]),
    (NAME, "", ["--local packet:INTERFACE,ADDRESS"]),
    (NAME, "192.0.2.1", ["'192.0.2.1'", "packet:INTERFACE,ADDRESS"]),
    (NAME, "packet:lo", ["packet:INTERFACE,ADDRESS[,mtu=N]"]),
    (NAME, "packet:lo,192.0.2.1", [NAME, *COMMANDS])])
def test_a_product_that_is_not_there(fabricbench, dut, local, words):
    one_line(fabricbench("run", "--dut", dut, *(["--local", local] if local else [])), *words)


def test_a_device_is_no_controller(fabricbench):
    one_line(fabricbench("host", "connect", URL, "--local", "packet:nonesuch0,192.0.2.1"), "nonesuch0")
