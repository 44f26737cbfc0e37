"""Products that know nothing of the bench and break no rule: whatever they are free to do, no case blames them for it."""

import collections
import contextlib
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

PRODUCTS = pathlib.Path(__file__).parent / "independent"


@contextlib.contextmanager
def running(product, *options):
    """A product, and where it is."""
    process = subprocess.Popen([sys.executable, str(PRODUCTS / product), *options], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
        assert process.poll() is None, "it has ended"
    finally:
        process.kill()
        process.wait()


def verdicts_of(results):
    """How many cases there are of each verdict; none blames the product."""
    blamed = [f"{case['name']}: {case['reason']}" for case in results["cases"] if case["verdict"] in ("fail", "error")]
    assert not blamed
    return collections.Counter(case["verdict"] for case in results["cases"])


CONTROLLERS = {
    "nothing optional": (),
    "small queues, large blocks": ("--entries", "2", "--block", "4096", "--mdts", "1"),
    "everything in pieces, in any order": ("--rich", "--pieces", "--shuffle", "--no-flow-control", "--capsule", "4096", "--nsid", "300",
                                           "--namespaces", "1024", "--entries", "128", "--first-cntlid", "900", "--mdts", "0"),
    "base 2.0, with digests": ("--rich", "--digests", "--ranges", "1"),
}


@pytest.mark.parametrize("options", CONTROLLERS.values(), ids=CONTROLLERS)
def test_a_legal_controller_fails_no_case(fabricbench, options):
    with running("controller", *options) as url:
        done = fabricbench("run", "--dut", url, "--json")
    verdicts = verdicts_of(done.json)
    assert done.code == 0 and verdicts["pass"] >= 190 and verdicts["inconclusive"] < 40


def test_a_legal_endpoint_fails_no_case(fabricbench):
    # Most of it is waiting for what must not come: several endpoints, each with a part of the cases.
    def part(initials):
        with running("endpoint") as url:
            return verdicts_of(fabricbench("run", "--dut", url, "--case", f"[{initials}]*", "--json").json)

    with ThreadPoolExecutor() as pool:
        verdicts = sum(pool.map(part, ("a", "b-l", "m", "n-r", "s-u", "v-z")), collections.Counter())
    assert verdicts["pass"] >= 200 and verdicts["inconclusive"] < 10


HOSTS = {
    "usual": ("--tls",),
    "digests, no flow control": ("--no-flow-control", "--digests", "--eager-aer", "4", "--reuse-cids", "--joins-paths"),
    "small and slow": ("--small-queues", "--no-in-capsule", "--split", "--small-data", "--alignment", "32", "--single-disconnects",
                       "--joins-paths"),
    "curious": ("--curious", "--events-first", "--plain-fabrics", "--reset-in-place", "--r2ts", "4", "--joins-paths"),
}


@pytest.mark.parametrize("number, options", list(enumerate(HOSTS.values(), 1)), ids=HOSTS)
def test_a_legal_host_fails_no_case(fabricbench, number, options):
    # Here, too, most of it is waiting. Each run listens at an address of its own.
    program = shlex.join([sys.executable, str(PRODUCTS / "host"), *options])

    def part(initials, at):
        done = fabricbench("run", "--dut", f"host:{program}", "--transport", "tcp", "--local", f"127.0.{number}.{at}",
                           "--case", initials, "--json")
        return verdicts_of(done.json)

    parts = ("host_[a-d]*", "host_[e-l]*", "host_[m-r]*", "host_[s-t]*", "host_[u-z]*", "tcp_host_[a-r]*", "tcp_host_[s-z]*,tls*")
    with ThreadPoolExecutor(len(parts)) as pool:
        verdicts = sum(pool.map(part, parts, range(10, 10 + len(parts))), collections.Counter())
    assert verdicts["pass"] >= 180 and verdicts["inconclusive"] < 12
