"""Both command slots of a drive are at work, and control primitives come in between.

Slot 0 sends 4 KiB of Identify data, slot 1 answers a health poll. Pause stops both between two packets and Resume goes
on with the next one; Abort ends the answer of its slot and leaves the other alone. A pause that is too long breaks the
message for whoever puts it together (MCTP allows 100 ms between packets); Replay brings the answer back.
"""

import pytest

from fabricbench import commands, wire
from fabricbench.enums import Cns, MiOpcode, MiSlotState, Primitive

PAUSED = 1 << 15  # PFLG
RESPONDS = 1  # RR of Replay


def primitive(endpoint, opcode, slot=0):
    """CPSR of the answer. It is there at once whatever the slots do: behind the packets that are queued already."""
    reply = endpoint.primitive(opcode, slot=slot).wait()
    assert reply.ok and reply.answered - reply.sent < 0.03
    return wire.PrimitiveResponse(reply.message).cpsr


def with_mic(message):
    """The message and its integrity check, a CRC-32C: send_raw() adds nothing."""
    crc = 0xFFFFFFFF
    for byte in bytes(message):
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return bytes(message) + (crc ^ 0xFFFFFFFF).to_bytes(4, "little")


def states(endpoint):
    return [primitive(endpoint, Primitive.GET_STATE, slot) for slot in (0, 1)]


def identify(endpoint):
    """Is started in slot 0; 430 ms on SMBus."""
    return endpoint.admin(commands.identify(Cns.CONTROLLER), length=4096)


def poll_health(endpoint):
    return endpoint.command(MiOpcode.SUBSYSTEM_HEALTH_POLL, slot=1)


@pytest.mark.requirement("mi.pause.both")
@pytest.mark.requirement("mi.pause.primitives")
@pytest.mark.requirement("mi.resume.next")
def test_pause_holds_both_slots_and_resume_loses_nothing(world, endpoint):
    whole = identify(endpoint).wait().admin_data
    begin = world.now
    long = identify(endpoint)
    world.run_for("100 ms")
    primitive(endpoint, Primitive.PAUSE)
    short = poll_health(endpoint)  # is executed, and its answer held
    world.run_for("20 ms")
    assert states(endpoint) == [PAUSED | MiSlotState.TRANSMIT] * 2
    assert not long.done and not short.done
    primitive(endpoint, Primitive.RESUME)

    assert long.wait().admin_data == whole and short.wait().ok
    assert world.now - begin < 0.55  # nothing was sent twice
    assert states(endpoint) == [MiSlotState.IDLE] * 2


@pytest.mark.requirement("mi.replay.whole")
def test_replay_brings_back_what_a_long_pause_has_broken(world, mctp_bus):
    endpoint = mctp_bus.requester(timeout=2).endpoint(9)
    whole = identify(endpoint).wait().message
    long = identify(endpoint)
    world.run_for("100 ms")
    primitive(endpoint, Primitive.PAUSE)
    world.run_for("1 s")
    primitive(endpoint, Primitive.RESUME)
    assert long.wait().outcome == "timed_out"

    # Replay of slot 0 from packet 0 on: first its own answer, then the stored response once more.
    request = wire.PrimitiveRequest(ic=1, mt=4, cpo=Primitive.REPLAY, tag=0x77)
    answer, again = endpoint.send_raw(with_mic(request), answers=2, wait=2).wait()
    assert wire.PrimitiveResponse(answer[:-4]).cpsr == RESPONDS and again[:-4] == whole


@pytest.mark.requirement("mi.abort.transmit")
@pytest.mark.requirement("mi.abort.other")
@pytest.mark.requirement("mi.abort.pause")
def test_abort_ends_one_answer_and_lets_the_other_go_on(world, mctp_bus):
    endpoint = mctp_bus.requester(timeout=1).endpoint(9)
    long = identify(endpoint)
    world.run_for("100 ms")
    primitive(endpoint, Primitive.PAUSE)
    short = poll_health(endpoint)
    world.run_for("20 ms")
    # CPAS 0: the command itself was completed before, its answer alone is stopped.
    assert primitive(endpoint, Primitive.ABORT, slot=0) == 0

    assert short.wait().ok  # the pause is over with the Abort
    assert states(endpoint) == [MiSlotState.IDLE] * 2
    assert long.wait().outcome == "timed_out"
    assert identify(endpoint).wait().ok
