"""Write something, read it back: the shortest scenario there is."""

import pytest


@pytest.mark.requirement("nvme.write.read-back")
def test_what_was_written_is_read(subsystem, host):
    # Every action gives an Op. wait() runs the world until it is done, and gives its value.
    controller = host.connect(subsystem).wait()
    space = controller.namespace(1)
    data = b"fabricbench " * 128  # three blocks of 512 bytes

    space.write(0, data).wait()

    assert space.read(0, blocks=3).wait() == data
    # The same blocks behind the controller, without a host in between.
    assert subsystem.namespaces[0].stored(0, 3) == data
