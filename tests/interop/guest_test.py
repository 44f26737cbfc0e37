#!/usr/bin/env python3
"""The parts of the guest that need no guest: the kernel's ELF, the archive, what counts as a complaint,
and that a cut-off build leaves nothing behind."""

import contextlib
import io
import json
import lzma
import os
import pathlib
import struct
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from interop.guest import cpio, guest, image, vmlinux  # noqa: E402
from interop.guest.archive import Unavailable  # noqa: E402
from interop.lane import __main__ as lane  # noqa: E402
from interop.lane import matrix, scene  # noqa: E402


def boot_image(payload: bytes) -> bytes:
    header = bytearray(2 * 512)
    header[0x1F1] = 1
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", header, 0x248, 100, len(payload))
    return bytes(header) + bytes(100) + payload


class Vmlinux(unittest.TestCase):
    def test_finds_the_compressed_elf(self):
        kernel = b"\x7fELF" + bytes(range(256)) * 8
        packed = lzma.compress(kernel) + struct.pack("<I", len(kernel))
        self.assertEqual(vmlinux.extract(boot_image(packed)), kernel)

    def test_says_what_is_wrong(self):
        for broken in (bytes(1024), boot_image(b"other"), boot_image(lzma.compress(b"no kernel") + bytes(4))):
            with self.assertRaises(Unavailable):
                vmlinux.extract(broken)


class Cpio(unittest.TestCase):
    def test_same_tree_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder) / "tree"
            (tree / "bin").mkdir(parents=True)
            (tree / "bin/sh").symlink_to("dash")
            (tree / "init").write_text("#!/bin/sh\n")
            outs = [pathlib.Path(folder) / name for name in ("a", "b")]
            for out in outs:
                cpio.write(tree, out)
                os.utime(tree / "init", (1, 1))
            data = outs[0].read_bytes()
            self.assertEqual(data, outs[1].read_bytes())
            self.assertEqual(data[:6], b"070701")
            self.assertEqual(len(data) % 4, 0)
            for part in (b"init\0", b"#!/bin/sh\n", b"bin/sh\0", b"dash", b"TRAILER!!!\0"):
                self.assertIn(part, data)


class Cache(unittest.TestCase):
    def test_an_interrupted_build_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "guest" / "6.1-abc"
            with mock.patch.object(image, "_unpack"), \
                 mock.patch.object(pathlib.Path, "read_bytes", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    image._make(made, None, [], "6.1.0")
            self.assertEqual(list(made.parent.iterdir()), [])


class Complaints(unittest.TestCase):
    def test_what_counts(self):
        for line in ("WARNING: CPU: 0 PID: 1 at drivers/x.c:1 f+0x1", "BUG: kernel NULL pointer dereference",
                     "Oops: 0000 [#1]", "WARNING: possible circular locking dependency detected",
                     "INFO: task kworker blocked for more than 120 seconds.",
                     "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks"):
            self.assertRegex(line, guest.COMPLAINT)
        for line in ("nvmet_rdma: invalid SGL type: 0x5a", "nvme nvme0: I/O 12 QID 1 timeout",
                     "eth0 speed is unknown, defaulting to 1000"):
            self.assertNotRegex(line, guest.COMPLAINT)


class Cells(unittest.TestCase):
    def test_names_are_unique(self):
        names = [one.name for one in matrix.CELLS]
        self.assertEqual(len(names), len(set(names)))

    def test_an_unknown_machine_is_not_run(self):
        with mock.patch.object(guest, "QEMU", "no-such-qemu"), self.assertRaises(Unavailable) as raised:
            guest.require_qemu()
        self.assertEqual(str(raised.exception), "no no-such-qemu")


class Lane(unittest.TestCase):
    """What the lane makes of its cells' ends."""

    def run_lane(self, verdicts: list[str], load: float = 1.0, **options) -> tuple[int, dict, int]:
        """One cell that ends so, run after run: the exit code, its result, and how often it ran."""
        one = scene.Cell("a-cell", "a cell", "6.1", "l2", 1, lambda scene: "")
        ends = iter(verdicts)
        with tempfile.TemporaryDirectory() as folder:
            evidence = pathlib.Path(folder)

            def ended(*_) -> dict:
                (evidence / one.name).mkdir(exist_ok=True)
                verdict, _, text = next(ends).partition(": ")
                return {"verdict": verdict, "text": text}

            with mock.patch.object(lane, "EVIDENCE", evidence), mock.patch.object(lane, "prepare"), \
                 mock.patch.object(lane, "run_apart", side_effect=ended) as run, \
                 mock.patch.object(os, "getloadavg", return_value=(load, load, load)), \
                 contextlib.redirect_stdout(io.StringIO()):
                code = lane.run_all([one], pathlib.Path("program"),
                                    **{"budget_s": float("inf"), "again": False, **options})
            result = json.loads((evidence / "results.json").read_text())["cells"][0]
            return code, result, run.call_count

    def test_a_failure_is_red(self):
        self.assertEqual(self.run_lane(["FAILED"])[0], 1)

    def test_a_second_try_counts_and_the_first_is_told(self):
        code, result, runs = self.run_lane(["FAILED: late", "passed: at last"], again=True)
        self.assertEqual((code, result["verdict"], runs), (0, "passed", 2))
        self.assertIn("the first time", result["text"])
        self.assertEqual(self.run_lane(["FAILED", "FAILED"], again=True)[0], 1)
        self.assertEqual(self.run_lane(["passed"], again=True)[2], 1)

    def test_a_crowded_machine_proves_nothing(self):
        def verdict(ends: list[str], **options) -> str:
            return self.run_lane(ends, load=1000.0, **options)[1]["verdict"]
        self.assertEqual(verdict(["FAILED: late", "FAILED: never booted"], again=True), "not run")
        self.assertEqual(verdict(["FAILED: other data", "FAILED: other data"], again=True), "FAILED")
        self.assertEqual(verdict(["FAILED: late"]), "FAILED")

    def test_nothing_begins_when_the_time_is_over(self):
        code, result, runs = self.run_lane(["passed"], budget_s=-1.0)
        self.assertEqual((code, result["verdict"], runs), (2, "not run", 0))


if __name__ == "__main__":
    unittest.main()
