"""Asymmetric namespace access: the states of namespaces over a controller."""

import struct

import entries

OPTIMIZED, OTHERWISE, INACCESSIBLE, LOST, CHANGES = 1, 2, 3, 4, 0xF
RANKS = {OPTIMIZED: 0, OTHERWISE: 1, INACCESSIBLE: 2, CHANGES: 2, LOST: 3}
# What a command may be told instead of the log.
TOLD = {(entries.PATH, 0x01): LOST, (entries.PATH, 0x02): INACCESSIBLE, (entries.PATH, 0x03): CHANGES}


class States:
    def __init__(self, controller):
        self.controller, self.of_namespace, self.lost = controller, {}, set()

    async def read(self):
        """The whole log; the change count tells whether it was one log throughout."""
        identity = self.controller.identity
        length = 16 + 32 * identity.ana_groups + 4 * (identity.most_namespaces or identity.namespaces)
        for _ in range(5):
            page = await self.controller.log_page(0x0C, length)
            if not identity.most_bytes or length <= identity.most_bytes:
                break
            if (await self.controller.log_page(0x0C, 16))[:8] == page[:8]:
                break
        found, at = {}, 16
        for _ in range(struct.unpack_from("<H", page, 8)[0]):
            _, count, _, state = struct.unpack_from("<IIQB", page, at)
            for nsid in struct.unpack_from(f"<{count}I", page, at + 32):
                found[nsid] = state & 0xF
            at += 32 + 4 * count
        self.of_namespace = found
        self.lost |= {nsid for nsid, state in found.items() if state == LOST}

    def is_lost(self, nsid):
        return nsid in self.lost

    def rank(self, nsid):
        return RANKS[LOST] if nsid in self.lost else RANKS.get(self.of_namespace.get(nsid, OPTIMIZED), 2)

    def reaches(self, nsid):
        return self.rank(nsid) < RANKS[INACCESSIBLE]

    def takes(self, nsid, code):
        """A state that a command was told. The log has it, too, and will have what comes next."""
        state = TOLD.get(code)
        if state is None:
            return False
        self.of_namespace[nsid] = state
        if state == LOST:
            self.lost.add(nsid)
        return True
