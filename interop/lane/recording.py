"""What is kept in tests/data: a short exchange of each kind between a Linux kernel and us, in one file. The
decoders, the ICRC and the rules are held against it without a guest.

    python3 -m interop.lane 'recording-*'
    cp build/interop/recording-6.1/link.pcap tests/data/linux-6.1.pcap
"""

from interop.guest.archive import Unavailable
from interop.lane import linux
from interop.lane.bench import CellFailure
from interop.lane.network import OURS
from interop.lane.scene import TARGET_NQN, Scene, boot, cell, close, listen_on, url

KEPT_BYTES_MAX = 500_000


@cell("recording", "a short exchange of each kind, as it is kept for the tests", kernels=("6.1", "6.12"))
def recording(scene: Scene) -> str:
    with scene.guest() as guest:
        boot(guest, "rdma")
        with scene.recorded():
            for transport, options in (("tcp", "--hdr-digest --data-digest"), ("rdma", "")):
                with scene.bench.start(*listen_on(transport, "1M"), until="listening") as target:
                    guest.run(linux.connect(transport, OURS, TARGET_NQN, queues=1, options=options))
                    guest.run(linux.write_read_compare_kilobytes(8, "4k"))
                    if transport == "rdma":
                        guest.run(linux.trouble("loss 8%"))
                        guest.run(linux.write_read_compare_kilobytes(32, "4k"), limit_s=60)
                        guest.run(linux.trouble_over())
                    guest.run(linux.disconnect(TARGET_NQN))
                    target.finish()
                guest.run(linux.nvmet(transport, megabytes=1))
                digests = options.split()
                scene.bench.run("host", "io", f"{url(transport)}/{linux.SUBSYSTEM}", "--local", scene.local, *digests,
                                "--verify", "--size", "16K", "--block-size", "8K", "--queue-depth", "2")
                guest.run(linux.nvmet_down(transport))
        close(guest)
    kept = scene.folder / "link.pcap"
    if not kept.exists():
        raise Unavailable("no dumpcap")
    size = kept.stat().st_size
    if size > KEPT_BYTES_MAX:
        raise CellFailure(f"a recording of {size} bytes is not one to keep")
    return f"{size} bytes"
