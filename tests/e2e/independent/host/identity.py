"""What Identify Controller says, as far as this host uses it."""

import struct


class Identity:
    def __init__(self, page, page_bytes):
        def number(form, offset):
            return struct.unpack_from("<" + form, page, offset)[0]

        self.cntlid, self.kind = number("H", 78), page[111]
        self.most_bytes = page_bytes << page[77] if page[77] else 0
        self.shutdown_us, self.events = number("I", 88), number("I", 92)
        self.traffic_counts = bool(number("I", 96) & 0x40)
        self.retry_delays = [0, *struct.unpack_from("<3H", page, 128)]  # in units of 100 ms, by CRD
        self.aborts, self.event_requests = page[258] + 1, page[259] + 1
        self.logs_have_offsets = bool(page[261] & 4)
        self.keep_alive_units = number("H", 320)
        self.ana, self.ana_seconds, self.ana_groups = bool(page[76] & 8), page[342], number("I", 348)
        self.most_commands, self.namespaces, self.most_namespaces = number("H", 514), number("I", 516), number("I", 540)
        iocs, _, icdoff = struct.unpack_from("<IIH", page, 1792)
        self.capsule_room = max(iocs * 16 - 64, 0) if icdoff == 0 else 0
        self.disconnects = bool(number("H", 1804) & 1)
