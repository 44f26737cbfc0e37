"""rdma-core's own programs in the guest, on its rdma_rxe, with our RDMA device as their other end."""

import re

from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS
from interop.lane.scene import KERNELS, Scene, boot, cell, close

ROUNDS, LONG = 200, 65536


@cell("rdma-verbs", "rping, ibv_rc_pingpong, ib_write_bw, ib_read_bw and ib_send_bw on rdma_rxe, our RDMA device as the server",
      kernels=KERNELS)
def rdma_verbs(scene: Scene) -> str:
    perftest = f"-d rxe0 -x $gid -F -n {ROUNDS} -s {LONG} -m 4096 {OURS}"
    # The program, our side of it, what our side must have seen: its name, and how much at least.
    runs = [(f"rping -c -a {OURS} -C 50 -S 100 -V", "rping", "rounds", 50),
            (f"rping -c -a {OURS} -C 50 -S 60000 -V", "rping", "rounds", 50),
            (f"ibv_rc_pingpong -d rxe0 -g $gid -n {ROUNDS} {OURS}", "pingpong", "messages", ROUNDS),
            (f"ib_write_bw {perftest}", "perftest", "bytes received", ROUNDS * LONG),
            (f"ib_read_bw {perftest}", "perftest", "bytes sent", ROUNDS * LONG),
            (f"ib_send_bw {perftest}", "perftest", "messages", ROUNDS)]
    with scene.guest() as guest, scene.recorded():
        boot(guest, "rdma")
        for command, ours, what, least in runs:
            with scene.bench.peer("verbs_peer", OURS, ours, until="listening") as peer:
                guest.run(linux.gid_index() + command, limit_s=60)
                said = peer.end(limit_s=30)
            seen = re.search(rf"(\d+) {what}", said)
            if seen is None or int(seen.group(1)) < least:
                raise CellFailure(f"{command.split()[0]}: {least} {what} are wanted, our side says '{said.strip()}'")
        close(guest)
    return f"{len(runs)} programs"
