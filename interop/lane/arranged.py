"""Arranged cases judge nvmet: what they request, `fabricbench target drive` does to it through configfs. All of it in one guest."""

import json
import re

from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.scene import KERNELS, Scene, cell, close

AT = "127.0.0.1"
# Of the controller cases that request something.
LEAST = 25


def requesting_cases(scene: Scene) -> list[str]:
    found = json.loads(scene.bench.run("list", "--role", "controller", "--json").output)
    return [case["name"] for case in found["cases"] if case["requests"]]


@cell("tcp-suite-arranged", "the cases that request something of nvmet over TCP: ANA states, sizes, hosts, referrals", kernels=KERNELS,
      link="none", limit_s=520)
def tcp_suite_arranged(scene: Scene) -> str:
    with scene.alone() as guest:
        guest.run("ip link set lo up\n" + linux.nvmet_on_files(AT) + linux.neighbour_up())
        summary = scene.suite_inside(guest, f"--dut tcp://{AT}:4420 --arrange 'fabricbench target drive' "
                                            f"--case {','.join(requesting_cases(scene))}", limit_s=420)
        close(guest, linux.neighbour_down() + linux.nvmet_down("tcp"))
    judged = int((re.search(r"(\d+) passed", summary) or [0, 0])[1])
    judged += int((re.search(r"(\d+) documented", summary) or [0, 0])[1])
    if judged < LEAST:
        raise CellFailure(f"{summary}: fewer than {LEAST} cases have judged the target")
    return summary
