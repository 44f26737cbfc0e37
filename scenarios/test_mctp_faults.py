"""Frames on the SMBus get lost, are refused, damaged, doubled or come with a wrong header: about one in fifteen.

MCTP repeats nothing of its own accord. A frame that is refused (NACK) is sent again by the bus, and costs nothing; any
other of these ends the message that it belongs to, and whoever asked has to ask again after his timeout. However often
that happens, nobody may ever get a value that is not the drive's.
"""

import pytest

import fabricbench as fb

VPD = 256  # five packets


@pytest.fixture(params=["frame_drop", "frame_corrupt", "frame_sequence", "frame_eid", "frame_duplicate", "frame_nack"])
def faults(request):
    # The world fixture takes its faults from here.
    return fb.Plan([fb.Rule(request.param, every=15, most=10)], name=request.param)


async def insist(ask):
    """As management controllers do: the same request again when no answer came. The value, and how many tries failed."""
    for failed in range(6):
        try:
            return await ask(), failed
        except fb.MiError as error:
            # Whatever became of the frames, nothing that is no answer was taken for one.
            assert error.outcome == "timed_out"
    raise AssertionError("six tries, and no answer")


@pytest.mark.seeds(4)
@pytest.mark.requirement("mi.requester.timeout")
@pytest.mark.requirement("mctp.requester.spoiled")
@pytest.mark.requirement("mctp.assembly.sequence")
def test_values_are_right_whatever_happens_to_frames(world, faults, mctp_bus):
    # The fixture has enumerated the bus amid the faults: control requests are repeated by the bus owner.
    assert {drive.eid for drive in mctp_bus.drives} == {9, 10}
    requester = mctp_bus.requester(timeout="100 ms")
    answers = {9: [], 10: []}
    failures = 0

    async def inspect(eid):
        nonlocal failures
        endpoint = requester.endpoint(eid)
        for _ in range(8):
            vpd, failed = await insist(lambda: endpoint.read_vpd(0, VPD))
            health, again = await insist(endpoint.health)
            answers[eid].append((vpd, bytes(health)))
            failures += failed + again

    world.run(inspect(9), inspect(10))

    assert len(world.strikes) >= 5
    if faults.name == "frame_nack":
        assert failures == 0
    else:
        assert 0 < failures <= len(world.strikes)
    # What the drives say when nothing disturbs them.
    world.disarm()
    for eid, heard in answers.items():
        endpoint = requester.endpoint(eid)
        truth = endpoint.read_vpd(0, VPD).wait(), bytes(endpoint.health().wait())
        assert all(answer == truth for answer in heard)

