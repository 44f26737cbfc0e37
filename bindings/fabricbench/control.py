"""Tells a running ``fabricbench target --control`` or ``fabricbench mctp serve --control`` what to do.

>>> from fabricbench.control import Control
>>> with Control("unix:/run/user/1000/disk.sock") as disk:            # doctest: +SKIP
...     disk.call("namespace.add", spec="64M,bs=4096")["nsid"]
...     disk.call("command.fail", opcode=2, sct=2, sc=0x81, count=3)
2
1
"""

from __future__ import annotations

import itertools
import json
import os
import socket
from types import TracebackType
from typing import Any

from fabricbench._errors import Error, SetupError, TimedOut

__all__ = ["Control", "ControlError"]


class ControlError(Error):
    """A method failed, or was called in a wrong way. ``code`` is that of JSON-RPC 2.0; -32000: the product cannot do it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        #: Negative, as JSON-RPC has it.
        self.code = code


class Control:
    """A connection to the control socket at ``unix:PATH``, or PATH alone. A context manager."""

    def __init__(self, url: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        path = os.fspath(url).removeprefix("unix:")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._ids = itertools.count(1)
        self._heard = b""
        try:
            self._socket.connect(path)
        except OSError as problem:
            self._socket.close()
            raise SetupError(f"{path}: {problem.strerror or problem}") from None

    def call(self, method: str, /, **parameters: Any) -> Any:
        """The result of a method, as JSON gives it. Raises ControlError when the method fails, TimedOut without an answer."""
        number = next(self._ids)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(self._line())
        except TimeoutError:
            self.close()
            raise TimedOut(f"{method}: no answer within {self._socket.gettimeout()} s") from None
        except (OSError, ValueError) as problem:
            self.close()
            raise SetupError(f"{method}: the control socket is lost: {problem}") from None
        if "error" in answer:
            raise ControlError(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def methods(self) -> dict[str, dict[str, Any]]:
        """Every method by its name, described as OpenRPC does: ``description``, and ``params`` with their schemas."""
        return {one["name"]: one for one in self.call("rpc.discover")["methods"]}

    def close(self) -> None:
        """Ends the connection; the product goes on."""
        self._socket.close()

    def __enter__(self) -> Control:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _line(self) -> bytes:
        while b"\n" not in self._heard:
            more = self._socket.recv(65536)
            if not more:
                raise OSError("the product has ended the connection")
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        return line
