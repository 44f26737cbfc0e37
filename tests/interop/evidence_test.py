#!/usr/bin/env python3
"""What docs/interop keeps of the runs: it is merged, never lost, and nothing untrue of it goes unseen."""

import contextlib
import gzip
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from interop.lane import document, evidence, matrix, pages  # noqa: E402
from interop.lane.evidence import Evidence  # noqa: E402

LINE = {"requirement": "nvme.limits.*", "seen": "status: 0/0*", "reason": "limits are not looked at",
        "source": "core.c nvmet_check"}
OTHER = {"requirement": "tcp.pdu.length", "case": "pdu_*", "transport": "tcp", "seen": "the connection: open",
         "reason": "nvme-tcp reads on", "source": "host/tcp.c nvme_tcp_recv_skb"}
KNOWN = {"linux-6.1": [LINE, OTHER], "linux-6.12": []}
RULES = {name: {"id": name, "text": f"the rule {name}", "document": "NVMe Base", "revision": "2.0", "section": "1.2", "level": "mandatory",
                "confidence": "text"} for name in ("nvme.limits.mdts", "nvme.limits.nlb", "tcp.pdu.length")}


def case(name: str, requirement: str = "nvme.limits.mdts", signature: str = "status: 0/00h", line: dict = LINE, **other) -> dict:
    return {"name": name, "suite": requirement.split(".")[0], "role": "controller", "transport": "tcp", "requirement": requirement,
            "signature": signature, "waiver": f"linux-6.1: {line['reason']} ({line['source']})", "verdict": "fail",
            "disposition": "waived", "capture": f"captures/{name}.pcapng",
            "findings": [{"what": "status", "expected": ["1", "2"], "seen": "0"}], **other}


def sound(name: str) -> dict:
    return case(name, disposition="as_expected", verdict="pass", waiver="", capture="")


