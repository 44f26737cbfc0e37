"""Namespaces: which there are, how their blocks look, and reading and writing them in pieces."""

import asyncio
import dataclasses
import struct

import entries
from ana import PATH_STATES
from entries import Failed

OWN_MOST = 1 << 20  # bytes of a transfer where the controller has no limit
PROTECTION_BYTES = 8
NVM = 0


@dataclasses.dataclass
class Namespace:
    nsid: int
    blocks: int
    block: int
    metadata: int
    protection: int  # its type; 0 is none

    @property
    def on_the_wire(self):
        """Bytes of a block in a transfer. Its metadata follows, unless the controller makes and checks all of it."""
        return self.block + (0 if self.controller_protects else self.metadata)

    @property
    def controller_protects(self):
        return self.protection and self.metadata == PROTECTION_BYTES


async def find_namespaces(controller):
    """The active namespaces of the NVM command set."""
    by_set = controller.cc >> 4 & 7 == 6
    found, last = {}, 0
    if controller.identity.kind not in (0, 1):
        return found
    while True:
        page = (await controller.command(entries.identify(7 if by_set else 2, last, NVM), wanted=4096)).check(
            "Identify, active namespaces").data
        listed = [nsid for nsid in struct.unpack("<1024I", page) if nsid]
        for nsid in listed:
            namespace = await _look_at(controller, nsid)
            if namespace is not None:
                found[nsid] = namespace
        if len(listed) < 1024 or listed[-1] >= 0xFFFFFFFE:
            return found
        last = listed[-1]


async def _look_at(controller, nsid):
    done = await controller.command(entries.identify(0, nsid), wanted=4096)
    if done.code != (0, 0):
        return controller.options.log(f"namespace {nsid}: status {done.code}")
    page = done.data
    blocks = struct.unpack_from("<Q", page)[0]
    chosen = page[26] & 0xF | (page[26] >> 1 & 0x30 if page[25] > 15 else 0)
    metadata, shift = struct.unpack_from("<HB", page, 128 + 4 * chosen)
    if not blocks or shift < 9:
        return controller.options.log(f"namespace {nsid} has no usable blocks")
    return Namespace(nsid, blocks, 1 << shift, metadata, page[29] & 7)


def _command(opcode, namespace, lba, blocks):
    control = blocks - 1
    tag = 0
    if namespace.controller_protects:
        control |= 1 << 29 | 1 << 28  # PRACT, and the guard is checked
        if namespace.protection != 3:
            control |= 1 << 26
            tag = lba & 0xFFFFFFFF
    return entries.entry(opcode, namespace.nsid, (lba & entries.ALL, lba >> 32, control, 0, tag))


class Blocks:
    """I/O to the namespaces of an association, which may be made anew in between."""

    def __init__(self, association):
        self.association = association

    async def read(self, nsid, lba, length):
        namespace, pieces = await self._pieces(nsid, lba, length)
        parts = await self._all(self._read(namespace, *piece) for piece in pieces)
        return b"".join(parts)

    async def write(self, nsid, lba, data):
        namespace, pieces = await self._pieces(nsid, lba, len(data))
        size = namespace.block
        await self._all(self._write(namespace, first, blocks, data[(first - lba) * size:(first - lba + blocks) * size])
                        for first, blocks in pieces)

    async def flush(self, nsid):
        await self._namespace(nsid)
        await self._done(nsid, entries.entry(entries.FLUSH, nsid), "Flush", again=True)

    @staticmethod
    async def _all(works):
        results = await asyncio.gather(*works, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    async def _namespace(self, nsid):
        controller = await self.association.usable()
        if nsid not in controller.namespaces:
            raise Failed(f"there is no namespace {nsid}")
        return controller, controller.namespaces[nsid]

    async def _pieces(self, nsid, lba, length):
        controller, namespace = await self._namespace(nsid)
        if length <= 0 or length % namespace.block:
            raise Failed(f"{length} bytes are no whole blocks of {namespace.block}")
        blocks = length // namespace.block
        if lba < 0 or lba + blocks > namespace.blocks:
            raise Failed(f"the namespace has {namespace.blocks} blocks")
        most = min(controller.identity.most_bytes or OWN_MOST, OWN_MOST) // namespace.on_the_wire
        most = min(max(most, 1), 0x10000)
        return namespace, [(at, min(most, lba + blocks - at)) for at in range(lba, lba + blocks, most)]

    async def _read(self, namespace, lba, blocks):
        size = namespace.on_the_wire
        command = _command(entries.READ, namespace, lba, blocks)
        data = await self._done(namespace.nsid, command, f"Read of LBA {lba}", wanted=blocks * size, again=True)
        if size == namespace.block:
            return data
        return b"".join(data[at:at + namespace.block] for at in range(0, len(data), size))

    async def _write(self, namespace, lba, blocks, data):
        extra = bytes(namespace.on_the_wire - namespace.block)
        if extra:
            size = namespace.block
            data = b"".join(data[at:at + size] + extra for at in range(0, len(data), size))
        command = _command(entries.WRITE, namespace, lba, blocks)
        await self._done(namespace.nsid, command, f"Write of LBA {lba}", out=data)

    async def _done(self, nsid, sqe, what, out=b"", wanted=0, again=False):
        """The command, with its repetitions. `again`: after a loss of the association it may simply be sent once more.
        A write may not: the old one may still be under way, and would then come after something newer."""
        began, losses = asyncio.get_running_loop().time(), 0
        while True:
            controller = await self.association.usable()
            patience = controller.identity.ana_seconds + 1 if controller.ana is not None else 5
            left = began + patience - asyncio.get_running_loop().time()
            try:
                if controller.ana is not None:
                    await controller.ana.usable(nsid, left)
                done = await controller.repeated(lambda: controller.io_command(sqe, out, wanted))
                if done.code in PATH_STATES and not done.final and left > 0 and done.code != PATH_STATES[0]:
                    await asyncio.sleep(0.1)
                    if controller.ana is not None:
                        await controller.ana.read()
                    continue
                return done.check(what).data
            except entries.Lost:
                losses += 1
                if not again or losses > 2:
                    raise
