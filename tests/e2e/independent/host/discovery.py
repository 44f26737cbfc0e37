"""Discovery: the log of a discovery service, and those that it refers to."""

import asyncio
import dataclasses
import struct

import entries
from association import DISCOVERY, Association, Place
from entries import Failed

TCP, IPV4, IPV6 = 3, 1, 2
REFERRAL, SUBSYSTEM = 1, 2
LOG, PART = 0x70, 1024
MOST_LEVELS = 8
TRIES = 10


@dataclasses.dataclass
class Entry:
    """A record of the log."""

    record: bytes

    def __post_init__(self):
        self.transport, self.family, self.kind, self.requirements = struct.unpack_from("<BBBB", self.record)
        self.cntlid, self.admin_entries = struct.unpack_from("<HH", self.record, 6)
        self.port, self.subsystem, self.address = (
            self.record[first:end].split(b"\0", 1)[0].decode("utf-8", "replace").strip(" ")
            for first, end in ((32, 64), (256, 512), (512, 768)))

    @property
    def usable(self):
        """This host has TCP, and no TLS; an entry without a decimal port is for nobody."""
        if self.transport != TCP or self.family not in (IPV4, IPV6) or self.requirements & 3 == 1:
            return False
        return self.port.isascii() and self.port.isdecimal() and 0 < int(self.port) < 0x10000

    def place(self, **more):
        return Place(self.subsystem, self.address, int(self.port), cntlid=self.cntlid,
                     admin_entries=self.admin_entries, **more)


async def read_log(controller):
    """The header, the records, and the header again: only with the same GENCTR have they belonged together."""
    for _ in range(TRIES):
        try:
            before = await _read(controller, 0, PART)
            generation, records, form = struct.unpack_from("<QQH", before)
            if form != 0:
                raise Failed(f"the discovery log has format {form}")
            found = []
            if records:
                data = await _records(controller, records)
                after = await _read(controller, 0, PART)
                if struct.unpack_from("<Q", after)[0] != generation:
                    continue
                found = [Entry(data[at:at + PART]) for at in range(0, len(data), PART)]
            return found
        except Failed as failed:
            if failed.status != entries.DISCOVER_RESTART:
                raise
        await asyncio.sleep(0.02)
    raise Failed("the discovery log changes all the time")


async def _read(controller, offset, length):
    done = await controller.command(entries.log_page(LOG, length, offset), wanted=length)
    return done.check("Get Log Page, discovery").data


async def _records(controller, records):
    """Without offsets the log is read from its start, at once."""
    most, length = controller.identity.most_bytes or 1 << 20, records * PART
    if not controller.identity.logs_have_offsets:
        if length + PART > most:
            raise Failed("the discovery log is too long for one transfer")
        return (await _read(controller, 0, PART + length))[PART:]
    data = b""
    while len(data) < length:
        data += await _read(controller, PART + len(data), min(most, length - len(data)))
    return data


class Service:
    """The discovery service of the bench's subsystem. Connected for one look, or for as long as it is watched."""

    def __init__(self, options, address, port):
        self.options, self.address, self.port = options, address, port
        self.watched, self.entries = None, []

    async def look(self):
        """The subsystems of the service and of those that it refers to, each service once."""
        subsystems, seen = [], set()
        await self._look_at(Place(DISCOVERY, self.address, self.port, kato_ms=0), 0, seen, subsystems)
        return subsystems

    async def _look_at(self, place, level, seen, subsystems):
        seen.add((place.address, place.port))
        association = Association(self.options, place)
        await association.start()
        try:
            found = await read_log(await association.usable())
        finally:
            await association.stop()
        subsystems += [entry for entry in found if entry.kind == SUBSYSTEM]
        await self._follow(found, level, seen, subsystems)

    async def _follow(self, found, level, seen, subsystems):
        for entry in found:
            known = not entry.usable or (entry.address, int(entry.port)) in seen
            if entry.kind != REFERRAL or known or level == MOST_LEVELS:
                continue
            place = Place(entry.subsystem or DISCOVERY, entry.address, int(entry.port), kato_ms=0, of_discovery=True)
            try:
                await self._look_at(place, level + 1, seen, subsystems)
            except (Failed, OSError) as failed:
                self.options.log(f"referral to {entry.address}: {failed}")

    async def watch(self):
        if self.watched is not None:
            await self.watched.stop()
        self.watched = Association(self.options, Place(DISCOVERY, self.address, self.port))
        await self.watched.start()
        self.watched.came_back = self._read_again
        await self._read_again()
        return self.entries

    async def _read_again(self):
        """What is reported by a notice, and what may have happened while nobody listened."""
        controller = await self.watched.usable()
        controller.events.heard_of_discovery = self._read_again
        self.entries = await read_log(controller)
        self.options.log(f"the discovery log has {len(self.entries)} records")

    async def stop(self, most_seconds=3.0):
        if self.watched is not None:
            await self.watched.stop(most_seconds)
            self.watched = None
