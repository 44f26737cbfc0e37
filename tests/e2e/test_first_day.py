"""What a user meets on the first day: help, misspelt words, nonsense, full disks, names instead of addresses."""

import errno
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import PROGRAM, Target

COMMANDS = [[], ["run"], ["init"], ["selftest"], ["list"], ["requirements"], ["report"], ["statement"], ["catalogue"],
            ["proxy"], ["ctl"], ["replay"], ["campaign"], ["shrink"], ["check"], ["devices"],
            ["target"], ["target", "drive"], ["host"], *[["host", one] for one in ("discover", "connect", "identify", "read", "write", "zones", "append", "zone",
                                                             "io", "drive", "nbft")],
            *[["host", "nbft", one] for one in ("write", "show", "connect")],
            ["mctp"], ["mctp", "drive"], ["mctp", "exec"], ["mctp", "proxy"], ["mctp", "serve"],
            ["networkdirect"], *[["networkdirect", one] for one in ("install", "remove", "list", "verify")]]
NAMES = [" ".join(one) or "fabricbench" for one in COMMANDS]
#: Their standard output is not theirs alone: a protocol, groups of commands.
WITHOUT_JSON = {"fabricbench", "host", "host drive", "host nbft", "mctp", "mctp drive", "networkdirect", "target drive"}


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_help_fits_a_terminal(fabricbench, command):
    done = fabricbench(*command, "--help")
    assert done.code == 0 and done.err == ""
    assert [line for line in done.out.splitlines() if len(line) > 80] == []
    assert re.search(r"^Examples?:\n  fabricbench ", done.out, re.MULTILINE)
    assert re.search(r"^Exit codes?\b", done.out, re.MULTILINE)
    if (" ".join(command) or "fabricbench") not in WITHOUT_JSON:
        assert "--json" in done.out


def test_every_command_is_tried_here(fabricbench):
    def below(path):
        text = fabricbench(*path, "--help").out
        found = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
        names = re.findall(r"^  ([a-z]+)", found[1], re.MULTILINE) if found else []
        return [path] + [one for name in names for one in below([*path, name])]
    assert sorted(below([])) == sorted(COMMANDS)


MISSPELT = [
    (["rum"], "did you mean 'run'?"),
    (["host", "conect", "tcp://127.0.0.1:1"], "did you mean 'connect'?"),
    (["run", "--suit", "fabrics"], "no option '--suit'; did you mean '--suite'?"),
    (["run", "--suit=fabrics"], "no option '--suit'; did you mean '--suite'?"),
    (["target", "--listn", "tcp://127.0.0.1:4420"], "did you mean '--listen'?"),
    (["run", "--suite", "fabric"], "did you mean 'fabrics'?"),
    (["run", "--role", "controler"], "did you mean 'controller'?"),
    (["run", "--transport", "tpc"], "did you mean 'tcp'?"),
    (["run", "--case", "connect_refuses_sqsize_zeros"], "did you mean 'connect_refuses_sqsize_zero'?"),
    (["run", "--deviation", "connect_take_sqsize_zero"], "did you mean 'connect_takes_sqsize_zero'?"),
    (["run", "--profile", "linux-6.2"], "did you mean 'linux-6.1"),
    (["run", "--captures", "failure", "--report", "/tmp/never"], "did you mean 'failures'?"),
    (["campaign", "--workload", "tpc"], "did you mean 'tcp'?"),
    (["mctp", "exec", "--drive", "slo", "--", "true"], "--drive slo: no such drive"),
    (["mctp", "exec", "--kernel", "6.8", "--", "true"], "did you mean '6.9'?"),
    (["target", "--listen", "tcp://127.0.0.1:4420", "--namespace", "1M", "--lenient", "hostnq"], "did you mean 'hostnqn'?"),
    (["target", "--listen", "tcp://127.0.0.1:4420", "--namespace", "1M", "--nvme-version", "2.2"], "did you mean '2.0'?"),
    (["host", "zone", "tcp://127.0.0.1:1", "--action", "opn"], "did you mean 'open'?"),
    (["run", "--dut", "127.0.0.1:4420"], "did you mean 'tcp://127.0.0.1:4420'?"),
    (["run", "--dut", "127.0.0.1"], "did you mean 'tcp://127.0.0.1:4420'?"),
    (["run", "--dut", "tcp//127.0.0.1:4420"], "did you mean 'tcp://127.0.0.1:4420'?"),
    (["run", "--dut", "fd00::2"], "did you mean 'tcp://[fd00::2]:4420'?"),
    (["campaign", "--sed", "5"], "did you mean '--seeds'?"),
    (["run", "--dut", "TCP://127.0.0.1:4420"], "did you mean 'tcp://127.0.0.1:4420'?"),
    (["target", "--listen", "tpc://127.0.0.1:4420", "--namespace", "1M"], "did you mean 'tcp://127.0.0.1:4420'?"),
    (["run", "--device", "ND:defualt"], "did you mean 'ND:default'?"),
    (["help"], "'fabricbench [COMMAND] --help' shows it"),
    (["list", "deviations"], "did you mean '--deviations'?"),
    (["run", "report"], "did you mean '--report'?"),
]


