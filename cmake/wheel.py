"""Makes a wheel of an installed Python package and what pyproject.toml says of it, without any tool that must be downloaded:
a wheel is a zip file with the package and three files about it (PEP 427).

  wheel.py PREFIX OUT-DIR        PREFIX: of `cmake --install --component python`
"""
from __future__ import annotations

import base64
import hashlib
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATE = (1980, 1, 1, 0, 0, 0)  # the same package is the same file


def metadata(project: dict) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}", f"Summary: {project['description']}",
             f"Requires-Python: {project['requires-python']}", f"License: {project['license']}",
             "License-File: LICENSE", "Description-Content-Type: text/markdown"]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {requirement} ; extra == '{extra}'" for requirement in requirements]
    return "\n".join(lines) + "\n\n" + (ROOT / project["readme"]).read_text()


def tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    prefix, out = Path(sys.argv[1]), Path(sys.argv[2])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = sorted(prefix.rglob(f"{project['name']}/__init__.py"))
    if len(found) != 1:
        sys.exit(f"wheel: {len(found)} packages called {project['name']} below {prefix}")
    package = found[0].parent
    info = f"{project['name']}-{project['version']}.dist-info"
    files = {f"{package.name}/{path.relative_to(package)}": path.read_bytes() for path in sorted(package.rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts}
    files[f"{info}/METADATA"] = metadata(project).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: fabricbench\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
              for name, data in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{project['name']}-{project['version']}-{tag()}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
