"""What the documents say holds: the tutorial runs and prints what stands in it, docstrings too, the reference is up to date.

In docs/python-tutorial.md a block of ``pycon`` is a session, one interpreter for a section; ``python`` is a file, whose name
is in its first line; ``console`` is commands, run beside the files of all sections up to there, with what they print; ``sh``
is for the reader alone. What differs from run to run is masked, and `...` stands for anything.
"""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys

import pytest

from conftest import PACKAGE, ROOT

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FLAGS = doctest.ELLIPSIS | doctest.REPORT_UDIFF
#: Times, digests, and numbers that a change of the engines may move.
MASKS = [(re.compile(r"\d+\.\d+(e-\d+)? ?(us|ms|s)\b"), "TIME"), (re.compile(r"\b[0-9a-f]{16}\b"), "DIGEST"),
         (re.compile(r"\b(PSN|CID|SQHD)([ =])\d+"), r"\1\2N"), (re.compile(r"\d+ entries before"), "N entries before"),
         (re.compile(r"\d+ passed, \d+ deselected"), "N passed"),
         (re.compile(r"^ +(?=TIME)", re.M), " "), (re.compile(r"(?<=\S) {2,}", re.M), " ")]


class Masked(doctest.OutputChecker):
    """Compares what is left without what differs from run to run."""

    def masked(self, text):
        for pattern, word in MASKS:
            text = pattern.sub(word, text)
        return text

    def check_output(self, want, got, flags):
        return super().check_output(self.masked(want), self.masked(got), flags)


def sections():
    """The tutorial by its headings."""
    parts = re.split(r"^## (.+)$", (ROOT / "docs/python-tutorial.md").read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def write(folder, block):
    name = re.match(r"# (\S+\.py)\n", block)
    assert name, f"a block of python begins with the name of its file: {block.splitlines()[0]}"
    (folder / name[1]).write_text(block, encoding="utf-8")


def session(block, names, where):
    """A block as a doctest, in the section's interpreter."""
    test = doctest.DocTestParser().get_doctest(block, names, where, None, 0)
    said = []
    doctest.DocTestRunner(Masked(), verbose=False, optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not said, "".join(said)


def console(folder, block):
    """Each command of a block prints what stands below it."""
    # Without bytecode: a file that was written twice in one second looks unchanged.
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", COLUMNS="80", PYTHONDONTWRITEBYTECODE="1")
    for name in ("PYTEST_CURRENT_TEST", "CI", "BUILD_NUMBER"):  # Where one of the last two is set, pytest shortens no line.
        environment.pop(name, None)
    pytest_here = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    for line, want in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        tool, *words = shlex.split(line)
        assert tool == "pytest", f"nobody runs '{line}' here"
        done = subprocess.run([*pytest_here, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        got = re.sub(r" +$", "", done.stdout, flags=re.M).strip() + "\n"
        example = doctest.Example(line, want.strip() + "\n")
        checker = Masked()
        assert checker.check_output(example.want, got, FLAGS), f"$ {line}\n" + checker.output_difference(example, got, FLAGS) + done.stderr


@pytest.mark.parametrize("title", sections())
def test_tutorial(title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names = {"__name__": "__main__"}
    for heading, text in sections().items():
        for language, block in FENCE.findall(text):
            if language == "python":
                write(tmp_path, block)
            elif heading == title and language == "pycon":
                session(block, names, title)
            elif heading == title and language == "console":
                console(tmp_path, block)
            else:
                assert language in ("pycon", "console", "sh"), f"nobody knows what to do with a block of '{language}'"
        if heading == title:
            return


@pytest.mark.parametrize("module", sorted(path.stem for path in (PACKAGE / "fabricbench").glob("*.py") if ">>>" in path.read_text()))
def test_docstrings(module):
    name = "fabricbench" if module == "__init__" else f"fabricbench.{module}"
    runner, said = doctest.DocTestRunner(verbose=False, optionflags=FLAGS), []
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(test, out=said.append)
    assert runner.tries and not said, "".join(said)


def test_the_reference_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "docs/generate_reference.py", "--check"], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1"))
    assert done.returncode == 0, done.stderr
