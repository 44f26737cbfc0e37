"""Programs that know nothing of us on the virtual MCTP bus: Debian's nvme, by its commands and on D-Bus."""

import json
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import textwrap
import time

import pytest

from conftest import PROGRAM, ROOT
from test_mctp_sockets import PYTHON, SOCKETS

# The MCTP daemon on D-Bus, by the newer of its names.
NEW_NAME = "au.com.codeconstruct.MCTP1"
NEW = "/au/com/codeconstruct/mctp1"

# Every sub-command of nvme 2.3 that reaches an endpoint, with what its output must hold. `refused`: commands
# that the drive does not have, which the endpoint says in its own words.
INVALID_OPCODE = "NVMe-MI status: Invalid Command Opcode"
INVALID_PAGE = "Invalid Log Page"
REACHING = [
    ("id-ctrl mctp:1,9:1", r"mn +: fabricbench emulated drive"),
    ("id-ctrl mctp:1,10:2", r"sn +: FB0000000002"),
    ("id-ctrl mctp:1,9:2", r"cntlid +: 0x2"),
    ("id-ns mctp:1,9:1 -n 1", r"nsze +: 0x20000"),
    ("list-ns mctp:1,9:1", r"\[ +0\]:0x1"),
    ("list-ctrl mctp:1,9", r"(?s)present: 2.*\[ +0\]:0x1.*\[ +1\]:0x2"),
    ("ns-descs mctp:1,9:1 -n 1", r"uuid +: [0-9a-f-]{36}"),
    ("smart-log mctp:1,9:1", r"temperature\s+: 37.C \(310 Kelvin\)"),
    ("fw-log mctp:1,9:1", r"frs1 .*\(1\.0"),
    ("error-log mctp:1,9:1 -e 4", r"entries:4"),
    ("ana-log mctp:1,9:1", r"ANA LOG HEADER"),
    ("get-log mctp:1,9:1 -i 2 -l 512", r"0000: 00 36 01 64"),
    ("fid-support-effects-log mctp:1,9:1", r"FID 02"),
    ("supported-log-pages mctp:1,9:1", r"LID 0x2 \(SMART"),
    ("get-feature mctp:1,9:1 -f 2 -n 1", r"Current value:00000000"),
    ("admin-passthru mctp:1,9:1 -o 6 --cdw10=1 -l 4096 -r", r"Identify is Success"),
    ("changed-ns-list-log mctp:1,9:1", r""),
    ("primary-ctrl-caps mctp:1,9:1", r"Invalid Field"),
    ("list-secondary mctp:1,9:1", r"Invalid Field"),
    ("list-ns mctp:1,9:1 -a", r"\[ +0\]:0x1"),
    ("create-ns mctp:1,9:1 -s 2048 -c 2048 -f 7", "Invalid Format"),
    ("delete-ns mctp:1,9:1 -n 1", "Success, deleted nsid:1"),
    ("delete-ns mctp:1,9:1 -n 7", "Invalid Field"),
    ("attach-ns mctp:1,9:1 -n 1 -c 1", "Namespace Already Attached"),
    ("attach-ns mctp:1,9:1 -n 1 -c 77", "Controller List Invalid"),
    ("detach-ns mctp:1,9:1 -n 1 -c 1", "Success, nsid:1"),
    ("fw-commit mctp:1,9:1 -s 1 -a 1", "Invalid Firmware Slot"),
    ("fw-commit mctp:1,9:1 -s 2 -a 1", "Invalid Firmware Image"),
    ("format mctp:1,9:1 -n 1 -f", "Success formatting namespace:1"),
    ("format mctp:1,9:1 -n 1 -l 7 -f", "Invalid Format"),
    ("sanitize mctp:1,9:1 -a 2", r""),
    ("admin-passthru mctp:1,9:1 -o 0x14 --cdw10=1", r"Device Self-test.* is Success|is Success"),
    ("security-recv mctp:1,9:1 -p 0 -s 0 -x 512 -t 512", r"0000: 00 00 00 00 00 00 00 02 00 f0"),
    ("security-recv mctp:1,9:1 -p 1 -s 1 -x 512 -t 512", "Invalid Field"),
    ("self-test-log mctp:1,9:1", r"Current operation +: 0"),
    ("endurance-log mctp:1,9:1", INVALID_PAGE),
    ("predictable-lat-log mctp:1,9:1", INVALID_PAGE),
    ("pred-lat-event-agg-log mctp:1,9:1", INVALID_PAGE),
    ("persistent-event-log mctp:1,9:1", r"Support Thermal Excursion Event"),
    ("lba-status-log mctp:1,9:1", r"LBA Status Log Page Length: 16"),
    ("endurance-event-agg-log mctp:1,9:1", INVALID_PAGE),
    ("media-unit-stat-log mctp:1,9:1", INVALID_PAGE),
    ("supported-cap-config-log mctp:1,9:1", INVALID_PAGE),
    ("mi-cmd-support-effects-log mctp:1,9:1", INVALID_PAGE),
    ("resv-notif-log mctp:1,9:1", r"Log Page Count\s+: 0"),
    ("sanitize-log mctp:1,9:1", r"(?s)Sanitize Progress +\(SPROG\) +: +65535"),
]


