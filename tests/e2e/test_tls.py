"""NVMe/TCP inside TLS 1.3: two processes on this machine, and what tshark sees of it."""

import json
import os
import subprocess

import pytest

TARGET = "tcp://127.0.0.1:14420"
KEY = "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"


@pytest.fixture
def keys(tmp_path):
    def make(text=KEY, mode=0o600, name="keys"):
        path = tmp_path / name
        path.write_text(text + "\n")
        os.chmod(path, mode)
        return str(path)

    return make


def one_line(done):
    assert done.code == 2, done.out + done.err
    lines = done.err.strip().splitlines()
    assert len(lines) == 1, done.err
    assert KEY not in done.err
    return lines[0]


def tshark(path, *arguments):
    return subprocess.run(["tshark", "-r", str(path), *arguments], capture_output=True, text=True,
                          check=True).stdout


@pytest.mark.parametrize("version", ["0", "1"])
def test_data_goes_through_tls(fabricbench, start_target, keys, version):
    start_target("--listen", TARGET, "--namespace", "16M", "--tls", "--psk-file", keys())
    done = fabricbench("host", "io", TARGET, "--verify", "--size", "16M", "--tls", "--psk-file",
                       keys(name="host"), "--psk-identity-version", version)
    assert done.code == 0, done.out + done.err
    found = fabricbench("host", "discover", TARGET, "--tls", "--psk-file", keys(name="host"))
    assert "(TLS required)" in found.out


def test_captures_of_both_sides_can_be_decrypted(fabricbench, start_target, keys, tmp_path):
    target = start_target("--listen", TARGET, "--namespace", "16M", "--tls", "--psk-file", keys(),
                          "--capture", tmp_path / "target.pcapng")
    data = tmp_path / "data"
    data.write_bytes(b"fabricbench" * 372 + b"1234")
    done = fabricbench("host", "write", TARGET, "--file", data, "--tls", "--psk-file", keys(name="host"),
                       "--capture", tmp_path / "host.pcapng")
    assert done.code == 0, done.out + done.err
    assert target.stop() == 0
    for name in ["host.pcapng", "target.pcapng"]:
        path = tmp_path / name
        assert b"fabricbenchfabricbench" not in path.read_bytes(), "data in plain"
        # Debian's tshark has no NVMe/TCP inside of TLS: it decrypts, and the PDUs are looked at here.
        decode = ["-d", "tcp.port==14420,tls", "-d", "tls.port==14420,data"]
        assert tshark(path, *decode, "-Y", "_ws.malformed") == ""
        rows = tshark(path, *decode, "-Y", "data", "-T", "fields", "-e", "data.data").split()
        inside = [bytes.fromhex(part) for row in rows for part in row.split(",")]
        types = [record[0] for record in inside]
        # ICReq and ICResp of two queues (and of discovery), capsules in both directions.
        assert types.count(0) >= 2 and types.count(1) >= 2
        assert types.count(4) >= 10 and types.count(5) >= 5
        assert any(record[0] == 4 and record[8] == 0x7F and record[12] == 1 for record in inside), "Connect"
        assert any(b"fabricbenchfabricbench" in record for record in inside), "the data of the Write"


def test_a_key_file_that_others_may_read_is_not_used(fabricbench, keys):
    path = keys(mode=0o644)
    assert path in one_line(fabricbench("host", "connect", TARGET, "--tls", "--psk-file", path))
    line = one_line(fabricbench("target", "--listen", TARGET, "--namespace", "1M", "--tls", "--psk-file", path))
    assert path in line


def test_what_is_wrong_with_a_key_is_said_without_it(fabricbench, keys):
    bad = KEY.replace("VRLb", "VRLc")
    done = fabricbench("host", "connect", TARGET, "--tls", "--psk-file", keys(bad))
    line = one_line(done)
    assert ":1" in line or "line 1" in line
    assert "VRLc" not in done.err


def test_options_that_do_not_go_together(fabricbench, keys):
    assert "--psk-file" in one_line(fabricbench("host", "connect", TARGET, "--tls"))
    assert "--tls" in one_line(fabricbench("host", "connect", TARGET, "--psk-file", keys()))
    assert "rdma://" in one_line(fabricbench("host", "connect", "rdma://127.0.0.2:4420", "--local",
                                             "127.0.0.3", "--tls", "--psk-file", keys()))
    one_line(fabricbench("run", "--tls", "--psk-file", keys()))


def test_no_key_for_the_pair(fabricbench, start_target, keys):
    start_target("--listen", TARGET, "--namespace", "16M", "--tls", "--psk-file", keys())
    other = "nqn.2024-01.com.example:host nqn.2024-01.com.example:disk " + KEY
    line = one_line(fabricbench("host", "connect", TARGET, "--tls", "--psk-file", keys(other, name="host")))
    assert "no TLS key for" in line


def test_a_key_that_the_target_does_not_have(fabricbench, start_target, keys):
    host = "nqn.2024-01.com.example:host"
    disk = "nqn.2024-01.com.example:disk"
    start_target("--listen", TARGET, "--namespace", "16M", "--tls", "--psk-file",
                 keys(f"{host} {disk} {KEY}"))
    line = one_line(fabricbench("host", "connect", TARGET, "--tls", "--psk-file", keys(name="host")))
    assert "TLS" in line and "identity" in line


def test_a_host_without_tls_at_a_tls_port(fabricbench, start_target, keys):
    start_target("--listen", TARGET, "--namespace", "16M", "--tls", "--psk-file", keys())
    one_line(fabricbench("host", "connect", TARGET, timeout=30))


def test_a_target_without_tls(fabricbench, start_target, keys):
    start_target("--listen", TARGET, "--namespace", "16M")
    line = one_line(fabricbench("host", "connect", TARGET, "--tls", "--psk-file", keys(), timeout=30))
    assert "TLS" in line


def test_one_port_for_both(fabricbench, start_target, keys):
    start_target("--listen", TARGET, "--namespace", "16M", "--tls-optional", "--psk-file", keys())
    assert fabricbench("host", "connect", TARGET).code == 0
    assert fabricbench("host", "connect", TARGET, "--tls", "--psk-file", keys(name="host")).code == 0
    assert "(TLS offered)" in fabricbench("host", "discover", TARGET).out


def test_the_tls_cases_run_against_a_target(fabricbench, start_target, keys):
    start_target("--listen", TARGET, "--namespace", "64M", "--tls", "--psk-file", keys())
    done = fabricbench("run", "--dut", TARGET, "--suite", "tcp", "--case", "tls_*", "--json", "--tls",
                       "--psk-file", keys(name="host"), timeout=120)
    assert done.code == 0, done.out + done.err
    verdicts = {case["name"]: case["verdict"] for case in done.json["cases"]}
    assert verdicts["tls_refuses_a_wrong_binder"] == "pass"
    assert sum(verdict == "pass" for verdict in verdicts.values()) >= 14
    plain = fabricbench("run", "--suite", "tcp", "--case", "tls_serves_*", "--json")
    assert json.loads(plain.out)["summary"]["fail"] == 0
