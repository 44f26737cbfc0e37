"""What is in the packages that `ci/packages` makes. Not run where they were not made."""

import subprocess

import pytest

from conftest import ROOT

PACKAGES = sorted((ROOT / "build" / "packages").glob("*.deb"))
pytestmark = pytest.mark.skipif(not PACKAGES, reason="ci/packages was not run")


def contents(name):
    (package,) = [one for one in PACKAGES if one.name.startswith(name + "_")]
    return subprocess.run(["dpkg", "-c", package], capture_output=True, text=True, check=True).stdout, package


@pytest.mark.parametrize("name, files", [
    ("fabricbench", ["/usr/bin/fabricbench", "man1/fabricbench.1.gz", "bash-completion/completions/fabricbench"]),
    ("libfabricbench-dev", ["/usr/include/fabricbench/gtest.h", "fabricbenchConfig.cmake", "libfabricbench.so"]),
    ("fabricbench-networkdirect", ["lib/fabricbench/libfabricbench_networkdirect.so"]),
    ("python3-fabricbench", ["/usr/lib/python3/dist-packages/fabricbench/__init__.py"])])
def test_each_package_has_its_files(name, files):
    listing, package = contents(name)
    for one in [*files, f"share/doc/{name}/copyright"]:
        assert one in listing, one
    unpacked = subprocess.run(["dpkg-deb", "-f", package, "Version"], capture_output=True, text=True, check=True)
    assert unpacked.stdout.startswith("0.2.0")


def test_the_wheel_installs_without_an_index(tmp_path):
    (wheel,) = (ROOT / "build" / "packages").glob("fabricbench-0.2.0-*.whl")
    python = tmp_path / "an environment" / "bin" / "python"
    subprocess.run(["/usr/bin/python3", "-m", "venv", python.parents[1]], check=True)
    done = subprocess.run([python, "-m", "pip", "install", "--no-index", "--find-links", wheel.parent, "fabricbench"],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "Successfully installed fabricbench-0.2.0" in done.stdout, done.stdout + done.stderr
    program = """
import fabricbench
with fabricbench.World(seed=1) as world:
    space = world.subsystem().add_namespace(size="1M")
    print(fabricbench.__file__)
"""
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(str(tmp_path)), done.stdout + done.stderr
    subprocess.run([python, "-m", "pip", "check"], check=True, capture_output=True)