@pytest.mark.parametrize("command,wanted", REACHING, ids=lambda text: text.split(" ")[0])
def test_unmodified_nvme(fabricbench, command, wanted):
    done = fabricbench("mctp", "exec", "--", "nvme", *command.split(), timeout=30)
    assert re.search(wanted, done.out + done.err), done.out + done.err
    assert "crc mismatch" not in done.err


def test_firmware_format_and_security(fabricbench, tmp_path):
    """What an update tool does, each step by nvme itself: the drive runs other firmware, its blocks are larger, a security
    message is kept."""
    image, message, back = tmp_path / "image", tmp_path / "message", tmp_path / "back"
    image.write_bytes(b"FBFW2.0     " + bytes(range(256)) * 100)
    message.write_bytes(b"a message of 32 bytes, as it was")
    at = "mctp:1,9:1"
    done = fabricbench("mctp", "exec", "--", "sh", "-ec", f"""
        nvme fw-download {at} --fw={image}
        nvme fw-commit {at} -s 2 -a 3
        nvme fw-log {at}
        nvme id-ctrl {at}
        nvme format {at} -n 1 -l 1 -f
        nvme id-ns {at} -n 1
        nvme security-send {at} -p 0xf0 -s 1 -t 32 -f {message}
        nvme security-recv {at} -p 0xf0 -s 1 -x 32 -t 32 -b > {back}""")
    assert done.code == 0, done.out + done.err
    assert re.search(r"afi +: 0x2\b", done.out) and re.search(r"frs2 .*\(2\.0", done.out), done.out
    assert re.search(r"^fr +: 2\.0", done.out, re.M)
    assert re.search(r"lbaf +1 .*lbads:12 .*in use", done.out) and re.search(r"nsze +: 0x4000", done.out)
    assert back.read_bytes().endswith(message.read_bytes())  # behind a line of nvme's own


def test_namespaces_sanitize_and_self_test(fabricbench):
    """A tool makes, attaches, detaches and deletes a namespace, sanitizes the drive and has it test itself."""
    at = "mctp:1,9:1"
    done = fabricbench("mctp", "exec", "--", "sh", "-ec", f"""
        nvme create-ns {at} -s 4096 -c 4096 -f 0 -m 1
        echo made; nvme list-ns {at} -a; nvme list-ns {at}
        nvme attach-ns {at} -n 2 -c 1,2
        echo attached; nvme list-ns {at}; nvme list-ns mctp:1,9:2; nvme list-ctrl mctp:1,9:1 -n 2
        nvme id-ns {at} -n 2
        nvme detach-ns {at} -n 2 -c 1
        echo detached; nvme list-ns {at}; nvme list-ns {at} -a
        nvme delete-ns {at} -n 2
        echo deleted; nvme list-ns {at} -a
        nvme admin-passthru {at} -o 0x14 --cdw10=2 -n 1; nvme self-test-log {at}
        nvme admin-passthru {at} -o 0x14 --cdw10=15; nvme self-test-log {at}
        nvme sanitize {at} -a 2; nvme sanitize-log {at}
        nvme format {at} -n 1 -f 2>&1 || true
        sleep 5; nvme sanitize-log {at}; nvme format {at} -n 1 -f""", timeout=60)
    assert done.code == 0, done.out + done.err
    made, attached, detached, deleted = (done.out.split(f"{word}\n")[1] for word in ("made", "attached", "detached", "deleted"))
    namespace = re.compile(r"^\[ +\d+\]:(0x[12])$", re.M)
    assert namespace.findall(made.split("attached")[0]) == ["0x1", "0x2", "0x1"], made
    assert namespace.findall(attached)[:4] == ["0x1", "0x2", "0x1", "0x2"], attached
    assert "nsze    : 0x1000" in attached
    assert namespace.findall(detached.split("deleted")[0]) == ["0x1", "0x1", "0x2"], detached
    assert namespace.findall(deleted) == ["0x1"], deleted
    assert re.search(r"Current operation +: 0x2", deleted) and re.search(r"Operation Result +: 0x1\b", deleted), deleted
    states = re.findall(r"\(SSTAT\) +: +(0x[0-9a-f]+)", deleted)
    assert [int(state, 16) & 7 for state in states] == [2, 1], deleted
    assert "Sanitize In Progress" in done.out and done.out.rstrip().endswith("Success formatting namespace:1"), done.out


