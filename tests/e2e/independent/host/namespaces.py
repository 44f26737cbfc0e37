"""Namespaces: which there are, and how their blocks look."""

import dataclasses
import struct

import entries

PROTECTION_BYTES = 8
NVM = 0


@dataclasses.dataclass
class Namespace:
    nsid: int
    blocks: int
    block: int
    metadata: int
    protection: int  # its type; 0 is none

    @property
    def on_the_wire(self):
        """Bytes of a block in a transfer. Its metadata follows, unless the controller makes and checks all of it."""
        return self.block + (0 if self.controller_protects else self.metadata)

    @property
    def controller_protects(self):
        return self.protection and self.metadata == PROTECTION_BYTES


async def find_namespaces(controller):
    """The active namespaces of the NVM command set."""
    by_set = controller.cc >> 4 & 7 == 6
    found, last = {}, 0
    if controller.identity.kind not in (0, 1):
        return found
    while True:
        page = (await controller.command(entries.identify(7 if by_set else 2, last, NVM), wanted=4096)).check(
            "Identify, active namespaces").data
        listed = [nsid for nsid in struct.unpack("<1024I", page) if nsid]
        for nsid in listed:
            namespace = await _look_at(controller, nsid)
            if namespace is not None:
                found[nsid] = namespace
        if len(listed) < 1024 or listed[-1] >= 0xFFFFFFFE:
            return found
        last = listed[-1]


async def _look_at(controller, nsid):
    done = await controller.command(entries.identify(0, nsid), wanted=4096)
    if done.code != (0, 0):
        return controller.options.log(f"namespace {nsid}: status {done.code}")
    page = done.data
    blocks = struct.unpack_from("<Q", page)[0]
    chosen = page[26] & 0xF | (page[26] >> 1 & 0x30 if page[25] > 15 else 0)
    metadata, shift = struct.unpack_from("<HB", page, 128 + 4 * chosen)
    if not blocks or shift < 9:
        return controller.options.log(f"namespace {nsid} has no usable blocks")
    return Namespace(nsid, blocks, 1 << shift, metadata, page[29] & 7)
