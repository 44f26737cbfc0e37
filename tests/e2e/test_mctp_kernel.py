"""What a kernel's MCTP stack sent on a serial line, sent again to our drive: no guest is needed for it. interop/lane/mctp.py
leaves such frames in build/interop/mctp-cli-6.1/frames.txt."""

import json
import pathlib
import signal
import socket
import subprocess

import pytest

from conftest import PROGRAM, ROOT
from interop.lane.line import damaged, take_frame

DATA = ROOT / "tests" / "data"
RECORDING = DATA / "mctp-serial-frames.txt"
NVME_CLI = DATA / "linux-6.1-mctp-frames.txt"
OWNER, EID = 8, 9
SOM, EOM = 0x80, 0x40
CONTROL, SET_ENDPOINT_ID = 0x00, 0x01


def frame_of(packet: bytes) -> bytes:
    """A packet as DSP0253 frames it, with the FCS as Linux makes it."""
    fcs = 0xFFFF
    for byte in bytes([1, len(packet)]) + packet:
        fcs ^= byte
        for _ in range(8):
            fcs = fcs >> 1 ^ (0x8408 if fcs & 1 else 0)
    escaped = b"".join(bytes([0x7D, byte & ~0x20]) if byte in (0x7D, 0x7E) else bytes([byte]) for byte in packet)
    return bytes([0x7E, 1, len(packet)]) + escaped + fcs.to_bytes(2, "big") + b"\x7e"


def packet_in(frame: bytes) -> bytes:
    """What is between the count and the FCS, its escapes undone."""
    packet, escaped = bytearray(), False
    for byte in frame[3:-3]:
        if byte == 0x7D:
            escaped = True
            continue
        packet.append(byte | 0x20 if escaped else byte)
        escaped = False
    return bytes(packet)


def recorded(path: pathlib.Path = RECORDING) -> list[bytes]:
    return [bytes.fromhex(text) for text in path.read_text().split("\n") if text and not text.startswith("#")]


class Line:
    """The bus owner's end of a unix socket, with a drive at the other."""

    def __init__(self, folder: pathlib.Path):
        self.capture, self.counters = folder / "line.pcapng", folder / "counters.json"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / "line"))
            listening.listen(1)
            listening.settimeout(20)
            self.process = subprocess.Popen([PROGRAM, "mctp", "serve", "--serial", folder / "line", "--capture", self.capture,
                                             "--counters", self.counters], stdout=subprocess.DEVNULL)
            self.socket = listening.accept()[0]
        self.socket.settimeout(20)
        self.stream = bytearray()

    def send(self, frame: bytes) -> None:
        self.socket.sendall(frame)

    def message(self) -> bytes:
        """The next whole message, of however many packets."""
        body = b""
        while True:
            while not (frame := take_frame(self.stream)):
                self.stream += self.socket.recv(65536)
            packet = packet_in(frame)
            assert packet[1] == OWNER and bool(packet[3] & SOM) == (body == b"")
            body += packet[4:]
            if packet[3] & EOM:
                return body

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0


@pytest.fixture
def line(tmp_path):
    """With a drive that has its EID."""
    made = Line(tmp_path)
    try:
        made.send(frame_of(bytes([1, 0, OWNER, 0xC8, CONTROL, 0x80, SET_ENDPOINT_ID, 0, EID])))
        assert made.message()[:6] == bytes([CONTROL, 0, SET_ENDPOINT_ID, 0, 0, EID])
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        made.socket.close()


def good(answer: bytes) -> bool:
    """NVMe-MI, an answer, Success."""
    return answer[0] == 0x84 and bool(answer[1] & 0x80) and answer[4] == 0


def judged(fabricbench, line: Line) -> dict:
    """What the drive counted, when nobody broke a rule."""
    line.end()
    checked = fabricbench("check", line.capture, "--json")
    assert checked.code == 0 and checked.json["findings"] == [] and checked.json["decoded"]["mctp_messages"] > 0
    return json.loads(line.counters.read_text())["endpoints"][0]


def test_frames_are_made_as_the_kernel_makes_them():
    frames = recorded() + recorded(NVME_CLI)
    assert any(0x7D in frame[3:-3] for frame in frames)
    for frame in frames:
        assert take_frame(bytearray(frame)) == frame
        assert frame_of(packet_in(frame)) == frame


def test_the_kernels_frames_are_answered_and_nobody_breaks_a_rule(fabricbench, line):
    asked = 0
    for frame in recorded():
        line.send(frame)
        if packet_in(frame)[3] & EOM:
            assert good(line.message())
            asked += 1
    drive = judged(fabricbench, line)
    assert asked == 6 and drive["nvme_mi_messages"] == asked and drive["nvme_mi_discarded"] == 0
    assert drive["packets_dropped"] == {} and drive["messages_abandoned"] == {}


def test_after_lost_and_damaged_frames_the_next_message_is_answered(fabricbench, line):
    """A message of two packets: either is lost, either has another FCS."""
    first, second = recorded()[:2]
    for struck in ([second], [first], [damaged(first), second], [first, damaged(second)]):
        for frame in [*struck, first, second]:
            line.send(frame)
        assert good(line.message())
    drive = judged(fabricbench, line)
    assert drive["nvme_mi_messages"] == 4 and drive["nvme_mi_discarded"] == 0
    assert drive["packets_dropped"] == {"unexpected middle or end packet": 2, "physical layer": 2}
    assert drive["messages_abandoned"] == {"restarted": 2}


def test_nvme_cli_on_the_kernels_stack_and_our_drive_break_no_rule(fabricbench):
    """Logs, firmware, security and namespaces: what crossed the line of the cell mctp-cli."""
    done = fabricbench("check", DATA / "linux-6.1-mctp.pcapng", "--json")
    assert done.code == 0 and done.json["findings"] == []
    assert done.json["packets"] > 1500 and done.json["decoded"]["nvme_mi_messages"] > 100
