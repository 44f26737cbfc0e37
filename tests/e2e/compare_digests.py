#!/usr/bin/env python3
"""Runs the embedded suite with two builds of the command and compares the digest of every case.

    compare_digests.py FABRICBENCH FABRICBENCH
"""

import json
import subprocess
import sys


def digests(program):
    done = subprocess.run([program, "run", "--seed", "1", "--json"], capture_output=True, text=True,
                          check=False)
    results = json.loads(done.stdout)
    cases = {case["name"]: case["digest"] for case in results["cases"]}
    return results["digest"], cases


def main():
    (first, first_cases), (second, second_cases) = digests(sys.argv[1]), digests(sys.argv[2])
    differing = sorted(name for name in first_cases if first_cases[name] != second_cases.get(name))
    for name in differing:
        print(f"{name}: {first_cases[name]} and {second_cases.get(name)}")
    if first != second or differing or not first_cases:
        print(f"digests differ: {first} and {second}; {len(differing)} of {len(first_cases)} cases")
        return 1
    print(f"{len(first_cases)} cases, one digest: {first}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
