"""Ten hosts at work side by side, each an `async def` of its own, all on the clock of one world.

Nothing runs but the world, and nothing is left to chance: the same script and the same seed give the same packets at
the same time, which the digest tells. What one host's task raises ends all the others, and comes out of run().
"""

import pytest

import fabricbench as fb
from fabricbench import commands

HOSTS = 10
SPAN = 32  # blocks of each host


def block(owner, lba, generation):
    return f"{owner:02} {lba:04} {generation}".encode().ljust(512, b".")


async def work(world, host, subsystem, owner, log):
    """Connects some time after the one before, writes its blocks twice with pauses between, and reads what it wrote."""
    await world.sleep(0.0001 * owner)
    log.append((owner, "begins"))
    controller = await host.connect(subsystem)
    space = controller.namespace(1)
    first = owner * SPAN
    for generation in (1, 2):
        # Several at once: all are started before the first is waited for.
        for op in [space.write(lba, block(owner, lba, generation)) for lba in range(first, first + SPAN)]:
            await op
        # The world's own random numbers: the same ones for the same seed.
        await world.sleep(f"{world.random('pauses')[0] % 1000} us")
        log.append((owner, f"has written {generation}"))
    data = await space.read(first, SPAN)
    assert data == b"".join(block(owner, lba, 2) for lba in range(first, first + SPAN))
    return controller.cntlid


def run(seed):
    with fb.World(seed=seed, monitors=True) as world:
        subsystem = world.subsystem()
        log = []
        cntlids = world.run(*[work(world, world.host(), subsystem, owner, log) for owner in range(HOSTS)])
        # The value of each task, in the order in which they were given; every host has a controller of its own.
        assert len(set(cntlids)) == HOSTS
        assert subsystem.namespaces[0].totals["writes"] == 2 * HOSTS * SPAN and world.findings() == []
        return world.digest, log


@pytest.mark.requirement("nvme.write.read-back")
def test_ten_hosts_do_the_same_in_every_run(fb_seed):
    digest, log = run(fb_seed)
    assert run(fb_seed) == (digest, log)
    # They are under way at the same time: nobody is through before the last has begun.
    assert log[:HOSTS] == [(owner, "begins") for owner in range(HOSTS)]
    # Another seed is another run.
    assert run(fb_seed + 1)[0] != digest


def test_what_one_raises_ends_all(world, subsystem):
    log = []

    async def reads_beyond_the_end():
        controller = await world.host("tenth").connect(subsystem)
        space = controller.namespace(1)
        answer = await controller.io(commands.read(1, space.blocks), room=512)
        answer.check("read")

    with pytest.raises(fb.CommandError, match="LBA Out of Range"):
        world.run(reads_beyond_the_end(), *[work(world, world.host(), subsystem, owner, log) for owner in range(9)])
    assert (0, "begins") in log and (0, "has written 2") not in log
    # The world itself is whole, and the script may go on.
    world.host("eleventh").connect(subsystem).wait().namespace(1).read(0).wait()
