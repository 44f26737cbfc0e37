"""Every object may outlive its world, and is used after it without harm: an exception, never a crash."""

import gc
import threading
import weakref

import pytest

import fabricbench as fb
from fabricbench import commands


@pytest.fixture
def scene():
    world = fb.World(seed=3)
    subsystem = world.subsystem(size="1M")
    host = world.host()
    controller = host.connect(subsystem).wait()
    return world, subsystem, host, controller


def objects_of(scene):
    """One object of each kind, and something to ask it."""
    world, subsystem, host, controller = scene
    bus = world.mctp_bus()
    drive = bus.add_drive()
    bus.enumerate()
    endpoint = bus.requester().endpoint(drive)
    space = controller.namespaces[0]
    queue = host.raw_queue(subsystem)
    link = world.link("host", "target")
    behind = subsystem.namespaces[0]
    seen = subsystem.controllers[0]
    tcp = world.raw_tcp()
    roce = world.raw_roce("10.0.1.1")
    return [
        lambda: world.now, lambda: world.run_for(1), lambda: world.sleep(1), lambda: world.digest, lambda: world.host(),
        lambda: world.target(), lambda: world.strikes, lambda: world.note("x"), lambda: world.mctp_bus(), lambda: world.run_until_idle(),
        lambda: subsystem.nqn, lambda: subsystem.add_namespace(size="1M"), lambda: subsystem.power_cycle(), lambda: subsystem.namespaces,
        lambda: subsystem.set_ana_state(1), lambda: subsystem.target.add_port(),
        lambda: subsystem.target.add_subsystem(nqn="nqn.2026-11.x:y"),
        lambda: host.name, lambda: host.connect(subsystem), lambda: host.controllers, lambda: host.next_event(), lambda: host.shutdown(),
        lambda: controller.state, lambda: controller.identify(), lambda: controller.features.kato, lambda: controller.log.smart(),
        lambda: controller.reset(), lambda: controller.namespaces, lambda: controller.history, lambda: controller.disconnect(),
        lambda: space.read(0), lambda: space.write(0, bytes(512)), lambda: space.blocks, lambda: space.paths, lambda: space.flush(),
        lambda: queue.connect(), lambda: queue.send(commands.keep_alive()), lambda: queue.connected, lambda: queue.next_response(),
        lambda: link.cut(), lambda: link.counters, lambda: link.configure(mtu=1500),
        lambda: behind.blocks, lambda: behind.stored(0), lambda: seen.state, lambda: seen.end_association("x"),
        lambda: bus.enumerate(), lambda: drive.eid, lambda: drive.power_cycle(), lambda: endpoint.health(), lambda: bus.known,
        lambda: drive.subsystem.nqn, lambda: tcp.closed, lambda: tcp.connect("10.0.1.1"), lambda: roce.received, lambda: roce.send(qpn=1),
    ]


def test_use_after_close_is_closed(scene):
    uses = objects_of(scene)
    scene[0].close()
    for number, use in enumerate(uses):
        with pytest.raises(fb.Closed):
            use()
            pytest.fail(f"use {number} of a closed world went through")


def test_reprs_survive_their_world(scene):
    world, subsystem, host, controller = scene
    op = controller.identify()
    spaces, queue, behind = controller.namespaces, host.raw_queue(subsystem), subsystem.namespaces[0]
    world.close()
    assert repr(world) == "<World closed>"
    for one in (subsystem, host, controller, spaces[0], queue, subsystem.target, behind):
        assert repr(one).startswith("<") and (one is subsystem.target or "closed" in repr(one))
    assert "given up" in repr(op)


def test_operations_outlive_their_world(scene):
    world, _, _, controller = scene
    done = controller.identify()
    value = done.wait()
    pending = controller.namespaces[0].read(0, 8)
    never = world.sleep(1000)
    world.close()
    assert done.wait() == value
    for op in (pending, never):
        with pytest.raises(fb.Closed):
            op.wait()
    with pytest.raises(fb.Closed):
        never.cancel()


def test_objects_keep_their_world(scene):
    """Whoever holds a part holds the world: dropping the World object ends nothing."""
    world, subsystem, host, controller = scene
    space = controller.namespaces[0]
    held = weakref.ref(world)
    del world, host, controller, scene
    subsystem.target._world = None
    gc.collect()
    space.write(0, bytes(512)).wait()
    assert space.read(0).wait() == bytes(512)
    assert held is not None


def test_buffers_of_dropped_operations_stay(scene):
    """The memory of an operation is held until it is over, whatever becomes of the Op."""
    world, _, _, controller = scene
    space = controller.namespaces[0]
    for number in range(64):
        space.write(number, bytearray([number]) * 512)
        space.read(number, 4)
    gc.collect()
    world.run_for(1)
    assert all(space.read(number).wait() == bytes([number]) * 512 for number in range(64))


def test_a_buffer_in_flight_cannot_be_resized(scene):
    _, _, _, controller = scene
    data = bytearray(4096)
    op = controller.namespaces[0].write(0, data)
    with pytest.raises(BufferError):
        data.extend(b"x")
    op.wait()
    del op
    data.extend(b"x")


def test_what_is_gone_inside_a_world_is_said():
    with fb.World() as world:
        subsystem = world.subsystem(size="1M")
        behind = subsystem.namespaces[0]
        host = world.host()
        controller = host.connect(subsystem).wait()
        seen = subsystem.controllers[0]
        behind.remove()
        assert not behind.alive
        with pytest.raises(fb.Closed, match="namespace 1 is no more"):
            behind.stored(0)
        controller.shutdown().wait()
        world.run_for(1)
        with pytest.raises(fb.Closed, match="controller 1 is no more"):
            print(seen.state)
        assert controller.state == "gone"


def test_worlds_are_freed():
    """A hundred worlds leave nothing behind that grows: their handles go with them."""
    worlds = []
    for seed in range(100):
        world = fb.World(seed=seed)
        worlds.append(weakref.ref(world))
        host = world.host()
        host.connect(world.subsystem(size="64K")).wait()
        world.close()
    del world, host
    gc.collect()
    assert not [one() for one in worlds if one() is not None]


def test_closing_while_it_runs_is_busy(scene):
    world, subsystem, host, _ = scene
    raised = []

    class Product(fb.TargetProduct):
        def admission(self, command):
            for call in (other.close, lambda: other.run_for(1)):
                try:
                    call()
                except fb.Busy as problem:
                    raised.append(str(problem))
            return None

    with fb.World() as other:
        other.host().connect(other.subsystem(product=Product())).wait()
    assert raised and all("callback" in text or "while it runs" in text for text in raised)


def test_another_thread_may_not_touch_a_running_world():
    problems = []
    with fb.World() as world:
        started = threading.Event()

        class Product(fb.TargetProduct):
            def admission(self, command):
                started.set()
                thread.join(0.2)

        def meddle():
            started.wait(5)
            try:
                print(host.name)
            except fb.Busy as problem:
                problems.append(str(problem))

        host = world.host()
        subsystem = world.subsystem(product=Product())
        thread = threading.Thread(target=meddle)
        thread.start()
        host.connect(subsystem).wait()
        thread.join()
    assert problems == ["another thread is running this world"]


def test_an_operation_dropped_by_another_thread_while_the_world_runs():
    with fb.World() as world:
        subsystem = world.subsystem(size="1M")
        controller = world.host().connect(subsystem).wait()
        space = controller.namespaces[0]
        for _ in range(20):
            ops = [space.read(block, 8) for block in range(100)]
            last = ops[-1]
            dropper = threading.Thread(target=ops.clear)
            dropper.start()
            last.wait()
            dropper.join()
