#!/usr/bin/python3
"""The ledger generator names file and entry of every fault, and leaves unchanged files alone."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATOR = pathlib.Path(__file__).resolve().parents[3] / "conformance/requirements/generate.py"
GOOD = """
requirements:
  - id: fabrics.connect.one
    document: D
    revision: "1"
    section: "6.3"
    roles: [controller]
    level: mandatory
    confidence: read
    text: Words with "quotes" and a \\ in them.
    answers: [this, that]
"""
DOCUMENTS = """
documents:
  - short: D
    name: The Document
    revisions:
      - revision: "1"
        contents: whole
        sections: {"6.3": Connect, "6.4": Disconnect}
      - revision: "2"
        contents: unread
        sections: {"6.3": Connect}
      - revision: pages
        contents: names
"""


class Generate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.documents = DOCUMENTS

    def tearDown(self):
        self.folder.cleanup()

    def run_on(self, text, name="fabrics.yaml"):
        (self.path / name).write_text(text)
        (self.path / "documents").mkdir(exist_ok=True)
        documents = self.path / "documents/documents.yaml"
        documents.write_text(self.documents)
        return subprocess.run([sys.executable, str(GENERATOR), "--out", str(self.path / "out"), "--documents", str(documents),
                               "--titles", str(self.path / "titles"), *map(str, sorted(self.path.glob("*.yaml")))],
                              capture_output=True, text=True, check=False)

    def fault(self, old, new):
        self.assertIn(old, GOOD)
        done = self.run_on(GOOD.replace(old, new))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)
        self.assertIn("fabrics.yaml", done.stderr)
        return done.stderr

    def test_good_ledger_becomes_data(self):
        done = self.run_on(GOOD)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn('"fabrics.connect.one"', (self.path / "out/ids_fabrics.h").read_text())
        self.assertIn('\\"quotes\\" and a \\\\ in', (self.path / "out/ledger_data.cc").read_text())

    def test_unchanged_ids_do_not_touch_the_id_header(self):
        self.run_on(GOOD)
        before = (self.path / "out/ids_fabrics.h").stat().st_mtime_ns
        self.run_on(GOOD.replace("this, that", "this, other"))
        self.assertEqual(before, (self.path / "out/ids_fabrics.h").stat().st_mtime_ns)
        self.assertIn("other", (self.path / "out/ledger_data.cc").read_text())

    def test_faults_name_file_and_entry(self):
        self.assertIn("entry 1 (fabrics.connect.one): 'text'",
                      self.fault('    text: Words with "quotes" and a \\ in them.\n', ""))
        self.assertIn("unknown key 'colour'", self.fault("level:", "colour: red\n    level:"))
        self.assertIn("'strict'", self.fault("mandatory", "strict"))
        self.assertIn("may recommend only", self.fault("confidence: read", "confidence: memory"))
        self.assertIn("begin with 'fabrics.'", self.fault("id: fabrics.", "id: rdma."))
        self.assertIn("three dotted words", self.fault("fabrics.connect.one", "fabrics.One"))
        self.assertIn("'gardener'", self.fault("controller", "gardener"))
        self.assertIn("is a list", self.fault("[this, that]", "this"))
        self.assertIn("gives a reason", self.fault("level:", "state: todo\n    level:"))
        self.assertIn("not YAML", self.fault("[this, that]", "[this"))

    def test_a_citation_is_held_against_its_document(self):
        self.assertIn("D 1 has no section '6.5'", self.fault('"6.3"', '"6.5"'))
        self.assertIn("D 1 has no section '6.5'", self.fault('"6.3"', '"6.3, 6.5"'))
        self.assertIn("no 'E 1', only D 1, D 2, D pages", self.fault("document: D", "document: E"))
        self.assertIn("no 'D 3'", self.fault('revision: "1"', 'revision: "3"'))

    def test_sections_have_titles(self):
        def data(old="", new=""):
            done = self.run_on(GOOD.replace(old, new))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return " ".join((self.path / "out/ledger_data.cc").read_text().split())
        self.assertIn('"D", "1", "6.3", "Connect", "The Document", true, "", "connect",', data())
        self.assertIn('"6.3, 6.4", "Connect; Disconnect", "The Document", true', data('"6.3"', '"6.3, 6.4"'))
        self.assertIn('"2", "9.9", "", "The Document", false', data('revision: "1"\n    section: "6.3"', 'revision: "2"\n    section: "9.9"'))
        self.assertIn('"NdkRead", "NdkRead", "The Document", true',
                      data('revision: "1"\n    section: "6.3"', 'revision: pages\n    section: NdkRead'))
        self.assertIn('true, "2.1", "connect"', data("level:", 'since: "2.1"\n    level:'))

    def test_faults_of_the_documents_are_told(self):
        for old, new, told in (("contents: whole", "contents: known", "contents 'known' is none of names, unread, whole"),
                               ('{"6.3": Connect, "6.4": Disconnect}', "{}", "there are no sections"),
                               ('"6.3": Connect, "6.4"', '6.3: Connect, "6.4"', "is a string")):
            self.documents = DOCUMENTS.replace(old, new, 1)
            done = self.run_on(GOOD)
            self.assertEqual(done.returncode, 1)
            self.assertIn("documents.yaml: D 1", done.stderr)
            self.assertIn(told, done.stderr)

    def titled(self, *files):
        (self.path / "titles").mkdir(exist_ok=True)
        for number, text in enumerate(files):
            (self.path / f"titles/{number}.yaml").write_text(text)
        return self.run_on(GOOD)

    def test_titles_become_a_table_by_case(self):
        done = self.titled("b_case: 'Connect with SQSIZE 0: rejected'\n", "a_case: 'Identify: 4096 bytes'\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        table = (self.path / "out/titles_data.cc").read_text()
        self.assertLess(table.index('{"a_case"sv, "Identify: 4096 bytes"sv}'),
                        table.index('{"b_case"sv, "Connect with SQSIZE 0: rejected"sv}'))

    def test_faults_of_titles_name_file_and_case(self):
        for files, told in ((["a: no result\n"], "0.yaml: a: a title is 'stimulus: result'"),
                            (["a: 7\n"], "a title is 'stimulus: result'"),
                            ([f"a: 'x: {'y' * 100}'\n"], "at most 100"),
                            (["a: 'x: \u00e9'\n"], "printable ASCII"),
                            (["a: 'x: y.'\n"], "neither a full stop nor a space"),
                            (["a: 'x: y'\n", "a: 'x: z'\n"], "1.yaml: a: the case has a title already"),
                            (["a: 'x: y'\n", "b: 'x: y'\n"], "1.yaml: b: the title of a")):
            done = self.titled(*files)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), files)
            self.assertIn(told, done.stderr)
            for file in (self.path / "titles").iterdir():
                file.unlink()

    def test_an_area_may_stand_in_several_files(self):
        self.run_on(GOOD)
        part = GOOD.replace("fabrics.connect.one", "fabrics.host.two")
        done = self.run_on(part, "fabrics-host.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ids = (self.path / "out/ids_fabrics.h").read_text()
        self.assertIn('"fabrics.connect.one"', ids)
        self.assertIn('"fabrics.host.two"', ids)
        self.assertFalse((self.path / "out/ids_fabrics-host.h").exists())
        self.assertIn("begin with 'fabrics.'",
                      self.run_on(part.replace("fabrics.", "rdma."), "fabrics-host.yaml").stderr)

    def test_an_id_stands_once(self):
        again = GOOD + GOOD.replace("\nrequirements:\n", "")
        done = self.run_on(again)
        self.assertEqual(done.returncode, 1)
        self.assertIn("'fabrics.connect.one' stands in fabrics.yaml already", done.stderr)


if __name__ == "__main__":
    unittest.main()
