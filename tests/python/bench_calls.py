"""What a call from Python costs over the same call in C++ (bench_calls), in one run on one machine.

    PYTHONPATH=build/release/python python3 -m pytest -q tests/python/bench_calls.py --benchmark-columns=median,iqr,rounds

`over_cpp_us` is what a call takes longer than in C++, `of_cpp` the ratio, each the median of seven turns. Wanted: a raw
command at most 3 us over C++, a read of 1 MiB at most 1.1 of it. `import` is that of a new interpreter, less the
interpreter's own beginning: at most 150 ms.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import pytest

import fabricbench as fb
from conftest import PACKAGE, ROOT
from fabricbench import commands


TURNS = 7


def cpp(name):
    """The median time of a benchmark of the program, in microseconds."""
    program = ROOT / "build/release/bin/bench_calls"
    done = subprocess.run([program, f"--benchmark_filter=^{name}$", "--benchmark_repetitions=5", "--benchmark_min_time=0.04",
                           "--benchmark_report_aggregates_only=true", "--benchmark_format=json"],
                          capture_output=True, text=True, check=True)
    medians = [one for one in json.loads(done.stdout)["benchmarks"] if one["aggregate_name"] == "median"]
    return medians[0]["real_time"]


def python(call, rounds=60):
    """The same of a call, in rounds of 20."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(20):
            call()
        times.append((time.perf_counter() - began) / 20 * 1e6)
    return statistics.median(times)


def compare(benchmark, name, call):
    """Python and C++ in turns, so that both see the same machine; the medians of the differences and of the ratios."""
    python(call, 10)
    turns = [(python(call), cpp(name)) for _ in range(TURNS)]
    over = statistics.median(here - there for here, there in turns)
    ratio = statistics.median(here / there for here, there in turns)
    benchmark.pedantic(call, rounds=100, iterations=20)
    benchmark.extra_info.update(over_cpp_us=round(over, 2), of_cpp=round(ratio, 3))
    here, there = (statistics.median(column) for column in zip(*turns))
    print(f"\n{name}: {here:.2f} us from Python, {there:.2f} us in C++: {over:+.2f} us, {ratio:.3f}")


@pytest.fixture
def scene():
    with fb.World() as world:
        subsystem = world.subsystem(size="64M")
        host = world.host()
        yield host, subsystem, host.connect(subsystem).wait()


def test_raw_command(benchmark, scene):
    host, subsystem, _ = scene
    queue = host.raw_admin(subsystem, enable=False)
    property_get = commands.property_get

    def call():
        return queue.send(property_get(0x1C)).wait().value

    compare(benchmark, "raw_command", call)


@pytest.mark.parametrize("size", [4096, 1 << 20])
def test_read(benchmark, scene, size):
    space = scene[2].namespaces[0]
    into = bytearray(size)
    blocks = size // 512
    compare(benchmark, f"read_in_bulk/{size}", lambda: space.read(0, blocks, into).wait())


def test_read_as_bytes(benchmark, scene):
    space = scene[2].namespaces[0]
    compare(benchmark, f"read_in_bulk/{1 << 20}", lambda: space.read(0, 2048).wait())


@pytest.mark.parametrize("overridden", ["nothing", "admission", "data_out"])
def test_a_product_in_python(benchmark, overridden):
    """A read of 4 KiB from a target whose product overrides this; `nothing` is what costs nothing."""
    methods = {"nothing": {}, "admission": {"admission": lambda self, command: None},
               "data_out": {"data_out": lambda self, command, data: None}}
    product = type("Product", (fb.TargetProduct,), methods[overridden])()
    with fb.World() as world:
        subsystem = world.subsystem(size="1M", product=product)
        space = world.host().connect(subsystem).wait().namespaces[0]
        into = bytearray(4096)
        compare(benchmark, "read_in_bulk/4096", lambda: space.read(0, 8, into).wait())


def test_import(benchmark):
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))

    def seconds(code):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        return time.perf_counter() - began

    bare = min(seconds("pass") for _ in range(10))
    benchmark.pedantic(lambda: seconds("import fabricbench"), rounds=10)
    took = benchmark.stats.stats.median - bare
    benchmark.extra_info["import_ms"] = round(1000 * took, 1)
    print(f"\nimport fabricbench: {1000 * took:.0f} ms")
