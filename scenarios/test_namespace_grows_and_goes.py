"""Namespaces of a subsystem grow, come and go while a host uses them.

After each change the controllers have to announce that the attributes of a namespace changed, and the Changed Attached
Namespace List has to say of which. The host has to follow: see the new size, find the new namespace, give up the one
that is gone. And a namespace that comes under the NSID of one that went is another one, whatever its number.
"""

import pytest

import fabricbench as fb
from fabricbench import sc
from fabricbench.enums import EventType, LogPage


def changed(host):
    """The next event, which has to be one of a changed namespace: which NSIDs the list names."""
    event = host.next_event().wait(limit="1 s")
    assert (event.type, event.log_page) == (EventType.NOTICE, LogPage.CHANGED_NAMESPACES)
    numbers = [int.from_bytes(event.log[at:at + 4], "little") for at in range(0, 4096, 4)]
    return numbers[:numbers.index(0)]


@pytest.mark.requirement("nvme.aer.namespace-changed")
@pytest.mark.requirement("nvme.log.changed-namespaces")
@pytest.mark.requirement("nvme.host.aer.read-log")
def test_a_namespace_grows_and_shrinks(world, subsystem, host):
    medium = subsystem.namespaces[0]
    medium.resize(2048)  # it was made with 131,072 blocks, so that there is room to grow
    space = host.connect(subsystem).wait().namespace(1)
    with pytest.raises(fb.CommandError):
        space.write(2048, bytes(512)).wait()

    # More often than the host has Asynchronous Event Requests (4): it has to read the list and to ask again each time.
    for blocks in range(4096, 8 * 4096, 4096):
        medium.resize(blocks)
        assert changed(host) == [1]
        world.run_for("1 ms")  # the host reads Identify Namespace
        assert space.blocks == blocks
        space.write(blocks - 1, b"the end." * 64).wait()

    medium.resize(4096)
    assert changed(host) == [1]
    with pytest.raises(fb.CommandError) as refused:
        space.read(8192).wait()
    assert refused.value.status == sc.lba_out_of_range


def created(administrator, controllers, blocks):
    """A namespace made by commands, attached to these controllers; its NSID."""
    nsid = administrator.create_namespace(blocks).wait()
    administrator.attach_namespace(nsid, [controller.cntlid for controller in controllers]).wait()
    return nsid


@pytest.mark.requirement("nvme.namespace.delete.announced")
@pytest.mark.requirement("nvme.namespace.delete.io")
@pytest.mark.requirement("nvme.namespace.create.names")
def test_a_namespace_goes_and_another_comes_under_its_number(world):
    subsystem = world.subsystem(io_latency="1 ms")
    host = world.host()
    user, administrator = host.connect(subsystem).wait(), world.host("administrator").connect(subsystem).wait()

    nsid = created(administrator, [user], 2048)
    assert changed(host) == [nsid]
    world.run_for("1 ms")
    old = host.namespace(nsid)
    old.write(0, b"old data" * 64).wait()

    in_flight = [old.read(0) for _ in range(8)]
    administrator.delete_namespace(nsid).wait()
    for read in in_flight:  # each is answered: the NSID is inactive
        with pytest.raises(fb.CommandError) as refused:
            read.wait()
        assert refused.value.status in (sc.invalid_field, sc.invalid_namespace_or_format)
    assert changed(host) == [nsid]
    world.run_for("1 ms")
    assert [space.nsid for space in host.namespaces] == [1]

    assert created(administrator, [user], 2048) == nsid
    assert changed(host) == [nsid]
    world.run_for("1 ms")
    new = host.namespace(nsid)
    assert new != old and new.identity != old.identity
    assert new.read(0).wait() == bytes(512)
    with pytest.raises(fb.CommandError, match="Host Pathing Error"):
        old.read(0).wait()
