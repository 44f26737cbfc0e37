"""Runs the independent subsystem on a port that it chooses and names."""

import argparse
import asyncio
import contextlib
import random

from nvme_tcp import Queue
from subsystem import SUBSYSTEM, Subsystem


def arguments():
    parser = argparse.ArgumentParser(prog="independent", description=__doc__)
    for name, what in (("--rich", "base 2.0, more commands, an error log"), ("--pieces", "R2Ts and C2HData of 512 bytes"),
                       ("--no-flow-control", "grants what hosts ask for, and ends reads with SUCCESS"), ("--digests", "grants them"),
                       ("--shuffle", "answers I/O commands in any order")):
        parser.add_argument(name, action="store_true", help=what)
    for name, usual, what in (("--capsule", 0, "bytes of data in capsules"), ("--nsid", 1, "of the only namespace"),
                              ("--namespaces", 1, "NN"), ("--entries", 32, "of I/O queues, at most"), ("--block", 512, "bytes"),
                              ("--first-cntlid", 1, "of controllers"), ("--mdts", 5, "0: no limit")):
        parser.add_argument(name, type=int, default=usual, help=what)
    return parser.parse_args()


async def main():
    subsystem = Subsystem(arguments())
    random.seed(1)
    server = await asyncio.start_server(lambda reader, writer: Queue(subsystem, reader, writer).run(), "127.0.0.1", 0)
    print(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}/{SUBSYSTEM}", flush=True)
    async with server:
        await server.serve_forever()


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
