"""One association with one controller, from Connect to its end: bring it up, keep it alive, take it down."""

import asyncio
import contextlib
import struct

import dhchap
import entries
from ana import States
from connection import Connection
from entries import Failed, Lost, TimedOut
from events import Events
from identity import Identity
from keep_alive import keep_alive
from namespaces import find_namespaces

CAP, VS, CC, CSTS, CRTO = 0x00, 0x08, 0x14, 0x1C, 0x68
ENABLE, NORMAL_SHUTDOWN = 1, 1 << 14
READY, FATAL = 1, 2
DISCOVERY_TYPE = 2
NO_CONTROLLER = 0xFFF0  # and above
PATIENCE = 5  # seconds for a path error without ANA
ANY_CONTROLLER = 0xFFFF


class Controller:
    def __init__(self, options, place, lost):
        self.options, self.place, self.on_lost = options, place, lost
        self.admin, self.io, self.turn = None, [], 0
        self.usable, self.over, self.quiet = False, False, False
        self.cap = self.version = self.cc = 0
        self.identity, self.namespaces, self.ana = None, {}, None
        self.tasks, self.aborts = [], 0
        self.delays_on = False
        self.events = Events(self)

    # ---- bringing it up ----

    async def start(self):
        try:
            await self._connect_queue(0, self._admin_entries(), self.place.cntlid)
            await self._bring_up()
        except BaseException as error:
            self.drop(str(error) or "cancelled")
            raise

    async def _bring_up(self):
        await self._enable()
        await self._learn()
        self.spawn(keep_alive(self))
        if not self.place.discovery:
            await self._choose_command_sets()
            if self.identity.kind in (0, 1) and not self._administrative():
                await self._connect_io_queues()
            if self.identity.ana:
                self.ana = States(self)
                await self.ana.read()
            self.namespaces = await find_namespaces(self)
            if self.options.curious:
                await self._look_around()
        await self.events.begin()
        self.usable = True

    def _administrative(self):
        return self.cc >> 4 & 7 == 7

    def _admin_entries(self):
        return min(self.options.admin_entries, self.place.admin_entries or 0xFFFF)

    async def _connect_queue(self, qid, size, cntlid):
        connection = Connection(self.options, qid, self._queue_lost)
        if qid == 0:
            self.admin = connection
        else:
            self.io.append(connection)
        await connection.open(self.place)
        asks_off = self.options.no_flow_control or self.place.no_flow_control
        attributes = asks_off << 2 | self.options.single_disconnects << 3
        kato = self.place.kato_ms if qid == 0 else 0
        data = entries.connect_data(self.options.host_id, cntlid, self.place.subsystem, self.options.host)
        done = await connection.execute(entries.connect(qid, size, attributes, kato), data)
        if done.code == entries.INVALID_PARAMETERS:
            where = "data" if done.result >> 16 & 1 else "command"
            raise Failed(f"Connect of queue {qid}: byte {done.result & 0xFFFF} of the {where}", done.code, done.final)
        done.check(f"Connect of queue {qid}")
        got, asked = done.result & 0xFFFF, done.result >> 16 & 0xFFFF
        if got >= NO_CONTROLLER or qid and got != cntlid:
            raise Failed(f"Connect of queue {qid}: controller {got:04x}h")
        self.cntlid = got
        connection.slots.joins(size, not (asks_off and done.sqhd == 0xFFFF), done.sqhd)
        if asked & 4:
            raise Failed("the controller asks for a secure channel, which this host does not have")
        if asked & 2:
            await dhchap.authenticate(self, connection)
        return connection

    async def authenticate_again(self):
        try:
            for connection in (self.admin, *self.io):
                await dhchap.authenticate(self, connection)
        except Failed as failed:
            self.drop(str(failed))
            raise

    async def _enable(self):
        self.cap = (await self._property(CAP, 8)).result
        self.version = (await self._property(VS)).result & 0xFFFFFFFF
        self.cc = (await self._property(CC)).result & 0xFFFFFFFF
        if self.cc & ENABLE:
            await self._set_cc(self.cc & ~ENABLE)
        await self._wait(lambda csts: not csts & READY, "is not disabled")
        await self._set_cc(self._configuration())
        await self._wait(lambda csts: csts & READY, "is not ready")

    def _configuration(self):
        smallest = self.cap >> 48 & 0xF
        offered = self.cap >> 37 & 0xFF
        if offered & 0x40:
            sets = 6
        elif offered & 1:
            sets = 0
        elif offered & 0x80:
            sets = 7
        else:
            raise Failed("the controller offers no command set")
        sizes = 0 if self.place.discovery else 6 << 16 | 4 << 20
        return sizes | smallest << 7 | sets << 4 | ENABLE

    async def _set_cc(self, value):
        (await self.admin.execute(entries.property_set(CC, value))).check("Property Set of CC")
        self.cc = value

    async def _property(self, offset, size=4):
        return (await self.admin.execute(entries.property_get(offset, size))).check(f"Property Get of {offset:02x}h")

    async def _ready_seconds(self):
        if self.cap >> 59 & 1:
            with contextlib.suppress(Failed):
                return ((await self._property(CRTO)).result & 0xFFFF) * 0.5
        return (self.cap >> 24 & 0xFF) * 0.5

    async def _wait(self, wanted, otherwise):
        seconds = max(await self._ready_seconds(), 0.5)
        end = asyncio.get_running_loop().time() + seconds
        pause = 0.005
        while True:
            csts = (await self._property(CSTS)).result
            if csts & FATAL:
                raise Failed("the controller has failed: CSTS.CFS")
            if wanted(csts):
                return
            if asyncio.get_running_loop().time() > end:
                raise Failed(f"the controller {otherwise} after {seconds} s")
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)

    async def _learn(self):
        page = (await self.command(entries.identify(1), wanted=4096)).check("Identify Controller").data
        self.identity = Identity(page, 4096 << (self.cap >> 48 & 0xF))
        if self.identity.cntlid != self.cntlid:
            raise Failed(f"Identify names controller {self.identity.cntlid:04x}h, Connect {self.cntlid:04x}h")
        if self.place.discovery and self.identity.kind not in (0, DISCOVERY_TYPE):
            raise Failed("that is no discovery controller")
        if any(self.identity.retry_delays) and not self.place.discovery:
            # Host Behavior Support, ACRE: delays count only for hosts that say so.
            behaviour = bytes([1]).ljust(512, b"\0")
            self.delays_on = (await self.command(entries.set_features(0x16), behaviour)).code == (0, 0)

    async def _choose_command_sets(self):
        """With all command sets enabled, a combination that has the NVM command set."""
        if self.cc >> 4 & 7 != 6:
            return
        done = await self.command(entries.identify(0x1C, cntid=self.cntlid), wanted=4096)
        vectors = struct.unpack("<512Q", done.data.ljust(4096, b"\0"))
        if done.code != (0, 0) or not any(vectors[1:]):
            return  # it has no choice
        index = next((index for index, vector in enumerate(vectors) if vector & 1), None)
        if index is not None:
            (await self.command(entries.set_features(0x19, index))).check("Set Features, I/O Command Set Profile")

    async def _look_around(self):
        """Nothing of this is needed, and a controller may refuse some of it."""
        looks = [entries.identify(3, nsid) for nsid in self.namespaces]
        looks += [entries.entry(entries.GET_FEATURES, 0, (feature,)) for feature in (1, 2, 4, 7, 0x0B, 0x0F)]
        for sqe in looks:
            await self._once(self.admin, sqe, wanted=4096 if sqe[0] == entries.IDENTIFY else 0)
        for page, length in ((1, 64), (2, 512), (3, 512)):
            await self._once(self.admin, entries.log_page(page, length, nsid=entries.ALL), wanted=length)

    async def _connect_io_queues(self):
        wanted = self.place.io_queues
        value = wanted - 1 | (wanted - 1) << 16
        done = (await self.command(entries.set_features(7, value))).check("Set Features, Number of Queues")
        granted = min(done.result & 0xFFFF, done.result >> 16 & 0xFFFF) + 1
        size = min(self.place.queue_entries, self.options.io_entries, (self.cap & 0xFFFF) + 1)
        for qid in range(1, min(wanted, granted) + 1):
            connection = await self._connect_queue(qid, max(size, 2), self.cntlid)
            connection.capsule_room = self.identity.capsule_room
            if self.identity.most_commands:
                connection.slots.limit = min(connection.slots.limit, self.identity.most_commands)

    # ---- keeping it ----

    def spawn(self, work):
        self.tasks.append(asyncio.create_task(work))

    async def command(self, sqe, out=b"", wanted=0, short=False):
        """An admin command. What may succeed later is tried a few times more."""
        return await self.repeated(lambda: self._once(self.admin, sqe, out, wanted, short))

    async def repeated(self, once):
        for attempt in range(self.options.retries + 1):
            done = await once()
            if attempt == self.options.retries or not entries.worth_repeating(done):
                return done
            named = self.identity.retry_delays[done.delay] / 10 if self.delays_on else 0
            await asyncio.sleep(named or 0.05 * (attempt + 1))
        return None

    async def _once(self, connection, sqe, out=b"", wanted=0, short=False):
        if self.quiet:
            raise Lost("the controller is shutting down")
        try:
            return await connection.execute(bytearray(sqe), out, wanted, short)
        except TimedOut as late:
            await self._give_up(connection, late)
            raise

    async def io_command(self, sqe, out=b"", wanted=0):
        """One attempt, on the queues in turn."""
        if not self.io:
            raise Failed("the controller has no I/O queue")
        self.turn += 1
        return await self._once(self.io[self.turn % len(self.io)], sqe, out, wanted)

    async def _give_up(self, connection, late):
        """Abort it; where even that ends nothing, end the association, and the command with it."""
        if connection.qid and connection.alive and self.aborts < self.identity.aborts:
            self.aborts += 1
            abort = entries.entry(entries.ABORT, 0, (late.command.cid << 16 | connection.qid,))
            with contextlib.suppress(Failed):
                await self.admin.execute(abort, urgent=True, seconds=2)
            self.aborts -= 1
            with contextlib.suppress(Failed):
                await connection.result(late.command, 1)
                return
        self.drop(str(late))

    async def log_page(self, lid, length, nsid=0):
        """A whole log page, in pieces where it is longer than a transfer may be."""
        page, most = b"", self.identity.most_bytes or length
        if length > most and not self.identity.logs_have_offsets:
            raise Failed(f"log page {lid:02x}h is too long for one transfer")
        while len(page) < length:
            wanted = min(most, length - len(page))
            done = await self.command(entries.log_page(lid, wanted, len(page), nsid), wanted=wanted)
            page += done.check(f"Get Log Page {lid:02x}h").data
        return page

    def rank(self, nsid):
        return self.ana.rank(nsid) if self.ana is not None else 0

    def reaches(self, nsid):
        return self.ana is None or self.ana.reaches(nsid)

    @property
    def patience(self):
        """How long a command may wait for a path: ANATT, where there is one."""
        return self.identity.ana_seconds + 1 if self.ana is not None else PATIENCE

    async def look_again(self):
        self.namespaces = await find_namespaces(self)

    # ---- taking it down ----

    def _queue_lost(self, connection, why):
        """Without a queue the association is over."""
        if not (self.quiet and connection.qid):
            self.drop(f"queue {connection.qid}: {why}")

    def drop(self, why):
        if self.over:
            return
        self.over, was_usable, self.usable = True, self.usable, False
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        for connection in (self.admin, *self.io):
            if connection is not None:
                connection.close()
        if was_usable:
            self.on_lost(self, why)

    async def _silence(self):
        """From here on only Fabrics commands."""
        self.usable, self.quiet = False, True
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        running = [command.done for connection in self.io for command in connection.open_commands.values()]
        if running:
            await asyncio.wait(running, timeout=0.5)

    async def shut_down(self, most_seconds=3.0):
        """CC.SHN, and the controller's time to finish; then the connections."""
        with contextlib.suppress(Failed, TimeoutError):
            async with asyncio.timeout(most_seconds):
                await self._silence()
                if self.options.single_disconnects and self.identity.disconnects:
                    await self._disconnect_queues()
                await self._set_cc(self.cc | NORMAL_SHUTDOWN)
                await self._until_done()
        self.drop("shut down")

    async def _disconnect_queues(self):
        for connection in self.io:
            done = await connection.execute(entries.fabrics(entries.DISCONNECT, b""))
            done.check("Disconnect")

    async def _until_done(self):
        while (await self._property(CSTS)).result >> 2 & 3 != 2:
            await asyncio.sleep(0.02)

    async def reset(self):
        """CC.EN to 0 and RDY with it. What comes afterwards is another association."""
        await self._silence()
        try:
            await self._set_cc(self.cc & ~ENABLE)
            await self._wait(lambda csts: not csts & READY, "is not disabled")
            if self.options.reset_in_place:
                await self._begin_again()
        finally:
            if not self.usable:
                self.drop("reset")

    async def _begin_again(self):
        """The admin queue is still there. The I/O queues, and the commands that were open, are not."""
        for connection in self.io:
            connection.close()
        self.io, self.tasks, self.quiet = [], [], False
        self.admin.forget_commands()
        await self._bring_up()
