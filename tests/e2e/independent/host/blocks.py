"""Reading and writing namespaces: in pieces, and over whatever association is there for it."""

import asyncio

import entries
from entries import Failed

OWN_MOST = 1 << 20  # bytes of a transfer where the controller has no limit


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
    """I/O over the associations of one subsystem, which may be made anew in between. Without joined paths it is one."""

    def __init__(self, options, associations):
        self.options, self.associations = options, associations

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
        await self._path(nsid, ())
        await self._done(nsid, entries.entry(entries.FLUSH, nsid), "Flush", again=True)

    @staticmethod
    async def _all(works):
        results = await asyncio.gather(*works, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    async def _pieces(self, nsid, lba, length):
        controller = await self._path(nsid, ())
        namespace = controller.namespaces[nsid]
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

    async def _path(self, nsid, avoided):
        """The controller over which the namespace is reached best; those to be avoided only where there is no other."""
        end = asyncio.get_running_loop().time() + self.options.path_seconds
        while not (usable := [each.controller for each in self.associations if each.controller is not None]):
            if not any(each.wanted for each in self.associations):
                raise Failed(f"the association is gone: {self.associations[-1].why or 'it ended'}")
            if asyncio.get_running_loop().time() > end:
                raise Failed("the association did not come back in time")
            await asyncio.sleep(0.02)
        knowing = [controller for controller in usable if nsid in controller.namespaces]
        if not knowing:
            raise Failed(f"there is no namespace {nsid}")
        return min(knowing, key=lambda controller: (controller in avoided, controller.rank(nsid)))

    async def _done(self, nsid, sqe, what, out=b"", wanted=0, again=False):
        """The command, with its repetitions. `again`: after a loss of the association it may simply be sent once more.
        A write may not: the old one may still be under way, and would then come after something newer."""
        began, losses, avoided = asyncio.get_running_loop().time(), 0, set()
        while True:
            controller = await self._path(nsid, avoided)
            left = began + controller.patience - asyncio.get_running_loop().time()
            if not controller.reaches(nsid):
                await self._wait_for_a_path(controller, nsid, left)
                continue
            try:
                done = await controller.repeated(lambda: controller.io_command(sqe, out, wanted))
            except entries.Lost:
                losses += 1
                if not again or losses > 2:
                    raise
                continue
            if done.code[0] != entries.PATH or done.final or left <= 0 or controller in avoided:
                return done.check(what).data
            if controller.ana is not None and controller.ana.takes(nsid, done.code):
                await asyncio.sleep(0.1)  # in which a notice may come
            else:
                avoided.add(controller)

    async def _wait_for_a_path(self, controller, nsid, left):
        """Nobody reaches it. Other states may come, in ANATT; a loss is for good."""
        if controller.ana.is_lost(nsid):
            raise Failed(f"namespace {nsid} is lost over this controller", (entries.PATH, 0x01))
        if left <= 0:
            raise Failed(f"namespace {nsid} is not accessible for too long", (entries.PATH, 0x02))
        await asyncio.sleep(min(0.2, left))
        for each in self.associations:
            if each.controller is not None and each.controller.ana is not None:
                await each.controller.ana.read()  # in case that a notice is late