class Run:
    """A run of some cells, as the lane leaves it."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.results: list[dict] = []

    def cell(self, name: str, cases: list[dict], captures: dict[str, bytes] | None = None, kernel: str = "6.1.7-1") -> None:
        report = self.folder / name / "report"
        (report / "captures").mkdir(parents=True)
        (report / "results.json").write_text(json.dumps({"started": "2026-01-02T03:04:05Z", "cases": cases}))
        for case_name, data in (captures or {}).items():
            (report / "captures" / f"{case_name}.pcapng").write_bytes(data)
        (self.folder / name / "dmesg.log").write_text(
            f"[    0.000000] Linux version 6.1.0-9-amd64 (x@y) (gcc) #1 SMP Debian {kernel} (2026-01-01)\n")
        self.results.append({"cell": name, "verdict": "passed", "seconds": 1.0, "boots": [], "text": "well"})

    def into(self, old: Evidence) -> tuple[Evidence, list[str]]:
        return evidence.harvested(old, self.results, self.folder, KNOWN)


class Harvest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_of(self, name: str) -> Run:
        return Run(self.folder / name)

    def test_of_the_cases_that_show_a_line_the_smallest_capture_is_kept(self):
        run = self.run_of("one")
        run.cell("tcp-suite-6.1", [case("large"), case("small"), case("none", capture=""), sound("other")],
                 {"large": b"l" * 200, "small": b"s" * 100})
        run.cell("rdma-suite-6.1", [case("middle", transport="rdma")], {"middle": b"m" * 150})
        kept, unknown = run.into(Evidence())
        self.assertEqual(unknown, [])
        (record,) = kept.records
        self.assertEqual((record["case"], record["cells"]), ("small", ["rdma-suite-6.1", "tcp-suite-6.1"]))
        self.assertEqual(gzip.decompress(kept.captures[record["capture"]]), b"s" * 100)
        self.assertEqual(kept.cells["tcp-suite-6.1"],
                         {"day": "2026-01-02", "kernel": "6.1.0-9-amd64 (Debian 6.1.7-1)",
                          "areas": {"nvme": {"passed": 1, "deviations": 3, "failed": 0}}})

    def test_a_cell_that_was_not_run_keeps_what_it_had(self):
        first = self.run_of("first")
        first.cell("tcp-suite-6.1", [case("one")], {"one": b"1"})
        kept, _ = first.into(Evidence())
        for verdict in ("not run", "FAILED"):
            later = self.run_of(f"later {verdict}")
            later.cell("rdma-suite-6.1", [sound("one")])
            later.results.append({"cell": "tcp-suite-6.1", "verdict": verdict, "seconds": 0.0, "boots": [], "text": ""})
            again, _ = later.into(kept)
            self.assertEqual((again.records, again.captures), (kept.records, kept.captures))

    def test_what_is_not_seen_any_more_has_no_record(self):
        first = self.run_of("first")
        first.cell("tcp-suite-6.1", [case("one")], {"one": b"1"})
        kept, _ = first.into(Evidence())
        later = self.run_of("later")
        later.cell("tcp-suite-6.1", [sound("one")])
        again, _ = later.into(kept)
        self.assertEqual((again.records, again.captures), ([], {}))

    def test_what_is_seen_again_keeps_its_capture_until_the_kernel_is_another_one(self):
        first = self.run_of("first")
        first.cell("tcp-suite-6.1", [case("one")], {"one": b"1" * 100})
        kept, _ = first.into(Evidence())
        other = [{"what": "status", "expected": ["1"], "seen": "3"}]
        for name, kernel, findings, stays in (("same", "6.1.7-1", {}, True), ("kernel", "6.1.8-1", {}, False),
                                              ("findings", "6.1.7-1", {"findings": other}, False)):
            later = self.run_of(name)
            later.cell("tcp-suite-6.1", [case("one", **findings), case("two", **findings)], {"one": b"2" * 50, "two": b"2"}, kernel)
            again, _ = later.into(kept)
            (record,) = again.records
            self.assertEqual(again.captures == kept.captures, stays)
            self.assertEqual((record["case"], record["kernel"]), ("one" if stays else "two", f"6.1.0-9-amd64 (Debian {kernel})"))

    def test_a_line_belongs_to_its_case_and_transport(self):
        for name, other, found in (("pdu_length", {}, True), ("length", {}, False), ("pdu_length", {"transport": "rdma"}, False),
                                   ("pdu_length", {"signature": "the connection: closed"}, False)):
            run = self.run_of(f"{name} {other}")
            run.cell("tcp-suite-6.1", [case(name, "tcp.pdu.length", line=OTHER, **{"signature": "the connection: open", **other})])
            kept, unknown = run.into(Evidence())
            self.assertEqual((len(kept.records), len(unknown)), (1, 0) if found else (0, 1))

    def test_a_capture_that_is_too_large_is_told_by_its_size(self):
        run = self.run_of("one")
        noise = bytes((n * n * 7919 >> 5) & 0xFF for n in range(300_000))
        run.cell("tcp-suite-6.1", [case("one")], {"one": noise})
        with unittest.mock.patch.object(evidence, "CAPTURE_MAX", 100):
            kept, _ = run.into(Evidence())
        self.assertEqual((kept.records[0]["capture"], kept.records[0]["capture_bytes"], kept.captures), ("", 300_000, {}))
        self.assertIn("too large to be kept here (292 KiB)", pages.page("linux-6.1", KNOWN["linux-6.1"], kept, RULES))

    def test_what_is_written_is_read(self):
        run = self.run_of("one")
        run.cell("tcp-suite-6.1", [case("one")], {"one": b"1"})
        kept, _ = run.into(Evidence())
        kept.write(self.folder / "docs")
        (self.folder / "docs/captures/stray").write_bytes(b"")
        kept.write(self.folder / "docs")
        self.assertEqual(Evidence.read(self.folder / "docs"), kept)


class Faults(unittest.TestCase):
    """What `--check` says of a document that is not true."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        run = Run(self.folder / "run")
        run.cell("tcp-suite-6.1", [case("one"), case("pdu_one", "tcp.pdu.length", "the connection: open", OTHER)],
                 {"one": b"1", "pdu_one": b"2"})
        run.results += [{"cell": one.name, "verdict": "not run", "seconds": 0.0, "boots": [], "text": ""}
                        for one in matrix.CELLS if one.name != "tcp-suite-6.1"]
        order = [one.name for one in matrix.CELLS]
        run.results.sort(key=lambda one: order.index(one["cell"]))
        (run.folder / "results.json").write_text(json.dumps({"cells": run.results}))
        self.document = self.folder / "interop.md"
        self.document.write_text("".join(f"<!-- table: {name} -->\n<!-- end -->\n" for name in ("cells", "seen", "areas", "pages")))
        self.docs = self.folder / "interop"
        self.docs.mkdir()
        self.assertEqual(document.write(self.document, self.docs, run.folder / "results.json", KNOWN, RULES), [])

    def found(self, known: dict = KNOWN) -> str:
        return "\n".join(document.faults(self.document, self.docs, known, RULES))

    def test_what_was_written_is_true(self):
        self.assertEqual(self.found(), "")

    def test_a_line_that_changed(self):
        self.assertIn("belongs to no line of its profile any more", self.found({**KNOWN, "linux-6.1": [OTHER]}))

    def test_captures_are_those_that_are_named(self):
        lost = self.docs / "captures/linux-6.1-one-tcp.pcapng.gz"
        lost.rename(lost.with_name("stray"))
        said = self.found()
        self.assertIn("the capture linux-6.1-one-tcp.pcapng.gz is not there", said)
        self.assertIn("no record names the capture stray", said)

    def test_pages_and_tables_by_hand(self):
        page = self.docs / "linux-6.1.md"
        page.write_text(page.read_text() + "more\n")
        self.assertIn("linux-6.1.md: it is not what the profile and the evidence make", self.found())
        self.document.write_text(self.document.read_text().replace("nvmet 6.1 over TCP", "somebody"))
        self.assertIn("its tables are not those", self.found())

    def test_a_part_of_a_run_leaves_the_outcomes(self):
        run = Run(self.folder / "later")
        run.cell("rdma-suite-6.1", [sound("one")])
        (run.folder / "results.json").write_text(json.dumps({"cells": run.results}))
        said = document.write(self.document, self.docs, run.folder / "results.json", KNOWN, RULES)
        self.assertEqual(said, [])
        self.assertEqual(self.found(), "")
        self.assertIn("| `tcp-suite-6.1` | passed |", self.document.read_text())
        self.assertIn("| `rdma-suite-6.1` | passed |", self.document.read_text())

    def test_a_page_can_be_filed(self):
        page = (self.docs / "linux-6.1.md").read_text()
        for part in ("- [Limits are not looked at](#limits-are-not-looked-at): nvmet", "## nvme-tcp reads on",
                     "`drivers/nvme/host/tcp.c`, `nvme_tcp_recv_skb`", "> the rule tcp.pdu.length",
                     "- status: expected 1 or 2; seen **0**", "(captures/linux-6.1-pdu_one-tcp.pcapng.gz)",
                     "--case pdu_one --report report"):
            self.assertIn(part, page)


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        unittest.main()
