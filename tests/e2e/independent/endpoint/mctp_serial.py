"""MCTP on a serial line: frames, packets, messages put together, and the control protocol of an endpoint."""

import asyncio
import dataclasses
import os
import pty
import struct
import tty

UNIT = 64
FLAG, ESCAPE = 0x7E, 0x7D
BYTES_A_SECOND = 11520
ASSEMBLY_S = 2.0
CONTROL, MANAGEMENT = 0x00, 0x04
# Bits of Get State
BAD_MIC, UNIT_UNSUPPORTED, BAD_VERSION, UNKNOWN_EID, WRONG_UNIT, MIDDLE, SEQUENCE, BAD_TAG, PHYSICAL = 4, 6, 7, 8, 9, 10, 11, 12, 13


def checksum(data):
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x8408 if value & 1 else 0)
    return struct.pack(">H", value)


class Line:
    """The far end of a pseudo terminal. `name` is the end that a program opens."""

    def __init__(self, on_packet, on_damage):
        self.on_packet, self.on_damage = on_packet, on_damage
        self.ours, self.theirs = pty.openpty()
        for end in (self.ours, self.theirs):
            tty.setraw(end)
        self.name = os.ttyname(self.theirs)
        self.frame, self.escaped = None, False
        self.busy = asyncio.Lock()
        asyncio.get_running_loop().add_reader(self.ours, lambda: self._read(os.read(self.ours, 4096)))

    async def send(self, packet):
        """At the speed of such a line: packets of an answer do not arrive all at once."""
        escaped = b"".join(bytes([ESCAPE, byte ^ 0x20]) if byte in (FLAG, ESCAPE) else bytes([byte]) for byte in packet)
        start = bytes([1, len(packet)])
        frame = bytes([FLAG]) + start + escaped + checksum(start + packet) + bytes([FLAG])
        async with self.busy:
            await asyncio.sleep(len(frame) / BYTES_A_SECOND)
            os.write(self.ours, frame)

    def _read(self, data):
        for byte in data:
            if self.frame is None:
                if byte == FLAG:
                    self.frame, self.escaped = bytearray(), False
            elif len(self.frame) < 2:
                self.frame = bytearray() if byte == FLAG else self.frame + bytes([byte])
            elif len(self.frame) < 2 + self.frame[1]:
                self._content(byte)
            else:
                self._tail(byte)

    def _content(self, byte):
        if byte == FLAG:
            self._damaged()
        elif self.escaped:
            self.frame.append(byte ^ 0x20)
            self.escaped = False
        elif byte == ESCAPE:
            self.escaped = True
        else:
            self.frame.append(byte)

    def _tail(self, byte):
        frame = self.frame
        frame.append(byte)
        if len(frame) < frame[1] + 5:
            return
        end = frame[1] + 2
        if byte == FLAG and frame[0] == 1 and checksum(frame[:end]) == frame[end:end + 2]:
            self.frame = None
            self.on_packet(bytes(frame[2:end]))
        else:
            self._damaged()
            if byte != FLAG:
                self.frame = None

    def _damaged(self):
        self.on_damage()
        self.frame, self.escaped = bytearray(), False


@dataclasses.dataclass
class Assembly:
    data: bytes
    sequence: int
    unit: int
    destination: int
    timer: asyncio.TimerHandle | None = None


