"""An NVMe-MI 1.2 endpoint of a small drive with one PCIe port and one controller: slots, control primitives, MI commands."""

import asyncio
import struct

import mctp_serial
from admin import Admin
from mctp_serial import BAD_MIC, UNIT

NOT_IDLE = 3
COMMANDS = (1, 2, 4)  # kinds that take a slot
IDLE, RECEIVE, PROCESS, TRANSMIT = range(4)


def _table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = tuple(_table())


def with_check(message):
    value = 0xFFFFFFFF
    for byte in message:
        value = TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return message + struct.pack("<I", value ^ 0xFFFFFFFF)


def error(code):
    return bytes([code, 0, 0, 0])


def parameter(byte, bit=0):
    """Invalid Parameter, and where it is."""
    return struct.pack("<BBH", 4, bit, byte)


def success(data=b"", response=0):
    return b"\0" + struct.pack("<I", response)[:3] + data


class Slot:
    def __init__(self):
        self.state, self.answer, self.task, self.assembly = IDLE, None, None, None
        self.going = asyncio.Event()  # clear: paused. Of each slot its own, before NVMe-MI 2.0
        self.going.set()


class Management:
    def __init__(self):
        self.slots = (Slot(), Slot())
        self.flags, self.reset_seen = 0, True
        self.admin = Admin()
        self.composite = self.changed = 0
        self.vpd = vpd()
        self.mctp = mctp_serial.Endpoint(self)

    def flag(self, bit):
        self.flags |= 1 << bit

    # ---- what comes in ----

    @staticmethod
    def _takes_slot(data):
        return len(data) >= 4 and data[0] == 0x84 and data[1] & 0x80 == 0 and data[1] >> 3 & 0x0F in COMMANDS

    def begins(self, key, data):
        slot = self.slots[data[1] & 1] if self._takes_slot(data) else None
        if slot is not None and slot.state == IDLE:
            slot.state, slot.assembly, slot.answer = RECEIVE, key, None

    def breaks_off(self, key, _):
        for slot in self.slots:
            if slot.state == RECEIVE and slot.assembly == key:
                slot.state = IDLE

    def message(self, key, data):
        source, tag = key[0], key[1] & 7
        checked = len(data) >= 8 and data[0] == 0x84
        if checked and with_check(data[:-4]) != data:
            self.flag(BAD_MIC)
            checked = False
        if not checked or data[1] & 0x80:
            return self.breaks_off(key, data)
        message, kind, slot = data[:-4], data[1] >> 3 & 0x0F, self.slots[data[1] & 1]
        header = bytes([0x84, 0x80 | data[1] & 0x79, 0, 0])
        if kind == 0:
            return self.mctp.later(self._primitive(message, header, slot, source, tag))
        if kind not in COMMANDS:
            return None
        if slot.state != RECEIVE or slot.assembly != key:
            return self.flag(NOT_IDLE)
        if message[2] & 1:
            body = parameter(2)  # there is no Management Endpoint Buffer
        elif kind == 4:
            body = error(3)
        else:
            body = self.admin.execute(message) if kind == 2 else self._execute(message)
        slot.state, slot.answer = TRANSMIT, with_check(header + body)
        slot.task = asyncio.ensure_future(self._transmit(slot, source, tag, slot.answer))
        return None

    async def _transmit(self, slot, source, tag, answer):
        pieces = [answer[at:at + UNIT] for at in range(0, len(answer), UNIT)]
        for place, piece in enumerate(pieces):
            await slot.going.wait()
            await self.mctp.packet(source, tag, place, len(pieces), piece)
        slot.state = IDLE

    # ---- control primitives ----

    async def _primitive(self, message, header, slot, source, tag):
        operation, name = message[4:6]
        argument = struct.unpack_from("<H", message, 6)[0] if len(message) == 8 else 0

        async def say(body):
            await self.mctp.packet(source, tag, 0, 1, with_check(header + body))

        async def done(value=0):
            await say(struct.pack("<BBH", 0, name, value))

        if len(message) != 8:
            await say(error(5))
        elif operation in (0, 1) and message[1] & 1:
            await say(parameter(1))
        elif operation == 0:
            for one in self.slots:
                if one.state != IDLE:
                    one.going.clear()
            await done()
        elif operation == 1:
            await done()
            for one in self.slots:
                one.going.set()
        elif operation == 2:
            await done(self._abort(slot))
        elif operation == 3:
            state = self.flags | (not slot.going.is_set()) << 15 | self.reset_seen << 14 | slot.state
            if argument & 1:
                self.flags, self.reset_seen = 0, False
            await done(state)
        elif operation == 4:
            await self._replay(slot, argument & 0xFF, say, done, (source, tag))
        else:
            await say(error(3))

    def _abort(self, slot):
        was, slot.state, slot.answer = slot.state, IDLE, None
        slot.going.set()
        if was == RECEIVE:
            self.mctp.open.pop(slot.assembly).timer.cancel()
            return 1
        if was == TRANSMIT:
            slot.task.cancel()
            return 2
        return 0

    async def _replay(self, slot, first, say, done, to):
        stored = slot.answer
        if stored is None:
            return await done(0)
        if first * UNIT >= len(stored):
            return await say(parameter(6))
        if slot.task is not None:
            slot.task.cancel()
        slot.state = TRANSMIT
        await done(1)
        slot.going.set()
        again = stored if first == 0 else stored[:4] + stored[first * UNIT:]
        slot.task = asyncio.ensure_future(self._transmit(slot, *to, again))
        return None

    # ---- MI commands ----

    def _execute(self, message):
        if len(message) < 16:
            return error(5)
        commands = (self._read, self._subsystem_health, self._controller_health, self._set, self._get, self._vpd)
        if message[4] >= len(commands):
            return error(3)
        if len(message) > 16:
            return error(6)
        return commands[message[4]](*struct.unpack_from("<II", message, 8))

    @staticmethod
    def _read(first, _):
        kind, port, controller = first >> 24, first >> 16 & 0xFF, first & 0xFFFF
        if kind > 4:
            return parameter(11)
        if kind == 1 and port != 0:
            return parameter(10)
        if kind in (3, 4) and controller != 1:
            return parameter(8)
        data = (bytes([0, 1, 2]).ljust(32, b"\0"),
                struct.pack("<BBHIBBBBBB", 1, 0, UNIT, 0, 1, 7, 3, 4, 4, 0).ljust(32, b"\0"),
                struct.pack("<HH", 1, 1) if controller <= 1 else bytes(2),
                struct.pack("<B4xBHHHHH", 0, 1, 0x0100, 0x1AF4, 0x10, 0x1AF4, 0x11).ljust(32, b"\0"), bytes(2))[kind]
        return success(data, len(data))

    def _subsystem_health(self, _, second):
        composite = self.composite
        if second >> 31:
            self.composite = 0
        return success(struct.pack("<BBbBHH", 0x38, 0xFF & ~self.admin.warning(), self.admin.TEMPERATURE - 273, 3, composite, 0))

    def _controller_health(self, first, second):
        if first >> 16 & 0xFF == 0xFF:
            return parameter(10)
        asked = any(second >> bit & 1 and self.changed >> 8 + bit & 1 for bit in range(5))
        if not first >> 24 & 1 or first & 0xFFFF > 1 or not (first >> 31 or asked):
            return success()
        entry = struct.pack("<HHHBBBH5x", 1, 1, self.admin.TEMPERATURE, 3, 100, self.admin.warning(), self.changed)
        if second >> 31:
            self.changed = 0
        return success(entry, 1 << 16)

    def _set(self, first, second):
        wrong = self._configuration(first)
        if wrong:
            return wrong
        if first & 0xFF == 2:
            for bit, place in enumerate((0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)):
                self.composite &= ~((second >> bit & 1) << place)
        elif second & 0xFFFF != UNIT:
            return parameter(12)
        return success()

    def _get(self, first, _):
        return self._configuration(first) or success(response=UNIT if first & 0xFF == 3 else 0)

    @staticmethod
    def _configuration(first):
        """What is wrong with its identifier or its port."""
        which, port = first & 0xFF, first >> 24
        if which not in (1, 2, 3):
            return parameter(8)
        return parameter(11) if which == 1 or which == 3 and port != 0 else b""  # no port is a two-wire port

    def _vpd(self, first, second):
        offset, length = first & 0xFFFF, second & 0xFFFF
        if length and offset >= len(self.vpd):
            return parameter(8)
        return parameter(12) if offset + length > len(self.vpd) else success(self.vpd[offset:offset + length])


def vpd():
    """IPMI FRU information: a header, the product, the two records of NVMe."""
    def summed(data):
        return data + bytes([-sum(data) & 0xFF])

    def record(kind, body, last):
        return summed(bytes([kind, last << 7 | 2, len(body), -sum(body) & 0xFF])) + body

    fields = ((b"SMALL", 8), (b"small drive", 24), (b"SMALL-1", 40), (b"01", 2), (Admin.SERIAL, 20))
    product = b"\x01\x0f\x19" + b"".join(bytes([0xC0 | size]) + text.ljust(size) for text, size in fields) + b"\0\0\xc1"
    records = record(0x0B, bytes(59), last=False) + record(0x0C, bytes(11), last=True)
    return (summed(bytes([1, 0, 0, 0, 1, 0x10, 0])) + summed(product.ljust(119, b"\0")) + records).ljust(256, b"\0")