def test_no_endpoint_and_no_network_are_no_route(fabricbench):
    for at in ("mctp:1,77", "mctp:9,9"):
        done = fabricbench("mctp", "exec", "--", "nvme", "id-ctrl", at, timeout=30)
        assert done.code != 0 and "No route to host" in done.out + done.err


def test_controller_zero(fabricbench):
    usual = fabricbench("mctp", "exec", "--", "nvme", "id-ctrl", "mctp:1,9")
    strict = fabricbench("mctp", "exec", "--strict-controllers", "--", "nvme", "id-ctrl", "mctp:1,9")
    assert "cntlid    : 0x1" in usual.out
    assert "Invalid Parameter" in strict.out + strict.err


def test_the_exit_status_is_the_programs(fabricbench):
    assert fabricbench("mctp", "exec", "--", "sh", "-c", "exit 7").code == 7
    assert fabricbench("mctp", "exec", "--", "sh", "-c", "kill -KILL $$").code == 128 + signal.SIGKILL
    missing = fabricbench("mctp", "exec", "--", "/no/such/program")
    assert missing.code == 2 and missing.err.startswith("fabricbench: /no/such/program: No such file")


def test_wrong_use_is_one_line(fabricbench):
    for arguments, named in ((("--endpoints", "0"), "--endpoints 0"), (("--endpoints", "500"), "--endpoints 500"),
                             (("--controllers", "0"), "--controllers 0"), (("--namespace", "5"), "--namespace 5"),
                             (("--drive", "of_cheese"), "--drive of_cheese"),
                             (("--counters", "/nonexistent/x"), "--counters /nonexistent/x")):
        wrong = fabricbench("mctp", "exec", *arguments, "--", "true")
        assert wrong.code == 2 and named in wrong.err and len(wrong.err.splitlines()) == 1


def test_every_drive_of_a_full_segment(fabricbench):
    done = fabricbench("mctp", "exec", "--endpoints", "40", "--controllers", "1", "--", "sh", "-c",
                       "for eid in 9 30 48; do nvme id-ctrl mctp:1,$eid | grep ^sn; done")
    assert [line.split()[-1] for line in done.out.splitlines()] == ["FB0000000001", "FB0000000022", "FB0000000040"]


def test_a_legal_drive_of_another_kind(fabricbench):
    """What a BMC stack may meet: controllers 1 and 5, none 0."""
    assert "controllers_1_and_5" in fabricbench("list", "--drives").out
    done = fabricbench("mctp", "exec", "--drive", "controllers_1_and_5", "--", "sh", "-c",
                       "nvme id-ctrl mctp:1,9:5; nvme id-ctrl mctp:1,9:2; nvme id-ctrl mctp:1,9")
    assert "cntlid    : 0x5" in done.out and done.out.count("cntlid") == 1, done.out
    assert (done.out + done.err).count("Invalid Parameter") == 2, done.err
    done = fabricbench("mctp", "exec", "--drive", "no_firmware_commands", "--", "nvme", "fw-commit", "mctp:1,9:1", "-s", "2",
                       "-a", "1")
    assert INVALID_OPCODE in done.out + done.err, done.out + done.err


def test_counters_say_what_was_asked(fabricbench, tmp_path):
    """How often a drive is polled (F34), and that the other one is left alone."""
    file = tmp_path / "counters.json"
    done = fabricbench("mctp", "exec", "--counters", file, "--", "sh", "-c",
                       "for i in 1 2 3; do nvme smart-log mctp:1,9:1; done")
    assert done.code == 0, done.err
    polled, other = json.loads(file.read_text())["endpoints"]
    assert (polled["eid"], other["eid"]) == (9, 10)
    asked = {request["name"]: request["count"] for request in polled["requests"] if request["kind"] == "admin"}
    assert asked.get("Get Log Page") == 3, polled
    assert polled["nvme_mi_messages"] >= 3 and polled["nvme_mi_discarded"] == 0 and other["requests"] == []
    assert polled["packets_in"] > 0 and polled["packets_dropped"] == {}


