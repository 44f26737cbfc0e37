"""`fabricbench init`, and `run` with the fabricbench.toml that it writes."""

import json
import os
import subprocess

import pytest
import yaml

from conftest import PROGRAM

CASE = "connect_refuses_sqsize_zero"
DEVIATION = "connect_takes_sqsize_zero"


@pytest.fixture
def at(fabricbench, tmp_path):
    """A folder with a blank in its name, and the command run in it."""
    folder = tmp_path / "my product"
    folder.mkdir()

    def run(*arguments):
        return fabricbench(*arguments, cwd=folder)

    run.folder = folder
    return run


def test_a_new_folder_runs_as_it_is(at):
    done = at("init")
    assert done.code == 0 and done.err == ""
    assert (at.folder / "fabricbench.toml").is_file() and (at.folder / "waivers.yaml").is_file()
    done = at("run", "--case", CASE)
    assert done.code == 0, done.out + done.err
    assert done.out.startswith("configuration: fabricbench.toml\n")
    results = json.loads((at.folder / "report" / "results.json").read_text())
    assert results["dut"] == "embedded" and [case["name"] for case in results["cases"]] == [CASE] * len(results["cases"])


@pytest.mark.parametrize("system, name", [("github", ".github/workflows/fabricbench.yml"), ("gitlab", ".gitlab-ci.yml"),
                                          ("jenkins", "Jenkinsfile"), ("none", None)])
def test_each_ci_system_has_its_file(at, system, name):
    done = at("init", "new", "--ci", system, "--dut", 'host:say "hi" \\now', "--json")
    assert done.code == 0 and done.err == ""
    files = {str(path.relative_to(at.folder)) for path in at.folder.rglob("*") if path.is_file()}
    assert files == set(done.json["files"]) == {"new/fabricbench.toml", "new/waivers.yaml", *([f"new/{name}"] if name else [])}
    assert 'dut = "host:say \\"hi\\" \\\\now"' in (at.folder / "new" / "fabricbench.toml").read_text()
    if name and name.endswith(".yml"):
        assert yaml.safe_load((at.folder / "new" / name).read_text())


def test_what_is_there_stays(at):
    (at.folder / "waivers.yaml").write_text("mine")
    done = at("init")
    assert done.code == 2 and done.out == "" and "waivers.yaml exists already" in done.err
    assert [path.name for path in at.folder.iterdir()] == ["waivers.yaml"]


def configure(at, text, name="fabricbench.toml"):
    path = at.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_the_command_line_comes_first(at):
    configure(at, f'[run]\nseed = 7\ncases = ["{CASE}"]\n')
    assert at("run", "--json").json["seed"] == 7
    assert at("run", "--json", "--seed", "9").json["seed"] == 9
    assert len({case["name"] for case in at("run", "--json", "--case", "connect_refuses_*").json["cases"]}) > 1
    configure(at, '[run]\nsuites = ["nosuch"]\n')
    assert at("run", "--no-config", "--case", CASE).code == 0


def test_another_product_has_other_waivers(at):
    configure(at, f'[product]\ndut = "tcp://127.0.0.94:4420"\nlocal = "127.0.0.1"\nwaivers = "none.yaml"\n[run]\ncases = ["{CASE}"]\n')
    assert at("run", "--dut", "embedded").code == 0
    done = at("run")
    assert done.code == 2 and "none.yaml" in done.err


def test_files_are_beside_the_configuration(at):
    configure(at, 'waivers: []\n', "there/waivers.yaml")
    configure(at, f'[product]\nwaivers = "waivers.yaml"\n[run]\nreport = "out"\ncases = ["{CASE}"]\n', "there/other.toml")
    assert at("run", "--config", "there/other.toml").code == 0
    assert (at.folder / "there" / "out" / "results.json").is_file()


def test_a_waiver_of_the_configuration_counts(at):
    configure(at, f'[product]\nwaivers = "waivers.yaml"\n[run]\ncases = ["{CASE}"]\n')
    red = at("run", "--deviation", DEVIATION, "--no-config", "--case", CASE, "--json").json
    signatures = {case["signature"] for case in red["cases"] if case["verdict"] == "fail"}
    rows = [{"case": CASE, "owner": "jane", "reason": "known", "link": "https://example.com/1", "expires": "2199-01-31", "signature": one}
            for one in sorted(signatures)]
    (at.folder / "waivers.yaml").write_text(yaml.safe_dump({"waivers": rows}))
    done = at("run", "--deviation", DEVIATION)
    assert done.code == 0, done.out + done.err
    assert "waived" in done.out


WRONG = [
    ("[run]\nsed = 1\n", "fabricbench.toml:2: there is no key 'sed'; did you mean 'seed'?"),
    ("[runs]\n", "fabricbench.toml:1: there is no table [runs]"),
    ("seed = 1\n", "fabricbench.toml:1: there is no table [seed]"),
    ("[run]\nseed = \"x\"\n", "fabricbench.toml:2: seed: a whole number is wanted"),
    ("[run]\nseed = -1\n", "fabricbench.toml:2: seed: "),
    ("[run]\nslow = 1\n", "fabricbench.toml:2: slow: true or false is wanted"),
    ("[run]\ncases = [1]\n", "fabricbench.toml:2: cases: a list of texts is wanted"),
    ("[run]\ncaptures = \"failure\"\n", "did you mean 'failures'?"),
    ("[run\n", "fabricbench.toml:1: "),
    ("[run]\nseed = 1\nseed = 2\n", "fabricbench.toml:3: "),
    ("[run]\nsuites = [\"fabric\"]\n", "did you mean 'fabrics'?"),
    ("[run]\nsuites = \"tcp,,nvme\"\n", "fabricbench.toml:2: suites: 'tcp,,nvme' has an element that is empty"),
    ("[run]\ncases = [\"icreq_*\", \"\"]\n", "fabricbench.toml:2: cases: "),
    ("\xff\xfe", "fabricbench.toml:1: "),
]


@pytest.mark.parametrize("text, named", WRONG, ids=[one[0].replace("\n", " ") for one in WRONG])
def test_a_wrong_configuration_is_one_line(at, text, named):
    (at.folder / "fabricbench.toml").write_bytes(text.encode("latin-1"))
    done = at("run")
    assert done.code == 2 and len(done.err.splitlines()) == 1 and named in done.err, done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_line(at):
    at.folder.chmod(0o555)
    done = at("init")
    assert done.code == 2 and len(done.err.splitlines()) == 1


def test_a_full_disk_is_one_line(at):
    script = f'ulimit -f 0; trap "" XFSZ; exec "{PROGRAM}" init'
    done = subprocess.run(["bash", "-c", script], cwd=at.folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "fabricbench.toml" in done.stderr, done.stderr
