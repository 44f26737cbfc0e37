"""A target says in Identify Controller that it takes larger transfers than it does.

MDTS is a promise: the host splits what it has to move into commands of at most that size. A target that promises too
much refuses the commands that came of it, and the host can do nothing about it: the error has Do Not Retry set, small
transfers work, large ones never do. One that promises too little costs only speed.
"""

import pytest

import fabricbench as fb
from fabricbench import sc
from fabricbench.enums import Cns
from fabricbench.wire import IdentifyController

REAL = 4  # 2**4 pages of 4 KiB: 64 KiB
DATA = bytes(range(256)) * 4096  # 1 MiB


class Claims(fb.TargetProduct):
    """Names another MDTS than the one that it acts on."""

    def __init__(self, mdts):
        self.mdts = mdts

    def data_out(self, command, data):
        if command.name == "Identify" and command.sqe.cdw10 & 0xFF == Cns.CONTROLLER:
            data[:] = bytes(IdentifyController(data).copy(mdts=self.mdts))


def connected(world, claimed):
    subsystem = world.subsystem(mdts=REAL, product=Claims(claimed))
    controller = world.host().connect(subsystem).wait()
    assert controller.identify().wait().mdts == claimed
    return subsystem.namespaces[0], controller.namespace(1)


@pytest.mark.requirement("nvme.host.mdts")
@pytest.mark.requirement("nvme.transfer.mdts-limit")
@pytest.mark.parametrize("claimed, commands", [(REAL, 16), (REAL - 2, 64)], ids=["honest", "modest"])
def test_a_promise_that_is_kept(world, claimed, commands):
    medium, space = connected(world, claimed)
    space.write(0, DATA).wait()
    assert medium.totals["writes"] == commands and medium.stored(0, len(DATA) // 512) == DATA
    assert space.read(0, len(DATA) // 512).wait() == DATA


@pytest.mark.requirement("nvme.transfer.mdts")
@pytest.mark.parametrize("claimed", [REAL + 1, 0], ids=["twice_as_much", "no_limit"])
def test_a_promise_that_is_broken(world, claimed):
    medium, space = connected(world, claimed)
    assert space.max_transfer > 65536  # the host believes it

    space.write(0, DATA[:65536]).wait()  # whoever tests with small transfers sees nothing wrong
    with pytest.raises(fb.CommandError) as refused:
        space.write(0, DATA).wait()
    assert refused.value.status == sc.invalid_field and refused.value.status.dnr
    # Nothing of it was executed, nothing was tried again, and the association goes on.
    assert medium.totals["writes"] == 1 and space.retries == 0
    assert space.read(0, 128).wait() == DATA[:65536]


@pytest.mark.requirement("nvme.host.mdts")
@pytest.mark.deviation("host_ignores_mdts")
def test_a_host_that_does_not_read_the_promise(world, host):
    space = host.connect(world.subsystem(mdts=REAL)).wait().namespace(1)
    with pytest.raises(fb.CommandError, match="Invalid Field in Command"):
        space.write(0, DATA).wait()
