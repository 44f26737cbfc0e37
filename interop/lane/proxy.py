"""The proxy between two foreign products: Linux is the host and Linux is the controller, and every byte
passes the proxy on its way. Host and controller are in one guest, each with an address of its own."""

import json
import pathlib

import yaml

from interop.guest.guest import Guest
from interop.lane import linux
from interop.lane.bench import CellFailure, Running
from interop.lane.network import GUEST, OURS
from interop.lane.scene import KERNELS, Scene, boot, cell, close, url

HOST = "192.168.78.3"  # of the guest as a host
PROFILES = pathlib.Path(__file__).resolve().parents[2] / "conformance" / "profiles"
PLANS = {
    "tcp": """faults:
  - {kind: segment_split, every: 40, most: 200}
  - {kind: segment_delay, every: 200, amount: [1ms, 5ms], most: 50}
  - {kind: status, every: 150, amount: 6, most: 5}
  - {kind: segment_reset, every: 900, most: 1}
""",
    "rdma": """faults:
  - {kind: drop, every: 120}
  - {kind: duplicate, every: 90}
  - {kind: corrupt, every: 150}
  - {kind: delay, every: 100, amount: [100us, 2ms]}
""",
}


@cell("tcp-proxy", "Linux nvme-tcp and nvmet with our proxy between them: discovery leads through it, verified I/O and reset, quietly and "
      "under faults", kernels=KERNELS, limit_s=400)
def tcp_proxy(scene: Scene) -> str:
    return pass_through(scene, "tcp")


@cell("rdma-proxy", "the same for Linux nvme-rdma on rdma_rxe: RoCEv2 packets, lost, doubled, damaged and late ones too", kernels=KERNELS,
      limit_s=400)
def rdma_proxy(scene: Scene) -> str:
    return pass_through(scene, "rdma")


def pass_through(scene: Scene, transport: str) -> str:
    plan = scene.folder / "plan.yaml"
    plan.write_text(PLANS[transport])
    with scene.guest() as guest:
        boot(guest, transport)
        guest.run(f"ip addr add {HOST}/24 dev eth0\n" + linux.nvmet(transport))
        with start(scene, transport, "quiet") as proxy:
            found = guest.run(f"modprobe nvme_{transport}\nnvme discover -t {transport} -a {OURS} -s 4420 -w {HOST}").output
            if f"traddr:  {OURS}" not in found or f"traddr:  {GUEST}" in found:
                raise CellFailure(f"discovery leads past the proxy: {found.strip()[-300:]}")
            use(guest, transport)
            quiet = ended(scene, proxy, "quiet")
        with start(scene, transport, "faults", "--faults", str(plan), "--seed", "1") as proxy:
            use(guest, transport)
            faults = ended(scene, proxy, "faults")
        close(guest, linux.nvmet_down(transport))
    occurred = sum(remark.startswith("fault: ") for remark in faults["remarks"])
    if occurred < 5:
        raise CellFailure(f"only {occurred} faults occurred")
    rules = {case["requirement"] for case in quiet["cases"]}
    return f"{len(rules)} rules had something to check; {occurred} faults on the way, every byte equal"


def start(scene: Scene, transport: str, name: str, *options: str) -> Running:
    return scene.bench.start("proxy", "--listen", f"{transport}://{OURS}:4420", "--to", url(transport), "--report",
                             str(scene.folder / name), "--capture", str(scene.folder / f"{name}.pcapng"), *options, until="listening")


def use(guest: Guest, transport: str) -> None:
    guest.run(linux.connect(transport, OURS, linux.SUBSYSTEM, options=f"-w {HOST} -c 1"), limit_s=60)
    guest.run(linux.write_read_compare(2, "64k"), limit_s=120)
    guest.run("nvme reset /dev/nvme0", limit_s=60)
    guest.run(linux.wait_live(), limit_s=60)
    guest.run(linux.write_read_compare(1, "4k"), limit_s=120)
    guest.run(linux.disconnect(linux.SUBSYSTEM), limit_s=60)


def ended(scene: Scene, proxy: Running, name: str) -> dict:
    """The results of the proxy; CellFailure where it blames somebody for what the profile of this kernel does not have."""
    proxy.finish(statuses=(0, 1))
    results = json.loads((scene.folder / name / "results.json").read_text())
    profile = yaml.safe_load((PROFILES / f"linux-{scene.kernel}.yaml").read_text())
    known = {entry["requirement"] for entry in profile["deviations"] if "requirement" in entry}
    new = [one for one in results["findings"] if one["requirement"] not in known]
    if new:
        first = new[0]
        raise CellFailure(f"{len(new)} findings ({name}); packet {first['packet']} of the {first['side']}: {first['text']} ({first['rule']})")
    return results


# What nvmet does not answer as NVMe/TCP says, by the name that a campaign has for it, and a plan that provokes it.
KERNEL_FAULTS = {
    "rule: tcp_answers_header_digest (controller)": "faults:\n  - {kind: pdu_corrupt, every: 12, most: 2}\n",
    "rule: tcp_answers_capsule_digest (controller)": "faults:\n  - {kind: pdu_corrupt, every: 12, most: 2}\n",
    "rule: tcp_answers_transfer_tag (controller)": "faults:\n  - {kind: change_ttag, every: 12, most: 2, amount: 700}\n",
}


@cell("tcp-campaign", "campaigns against nvmet over TCP: three of its known faults are found under faults of PDUs, replayed and shrunk",
      kernels=KERNELS, limit_s=2400, waits=True)
def tcp_campaign(scene: Scene) -> str:
    with scene.guest() as guest:
        boot(guest, "tcp")
        # With data behind R2Ts from 1,025 bytes on; that of Connect has to be in its capsule.
        guest.run(linux.nvmet("tcp", settings="echo 1024 >ports/1/param_inline_data_size\n"))
        said = [found_and_shrunk(scene, str(place), signature, plan) for place, (signature, plan) in enumerate(KERNEL_FAULTS.items())]
        close(guest, linux.nvmet_down("tcp"))
    return "; ".join(said)


def found_and_shrunk(scene: Scene, name: str, signature: str, plan: str) -> str:
    """A campaign finds this failure, a replay shows it again, and fewer faults are left that cause it."""
    file = scene.folder / f"{name}.yaml"
    file.write_text(plan)
    folder = scene.folder / name
    scene.bench.run("campaign", "--dut", url("tcp"), "--faults", str(file), "--seeds", "1..60", "--jobs", "1", "--time", "120s", "--output",
                    str(folder), limit_s=300, check=False)
    failures = json.loads((folder / "campaign.json").read_text())["failures"]
    replay = next((one["replay"] for one in failures if one["signature"] == signature), None)
    if replay is None:
        raise CellFailure(f"'{signature}' was not found; found was {', '.join(one['signature'] for one in failures) or 'nothing'}")
    # A connection that nvmet does not end costs the host its timeouts.
    again = json.loads(scene.bench.run("replay", replay, "--times", "3", "--json", limit_s=400, check=False).output)
    if again["shown"] == 0:
        raise CellFailure(f"'{signature}' was not shown again in {again['runs']} runs")
    less = json.loads(scene.bench.run("shrink", replay, "--seconds", "60", "--json", limit_s=600).output)
    return f"{signature}: shown in {again['shown']} of {again['runs']}, {less['decisions_after']} of {less['decisions_before']} faults left"
