"""A command that was sent and has no completion yet, and its data on the way."""

import asyncio
import struct

import pdu
from pdu import Fatal


class Command:
    def __init__(self, cid, out, wanted, short, in_capsule):
        """`short`: less data than wanted is no error."""
        self.cid, self.out, self.wanted, self.short, self.in_capsule = cid, out, wanted, short, in_capsule
        self.arrived, self.last, self.spoilt = bytearray(), False, False
        self.asked = 0  # bytes that R2Ts asked for
        self.r2ts = 0   # of them not served yet
        self.done = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(lambda done: done.cancelled() or done.exception())

    def fails(self, error):
        if not self.done.done():
            self.done.set_exception(error)

    def complete(self, completion):
        if not self.done.done():
            self.done.set_result(completion)

    def expects(self, header):
        """What C2HData may bring: the next bytes of the buffer, until the last came."""
        offset, length = struct.unpack_from("<II", header, 12)
        if not self.wanted or self.last:
            raise Fatal("data that nobody waits for", pdu.SEQUENCE, 0, header)
        if offset + length > self.wanted:
            raise Fatal("data beyond the buffer", pdu.OUT_OF_RANGE, 0, header)
        if offset != len(self.arrived):
            raise Fatal("data out of order", pdu.SEQUENCE, 0, header)

    def asked_for(self, header, most_r2ts):
        """What an R2T may ask for: the next bytes of the buffer, and no more R2Ts than the host allows."""
        offset, length = struct.unpack_from("<II", header, 12)
        if not self.out or self.in_capsule:
            raise Fatal("R2T for a command that has no data to ask for", pdu.SEQUENCE, 0, header)
        if length == 0:
            raise Fatal("R2T for nothing", pdu.FIELD, 16, header)
        if offset + length > len(self.out):
            raise Fatal("R2T beyond the buffer", pdu.OUT_OF_RANGE, 0, header)
        if offset != self.asked:
            raise Fatal("R2T out of order", pdu.SEQUENCE, 0, header)
        if self.r2ts >= most_r2ts:
            raise Fatal("more R2Ts than allowed", pdu.R2T_LIMIT, 0, header)
        self.asked += length
        self.r2ts += 1
        return offset, length

    @property
    def whole(self):
        """Whether all data went or came, as it was sent."""
        missing = len(self.arrived) < self.wanted and not self.short
        unsent = self.out and not self.in_capsule and (self.asked < len(self.out) or self.r2ts)
        return not (missing or unsent or self.spoilt)
