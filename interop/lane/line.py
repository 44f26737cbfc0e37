"""A serial line between a guest's port and the command. It carries MCTP frames (DSP0253) both ways, keeps those
of the guest, and does to a frame what it is told.

    with Line(scene.folder) as line:
        with Guest(..., line.port) as guest:
            guest.boot()
            line.join(lambda: start what connects to line.end)
"""

import contextlib
import pathlib
import socket
import threading
from collections.abc import Callable

from interop.lane.bench import CellFailure
from interop.lane.network import check_socket

FLAG, ESCAPE, REVISION = 0x7E, 0x7D, 0x01
JOIN_LIMIT_S = 20
FROM_GUEST, TO_GUEST = "guest", "bench"


def take_frame(stream: bytearray) -> bytes | None:
    """The next whole frame, taken out with whatever was before it. A byte count and an FCS are not escaped
    and may look like a flag: the count says where a frame ends."""
    begin = stream.find(FLAG)
    while begin >= 0 and begin + 1 < len(stream) and stream[begin + 1] != REVISION:
        begin = stream.find(FLAG, begin + 1)
    if begin < 0 or begin + 2 >= len(stream):
        return None
    at = begin + 3
    for _ in range(stream[begin + 2]):
        if at >= len(stream):
            return None
        at += 2 if stream[at] == ESCAPE else 1
    end = at + 3  # two bytes of FCS, and the flag
    if end > len(stream):
        return None
    frame = bytes(stream[begin:end])
    del stream[:end]
    return frame


def damaged(frame: bytes) -> bytes:
    """Another FCS."""
    return frame[:-2] + bytes([frame[-2] ^ 0x01]) + frame[-1:]


def lost(_: bytes) -> bytes:
    return b""


class Line:
    def __init__(self, folder: pathlib.Path):
        self.end = folder / "line.sock"
        self._guest_end = folder / "guest.sock"
        self._kept: list[bytes] = []
        self._counts = {FROM_GUEST: 0, TO_GUEST: 0}
        self._plans: dict[tuple[str, int], Callable[[bytes], bytes]] = {}
        self._lock = threading.Lock()
        self._open = contextlib.ExitStack()
        for path in (self.end, self._guest_end):
            check_socket(path)

    @property
    def port(self) -> list[str]:
        """What QEMU is told: a virtio console, the guest's hvc0."""
        return ["-chardev", f"socket,id=line,path={self._guest_end},server=on,wait=off",
                "-device", "virtconsole,chardev=line"]

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_) -> None:
        self._open.close()

    def join(self, connect: Callable[[], object]) -> None:
        """Both ends are there from here on. `connect` makes somebody connect to `end`."""
        guest = self._open.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        guest.connect(str(self._guest_end))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(self.end))
            listening.listen(1)
            listening.settimeout(JOIN_LIMIT_S)
            connect()
            try:
                bench = self._open.enter_context(listening.accept()[0])
            except TimeoutError:
                raise CellFailure("nobody came to the other end of the serial line") from None
        for name, source, sink in ((FROM_GUEST, guest, bench), (TO_GUEST, bench, guest)):
            threading.Thread(target=self._carry, args=(name, source, sink), daemon=True).start()

    def strike(self, sender: str, number: int, how: Callable[[bytes], bytes]) -> None:
        """What happens to a frame of this sender; 0 is the next one."""
        with self._lock:
            self._plans[(sender, self._counts[sender] + number)] = how

    def kept(self) -> list[bytes]:
        """The frames of the guest, as it sent them."""
        with self._lock:
            return list(self._kept)

    def outstanding(self) -> int:
        """Plans that no frame has met yet."""
        with self._lock:
            return len(self._plans)

    def _carry(self, name: str, source: socket.socket, sink: socket.socket) -> None:
        stream = bytearray()
        with contextlib.suppress(OSError):  # an end that has gone
            while data := source.recv(65536):
                stream += data
                while frame := take_frame(stream):
                    sink.sendall(self._meet(name, frame))

    def _meet(self, name: str, frame: bytes) -> bytes:
        with self._lock:
            number = self._counts[name]
            self._counts[name] = number + 1
            if name == FROM_GUEST:
                self._kept.append(frame)
            how = self._plans.pop((name, number), None)
        return how(frame) if how else frame
