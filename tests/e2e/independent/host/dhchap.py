"""DH-HMAC-CHAP: the host's side of one transaction on one queue, and the secrets that it is made with."""

import base64
import binascii
import functools
import hashlib
import hmac
import itertools
import secrets
import struct

import entries
from entries import Failed

HASHES = {1: "sha256", 2: "sha384", 3: "sha512"}
# RFC 7919: bits of the prime, and the number that makes it one.
GROUPS = {1: (2048, 560316), 2: (3072, 2625351), 3: (4096, 5736041), 4: (6144, 15705020), 5: (8192, 10965728)}
NULL_GROUP = 0
SECURITY = struct.pack("<4B", 0, 1, 1, 0xE9)
MOST_ANSWER = 2048
NEGOTIATE, CHALLENGE, REPLY, SUCCESS1, SUCCESS2, FAILURE2, FAILURE1 = (
    (0, 0x00), (1, 1), (1, 2), (1, 3), (1, 4), (0, 0xF0), (0, 0xF1))
WRONG, NO_HASH, NO_GROUP, PAYLOAD, MESSAGE = 1, 4, 5, 6, 7
_transactions = itertools.count(secrets.randbelow(0x8000))


class Refused(Exception):
    """What the controller said is not good: the reason for Failure2."""

    def __init__(self, text, reason):
        super().__init__(text)
        self.reason = reason


def key_of(secret, nqn):
    """From `DHHC-1:hh:base64:`, checked; with hh, it is bound to the name of its owner."""
    parts = secret.strip().split(":")
    if len(parts) != 4 or parts[0] != "DHHC-1" or parts[3]:
        raise Failed("that is no DHHC-1 secret")
    try:
        raw = base64.b64decode(parts[2], validate=True)
    except binascii.Error:
        raise Failed("the secret is no base64") from None
    key, check = raw[:-4], raw[-4:]
    if len(key) not in (32, 48, 64) or struct.pack("<I", binascii.crc32(key)) != check:
        raise Failed("the secret's check does not match")
    if parts[1] == "00":
        return key
    name = HASHES.get(int(parts[1])) if parts[1].isdecimal() else None
    if name is None:
        raise Failed("the secret has an unknown transformation")
    return hmac.digest(key, nqn.encode() + b"NVMe-over-Fabrics", name)


@functools.cache
def prime(bits, addend):
    """2^b - 2^(b-64) + ([2^(b-130) e] + addend) 2^64 - 1, with e summed to more bits than that takes."""
    term = total = 1 << bits
    for number in itertools.count(1):
        term //= number
        if not term:
            break
        total += term
    return (1 << bits) - (1 << bits - 64) + ((total >> 130) + addend << 64) - 1


