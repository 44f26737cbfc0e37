"""Secrets for DH-HMAC-CHAP between the bench and the guest, and what they are tried with."""

import base64
import pathlib
import zlib

BENCH_NQN = "nqn.2014-08.org.nvmexpress:uuid:5f0c9e52-7a7c-4be0-9d5e-2f3b8a5d6e01"


def secret(seed: int, transform: int = 0, size: int = 32, kind: str = "DHHC-1") -> str:
    """The interchange form of a secret of these bytes. Keys for TLS have the same form."""
    key = bytes((seed * 37 + 11 * i) & 0xFF for i in range(size))
    return (f"{kind}:{transform:02x}:"
            f"{base64.b64encode(key + zlib.crc32(key).to_bytes(4, 'little')).decode()}:")


HOST_SECRET = secret(1)
CONTROLLER_SECRET = secret(2, transform=2, size=48)
OTHER_SECRET = secret(3)

# The larger groups take an emulated processor minutes. The last one is that of the I/O.
VARIATIONS = (("sha384", "ffdhe3072"), ("sha512", "null"), ("sha256", "ffdhe4096"),
              ("sha256", "ffdhe2048"))


def secret_file(folder: pathlib.Path, host: str = HOST_SECRET) -> pathlib.Path:
    """As --dhchap-secret-file takes it."""
    path = folder / f"secrets-{zlib.crc32(host.encode()):08x}"
    path.write_text(f"{host} {CONTROLLER_SECRET}\n")
    path.chmod(0o600)
    return path
