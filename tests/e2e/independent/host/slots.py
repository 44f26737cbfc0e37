"""The submission queue of a connection: which of its entries are free, and who waits for one."""

import asyncio
import collections


class Slots:
    """`sent`, `fetched` and `completed` count entries from the start of the connection."""

    def __init__(self, keeps_one):
        self.keeps_one = keeps_one  # the last entry is for commands that are urgent
        self.entries, self.limit, self.flow_control = 2, 1, True
        self.sent = self.fetched = self.completed = self.head = self.open = 0
        self.waiting = collections.deque()

    def joins(self, entries, flow_control, head):
        """After Connect, which took the first entry itself."""
        self.entries, self.limit, self.flow_control = entries, entries - 1, flow_control
        self.sent = self.fetched = self.completed = 1
        self.head = head if head < entries else 1

    def _room(self, urgent):
        kept = 1 if self.keeps_one and self.entries > 2 and not urgent else 0
        if self.flow_control and self.sent - self.fetched >= self.entries - 1 - kept:
            return False
        return self.open < self.limit - kept

    async def take(self, urgent, alive):
        """Waits until an entry is free, or the connection is not there any more."""
        while alive() and not self._room(urgent):
            waiter = asyncio.get_running_loop().create_future()
            (self.waiting.appendleft if urgent else self.waiting.append)(waiter)
            await waiter
        if alive():
            self.sent += 1
            self.open += 1

    def wake(self):
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def completes(self, head=None):
        """A completion, with its SQHD or (SUCCESS) without. What is completed was fetched."""
        self.completed += 1
        self.open -= 1
        if head is None:
            self.fetched = max(self.fetched, self.completed)
        elif self.flow_control and head < self.entries:
            self.fetched = min(self.fetched + (head - self.head) % self.entries, self.sent)
            self.head = head
