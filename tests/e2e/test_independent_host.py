"""The independent host with the independent controllers: two strangers that have only the specifications in common.
What the host writes it reads again, whatever shape the two have."""

import contextlib
import itertools
import json
import pathlib
import random
import subprocess
import sys

import pytest

PRODUCTS = pathlib.Path(__file__).parent / "independent"


@contextlib.contextmanager
def started(product, *options):
    process = subprocess.Popen([sys.executable, str(PRODUCTS / product), *options],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Host:
    """The host's end of its lines."""

    def __init__(self, process):
        self.process, self.ids = process, itertools.count()

    def ask(self, what, **more):
        request = {"id": next(self.ids), "do": what, **more}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == request["id"]
        return answer

    def done(self, what, **more):
        answer = self.ask(what, **more)
        assert answer["ok"], answer
        return answer

    def leave(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)


@contextlib.contextmanager
def connected(controller, host):
    """A host that has met its subsystem, and what it must know to connect to it."""
    with started("controller", *controller) as subsystem, started("host", *host) as process:
        place, name = subsystem.stdout.readline().strip().removeprefix("tcp://").split("/")
        address, port = place.split(":")
        where = {"subnqn": name, "traddr": address, "trsvcid": int(port)}
        asks = Host(process)
        assert "read" in asks.done("hello", transport="tcp", **where)["can"]
        yield asks, where


HOSTS = {
    "plain": (),
    "digests": ("--digests", "--alignment", "8"),
    "no flow control": ("--no-flow-control", "--eager-aer", "4"),
    "small queues": ("--small-queues", "--no-in-capsule", "--single-disconnects"),
    "reset in place": ("--reset-in-place", "--r2ts", "4"),
}
CONTROLLERS = {
    "nothing optional": (("--mdts", "1"), 1, 512),
    "large blocks": (("--entries", "2", "--block", "4096"), 1, 4096),
    "in pieces": (("--rich", "--pieces", "--shuffle", "--no-flow-control", "--capsule", "4096", "--nsid", "300",
                   "--namespaces", "1024", "--entries", "128", "--mdts", "0"), 300, 512),
    "digests": (("--rich", "--digests"), 1, 512),
}


# Each host with two controllers, each controller with two hosts or three.
PAIRS = [pair for turn in (0, 1) for pair in zip(HOSTS, itertools.islice(itertools.cycle(CONTROLLERS), turn, None))]


@pytest.mark.parametrize("host, controller", PAIRS)
def test_what_is_written_can_be_read(host, controller):
    options, nsid, block = CONTROLLERS[controller]
    with connected(options, HOSTS[host]) as (asks, where):
        asks.done("connect", **where, io_queues=2, queue_entries=16, kato_ms=5000)
        written = {}
        for lba, blocks in ((0, 1), (3, 8), (100, 70), (4095, 1)):
            written[lba] = random.Random(lba).randbytes(blocks * block)
            asks.done("write", nsid=nsid, lba=lba, data=written[lba].hex())
        asks.done("flush", nsid=nsid)
        asks.done("reset")
        for lba, data in written.items():
            assert asks.done("read", nsid=nsid, lba=lba, bytes=len(data))["data"] == data.hex()
        assert asks.leave() == 0


def test_what_cannot_be_done_is_said():
    with connected((), ()) as (asks, where):
        assert not asks.ask("read", nsid=1, lba=0, bytes=512)["ok"]
        refused = asks.ask("connect", **(where | {"subnqn": "nqn.2024-01.com.example:somebody-else"}))
        assert (refused["ok"], refused["sct"], refused["sc"]) == (False, 1, 0x82)
        asks.done("connect", **where)
        for more in ({"nsid": 2, "lba": 0, "bytes": 512}, {"nsid": 1, "lba": 4096, "bytes": 512},
                     {"nsid": 1, "lba": 0, "bytes": 100}):
            assert not asks.ask("read", **more)["ok"]
        assert not asks.ask("fly")["ok"]
        asks.done("disconnect")
        assert not asks.ask("read", nsid=1, lba=0, bytes=512)["ok"]
        assert asks.leave() == 0
