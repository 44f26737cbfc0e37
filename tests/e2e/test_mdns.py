"""Discovery services on the local network by multicast DNS: avahi-daemon on a bus of its own and the loopback interface, and its
own programs as the other side."""

import os
import shutil
import signal
import subprocess
import time

import pytest
from conftest import Target

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path={0}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/></policy>
</busconfig>"""
AVAHI = """[server]
host-name=bench
use-ipv4=yes
use-ipv6=no
allow-interfaces=lo
enable-dbus=yes
[wide-area]
enable-wide-area=no
"""
WELL_KNOWN = "nqn.2014-08.org.nvmexpress.discovery"


@pytest.fixture(scope="module", name="network")
def avahi_network(tmp_path_factory):
    """An avahi-daemon that nobody else sees. Sets DBUS_SYSTEM_BUS_ADDRESS for all programs that tests start."""
    assert shutil.which("avahi-daemon"), "avahi-daemon is not installed: ci/setup test"
    if os.path.exists("/run/avahi-daemon/pid") or os.geteuid() != 0:
        pytest.skip("avahi-daemon runs already, or may not be started here")
    folder = tmp_path_factory.mktemp("bus")
    (folder / "bus.conf").write_text(BUS.format(folder))
    (folder / "avahi.conf").write_text(AVAHI)
    os.makedirs("/run/avahi-daemon", exist_ok=True)
    bus = subprocess.Popen(["dbus-daemon", f"--config-file={folder}/bus.conf", "--nofork"])
    address = f"unix:path={folder}/bus"
    before = os.environ.get("DBUS_SYSTEM_BUS_ADDRESS")
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = address
    deadline = time.monotonic() + 20
    while not (folder / "bus").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    log = folder / "avahi.log"
    with log.open("w") as out:
        daemon = subprocess.Popen(["avahi-daemon", "-f", f"{folder}/avahi.conf", "--no-drop-root", "--no-chroot", "--no-rlimits"],
                                  stdout=out, stderr=out)
    while "startup complete" not in log.read_text() and time.monotonic() < deadline and daemon.poll() is None:
        time.sleep(0.05)
    assert "startup complete" in log.read_text(), log.read_text()
    yield address
    for process in (daemon, bus):
        process.terminate()
        process.wait(20)
    if before is None:
        del os.environ["DBUS_SYSTEM_BUS_ADDRESS"]
    else:
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = before


def browse(service="_nvme-disc._tcp"):
    """What avahi-browse resolves: (name, host, address, port, TXT) each."""
    out = subprocess.run(["avahi-browse", "-rpt", service], capture_output=True, text=True, timeout=60, check=True).stdout
    rows = [line.split(";") for line in out.splitlines() if line.startswith("=")]
    return [(row[3], row[6], row[7], row[8], row[9]) for row in rows]


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.3)


def test_a_target_announces_its_discovery_service(network):
    target = Target("--listen", "tcp://127.0.0.1:14641", "--namespace", "1M", "--mdns")
    try:
        port = target.lines[0].split()[1].rsplit(":", 1)[1]
        until(browse)
        [(name, host, address, seen, text)] = browse()
        assert "fabricbench" in name and host == "fabricbench-127-0-0-1.local" and (address, seen) == ("127.0.0.1", port)
        assert '"p=tcp"' in text and f'"NQN={WELL_KNOWN}"' in text
    finally:
        target.kill()
    until(lambda: not browse())  # the bus knows that the process has ended


def test_a_listener_of_discovery_alone_is_what_is_announced(network):
    target = Target("--listen", "tcp://127.0.0.4:14641", "--discovery-listen", "tcp://127.0.0.4:14642", "--namespace", "1M", "--mdns")
    try:
        until(browse)
        assert [(row[2], row[3]) for row in browse()] == [("127.0.0.4", "14642")]
    finally:
        target.kill()
    until(lambda: not browse())


def test_a_host_finds_what_is_announced(network, fabricbench):
    targets = [Target("--listen", f"tcp://127.0.0.{last}:14641", "--namespace", "1M", "--mdns", "--nqn", f"nqn.2026-11.org.example:n{last}")
               for last in (2, 3)]
    try:
        until(lambda: len(browse()) == 2)
        text = fabricbench("host", "discover", "mdns:")
        assert text.code == 0, text.err
        for last in (2, 3):
            assert f"tcp://127.0.0.{last}:" in text.out and f"nqn.2026-11.org.example:n{last}" in text.out
        services = fabricbench("host", "discover", "mdns:", "--json").json["services"]
        assert [one["nqn"] for one in services] == [WELL_KNOWN] * 2
        assert all(one["entries"] and one["genctr"] >= 0 for one in services)
    finally:
        for target in targets:
            target.kill()
    until(lambda: not browse())


def test_a_service_that_cannot_be_asked_does_not_hide_the_others(network, fabricbench):
    # Nobody listens there; the keys of its TXT record are written in small letters, as other publishers do.
    published = subprocess.Popen(["avahi-publish", "-s", "absent", "_nvme-disc._tcp", "9", "p=tcp", f"nqn={WELL_KNOWN}"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target = Target("--listen", "tcp://127.0.0.1:14641", "--namespace", "1M", "--mdns")
    try:
        until(lambda: len(browse()) == 2)
        found = fabricbench("host", "discover", "mdns:", "--json")
        assert found.code == 1
        by_name = {one["name"]: one for one in found.json["services"]}
        assert "error" in by_name["absent"] and by_name["absent"]["nqn"] == WELL_KNOWN
        assert [one for name, one in by_name.items() if name != "absent"][0]["entries"]
    finally:
        published.send_signal(signal.SIGTERM)
        published.wait(20)
        target.kill()
    until(lambda: not browse())


def test_an_empty_network_is_one_line(network, fabricbench):
    nobody = fabricbench("host", "discover", "mdns:")
    assert nobody.code == 2 and "nobody announces" in nobody.err and len(nobody.err.splitlines()) == 1
    stays = fabricbench("host", "discover", "mdns:", "--persistent")
    assert stays.code == 2 and "--persistent" in stays.err


def test_without_a_bus_it_is_one_line(tmp_path, fabricbench):
    env = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path}/nothing"}
    for arguments in (["host", "discover", "mdns:"], ["target", "--listen", "tcp://127.0.0.1:14641", "--namespace", "1M", "--mdns"]):
        failed = fabricbench(*arguments, env=env)
        assert failed.code == 2 and "avahi-daemon" in failed.err and len(failed.err.splitlines()) == 1, failed.err
