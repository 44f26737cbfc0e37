"""fabricbench networkdirect verify: programs run with the verifier between them and the project's provider, and the verifier's
library on its own."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import PROGRAM

BIN = PROGRAM.parent
LIB = BIN.parent / "lib"
VERIFIER = LIB / "libfabricbench_networkdirect_verifier.so"
PROVIDER = LIB / "libfabricbench_networkdirect.so"
CONSUMER = BIN / "nd_bad_consumer"
OWN_CLASS = "{6D1C2E74-93B5-4A0F-A852-0EC7419F36DB}"
HOLLOW = BIN.parent / "tests" / "libnd_hollow.so"
NETWORK = int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1")[2:]) + 1
SERVER = f"127.0.{NETWORK}.2"
CLIENT = f"127.0.{NETWORK}.3"

pytestmark = pytest.mark.skipif(not CONSUMER.exists(), reason="the misbehaving consumer is not built")


@pytest.fixture
def surroundings(monkeypatch, tmp_path):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("FABRICBENCH_ND_ADDRESSES", f"{SERVER},{CLIENT}")
    # What is installed is of no matter.
    monkeypatch.setenv("FABRICBENCH_PROVIDERS", "/proc/nowhere/providers")
    monkeypatch.setenv("FABRICBENCH_PROVIDER_LIBRARIES", str(HOLLOW))
    yield tmp_path
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture
def verify(fabricbench, surroundings):
    def run(*arguments, **options):
        done = fabricbench("networkdirect", "verify", *arguments, timeout=60, **options)
        if "--json" not in arguments:
            assert all(len(line) <= 80 for line in done.out.splitlines()), done.out
        return done

    return run


@pytest.fixture
def behaving(verify):
    """behaving("leak"): the report about that behaviour; the exit code goes with it."""

    def run(behaviour, address=SERVER):
        done = verify("--json", CONSUMER, behaviour, address)
        assert done.code in (0, 1), done.err
        assert done.code == int(done.json["summary"]["violations"] > 0)
        return done.json

    return run


@pytest.fixture
def start(surroundings):
    started = []

    def run(*words):
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def start_verified(start, *words):
    return start(PROGRAM, "networkdirect", "verify", *words)


def said(report):
    return [(found["rule"], found["object"]) for found in report["findings"]]


# Programs that are right.


@pytest.mark.parametrize("name", ["nd_pingpong", "nd_read_pingpong", "nd_connect_rate"])
def test_client_and_server_that_are_right(start, name):
    server = start_verified(start, BIN / "networkdirect" / name, "-s", SERVER)
    assert server.stdout.readline().startswith("listening ")
    count = ["--count", 100] if name == "nd_connect_rate" else ["--count", 10, "--largest", 5000]
    client = start_verified(start, "--json", "--", BIN / "networkdirect" / name, "-c", SERVER, *count)
    out, err = client.communicate(timeout=60)
    assert client.returncode == 0, out + err
    report = json.loads(out)
    assert report["summary"]["violations"] == 0 and report["summary"]["processes"] == 1
    assert report["ended"] == {"exit_code": 0} and report["provider"] == str(PROVIDER)
    [process] = report["processes"]
    assert process["judged"] and process["calls"] > 50
    assert process["program"] == str(BIN / "networkdirect" / name)
    assert "latency" in err, "the program's own output stays out of the document"
    out, err = server.communicate(timeout=60)
    assert (server.returncode, err) == (0, ""), out
    assert re.fullmatch(r"0 violations, \d+ of advice; \d+ calls by 1 process", out.splitlines()[-1])


def test_a_program_that_tries_what_is_forbidden(start):
    """nd_windows looks whether the provider refuses two things; the verifier says what they were, and nothing else."""
    server = start_verified(start, "--json", BIN / "networkdirect" / "nd_windows", "-s", SERVER)
    assert server.stderr.readline().startswith("listening ")
    client = start_verified(start, BIN / "networkdirect" / "nd_windows", "-c", SERVER)
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 0 and "0 violations, 0 of advice" in out
    out, _ = server.communicate(timeout=60)
    assert server.returncode == 1
    assert [rule for rule, _ in said(json.loads(out))] == ["deregister_with_windows", "bind_rights_missing"]


@pytest.mark.parametrize("behaviour", ["honest", "static", "fork"])
def test_what_is_no_fault(behaving, behaviour):
    report = behaving(behaviour)
    assert report["findings"] == [] and report["summary"]["advice"] == 0
    assert [process["judged"] for process in report["processes"]] == [True]


# Programs that are wrong.


def test_a_finding_and_all_that_is_known_of_it(verify):
    done = verify("--json", CONSUMER, "early", SERVER)
    assert done.code == 1 and done.err == "done\n"
    [found] = done.json["findings"]
    [process] = done.json["processes"]
    assert found == {"process": process["process"], "rule": "token_before_register", "severity": "violation",
                     "section": "IND2MemoryRegion::GetLocalToken",
                     "sentence": "The tokens of a region are asked for once it is registered.",
                     "object": "memory region 1", "detail": "GetLocalToken", "call": found["call"]}
    assert 0 < found["call"] <= process["calls"]
    assert done.json["ended"] == {"exit_code": 3}
    assert done.json["summary"] == {"violations": 1, "advice": 0, "processes": 1}


def test_the_same_in_words(verify):
    done = verify(CONSUMER, "often", SERVER)
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[:2] == ["done", "violation token_before_register, 100 times"]
    assert lines[2].startswith("    IND2MemoryRegion::GetLocalToken: The tokens ")
    assert "  - and 95 more" in lines
    assert lines[-1].startswith("100 violations, 0 of advice; ") and lines[-1].endswith(" calls by 1 process")


def test_the_exit_code_of_the_program_is_told(verify):
    assert "the program ended with exit code 3\n" in verify(CONSUMER, "early", SERVER).out


def test_rules_that_are_left_out(verify):
    assert verify("--without", "leaked_object", CONSUMER, "early", SERVER).code == 1
    done = verify("--without", "leaked_object", "--without=token_before_register", CONSUMER, "early", SERVER)
    assert done.code == 0 and "0 violations" in done.out


def test_several_threads(behaving):
    report = behaving("threads")
    assert report["rules"] == [{"rule": "token_before_register", "severity": "violation", "times": 400}]
    assert len(report["findings"]) == 16


def test_what_was_never_released(behaving):
    report = behaving("leak")
    assert said(report) == [("leaked_object", "adapter")]
    assert report["processes"][0]["judged"]


def test_use_after_the_provider_was_unloaded(behaving):
    assert said(behaving("after")) == [("release_too_often", "adapter 1")]


def test_a_provider_that_is_opened_again(behaving):
    """The library behind has been unloaded and loaded; objects are counted on."""
    report = behaving("again")
    assert said(report) == [("token_before_register", "memory region 1")]
    assert report["processes"][0]["judged"]
    assert [process["judged"] for process in behaving("again-quit")["processes"]] == [False]


def test_several_processes(behaving):
    report = behaving("fork-both")
    assert report["summary"] == {"violations": 3, "advice": 0, "processes": 2}
    assert len({found["process"] for found in report["findings"]}) == 2
    assert all(process["judged"] for process in report["processes"])


# Programs that do not come to a good end.


def test_a_crash_loses_nothing_that_was_found(verify):
    done = verify(CONSUMER, "early-crash", SERVER)
    assert done.code == 1
    assert "violation token_before_register, 1 time\n" in done.out
    assert "the program was ended by SIGABRT\n" in done.out
    assert "unreleased objects are not reported" in " ".join(done.out.split())


def test_a_crash_is_never_good(verify):
    done = verify("--json", CONSUMER, "crash", SERVER)
    assert done.code == 2
    assert done.json["ended"] == {"signal": "SIGABRT"}
    assert done.json["processes"][0]["judged"] is False


def test_an_exit_without_a_word(verify):
    done = verify(CONSUMER, "quit", SERVER)
    assert done.code == 0
    assert "not reported" in done.out and done.out.endswith("0 violations, 0 of advice; 1 process\n")


@pytest.mark.parametrize("whom", ["group", "command"])
@pytest.mark.parametrize("behaviour,judged", [("handler", True), ("wait", False)])
def test_control_c_goes_to_the_program(start, behaviour, judged, whom):
    process = start_verified(start, "--json", CONSUMER, behaviour, SERVER)
    assert process.stderr.readline() == "ready\n"
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    report = json.loads(out)
    assert process.returncode == 0
    assert report["ended"] == ({"exit_code": 0} if judged else {"signal": "SIGINT"})
    assert report["processes"][0]["judged"] is judged


def test_sigterm_goes_to_the_program(start):
    process = start_verified(start, CONSUMER, "wait", SERVER)
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and "the program was ended by SIGTERM\n" in out


def test_a_starter_that_ignores_its_children(verify):
    done = verify(CONSUMER, "honest", SERVER, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.code == 0


def test_a_pipe_that_nobody_reads_ends_the_program(verify):
    """As it would without the command."""
    done = verify("--json", "sh", "-c", f"{CONSUMER} honest {SERVER}; kill -PIPE $$; exit 4")
    assert done.code == 2 and done.json["ended"] == {"signal": "SIGPIPE"}


# Programs that cannot be judged, and wrong use.


def test_a_program_that_never_opened_the_provider(verify):
    done = verify("true")
    assert (done.code, done.out) == (2, "")
    assert done.err == "fabricbench: true: the program never opened the provider\n"
    done = verify("--json", "true")
    assert done.code == 2 and done.json["processes"] == []


def test_a_program_that_cannot_be_run(verify, tmp_path):
    assert verify(tmp_path / "none").err == f"fabricbench: {tmp_path}/none: No such file or directory\n"
    (tmp_path / "text").write_text("no program")
    done = verify(tmp_path / "text")
    assert (done.code, done.err) == (2, f"fabricbench: {tmp_path}/text: Permission denied\n")


def test_words_behind_the_program_are_its_own(verify, surroundings):
    script = "import json, sys; json.dump(sys.argv[1:], open(sys.argv[1], 'w'))"
    words = [str(surroundings / "words"), "--json", "-h", "--", "--provider", "run"]
    for front in ([], ["--"], [f"--provider={PROVIDER}"], ["--provider", PROVIDER, "--"]):
        done = verify(*front, "python3", "-c", script, *words)
        assert done.code == 2 and "never opened" in done.err
        assert json.loads((surroundings / "words").read_text()) == words


def test_wrong_use(verify, tmp_path):
    shutil.copy(PROVIDER, tmp_path / "copy.so")
    (tmp_path / "text.so").write_text("no library")
    for arguments, complaint in [
        ([], "PROGRAM is missing"),
        (["--nonsense", "true"], "--nonsense"),
        (["--provider", tmp_path / "none.so", "true"], "none.so: no such file"),
        (["--provider", tmp_path / "text.so", "true"], "it cannot be loaded as a library"),
        (["--provider", HOLLOW, "true"], "it exports no DllGetClassObject"),
        (["--provider", VERIFIER, "true"], "this is the verifier"),
        (["--guid", "nonsense", "true"], "is not a GUID"),
        (["--without", "nonsense", "true"], "--without nonsense: no such rule"),
    ]:
        done = verify(*arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert re.fullmatch(r"fabricbench: [^\n]+\n", done.err) and complaint in done.err, done.err


def test_another_provider(verify, tmp_path, monkeypatch):
    """Its path may be relative to where the command is run."""
    shutil.copy(PROVIDER, tmp_path / "other.so")
    monkeypatch.chdir(tmp_path)
    done = verify("--json", "--provider", "other.so", "--guid", OWN_CLASS, CONSUMER, "early", SERVER)
    assert done.code == 1 and done.json["provider"] == str(tmp_path / "other.so")
    # Under another name its class is not known.
    done = verify("--json", "--provider", "other.so", CONSUMER, "early", SERVER)
    assert done.code == 2 and "--guid names another class" in done.err


def test_a_verifier_that_is_not_there(fabricbench, surroundings):
    (surroundings / "bin").mkdir()
    program = surroundings / "bin" / "fabricbench"
    shutil.copy(PROGRAM, program)
    done = fabricbench("networkdirect", "verify", "true", executable=program)
    assert done.code == 2 and f"{VERIFIER.name}: the project's verifier is not there" in done.err


# The library on its own, as somebody installs it.


@pytest.fixture
def installed(surroundings, monkeypatch):
    catalogue = surroundings / "providers"
    monkeypatch.setenv("FABRICBENCH_PROVIDERS", str(catalogue))
    monkeypatch.delenv("FABRICBENCH_PROVIDER_LIBRARIES")
    done = subprocess.run([PROGRAM, "networkdirect", "install", VERIFIER], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f" {VERIFIER}\n")

    def run(behaviour, address=SERVER):
        return subprocess.run([CONSUMER, behaviour, address], capture_output=True, text=True, timeout=30)

    return run


def test_words_on_standard_error(installed):
    done = installed("early")
    assert done.stdout == "done\n"
    first, *_, last = done.stderr.splitlines()
    assert re.fullmatch(r"fabricbench verifier: violation token_before_register, process \d+, call \d+, memory region 1", first)
    assert re.fullmatch(r"fabricbench verifier: process \d+: \d+ calls, 1 violation, 0 of advice", last)
    often = installed("often").stderr
    assert often.count("violation token_before_register") == 16
    assert "fabricbench verifier: token_before_register: 100 times in all\n" in often


def test_lines_in_a_file_of_several_processes(installed, surroundings, monkeypatch):
    monkeypatch.setenv("FABRICBENCH_ND_VERIFY_REPORT", str(surroundings / "report"))
    assert installed("fork-both").stderr == ""
    assert installed("leak").stderr == ""
    lines = [json.loads(line) for line in (surroundings / "report").read_text().splitlines()]
    assert sorted(line["event"] for line in lines) == ["ended"] * 3 + ["finding"] * 4 + ["opened"] * 3
    assert len({line["process"] for line in lines}) == 3
    assert lines[-1] == {"event": "ended", "process": lines[-1]["process"], "calls": lines[-1]["calls"], "living": 1}


def test_a_report_that_cannot_be_written(installed, monkeypatch):
    for path, why in [("/proc/nowhere/report", "No such file or directory"), ("/dev/full", "No space left on device")]:
        monkeypatch.setenv("FABRICBENCH_ND_VERIFY_REPORT", path)
        done = installed("early")
        assert done.stdout == "done\n"
        assert done.stderr.startswith(f"fabricbench verifier: {path}: {why}; what is found is said here instead\n")
        assert "violation token_before_register" in done.stderr


def test_a_provider_that_is_none(installed, surroundings, monkeypatch):
    text = surroundings / "text.so"
    text.write_text("no library")
    for path, why in [(surroundings / "none.so", "there is no such library"), (HOLLOW, "it exports no DllGetClassObject"),
                      (text, "it cannot be loaded as a library"), (VERIFIER, "this is the verifier itself")]:
        monkeypatch.setenv("FABRICBENCH_ND_VERIFY_INNER", str(path))
        done = installed("early")
        assert done.returncode == 9 and f"fabricbench verifier: {path}: {why}\n" in done.stderr
        assert done.stderr.count("fabricbench verifier") == 1, "said once"


def test_a_class_factory(installed):
    done = installed("factory", str(VERIFIER))
    assert done.returncode == 0, done.stderr
    assert "0 violations" in done.stderr
