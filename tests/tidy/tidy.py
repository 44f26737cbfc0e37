#!/usr/bin/env python3
"""House rules that a compiler does not check: which folder may include which, what a deterministic
world may not call, and how large a file may be. Prints file, line and the sentence that explains."""

import pathlib
import re
import shutil
import subprocess
import sys

# A folder sees itself and what stands here; nothing else of the project.
SEES = {
    "base": [],
    "wire": ["base"],
    "sim": ["base", "wire"],
    "model": ["base", "wire", "sim"],
    "conformance": ["base", "wire", "sim", "model", "networkdirect"],
    "networkdirect": ["base", "wire", "sim", "model", "conformance"],
    "cli": ["base", "wire", "sim", "model", "conformance", "networkdirect"],
    "api": ["base", "wire", "sim", "model", "conformance"],
    "bindings": ["base", "wire", "sim", "model", "conformance"],
}
# Python that is looked at for its size alone.
PYTHON = ["bindings", "scenarios", "tests/python"]
# Finer rules inside: a path prefix may not include another prefix.
HIDDEN = [
    ("sim/core", "wire/", "the world knows no protocol"),
    ("sim/net", "wire/", "the network knows no protocol"),
    ("sim/net", "sim/tls", "TLS is a layer above"),
    ("sim/tls", "wire/", "TLS carries anybody's bytes"),
    ("sim/mctp", "sim/net", "MCTP needs no IP"),
    ("sim/mctp", "sim/rdma", "MCTP needs no fabric"),
    ("sim/mctp", "wire/mi", "MCTP carries anybody's messages"),
    ("sim", "wire/nvme", "sim does not know NVMe"),
    ("sim", "wire/fabrics", "sim does not know NVMe"),
    ("networkdirect/win32", "sim/core", "it stands for the operating system and knows no world"),
    ("networkdirect/win32", "sim/net/", "it stands for the operating system and knows no network"),
    ("networkdirect/win32", "sim/rdma", "it stands for the operating system and knows no fabric"),
    ("networkdirect/win32", "wire/", "it stands for the operating system and knows no protocol"),
    ("networkdirect/include", "base/", "headers for other people's programs stand alone"),
    ("networkdirect/include", "sim/", "headers for other people's programs stand alone"),
    ("networkdirect/ndk/include", "base/", "headers for other people's programs stand alone"),
    ("networkdirect/ndk/include", "sim/", "headers for other people's programs stand alone"),
    *((f"networkdirect/{part}", above, "providers and consumers know the fabric alone")
      for part in ("consumer", "include", "library", "ndk", "ndutil", "programs", "provider", "verifier", "win32")
      for above in ("wire/nvme", "model/", "conformance/")),
    ("networkdirect/deviations", "conformance/", "a deviation knows no case"),
    ("conformance/evidence", "networkdirect/", "evidence is what crossed the wire"),
    ("conformance/monitors", "networkdirect/", "rules know the wire, no product"),
    ("conformance/oracle", "networkdirect/", "a second opinion that shares code with the product shares its mistakes"),
    ("conformance/evidence", "model/", "evidence is what crossed the wire, whoever sent it"),
    ("conformance/monitors", "model/", "rules know the wire, no product"),
    ("conformance/reference", "wire/", "a second source shares nothing with the first"),
    ("conformance/reference", "sim/", "a second source shares nothing with the first"),
    ("conformance/reference", "model/", "a second source shares nothing with the first"),
    ("conformance/oracle", "model/", "a second opinion that shares code with the product shares its mistakes"),
    ("model/transport", "sim/rdma/softroce", "models see rdma::Device, not an implementation"),
    ("model/subsystem", "sim/rdma", "the subsystem sees channels, not a fabric"),
    ("model/host", "sim/rdma", "the host sees channels, not a fabric"),
    ("model/auth", "model/transport", "authentication is messages and secrets alone"),
    ("model/auth", "model/subsystem", "authentication is messages and secrets alone"),
    ("model/auth", "model/host", "authentication is messages and secrets alone"),
    ("model/auth", "sim/rdma", "authentication knows no fabric"),
    ("model/auth", "sim/net", "authentication knows no fabric"),
    ("model/transport", "sim/tls", "models see net::Stream, not an implementation"),
    ("model/subsystem", "sim/tls", "models see net::Stream, not an implementation"),
    ("model/host", "sim/tls", "models see net::Stream, not an implementation"),
    ("model/auth", "sim/tls", "authentication knows no fabric"),
    ("model/tls", "model/subsystem", "it serves both products"),
    ("model/tls", "model/host", "it serves both products"),
    ("model/transport", "model/auth", "transports carry capsules for anybody"),
    ("model/transport", "model/subsystem", "transports carry capsules for anybody"),
    ("model/transport", "model/host", "transports carry capsules for anybody"),
    ("model/subsystem", "model/host", "the two products do not know each other"),
    ("model/host", "model/subsystem", "the two products do not know each other"),
    ("model/subsystem", "model/mi", "management looks into the subsystem, not the other way round"),
    ("model/subsystem", "wire/mi", "the subsystem passes NVMe-MI on unread"),
    ("model/subsystem", "sim/mctp", "the subsystem knows no bus"),
    ("model/host", "model/mi", "the host talks to admin queues"),
    ("model/transport", "model/mi", "transports carry capsules for anybody"),
    ("model/mi", "model/host", "management meets hosts in the subsystem alone"),
    ("model/mi", "sim/net", "management sees mctp::Port, not a network"),
    ("model/mi", "sim/rdma", "management sees mctp::Port, not a fabric"),
    ("model/mi", "sim/mctp/endpoint", "models see mctp::Port, not an implementation"),
    ("model/mi", "sim/mctp/smbus", "models see mctp::Port, not an implementation"),
    ("model/mi", "sim/mctp/network", "models see mctp::Port, not an implementation"),
]
REAL_TIME_FILES = {"sim/core/real_loop_linux.cc"}
# Rooms with more freedom. One plays the operating system for NetworkDirect programs and has what Win32 has; no world is in
# it. A provider is called from any thread, and its loadable library has a thread for its devices. Loadable
# libraries have nobody but the environment to tell them anything.
ROOMS = {
    "networkdirect/win32/": {"read time from the loop", "options come in as values", "one world, one thread"},
    "networkdirect/provider/": {"one world, one thread"},
    "networkdirect/library/": {"one world, one thread", "options come in as values", "draw from a named stream of the world"},
    "networkdirect/verifier/": {"one world, one thread"},
    "networkdirect/verifier/library/": {"options come in as values"},
}
BANNED = [
    (re.compile(r"\b(system_clock|steady_clock|high_resolution_clock)\b"), "read time from the loop",
     {"base", "wire", "sim", "model", "networkdirect"}),
    (re.compile(r"\b(clock_gettime|gettimeofday|time\(nullptr\)|time\(NULL\))"),
     "read time from the loop", {"base", "wire", "sim", "model", "networkdirect"}),
    (re.compile(r"\b(std::random_device|std::mt19937|[^_a-z]rand\(\)|_distribution<)"),
     "draw from a named stream of the world", {"base", "wire", "sim", "model", "networkdirect", "conformance"}),
    (re.compile(r"\bgetenv\b"), "options come in as values", {"base", "wire", "sim", "model", "networkdirect"}),
    (re.compile(r"\bunordered_(map|set)\b"), "iteration order must not depend on addresses or hashes",
     {"base", "wire", "sim", "model", "networkdirect", "conformance"}),
    (re.compile(r"\bstd::(thread|mutex|atomic)\b"), "one world, one thread",
     {"base", "wire", "sim", "model", "networkdirect"}),
    (re.compile(r"__attribute__\s*\(\(\s*packed|#pragma pack"), "declare wire structures with Layout",
     {"base", "wire", "sim", "model", "networkdirect", "conformance", "cli"}),
    (re.compile(r"\bco_(await|return|yield)\b"), "g++ 12 miscompiles coroutines: use Op<T>",
     {"base", "wire", "sim", "model", "networkdirect", "conformance", "cli"}),
]
# Names that headers of Windows define as macros. What the Windows build compiles, and what its programs may include, does not
# use them: nobody but that build would notice. Where Windows' own interfaces are played the names in capitals are theirs.
WINDOWS_MACROS = re.compile(r"\b(?:(interface|small|near|far|hyper|pascal|cdecl)|(?<![:\w.>])(min|max)(?=\()|"
                            r"(ERROR|IN|OUT|OPTIONAL|CONST|VOID|DELETE|STRICT|NEAR|FAR|PURE|THIS|CALLBACK))\b")