class Endpoint:
    """`management` hears of messages of its type: begins(data), breaks_off(data), message(source, tag, data), and has flag(bit)."""

    def __init__(self, management):
        self.management = management
        self.line = Line(self._packet, lambda: management.flag(PHYSICAL))
        self.eid = 0
        self.open = {}
        self.tasks = set()

    def later(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def packet(self, destination, tag, place, count, payload, source=None):
        """Number `place` of `count` packets of an answer."""
        bits = (place == 0) << 7 | (place == count - 1) << 6 | (place & 3) << 4 | tag
        return self.line.send(bytes([1, destination, self.eid if source is None else source, bits]) + payload)

    def _packet(self, packet):
        if len(packet) < 5:
            return
        version, destination, source, bits = packet[:4]
        payload = packet[4:]
        begins, ends, sequence, key = bits >> 7, bits >> 6 & 1, bits >> 4 & 3, (source, bits & 0x0F)
        wrong = (BAD_VERSION if version & 0x0F != 1 else UNKNOWN_EID if destination not in (0, 0xFF, self.eid) else
                 BAD_TAG if not bits & 8 else UNIT_UNSUPPORTED if len(payload) > UNIT or begins and not ends and len(payload) < UNIT
                 else None)
        if wrong is not None:
            return self.management.flag(wrong)
        if begins:
            self.give_up(key)
            if not ends and payload[0] & 0x7F != MANAGEMENT:
                return None
            self.open[key] = Assembly(payload, sequence, len(payload), destination)
            if payload[0] & 0x7F == MANAGEMENT:
                self.management.begins(key, payload)
        elif key not in self.open:
            return self.management.flag(MIDDLE)
        else:
            assembly = self.open[key]
            if sequence != (assembly.sequence + 1) & 3 or len(payload) > assembly.unit or not ends and len(payload) != assembly.unit:
                self.management.flag(SEQUENCE if sequence != (assembly.sequence + 1) & 3 else WRONG_UNIT)
                return self.give_up(key)
            assembly.data, assembly.sequence = assembly.data + payload, sequence
        return self._goes_on(key, ends)

    def _goes_on(self, key, ends):
        assembly = self.open[key]
        if assembly.timer is not None:
            assembly.timer.cancel()
        if not ends and len(assembly.data) <= 4224:
            assembly.timer = asyncio.get_running_loop().call_later(ASSEMBLY_S, self.give_up, key)
            return
        del self.open[key]
        source, tag = key[0], key[1] & 7
        if assembly.data[0] == CONTROL:
            self._control(source, assembly.destination, tag, assembly.data)
        elif assembly.data[0] & 0x7F == MANAGEMENT:
            whole = ends and assembly.destination != 0xFF
            (self.management.message if whole else self.management.breaks_off)(key, assembly.data)

    def give_up(self, key):
        assembly = self.open.pop(key, None)
        if assembly is None:
            return
        if assembly.timer is not None:
            assembly.timer.cancel()
        if assembly.data[0] & 0x7F == MANAGEMENT:
            self.management.breaks_off(key, assembly.data)

    def _control(self, source, destination, tag, message):
        if len(message) < 3 or message[1] >> 6 != 0b10:
            return
        instance, command, data = message[1] & 0x1F, message[2], message[3:]
        # An answer comes from where the request went.
        answer_from = self.eid if destination in (0, 0xFF) else destination
        body = self._answer(command, data)
        self.later(self.packet(source, tag, 0, 1, bytes([CONTROL, instance, command]) + body, answer_from))

    def _answer(self, command, data):
        sizes = {0x01: 2, 0x02: 0, 0x04: 1, 0x05: 0}
        if command not in sizes:
            return b"\x05"
        if len(data) != sizes[command]:
            return b"\x03"
        if command == 0x01:
            operation, eid = data[0] & 3, data[1]
            if operation > 1 or eid < 8 or eid == 0xFF:
                return b"\x02"
            self.eid = eid
            return bytes([0, 0, eid, 0])
        if command == 0x02:
            return bytes([0, self.eid, 0, 0])
        if command == 0x05:
            return bytes([0, 1, MANAGEMENT])
        versions = {0x00: "f1f0ff00f1f1ff00f1f2ff00f1f3f100", 0xFF: "f1f0ff00f1f1ff00f1f2ff00f1f3f100", MANAGEMENT: "f1f2ff00"}
        if data[0] not in versions:
            return b"\x80"
        entries = bytes.fromhex(versions[data[0]])
        return bytes([0, len(entries) // 4]) + entries
