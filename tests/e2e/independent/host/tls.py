"""NVMe/TCP inside TLS 1.3, with a pre-shared key: OpenSSL's client does the TLS, its standard streams carry the PDUs."""

import asyncio
import base64
import hashlib
import hmac
import struct
import zlib

from entries import Failed


def _extract(key):
    return hmac.digest(bytes(32), key, "sha256")


def _expand(key, label, context):
    """HKDF-Expand-Label of TLS 1.3, for a block of SHA-256 or less."""
    name = b"tls13 " + label
    info = struct.pack(">HB", 32, len(name)) + name + bytes([len(context)]) + context
    return hmac.digest(key, info + b"\1", "sha256")


def psk(text, host, subsystem):
    """The identity and the PSK for TLS, of a configured one of 32 bytes: "NVMeTLSkey-1:01:BASE64:"."""
    kind, transform, key, _ = text.split(":")
    data = base64.b64decode(key)
    if kind != "NVMeTLSkey-1" or transform not in ("00", "01") or len(data) != 36:
        raise Failed("this host has keys of SHA-256 alone")
    key, check = data[:32], struct.unpack("<I", data[32:])[0]
    if zlib.crc32(key) != check:
        raise Failed("the key was mistyped")
    if transform == "01":
        key = _expand(_extract(key), b"HostNQN", host.encode())
    digest = base64.b64encode(hmac.digest(key, f"{host} {subsystem} NVMe-over-Fabrics".encode(), hashlib.sha256)).decode()
    return f"NVMe1R01 {host} {subsystem} {digest}", _expand(_extract(key), b"nvme-tls-psk", f"01 {digest}".encode())


_tunnels = []


async def open_tunnel(place, host, limit):
    """A reader and a writer as of asyncio.open_connection(), and the process between them and the controller."""
    identity, key = psk(place.tls_key, host, place.subsystem)
    process = await asyncio.create_subprocess_exec(
        "openssl", "s_client", "-quiet", "-tls1_3", "-allow_no_dhe_kex", "-ciphersuites", "TLS_AES_128_GCM_SHA256",
        "-psk_identity", identity, "-psk", key.hex(), "-connect", f"{place.address}:{place.port}",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=limit)
    _tunnels.append(process)
    return process.stdout, process.stdin, process


async def all_ended():
    await asyncio.gather(*(each.wait() for each in _tunnels))
