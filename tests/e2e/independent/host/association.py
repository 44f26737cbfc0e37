"""What a user of the host means by a connection: made anew when it is lost, there for as long as it is wanted."""

import asyncio
import dataclasses

import entries
from controller import ANY_CONTROLLER, Controller
from entries import Failed

DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
BUSY_TRIES = 4
PAUSES = (0.1, 0.5, 1, 1, 2, 2, 2, 5, 5)  # before each try to come back
MOST_RETURNS = 6  # without anything good in between
# Trying once more with the same parameters will not help.
REFUSALS = ((1, 0x80), (1, 0x82), (1, 0x84))


@dataclasses.dataclass
class Place:
    """Where a controller is, and how to connect."""

    subsystem: str
    address: str
    port: int
    io_queues: int = 1
    queue_entries: int = 128
    kato_ms: int = 5000
    secret: str = ""
    controller_secret: str = ""
    header_digest: bool = False
    data_digest: bool = False
    no_flow_control: bool = False
    tls_key: str = ""
    cntlid: int = ANY_CONTROLLER
    admin_entries: int = 0  # at most; 0: unknown

    @property
    def discovery(self):
        return self.subsystem == DISCOVERY or self.of_discovery

    of_discovery: bool = False


class Association:
    def __init__(self, options, place):
        self.options, self.place = options, place
        self.controller, self.wanted, self.why = None, True, ""
        self.changed, self.recovery, self.returns = asyncio.Event(), None, 0
        self.came_back = None  # called when it has

    async def start(self):
        """A controller that is busy is asked again a little later."""
        for attempt in range(BUSY_TRIES):
            controller = Controller(self.options, self.place, self._lost)
            try:
                await controller.start()
            except Failed as failed:
                if failed.status != entries.BUSY or failed.final or attempt == BUSY_TRIES - 1:
                    raise
                await asyncio.sleep(1)
            else:
                self.controller = controller
                self.changed.set()
                return

    def _lost(self, controller, why):
        if controller is not self.controller:
            return
        self.controller = None
        self.changed.clear()
        self.options.log(f"association lost: {why}")
        self._come_back(why)

    def _come_back(self, why):
        if self.options.no_return:
            self.wanted, self.why = False, why
            self.changed.set()
        elif self.wanted and self.recovery is None:
            self.recovery = asyncio.create_task(self._recover())

    async def _recover(self):
        try:
            for pause in PAUSES:
                if self.returns >= MOST_RETURNS:
                    break
                self.returns += 1
                await asyncio.sleep(pause)
                try:
                    await self.start()
                except (Failed, OSError) as failed:
                    self.why = str(failed)
                    self.options.log(f"not back: {failed}")
                    if isinstance(failed, Failed) and (failed.final or failed.status in REFUSALS):
                        break
                else:
                    self.recovery = None
                    if self.came_back is not None:
                        await self.came_back()
                    return
            self.wanted = False
            self.options.log("given up")
        finally:
            self.recovery = None
            self.changed.set()

    async def usable(self):
        """The controller, when there is one again."""
        while self.controller is None:
            if not self.wanted:
                raise Failed(f"the association is gone: {self.why or 'it ended'}")
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), self.options.path_seconds)
            except TimeoutError:
                raise Failed("the association did not come back in time") from None
        return self.controller

    async def reset(self):
        controller = await self.usable()
        self.controller = None
        try:
            await controller.reset()
        except Failed as failed:
            self.options.log(f"reset: {failed}")
        if controller.usable:
            self.controller = controller
            self.changed.set()
        else:
            try:
                await self.start()
            except Failed as failed:
                self._come_back(str(failed))
                raise

    async def stop(self, most_seconds=3.0):
        self.wanted = False
        if self.recovery is not None:
            self.recovery.cancel()
        controller, self.controller = self.controller, None
        self.changed.set()
        if controller is not None:
            await controller.shut_down(most_seconds)
