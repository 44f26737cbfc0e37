"""Runs the independent subsystem on a port that it chooses and names."""

import argparse
import asyncio
import contextlib
import os
import random

from nvme_tcp import Queue
from subsystem import SUBSYSTEM, Subsystem

DEFECTS = ("icresp-pfv", "icresp-cpda", "icresp-maxh2cdata", "no-icresp", "connect-fails", "authreq", "cap-mqes", "mpsmin", "cfs",
           "never-ready", "no-data", "no-read-data", "second-icresp", "wrong-cid", "io-unanswered", "identify-fails", "cntlid", "icdoff", "datao",
           "early-response", "response-flood", "sqhd-stuck", "deaf", "dies", "hangs")


def arguments():
    parser = argparse.ArgumentParser(prog="independent", description=__doc__)
    for name, what in (("--rich", "base 2.0, more commands, an error log"), ("--pieces", "R2Ts and C2HData of 512 bytes"),
                       ("--no-flow-control", "grants what hosts ask for, and ends reads with SUCCESS"), ("--digests", "grants them"),
                       ("--shuffle", "answers I/O commands in any order"),
                       ("--success-always", "ends reads with SUCCESS although SQ flow control is on, on every queue"),
                       ("--slow-close", "keeps a connection for 30 s after a C2HTermReq, whatever the host does"),
                       ("--uuids", "the NGUID of a namespace is its UUID")):
        parser.add_argument(name, action="store_true", help=what)
    for name, usual, what in (("--capsule", 0, "bytes of data in capsules"), ("--nsid", 1, "of the only namespace"),
                              ("--namespaces", 1, "NN"), ("--entries", 32, "of I/O queues, at most"), ("--block", 512, "bytes"),
                              ("--first-cntlid", 1, "of controllers"), ("--mdts", 5, "0: no limit"),
                              ("--ranges", 0, "that Dataset Management acts on; 0: no limit")):
        parser.add_argument(name, type=int, default=usual, help=what)
    parser.add_argument("--defect", choices=DEFECTS, help="a rule that it breaks from the start")
    parser.add_argument("--connections", type=int, default=60, help="how many it takes before --defect dies or hangs")
    return parser.parse_args()


async def main():
    subsystem = Subsystem(arguments())
    random.seed(1)

    async def serve(reader, writer):
        subsystem.connections += 1
        if subsystem.connections > subsystem.options.connections and subsystem.options.defect == "dies":
            os._exit(3)
        if subsystem.connections > subsystem.options.connections and subsystem.options.defect == "hangs":
            return await asyncio.sleep(3600)
        await Queue(subsystem, reader, writer).run()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}/{SUBSYSTEM}", flush=True)
    async with server:
        await server.serve_forever()


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
