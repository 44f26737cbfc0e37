"""Asynchronous events of a controller: asked for, understood, cleared by reading their log page, asked for again."""

import asyncio

import entries
from entries import Failed

NAMESPACES, FIRMWARE, ANA, DISCOVERY_LOG = 1 << 8, 1 << 9, 1 << 11, 1 << 31
# Pages with a length of their own; of any other page the first 512 bytes are enough to clear its event.
LENGTHS = {0x01: 64, 0x02: 512, 0x03: 512, 0x04: 4096, 0x80: 64}
FOR_ALL = {0x02}  # pages whose NSID is FFFFFFFFh for the whole controller


class Events:
    def __init__(self, controller):
        self.controller = controller
        self.heard_of_discovery = None  # what a discovery log's reader waits for

    async def begin(self):
        """Enables the notices that it claims and this host understands; then the requests."""
        controller = self.controller
        if controller.place.discovery:
            known = DISCOVERY_LOG if controller.place.kato_ms else 0
        else:
            known = NAMESPACES | FIRMWARE | ANA
        notices = controller.identity.events & known
        if controller.place.discovery and not known:
            return
        if controller.options.events_first:
            await self._ask()
        if notices or not controller.place.discovery:
            done = await controller.command(entries.set_features(0x0B, notices))
            if done.code != (0, 0):
                controller.options.log(f"Set Features, Asynchronous Event Configuration: status {done.code}")
        if not controller.options.events_first:
            await self._ask()

    async def _ask(self):
        controller = self.controller
        most = controller.admin.slots.entries - 3  # the queue has other work, too
        for _ in range(max(min(controller.options.event_requests, controller.identity.event_requests, most), 0)):
            command = await controller.admin.submit(entries.entry(entries.EVENT))
            controller.spawn(self._wait(command))

    async def _wait(self, command):
        """One request, and the next when its event is dealt with."""
        controller = self.controller
        while not controller.quiet:
            try:
                done = await command.done
                if done.code != (0, 0):
                    return controller.options.log(f"Asynchronous Event Request: status {done.code}")
                kind, info, page = done.result & 7, done.result >> 8 & 0xFF, done.result >> 16 & 0xFF
                controller.options.log(f"event {kind}/{info:02x}h, log page {page:02x}h")
                await self._handle(kind, info, page)
                command = await controller.admin.submit(entries.entry(entries.EVENT))
            except Failed as failed:
                if not controller.admin.alive:
                    return None
                controller.options.log(f"event: {failed}")
                await asyncio.sleep(0.1)
                command = await controller.admin.submit(entries.entry(entries.EVENT))
        return None

    async def _handle(self, kind, info, page):
        controller = self.controller
        if (kind, info) == (2, 0xF0):
            if self.heard_of_discovery is not None:
                await self.heard_of_discovery()
        elif (kind, info) == (2, 0x03) and controller.ana is not None:
            await controller.ana.read()
        elif page:
            await controller.log_page(page, LENGTHS.get(page, 512), entries.ALL if page in FOR_ALL else 0)
            if (kind, info) == (2, 0x00):
                await controller.look_again()
