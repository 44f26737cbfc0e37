"""Asymmetric namespace access: the states of namespaces over this controller, and waiting for a usable one."""

import asyncio
import struct

from entries import Failed

OPTIMIZED, OTHERWISE, INACCESSIBLE, LOST, CHANGES = 1, 2, 3, 4, 0xF
PERSISTENT = (3, 0x01)
PATH_STATES = (PERSISTENT, (3, 0x02), (3, 0x03))


class States:
    def __init__(self, controller):
        self.controller, self.of_namespace, self.changed = controller, {}, asyncio.Event()

    async def read(self):
        """The whole log; the change count tells whether it was one log throughout."""
        identity = self.controller.identity
        length = 16 + 32 * identity.ana_groups + 4 * (identity.most_namespaces or identity.namespaces)
        for _ in range(5):
            page = await self.controller.log_page(0x0C, length)
            if not identity.most_bytes or length <= identity.most_bytes:
                break
            if (await self.controller.log_page(0x0C, 16))[:8] == page[:8]:
                break
        self.of_namespace, at = {}, 16
        for _ in range(struct.unpack_from("<H", page, 8)[0]):
            _, count, _, state = struct.unpack_from("<IIQB", page, at)
            for nsid in struct.unpack_from(f"<{count}I", page, at + 32):
                self.of_namespace[nsid] = state & 0xF
            at += 32 + 4 * count
        self.changed.set()

    async def usable(self, nsid, most_seconds):
        """Waits until I/O makes sense; raises where it does not for long."""
        end = asyncio.get_running_loop().time() + most_seconds
        while (state := self.of_namespace.get(nsid, OPTIMIZED)) in (INACCESSIBLE, CHANGES):
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                status = (3, 0x03) if state == CHANGES else (3, 0x02)
                raise Failed(f"namespace {nsid} is in ANA state {state} for too long", status)
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), min(left, 0.5))
            except TimeoutError:
                await self.read()  # in case that the notice is late
        if state == LOST:
            raise Failed(f"namespace {nsid} is lost over this controller", PERSISTENT)
