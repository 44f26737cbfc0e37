"""A legal NVM subsystem that knows nothing of the bench: written from the specifications alone, to see that the suite
blames no product for what it may do. Base 1.4 and nothing optional, or base 2.0 with a little more."""

import asyncio
import dataclasses
import struct
import time

SUBSYSTEM = "nqn.2024-01.com.example:independent"
BLOCKS = 4096
TEMPERATURE = 300
IDENTIFIER = b"independent one."
NOTHING = bytes(8)
MORE, DNR = 0x2000, 0x4000


def status(kind, code):
    return kind << 8 | code | DNR


INVALID_OPCODE, INVALID_FIELD = status(0, 0x01), status(0, 0x02)
DATA_LENGTH, DESCRIPTOR_TYPE, SGL_OFFSET = status(0, 0x0F), status(0, 0x11), status(0, 0x16)
SEQUENCE, NAMESPACE, LBA_RANGE = status(0, 0x0C), status(0, 0x0B), status(0, 0x80)
INVALID_LOG, NOT_OF_NAMESPACES, COMMAND_SET = status(1, 0x09), status(1, 0x0F), status(1, 0x2C)
UNREADABLE, COMPARE = status(2, 0x81), status(2, 0x85)


@dataclasses.dataclass
class Command:
    """A submission queue entry, and the data of its capsule."""

    sqe: bytes
    data: bytes

    def __post_init__(self):
        self.opcode, self.flags, self.cid, self.nsid = struct.unpack_from("<BBHI", self.sqe)
        self.address, self.length, self.descriptor = struct.unpack_from("<QI3xB", self.sqe, 24)

    def dword(self, number):
        return struct.unpack_from("<I", self.sqe, 4 * number)[0]

    def qword(self, number):
        return struct.unpack_from("<Q", self.sqe, 4 * number)[0]


@dataclasses.dataclass
class Answer:
    """How a command ends: at once, with data for the host, or when the host's data is there (`finish` makes the status)."""

    status: int = 0
    result: bytes = NOTHING
    data: bytes | None = None
    wanted: int = 0
    finish: object = None
    later: bool = False  # an event


def number(value):
    return Answer(result=struct.pack("<Q", value))


class Subsystem:
    def __init__(self, options):
        self.options = options
        self.disk = bytearray(options.block * BLOCKS)
        self.unreadable = set()
        self.controllers = {}
        self.connections = 0

    def connect(self, queue, command):
        """The Connect of a queue; what it is refused for is said by its offset."""
        def wrong(offset, in_data=True):
            return Answer(status(1, 0x82), struct.pack("<HB5x", offset, in_data))

        if self.options.defect == "connect-fails":
            return Answer(status(0, 0x06))
        record, qid, size, attributes, timeout = struct.unpack_from("<HHHBxI", command.sqe, 40)
        if queue.controller is not None:
            return Answer(SEQUENCE)
        if record != 0:
            return Answer(status(1, 0x80))
        if command.descriptor != 0x01 or command.address != 0:
            return Answer(DESCRIPTOR_TYPE if command.descriptor != 0x01 else SGL_OFFSET)
        if command.length < 1024 or len(command.data) < 1024:
            return Answer(DATA_LENGTH)
        host_id, cntlid = command.data[:16], struct.unpack_from("<H", command.data, 16)[0]
        names = [command.data[at:at + 256].split(b"\0", 1)[0].decode("utf-8", "replace") for at in (256, 512)]
        if names[0] != SUBSYSTEM:
            return wrong(256)
        if not names[1].startswith("nqn.") or len(names[1]) > 223:
            return wrong(512)
        if size == 0 or size >= (self.options.entries if qid else 32):
            return wrong(44, in_data=False)
        if qid == 0:
            if host_id == bytes(16) or cntlid != 0xFFFF:
                return wrong(0 if host_id == bytes(16) else 16)
            identifier = self.options.first_cntlid
            while identifier in self.controllers:
                identifier += 1
            controller = self.controllers[identifier] = Controller(self, identifier, names[1], host_id, queue)
            controller.keep_alive(timeout)
        else:
            controller = self.controllers.get(cntlid)
            if controller is None or controller.host != names[1] or controller.host_id != host_id:
                return wrong(16 if controller is None else 512 if controller.host != names[1] else 0)
            if qid > controller.queues or not controller.ready or qid in controller.io:
                return Answer(SEQUENCE) if qid in controller.io else wrong(42, in_data=False)
            if self.options.defect == "io-unanswered":
                return Answer(later=True)
            controller.io[qid] = queue
        queue.joins(controller, qid, size + 1, flow_control=not (self.options.no_flow_control and attributes & 4))
        return number(controller.identifier | (0x20000 if self.options.defect == "authreq" else 0))


