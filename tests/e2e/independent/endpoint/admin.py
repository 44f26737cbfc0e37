"""Admin commands of the controller behind the endpoint."""

import struct

DNR = 0x4000
INVALID_FIELD, NAMESPACE, INVALID_LOG = 0x02 | DNR, 0x0B | DNR, 0x109 | DNR


def _parameter(byte):
    return struct.pack("<BBH", 4, 0, byte)


class Admin:
    SERIAL = b"SMALL0001"
    TEMPERATURE = 300
    OVER = 0x157

    def warning(self):
        return 2 if self.TEMPERATURE >= self.OVER else 0

    def execute(self, message):
        if len(message) < 68:
            return bytes([5, 0, 0, 0])
        known = {0x02: self._log, 0x06: self._identify, 0x0A: self._get_features}
        if message[4] not in known:
            return bytes([3, 0, 0, 0])
        controller, = struct.unpack_from("<H", message, 6)
        namespace, = struct.unpack_from("<I", message, 8)
        offset, length = struct.unpack_from("<II", message, 28)
        if controller != 1:
            return _parameter(6)
        if length > 4096 or length % 4 or offset % 4:
            return _parameter(32 if length > 4096 or length % 4 else 28)
        if len(message) > 68:
            return bytes([6, 0, 0, 0])
        status, result, page = known[message[4]](namespace, *struct.unpack_from("<II", message, 44))
        if page and offset >= len(page):
            return _parameter(28)
        return struct.pack("<4xIII", result, 0, status << 17) + page[offset:offset + length]

    @staticmethod
    def _get_features(_, which, selector):
        if which & 0xFF == 0x02 or which & 0xFF == 0x04 and not selector & 0x3F0000:
            return 0, Admin.OVER if which & 0xFF == 0x04 else 0, b""
        return INVALID_FIELD, 0, b""

    def _log(self, namespace, which, _):
        wanted, page = ((which >> 16) + 1) * 4, None
        if which & 0xFF == 0x01:
            page = bytes(64)
        elif which & 0xFF == 0x02:
            if namespace not in (0, 0xFFFFFFFF):
                return INVALID_FIELD, 0, b""
            page = struct.pack("<BHBBB", self.warning(), self.TEMPERATURE, 100, 10, 3).ljust(512, b"\0")
        elif which & 0xFF == 0x03:
            page = (b"\x01" + bytes(7) + b"1.0     ").ljust(512, b"\0")
        return (INVALID_LOG, 0, b"") if page is None else (0, 0, page.ljust(wanted, b"\0")[:wanted])

    def _identify(self, namespace, which, _):
        cns = which & 0xFF
        if cns == 1:
            return 0, 0, self._controller()
        if cns == 2 and namespace < 0xFFFFFFFE:
            return 0, 0, (struct.pack("<I", 1) if namespace < 1 else b"").ljust(4096, b"\0")
        if cns == 0 and namespace == 1:
            page = bytearray(4096)
            struct.pack_into("<QQQ", page, 0, 2000, 2000, 2000)
            page[104:120] = b"a small drive..."
            page[130] = 9
            return 0, 0, bytes(page)
        return NAMESPACE if cns in (0, 2) else INVALID_FIELD, 0, b""

    def _controller(self):
        page = bytearray(4096)
        struct.pack_into("<HH", page, 0, 0x1AF4, 0x1AF4)
        page[4:72] = self.SERIAL.ljust(20) + b"SMALL-1".ljust(40) + b"1.0".ljust(8)
        page[77] = 5
        struct.pack_into("<HI", page, 78, 1, 0x10400)
        page[111], page[255], page[260] = 1, 2, 3
        struct.pack_into("<HH", page, 266, self.OVER, self.OVER + 7)
        page[512:514] = b"\x66\x44"
        struct.pack_into("<I", page, 516, 1)
        page[525] = 4
        page[768:1024] = b"nqn.2024-01.com.example:independent".ljust(256, b"\0")
        return bytes(page)
