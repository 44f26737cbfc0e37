#!/usr/bin/env python3
"""A kernel under test that falls: in which case it did, by which fault, and what that case then says."""

import json
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from interop.lane import driven, evidence, relay  # noqa: E402
from interop.lane.bench import FALLEN, CellFailure, SuiteRun  # noqa: E402

KNOWN_FALL = """1,1309,376121292,-;BUG: kernel NULL pointer dereference, address: 0000000000000190
4,1316,376122857,-;Workqueue: nvme_tcp_wq nvme_tcp_io_work [nvme_tcp]
4,1317,376123359,-;RIP: 0010:nvme_tcp_recv_skb+0x399/0xae0 [nvme_tcp]
"""
OTHER_FALL = """1,7,8,-;BUG: kernel NULL pointer dereference, address: 0000000000000190
4,9,8,-;RIP: 0010:my_nvme_tcp_recv_skb+0x399/0xae0 [other]
"""


class Guest:
    """Answers commands with what the kernel has said since."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.said, self.killed = folder, "", 0

    def run(self, command: str, **_) -> types.SimpleNamespace:
        said, self.said = self.said, ""
        return types.SimpleNamespace(output=("KERNEL\n" if "KERNEL" in command else "") + said, status=0)

    def kill(self) -> None:
        self.killed += 1


class Falls(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.guest = Guest(pathlib.Path(folder.name))
        self.gate = driven.Gate(self.guest, "tcp", "6.1", secure=False)
        self.gate.open()
        booting = unittest.mock.patch.object(driven, "boot_driven")
        booting.start()
        self.addCleanup(booting.stop)

    def session(self, case: str) -> None:
        relay.pass_gate(str(self.gate.path), case)

    def test_a_known_fault_is_the_fault_of_the_case_that_was_on(self):
        self.session("")
        self.session("first")
        self.session("second")
        self.guest.said = KNOWN_FALL
        self.session("third")
        self.assertEqual([case for case, _ in self.gate.known_complaints], ["second"])
        self.assertEqual((self.gate.complaints, self.guest.killed), ([], 1))
        self.guest.said = KNOWN_FALL
        self.gate.hear()
        self.assertEqual([case for case, _ in self.gate.known_complaints], ["second", "third"])

    def test_any_other_is_a_complaint(self):
        self.session("first")
        self.guest.said = OTHER_FALL
        self.session("second")
        self.assertEqual((self.gate.known_complaints, len(self.gate.complaints)), ([], 1))


def run_of(*cases: tuple[str, str, str]) -> SuiteRun:
    listed = [{"name": name, "verdict": verdict, "disposition": disposition, "suite": "tcp"} for name, verdict, disposition in cases]
    return SuiteRun({"started": "2026-01-02T03:04:05Z", "summary": {"pass": 1, "fail": 1}, "cases": listed}, 1)


PASSED, FELL, OTHER = ("a", "pass", "as_expected"), ("b", "fail", "regression"), ("c", "fail", "regression")


class Verdicts(unittest.TestCase):
    def test_a_case_in_which_the_product_fell_judges_nothing(self):
        self.assertEqual(run_of(PASSED, FELL).summary(not_judged=["b"]), "1 passed, 1 failed, not judged: b")

    def test_every_other_one_is_red(self):
        for run, fallen in ((run_of(PASSED, FELL), []), (run_of(FELL, OTHER), ["b"]), (run_of(PASSED), ["a"]),
                            (run_of(FELL, ("d", "error", "as_expected")), ["b", "d"])):
            with self.assertRaises(CellFailure):
                run.summary(not_judged=fallen)

    def test_it_is_not_counted_as_failed(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / FALLEN).write_text(json.dumps(["b"]))
            areas = evidence.about(run_of(PASSED, FELL, OTHER).document, folder)["areas"]
        self.assertEqual(areas, {"tcp": {"passed": 1, "deviations": 0, "failed": 1}})


class Relay(unittest.TestCase):
    def test_the_case_is_in_the_first_line(self):
        self.assertEqual(relay.case_of(b'{"id":0,"do":"hello","case":"host_x"}\n{"id":1}'), "host_x")
        self.assertEqual(relay.case_of(b'{"id":0,"do":"hello"}\n'), "")
        self.assertEqual(relay.case_of(b""), "")


if __name__ == "__main__":
    unittest.main()
