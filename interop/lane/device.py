"""rdma_rxe as the device under test: the RDMA and CM suites, with both sides in one guest. The bench's peer is another
machine on a link with the device: the other end of a veth pair."""

import json

from interop.lane import linux
from interop.lane.bench import CellFailure, summary_of
from interop.lane.network import GUEST, MTU, OURS
from interop.lane.scene import Scene, cell, close

LIMIT_S = 400


@cell("rdma-device", "the RDMA and CM suites against rdma_rxe", kernels=("6.1", "6.12"), link="none", limit_s=LIMIT_S + 120)
def rdma_device(scene: Scene) -> str:
    with scene.alone() as guest:
        guest.run(f"""modprobe veth
ip link add eth0 mtu {MTU} type veth peer name bench mtu {MTU}
ip link set bench up
""")
        guest.run(linux.rxe(GUEST))
        said = guest.run(f"""fabricbench run --dut verbs:rxe0 --local packet:bench,{OURS} --profile linux-{scene.kernel} \\
  --report /tmp/report >/tmp/said.txt 2>&1
status=$?
[ $status -le 1 ] || cat /tmp/said.txt
exit $status
""", limit_s=LIMIT_S, check=False)
        if said.status not in (0, 1):
            raise CellFailure(f"fabricbench run ended with {said.status}: {said.output.strip()}")
        results = guest.run("cat /tmp/report/results.json").output
        (scene.folder / "results.json").write_text(results)
        close(guest)
    return summary_of(json.loads(results), said.status)