# Beside the folders of cmake/windows.cmake.
ON_WINDOWS = ["conformance/runner", "cli/windows"]
WINDOWS_ITSELF = ("networkdirect/", "conformance/runner/nd", "cli/windows/", "base/windows/")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
LINES_MAX = 600
COLUMNS_MAX = 140


def included(line):
    match = re.match(r'\s*#include "([^"]+)"', line)
    return match.group(1) if match else None


def folders_on_windows(root):
    listed = re.search(r"set\(FB_FOLDERS_ON_WINDOWS([^)]*)\)", (root / "cmake/windows.cmake").read_text())
    return tuple(folder + "/" for folder in listed.group(1).split() + ON_WINDOWS)


def check_file(root, path, on_windows, faults):
    name = path.relative_to(root).as_posix()
    top = name.split("/")[0]
    lines = path.read_text().splitlines()
    if path.suffix == ".h" and "#pragma once" not in lines:
        faults.append(f"{name}:1: a header begins with #pragma once")
    if len(lines) > LINES_MAX:
        faults.append(f"{name}:{len(lines)}: {len(lines)} lines; above {LINES_MAX} split the file")
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        if len(line) > COLUMNS_MAX:
            faults.append(f"{where}: {len(line)} columns; at most {COLUMNS_MAX}")
        target = included(line)
        if target:
            folder = target.split("/")[0]
            if folder in SEES and folder != top and folder not in SEES.get(top, []):
                faults.append(f"{where}: {top} may not include {target} (dependencies point one way)")
            for prefix, hidden, why in HIDDEN:
                if name.startswith(prefix + "/") and target.startswith(hidden):
                    faults.append(f"{where}: {prefix} may not include {target}: {why}")
        if name not in REAL_TIME_FILES:
            code = line.split("//")[0]
            taken = WINDOWS_MACROS.search(STRING.sub('""', code)) if on_windows else None
            if taken and not code.startswith("#") and not (name.startswith(WINDOWS_ITSELF) and not taken.group(1)):
                faults.append(f"{where}: {taken.group(0)}: a macro of Windows' headers; another name")
            for pattern, why, tops in BANNED:
                if any(name.startswith(room) and why in has for room, has in ROOMS.items()):
                    continue
                if top in tops and pattern.search(code):
                    faults.append(f"{where}: {pattern.search(code).group(0).strip()}: {why}")


