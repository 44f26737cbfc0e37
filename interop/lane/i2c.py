"""Programs for I2C, unmodified, as a Debian has them, on the drives of a virtual SMBus: what they print against what the drives are.
`fabricbench mctp exec --i2c` gives them /dev/i2c-N."""

import re

from interop.guest import root
from interop.guest.root import Root
from interop.guest.userland import FOR_INSTALLATION, Userland
from interop.lane.bench import CellFailure
from interop.lane.scene import Scene, cell_of_packages

WANTED = Userland(("i2c-tools", "python3-smbus"), FOR_INSTALLATION)
MANAGEMENT, VPD, NOBODY = 0x6A, 0x53, 0x20
POLYNOMIAL = 0x07
STATUS_BYTES, IDENTITY_AT, IDENTITY_BYTES = 6, 8, 22
SERIALS = {1: b"FB0000000001", 2: b"FB0000000002"}  # by the number of the adapter: each has a drive of its own

# By python3-smbus: blocks with a packet error code, the arbitration bit and what clears it, quick and single bytes, an address
# where nobody is.
PROGRAM = f"""
import errno, smbus
bus = smbus.SMBus(2)
bus.pec = 1
status, identity = (bus.read_block_data({MANAGEMENT}, offset) for offset in (0, {IDENTITY_AT}))
assert len(status) == {STATUS_BYTES} and len(identity) == {IDENTITY_BYTES}, (status, identity)
assert bytes(identity[2:14]) == {SERIALS[2]!r}, identity
assert bus.read_block_data({MANAGEMENT}, 0)[0] & 0x80, "a block was read without contention"
bus.pec = 0
bus.write_byte({MANAGEMENT}, 0xFF)
assert not bus.read_block_data({MANAGEMENT}, 0)[0] & 0x80, "Send Byte FFh clears the arbitration bit"
assert bus.read_i2c_block_data({MANAGEMENT}, {IDENTITY_AT}, {IDENTITY_BYTES + 1}) == [{IDENTITY_BYTES}, *identity]
assert bus.read_byte_data({MANAGEMENT}, {IDENTITY_AT}) == {IDENTITY_BYTES}
assert bus.read_word_data({MANAGEMENT}, 0) == {STATUS_BYTES} | bus.read_byte_data({MANAGEMENT}, 1) << 8
for call in (lambda: bus.read_byte({NOBODY}), lambda: bus.write_byte({NOBODY}, 0), lambda: bus.read_block_data({NOBODY}, 0)):
    try:
        call()
    except OSError as problem:
        assert problem.errno == errno.ENXIO, problem
    else:
        raise AssertionError("somebody is where nobody is")
print("well")
"""


def code_of(data: bytes) -> int:
    """The packet error code of SMBus."""
    code = 0
    for byte in data:
        code ^= byte
        for _ in range(8):
            code = (code << 1 ^ POLYNOMIAL if code & 0x80 else code << 1) & 0xFF
    return code


def asked(scene: Scene, inside: Root, *program: str, check: bool = True) -> str:
    """What a program of the root prints. It reaches the bus through a library that is loaded before its own."""
    command = inside.entered(program, [scene.bench.program.parent.resolve()])
    said = scene.bench.run("mctp", "exec", "--i2c", "--", *command, check=False)
    if check and said.status != 0:
        raise CellFailure(f"'{' '.join(program)}' ended with {said.status}: {said.output.strip()[-200:]}")
    if not check and said.status == 0:
        raise CellFailure(f"'{' '.join(program)}' succeeds where nobody is")
    return said.output


def transfer(scene: Scene, inside: Root, bus: int, *parts: str) -> bytes:
    return bytes(int(word, 16) for word in asked(scene, inside, "i2ctransfer", "-y", str(bus), *parts).split())


def expect(seen: object, wanted: object, what: str) -> None:
    if seen != wanted:
        raise CellFailure(f"{what} is {seen}, where it is {wanted}")


def list_adapters_and_addresses(scene: Scene, inside: Root) -> None:
    for bus in SERIALS:
        said = asked(scene, inside, "i2cdetect", "-y", str(bus))
        found = {int(word, 16) for line in said.splitlines()[1:] for word in line.split()[1:] if word != "--"}
        expect(sorted(hex(one) for one in found), sorted(hex(one) for one in (MANAGEMENT, VPD)), f"what i2cdetect finds on adapter {bus}")
    functions = asked(scene, inside, "i2cdetect", "-F", "1")
    for one in ("I2C", "SMBus Quick Command", "SMBus Send Byte", "SMBus Read Byte", "SMBus Read Word", "SMBus Block Read", "SMBus PEC"):
        if not re.search(rf"^{one} +yes$", functions, re.MULTILINE):
            raise CellFailure(f"i2cdetect -F does not say that the adapter can do {one}")


