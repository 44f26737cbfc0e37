"""The ELF kernel inside a bzImage. Booting it directly spares the guest its own decompression, which
takes half of the boot under emulation."""

import lzma
import shutil
import struct
import subprocess
import zlib

from interop.guest.archive import Unavailable

HEADER_MAGIC = b"HdrS"


def extract(image: bytes) -> bytes:
    """Offsets as in the x86 boot protocol: setup_sects, payload_offset, payload_length."""
    if image[0x202:0x206] != HEADER_MAGIC:
        raise Unavailable("the kernel image has no boot header")
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start:start + length]
    kernel = decompress(payload)
    if kernel[:4] != b"\x7fELF":
        raise Unavailable("the kernel image holds no ELF file")
    return kernel


def decompress(payload: bytes) -> bytes:
    # The last four bytes are the length of what was compressed; decompressors stop before them.
    if payload[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(payload)
    if payload[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31).decompress(payload)
    if payload[:4] == b"\x28\xb5\x2f\xfd":
        program = shutil.which("zstd")
        if program is None:
            raise Unavailable("no zstd: the kernel is compressed with it")
        return subprocess.run([program, "-dcq"], input=payload[:-4], stdout=subprocess.PIPE,
                              check=True).stdout
    raise Unavailable("the kernel image is compressed in a way that is not known here")
