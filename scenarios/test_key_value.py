"""Two hosts share counters in a key value namespace, and agree by Store options who makes a key.

A key is made once, whoever comes first: the other gets Key Exists. What one host has stored the other retrieves, in as much
room as it likes, and a deleted key is gone for both.
"""

import pytest

import fabricbench as fb
from fabricbench import sc


def two_hosts(world):
    subsystem = world.subsystem(size=None, key_value={"supported": True})
    subsystem.add_namespace(key_value_bytes=1 << 20)
    spaces = [world.host(name).connect(subsystem).wait().namespace(1) for name in ("first", "second")]
    assert all(space.key_value for space in spaces)
    return spaces


def test_one_host_makes_a_key(world):
    first, second = two_hosts(world)
    first.store(b"leader", b"first", new=True).wait()
    with pytest.raises(fb.CommandError) as refused:
        second.store(b"leader", b"second", new=True).wait()
    assert refused.value.status == sc.key_exists
    assert second.retrieve(b"leader").wait() == (b"first", 5)


def test_a_value_comes_in_the_room_there_is(world):
    first, second = two_hosts(world)
    value = bytes(range(256)) * 8
    first.store(b"blob", value).wait()
    part, size = second.retrieve(b"blob", 100).wait()
    assert part == value[:100] and size == len(value)
    assert second.retrieve(b"blob", size).wait() == (value, size)


def test_a_deleted_key_is_gone_for_both(world):
    first, second = two_hosts(world)
    names = [b"a", b"ab", b"abcdefghijklmnop"]
    for name in names:
        first.store(name, name * 3).wait()
    assert sorted(second.keys().wait()) == names
    second.delete_key(b"ab").wait()
    assert not first.has_key(b"ab").wait()
    assert first.keys(b"abcdefghijklmnop").wait()[0] == b"abcdefghijklmnop"
    with pytest.raises(fb.CommandError) as refused:
        first.retrieve(b"ab").wait()
    assert refused.value.status == sc.key_does_not_exist
    with pytest.raises(fb.CommandError) as refused:
        first.store(b"ab", b"", replace=True).wait()
    assert refused.value.status == sc.key_does_not_exist