def test_what_is_behind_the_marker_is_the_programs(fabricbench):
    """Whatever option of ours stands before it, one that takes a list as well."""
    for before in ((), ("--deviation", "admin_offset_ignored"), ("--deviation", "F3", "--deviation", "vpd_write_lost"),
                   ("--network", "1,2"), ("--dbus",), ("--endpoints", "3", "--deviation=F3")):
        done = fabricbench("mctp", "exec", *before, "--", "echo", "-n", "--deviation", "-x", "--", "last")
        assert (done.code, done.out, done.err) == (0, "--deviation -x -- last", ""), before
    done = fabricbench("mctp", "exec", "--deviation", "admin_offset_ignored", "sh", "-c", "echo $0", "-y")
    assert (done.code, done.out) == (0, "-y\n")


def test_two_networks_on_a_bus(fabricbench):
    done = fabricbench("mctp", "exec", "--network", "7,1", "--endpoints", "3", "--", "sh", "-c",
                       "for at in 1,9 1,11; do nvme id-ctrl mctp:$at | grep ^sn; done; nvme id-ctrl mctp:7,9")
    # The drives of network 1 come behind those of network 7. libnvme allocates its tags by the older call, of network 1 alone.
    assert [line.split()[-1] for line in done.out.splitlines()] == ["FB0000000004", "FB0000000006"], done.err
    assert "No such file or directory" in done.err
    for wrong, why in (("0", "--network 0"), ("1,0", "--network 0"), ("4,4", "--network 4: it is given twice"),
                       ("x", "--network"), ("", "--network")):
        refused = fabricbench("mctp", "exec", "--network", wrong, "--", "true")
        assert refused.code == 2 and why in refused.err and len(refused.err.splitlines()) == 1, refused.err


def test_as_many_endpoints_as_there_are_eids(fabricbench):
    done = fabricbench("mctp", "exec", "--endpoints", "246", "--controllers", "1", "--", "sh", "-c",
                       "for eid in 9 93 94 178 179 254; do nvme id-ctrl mctp:1,$eid | grep ^sn; done", timeout=60)
    wanted = [f"FB{eid - 8:010}" for eid in (9, 93, 94, 178, 179, 254)]
    assert [line.split()[-1] for line in done.out.splitlines()] == wanted, done.err
    refused = fabricbench("mctp", "exec", "--endpoints", "247", "--", "true")
    assert refused.code == 2 and "1 to 246" in refused.err


def test_more_processing_reaches_unmodified_programs(fabricbench, tmp_path):
    """A drive of ours that needs long asks for time, and one with F2 to F4 does so wrongly, with nothing else said."""
    def more_of(*options, limit=4):
        file = tmp_path / "bus.pcapng"
        begun = time.monotonic()
        done = fabricbench("mctp", "exec", "--capture", file, *options, "--", "timeout", str(limit), "nvme", "id-ctrl",
                           "mctp:1,9:1", timeout=60)
        return done, time.monotonic() - begun, mi_answers(file)

    honest, took, answers = more_of("--latency", "400ms", limit=30)
    asked = [a for a in answers if a[0] == 0x01]
    # 310 ms are left when it asks in time, and fewer on a machine that is late.
    assert honest.code == 0 and took > 0.4 and asked[0][1] == 8 and 1 <= asked[0][2] <= 4, answers
    for name, check in (("F3", lambda more: len(more) >= 2), ("F4", lambda more: more and more[0][2] == 0),
                        ("F2", lambda more: more and more[0][1] == 20)):
        _, _, answers = more_of("--deviation", name)
        assert check([a for a in answers if a[0] == 0x01]), (name, answers)
    _, _, answers = more_of("--more-processing-count", "4", "--more-processing-interval", "50ms", "--more-processing-time", "700ms")
    # Each command of the program is answered so.
    finals = sum(a[0] == 0 for a in answers)
    assert finals >= 1 and [a for a in answers if a[0] == 0x01] == [(1, 8, 7)] * 4 * finals, answers
    endless, took, answers = more_of("--more-processing-count", "endless")
    assert endless.code != 0 and took > 3.5 and {a[0] for a in answers} == {0x01} and len(answers) > 20
    for wrong in (("--more-processing-count", "0"), ("--more-processing-time", "150ms"), ("--latency", "5"),
                  ("--more-processing-interval", "x")):
        refused = fabricbench("mctp", "exec", *wrong, "--", "true")
        assert refused.code == 2 and wrong[0] in refused.err and len(refused.err.splitlines()) == 1


