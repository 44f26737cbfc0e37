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


class Generate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_on(self, text, name="fabrics.yaml"):
        (self.path / name).write_text(text)
        return subprocess.run([sys.executable, str(GENERATOR), "--out", str(self.path / "out"),
                               *map(str, sorted(self.path.glob("*.yaml")))],
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
        self.assertIn("begin with 'fabrics.'", self.fault("id: fabrics.", "id: rdma."))
        self.assertIn("three dotted words", self.fault("fabrics.connect.one", "fabrics.One"))
        self.assertIn("'gardener'", self.fault("controller", "gardener"))
        self.assertIn("is a list", self.fault("[this, that]", "this"))
        self.assertIn("gives a reason", self.fault("level:", "state: todo\n    level:"))
        self.assertIn("not YAML", self.fault("[this, that]", "[this"))

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
