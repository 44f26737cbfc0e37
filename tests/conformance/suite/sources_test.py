#!/usr/bin/python3
"""Every case and deviation that stands in the sources is in the command (a linker may drop objects that
nobody refers to), no case that was there before has vanished or changed its name, and every way in which an
engine can be made to break a rule is one that some deviation takes: else nobody knows whether the suite sees it.

    sources_test.py FABRICBENCH ROOT [--update]      --update writes the mustpass list anew
"""

import json
import pathlib
import re
import subprocess
import sys

CASE = re.compile(r"^CONFORMANCE_CASE\(\s*(\w+)", re.MULTILINE)
DEVIATION = re.compile(r"^DEVIATION\(\s*(\w+)", re.MULTILINE)
# Lists of departure points: X(identifier, "name", ...) or `kIdentifier = "name"`.
POINT_LISTS = ("model/auth", "model/host", "model/mi", "model/subsystem", "sim/mctp", "sim/ndk/provider",
               "sim/networkdirect/provider", "sim/rdma/softroce")
POINT = re.compile(r'(?:X\(\s*|std::string_view\s+)(\w+)(?:,|\s*=)\s*"([^"]+)"')
HEADER = """# Every case that was ever released, one a line. Names are stable for ever: one that vanishes from the
# command fails a test. Written by tests/conformance/suite/sources_test.py COMMAND ROOT --update.
"""


def names_in(root, folder, pattern):
    names = []
    for path in sorted((root / folder).rglob("*.cc")):
        names += pattern.findall(path.read_text(encoding="utf-8"))
    return set(names)


def unused_points(root):
    """Departure points that no deviation of the catalogue names, by their name or their identifier."""
    catalogue = "".join(path.read_text(encoding="utf-8") for folder in ("catalogue", ".")
                        for path in sorted((root / "model/deviations" / folder).glob("*.[ch]*")))
    listed = [point for folder in POINT_LISTS for path in sorted((root / folder).glob("*depart*.h"))
              for point in POINT.findall(path.read_text(encoding="utf-8"))]
    if not listed:
        return ["no departure points where they should be"]
    return [f"departure point {name} is used by no deviation" for identifier, name in listed
            if f'"{name}"' not in catalogue and not re.search(rf"::{identifier}\b", catalogue)]


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    listed = subprocess.run([program, "list", "--json"], capture_output=True, text=True, check=True).stdout
    cases = {case["name"] for case in json.loads(listed)["cases"]}
    shown = subprocess.run([program, "list", "--deviations"], capture_output=True, text=True, check=True).stdout
    deviations = {line for line in shown.splitlines() if re.fullmatch(r"\w+", line)}
    mustpass = root / "conformance/runner/mustpass.txt"
    if "--update" in sys.argv:
        mustpass.write_text(HEADER + "".join(f"{name}\n" for name in sorted(cases)), encoding="utf-8")
    before = {line for line in mustpass.read_text(encoding="utf-8").splitlines()
              if line and not line.startswith("#")}
    in_sources = names_in(root, "conformance/cases", CASE)
    deviations_in_sources = names_in(root, "model/deviations/catalogue", DEVIATION)
    faults = [f"case {name} stands in the sources and not in the command" for name in in_sources - cases]
    faults += [f"case {name} stands in no source" for name in cases - in_sources]
    faults += [f"deviation {name} stands in the sources and not in the command"
               for name in deviations_in_sources - deviations]
    faults += [f"case {name} has vanished (mustpass.txt)" for name in before - cases]
    faults += unused_points(root)
    for fault in sorted(faults):
        print(fault)
    print(f"{len(cases)} cases, {len(before)} of them in the mustpass list, {len(deviations)} deviations")
    return 1 if faults or not in_sources else 0


if __name__ == "__main__":
    sys.exit(main())
