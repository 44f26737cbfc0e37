"""What `cmake --install` gives, from a prefix with a blank in its path: the examples are projects outside of this tree."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import PROGRAM, ROOT

BUILD = PROGRAM.parents[1]


def run(*command, cwd=None, **environment):
    done = subprocess.run([str(one) for one in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=900,
                          check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installed, and then moved to another place."""
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", folder / "first")
    return pathlib.Path(shutil.move(folder / "first", folder / "a prefix"))


@pytest.fixture(scope="module")
def built(prefix, tmp_path_factory):
    """Builds an example once; gives its folder."""
    done = {}

    def build(name):
        if name not in done:
            done[name] = tmp_path_factory.mktemp(name)
            run("cmake", "-S", ROOT / "examples" / name, "-B", done[name], f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
            run("cmake", "--build", done[name], "-j2")
        return done[name]

    return build


@pytest.mark.parametrize("name", ["gtest", "library", "networkdirect"])
def test_an_example_builds_and_passes(built, name):
    assert "100% tests passed" in run("ctest", "--test-dir", built(name), "--output-on-failure")


def test_the_python_example_passes(prefix):
    (package,) = prefix.glob("lib/python3*/*-packages")
    assert "passed" in run("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "examples" / "pytest", PYTHONPATH=str(package))


def test_a_failed_test_says_how_to_repeat_it(built, prefix, tmp_path):
    source = tmp_path / "failing.cc"
    source.write_text('#include <fabricbench/gtest.h>\nclass Failing : public fabricbench::Test {};\n'
                      'TEST_F(Failing, OnPurpose) {\n  requirement("fabrics.connect.sqsize.minimum");\n'
                      '  auto association = connect();\n  association.write(1, 0, fabricbench::Bytes(512));\n  FAIL();\n}\n')
    flags = run("pkg-config", "--cflags", "--libs", "fabricbench", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    command = f'g++ -std=c++17 "{source}" {flags.strip()} -lgtest_main -lgtest -pthread -o failing'
    run("bash", "-c", command, cwd=tmp_path)
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{prefix}/lib", "FABRICBENCH_SEED": "7", "FABRICBENCH_CAPTURES": str(tmp_path)}
    done = subprocess.run(["./failing"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert re.search(r"Write.*SLBA", done.stdout), done.stdout
    assert "FABRICBENCH_SEED=7 './failing' --gtest_filter='Failing.OnPurpose'" in done.stdout
    assert re.search(r"requirement +NVMe over Fabrics", done.stdout) or "requirement  NVMe" in done.stdout
    assert (tmp_path / "Failing.OnPurpose.pcapng").is_file()


def test_public_headers_include_nothing_of_the_project(prefix):
    for header in (prefix / "include").rglob("*.h"):
        for line in header.read_text(errors="replace").splitlines():
            assert not re.match(r'\s*#\s*include\s*"(base|wire|sim|model|conformance|cli|api)/', line), f"{header}: {line}"


def test_the_library_shows_nothing_but_its_interface(prefix):
    (library,) = [path for path in (prefix / "lib").glob("libfabricbench.so.*.*.*")]
    names = run("nm", "-DC", "--defined-only", library)
    inside = [line for line in names.splitlines() if re.search(r" [TDBR] .*\bfb::", line)]
    assert not inside, inside[:5]
    assert "fabricbench::World::World" in names


def test_another_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES CXX)\nfind_package(fabricbench 0.1 CONFIG REQUIRED)\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode != 0 and "0.2" in done.stderr


def test_the_installed_command_runs(prefix, tmp_path):
    report = tmp_path / "report"
    run(prefix / "bin" / "fabricbench", "run", "--case", "connect_refuses_sqsize_zero", "--report", report)
    assert (report / "results.sarif").is_file()
    page = prefix / "share" / "man" / "man1" / "fabricbench-run.1"
    assert ".SH OPTIONS" in page.read_text()


@pytest.mark.parametrize("typed, wanted", [
    (["fabricbench", "stat"], {"statement"}), (["fabricbench", "host", "dis"], {"discover"}), (["fabricbench", "run", "--sui"], {"--suite"}),
    (["fabricbench", "run", "--suite", ""], set())])
def test_completion_knows_the_commands(prefix, typed, wanted):
    words = " ".join(f"'{one}'" for one in typed)
    script = (f'source "{prefix}/share/bash-completion/completions/fabricbench"; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; '
              '_fabricbench; printf "%s\\n" "${COMPREPLY[@]}"')
    assert set(run("bash", "-c", script).split()) == wanted
