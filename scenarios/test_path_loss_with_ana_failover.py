"""A host reaches one namespace through two ports, and loses one of them while it writes.

In the first test the target says, by an ANA change, that the namespace is not accessible through port 1 for a while. In
the others the cable to port 2 breaks without a word. Every write has to end with success, none may be lost, and a copy
of an old one must never come to lie on top of a newer one.
"""

from collections import Counter

import pytest

import fabricbench as fb
from fabricbench.enums import AnaState


class Ledger(fb.TargetProduct):
    """An honest target that counts which controller executed the writes."""

    def __init__(self, slow_controller=None):
        self.executed = Counter()
        self.slow_controller = slow_controller

    def latency(self, command):
        return "19 s" if command.name == "Write" and command.cntlid == self.slow_controller else "50 us"

    def completion(self, command, cqe):
        if command.name == "Write" and fb.Status(cqe.status).ok:
            self.executed[command.cntlid] += 1


def connect_twice(world, ledger, deviations=(), host_product=None):
    """A host with one association through each port. To the host it is one namespace, with two paths."""
    subsystem = world.subsystem(ports=2, product=ledger, deviations=deviations)
    host = world.host(product=host_product)
    first, second = (host.connect(subsystem, port=number, kato_ms=20_000).wait() for number in (1, 2))
    assert [path.state for path in host.namespace(1).paths] == ["optimized", "optimized"]
    return subsystem, host, first, second


def block(number, generation):
    return bytes([number, generation]) * 256


@pytest.mark.requirement("nvme.ana.inaccessible")
@pytest.mark.requirement("nvme.host.aer.ana")
@pytest.mark.parametrize("deviations", [[], ["ana_inaccessible_ignored"]], ids=["honest", "state_ignored"])
def test_writes_move_to_the_other_port_and_back(world, deviations):
    ledger = Ledger()
    subsystem, host, first, second = connect_twice(world, ledger, deviations)
    space = host.namespace(1)

    writes = [space.write(lba, block(lba, 1)) for lba in range(64)]
    world.run_for("20 us")  # all of them have arrived, half at each port, and none is executed
    subsystem.set_ana_state(AnaState.INACCESSIBLE, portid=1)
    world.wait_all(writes)
    world.run_for("1 ms")  # the host reads the ANA log
    assert (first.ana_state(), second.ana_state()) == (AnaState.INACCESSIBLE, AnaState.OPTIMIZED)

    if deviations:
        # This target has executed writes where it has no access: with a real array behind it, who knows where to.
        assert ledger.executed[first.cntlid] > 0
        return
    # Those at port 1 were answered Asymmetric Access Inaccessible and not executed, so that none counts twice.
    assert ledger.executed == {second.cntlid: 64}
    assert all(subsystem.namespaces[0].stored(lba) == block(lba, 1) for lba in range(64))

    subsystem.set_ana_state(AnaState.OPTIMIZED, portid=1)
    world.run_for("1 ms")
    world.wait_all([space.write(lba, block(lba, 2)) for lba in range(64)])
    assert ledger.executed[first.cntlid] == 32  # both ports share the load again


def break_a_cable(world, host_product=None):
    """A write is at port 2 when the cable breaks; when it is done at last, the same block is written anew."""
    subsystem, host, _, second = connect_twice(world, Ledger(slow_controller=2), host_product=host_product)
    space = host.namespace(1)
    old = [space.write(lba, block(lba, 1)) for lba in range(2)]
    world.run_for("1 ms")
    cable = world.link(host, "target2")
    cable.cut()

    world.wait_all(old)
    world.wait_all([space.write(lba, block(lba, 2)) for lba in range(2)])
    world.run_for("1 min")
    cable.restore()
    second.reached("live").wait()
    assert [path.state for path in space.paths] == ["optimized", "optimized"]
    return [subsystem.namespaces[0].stored(lba) for lba in range(2)]


@pytest.mark.requirement("fabrics.host.io-connection-lost")
def test_a_cut_cable_costs_time_and_nothing_else(world):
    # The controller behind the cable still had the write, and could execute it until its keep alive timer expired. The
    # host has to wait for that before it sends the write again (NVM Express Base 2.x, 9.6).
    assert break_a_cable(world) == [block(0, 2), block(1, 2)]


class HastyHost(fb.HostProduct):
    """Sends a write again over the other path as soon as the first is lost."""

    def departs(self, point):
        return point == "host.failover.early"


def test_a_host_that_does_not_wait_loses_a_newer_write(world):
    # The write of block 0 went to port 2, and was sent again through port 1 after 17 s, then came the newer one; after
    # 19 s the controller behind the cut cable executed the first copy on top of it.
    assert break_a_cable(world, HastyHost()) == [block(0, 1), block(1, 2)]
