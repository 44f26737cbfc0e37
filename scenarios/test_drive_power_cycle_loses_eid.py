"""A drive loses power and comes back while a management controller watches the bus.

Its dynamic EID is gone with the power, so nothing is heard of it until the bus owner enumerates again; a static EID is
there at once. The drive must say that there was a reset (NSSRO) until that is cleared, and what was set for the time
being, such as the transmission unit, is back to its default. The VPD keeps what was written to it.
"""

import pytest

import fabricbench as fb
from fabricbench import wire
from fabricbench.enums import MiConfiguration, Primitive

NSSRO, CSTS, CTEMP, CWARN = 1 << 4, 1 << 8, 1 << 9, 1 << 12  # in the composite controller status
PORT = 1  # the two-wire port of an emulated drive


def flags(endpoint, clear=False):
    """NSSRO (bit 14) and the error flags of Get State; `clear` is CESF."""
    reply = endpoint.primitive(Primitive.GET_STATE, parameter=1 if clear else 0).wait()
    return wire.PrimitiveResponse(reply.message).cpsr & 0x7FF8


@pytest.mark.requirement("mi.reset.nssro")
@pytest.mark.requirement("mi.reset.changes")
@pytest.mark.requirement("mi.reset.unit")
@pytest.mark.requirement("mi.vpd.write.kept")
def test_a_drive_comes_back_without_its_eid(world, mctp_bus):
    drive, neighbour = mctp_bus.drives
    requester = mctp_bus.requester(timeout=1)
    endpoint = requester.endpoint(drive)
    endpoint.set_unit(128, PORT).wait()
    endpoint.write_vpd(200, b"bay 7").wait()
    drive.subsystem.temperature = 350  # above the threshold: two changes that nobody has read when power fails
    assert flags(endpoint) == 0 and endpoint.health().wait().ccs == CTEMP | CWARN

    drive.power_cycle()
    assert (drive.eid, neighbour.eid) == (0, 10)
    with pytest.raises(fb.MiError, match="no answer"):
        endpoint.health().wait()
    assert requester.endpoint(neighbour).health().wait().ccs == 0

    mctp_bus.enumerate()
    assert drive.eid == 9  # the owner knows the place, and gives it the EID that it had
    health = endpoint.health(clear=True).wait()
    assert health.ccs == NSSRO | CSTS and health.ctemp == 350 - 273
    assert endpoint.health().wait().ccs == 0
    # The poll above went to an EID that the drive had no more: UDSTID is set. NSSRO stays until it is cleared.
    assert flags(endpoint, clear=True) == 1 << 14 | 1 << 8
    assert flags(endpoint) == 0
    assert endpoint.configuration(MiConfiguration.TRANSMISSION_UNIT, PORT).wait().nmresp == 64
    assert endpoint.read_vpd(200, 5).wait() == b"bay 7"


@pytest.mark.requirement("mctp.control.set-eid.static")
def test_a_static_eid_outlives_the_power(world):
    bus = world.mctp_bus()
    drive = bus.add_drive(static_eid=0x20)
    bus.enumerate()
    endpoint = bus.requester().endpoint(drive)
    drive.power_cycle()
    assert drive.eid == 0x20
    assert endpoint.health().wait().ccs == NSSRO | CSTS


@pytest.mark.requirement("mi.reset.nssro")
@pytest.mark.deviation("reset_not_told")
def test_a_drive_that_hides_its_reset_is_found(mctp_bus, endpoint):
    mctp_bus.drives[0].power_cycle()
    mctp_bus.enumerate()
    # To its management controller nothing has happened: whatever it had configured it believes to be there still.
    assert flags(endpoint) & 1 << 14 == 0
