"""Vital product data that is damaged: on its way, behind the message's own check, or in the memory of the drive.

Damage on the way is noticed by the message integrity check (MIC), and the requester does not give the data to anybody.
Damage that is older than the MIC comes with a right one: there the reader needs the checksums of the VPD itself, which
are those of an IPMI FRU. An honest drive has them all right, however the VPD is read.
"""

import pytest

import fabricbench as fb
from fabricbench.enums import MiOpcode

SIZE = 256


def damaged_parts(vpd):
    """Names of the parts whose bytes do not sum up to 0: the common header, the product area, each record."""
    parts = {"header": vpd[:8]}
    product = 8 * vpd[4]
    parts["product"] = vpd[product:product + 8 * vpd[product + 1]]
    at, last = 8 * vpd[5], False
    while not last:
        kind, last, length = vpd[at], vpd[at + 1] & 0x80, vpd[at + 2]
        parts[f"head of record {kind:#04x}"] = vpd[at:at + 5]
        parts[f"record {kind:#04x}"] = vpd[at + 3:at + 4] + vpd[at + 5:at + 5 + length]
        at += 5 + length
    return [name for name, data in parts.items() if sum(data) % 256]


class FlipsABit(fb.EndpointProduct):
    """A drive that flips a bit of the serial number in what VPD Read returns: before or after it computes the MIC."""

    def __init__(self, before_mic):
        self.before_mic = before_mic
        self.broken = True

    def flipped(self, request, message):
        if not self.broken or request[4] != MiOpcode.VPD_READ or len(message) < SIZE:
            return None
        return message[:100] + bytes([message[100] ^ 0x04]) + message[101:]

    def response(self, request, body):
        return self.flipped(request, body) if self.before_mic else None

    def message_out(self, request, message):
        return None if self.before_mic else self.flipped(request, message)


def drive_with(world, **options):
    bus = world.mctp_bus()
    drive = bus.add_drive(**options)
    bus.enumerate()
    return bus.requester().endpoint(drive)


@pytest.mark.requirement("mi.vpd.read.pieces")
@pytest.mark.requirement("mi.vpd.product.serial")
def test_the_vpd_of_an_honest_drive(world, endpoint):
    vpd = endpoint.read_vpd(0, SIZE).wait()
    # Odd lengths at odd places: some drives round them, or shift what comes back.
    pieces = [endpoint.read_vpd(at, min(37, SIZE - at)) for at in range(0, SIZE, 37)]
    assert b"".join(world.wait_all(pieces)) == vpd
    assert damaged_parts(vpd) == []
    assert endpoint.identify().wait().sn in vpd


@pytest.mark.requirement("mi.requester.check.mic")
@pytest.mark.breaks("mi_integrity")
def test_damage_on_the_way_reaches_nobody(world):
    product = FlipsABit(before_mic=False)
    endpoint = drive_with(world, product=product)
    with pytest.raises(fb.MiError, match="response.mic") as caught:
        endpoint.read_vpd(0, SIZE).wait()
    assert caught.value.outcome == "violation"
    # A message with a wrong MIC takes nothing along: the same endpoint, asked again, serves as before.
    product.broken = False
    assert damaged_parts(endpoint.read_vpd(0, SIZE).wait()) == []


@pytest.mark.requirement("mi.vpd.header")
@pytest.mark.requirement("mi.vpd.records")
@pytest.mark.parametrize("options, damaged", [
    ({"product": FlipsABit(before_mic=True)}, ["product"]),
    ({"deviations": ["vpd_header_checksum_wrong"]}, ["header"]),
    ({"deviations": ["vpd_record_head_checksum_wrong"]}, ["head of record 0x0b"]),
    # The head's checksum covers the record's own.
    ({"deviations": ["vpd_record_checksum_wrong"]}, ["head of record 0x0b", "record 0x0b"]),
], ids=["bit_flipped_before_the_mic", "header", "head_of_a_record", "record"])
def test_older_damage_shows_in_the_vpd_itself(world, options, damaged):
    assert damaged_parts(drive_with(world, **options).read_vpd(0, SIZE).wait()) == damaged