def read_management(scene: Scene, inside: Root) -> bytes:
    """The basic management command in one transfer, the same by single reads, by words, and as a dump."""
    length = IDENTITY_AT + 1 + IDENTITY_BYTES + 1
    for bus, serial in SERIALS.items():
        block = transfer(scene, inside, bus, f"w1@{MANAGEMENT:#x}", "0x00", f"r{length}")
        expect((block[0], block[IDENTITY_AT]), (STATUS_BYTES, IDENTITY_BYTES), "the lengths of the blocks")
        for begin, size in ((0, STATUS_BYTES), (IDENTITY_AT, IDENTITY_BYTES)):
            end = begin + 1 + size
            sent = bytes([MANAGEMENT << 1, begin, MANAGEMENT << 1 | 1]) + block[begin:end]
            expect(block[end], code_of(sent), f"the packet error code of the block at {begin}")
        expect(block[IDENTITY_AT + 3:IDENTITY_AT + 3 + len(serial)], serial, f"the serial number on adapter {bus}")
    block = transfer(scene, inside, 1, f"w1@{MANAGEMENT:#x}", "0x00", f"r{length}")
    for offset in (0, 3, IDENTITY_AT):
        expect(int(asked(scene, inside, "i2cget", "-y", "1", f"{MANAGEMENT:#x}", f"{offset:#x}"), 16), block[offset], f"byte {offset}")
    word = int(asked(scene, inside, "i2cget", "-y", "1", f"{MANAGEMENT:#x}", "0x00", "w"), 16)
    expect(word, block[0] | block[1] << 8, "the word at 0")
    expect(dumped(asked(scene, inside, "i2cdump", "-y", "-r", f"0-{length - 1:#x}", "1", f"{MANAGEMENT:#x}", "b"))[3], block[3],
           "byte 3 of i2cdump")
    asked(scene, inside, "i2cset", "-y", "1", f"{MANAGEMENT:#x}", "0xff")
    return block


def dumped(said: str) -> bytes:
    """The bytes of i2cdump's rows of 16."""
    rows = re.findall(r"^[0-9a-f]{2}: ((?:[0-9a-f]{2}|  )(?: (?:[0-9a-f]{2}|  )){15})", said, re.MULTILINE)
    return bytes(int(word, 16) for row in rows for word in row.split())


def read_vpd(scene: Scene, inside: Root) -> int:
    """The same bytes in one transfer, by i2cdump and by python3-smbus: a FRU image whose header adds up."""
    whole = transfer(scene, inside, 1, f"w2@{VPD:#x}", "0x00", "0x00", "r256")
    narrow = transfer(scene, inside, 1, f"w1@{VPD:#x}", "0x00", "r256")
    image = next((one for one in (whole, narrow) if one[0] == 1 and sum(one[:8]) % 256 == 0), None)
    if image is None:
        raise CellFailure("the common header of the vital product data does not add up")
    return len(image)


@cell_of_packages("i2c", "i2cdetect, i2cget, i2cset, i2ctransfer, i2cdump and python3-smbus on the drives of a virtual SMBus: basic "
                  "management command, vital product data, packet error codes", ("trixie", "bookworm"))
def i2c(scene: Scene) -> str:
    inside = root.build("i2c", scene.kernel, WANTED)
    list_adapters_and_addresses(scene, inside)
    block = read_management(scene, inside)
    size = read_vpd(scene, inside)
    for program in (("i2cget", "-y", "1", f"{NOBODY:#x}"), ("i2cset", "-y", "1", f"{NOBODY:#x}", "0"), ("i2cget", "-y", "9", "0x6a")):
        asked(scene, inside, *program, check=False)
    if "well" not in asked(scene, inside, "python3", "-c", PROGRAM):
        raise CellFailure("the program of python3-smbus did not come to its end")
    versions = " and ".join(f"{name} {inside.packages[name].split('-')[0]}" for name in WANTED.packages)
    return f"{versions}: {len(SERIALS)} drives, {len(block)} bytes of management, {size} of vital product data"
