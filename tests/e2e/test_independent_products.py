"""Products that know nothing of the bench and break no rule: whatever they are free to do, no case blames them for it."""

import collections
import contextlib
import pathlib
import subprocess
import sys

import pytest

PRODUCT = pathlib.Path(__file__).parent / "independent"


@contextlib.contextmanager
def running(*options):
    """A controller, and where it is."""
    process = subprocess.Popen([sys.executable, str(PRODUCT), *options], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
        assert process.poll() is None, "it has ended"
    finally:
        process.kill()
        process.wait()


CONTROLLERS = {
    "nothing optional": (),
    "small queues, large blocks": ("--entries", "2", "--block", "4096", "--mdts", "1"),
    "everything in pieces, in any order": ("--rich", "--pieces", "--shuffle", "--no-flow-control", "--capsule", "4096", "--nsid", "300",
                                           "--namespaces", "1024", "--entries", "128", "--first-cntlid", "900", "--mdts", "0"),
    "base 2.0, with digests": ("--rich", "--digests"),
}


@pytest.mark.parametrize("options", CONTROLLERS.values(), ids=CONTROLLERS)
def test_a_legal_controller_fails_no_case(fabricbench, options):
    with running(*options) as url:
        done = fabricbench("run", "--dut", url, "--json")
    cases = done.json["cases"]
    blamed = [f"{case['name']}: {case['reason']}" for case in cases if case["verdict"] in ("fail", "error")]
    assert not blamed and done.code == 0
    verdicts = collections.Counter(case["verdict"] for case in cases)
    assert verdicts["pass"] >= 190 and verdicts["inconclusive"] < 40
