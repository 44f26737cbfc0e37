"""A lab of real processes: a target, a host, a proxy between them, a drive behind a management controller.

Everything runs on this machine in real time, each part as a command of its own, as on three machines of a lab. What the proxy
says about both sides is the result; what goes wrong is arranged over control sockets and by fault plans.
"""

import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import zlib

import pytest

from fabricbench.control import Control

PROGRAM = os.environ.get("FABRICBENCH", pathlib.Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "fabricbench")
AT = "127.0.0.119"
ARRAY, BETWEEN = f"tcp://{AT}:4420", f"tcp://{AT}:4421"


class Lab:
    def __init__(self, folder):
        self.folder = folder
        self.processes = []

    def start(self, ready, *arguments):
        """A command that goes on; what `ready` finds in its first line."""
        process = subprocess.Popen([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        line = process.stdout.readline()
        found = re.match(ready, line)
        if found is None:
            process.kill()
            raise RuntimeError(line + process.stderr.read())
        return process, found

    def array(self, *more):
        self.start("listening", "target", "--listen", ARRAY, "--namespace", "64M", "--control", f"unix:{self.folder / 'ctl'}", *more)
        return Control(self.folder / "ctl")

    def proxy(self, plan="", *more):
        if plan:
            (self.folder / "plan.yaml").write_text(f"name: lab\nfaults:\n{plan}")
            more = ("--faults", self.folder / "plan.yaml", "--seed", "7", *more)
        return self.start("listening", "proxy", "--listen", BETWEEN, "--to", ARRAY, "--report", self.folder / "report",
                          "--capture", self.folder / "lab.pcapng", *more)[0]

    def run(self, *arguments, timeout=120, **more):
        return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **more)

    def end(self, process):
        """Exit code and results of a proxy."""
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.processes.remove(process)
        print(out, err)
        return process.returncode, json.loads((self.folder / "report" / "results.json").read_text())

    def close(self):
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture(name="lab")
def fixture_lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


def verified(done):
    return done.returncode == 0 and "every block equal" in done.stdout


def test_a_quiet_proxy_finds_nothing_and_its_capture_neither(lab):
    lab.array()
    proxy = lab.proxy()
    assert verified(lab.run("host", "io", BETWEEN, "--verify", "--size", "8M", "--io-queues", "2"))
    code, results = lab.end(proxy)
    assert code == 0 and results["findings"] == [] and results["summary"]["pass"] > 20
    with open(lab.folder / "lab.pcapng", "rb") as capture:
        done = lab.run("check", "-", stdin=capture)
    assert done.returncode == 0, done.stdout


def test_a_defect_that_begins_in_the_middle_is_the_controllers(lab):
    with lab.array() as array:
        proxy = lab.proxy()
        assert verified(lab.run("host", "io", BETWEEN, "--verify", "--size", "1M"))
        array.call("deviation.on", names=["success_with_flow_control"])
        lab.run("host", "io", BETWEEN, "--size", "1M")
    code, results = lab.end(proxy)
    assert code == 1 and {found["side"] for found in results["findings"]} == {"controller"}
    assert {found["rule"] for found in results["findings"]} == {"tcp_success_flow"}


def test_an_array_that_loses_power_comes_back_to_its_host(lab):
    with lab.array() as array:
        proxy = lab.proxy()
        host = subprocess.Popen([str(PROGRAM), "host", "io", BETWEEN, "--verify", "--size", "48M", "--block-size", "4K",
                                 "--queue-depth", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lab.processes.append(host)
        deadline = time.monotonic() + 20
        while array.call("namespace.list")[0]["writes"] < 50 and time.monotonic() < deadline:
            time.sleep(0.02)
        array.call("power.off", time="2s")
        out, err = host.communicate(timeout=120)
        lab.processes.remove(host)
    assert host.returncode == 0 and "every block equal" in out and "reconnected" in err, (out, err)
    assert lab.end(proxy)[0] == 0


def test_a_host_gets_over_transient_errors_and_late_answers(lab):
    lab.array()
    proxy = lab.proxy("  - {kind: status, every: 20, most: 6, from: 4, amount: 6}\n"
                      "  - {kind: response_late, where: target, every: 30, most: 6, from: 60, amount: [1ms, 20ms]}\n"
                      "  - {kind: segment_split, every: 10, most: 100}\n")
    assert verified(lab.run("host", "io", BETWEEN, "--verify", "--size", "16M"))
    code, results = lab.end(proxy)
    assert code == 0 and len(results["remarks"]) > 10


def test_half_a_connection_closes_and_the_host_begins_again(lab):
    lab.array()
    proxy = lab.proxy("  - {kind: half_close, where: target, every: 1, most: 1, from: 90}\n")
    done = lab.run("host", "io", BETWEEN, "--verify", "--size", "8M")
    assert verified(done) and "reconnected" in done.stderr, (done.stdout, done.stderr)
    assert any("half of the connection is closed" in remark for remark in lab.end(proxy)[1]["remarks"])


def test_a_block_that_cannot_be_read_reaches_the_host_as_it_is(lab):
    with lab.array() as array:
        proxy = lab.proxy()
        assert verified(lab.run("host", "io", BETWEEN, "--verify", "--size", "1M"))
        array.call("namespace.spoil", nsid=1, lba=8)
        done = lab.run("host", "read", BETWEEN, "--lba", "8", "--file", os.devnull)
        assert done.returncode != 0 and "Unrecovered Read Error" in done.stderr
        array.call("namespace.write", nsid=1, lba=8, data="a5" * 512)
        copy = lab.folder / "block"
        assert lab.run("host", "read", BETWEEN, "--lba", "8", "--file", copy).returncode == 0
        assert copy.read_bytes()[:512] == b"\xa5" * 512
    assert lab.end(proxy)[0] == 0


def test_tls_is_judged_on_its_way(lab):
    secret = bytes(range(32))
    keys = lab.folder / "keys"
    keys.write_text("NVMeTLSkey-1:01:" + base64.b64encode(secret + zlib.crc32(secret).to_bytes(4, "little")).decode() + ":\n")
    keys.chmod(0o600)
    tls = ("--tls", "--psk-file", keys)
    lab.array("--deviation", "success_with_flow_control", *tls)
    proxy = lab.proxy("", *tls)
    assert lab.run("host", "io", BETWEEN, "--size", "1M", *tls).returncode == 0
    code, results = lab.end(proxy)
    assert code == 1 and {found["side"] for found in results["findings"]} == {"controller"}


def test_a_drive_gets_hot_behind_a_management_controller(lab):
    drive, found = lab.start(r"serving serial:(\S+) ", "mctp", "serve", "--serial", "pty", "--control", f"unix:{lab.folder / 'bus'}")
    proxy, front = lab.start(r"between serial:(\S+) -> ", "mctp", "proxy", "--serial", "pty", "--to-serial", found.group(1),
                             "--report", lab.folder / "report")
    with Control(lab.folder / "bus") as bus:
        bus.call("health.set", temperature=350)
        assert bus.call("health.get")["temperature"] == 350
    done = lab.run("run", "--no-config", "--dut", f"serial:{front.group(1)}", "--case", "subsystem_temperature_is_that_of_smart",
                   "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["summary"]["pass"] == 1
    code, results = lab.end(proxy)
    assert code == 0 and results["findings"] == []
    assert drive.poll() is None
