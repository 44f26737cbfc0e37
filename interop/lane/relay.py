"""One session with a host under test that is in a guest: joins this program's standard input and output to a driver there.

    relay.py GATE PORT

The lane listens at GATE, a unix socket: it is told for which case a session is, and says when the guest is ready for it.
Each connection to PORT is then a driver of its own (see driven.py). When the input ends, the driver is told; this program
ends when the driver has.
"""

import json
import os
import selectors
import socket
import sys

CHUNK = 65536
TOKEN = "lane"  # nobody else reaches the guest


def join(connection: socket.socket) -> None:
    with selectors.DefaultSelector() as watched:
        watched.register(sys.stdin.fileno(), selectors.EVENT_READ)
        watched.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in watched.select():
                if key.fileobj is connection:
                    data = connection.recv(CHUNK)
                    if not data:
                        return
                    write_all(data)
                else:
                    data = os.read(sys.stdin.fileno(), CHUNK)
                    if data:
                        connection.sendall(data)
                    else:
                        watched.unregister(sys.stdin.fileno())
                        connection.shutdown(socket.SHUT_WR)


def write_all(data: bytes) -> None:
    while data:
        data = data[os.write(sys.stdout.fileno(), data):]


def read_hello() -> bytes:
    """The first line, and perhaps more."""
    heard = b""
    while b"\n" not in heard and (data := os.read(sys.stdin.fileno(), CHUNK)):
        heard += data
    return heard


def case_of(hello: bytes) -> str:
    """Empty before the first case, when the host is only met."""
    return json.loads(hello.partition(b"\n")[0] or b"{}").get("case", "")


def pass_gate(path: str, case: str) -> None:
    with socket.socket(socket.AF_UNIX) as gate:
        gate.connect(path)
        gate.sendall(case.encode())
        gate.shutdown(socket.SHUT_WR)
        if gate.recv(CHUNK) != b"ready":
            raise OSError("the guest is not ready")


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: relay.py GATE PORT", file=sys.stderr)
        return 2
    try:
        hello = read_hello()
        pass_gate(sys.argv[1], case_of(hello))
        with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as connection:
            connection.sendall(TOKEN.encode() + b"\n" + hello)
            join(connection)
    except OSError as problem:
        print(f"relay: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
