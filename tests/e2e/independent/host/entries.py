"""Submission and completion queue entries, and what a status means to a host."""

import dataclasses
import struct

FABRICS, LOG, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, EVENT, KEEP_ALIVE = 0x7F, 2, 6, 8, 9, 0x0A, 0x0C, 0x18
FLUSH, WRITE, READ = 0, 1, 2
PROPERTY_SET, CONNECT, PROPERTY_GET, AUTH_SEND, AUTH_RECEIVE, DISCONNECT = 0, 1, 4, 5, 6, 8
ALL = 0xFFFFFFFF
BUSY, INVALID_PARAMETERS, DISCOVER_RESTART = (1, 0x81), (1, 0x82), (1, 0x90)
TRANSIENT = (0, 0x22)
PATH = 3  # the status code type


class Failed(Exception):
    """A request that did not succeed; with the controller's status where that is the reason."""

    def __init__(self, text, status=None, final=False):
        super().__init__(text)
        self.status, self.final = status, final


class Lost(Failed):
    """The connection went before the answer came."""


class TimedOut(Failed):
    """No answer came in time; the command may still run."""

    def __init__(self, text, command):
        super().__init__(text)
        self.command = command


@dataclasses.dataclass
class Completion:
    result: int = 0  # dwords 0 and 1
    sqhd: int = 0
    status: int = 0  # without the phase bit
    data: bytes = b""

    @property
    def code(self):
        return self.status >> 8 & 7, self.status & 0xFF

    @property
    def delay(self):
        """CRD: which of the controller's delays to wait before a retry."""
        return self.status >> 11 & 3

    @property
    def final(self):
        """DNR"""
        return bool(self.status & 0x4000)

    def check(self, what):
        if self.code != (0, 0):
            kind, code = self.code
            final = ", do not retry" if self.final else ""
            raise Failed(f"{what}: status {kind}/{code:02x}h{final}", self.code, self.final)
        return self


def worth_repeating(completion):
    """Whether the same command might succeed later. Path errors have their own way (blocks.py)."""
    kind, code = completion.code
    if completion.final or (kind, code) == (0, 0):
        return False
    if kind == 0:
        # Aborted by us, with the queue, or refused for a reservation: once more changes nothing.
        return code not in (0x07, 0x08, 0x83)
    return kind == 2 and code not in range(0x82, 0x86)


def entry(opcode, nsid=0, dwords=()):
    """The entry, without the CID and the data pointer: the connection knows those. Dwords from 10."""
    sqe = bytearray(64)
    struct.pack_into("<BBHI", sqe, 0, opcode, 0x40, 0, nsid)
    struct.pack_into(f"<{len(dwords)}I", sqe, 40, *dwords)
    return sqe


def fabrics(kind, rest):
    sqe = entry(FABRICS)
    sqe[4] = kind
    sqe[40:40 + len(rest)] = rest
    return sqe


def property_get(offset, size):
    return fabrics(PROPERTY_GET, struct.pack("<B3xI", size == 8, offset))


def property_set(offset, value):
    return fabrics(PROPERTY_SET, struct.pack("<B3xII", 0, offset, value))


def connect(qid, entries, attributes, kato):
    return fabrics(CONNECT, struct.pack("<HHHBxI", 0, qid, entries - 1, attributes, kato))


def connect_data(host_id, cntlid, subsystem, host):
    return struct.pack("<16sH238x256s256s256x", host_id, cntlid, subsystem.encode(), host.encode())


def identify(cns, nsid=0, csi=0, cntid=0):
    return entry(IDENTIFY, nsid, (cns | cntid << 16, csi << 24))


def set_features(feature, value=0):
    return entry(SET_FEATURES, 0, (feature, value))


def log_page(lid, length, offset=0, nsid=0):
    """RAE is 0: what is read is also cleared."""
    dwords = length // 4 - 1
    return entry(LOG, nsid, (lid | (dwords & 0xFFFF) << 16, dwords >> 16, offset & ALL, offset >> 32))
