#!/usr/bin/env python3
"""Test vectors of DH-HMAC-CHAP, computed without OpenSSL and without the code under test: hmac and
hashlib of Python, modular powers of its integers, and the primes of RFC 7919 from their definition
p = 2^b - 2^(b-64) + (floor(2^(b-130) e) + X) 2^64 - 1.

    vectors.py > vectors.inc          vectors.py --check vectors.inc
"""

import hashlib
import hmac
import struct
import sys

HOST = b"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
SUBSYSTEM = b"nqn.2014-08.org.nvmexpress:uuid:36ebf5a9-1df9-47b3-a6d0-e9ba32e428a2"
SECRET = bytes.fromhex("89aeb31a874eaf84841b46736b0dfdf2ba58d30aa2a545a3e235a3521e07594c")
HASHES = {1: "sha256", 2: "sha384", 3: "sha512"}
GROUPS = {1: (2048, 560316), 2: (3072, 2625351), 3: (4096, 5736041), 4: (6144, 15705020),
          5: (8192, 10965728)}
T_ID, S1, S2 = 0x1234, 1, 0xFFFFFFFF


def e_scaled(bits):
    """floor(2^bits e) by the series of 1/n!."""
    guard = 64
    total = term = 1 << (bits + guard)
    n = 1
    while term:
        term //= n
        total += term
        n += 1
    return total >> guard


def prime(group):
    bits, x = GROUPS[group]
    return (1 << bits) - (1 << (bits - 64)) + ((e_scaled(bits - 130) + x) << 64) - 1


def mac(hash_id, key, *parts):
    return hmac.new(key, b"".join(parts), HASHES[hash_id]).digest()


def numbers(count, first):
    return bytes((first + i) & 0xFF for i in range(count))


def vector(hash_id, group, transform, sc_c):
    length = hashlib.new(HASHES[hash_id]).digest_size
    c1, c2 = numbers(length, 0), numbers(length, 0x80)
    x, y = numbers(32, 0x91), numbers(32, 0xA3)
    key_h = mac(transform, SECRET, HOST, b"NVMe-over-Fabrics") if transform else SECRET
    key_c = mac(transform, SECRET, SUBSYSTEM, b"NVMe-over-Fabrics") if transform else SECRET
    public = session = b""
    ca1, ca2 = c1, c2
    if group:
        p = prime(group)
        gx = pow(2, int.from_bytes(x, "big"), p)
        shared = pow(gx, int.from_bytes(y, "big"), p)
        public = hashlib.sha256(gx.to_bytes(GROUPS[group][0] // 8, "big")).digest()
        session = hashlib.new(HASHES[hash_id], shared.to_bytes(GROUPS[group][0] // 8, "big")).digest()
        ca1, ca2 = mac(hash_id, session, c1), mac(hash_id, session, c2)
    r1 = mac(hash_id, key_h, ca1, struct.pack("<IHB", S1, T_ID, sc_c), b"HostHost", HOST, b"\0", SUBSYSTEM)
    r2 = mac(hash_id, key_c, ca2, struct.pack("<IHB", S2, T_ID, sc_c), b"Controller", SUBSYSTEM, b"\0",
             HOST)
    psk = mac(hash_id, session, c1, c2) if group else b""
    fields = [f'"{value.hex()}"' for value in (public, session, r1, r2, psk)]
    return "{%d, %d, %d, %d,\n %s}," % (hash_id, group, transform, sc_c, ",\n ".join(fields))


def table():
    rows = ["// Printed by vectors.py: hash, group, transform, SC_C, SHA-256 of g^x mod p, session key, R1, R2, PSK."]
    rows += [vector(hash_id, 0, transform, 0) for hash_id in HASHES for transform in (0, 1, 2, 3)]
    rows += [vector(hash_id, group, 1, 2) for hash_id in HASHES for group in GROUPS]
    return "\n".join(rows) + "\n"


def main():
    if sys.argv[1:2] == ["--check"]:
        if open(sys.argv[2], encoding="utf-8").read() != table():
            print("vectors.inc is not what vectors.py prints")
            return 1
        return 0
    sys.stdout.write(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