@pytest.mark.parametrize("arguments, hint", MISSPELT, ids=[" ".join(one[0])[:50] for one in MISSPELT])
def test_what_is_misspelt_gets_a_suggestion(fabricbench, arguments, hint):
    done = fabricbench(*arguments)
    assert done.code == 2 and done.out == ""
    assert len(done.err.splitlines()) == 1
    assert hint in done.err


AT = "tcp://127.0.0.95:4420"
NONSENSE = [
    (["run", "--report", ""], "--report"),
    (["run", "--output", ""], "--output: the value is empty"),
    (["run", "--suite", ""], "--suite"),
    (["replay", "report/results.json", "--report", ""], "--report"),
    (["campaign", "--output", ""], "--output"),
    (["campaign", "--steps", "0"], "--steps"),
    (["campaign", "--seeds", "9..3"], "--seeds"),
    (["run", "--seed", "-1"], "is not a seed"),
    (["run", "--today", "2027-02-30"], "--today"),
    (["target", "--listen", AT], "no --namespace"),
    (["target", "--listen", AT, "--namespace", "64M", "--nqn", "testnqn"], "nqn.2026-01.org.example:testnqn"),
    (["target", "--listen", AT, "--namespace", "64M", "--nqn", ""], "--nqn"),
    (["target", "--listen", AT, "--namespace", "64M", "--nqn", "nqn.2014-08.org.nvmexpress.discovery"], "discovery service"),
    (["target", "--listen", AT, "--namespace", "64M", "--allow-host", "me"], "--allow-host 'me'"),
    (["target", "--listen", AT, "--namespace", "64M", "--discovery-nqn", "me"], "--discovery-nqn 'me'"),
    (["target", "--listen", AT, "--namespace", "64M", "--namespace", "none"], "cannot be combined"),
    (["target", "--listen", AT, "--namespace", "100"], "not a whole number of blocks"),
    (["target", "--listen", AT, "--namespace", "0"], "no size"),
    (["target", "--listen", AT, "--namespace", "-1"], "no size"),
    (["target", "--listen", AT, "--namespace", "64M,bs=513"], "bs=512"),
    (["target", "--listen", AT, "--namespace", "64M,pi=1,ms=0"], "ms=8"),
    (["target", "--listen", AT, "--namespace", "64M", "--nvme-version", "5"], "--nvme-version"),
    (["target", "--listen", "rdma://127.0.0.95:0", "--namespace", "64M"], "no port number"),
    (["host", "connect", "tcp://127.0.0.95:0"], "no port number"),
    (["target", "--listen", "tcp://127.0.0.95:70000", "--namespace", "64M"], "no port number"),
    (["host", "connect", "udp://127.0.0.1:4420"], "not a URL"),
    (["host", "connect", "tcp://300.1.1.1:4420"], "300.1.1.1"),
    (["host", "connect", "tcp://[fe80::1%nowhere]:4420"], "nowhere"),
    (["host", "connect", "tcp://[fe80::1]:4420"], "[fe80::1%INTERFACE]"),
    (["host", "connect", "tcp://127.0.0.1:4420/" + "n" * 224], "223"),
    (["host", "io", "tcp://127.0.0.1:1", "--queue-depth", "0"], "--queue-depth"),
    (["host", "io", "tcp://127.0.0.1:1", "--queue-depth", "-1"], "--queue-depth"),
    (["host", "read", "tcp://127.0.0.1:1", "--file", "x", "--nsid", "-1"], "--nsid"),
    (["host", "zone", "tcp://127.0.0.1:1", "--action", "rest"], "--action"),
    (["mctp", "exec", "--endpoints", "0", "--", "true"], "--endpoints"),
    (["mctp", "exec", "--controllers", "999999999999", "--", "true"], "--controllers"),
    (["shrink", "x.json", "--seconds", "-1"], "--seconds"),
    # An element that is missing in a list may be the one that was meant.
    (["run", "--suite", "tcp,,fabrics"], "--suite: 'tcp,,fabrics' has an element that is empty"),
    (["run", "--suite=tcp,"], "--suite: 'tcp,' has an element that is empty"),
    (["run", "--suite", "tcp", ",fabrics"], "--suite: ',fabrics' has an element that is empty"),
    (["run", "--case", ","], "--case: ',' has an element that is empty"),
    (["run", "--lanes", "plain,"], "--lanes: 'plain,' has an element that is empty"),
    (["run", "--role", "host,,controller"], "--role: "),
    (["run", "--transport", ",tcp"], "no transport ',tcp'"),
    (["run", "--deviation", "connect_takes_sqsize_zero,"], "--deviation: "),
    (["list", "--suite", "tcp,,nvme"], "--suite: "),
    (["selftest", "--case", "icreq_*,,icresp_*"], "--case: "),
    (["campaign", "--deviation", ",read_ends_wrong"], "--deviation: "),
    (["check", "--tcp-port", "4420,,4421", "x"], "--tcp-port: "),
    (["host", "connect", "tcp://127.0.0.1:1", "--dhchap-hash", "sha256,,sha384"], "--dhchap-hash: "),
    (["target", "--listen", AT, "--namespace", "64M", "--lenient", "hostid,,kato"], "--lenient"),
    (["mctp", "exec", "--network", "1,,2", "--", "true"], "--network: "),
    (["mctp", "exec", "--deviation", "admin_offset_ignored,", "--", "echo", "a,,b"], "--deviation: "),
    # Numbers that are none, and not the largest of all.
    (["host", "read", "tcp://127.0.0.1:1", "--file", "x", "--lba", "-1"], "--lba: '-1' is no number"),
    (["host", "write", "tcp://127.0.0.1:1", "--file", "x", "--lba", "18446744073709551616"], "--lba"),
    (["host", "zones", "tcp://127.0.0.1:1", "--lba", "-5"], "--lba: '-5' is no number"),
    (["campaign", "--stop-after", "-1"], "--stop-after: '-1' is no number"),
    # Options that would have no effect.
    (["target", "--listen", AT + "/nqn.2026-01.org.example:disk", "--namespace", "64M"], "the subsystem's is --nqn"),
    (["target", "--listen", AT, "--discovery-listen", "tcp://127.0.0.95/nqn.2026-01.org.example:d", "--namespace", "64M"], "no NQN"),
    (["target", "--listen", AT, "--namespace", "64M", "--psk-compat"], "--psk-compat goes with --tls"),
    (["host", "connect", "tcp://127.0.0.1:1", "--psk-compat"], "--psk-compat goes with --tls"),
    (["run", "--captures", "failures"], "--captures is about a report"),
    (["run", "--config", "/nonexistent.toml"], "/nonexistent.toml: cannot be read"),
    (["run", "--annotations", "gitlab"], "'gitlab' is none of github"),
    (["init", "/proc/none"], "/proc/none"),
    (["init", "--ci", "travis"], "'travis' is none of github, gitlab, jenkins, none"),
    (["run", "--local", "127.0.0.1"], "--local is for a product at an address"),
    (["list", "--drives", "--suite", "mi"], "--drives"),
    (["list", "--deviations", "--suite", "nosuch"], "no suite 'nosuch'"),
    (["target", "--listen", AT, "--namespace", "64M,bs=512,bs=4096"], "'bs' occurs twice"),
    (["target", "--listen", AT, "--namespace", "64M", "--dhchap-hash", "sha256"], "--dhchap-secret-file"),
    (["target", "--listen", AT, "--namespace", "64M", "--deviation", "host_connect_property_first"], "would have no effect"),
    (["target", "--listen", AT, "--namespace", "64M", "--deviation", "rdma_sends_bad_icrc"], "it does not show over tcp"),
    (["check", "--keylog", "/etc/hostname", str(pathlib.Path(__file__).parents[1] / "data" / "linux-6.12.pcap")], "no line of a TLS key log"),
    # What is missing, by the name that the help has.
    (["check"], "FILE is missing"),
    (["replay"], "is missing"),
    (["host", "connect"], "URL is missing"),
    (["host"], "no command; known are: discover"),
    (["mctp"], "no command; known are: exec, serve"),
    (["check", "--keylog", "/nonexistent", "x"], "No such file or directory"),
    (["run", "--waivers", "/nonexistent"], "No such file or directory"),
    (["run", "--dut", "ND:/nonexistent.so"], "cannot open shared object file"),
]


