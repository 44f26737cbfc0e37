"""One session with a host under test that is in a guest: joins this program's standard input and output to a driver there.

    relay.py PORT

Each connection to the port is a driver of its own (see driven.py). When the input ends, the driver is told; this program
ends when the driver has.
"""

import os
import selectors
import socket
import sys

CHUNK = 65536


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


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: relay.py PORT", file=sys.stderr)
        return 2
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30) as connection:
            connection.settimeout(None)
            join(connection)
    except OSError as problem:
        print(f"relay: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
