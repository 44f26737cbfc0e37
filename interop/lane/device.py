"""rdma_rxe as the device under test: the RDMA and CM suites, with both sides in one guest. The bench's peer is another
machine on a link with the device: the other end of a veth pair."""

from interop.lane import linux
from interop.lane.network import GUEST, MTU, OURS
from interop.lane.scene import KERNELS, Scene, cell, close

LIMIT_S = 900


# Not recorded: now and then the kernel dies of a null pointer in copy_data() of rdma_rxe, in one case or another, and each
# case by itself passes.
@cell("rdma-device", "the RDMA and CM suites against rdma_rxe", kernels=KERNELS, link="none", limit_s=LIMIT_S + 180,
      recorded=False)
def rdma_device(scene: Scene) -> str:
    with scene.alone() as guest:
        guest.run(f"""modprobe veth
ip link add eth0 mtu {MTU} type veth peer name bench mtu {MTU}
ip link set bench up
""")
        guest.run(linux.rxe(GUEST))
        summary = scene.suite_inside(guest, f"--dut verbs:rxe0 --local packet:bench,{OURS}", LIMIT_S)
        close(guest)
    return summary
