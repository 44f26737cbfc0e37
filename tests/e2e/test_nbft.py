"""The boot table of NVMe-oF: written from an association, shown, connected to."""

import pytest

AT = "tcp://127.0.0.91:4420"
NQN = "nqn.2026-11.org.fabricbench:boot"


@pytest.fixture(name="table")
def fixture_table(fabricbench, start_target, tmp_path):
    start_target("--listen", AT, "--discovery-listen", "tcp://127.0.0.91:8009", "--nqn", NQN, "--namespace", "16M", "--namespace", "8M")
    done = fabricbench("host", "nbft", "write", "tcp://127.0.0.91", "--data-digest", "--output", tmp_path / "NBFT")
    assert done.code == 0 and "2 namespaces" in done.out, done.out + done.err
    return tmp_path / "NBFT"


def test_what_is_written_is_shown_and_connected_to(fabricbench, table):
    shown = fabricbench("host", "nbft", "show", table, "--json").json
    assert shown["remarks"] == []
    assert [one["nsid"] for one in shown["namespaces"]] == [1, 2]
    for one in shown["namespaces"]:
        assert (one["address"], one["service"], one["nqn"]) == ("127.0.0.91", "4420", NQN)
        assert one["id"].startswith("uuid ") and one["data_digest"] and not one["header_digest"] and one["discovered"]
    assert shown["discovery"][0]["uri"] == "nvme+tcp://127.0.0.91:8009/"
    assert shown["interfaces"][0]["mac"] != "00:00:00:00:00:00"
    text = fabricbench("host", "nbft", "show", table)
    assert text.code == 0 and f"{AT}/{NQN}" in text.out
    connected = fabricbench("host", "nbft", "connect", table)
    assert connected.code == 0 and connected.out.count("blocks of 512 bytes") == 2, connected.out + connected.err


def test_a_namespace_that_is_gone_is_named(fabricbench, table):
    bytes_ = bytearray(table.read_bytes())
    at = 64 + 64 + 32 + 32 + 24  # NSID of the first namespace
    bytes_[at] = 9
    bytes_[9] = (bytes_[9] - 8) % 256
    table.write_bytes(bytes_)
    done = fabricbench("host", "nbft", "connect", table)
    assert done.code == 1 and "has no namespace 9" in done.err and "namespace 2:" in done.out


@pytest.mark.parametrize("words, hint", [
    (["write", "rdma://127.0.0.91:4420/nqn.2026-01.org.example:a", "--local", "127.0.0.90"], "NVMe/TCP"),
    (["write", "tcp://127.0.0.90:4420/nqn.2026-01.org.example:a"], "127.0.0.90"),
    (["show", "/dev/null"], "too short"),
    (["show", "/proc/no-such-file"], "cannot be read"),
    (["connect", "/dev/null"], "too short"),
])
def test_what_is_no_table_is_one_line(fabricbench, words, hint):
    done = fabricbench("host", "nbft", *words)
    assert done.code == 2 and len(done.err.splitlines()) == 1 and hint in done.err, done.err


def test_a_table_that_cannot_be_written_is_one_line(fabricbench, start_target):
    start_target("--listen", AT, "--nqn", NQN, "--namespace", "16M")
    done = fabricbench("host", "nbft", "write", f"{AT}/{NQN}", "--output", "/dev/full")
    assert done.code == 2 and "cannot write /dev/full: No space left" in done.err
