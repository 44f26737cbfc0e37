#!/usr/bin/env python3
"""Test vectors of TLS PSKs, computed without OpenSSL and without the code under test: hmac, hashlib and
base64 of Python.

    psk_vectors.py > psk_vectors.inc          psk_vectors.py --check psk_vectors.inc
"""

import base64
import hashlib
import hmac
import struct
import sys
import zlib

HOST = b"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
SUBSYSTEM = b"nqn.2014-08.org.nvmexpress:uuid:36ebf5a9-1df9-47b3-a6d0-e9ba32e428a2"
LONG_HOST = b"nqn.2014-08.org.nvmexpress:" + b"h" * 196
HASHES = {1: hashlib.sha256, 2: hashlib.sha384}


def hkdf(hash_id, key, label, context, length, old):
    new = HASHES[hash_id]
    prk = hmac.new(bytes(new().digest_size), key, new).digest()
    label = b"tls13 " + label
    if old:
        info = struct.pack("<H", length) + label + context
    else:
        info = struct.pack(">HB", length, len(label)) + label + bytes([len(context)]) + context
    return hmac.new(prk, info + b"\1", new).digest()[:length]


def vector(hash_id, transform, version, origin, old, host):
    length = HASHES[hash_id]().digest_size
    psk = bytes((7 * i + 3) & 0xFF for i in range(length))
    text = b"NVMeTLSkey-1:%02d:%s:" % (transform, base64.b64encode(psk + struct.pack("<I", zlib.crc32(psk))))
    retained = hkdf(hash_id, psk, b"HostNQN", host, length, old) if transform else psk
    digest = base64.b64encode(
        hmac.new(retained, host + b" " + SUBSYSTEM + b" NVMe-over-Fabrics", HASHES[hash_id]).digest())
    identity = b"NVMe%d%s%02d %s %s" % (version, origin, hash_id, host, SUBSYSTEM)
    context = identity
    if version == 1:
        identity += b" " + digest
        context = b"%02d %s" % (hash_id, digest)
    tls = hkdf(hash_id, retained, b"nvme-tls-psk", context, length, old)
    rows = ['{%d, %d, %d, \'%s\', %s,' % (hash_id, transform, version, origin.decode(), str(old).lower())]
    rows += ['"%s",' % text.decode(), '"%s",' % host.decode(), '"%s",' % retained.hex()]
    half = len(identity) // 2
    rows += ['"%s"' % identity[:half].decode(), '"%s",' % identity[half:].decode(), '"%s"},' % tls.hex()]
    return "\n ".join(rows)


def table():
    rows = ["// Printed by psk_vectors.py: hash, transform, version, origin, old derivation, key, host, "
            "retained PSK, identity, TLS PSK."]
    for hash_id in HASHES:
        for version in (0, 1):
            for transform in (0, hash_id):
                rows += [vector(hash_id, transform, version, b"R", old, HOST) for old in (False, True)]
            rows.append(vector(hash_id, 0, version, b"G", False, HOST))
        rows.append(vector(hash_id, hash_id, 1, b"R", False, LONG_HOST))
    return "\n".join(rows) + "\n"


def main():
    if sys.argv[1:2] == ["--check"]:
        if open(sys.argv[2], encoding="utf-8").read() != table():
            print("psk_vectors.inc is not what psk_vectors.py prints")
            return 1
        return 0
    sys.stdout.write(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