class Transaction:
    def __init__(self, options, connection, place):
        self.options, self.connection, self.place = options, connection, place
        self.number = next(_transactions) & 0xFFFF
        self.key = key_of(place.secret, options.host)
        self.controller_key = key_of(place.controller_secret, place.subsystem) if place.controller_secret else None

    async def run(self):
        await self._send(self._negotiate())
        try:
            challenge = await self._receive(CHALLENGE)
            await self._send(self._reply(challenge))
            self._check_success(await self._receive(SUCCESS1))
        except Refused as refused:
            await self._send(struct.pack("<BBHHBB8x", *FAILURE2, 0, self.number, 1, refused.reason))
            raise Failed(f"authentication: {refused}") from None
        if self.controller_key is not None:
            await self._send(struct.pack("<BBHH10x", *SUCCESS2, 0, self.number))

    async def _send(self, message):
        sqe = entries.fabrics(entries.AUTH_SEND, SECURITY + struct.pack("<I", len(message)))
        (await self.connection.execute(sqe, message)).check("Authentication Send")

    async def _receive(self, wanted):
        sqe = entries.fabrics(entries.AUTH_RECEIVE, SECURITY + struct.pack("<I", MOST_ANSWER))
        done = await self.connection.execute(sqe, wanted=MOST_ANSWER, short=True)
        message = done.check("Authentication Receive").data
        if len(message) < 8:
            raise Refused("a message of nothing", PAYLOAD)
        kind = tuple(message[:2])
        number = struct.unpack_from("<H", message, 4)[0]
        if kind == FAILURE1:
            raise Failed(f"authentication: the controller refuses, for reason {message[7]}")
        if kind != wanted:
            raise Refused(f"message {kind} instead of {wanted}", MESSAGE)
        if number != self.number:
            raise Refused("another transaction", PAYLOAD)
        if len(message) < 16:
            raise Refused("a message that ends early", PAYLOAD)
        return message

    def _negotiate(self):
        hashes, groups = bytes(HASHES), bytes([NULL_GROUP, *GROUPS])
        protocol = struct.pack("<BxBB30s30s", 1, len(hashes), len(groups), hashes, groups)
        return struct.pack("<BBHHBB", *NEGOTIATE, 0, self.number, 0, 1) + protocol

    def _reply(self, challenge):
        length, hash_id, group, value_length, sequence = struct.unpack_from("<BxBBHI", challenge, 6)
        if hash_id not in HASHES:
            raise Refused("a hash that was not offered", NO_HASH)
        if group != NULL_GROUP and group not in GROUPS:
            raise Refused("a group that was not offered", NO_GROUP)
        self.hash, self.length = HASHES[hash_id], hashlib.new(HASHES[hash_id]).digest_size
        if length != self.length or sequence == 0:
            raise Refused("the length or the sequence number of the challenge", PAYLOAD)
        if len(challenge) < 16 + length + value_length:
            raise Refused("the challenge ends early", PAYLOAD)
        theirs = challenge[16:16 + length]
        own_value = self._agree(group, challenge[16 + length:16 + length + value_length])
        response = hmac.digest(self.key, self._augmented(theirs) + self._rest(
            sequence, b"HostHost", self.options.host, self.place.subsystem), self.hash)
        mutual = self.controller_key is not None
        self.challenge, self.sequence = bytes(length), 0
        if mutual:
            self.sequence = 1 + secrets.randbelow(0xFFFFFFFF)
            while not any(self.challenge) or self.challenge == theirs:
                self.challenge = secrets.token_bytes(length)
        head = struct.pack("<BBHHBxBxHI", *REPLY, 0, self.number, length, mutual, len(own_value), self.sequence)
        return head + response + self.challenge + own_value

    def _agree(self, group, value):
        """The session key from the controller's value; returns the host's own."""
        self.session = b""
        if group == NULL_GROUP:
            if value:
                raise Refused("a DH value without a group", PAYLOAD)
            return b""
        bits, addend = GROUPS[group]
        modulus, size = prime(bits, addend), bits // 8
        theirs = int.from_bytes(value, "big")
        if len(value) != size or not 1 < theirs < modulus - 1:
            raise Refused("the DH value", PAYLOAD)
        exponent = secrets.randbits(512) | 1 << 511
        shared = pow(theirs, exponent, modulus)
        self.session = hashlib.new(self.hash, shared.to_bytes(size, "big")).digest()
        return pow(2, exponent, modulus).to_bytes(size, "big")

    def _augmented(self, challenge):
        return hmac.digest(self.session, challenge, self.hash) if self.session else challenge

    def _rest(self, sequence, role, first, second):
        return struct.pack("<IHB", sequence, self.number, 0) + role + first.encode() + b"\0" + second.encode()

    def _check_success(self, message):
        if message[6] != self.length:
            raise Refused("the length of the controller's response", PAYLOAD)
        if self.controller_key is None:
            return
        if len(message) < 16 + self.length:
            raise Refused("the controller's response ends early", PAYLOAD)
        wanted = hmac.digest(self.controller_key, self._augmented(self.challenge) + self._rest(
            self.sequence, b"Controller", self.place.subsystem, self.options.host), self.hash)
        if not message[8] & 1 or not hmac.compare_digest(message[16:16 + self.length], wanted):
            raise Refused("the controller does not know its secret", WRONG)


async def authenticate(controller, connection):
    if not controller.place.secret:
        raise Failed("the controller asks for authentication, and there is no secret")
    await Transaction(controller.options, connection, controller.place).run()
