"""The container recipe of docs/campaigns-on-a-cluster.md installs what the command and the Python package are linked with."""

import re
import subprocess

from conftest import PROGRAM, ROOT

RECIPE = ROOT / "docs" / "campaigns-on-a-cluster.md"
#: In every image of Debian: the C and C++ runtime.
BASE = {"libc6", "libgcc-s1", "libstdc++6"}


def packages_of(binary):
    """The packages of the libraries that a binary names itself; apt installs what those need."""
    dynamic = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout
    wanted = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, path in re.findall(r"(\S+) => (/\S+)", listed):
        if name in wanted:
            owner = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False)
            if owner.returncode != 0:  # /lib is a link to /usr/lib, and dpkg knows either
                other = path.removeprefix("/usr") if path.startswith("/usr") else "/usr" + path
                owner = subprocess.run(["dpkg", "-S", other], capture_output=True, text=True, check=True)
            found[name] = owner.stdout.split(":")[0]
    assert found, listed
    return set(found.values()) - BASE


def test_the_image_has_every_library():
    recipe = RECIPE.read_text().split("FROM debian:12\n")[1].split("```")[0]
    installed = set(re.findall(r"\bz?lib[a-z0-9.+-]+", recipe.split("&&")[1]))
    python, = (PROGRAM.parents[1] / "python" / "fabricbench").glob("_core*.so")
    needed = packages_of(PROGRAM) | packages_of(python)
    assert installed == needed, f"missing: {sorted(needed - installed)}, of no use: {sorted(installed - needed)}"
