"""A log in a zone with a Zone Random Write Area: its last page is written again with each record, and committed when it is full.

The area begins at the write pointer. Blocks inside of it are written in any order and as often as one likes; a flush, or a write
behind the area, moves the write pointer and the area with it.
"""

import pytest

import fabricbench as fb
from fabricbench import sc
from fabricbench.enums import ZoneSendAction, ZoneState

BLOCK = 512
AREA, GRANULE = 8, 4


@pytest.fixture
def zoned(world):
    subsystem = world.subsystem(size=None, zoned={"supported": True})
    subsystem.add_namespace(
        size=1024 * BLOCK, zones={"zone_blocks": 64, "zrwa_blocks": AREA, "zrwa_granularity": GRANULE, "zrwa_count": 2})
    return world.host().connect(subsystem).wait().namespace(1)


def zone_of(space, start):
    return space.zones(start).wait()[0]


def test_the_last_page_of_a_log_is_written_again(zoned):
    zoned.zone_send(ZoneSendAction.OPEN, 64, zrwa=True).wait()
    assert zone_of(zoned, 64).zrwa
    page = bytearray(GRANULE * BLOCK)
    for record in range(GRANULE * 4):
        page[record * 128 : record * 128 + 128] = bytes([record + 1]) * 128
        zoned.write(64, bytes(page)).wait()
        assert zone_of(zoned, 64).write_pointer == 64
    zoned.zone_send(ZoneSendAction.FLUSH_EXPLICIT_ZRWA, 64 + GRANULE - 1).wait()
    assert zone_of(zoned, 64).write_pointer == 64 + GRANULE
    assert zoned.read(64, GRANULE).wait() == bytes(page)
    with pytest.raises(fb.CommandError) as refused:
        zoned.write(64, bytes(BLOCK)).wait()
    assert refused.value.status == sc.zone_invalid_write


def test_a_write_behind_the_area_takes_it_along(zoned):
    zoned.zone_send(ZoneSendAction.OPEN, 0, zrwa=True).wait()
    zoned.write(AREA, b"\x5a" * BLOCK).wait()
    assert zone_of(zoned, 0).write_pointer == GRANULE


def test_areas_are_few(zoned):
    for start in (0, 64):
        zoned.zone_send(ZoneSendAction.OPEN, start, zrwa=True).wait()
    with pytest.raises(fb.CommandError) as refused:
        zoned.zone_send(ZoneSendAction.OPEN, 128, zrwa=True).wait()
    assert refused.value.status == sc.zrwa_resources_unavailable
    zoned.zone_send(ZoneSendAction.FINISH, 0).wait()
    assert zone_of(zoned, 0).state == ZoneState.FULL
    zoned.zone_send(ZoneSendAction.OPEN, 128, zrwa=True).wait()
    with pytest.raises(fb.CommandError) as refused:
        zoned.zone_append(128, bytes(BLOCK)).wait()
    assert refused.value.status == sc.invalid_zone_operation_request