@pytest.mark.parametrize("arguments, named", NONSENSE, ids=[" ".join(one[0])[:60] for one in NONSENSE])
def test_nonsense_is_refused_in_one_line(fabricbench, arguments, named):
    done = fabricbench(*arguments, timeout=20)
    assert done.code == 2 and done.out == ""
    assert len(done.err.splitlines()) == 1 and named in done.err
    assert "terminate" not in done.err and "std::" not in done.err


FULL = [["--help"], ["--version"], ["list"], ["list", "--json"], ["list", "--deviations"], ["list", "--drives"], ["requirements"],
        ["run", "--case", "connect_refuses_sqsize_zero"], ["run", "--case", "connect_refuses_sqsize_zero", "--json"],
        ["selftest", "--case", "connect_refuses_sqsize_zero", "--json"], ["campaign", "--list-faults"], ["campaign", "--print-plan"],
        ["campaign", "--seeds", "1..2"], ["target", "--listen", AT, "--namespace", "1M"], ["mctp", "serve", "--serial", "pty"],
        ["networkdirect", "list"], ["host", "--help"]]


@pytest.mark.parametrize("arguments", FULL, ids=[" ".join(one) for one in FULL])
def test_output_that_cannot_be_written_is_no_success(arguments):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([str(PROGRAM), *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode not in (0, None)
    assert done.stderr.count("\n") == 1 and os.strerror(errno.ENOSPC) in done.stderr, done.stderr


def test_a_reader_that_has_seen_enough_is_no_failure():
    done = subprocess.run(f"'{PROGRAM}' list | head -n 1", shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_driver_that_nobody_speaks_to_is_no_success():
    done = subprocess.run([str(PROGRAM), "host", "drive"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def disk():
    target = Target("--listen", "tcp://127.0.0.1:4495", "--namespace", "16M")
    yield target
    target.stop()


def test_names_are_resolved(fabricbench, disk):
    for command in (["connect", "tcp://localhost:4495"], ["discover", "tcp://localhost:4495"], ["connect", "tcp://127.0.0.1:4495", "--local", "localhost"]):
        done = fabricbench("host", *command, "--json")
        assert done.code == 0, done.err
        assert done.json
    done = fabricbench("run", "--dut", "tcp://localhost:4495", "--case", "connect_refuses_sqsize_zero", "--json")
    assert done.code == 0 and done.json["summary"]["pass"] == 1, done.err


@pytest.mark.parametrize("size", [["--size", "100"], ["--size", "1000"], ["--size", "1M", "--block-size", "3"]], ids=" ".join)
def test_less_than_was_asked_for_is_not_verified(fabricbench, disk, size):
    done = fabricbench("host", "io", "tcp://127.0.0.1:4495", *size, "--verify")
    assert done.code == 2 and done.out == ""
    assert "not a whole number of blocks of 512 bytes" in done.err and done.err.count("\n") == 1


def test_a_link_local_address_has_an_interface(fabricbench):
    interfaces = pathlib.Path("/proc/net/if_inet6").read_text() if pathlib.Path("/proc/net/if_inet6").exists() else ""
    found = [line.split() for line in interfaces.splitlines() if line.startswith("fe80")]
    if not found:
        pytest.skip("no link-local address here")
    digits, _, _, _, _, name = found[0]
    address = ":".join(digits[at:at + 4] for at in range(0, 32, 4))
    target = Target("--listen", f"tcp://[{address}%{name}]:4496", "--namespace", "1M")
    try:
        done = fabricbench("host", "io", f"tcp://[{address}%{name}]:4496", "--size", "1M", "--verify")
        assert done.code == 0, done.err
    finally:
        target.stop()


@pytest.mark.parametrize("command, keys", [
    (["connect"], {"subnqn", "cntlid", "namespaces"}), (["identify"], {"controller", "namespaces"}), (["discover"], {"genctr", "entries"}),
    (["io", "--size", "1M", "--verify"], {"write", "read", "verified"})], ids=["connect", "identify", "discover", "io"])
def test_json_of_a_host(fabricbench, disk, command, keys):
    done = fabricbench("host", command[0], "tcp://127.0.0.1:4495", *command[1:], "--json")
    assert done.code == 0 and keys <= set(done.json)


def test_json_of_a_target():
    process = subprocess.Popen([str(PROGRAM), "target", "--listen", "tcp://127.0.0.1:4497", "--namespace", "none", "--json"],
                               stdout=subprocess.PIPE, text=True)
    said = json.loads(process.stdout.readline())
    assert [one["kind"] for one in said["listeners"]] == ["subsystem"]
    process.terminate()
    assert process.wait(timeout=20) == 0


ONE = ["--case", "connect_refuses_sqsize_zero,connect_refuses_reserved_cntlid,icreq_*", "--deviation", "connect_takes_sqsize_zero"]


@pytest.mark.parametrize("kept", ["all", "failures", "none"])
def test_captures_are_kept_as_asked(fabricbench, tmp_path, kept):
    done = fabricbench("run", *ONE, "--report", tmp_path, "--captures", kept)
    assert done.code == 1
    results = json.loads((tmp_path / "results.json").read_text())
    named = {case["capture"] for case in results["cases"] if case["capture"]}
    assert {f"captures/{one.name}" for one in (tmp_path / "captures").iterdir()} == named
    failed = {case["capture"] for case in results["cases"] if case["verdict"] not in ("pass", "skip")}
    assert named == (set() if kept == "none" else failed if kept == "failures" else named)
    if kept == "all":
        assert len(named) > len(failed) > 0


def test_a_folder_that_is_used_again_keeps_nothing_old(fabricbench, tmp_path):
    fabricbench("run", *ONE, "--report", tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    fabricbench("run", "--case", "connect_refuses_sqsize_zero", "--transport", "tcp", "--report", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert {f"captures/{one.name}" for one in (tmp_path / "captures").iterdir()} == {case["capture"] for case in results["cases"]}
    assert (tmp_path / "mine.txt").read_text() == "mine"


def mounted(folder, megabytes):
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], capture_output=True, check=False)
    return done.returncode == 0


def test_a_full_disk_keeps_the_verdicts(fabricbench, tmp_path):
    folder = tmp_path / "small"
    if not mounted(folder, 3):
        pytest.skip("mounting a small disk needs root")
    try:
        done = fabricbench("run", "--suite", "fabrics", "--transport", "tcp", "--report", folder)
        assert done.code == 0, done.err
        assert done.err.count("no more captures are kept") == 1
        results = json.loads((folder / "results.json").read_text())
        assert len(results["cases"]) > 50 and (folder / "junit.xml").stat().st_size > 0
        assert any("no more captures" in remark for remark in results["remarks"])
        assert all((folder / case["capture"]).exists() for case in results["cases"] if case["capture"])
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def full(tmp_path):
    """A disk of 600 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_page_that_does_not_fit_changes_no_verdict(fabricbench, full):
    done = fabricbench("run", "--suite", "tcp", "--report", full / "report")
    assert done.code == 0 and len(done.err.splitlines()) == 1, done.err
    assert len(json.loads((full / "report" / "results.json").read_text())["cases"]) > 100
    assert "index.html does not fit on the disk" in done.out


def test_a_full_disk_ends_the_capture_of_a_target_and_not_the_target(fabricbench, full):
    url = "tcp://127.0.0.1:4498"
    target = Target("--listen", url, "--namespace", "16M", "--capture", full / "capture.pcapng")
    assert fabricbench("host", "io", url, "--size", "4M", "--verify").code == 0
    assert fabricbench("host", "io", url, "--size", "1M", "--verify").code == 0
    target.stop()
    warnings = target.process.stderr.read().splitlines()
    assert len(warnings) == 1 and "the capture ends here" in warnings[0], warnings
    checked = fabricbench("check", full / "capture.pcapng", "--json")
    assert checked.code == 0 and checked.json["decoded"]["commands"] > 20 and checked.json["findings"] == []
    assert (full / "capture.pcapng").stat().st_size < 500 << 10, "others find room"


def test_a_full_disk_keeps_the_verdict_of_a_campaign(fabricbench, full):
    (full / "fill").write_bytes(bytes(600 << 10))
    done = fabricbench("campaign", "--seeds", "1..40", "--deviation", "read_ends_wrong", "--output", full / "campaign")
    assert done.code == 2 and done.err.count("\n") == 1 and os.strerror(errno.ENOSPC) in done.err
    assert "FAIL" in done.out and "distinct failure" in done.out


def test_nobody_there_is_a_report_whatever_the_product_is(fabricbench, tmp_path):
    for number, dut in enumerate(["serial:/dev/null", "host:false", "ND:/nonexistent.so"]):
        folder = tmp_path / str(number)
        local = ["--local", "127.0.0.1"] if dut.startswith("host") else []
        done = fabricbench("run", "--dut", dut, *local, "--report", folder, timeout=120)
        assert done.code == 2 and done.err.count("\n") == 1, done.err
        results = json.loads((folder / "results.json").read_text())
        assert {case["verdict"] for case in results["cases"]} == {"inconclusive"} and (folder / "junit.xml").exists()


def test_a_target_that_never_is_ready_is_found_without_the_name_of_its_subsystem(fabricbench):
    target = Target("--listen", "tcp://127.0.0.1:4499", "--namespace", "1M", "--deviation", "enable_never_ready")
    try:
        done = fabricbench("run", "--dut", "tcp://127.0.0.1:4499", "--case", "enable_makes_ready,connect_*,icresp_*", "--json", timeout=120)
        assert done.code == 1
        assert [case["requirement"] for case in done.json["cases"] if case["verdict"] in ("fail", "error")] == ["fabrics.enable.ready"]
        # A part of the suite that cannot be decided at all is no success.
        done = fabricbench("run", "--dut", "tcp://127.0.0.1:4499", "--case", "connect_refuses_sqsize_zero,connect_reply_*", timeout=120)
        assert done.code == 2 and "no case could be decided" in done.err
    finally:
        target.stop()


def test_deviations_are_listed_as_they_are_selected(fabricbench):
    every = fabricbench("list", "--deviations", "--json").json["deviations"]
    tcp = fabricbench("list", "--deviations", "--suite", "tcp", "--json").json["deviations"]
    assert len(every) > len(tcp) > 100 and set(tcp[0]) == {"name", "product", "requirement", "what"}
    assert {one["requirement"].split(".")[0] for one in tcp} == {"tcp"}
    assert fabricbench("list", "--deviations", "--suite", "tcp").out.endswith(f"{len(tcp)} deviations\n")


def test_old_names_of_options_are_known(fabricbench, tmp_path):
    for option in ("--report", "--output", "--out"):
        folder = tmp_path / option.strip("-")
        assert fabricbench("run", "--case", "connect_refuses_sqsize_zero", option, folder).code == 0
        assert (folder / "results.json").exists()
        assert fabricbench("campaign", "--seeds", "1..2", option, folder).code == 0
        assert (folder / "campaign.json").exists()
    assert "--out " not in fabricbench("campaign", "--help").out


def test_a_campaign_without_a_strike_tested_nothing(fabricbench, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: late\nfaults:\n  - kind: drop\n    from: 900000000\n    to: 900000001\n")
    done = fabricbench("campaign", "--workload", "rdma", "--seeds", "1..3", "--faults", plan)
    assert done.code == 2 and "no fault of plan late occurred" in done.err
    assert fabricbench("campaign", "--workload", "rdma", "--seeds", "1..3", "--faults", "none").code == 0


def test_the_bus_is_found_from_a_path_with_a_blank(tmp_path):
    folder = tmp_path / "with a blank"
    folder.mkdir()
    for name in (PROGRAM.name, "libfabricbench_mctp.so"):
        shutil.copy(PROGRAM.parent / name, folder / name)
    done = subprocess.run([folder / PROGRAM.name, "mctp", "exec", "--", "sh", "-c", "echo $LD_PRELOAD; cat /proc/$$/maps"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "libfabricbench_mctp.so" in done.stdout.split("\n", 1)[1], "the program runs without the bus"
    assert " " not in done.stdout.splitlines()[0]


def test_json_of_a_program_on_the_bus(fabricbench):
    done = fabricbench("mctp", "exec", "--json", "--", "sh", "-c", "echo from the program; exit 3")
    assert done.code == 3
    assert done.json["exit_status"] == 3 and len(done.json["endpoints"]) == 2
    assert done.err == "from the program\n"


WAIVER = """- case: {case}
  owner: jane
  reason: fixed in 3.2
  link: https://tracker/1
  expires: {expires}
  signature: "{signature}"
"""


def waived(fabricbench, folder, case="connect_refuses_sqsize_zero", expires="2099-01-01", signature=None, deviation=True):
    run = ["run", "--case", "connect_refuses_sqsize_zero", "--transport", "tcp", "--report", folder / "report"]
    if deviation:
        run += ["--deviation", "connect_takes_sqsize_zero"]
    if signature is None:
        signature = json.loads(fabricbench("run", "--case", "connect_refuses_sqsize_zero", "--transport", "tcp", "--json", "--deviation",
                                           "connect_takes_sqsize_zero").out)["cases"][0]["signature"]
    (folder / "waivers.yaml").write_text(WAIVER.format(case=case, expires=expires, signature=signature))
    done = fabricbench(*run, "--waivers", folder / "waivers.yaml")
    return done, json.loads((folder / "report" / "results.json").read_text())


def test_a_waiver_keeps_its_owner(fabricbench, tmp_path):
    done, results = waived(fabricbench, tmp_path)
    case = results["cases"][0]
    assert done.code == 0 and case["disposition"] == "waived"
    assert (case["waiver_owner"], case["waiver_link"], case["waiver_expires"]) == ("jane", "https://tracker/1", "2099-01-01")
    assert results["remarks"] == []
    assert "jane, until 2099-01-01" in (tmp_path / "report" / "junit.xml").read_text()


@pytest.mark.parametrize("change, words", [
    ({"expires": "2020-01-01"}, "expired on 2020-01-01"), ({"signature": "status: silence"}, "expects 'status: silence'"),
    ({"case": "conect_refuses_sqsize_zero"}, "did you mean 'connect_refuses_sqsize_zero'?"), ({"deviation": False}, "delete it")],
    ids=["expired", "another failure", "unknown case", "unexpected pass"])
def test_a_waiver_that_does_not_help_is_reported(fabricbench, tmp_path, change, words):
    done, results = waived(fabricbench, tmp_path, **change)
    assert done.code == 1
    told = " ".join([*results["remarks"], results["cases"][0]["waiver_problem"]])
    assert words in told
    assert words in re.sub(r"\s+", " ", done.out)
    assert "of them unexpectedly" not in done.out
