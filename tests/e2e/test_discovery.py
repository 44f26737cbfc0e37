"""Discovery by the command over TCP: ports, names, referrals, and staying connected."""

import signal
import time

UNIQUE = "nqn.2026-11.org.example:discovery.7"
DISK = "nqn.2026-11.org.example:disk"
WELL_KNOWN = "nqn.2014-08.org.nvmexpress.discovery"
AT = "127.0.0.91"
ELSEWHERE = "127.0.0.92"


def start(start_target, address=AT, *more):
    return start_target("--listen", f"tcp://{address}:4420", "--discovery-listen", f"tcp://{address}",
                        "--namespace", "1M", "--nqn", f"{DISK}.{address}", *more)


def test_the_port_of_discovery_is_the_default(fabricbench, start_target):
    start(start_target)
    found = fabricbench("host", "discover", f"tcp://{AT}")
    assert found.code == 0, found.err
    assert f"{AT}:4420  {DISK}.{AT}" in found.out
    # Whoever names neither port nor subsystem is led to it.
    connected = fabricbench("host", "connect", f"tcp://{AT}")
    assert connected.code == 0 and f"connected to {DISK}.{AT}" in connected.out, connected.err
    assert fabricbench("host", "connect", f"tcp://{AT}/{DISK}.{AT}").code == 0
    # The port of discovery serves nothing else.
    refused = fabricbench("host", "connect", f"tcp://{AT}:8009/{DISK}.{AT}")
    assert refused.code == 2 and "Invalid Parameters" in refused.err


def test_both_names_of_the_service(fabricbench, start_target):
    start(start_target, AT, "--discovery-nqn", UNIQUE)
    for name in (WELL_KNOWN, UNIQUE):
        found = fabricbench("host", "discover", f"tcp://{AT}:8009/{name}")
        assert found.code == 0 and DISK in found.out, found.err
    wrong = fabricbench("host", "discover", f"tcp://{AT}:8009/{UNIQUE}.not")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1


def test_referrals_are_followed(fabricbench, start_target):
    start(start_target, ELSEWHERE, "--discovery-nqn", UNIQUE)
    start(start_target, AT, "--referral", f"tcp://{ELSEWHERE}:8009/{UNIQUE}",
          "--referral", "tcp://127.0.0.93")
    found = fabricbench("host", "discover", f"tcp://{AT}")
    assert found.code == 0, found.err
    assert f"{DISK}.{AT}" in found.out and f"{DISK}.{ELSEWHERE}" in found.out
    assert found.out.count("referral") == 2
    assert "127.0.0.93:8009" in found.err  # nobody is there
    alone = fabricbench("host", "discover", f"tcp://{AT}", "--no-referrals")
    assert f"{DISK}.{ELSEWHERE}" not in alone.out and alone.err == ""


def test_staying_connected(start_target, start_program):
    target = start(start_target)
    process = start_program("host", "discover", f"tcp://{AT}", "--persistent")
    assert process.stdout.readline().startswith("generation ")
    assert DISK in process.stdout.readline()
    # A target that comes back is one whose log may have changed: it is read again.
    target.stop()
    assert "lost" in process.stderr.readline()
    start(start_target, AT, "--referral", "tcp://127.0.0.93")
    assert "reconnected" in process.stderr.readline()
    assert "2 entries" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.wait(timeout=20) == 0
    assert time.monotonic() - begun < 10


def test_wrong_use_is_one_line(fabricbench):
    for arguments in (["host", "discover", "tcp://nowhere"],
                      ["target", "--listen", f"tcp://{AT}", "--namespace", "1M"],
                      ["target", "--listen", f"tcp://{AT}:4420", "--referral", "nonsense"],
                      ["target", "--listen", f"tcp://{AT}:4420", "--discovery-listen", "tcp://127.0.0.94"]):
        done = fabricbench(*arguments)
        assert done.code == 2 and len(done.err.splitlines()) == 1, done.err


def test_a_subsystem_that_is_added_is_not_behind_the_discovery_listener(fabricbench, start_target, tmp_path):
    control = f"unix:{tmp_path}/control"
    start_target("--listen", f"tcp://{AT}:4420", "--discovery-listen", f"tcp://{AT}", "--namespace", "1M", "--control", control)
    added = "nqn.2026-11.org.fabricbench:added"
    assert fabricbench("ctl", control, "subsystem.add", f"nqn={added}").code == 0
    found = fabricbench("host", "discover", f"tcp://{AT}").out
    assert f"{AT}:4420  {added}" in found and f"{AT}:8009  {added}" not in found, found
    refused = fabricbench("host", "connect", f"tcp://{AT}:8009/{added}")
    assert refused.code == 2 and "Invalid Parameters" in refused.err, refused.err
