"""Whom a host lets invalidate its memory keys: over NDK the controller, over NetworkDirect nobody but itself.

A host that reads hands the controller a key to its memory. With the SGL subtype Fh it asks the controller to invalidate
that key together with the completion (Send with invalidate). NDK tells a receiver which key was invalidated; NetworkDirect has no
such thing, so that a host on it must never ask, and has to take its keys back by itself. The controller is the same in all
cases, and what the blocks hold must not depend on any of it.
"""

import pytest

import fabricbench as fb
from fabricbench import wire

INVALIDATE = 0xF


class Watcher(fb.TargetProduct):
    """Notes the subtype of the SGL of each I/O command."""

    def __init__(self):
        self.subtypes = set()

    def admission(self, command):
        # Commands with data in the capsule name no key.
        sgl = wire.SglKeyed(bytes(command.sqe)[24:40])
        if command.qid != 0 and sgl.type == 4:
            self.subtypes.add(sgl.subtype)


@pytest.mark.parametrize("device, expected", [("softroce", {INVALIDATE}), ("NDK:default", {INVALIDATE}), ("ND:default", {0})])
def test_who_invalidates(world, device, expected):
    product = Watcher()
    host = world.host(device=device)
    space = host.connect(world.subsystem(product=product)).wait().namespace(1)
    data = bytes(range(256)) * 256
    space.write(0, data).wait()
    reads = [space.read(0, blocks=128) for _ in range(16)]  # all at once, a key each
    assert all(read.wait() == data for read in reads)
    assert product.subtypes == expected
