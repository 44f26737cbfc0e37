"""Keep Alive, in time: each half of the timeout; where traffic counts, whenever there was none for a quarter."""

import asyncio

import entries
from entries import Lost, TimedOut


async def keep_alive(controller):
    seconds, identity = controller.place.kato_ms / 1000, controller.identity
    if not seconds or not identity.keep_alive_units and not controller.place.discovery:
        return
    pause = seconds / 4 if identity.traffic_counts else seconds / 2
    sent_before = 0
    while True:
        await asyncio.sleep(pause)
        sent = sum(connection.slots.sent for connection in (controller.admin, *controller.io))
        if identity.traffic_counts and sent != sent_before:
            sent_before = sent
            continue
        sent_before = sent + 1
        try:
            sqe = entries.entry(entries.KEEP_ALIVE)
            done = await controller.admin.execute(sqe, urgent=True, seconds=seconds / 2)
        except TimedOut as late:
            # What was sent before is half a timeout old: the controller may be gone as well.
            return controller.drop(f"Keep Alive: {late}")
        except Lost:
            return
        if done.code != (0, 0):
            controller.options.log(f"Keep Alive: status {done.code}")
