"""One NVMe/TCP connection of a host, which is one queue: its handshake, its PDUs, and the data of its commands."""

import asyncio
import collections
import contextlib
import struct

import pdu
import tls
from command import Command
from entries import FABRICS, TRANSIENT, Completion, Failed, Lost, TimedOut
from pdu import Fatal
from slots import Slots

CAPSULE_OF_ADMIN = 8192  # every controller takes as much with admin and Fabrics commands, on whatever queue
IN_CAPSULE, TRANSPORT = 0x01, 0x5A


class Connection:
    def __init__(self, options, qid, lost):
        self.options, self.qid, self.lost = options, qid, lost
        self.reader = self.writer = self.tunnel = None
        self.format, self.alive, self.ending, self.told = pdu.Format(), False, False, False
        self.open_commands, self.next_cid = {}, 0
        self.tasks, self.r2ts, self.r2t_there = [], collections.deque(), asyncio.Event()
        self.slots = Slots(keeps_one=qid == 0)  # for Keep Alive and Abort
        self.capsule_room = 0  # for I/O commands

    # ---- the connection ----

    async def open(self, place):
        seconds = self.options.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                await self._connect(place)
                await self._handshake(3 if self.options.digests else place.header_digest | place.data_digest << 1)
        except TimeoutError:
            self.close()
            raise Failed(f"queue {self.qid}: no connection within {seconds} s") from None
        except Fatal as fatal:
            await self._terminate(fatal)
            raise Failed(f"queue {self.qid}: {fatal}") from None
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Lost(f"queue {self.qid}: {error or 'no ICResp'}") from None
        self.alive = True
        self.tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._send_data())]

    async def _connect(self, place):
        limit = 1 << 20
        if place.tls_key:
            self.reader, self.writer, self.tunnel = await tls.open_tunnel(place, self.options.host, limit)
        else:
            self.reader, self.writer = await asyncio.open_connection(place.address, place.port, limit=limit)

    async def _handshake(self, asked):
        self._send(pdu.icreq(self.options.alignment, asked, self.options.r2ts))
        start = await self.reader.readexactly(8)
        kind, _, hlen, _, plen = struct.unpack("<BBBBI", start)
        if kind == pdu.C2H_TERM:
            raise ConnectionError("the controller ended it instead of ICResp")
        if kind != pdu.ICRESP:
            known = kind in pdu.HEADERS
            raise Fatal("a PDU before ICResp", pdu.SEQUENCE if known else pdu.FIELD, 0, await self._rest(start))
        if hlen != 128 or plen != 128:
            raise Fatal("ICResp of another length", pdu.FIELD, 2 if hlen != 128 else 4, await self._rest(start))
        response = start + await self.reader.readexactly(120)
        version, alignment, digests, most = struct.unpack_from("<HBBI", response, 8)
        for wrong, offset in ((version != 0, 8), (alignment > 31, 10), (digests & 3 & ~asked, 11),
                              (most == 0 or most % 4, 12)):
            if wrong:
                raise Fatal(f"ICResp: byte {offset}", pdu.FIELD, offset, response)
        self.format = pdu.Format(bool(digests & 1), bool(digests & 2), 4 * (alignment + 1), most)

    async def _rest(self, start):
        """The rest of a header that is wrong, as far as it comes at once."""
        wanted = pdu.HEADERS.get(start[0], min(max(start[2], 8), 128))
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError, OSError):
            async with asyncio.timeout(0.1):
                return start + await self.reader.readexactly(wanted - 8)
        return start

    async def _terminate(self, fatal):
        """Says why, then nothing more; the controller has a moment to close, so that no reset overtakes the reason."""
        self.alive, self.ending = False, True
        self._log(f"fatal: {fatal}")
        with contextlib.suppress(OSError, TimeoutError):
            self.writer.write(pdu.term_request(fatal))
            self.writer.write_eof()
            self._fail_all(f"the controller broke a rule: {fatal}")
            async with asyncio.timeout(1):
                while await self.reader.read(65536):
                    pass
        self.ending = False
        self.close()

    def close(self):
        self.alive = False
        self._fail_all("the connection was closed")
        if self.ending:
            return
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        if self.writer is not None:
            self.writer.close()
        if self.tunnel is not None and self.tunnel.returncode is None:
            self.tunnel.kill()

    def _fail_all(self, why):
        self.forget_commands(why)
        self.slots.wake()
        if self.tasks and not self.told:  # it was open
            self.told = True
            self.lost(self, why)

    def forget_commands(self, why="the controller was reset"):
        """Those that are open have no completion any more."""
        commands, self.open_commands, self.slots.open = self.open_commands, {}, 0
        for command in commands.values():
            command.fails(Lost(f"queue {self.qid}: {why}"))

    def _log(self, text):
        self.options.log(f"queue {self.qid}: {text}")

    # ---- submission ----

    async def submit(self, sqe, out=b"", wanted=0, short=False, urgent=False):
        """Sends a command as soon as the queue has room."""
        await self.slots.take(urgent, lambda: self.alive)
        if not self.alive:
            raise Lost(f"queue {self.qid}: the connection is gone")
        is_fabrics = sqe[0] == FABRICS
        room = CAPSULE_OF_ADMIN if is_fabrics or self.qid == 0 else self.capsule_room
        in_capsule = bool(out) and len(out) <= room and (is_fabrics or self.options.in_capsule)
        command = Command(self._identifier(), out, wanted, short, in_capsule)
        self.open_commands[command.cid] = command
        struct.pack_into("<H", sqe, 2, command.cid)
        if out or wanted:
            struct.pack_into("<QI3xB", sqe, 24, 0, len(out) or wanted, IN_CAPSULE if in_capsule else TRANSPORT)
        if is_fabrics and self.options.plain_fabrics:
            sqe[1] = 0
        self._send(self.format.pdu(pdu.CAPSULE, 0, bytes(sqe), out if in_capsule else b""))
        return command

    def _send(self, data):
        pieces = 91 if self.options.split else 0
        for at in range(0, pieces, 13):
            self.writer.write(data[at:at + 13])
        self.writer.write(data[pieces:])

    def _identifier(self):
        if self.options.reuse_cids:
            self.next_cid = 0
        while self.next_cid in self.open_commands:
            self.next_cid = (self.next_cid + 1) % 0xFFFF
        cid, self.next_cid = self.next_cid, (self.next_cid + 1) % 0xFFFF
        return cid

    async def execute(self, sqe, out=b"", wanted=0, short=False, urgent=False, seconds=None):
        command = await self.submit(sqe, out, wanted, short, urgent)
        return await self.result(command, seconds or self.options.timeout)

    async def result(self, command, seconds):
        try:
            return await asyncio.wait_for(asyncio.shield(command.done), seconds)
        except TimeoutError:
            raise TimedOut(f"queue {self.qid}: no completion within {seconds} s", command) from None

    # ---- reception ----

    async def _read(self):
        try:
            while True:
                await self._pdu()
        except Fatal as fatal:
            await self._terminate(fatal)
        except (OSError, asyncio.IncompleteReadError) as error:
            self._log(f"lost: {error}")
            self.close()

    async def _pdu(self):
        start = await self.reader.readexactly(8)
        kind, flags, hlen, place, plen = struct.unpack("<BBBBI", start)
        if kind == pdu.C2H_TERM:
            raise ConnectionError("the controller ended it")
        if kind not in pdu.HEADERS:
            raise Fatal("no PDU of a controller", pdu.FIELD, 0, await self._rest(start))
        if kind == pdu.ICRESP:
            raise Fatal("a second ICResp", pdu.SEQUENCE, 0, await self._rest(start))
        digest = 4 * self.format.header_digest
        for wrong, offset in ((hlen != 24, 2), (plen < 24 + digest, 4)):
            if wrong:
                raise Fatal(f"PDU of another shape: byte {offset}", pdu.FIELD, offset, await self._rest(start))
        header = start + await self.reader.readexactly(16)
        if digest and flags & pdu.HDGSTF:
            received = await self.reader.readexactly(4)
            if received != pdu.crc32c(header):
                raise Fatal("header digest", pdu.HEADER_DIGEST, struct.unpack("<I", received)[0], header)
        if bool(flags & pdu.HDGSTF) != self.format.header_digest:
            raise Fatal("HDGSTF is not what was agreed on", pdu.FIELD, 1, header)
        if kind == pdu.C2H_DATA:
            return await self._data(header, flags, place, plen, 24 + digest)
        if plen != 24 + digest:
            raise Fatal("PLEN", pdu.FIELD, 4, header)
        return self._response(header) if kind == pdu.RESPONSE else self._r2t(header)

    def _known(self, cid, header):
        command = self.open_commands.get(cid)
        if command is None:
            raise Fatal(f"no command {cid:04x}h is open", pdu.FIELD, 8, header)
        return command

    async def _data(self, header, flags, place, plen, end):
        cid, _, _, length = struct.unpack_from("<HHII", header, 8)
        tail = 4 * self.format.data_digest
        if bool(flags & pdu.DDGSTF) != self.format.data_digest:
            raise Fatal("DDGSTF is not what was agreed on", pdu.FIELD, 1, header)
        if flags & pdu.SUCCESS and not flags & pdu.LAST:
            raise Fatal("SUCCESS without LAST_PDU", pdu.FIELD, 1, header)
        if place < end or place % (4 * self.options.alignment):
            raise Fatal("PDO", pdu.FIELD, 3, header)
        if plen != place + length + tail:
            raise Fatal("PLEN is not that of the data", pdu.FIELD, 4, header)
        command = self._known(cid, header)
        command.expects(header)
        await self.reader.readexactly(place - end)
        data = await self.reader.readexactly(length)
        if tail and await self.reader.readexactly(4) != pdu.crc32c(data):
            command.spoilt = True
        command.arrived += data
        command.last = bool(flags & pdu.LAST)
        if flags & pdu.SUCCESS:
            self._complete(command, Completion(), None)
        # However much there is to read: the other queues have their turn. Not after an R2T: what came together with it
        # is looked at before its data goes, or one too many would not be noticed.
        await asyncio.sleep(0)

    def _response(self, header):
        result, head, _, cid, status = struct.unpack_from("<QHHHH", header, 8)
        command = self.open_commands.get(cid)
        if command is None:
            raise Fatal(f"completion of {cid:04x}h, which is not open", pdu.FIELD, 20, header)
        self._complete(command, Completion(result, head, status >> 1), head)

    def _complete(self, command, completion, head):
        del self.open_commands[command.cid]
        self.r2ts = collections.deque(r2t for r2t in self.r2ts if r2t[0] is not command)
        completion.data = bytes(command.arrived)
        if completion.status == 0 and not command.whole:
            self._log("success, but not with all the data as it was")
            completion.status = TRANSIENT[1]
        command.complete(completion)
        self.slots.completes(head)
        self.slots.wake()

    def _r2t(self, header):
        cid, tag = struct.unpack_from("<HH", header, 8)
        command = self._known(cid, header)
        self.r2ts.append((command, tag, *command.asked_for(header, self.options.r2ts)))
        self.r2t_there.set()

    async def _send_data(self):
        """Serves R2Ts in the order in which they came."""
        with contextlib.suppress(OSError):
            while True:
                await self.r2t_there.wait()
                self.r2t_there.clear()
                while self.r2ts:
                    await self._serve(*self.r2ts.popleft())

    async def _serve(self, command, tag, offset, length):
        most = min(self.format.most_data, 512) if self.options.small_data else self.format.most_data
        for at in range(offset, offset + length, most):
            if not self.alive or command.done.done():
                return
            data = command.out[at:min(at + most, offset + length)]
            last = at + len(data) == offset + length
            self._send(self.format.data_pdu(command.cid, tag, at, data, last))
            if last:
                command.r2ts -= 1
            await self.writer.drain()
            await asyncio.sleep(0)
