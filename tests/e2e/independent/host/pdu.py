"""NVMe/TCP on the wire: the PDUs that a host sends, and the shapes of those that it gets."""

import array
import functools
import struct

ICREQ, ICRESP, H2C_TERM, C2H_TERM, CAPSULE, RESPONSE, H2C_DATA, C2H_DATA, R2T = 0, 1, 2, 3, 4, 5, 6, 7, 9
# What a controller sends: the bytes of each header.
HEADERS = {ICRESP: 128, C2H_TERM: 24, RESPONSE: 24, C2H_DATA: 24, R2T: 24}
HDGSTF, DDGSTF, LAST, SUCCESS = 1, 2, 4, 8
# The reasons of a TermReq (FES).
FIELD, SEQUENCE, HEADER_DIGEST, OUT_OF_RANGE, R2T_LIMIT, UNSUPPORTED = 1, 2, 3, 4, 5, 6


class Fatal(Exception):
    """A PDU that ends the connection: FES, FEI, and as much of its header as is there."""

    def __init__(self, text, reason, about, header):
        super().__init__(text)
        self.reason, self.about, self.header = reason, about, bytes(header)


@functools.cache
def _table(bits):
    """What `bits` zeroes make of each value that many bits wide."""
    table = []
    for value in range(1 << bits):
        for _ in range(bits):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


def crc32c(data):
    """Two bytes at a time: Python is slow, and a keep-alive must not wait for it."""
    value, table = 0xFFFFFFFF, _table(16)
    for pair in array.array("H", data[:len(data) & ~1]):
        value = table[(value ^ pair) & 0xFFFF] ^ value >> 16
    if len(data) & 1:
        value = _table(8)[(value ^ data[-1]) & 0xFF] ^ value >> 8
    return struct.pack("<I", value ^ 0xFFFFFFFF)


def icreq(alignment, digests, r2ts):
    """Alignment in dwords and R2Ts from 1; both are one less on the wire."""
    return struct.pack("<BBBBIHBBI", ICREQ, 0, 128, 0, 128, 0, alignment - 1, digests, r2ts - 1).ljust(128, b"\0")


def term_request(fatal):
    header = fatal.header[:128]
    return struct.pack("<BBBBIHI10x", H2C_TERM, 0, 24, 0, 24 + len(header), fatal.reason, fatal.about) + header


class Format:
    """What the two sides agreed on, and the PDUs that follow from it."""

    def __init__(self, header_digest=False, data_digest=False, unit=4, most_data=4096):
        self.header_digest, self.data_digest = header_digest, data_digest
        self.unit, self.most_data = unit, most_data

    def pdu(self, kind, flags, fields, data=b""):
        size = 8 + len(fields)
        end = size + 4 * self.header_digest
        place = -(-end // self.unit) * self.unit if data else 0
        tail = crc32c(data) if data and self.data_digest else b""
        flags |= (HDGSTF if self.header_digest else 0) | (DDGSTF if tail else 0)
        length = place + len(data) + len(tail) if data else end
        header = struct.pack("<BBBBI", kind, flags, size, place, length) + fields
        start = header + (crc32c(header) if self.header_digest else b"")
        return start.ljust(place, b"\0") + data + tail

    def data_pdu(self, cid, tag, offset, data, last):
        return self.pdu(H2C_DATA, LAST if last else 0, struct.pack("<HHII4x", cid, tag, offset, len(data)), data)
