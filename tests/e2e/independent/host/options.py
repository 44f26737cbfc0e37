"""What differs between the hosts that come out of this program. All of them are legal."""

import argparse
import sys
import uuid

NAME = "1f0e8d3c-5b0a-4c52-9a57-2d6a4f9e7b11"


def options():
    parser = argparse.ArgumentParser(prog="independent host", description=__doc__)
    for name, what in (("--digests", "ask for header and data digests"),
                       ("--no-flow-control", "ask for queues without flow control"),
                       ("--small-queues", "the admin queue has 6 entries, an I/O queue 2"),
                       ("--no-in-capsule", "data comes after an R2T, but for that of Fabrics commands"),
                       ("--single-disconnects", "may end I/O queues one by one, and does so with Disconnect"),
                       ("--reset-in-place", "a reset keeps the admin queue"),
                       ("--plain-fabrics", "PSDT of Fabrics commands is 00b, not 01b"),
                       ("--reuse-cids", "the lowest CID that is free comes next"),
                       ("--split", "PDUs begin with pieces of 13 bytes"),
                       ("--small-data", "H2CData of 512 bytes at most"),
                       ("--events-first", "event requests before the notices are chosen"),
                       ("--curious", "looks at more than it needs"),
                       ("--joins-paths", "two associations with a subsystem are paths to its namespaces"),
                       ("--no-return", "an association that was lost stays so"),
                       ("--no-retries", "nothing is sent twice"),
                       ("--tls", "may be given a key")):
        parser.add_argument(name, action="store_true", help=what)
    for name, usual, what in (("--admin-entries", 32, "of the admin queue, which discovery may make smaller"),
                              ("--eager-aer", 1, "event requests at once"),
                              ("--r2ts", 1, "at once for a command"),
                              ("--alignment", 1, "dwords to which a controller aligns data"),
                              ("--timeout", 5, "seconds for a command"),
                              ("--connect-timeout", 3, "seconds for a connection")):
        parser.add_argument(name, type=int, default=usual, help=what)
    parser.add_argument("--uuid", default=NAME, help="of the host")
    chosen = parser.parse_args()
    chosen.in_capsule = not chosen.no_in_capsule
    chosen.admin_entries, chosen.io_entries = (6, 2) if chosen.small_queues else (chosen.admin_entries, 0x10000)
    chosen.event_requests = chosen.eager_aer
    chosen.host = f"nqn.2014-08.org.nvmexpress:uuid:{chosen.uuid}"
    chosen.host_id = uuid.UUID(chosen.uuid).bytes
    chosen.path_seconds = 10
    chosen.retries = 0 if chosen.no_retries else 3
    chosen.log = lambda text: print(text, file=sys.stderr, flush=True)
    return chosen