def check_format(root, faults):
    """Sources are as clang-format leaves them. Its versions differ in places, so that others than that of Debian 12 are passed over."""
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not program or " 14." not in subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout:
        print("tidy: no clang-format 14: the form of sources is not looked at")
        return
    files = [path for top in [*SEES, "examples", "include", "tests"] for path in sorted((root / top).rglob("*"))
             if path.suffix in (".h", ".cc")]
    found = subprocess.run([program, "--dry-run", "--ferror-limit=1", *files], capture_output=True, text=True, check=False).stderr
    faults += [f"{pathlib.Path(name).relative_to(root)}:{line}: clang-format writes it otherwise"
               for name, line in re.findall(r"^(.+?):(\d+):\d+: warning:", found, re.MULTILINE)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    faults = []
    count = 0
    windows = folders_on_windows(root)
    for top in SEES:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cc", ".js", ".css", ".html"):
                count += 1
                folder = path.parent.relative_to(root).as_posix() + "/"
                on_windows = folder in windows or folder.startswith("networkdirect/")
                check_file(root, path, on_windows, faults)
    for top in PYTHON:
        for path in sorted((root / top).rglob("*.py*")):
            if path.suffix in (".py", ".pyi"):
                count += 1
                check_file(root, path, False, faults)
    check_format(root, faults)
    for fault in faults:
        print(fault)
    print(f"tidy: {count} files, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
