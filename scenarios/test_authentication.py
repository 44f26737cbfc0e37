"""A subsystem whose hosts have to authenticate (DH-HMAC-CHAP), over both transports.

A host with the secret that the subsystem knows of it gets in, and its data with it. A host with another secret, with
none, or one that the subsystem does not know is kept out, and is told so once and for all: it must not go on trying.
In the other direction a host may ask the subsystem to prove itself, and must leave one that cannot.
"""

import base64
import zlib

import pytest

import fabricbench as fb


def secret(text):
    """DHHC-1:00:...: 32 bytes and their CRC-32 in BASE64; 00 says that they are used as they are."""
    key = text.encode().ljust(32, b"*")
    return f"DHHC-1:00:{base64.b64encode(key + zlib.crc32(key).to_bytes(4, 'little')).decode()}:"


ALICE, BOB, MALLORY = (f"nqn.2026-11.org.example:{name}" for name in ("alice", "bob", "mallory"))
OF_ALICE, OF_BOB, OF_THE_SUBSYSTEM = secret("alice's"), secret("bob's"), secret("the subsystem's")


@pytest.fixture(params=["rdma", "tcp"])
def transport(request):
    return request.param


def vault(world, transport, deviations=()):
    """A subsystem that knows Alice and Bob. A second secret in a line is what it proves itself with."""
    target = world.target(transport=transport, deviations=deviations)
    subsystem = target.add_subsystem(secrets=f"{ALICE} {OF_ALICE} {OF_THE_SUBSYSTEM}\n{BOB} {OF_BOB}\n")
    subsystem.add_namespace(size="1M")
    return subsystem


def knock(world, subsystem, transport, hostnqn, **secrets):
    return world.host(transport=transport, hostnqn=hostnqn).connect(subsystem, **secrets).wait()


@pytest.mark.requirement("auth.host.demand.admin-queue")
@pytest.mark.requirement("auth.host.demand.reconnect")
@pytest.mark.requirement("auth.controller.mutual.response")
@pytest.mark.parametrize("mutual", [False, True], ids=["host_only", "mutual"])
def test_who_knows_the_secret_gets_in(world, transport, mutual):
    subsystem = vault(world, transport)
    controller = knock(world, subsystem, transport, ALICE, secret=OF_ALICE,
                       controller_secret=OF_THE_SUBSYSTEM if mutual else None)
    space = controller.namespace(1)
    space.write(0, b"private " * 64).wait()

    # Once more on queues that are in use, and on new ones after a loss.
    controller.reauthenticate().wait()
    subsystem.end_associations()
    assert space.read(0).wait() == b"private " * 64 and controller.live


@pytest.mark.requirement("auth.controller.reply.response")
@pytest.mark.requirement("auth.host.demand.no-secret")
@pytest.mark.parametrize("hostnqn, given, kind", [
    (ALICE, OF_BOB, "authentication"),
    (MALLORY, OF_ALICE, "authentication"),
    (ALICE, None, "unsupported"),  # the host finds that it cannot do what is demanded
], ids=["wrong_secret", "unknown_host", "no_secret"])
def test_who_does_not_stays_outside(world, transport, hostnqn, given, kind):
    subsystem = vault(world, transport)
    with pytest.raises(fb.ConnectError) as caught:
        knock(world, subsystem, transport, hostnqn, secret=given)
    assert caught.value.kind == kind and caught.value.permanent

    world.run_for("1 min")
    assert not any(controller.in_association for controller in subsystem.controllers)
    # Others are not held up by it.
    assert knock(world, subsystem, transport, BOB, secret=OF_BOB).live


@pytest.mark.requirement("auth.host.mutual.success2")
def test_a_host_leaves_a_subsystem_that_cannot_prove_itself(world, transport):
    subsystem = vault(world, transport)
    with pytest.raises(fb.ConnectError) as caught:
        knock(world, subsystem, transport, ALICE, secret=OF_ALICE, controller_secret=secret("somebody else's"))
    assert caught.value.kind == "authentication"


def test_a_subsystem_that_takes_any_response_is_found(world, transport):
    subsystem = vault(world, transport, deviations=["auth_any_response", "auth_any_response_dh"])
    # There is nothing to be seen from a host that knows its secret. One that does not is in.
    assert knock(world, subsystem, transport, ALICE, secret=OF_BOB).live