class Controller:
    QUEUES = 2

    def __init__(self, subsystem, identifier, host, host_id, admin):
        self.subsystem, self.options = subsystem, subsystem.options
        self.identifier, self.host, self.host_id, self.admin = identifier, host, host_id, admin
        self.io, self.errors = {}, []
        self.heard, self.timeout, self.watcher = time.monotonic(), 0, None
        self.cc = 0
        self.reset()

    def reset(self):
        self.ready = self.shut_down = self.told = False
        self.events = []
        self.queues = self.QUEUES
        self.over, self.under = 0x157, 0
        self.features = {0x01: 0, 0x02: 0, 0x05: 0, 0x0A: 0, 0x0B: 0}
        for queue in list(self.io.values()):
            queue.close()

    def leave(self, queue):
        """A queue is gone, and the association with it."""
        if self.io.get(queue.qid) is queue:
            del self.io[queue.qid]
            if not self.ready:
                return
        if self.subsystem.controllers.pop(self.identifier, None) is not None:
            if self.watcher is not None:
                self.watcher.cancel()
            for other in [self.admin, *self.io.values()]:
                other.close()

    def keep_alive(self, milliseconds):
        self.timeout = -(-milliseconds // 1000) * 1000
        if self.timeout and self.watcher is None:
            self.watcher = asyncio.ensure_future(self._watch())

    async def _watch(self):
        while (left := self.heard + self.timeout / 1000 + 0.5 - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 1))
        self.admin.close()

    # ---- commands ----

    def execute(self, queue, command):
        if command.flags & 0x3F or command.flags >> 6 != 1:
            return Answer(INVALID_FIELD)
        if command.opcode == 0x7F:
            return self._fabrics(queue, command)
        if not self.ready or self.shut_down:
            return Answer(SEQUENCE)
        if queue.qid == 0:
            return self._admin(command)
        answer = self._io(command)
        if answer.status:
            answer.status = self.failed(queue, command, answer.status)
        return answer

    def failed(self, queue, command, code):
        """An entry of the error log, where there is one."""
        if not self.options.rich:
            return code
        count = len(self.errors) + 1
        self.errors.insert(0, struct.pack("<QHHHHQIBB34x", count, queue.qid, command.cid, (code | MORE) << 1, 0xFFFF,
                                          command.qword(10), command.nsid, 0, 3))
        return code | MORE

    def _fabrics(self, queue, command):
        size, offset = command.sqe[40] & 7, command.dword(11)
        if queue.qid != 0 or command.sqe[4] not in (0, 4):
            return Answer(INVALID_OPCODE)
        if command.sqe[4] == 0:
            return self._set_cc(command.dword(12)) if (offset, size) == (0x14, 0) else Answer(INVALID_FIELD)
        defect = self.options.defect
        most = 0 if defect == "cap-mqes" else self.options.entries - 1
        cap = most | 1 << 16 | 10 << 24 | 1 << 37 | (1 << 59 if self.options.rich else 0) | (5 << 48 if defect == "mpsmin" else 0)
        known = {0x00: (1, cap), 0x08: (0, 0x20000 if self.options.rich else 0x10400), 0x14: (0, self.cc),
                 0x1C: (0, (self.ready and defect != "never-ready") | self.shut_down << 3 | 2 * (defect == "cfs"))}
        if self.options.rich:
            known[0x68] = (0, 10)
        return number(known[offset][1]) if known.get(offset, (-1,))[0] == size else Answer(INVALID_FIELD)

    def _set_cc(self, value):
        was, self.cc = self.cc, value
        if was & 1 and not value & 1:
            self.reset()
        self.ready = bool(value & 1)
        self.shut_down = self.shut_down or bool(value >> 14 & 3)
        return Answer()

    def _admin(self, command):
        return {0x02: self._log, 0x06: self._identify, 0x08: self._abort, 0x09: self._set_features, 0x0A: self._get_features,
                0x0C: self._event_request, 0x18: lambda _: Answer()}.get(command.opcode, lambda _: Answer(INVALID_OPCODE))(command)

    def _abort(self, command):
        cid = command.dword(10) >> 16
        if command.dword(10) & 0xFFFF == 0 and cid in self.events:
            self.events.remove(cid)
            self.admin.complete(cid, status(0, 0x07) & ~DNR)
            return Answer()
        return number(1)

    def _event_request(self, command):
        if self.events:
            return Answer(status(1, 0x05))
        self.events.append(command.cid)
        asyncio.get_running_loop().call_soon(self._announce)
        return Answer(later=True)

    def _announce(self):
        if self._warning() and self.features[0x0B] & 2 and not self.told and self.events:
            self.told = True
            self.admin.complete(self.events.pop(), 0, struct.pack("<Q", 0x020101))

    def _warning(self):
        return 2 if TEMPERATURE >= self.over or self.under and TEMPERATURE <= self.under else 0

    def _identify(self, command):
        cns, nsid, there = command.dword(10) & 0xFF, command.nsid, 0 < command.nsid <= self.options.namespaces
        active = struct.pack("<I", self.options.nsid) if nsid < self.options.nsid else b""
        rich = self.options.rich
        if cns == 1 and self.options.defect == "identify-fails":
            return Answer(status(0, 0x06))
        if cns == 1:
            return Answer(data=self._identity())
        if rich and cns in (5, 6, 7) and command.sqe[47] != 0:
            return Answer(COMMAND_SET)
        if rich and cns == 6:
            limits = struct.pack("<3xBIQ", self.options.ranges, 0xFFFFFFFF, (1 << 64) - 1) if self.options.ranges else b""
            return Answer(data=limits.ljust(4096, b"\0"))
        if cns == 2 or rich and cns == 7:
            return Answer(NAMESPACE) if nsid >= 0xFFFFFFFE else Answer(data=active.ljust(4096, b"\0"))
        if cns not in (0, 3) and not (rich and cns in (5, 8)):
            return Answer(INVALID_FIELD)
        if not there or cns == 3 and nsid != self.options.nsid:
            return Answer(NAMESPACE)
        return Answer(data=self._namespace(cns) if nsid == self.options.nsid else bytes(4096))

    def _namespace(self, cns):
        page = bytearray(4096)
        if cns == 0:
            struct.pack_into("<QQQ", page, 0, BLOCKS, BLOCKS, BLOCKS)
            page[30] = 1  # every controller has it
            page[104:120] = IDENTIFIER
            page[130] = self.options.block.bit_length() - 1
        elif cns == 3:
            page[:20] = bytes([2, 16, 0, 0]) + IDENTIFIER
            at = 20
            if self.options.uuids:
                page[20:40] = bytes([3, 16, 0, 0]) + IDENTIFIER
                at = 40
            if self.options.rich:
                page[at:at + 5] = bytes([4, 1, 0, 0, 0])
        elif cns == 8:
            page[1], page[14] = 1, 1  # shared, ready
        return bytes(page)

    def _identity(self):
        page = bytearray(4096)
        page[4:72] = b"SMALL0001".ljust(20) + b"an independent controller".ljust(40) + b"1.0".ljust(8)
        page[76], page[77] = 2, self.options.mdts  # several controllers
        struct.pack_into("<HI", page, 78, self.identifier + (self.options.defect == "cntlid"), 0x20000 if self.options.rich else 0x10400)
        page[111] = 1   # an I/O controller
        page[260] = 3   # one slot of firmware, read only
        struct.pack_into("<HH", page, 266, 0x157, 0x15E)
        struct.pack_into("<H", page, 320, 10)
        page[512:514] = b"\x66\x44"
        struct.pack_into("<HI", page, 514, self.options.entries, self.options.namespaces)
        page[525] = 4   # no Flush of all namespaces
        struct.pack_into("<I", page, 536, 1 | (1 << 20 if self.options.capsule else 0) | 1 << 21)
        page[768:1024] = SUBSYSTEM.encode().ljust(256, b"\0")
        struct.pack_into("<IIHBB", page, 1792, 4 + self.options.capsule // 16, 1, self.options.defect == "icdoff", 0, 1)
        if self.options.rich:
            page[261], page[262] = 6, 7
            struct.pack_into("<H", page, 520, 0x8F)
        return bytes(page)

    def _log(self, command):
        lid, wanted, offset = command.dword(10) & 0xFF, ((command.dword(10) >> 16) + 1) * 4, 0
        if self.options.rich:
            wanted += command.dword(11) << 18
            offset = command.qword(12)
        if self._too_long(wanted) or offset % 4 or self.options.rich and command.dword(14) & 1 << 23:
            return Answer(INVALID_FIELD)
        page = self._log_page(lid)
        if page is None:
            return Answer(INVALID_LOG)
        if offset > len(page) or lid in (2, 3) and command.nsid not in (0, 0xFFFFFFFF):
            return Answer(INVALID_FIELD)
        if lid == 2 and not command.sqe[41] & 0x80:
            self.told = False
        return Answer(data=page[offset:].ljust(wanted, b"\0")[:wanted])

    def _log_page(self, lid):
        if lid == 0x01:
            return b"".join(self.errors[:8]).ljust(512 if self.options.rich else 64, b"\0")
        if lid == 0x02:
            page = bytearray(512)
            struct.pack_into("<BHBB", page, 0, self._warning(), TEMPERATURE, 100, 10)
            struct.pack_into("<Q", page, 176, len(self.errors))
            return bytes(page)
        if lid == 0x03:
            return (b"\x01" + bytes(7) + b"1.0     ").ljust(512, b"\0")
        effects = {4 * opcode: 1 for opcode in (0x02, 0x06, 0x08, 0x09, 0x0A, 0x0C, 0x18)}
        effects |= {1024 + 4 * opcode: 1 | changes << 1 for opcode, changes in
                    ((0, 0), (1, 1), (2, 0), (4, 1), (5, 0), (8, 1), (9, 1), (0x0C, 0))}
        marks = {0x00: (1024, {4 * page: 1 for page in (0, 1, 2, 3, 5, 0x12)}), 0x05: (4096, effects),
                 0x12: (1024, {4 * feature: 1 for feature in (*self.features, 0x04, 0x07, 0x0F)})}
        if not self.options.rich or lid not in marks:
            return None
        size, found = marks[lid]
        return bytes(found.get(at, 0) for at in range(size))

    def _get_features(self, command):
        feature, value = command.dword(10) & 0xFF, command.dword(11)
        if feature == 0x04:
            return Answer(INVALID_FIELD) if value & 0xF0000 else number(self.under if value >> 20 & 3 else self.over)
        if feature == 0x05 and command.nsid not in (self.options.nsid, 0xFFFFFFFF):
            return Answer(NAMESPACE)
        known = self.features | {0x07: (self.queues - 1) * 0x10001, 0x0F: self.timeout}
        return number(known[feature]) if feature in known else Answer(INVALID_FIELD)

    def _set_features(self, command):
        feature, value = command.dword(10) & 0xFF, command.dword(11)
        if command.dword(10) >> 31:
            return Answer(status(1, 0x0D))  # nothing is saved
        if feature == 0x05:
            if command.nsid not in (self.options.nsid, 0xFFFFFFFF):
                return Answer(NAMESPACE)
        elif command.nsid not in (0, 0xFFFFFFFF):
            return Answer(NOT_OF_NAMESPACES if command.nsid <= self.options.namespaces else NAMESPACE)
        if feature == 0x07:
            return self._set_queues(value & 0xFFFF, value >> 16)
        if feature == 0x0F and value == 0:
            return Answer(status(0, 0x1A))
        invalid = feature == 0x02 and value & 0x1F or feature == 0x04 and value & 0x2F0000 or feature == 0x05 and value & 0x10000
        if invalid or feature not in (*self.features, 0x04, 0x0F):
            return Answer(INVALID_FIELD)
        if feature == 0x0F:
            self.keep_alive(value)
        elif feature == 0x04 and value >> 20 & 3:
            self.under = value & 0xFFFF
        elif feature == 0x04:
            self.over = value & 0xFFFF
        else:
            self.features[feature] = value
        self._announce()
        return Answer()

    def _set_queues(self, submission, completion):
        if 0xFFFF in (submission, completion):
            return Answer(INVALID_FIELD)
        if self.io:
            return Answer(SEQUENCE)
        self.queues = min(self.QUEUES, submission + 1, completion + 1)
        return number((self.queues - 1) * 0x10001)

    def _too_long(self, size):
        return self.options.mdts != 0 and size > 4096 << self.options.mdts

    def _io(self, command):
        opcode, block, disk, unreadable = command.opcode, self.options.block, self.subsystem.disk, self.subsystem.unreadable
        if opcode not in ((0, 1, 2, 4, 5, 8, 9, 0x0C) if self.options.rich else (0, 1, 2)):
            return Answer(INVALID_OPCODE)
        if command.nsid != self.options.nsid:
            return Answer(INVALID_FIELD if 0 < command.nsid <= self.options.namespaces else NAMESPACE)
        if opcode == 0:
            return Answer()
        if opcode == 9:
            return Answer(wanted=16 * (command.sqe[40] + 1), finish=lambda data: self._deallocate(data, bool(command.sqe[44] & 4)))
        first, blocks = command.qword(10), (command.dword(12) & 0xFFFF) + 1
        if opcode in (1, 2, 5) and self._too_long(blocks * block):
            return Answer(INVALID_FIELD)
        if first + blocks > BLOCKS:
            return Answer(LBA_RANGE)
        numbers, place = range(first, first + blocks), slice(first * block, (first + blocks) * block)
        spoilt = bool(unreadable.intersection(numbers))
        if opcode == 4:
            unreadable.update(numbers)
        elif opcode in (2, 0x0C):
            return Answer(UNREADABLE if spoilt else 0, data=None if spoilt or opcode == 0x0C else bytes(disk[place]))
        elif opcode == 8:
            disk[place] = bytes(blocks * block)
            unreadable.difference_update(numbers)
        elif opcode == 5:
            return Answer(wanted=blocks * block, finish=lambda data: UNREADABLE if spoilt else 0 if disk[place] == data else COMPARE)
        elif opcode == 1:
            def write(data):
                disk[place] = data
                unreadable.difference_update(numbers)
                return 0
            return Answer(wanted=blocks * block, finish=write)
        return Answer()

    def _deallocate(self, data, wanted):
        ranges = [struct.unpack_from("<4xIQ", data, at) for at in range(0, len(data), 16)]
        if any(first + blocks > BLOCKS for blocks, first in ranges):
            return LBA_RANGE
        for blocks, first in ranges[:self.options.ranges or None] if wanted else []:
            self.subsystem.disk[first * self.options.block:(first + blocks) * self.options.block] = bytes(blocks * self.options.block)
            self.subsystem.unreadable.difference_update(range(first, first + blocks))
        return 0
