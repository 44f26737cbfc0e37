"""What NVMe over RDMA stands on: the software device, or NetworkDirect or NDK on it."""
import itertools

import pytest

import fabricbench as fb

DEVICES = ["softroce", "ND:default", "NDK:default"]


@pytest.fixture
def world():
    with fb.World(monitors=True) as world:
        yield world
        assert world.findings() == []


@pytest.mark.parametrize("ours, theirs", itertools.product(DEVICES, DEVICES))
def test_any_two_meet(world, ours, theirs):
    subsystem = world.subsystem(device=theirs)
    space = world.host(device=ours).connect(subsystem).wait().namespace(1)
    space.write(8, bytes(range(256)) * 256).wait()
    assert space.read(8, blocks=128).wait() == bytes(range(256)) * 256


@pytest.mark.parametrize("device", DEVICES[1:])
def test_the_same_packets_each_time(device):
    def digest():
        with fb.World(seed=5) as world:
            space = world.host(device=device).connect(world.subsystem(device=device)).wait().namespace(1)
            space.write(0, b"x" * 4096).wait()
            return world.digest

    assert digest() == digest()


def test_a_connection_that_is_cut_is_made_again(world):
    host = world.host(device="ND:default")
    space = host.connect(world.subsystem()).wait().namespace(1)
    world.link("host", "target").cut("2 s")
    space.write(0, b"y" * 512).wait()
    assert space.read(0).wait() == b"y" * 512


def test_wrong_devices(world):
    with pytest.raises(ValueError, match="device: 'IB'; there are softroce, ND:default and NDK:default"):
        world.host(device="IB")
    with pytest.raises(ValueError, match="device: NVMe/TCP has no RDMA device"):
        world.subsystem(transport="tcp", device="ND:default")
