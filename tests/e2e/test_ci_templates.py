"""What others put into their CI: the GitHub action, the GitLab template, the Jenkinsfile."""

import os
import re
import subprocess

import pytest
import yaml

from conftest import PROGRAM, ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "ci/templates/gitlab.yml").read_text())
JENKINS = (ROOT / "ci/templates/Jenkinsfile").read_text()


def step(name):
    return next(one for one in ACTION["runs"]["steps"] if one["name"] == name)


def run_action(folder, arguments, report="the report"):
    """The action's step as the runner starts it."""
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "ARGUMENTS": arguments, "REPORT": report}
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        environment[name] = str(folder / name)
    done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("Run")["run"]], cwd=folder,
                          env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done, dict(line.split("=", 1) for line in (folder / "GITHUB_OUTPUT").read_text().splitlines())


def test_the_action_runs_the_suite(tmp_path):
    done, outputs = run_action(tmp_path, "--suite fabrics --case 'connect_refuses_*'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outputs == {"report": "the report", "junit": "the report/junit.xml", "sarif": "the report/results.sarif", "exit-code": "0"}
    assert (tmp_path / outputs["junit"]).is_file()
    assert (tmp_path / outputs["sarif"]).is_file()
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == (tmp_path / "the report" / "summary.md").read_text()
    assert "::error" not in done.stdout


@pytest.mark.parametrize("arguments, code", [
    ("--case connect_refuses_sqsize_zero --deviation connect_takes_sqsize_zero", 1), ("--suite nothing", 2)])
def test_the_action_fails_as_the_command_does(tmp_path, arguments, code):
    done, outputs = run_action(tmp_path, arguments)
    assert (done.returncode, outputs["exit-code"]) == (code, str(code)), done.stdout + done.stderr
    assert ("::error title=fail" in done.stdout) == (code == 1)


def test_each_value_that_the_action_names_exists():
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert set(re.findall(r"steps\.run\.outputs\.([\w-]+)", text)) == set(ACTION["outputs"])


def shell_of_jenkins():
    return [multi or single for multi, single in re.findall(r"sh (?:'''(.*?)'''|'(.*?)')", JENKINS, re.S)]


@pytest.mark.parametrize("script", [
    *(one["run"] for one in ACTION["runs"]["steps"] if "run" in one),
    *GITLAB["fabricbench"]["before_script"], *GITLAB["fabricbench"]["script"], *shell_of_jenkins()])
def test_shell_is_shell(script):
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_templates_build_as_the_action_does():
    wanted = ["ci/setup build", "cmake --preset release -DFABRICBENCH_TESTS=OFF -DFABRICBENCH_PYTHON=OFF",
              "cmake --build --preset release --target fabricbench"]
    for text in (step("Install")["run"], " ".join(GITLAB["fabricbench"]["before_script"]), JENKINS):
        assert all(command in text for command in wanted)
    for command in ("ci/setup", "CMakePresets.json"):
        assert (ROOT / command).exists()