def mi_answers(file):
    """Status, size without the check, and MPRT of each NVMe-MI message that answers, by its first packet."""
    script = ROOT / "sim" / "capture" / "wireshark" / "mctp.lua"
    seen = subprocess.run(["tshark", "-n", "-X", f"lua_script:{script}", "-r", file, "-x"], capture_output=True, text=True,
                          timeout=60).stdout
    answers = []
    for block in re.split(r"\n\n+", seen):
        rows = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?)+)", block, re.M)
        data = bytes.fromhex("".join(rows).replace(" ", ""))
        at = data.find(b"\x84\x90")  # an answer to an Admin command in slot 0
        if at < 4 or not data[at - 1] & 0x80:
            continue
        body = data[at:]
        answers.append((body[4], len(body) - 4 - (1 if b"\x0f" in data[:8] else 0), int.from_bytes(body[6:8], "little")))
    return answers


def serve(tmp_path, *options):
    path = tmp_path / "bus"
    process = subprocess.Popen([str(PROGRAM), "mctp", "serve", "--socket", str(path), *options],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert select.select([process.stdout], [], [], 20)[0]
    lines = []
    while not lines or not lines[-1].startswith("LD_PRELOAD="):
        line = process.stdout.readline()
        assert line, process.stderr.read()
        lines.append(line.strip())
    environment = dict(os.environ, **dict(word.split("=", 1) for word in lines[-1].split()))
    return process, lines, environment, path


def test_a_bus_that_many_programs_share(tmp_path):
    process, lines, environment, path = serve(tmp_path)
    assert lines[0] == "endpoint mctp:1,9 FB0000000001" and lines[1] == "endpoint mctp:1,10 FB0000000002"
    clients = [subprocess.Popen(["nvme", "id-ctrl", f"mctp:1,{9 + i % 2}"], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for i in range(6)]
    for i, client in enumerate(clients):
        assert f"FB000000000{1 + i % 2}" in client.communicate(timeout=30)[0]
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0 and not path.exists()
    gone = subprocess.run(["nvme", "id-ctrl", "mctp:1,9"], env=environment, text=True, capture_output=True, timeout=30)
    assert gone.returncode != 0


def test_a_bus_after_one_that_was_killed(tmp_path):
    """Its socket is taken over; one that is in use, or a file that is no socket, is not."""
    process, _, _, path = serve(tmp_path)
    busy = subprocess.run([str(PROGRAM), "mctp", "serve", "--socket", str(path)], capture_output=True, text=True, timeout=20)
    assert busy.returncode == 2 and "Address already in use" in busy.stderr
    process.kill()
    process.wait()
    assert path.exists()
    process, _, environment, _ = serve(tmp_path)
    found = subprocess.run(["nvme", "id-ctrl", "mctp:1,9:1"], env=environment, text=True, capture_output=True, timeout=30)
    assert "FB0000000001" in found.stdout
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    file = tmp_path / "file"
    file.write_text("mine")
    refused = subprocess.run([str(PROGRAM), "mctp", "serve", "--socket", str(file)], capture_output=True, text=True, timeout=20)
    assert refused.returncode == 2 and file.read_text() == "mine"


def test_a_killed_client_leaves_nothing_behind(tmp_path):
    process, _, environment, _ = serve(tmp_path)
    body = SOCKETS + "fd = open_one()\nfor _ in range(8): tag_call(fd, ALLOC, 9)\nprint('ready', flush=True)\nreadable(fd, 60)\n"
    client = subprocess.Popen([PYTHON, "-c", body], env=environment, stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "ready\n"
    client.kill()
    client.wait()
    time.sleep(0.2)
    found = subprocess.run(["nvme", "smart-log", "mctp:1,9:1"], env=environment, text=True, capture_output=True, timeout=30)
    assert "310 Kelvin" in found.stdout
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_captures_dissect(fabricbench, tmp_path):
    file = tmp_path / "bus.pcapng"
    assert fabricbench("mctp", "exec", "--capture", file, "--", "nvme", "smart-log", "mctp:1,9:1").code == 0
    script = ROOT / "sim" / "capture" / "wireshark" / "mctp.lua"
    seen = subprocess.run(["tshark", "-n", "-X", f"lua_script:{script}", "-r", file], capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, LC_ALL="C"))
    assert "Set Endpoint ID" in seen.stdout and "NVMe-MI" in seen.stdout, seen.stdout + seen.stderr
    assert "alformed" not in seen.stdout


def test_strangers_on_the_socket(tmp_path):
    """Whatever is said on the bus's own socket: it is refused, and programs go on."""
    process, _, environment, path = serve(tmp_path)
    draws = random.Random(1)
    for round_ in range(300):
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stranger.connect(str(path))
        ends = os.pipe()
        head = struct.pack("=IiIiiBBBBBBBB", round_ % 12, 0, draws.choice((0, 1, 7)), draws.getrandbits(31), 0,
                           *draws.randbytes(8))
        data = draws.choice((b"", b"x", draws.randbytes(27), head, head + draws.randbytes(draws.randrange(3000)),
                             head + bytes(65600)))
        try:
            if round_ % 3 == 0:
                stranger.send(data)
            else:
                socket.send_fds(stranger, [data], [ends[1]])
        except OSError:
            pass
        for end in ends:
            os.close(end)
        if round_ % 2 == 0:
            stranger.close()
    found = subprocess.run(["nvme", "id-ctrl", "mctp:1,9:1"], env=environment, text=True, capture_output=True, timeout=30)
    assert "FB0000000001" in found.stdout, found.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_the_dbus_daemon_goes_with_us(tmp_path):
    process, _, environment, _ = serve(tmp_path, "--dbus")
    place = environment["DBUS_SYSTEM_BUS_ADDRESS"].removeprefix("unix:path=")

    def answers():
        return subprocess.run(["dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.DBus", "/",
                               "org.freedesktop.DBus.GetId"], env=environment, capture_output=True).returncode == 0

    assert answers()
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while answers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not answers()
    shutil.rmtree(os.path.dirname(place))


def with_daemon_of_dbus(tmp_path, script):
    """An environment in which this script is found as dbus-daemon."""
    program = tmp_path / "bin" / "dbus-daemon"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    return dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}")


def test_a_dbus_daemon_that_is_slow_to_listen(fabricbench, tmp_path):
    """Its socket is there, and takes no connections yet."""
    environment = with_daemon_of_dbus(tmp_path, textwrap.dedent(f"""\
        #!{PYTHON}
        import os, pathlib, socket, sys, time
        config = next(word for word in sys.argv if word.startswith("--config-file=")).split("=")[1]
        place = pathlib.Path(config).parent / "dbus"
        bound = socket.socket(socket.AF_UNIX)
        bound.bind(str(place))
        time.sleep(0.3)
        place.unlink()
        os.execv({shutil.which("dbus-daemon")!r}, ["dbus-daemon", *sys.argv[1:]])
        """))
    done = fabricbench("mctp", "exec", "--dbus", "--", "dbus-send", "--system", "--print-reply", f"--dest={NEW_NAME}",
                       NEW, "org.freedesktop.DBus.ObjectManager.GetManagedObjects", env=environment)
    assert done.code == 0 and done.out.count('string "EID"') == 3, done.err  # the owner's own too


def test_a_dbus_daemon_that_does_not_start(fabricbench, tmp_path):
    environment = with_daemon_of_dbus(tmp_path, "#!/bin/sh\necho no bus today >&2\nexit 1\n")
    done = fabricbench("mctp", "exec", "--dbus", "--", "true", env=environment)
    assert (done.code, done.err) == (2, "fabricbench: dbus-daemon does not start: no bus today\n")


def test_interrupt_ends_program_and_bus():
    process = subprocess.Popen([str(PROGRAM), "mctp", "exec", "--", "sh", "-c", "echo up; exec sleep 60"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 128 + signal.SIGTERM


CLIENT = PROGRAM.parent / "libnvme_client"


def test_libnvme(fabricbench):
    done = fabricbench("mctp", "exec", "--controllers", "3", "--", CLIENT, timeout=60)
    assert done.code == 0 and done.out.startswith("2 endpoints, 0 faults"), done.err


def test_libnvme_finds_the_endpoints_by_dbus(fabricbench):
    done = fabricbench("mctp", "exec", "--controllers", "3", "--dbus", "--", CLIENT, "scan", timeout=60)
    assert done.code == 0 and done.out.startswith("2 endpoints, 0 faults"), done.err


def test_both_generations_of_the_daemons_objects(fabricbench):
    for name, root, network, endpoints in (("xyz.openbmc_project.MCTP", "/xyz/openbmc_project/mctp", "int32 1", 2),
                                           (NEW_NAME, NEW, "uint32 1", 3)):
        done = fabricbench("mctp", "exec", "--dbus", "--", "dbus-send", "--system", "--print-reply",
                           f"--dest={name}", root, "org.freedesktop.DBus.ObjectManager.GetManagedObjects")
        assert done.code == 0, done.err
        interfaces = done.out.count('string "au.com.codeconstruct.MCTP.Interface1"')
        assert done.out.count('string "EID"') == endpoints and done.out.count(network) == endpoints + interfaces, done.out
        assert done.out.count('string "UUID"') == endpoints and "byte 10" in done.out


def test_the_network_id_as_libnvme_reads_it(fabricbench):
    """libnvme reads NetworkId signed, mctpd publishes it unsigned: its users may go on with ours."""
    done = fabricbench("mctp", "exec", "--dbus", "--dbus-network-id", "signed", "--", *GET, f"{NEW}/networks/1/endpoints/9",
                       PROPERTY, "string:xyz.openbmc_project.MCTP.Endpoint", "string:NetworkId")
    assert done.code == 0 and "int32 1" in done.out and "uint32" not in done.out, done.out


GET = ("dbus-send", "--system", "--print-reply", f"--dest={NEW_NAME}")
PROPERTY = "org.freedesktop.DBus.Properties.Get"
BUS_OWNER = "au.com.codeconstruct.MCTP.BusOwner1"
ENDPOINT = "au.com.codeconstruct.MCTP.Endpoint1"
OWN = "/org/fabricbench/drives"


def dbus(environment, path, method, *arguments):
    """What a method returns, as dbus-send prints it; its error otherwise."""
    done = subprocess.run([*GET, path, method, *arguments], env=environment, capture_output=True, text=True, timeout=30)
    return done.stdout if done.returncode == 0 else done.stderr


def test_interfaces_networks_and_vendor_types(tmp_path):
    process, _, environment, _ = serve(tmp_path, "--dbus", "--network", "1,2", "--drive", "more_message_types")
    get = lambda path, interface, name: dbus(environment, path, PROPERTY, f"string:{interface}", f"string:{name}")
    for number in (1, 2):
        link = f"{NEW}/interfaces/mctpi2c{number}"
        assert f"uint32 {number}" in get(link, "au.com.codeconstruct.MCTP.Interface1", "NetworkId")
        assert 'string "BusOwner"' in get(link, "au.com.codeconstruct.MCTP.Interface1", "Role")
        network = f"{NEW}/networks/{number}"
        assert "08" in get(network, "au.com.codeconstruct.MCTP.Network1", "LocalEIDs")
        learned = dbus(environment, network, "au.com.codeconstruct.MCTP.Network1.LearnEndpoint", "byte:9")
        assert f"{network}/endpoints/9" in learned and "boolean false" in learned
        assert "No route to host" in dbus(environment, network, "au.com.codeconstruct.MCTP.Network1.LearnEndpoint", "byte:77")
        # dbus-send shows an array of bytes as text: control alone, 00h.
        assert r'bytes "" + \0' in get(f"{network}/endpoints/8", "xyz.openbmc_project.MCTP.Endpoint", "SupportedMessageTypes")
        vendors = get(f"{network}/endpoints/9", "xyz.openbmc_project.MCTP.Endpoint", "VendorDefinedMessageTypes")
        assert re.search(r"byte 0\s+variant\s+uint16 4660\s+uint16 1", vendors), vendors
        assert re.search(r"byte 1\s+variant\s+uint32 39321\s+uint16 2", vendors), vendors
    for method in ("Remove", "Recover"):
        assert "belongs to the bus owner" in dbus(environment, f"{NEW}/networks/1/endpoints/8", f"{ENDPOINT}.{method}")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_drives_come_and_go(tmp_path):
    """Removed, set up again, pulled out and given up, put in again: with the signals that a BMC waits for."""
    process, _, environment, _ = serve(tmp_path, "--dbus")
    heard = tmp_path / "heard"
    with heard.open("w") as file:
        monitor = subprocess.Popen(["dbus-monitor", "--system", "type=signal,interface=org.freedesktop.DBus.ObjectManager",
                                    "type=signal,interface=org.freedesktop.DBus.Properties"], env=environment, stdout=file)
    try:
        drive, link = f"{NEW}/networks/1/endpoints/9", f"{NEW}/interfaces/mctpi2c1"
        deadline = time.monotonic() + 20
        def wait_for(*words):
            while not all(word in heard.read_text() for word in words):
                assert time.monotonic() < deadline, (words, heard.read_text())
                time.sleep(0.05)
        time.sleep(0.5)
        setup = lambda place: dbus(environment, link, f"{BUS_OWNER}.SetupEndpoint", f"array:byte:{place}")
        known = setup("0x1d")
        assert "byte 9" in known and "boolean false" in known, known
        assert "method return" in dbus(environment, drive, f"{ENDPOINT}.Remove")
        wait_for("InterfacesRemoved", drive)
        gone = subprocess.run(["nvme", "id-ctrl", "mctp:1,9"], env=environment, capture_output=True, text=True, timeout=30)
        assert "No route to host" in gone.stdout + gone.stderr
        learned = dbus(environment, link, f"{BUS_OWNER}.LearnEndpoint", "array:byte:0x1d")
        assert "byte 9" in learned and f'"{drive}"' in learned and "boolean true" in learned, learned
        wait_for("InterfacesAdded")
        assert "Connection timed out" in setup("0x41")
        static = dbus(environment, link, f"{BUS_OWNER}.AssignEndpointStatic", "array:byte:0x1d", "byte:40")
        assert "File exists" in static, static
        # Pulled out: nobody answers, and after the last poll it is removed.
        dbus(environment, f"{OWN}/FB0000000001", "org.fabricbench.Drive1.Unplug")
        heard_before = heard.read_text().count("InterfacesRemoved")
        dbus(environment, drive, f"{ENDPOINT}.Recover")
        wait_for('"Degraded"')
        while heard.read_text().count("InterfacesRemoved") == heard_before:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        dbus(environment, f"{OWN}/FB0000000001", "org.fabricbench.Drive1.Plug")
        again = setup("0x1d")
        assert "boolean true" in again and f"{NEW}/networks/1/endpoints/" in again, again
        eid = re.search(r"byte (\d+)", again).group(1)
        found = subprocess.run(["nvme", "id-ctrl", f"mctp:1,{eid}"], env=environment, capture_output=True, text=True, timeout=30)
        assert "FB0000000001" in found.stdout
        # Pulled out and put in at once: the same drive gets its EID again.
        for method in ("Unplug", "Plug"):
            dbus(environment, f"{OWN}/FB0000000002", f"org.fabricbench.Drive1.{method}")
        dbus(environment, f"{NEW}/networks/1/endpoints/10", f"{ENDPOINT}.Recover")
        wait_for('"Available"')
        found = subprocess.run(["nvme", "id-ctrl", "mctp:1,10"], env=environment, capture_output=True, text=True, timeout=30)
        assert "FB0000000002" in found.stdout
    finally:
        monitor.kill()
        monitor.wait()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


SET_MTU = ("dbus-send", "--system", "--print-reply", f"--dest={NEW_NAME}",
           f"{NEW}/networks/1/endpoints/9", "au.com.codeconstruct.MCTP.Endpoint1.SetMTU")


def largest_packet_to_the_drive(file):
    script = ROOT / "sim" / "capture" / "wireshark" / "mctp.lua"
    seen = subprocess.run(["tshark", "-n", "-X", f"lua_script:{script}", "-r", file, "-T", "fields", "-e", "frame.len",
                           "-e", "_ws.col.Info", "-e", "data"], capture_output=True, text=True, timeout=60)
    return max(int(line.split("\t")[0]) for line in seen.stdout.splitlines())


def test_set_mtu(fabricbench, tmp_path):
    """What a program sends goes out in larger packets, once drive and daemon both say so."""
    sizes = []
    for mtu in (None, 254):
        file = tmp_path / f"{mtu}.pcapng"
        steps = "true" if mtu is None else f"{CLIENT} unit 250 && {' '.join(SET_MTU)} uint32:{mtu} >/dev/null"
        # The command is 72 bytes; the log of 16 bytes that answers it goes into one packet of 64.
        done = fabricbench("mctp", "exec", "--dbus", "--capture", file, "--", "sh", "-c",
                           f"{steps} && nvme get-log mctp:1,9:1 -i 2 -l 16")
        assert done.code == 0, done.out + done.err
        sizes.append(largest_packet_to_the_drive(file))
    assert sizes[1] > sizes[0]
    wrong = fabricbench("mctp", "exec", "--dbus", "--", *SET_MTU, "uint32:10")
    assert wrong.code == 1 and "68 to 4096" in wrong.err
