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
