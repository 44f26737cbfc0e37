"""NVMe/TCP for the independent subsystem: one connection, its PDUs, and the data of commands."""

import asyncio
import contextlib
import random
import struct

from subsystem import DATA_LENGTH, DESCRIPTOR_TYPE, SEQUENCE, SGL_OFFSET, Answer, Command

MAXH2CDATA = 4096
IN_CAPSULE, TRANSPORT = 0x01, 0x5A
HEADER_FIELD, PDU_SEQUENCE, HEADER_DIGEST, OUT_OF_RANGE, LIMIT = 1, 2, 3, 4, 5


def _table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = tuple(_table())


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return struct.pack("<I", value ^ 0xFFFFFFFF)


class Fatal(Exception):
    """A PDU that ends the connection: status, what it is about, and the header that was wrong."""

    def __init__(self, reason, about, header):
        super().__init__(reason)
        self.reason, self.about, self.header = reason, about, bytes(header)


class Queue:
    def __init__(self, subsystem, reader, writer):
        self.subsystem, self.options, self.reader, self.writer = subsystem, subsystem.options, reader, writer
        self.controller = self.qid = None
        self.entries = self.head = 0
        self.flow_control, self.connected = True, False
        self.tag, self.transfers, self.tasks = 0, {}, set()
        self.unit, self.header_digest, self.data_digest = 4, False, False

    def joins(self, controller, qid, entries, flow_control):
        self.controller, self.qid, self.entries, self.flow_control = controller, qid, entries, flow_control
        self.head = 1

    def close(self):
        self.writer.close()

    async def run(self):
        try:
            await self._open()
            while True:
                await self._pdu()
        except Fatal as fatal:
            if self.options.defect == "deaf":
                return await self.reader.read()
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await self._terminate(fatal)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.close()
            if self.controller is not None:
                self.controller.leave(self)

    async def _terminate(self, fatal):
        self.writer.write(struct.pack("<BBBBIHI10x", 3, 0, 24, 0, 24 + len(fatal.header), fatal.reason, fatal.about) + fatal.header)
        if self.options.slow_close:
            return await asyncio.sleep(30)
        self.writer.write_eof()
        await asyncio.wait_for(self.reader.read(), 1)  # what the host says still would reset the connection

    async def _open(self):
        header = await self.reader.readexactly(8)
        kind, _, hlen, _, plen = struct.unpack("<BBBBI", header)
        if kind != 0:
            raise Fatal(PDU_SEQUENCE, 0, header)
        if hlen != 128 or plen != 128:
            raise Fatal(HEADER_FIELD, 2 if hlen != 128 else 4, header)
        request = header + await self.reader.readexactly(120)
        form, alignment, digests = struct.unpack_from("<HBB", request, 8)
        if form != 0 or alignment > 31:
            raise Fatal(HEADER_FIELD, 8 if form != 0 else 10, request)
        self.unit = 4 * (alignment + 1)
        granted = digests & 3 if self.options.digests else 0
        defect = self.options.defect
        if defect == "no-icresp":
            return await self.reader.read()
        pfv, cpda, most = defect == "icresp-pfv", 32 * (defect == "icresp-cpda"), 1024 if defect == "icresp-maxh2cdata" else MAXH2CDATA
        self.writer.write(struct.pack("<BBBBIHBBI", 1, 0, 128, 0, 128, pfv, cpda, granted, most).ljust(128, b"\0"))
        if defect == "second-icresp":
            self.writer.write(struct.pack("<BBBBIHBBI", 1, 0, 128, 0, 128, 0, 0, granted, MAXH2CDATA).ljust(128, b"\0"))
        self.header_digest, self.data_digest = bool(granted & 1), bool(granted & 2)

    async def _pdu(self):
        start = await self.reader.readexactly(8)
        kind, flags, hlen, pdo, plen = struct.unpack("<BBBBI", start)
        if kind == 2:
            raise ConnectionError("the host has ended it")
        if kind not in (4, 6):
            raise Fatal(PDU_SEQUENCE if kind == 0 else HEADER_FIELD, 0, start)
        size = 72 if kind == 4 else 24
        if hlen != size:
            raise Fatal(HEADER_FIELD, 2, start)
        body = size + 4 * self.header_digest
        most = body + 128 + (8192 if kind == 4 else MAXH2CDATA) + 4
        has_data = plen > body
        wrong_flags = flags & ~0x07 or kind == 4 and flags & 4 or bool(flags & 1) != self.header_digest
        if wrong_flags or bool(flags & 2) != (self.data_digest and has_data):
            raise Fatal(HEADER_FIELD, 1, start)
        if plen < body or plen > most:
            raise Fatal(LIMIT if kind == 6 and plen > most else HEADER_FIELD, 4, start)
        header = start + await self.reader.readexactly(size - 8)
        rest = await self.reader.readexactly(plen - size)
        if self.header_digest and rest[:4] != crc32c(header):
            raise Fatal(HEADER_DIGEST, struct.unpack("<I", rest[:4])[0], header)
        tail = 4 if self.data_digest and has_data else 0
        if has_data and (pdo < body or pdo % 4 or pdo + tail > plen):
            raise Fatal(HEADER_FIELD, 3, header)
        data = rest[pdo - size:len(rest) - tail] if has_data else b""
        good = tail == 0 or crc32c(data) == rest[-4:]
        if kind == 6:
            self._data(header, data, bool(flags & 4), good)
        else:
            command = Command(header[8:], data)
            if self.options.shuffle and self.qid:
                task = asyncio.ensure_future(self._command(command, good))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            else:
                await self._command(command, good)
        await self.writer.drain()

    # ---- commands and their data ----

    async def _command(self, command, good):
        if self.entries:
            self.head = (self.head + 1) % self.entries
        if self.controller is not None:
            self.controller.heard = asyncio.get_running_loop().time()
        if not good:
            return self.complete(command.cid, 0x22)  # Transient Transport Error
        connects = command.opcode == 0x7F and command.sqe[4] == 1 and command.flags == 0x40
        if connects:
            answer = self.subsystem.connect(self, command)
        else:
            answer = self.controller.execute(self, command) if self.controller is not None else Answer(SEQUENCE)
        if self.options.shuffle and self.qid:
            await asyncio.sleep(random.random() / 100)
        if answer.later:
            return None
        if answer.finish is not None and not answer.status:
            return self._take(command, answer)
        if answer.data is not None and not answer.status:
            if command.descriptor != TRANSPORT or command.length < len(answer.data):
                return self.complete(command.cid, DESCRIPTOR_TYPE if command.descriptor != TRANSPORT else DATA_LENGTH)
            success = self.qid != 0 and not self.flow_control or self.options.success_always
            if self.options.defect == "early-response":
                self.complete(command.cid, answer.status, answer.result)
                return self._send(command.cid, answer.data, False)
            if self.options.defect != "no-data" and not (self.options.defect == "no-read-data" and self.qid and command.sqe[0] == 2):
                self._send(command.cid, answer.data, success)
            if success:
                return None
        return self.complete(command.cid, answer.status, answer.result)

    def complete(self, cid, code, result=bytes(8)):
        head = self.head
        if self.options.defect == "sqhd-stuck" and self.qid == 0:
            head = 1
        if not self.flow_control:
            head = 0 if self.connected else 0xFFFF
        self.connected = self.controller is not None
        if self.options.defect == "wrong-cid":
            cid ^= 0x8000
        self._write(5, 0, result + struct.pack("<HHHH", head, 0, cid, code << 1), b"")
        if self.options.defect == "response-flood" and not self.tasks:
            self.tasks.add(asyncio.ensure_future(self._flood()))

    async def _flood(self):
        again = struct.pack("<BBBBI16x", 5, 0, 24, 0, 24) * 2048
        with contextlib.suppress(OSError):
            while not self.writer.is_closing():
                self.writer.write(again)
                await self.writer.drain()

    def _write(self, kind, flags, fields, data):
        """A PDU with what was agreed on."""
        size = 8 + len(fields)
        body = size + 4 * self.header_digest
        pdo = -(-body // self.unit) * self.unit if data else 0
        digest = crc32c(data) if data and self.data_digest else b""
        flags |= self.header_digest | bool(digest) << 1
        header = struct.pack("<BBBBI", kind, flags, size, pdo, max(body, pdo + len(data) + len(digest))) + fields
        start = header + (crc32c(header) if self.header_digest else b"")
        self.writer.write((start.ljust(pdo, b"\0") if data else start) + data + digest)

    def _send(self, cid, data, success):
        piece = 512 if self.options.pieces else 65536
        for at in range(0, len(data), piece):
            part = data[at:at + piece]
            last = at + len(part) == len(data)
            shift = 512 if self.options.defect == "datao" else 0
            self._write(7, (12 if success else 4) if last else 0, struct.pack("<HHII4x", cid, 0, at + shift, len(part)), part)

    def _take(self, command, answer):
        """Data of the host, from its capsule or by R2Ts."""
        if command.descriptor == IN_CAPSULE:
            wrong = SGL_OFFSET if command.address or command.length > self.options.capsule else 0
            if not wrong and (command.length < answer.wanted or len(command.data) < command.length):
                wrong = DATA_LENGTH
            return self._finish(command, wrong or answer.finish(command.data[:answer.wanted]))
        if command.descriptor != TRANSPORT or command.length < answer.wanted:
            return self._finish(command, DESCRIPTOR_TYPE if command.descriptor != TRANSPORT else DATA_LENGTH)
        return self._ask(command, answer, bytearray())

    def _finish(self, command, code):
        self.complete(command.cid, self.controller.failed(self, command, code) if code else 0)

    def _ask(self, command, answer, arrived):
        left = answer.wanted - len(arrived)
        self.tag = (self.tag + 1) & 0xFFFF
        length = min(left, 512) if self.options.pieces else left
        self.transfers[self.tag] = (command, answer, arrived, len(arrived) + length)
        self._write(9, 0, struct.pack("<HHII4x", command.cid, self.tag, len(arrived), length), b"")

    def _data(self, header, data, last, good):
        cid, tag, offset, length = struct.unpack_from("<HHII", header, 8)
        transfer = self.transfers.get(tag)
        if transfer is None or transfer[0].cid != cid:
            raise Fatal(HEADER_FIELD, 10 if transfer is None else 8, header)
        command, answer, arrived, end = transfer
        if length > MAXH2CDATA:
            raise Fatal(LIMIT, 16, header)
        if length != len(data):
            raise Fatal(HEADER_FIELD, 4, header)
        if offset + length > end:
            raise Fatal(OUT_OF_RANGE, 12, header)
        if offset != len(arrived):
            raise Fatal(PDU_SEQUENCE, 0, header)
        arrived += data
        if last != (len(arrived) == end):
            raise Fatal(HEADER_FIELD, 1, header)
        if not good:
            answer.finish = lambda _: 0x22
        if not last:
            return
        del self.transfers[tag]
        if len(arrived) < answer.wanted:
            self._ask(command, answer, arrived)
        else:
            self._finish(command, answer.finish(bytes(arrived)))
