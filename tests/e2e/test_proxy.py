"""The proxy between a host and a target that are processes of their own."""

import base64
import json
import os
import re
import select
import signal
import socket
import subprocess
import time
import zlib

import pytest

from conftest import PROGRAM, Target

# Every test module has addresses of its own.
AT = "127.0.0.97"


class Proxy:
    """A `fabricbench proxy` process; stop() gives its exit code and what it printed."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([str(PROGRAM), "proxy", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        self.line = self.process.stdout.readline() if ready else ""
        if not self.line.startswith("listening "):
            self.process.kill()
            raise RuntimeError("the proxy did not come up: " + self.process.stderr.read())

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture(name="pair")
def fixture_pair():
    """A target and a proxy in front of it: pair([target arguments], [proxy arguments])."""
    started = []

    def start(for_target=(), for_proxy=(), port=4471):
        target = Target("--listen", f"tcp://{AT}:{port}", "--namespace", "64M", *for_target)
        started.append(target.process)
        proxy = Proxy("--listen", f"tcp://{AT}:{port + 1}", "--to", f"tcp://{AT}:{port}", *for_proxy)
        started.append(proxy.process)
        return proxy, f"tcp://{AT}:{port + 1}"

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_system_chooses_the_ports(pair, fabricbench):
    target = Target("--listen", f"tcp://{AT}:0", "--discovery-listen", f"tcp://{AT}:0", "--namespace", "64M")
    proxy = Proxy("--listen", f"tcp://{AT}:0", "--to", target.lines[0].split()[1])
    try:
        urls = [line.split()[1] for line in (target.lines[0], target.process.stdout.readline(), proxy.line)]
        assert len(set(urls)) == 3 and all(re.fullmatch(rf"tcp://{AT}:[1-9][0-9]+", url) for url in urls), urls
        for url in urls:
            entries = fabricbench("host", "discover", url)
            assert entries.code == 0 and ":0 " not in entries.out, entries.out
        assert fabricbench("host", "connect", urls[2]).code == 0
    finally:
        proxy.stop()
        target.process.kill()
        target.process.communicate()


def test_verified_io_passes_a_quiet_proxy(pair, fabricbench, tmp_path):
    capture, report = tmp_path / "p.pcapng", tmp_path / "report"
    proxy, url = pair(for_proxy=["--capture", capture, "--report", report])
    assert proxy.line == f"listening {url} -> tcp://{AT}:4471\n"
    hosts = [subprocess.Popen([str(PROGRAM), "host", "io", url, "--verify", "--size", "4M", *more], stdout=subprocess.PIPE)
             for more in ([], ["--hdr-digest", "--data-digest"])]
    assert [host.wait(timeout=60) for host in hosts] == [0, 0]
    for host in hosts:
        host.stdout.close()
    code, out, err = proxy.stop()
    assert code == 0 and "no findings" in out and err == "", (out, err)
    assert all(len(line) <= 80 for line in out.splitlines())
    results = json.loads((report / "results.json").read_text())
    assert results["findings"] == [] and results["summary"]["fail"] == 0 and results["summary"]["pass"] > 20
    assert (report / "junit.xml").exists() and (report / "index.html").exists()
    done = fabricbench("check", capture, "--tcp-port", "4472", "--json")
    assert done.code == 0 and done.json["decoded"]["commands"] > 60


def test_discovery_leads_through_it(pair, fabricbench):
    proxy, url = pair()
    assert f"{AT}:4472" in fabricbench("host", "discover", url).out
    proxy.stop()
    kept, url = pair(for_proxy=["--keep-discovery"], port=4475)
    assert f"{AT}:4475" in fabricbench("host", "discover", url).out
    assert kept.stop()[0] == 0


def test_a_deviation_is_found_with_its_side(pair, fabricbench, tmp_path):
    proxy, url = pair(["--deviation", "success_with_flow_control"], ["--report", tmp_path])
    fabricbench("host", "io", url, "--size", "1M")
    deadline = time.monotonic() + 10
    shown = ""
    while "tcp_success_flow" not in shown and time.monotonic() < deadline:  # while it goes on
        if select.select([proxy.process.stdout], [], [], 0.5)[0]:
            shown += os.read(proxy.process.stdout.fileno(), 65536).decode()
    assert re.search(r"controller 127\.0\.0\.97:4472\n", shown)
    code, _, _ = proxy.stop(signal.SIGTERM)
    assert code == 1
    findings = json.loads((tmp_path / "results.json").read_text())["findings"]
    assert {finding["side"] for finding in findings} == {"controller"}
    assert {finding["rule"] for finding in findings} == {"tcp_success_flow"}
    assert "<failure" in (tmp_path / "junit.xml").read_text()


def test_faults_strike_and_are_held_against_nobody(pair, fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: rough\nfaults:\n"
                    "  - {kind: segment_split, every: 20, most: 60}\n"
                    "  - {kind: segment_delay, every: 200, most: 6, amount: [1ms, 5ms]}\n"
                    "  - {kind: status, every: 10, most: 4, from: 4, amount: 6}\n"
                    "  - {kind: slow, every: 10, most: 4, amount: [1ms, 9ms]}\n")
    proxy, url = pair(for_proxy=["--faults", plan, "--seed", "7", "--report", tmp_path / "report"])
    done = fabricbench("host", "io", url, "--verify", "--size", "8M", timeout=60)
    assert done.code == 0 and "every block equal" in done.out, done.err
    code, out, _ = proxy.stop()
    assert code == 0, out
    remarks = json.loads((tmp_path / "report" / "results.json").read_text())["remarks"]
    assert any("status 0/06h" in remark or "status" in remark for remark in remarks)
    assert any("cut segment" in remark for remark in remarks)


def test_answers_are_late_and_keep_alive_starves(pair, fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: starved\nfaults:\n"
                    "  - {kind: response_late, where: target, every: 20, most: 6, from: 20, amount: [1ms, 9ms]}\n"
                    "  - {kind: r2t_late, where: target, every: 20, most: 3, from: 20, amount: [1ms, 9ms]}\n"
                    "  - {kind: pdu_late, where: host, every: 60, most: 3, from: 20, amount: [1ms, 3ms]}\n")
    proxy, url = pair(for_proxy=["--faults", plan, "--report", tmp_path / "report"], port=4501)
    done = fabricbench("host", "io", url, "--verify", "--size", "8M", timeout=60)
    assert done.code == 0 and "every block equal" in done.out, done.err
    code, out, _ = proxy.stop()
    assert code == 0, out
    remarks = " ".join(json.loads((tmp_path / "report" / "results.json").read_text())["remarks"])
    assert "the next response from PDU" in remarks and "the next R2T from PDU" in remarks


def test_a_changed_field_is_held_against_nobody(pair, fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: field\nfaults:\n  - {kind: change_cid, where: target, every: 1, most: 1, from: 90, amount: 77}\n")
    proxy, url = pair(for_proxy=["--faults", plan, "--report", tmp_path / "report"], port=4503)
    done = fabricbench("host", "io", url, "--verify", "--size", "4M", timeout=90)
    assert done.code == 0 and "lost the association" in done.err, "a host takes no answer to a command that is not outstanding"
    _, out, _ = proxy.stop()
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert "controller" not in {finding["side"] for finding in results["findings"]}, out
    assert any("the command identifier of the next PDU" in remark for remark in results["remarks"])


def test_tls_is_opened_judged_and_closed_again(pair, fabricbench, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(psk_line(bytes(range(32))))
    keys.chmod(0o600)
    with_tls = ["--tls", "--psk-file", keys]
    report, capture = tmp_path / "report", tmp_path / "p.pcapng"
    proxy, url = pair(with_tls, [*with_tls, "--report", report, "--capture", capture], port=4505)
    done = fabricbench("host", "io", url, "--verify", "--size", "4M", *with_tls, timeout=90)
    assert done.code == 0 and "every block equal" in done.out, done.err
    code, out, err = proxy.stop()
    assert code == 0 and "not judged" not in out, (out, err)
    assert json.loads((report / "results.json").read_text())["summary"]["pass"] > 20
    done = fabricbench("check", capture, "--json")
    assert done.code == 0 and done.json["decoded"]["commands"] > 30


def test_hosts_without_the_key_stay_outside(pair, fabricbench, tmp_path):
    for name, first in (("right", 0), ("wrong", 1)):
        (tmp_path / name).write_text(psk_line(bytes(range(first, first + 32))))
        (tmp_path / name).chmod(0o600)
    proxy, url = pair(["--tls", "--psk-file", tmp_path / "right"], ["--tls", "--psk-file", tmp_path / "right"], port=4507)
    done = fabricbench("host", "connect", url, "--tls", "--psk-file", tmp_path / "wrong", timeout=60)
    assert done.code != 0
    code, out, err = proxy.stop()
    assert code == 0 and "refused" in err, (out, err)


def psk_line(secret):
    """A configured key in its interchange form, without a hash."""
    return "NVMeTLSkey-1:01:" + base64.b64encode(secret + zlib.crc32(secret).to_bytes(4, "little")).decode() + ":\n"


def test_a_killed_proxy_leaves_closed_connections_and_a_capture(pair, fabricbench, tmp_path):
    capture = tmp_path / "p.pcapng"
    proxy, url = pair(for_proxy=["--capture", capture])
    assert fabricbench("host", "io", url, "--size", "4M").code == 0
    with socket.create_connection((AT, 4472)) as idle:
        time.sleep(0.5)
        proxy.process.kill()
        proxy.process.wait()
        idle.settimeout(10)
        try:
            assert idle.recv(1) == b""
        except ConnectionResetError:
            pass
    done = fabricbench("check", capture, "--tcp-port", "4472", "--json")
    assert done.code == 0 and done.json["decoded"]["commands"] > 60


def test_json_is_one_document(pair, fabricbench):
    target = Target("--listen", f"tcp://{AT}:4481", "--namespace", "1M")
    process = subprocess.Popen([str(PROGRAM), "proxy", "--listen", f"tcp://{AT}:4482", "--to", f"tcp://{AT}:4481", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("listening ")
    assert fabricbench("host", "identify", f"tcp://{AT}:4482").code == 0
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0 and json.loads(out)["findings"] == []
    target.stop()


def test_wrong_use_is_one_line(fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: a\nfaults:\n  - kind: drop\n")
    listen, to = f"tcp://{AT}:4491", f"tcp://{AT}:4492"
    with socket.create_server((AT, 4493)):
        there = f"tcp://{AT}:4493"
        for arguments, word in ((["--listen", listen, "--to", to], "refused"),
                                (["--listen", listen], "--to"),
                                (["--listen", "tcp://nonsense", "--to", to], "nonsense"),
                                (["--listen", "rdma://127.0.0.2:4420", "--to", to], "one transport"),
                                (["--listen", listen, "--to", there, "--faults", plan], "plan.yaml:3: a proxy for NVMe/TCP cannot reach 'drop'"),
                                (["--listen", listen, "--to", there, "--faults", tmp_path / "none"], "none"),
                                (["--listen", there, "--to", there], "--listen"),
                                (["--listen", f"tcp://{AT}:4493", "--to", f"tcp://{AT}:4493"], "--listen"),
                                (["--listen", listen, "--to", there, "--seed", "3"], "--faults"),
                                (["--listen", listen, "--to", there, "--tls"], "--psk-file"),
                                (["--listen", listen, "--to", there, "--tls", "--psk-file", tmp_path / "none"], "none"),
                                (["--listen", listen, "--to", there, "--capture", "/nowhere/x"], "/nowhere/x"),
                                (["--listen", listen, "--listen", to, "--to", there], "pairs"),
                                (["--listen", "tcp://203.0.113.9:4420", "--to", there], "203.0.113.9")):
            done = fabricbench("proxy", *arguments, timeout=20)
            assert done.code == 2 and len(done.err.splitlines()) == 1 and word in done.err, (arguments, done.err)


# NVMe/RDMA: both sides use UDP port 4791, so that the proxy has an address of its own.
RDMA_TARGET, RDMA_PROXY = "127.0.0.98", "127.0.0.96"


@pytest.fixture(name="rdma_pair")
def fixture_rdma_pair():
    """A target and a proxy for NVMe/RDMA in front of it: rdma_pair([target arguments], [proxy arguments])."""
    started = []

    def start(for_target=(), for_proxy=()):
        target = Target("--listen", f"rdma://{RDMA_TARGET}:4420", "--namespace", "16M", *for_target)
        started.append(target.process)
        proxy = Proxy("--listen", f"rdma://{RDMA_PROXY}:4420", "--to", f"rdma://{RDMA_TARGET}:4420", *for_proxy)
        started.append(proxy.process)
        return proxy, f"rdma://{RDMA_PROXY}:4420"

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_verified_io_of_two_rdma_hosts_passes_a_quiet_proxy(rdma_pair, fabricbench, tmp_path):
    capture, report = tmp_path / "p.pcapng", tmp_path / "report"
    proxy, url = rdma_pair(for_proxy=["--capture", capture, "--report", report])
    discovered = fabricbench("host", "discover", url)
    assert discovered.code == 0 and RDMA_PROXY in discovered.out and RDMA_TARGET not in discovered.out, discovered.out
    hosts = [subprocess.Popen([str(PROGRAM), "host", "io", url, "--verify", "--size", "2M", "--local", f"127.0.0.{94 + k}"],
                              stdout=subprocess.PIPE) for k in (0, 1)]
    assert [host.wait(timeout=60) for host in hosts] == [0, 0]
    code, out, err = proxy.stop()
    assert code == 0 and "no findings of" in out and "discovery entr" in out and err == "", out + err
    results = json.loads((report / "results.json").read_text())
    assert results["summary"]["pass"] == len(results["cases"]) > 30
    checked = fabricbench("check", capture)
    assert checked.code == 0, checked.out


def test_who_breaks_a_rule_over_rdma_is_named(rdma_pair, fabricbench):
    proxy, url = rdma_pair(for_target=["--deviation", "completion_with_phase"])
    fabricbench("host", "io", url, "--verify", "--size", "64K", "--local", "127.0.0.94")
    code, out, _ = proxy.stop()
    assert code == 1 and f"controller {RDMA_PROXY}" in out and "(0 of the host, " in out, out


def test_packets_are_damaged_by_plan_and_blamed_on_nobody(rdma_pair, fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults:\n" + "".join(f"  - kind: {kind}\n    every: {every}\n"
                                          for kind, every in (("drop", 41), ("duplicate", 53), ("corrupt", 67), ("truncate", 79))))
    proxy, url = rdma_pair(for_proxy=["--faults", plan, "--seed", "3"])
    assert fabricbench("host", "io", url, "--verify", "--size", "2M", "--local", "127.0.0.94").code == 0
    code, out, _ = proxy.stop()
    assert code == 0 and re.search(r"\d\d faults", out) and "no findings of" in out, out


def test_an_rdma_host_is_disconnected_when_the_proxy_ends(rdma_pair):
    proxy, url = rdma_pair()
    host = subprocess.Popen([str(PROGRAM), "host", "io", url, "--random", "--read-percent", "100", "--time", "20s", "--local", "127.0.0.94"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)
    begun = time.monotonic()
    assert proxy.stop()[0] == 0
    _, err = host.communicate(timeout=15)
    assert host.returncode != 0 and time.monotonic() - begun < 10, err


def test_wrong_use_of_an_rdma_proxy_is_one_line(fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults:\n  - kind: pdu_late\n    every: 5\n")
    there, here = f"rdma://{RDMA_TARGET}:4420", f"rdma://{RDMA_PROXY}:4420"
    for words, hint in ((["--listen", there, "--to", there], "an address of its own"),
                        (["--listen", here, "--to", f"tcp://{AT}:4420"], "one transport"),
                        (["--listen", here, "--to", "rdma://[::1]:4420"], "IPv4 on both sides"),
                        (["--listen", here, "--to", there, "--tls", "--psk-file", "x"], "TLS"),
                        (["--listen", here, "--to", there, "--faults", plan], "cannot reach 'pdu_late'"),
                        (["--listen", here, "--to", there], "no answer")):
        done = fabricbench("proxy", *words)
        assert done.code == 2 and hint in done.err and done.err.count("\n") == 1, done.err


@pytest.fixture(name="link_pair")
def fixture_link_pair(tmp_path):
    """A target and a proxy between two Ethernet links: link_pair([target arguments], [proxy arguments]); gives the proxy and the host's
    --local."""
    started = []
    host, near, far, behind = (str(tmp_path / name) for name in ("h", "n", "f", "b"))

    def start(for_target=(), for_proxy=()):
        proxy = Proxy("--listen", f"l2:{near},{host}", "--to", f"l2:{far},{behind}", *for_proxy)
        started.append(proxy.process)
        target = Target("--listen", "rdma://10.9.0.2:4420", "--local", f"l2:{behind},{far},10.9.0.2", "--namespace", "16M", *for_target)
        started.append(target.process)
        return proxy, f"l2:{host},{near},10.9.0.1"

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_frames_pass_between_two_links_unchanged(link_pair, fabricbench, tmp_path):
    capture = tmp_path / "p.pcapng"
    proxy, local = link_pair(for_proxy=["--capture", capture])
    assert fabricbench("host", "io", "rdma://10.9.0.2:4420", "--local", local, "--verify", "--size", "2M").code == 0
    code, out, err = proxy.stop()
    assert code == 0 and "frames (" in out and "no findings of" in out and "could not be passed" not in out and err == "", out + err
    checked = fabricbench("check", capture, "--json")
    assert checked.code == 0 and checked.json["findings"] == []


def test_the_controller_on_the_other_link_is_blamed_and_faults_are_not(link_pair, fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults:\n" + "".join(f"  - kind: {kind}\n    every: {every}\n"
                                          for kind, every in (("drop", 41), ("delay", 53), ("corrupt", 67), ("truncate", 79))))
    proxy, local = link_pair(["--deviation", "completion_with_phase"], ["--faults", plan])
    assert fabricbench("host", "io", "rdma://10.9.0.2:4420", "--local", local, "--size", "1M", "--verify").code == 0
    code, out, _ = proxy.stop()
    assert code == 1 and "controller 10.9.0.2" in out and "(0 of the host, " in out and re.search(r"\d faults", out), out


def test_wrong_links_are_one_line(fabricbench, tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    for listen, to, hint in (("l2:x", f"l2:{a},{b}", "PATH,PEER"), ("packet:nosuch0", f"l2:{a},{b}", "nosuch0"),
                             (f"l2:{a},{b}", "rdma://127.0.0.1:4420", "one other link")):
        done = fabricbench("proxy", "--listen", listen, "--to", to)
        assert done.code == 2 and hint in done.err and done.err.count("\n") == 1, done.err
