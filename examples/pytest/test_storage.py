"""NVMe over Fabrics and NVMe-MI from pytest.

    PYTHONPATH=PREFIX/lib/python3.11/dist-packages /usr/bin/python3 -m pytest
"""

import fabricbench as fb
import pytest
from fabricbench.suite import Suite


def test_what_was_written_is_read(subsystem, host):
    space = host.connect(subsystem).wait().namespace(1)
    space.write(0, b"fabricbench!" * 128).wait()
    assert space.read(0, blocks=3).wait() == b"fabricbench!" * 128


def test_a_read_beyond_the_end_is_refused(subsystem, host):
    space = host.connect(subsystem).wait().namespace(1)
    with pytest.raises(fb.CommandError, match="LBA Out of Range"):
        space.read(1 << 40).wait()


@pytest.mark.parametrize("deviations, verdict", [([], "pass"), (["connect_takes_sqsize_zero"], "fail")])
def test_the_suite_knows_right_from_wrong(deviations, verdict):
    assert Suite().run("connect_refuses_sqsize_zero", "tcp", deviations=deviations).verdict == verdict
