"""`fabricbench statement`: what a product was tested for, for third parties."""

import base64
import hashlib
import json
import re
import subprocess
import zlib

import pytest

from conftest import PROGRAM

CASE = "connect_refuses_sqsize_*"
DEVIATION = "connect_takes_sqsize_zero"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statement") / "a report"
    subprocess.run([PROGRAM, "run", "--case", CASE, "--deviation", DEVIATION, "--report", folder], capture_output=True, timeout=300, check=False)
    return folder


def text_of_pdf(data):
    """What the pages show: the strings of their content streams."""
    assert data.startswith(b"%PDF-1.") and data.rstrip().endswith(b"%%EOF")
    shown = b""
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            shown += zlib.decompress(stream)
        except zlib.error:
            continue
    shown = re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), b" ".join(re.findall(rb"\((.*?)(?<!\\)\) ?Tj", shown)))
    return shown.decode("cp1252").replace("\\", "")


def test_it_says_what_was_tested_and_how_it_ended(fabricbench, report, tmp_path):
    done = fabricbench("statement", report, "--output", tmp_path / "out", "--json")
    assert done.code == 0 and done.err == ""
    results = json.loads((report / "results.json").read_text())
    assert done.json["sha256"] == hashlib.sha256((report / "results.json").read_bytes()).hexdigest()
    html = (tmp_path / "out" / "statement.html").read_text()
    pdf = text_of_pdf((tmp_path / "out" / "statement.pdf").read_bytes())
    for text in (html, pdf):
        for wanted in (results["dut"], results["digest"], results["tool"]["commit"], results["tool"]["ledger"], DEVIATION):
            assert wanted in text, wanted
    requirements = {case["requirement"] for case in results["cases"]}
    assert {one for one in re.findall(r'<span class="id">(.+?)</span>', html)} == requirements
    failed = {case["requirement"] for case in results["cases"] if case["verdict"] == "fail"}
    assert failed and html.count('<td class="fail">') == len(failed)
    assert "not met" in done.json["outcome"]


def test_nothing_of_a_product_becomes_markup(fabricbench, report, tmp_path):
    results = json.loads((report / "results.json").read_text())
    results["product"] = {"Model": "<script>alert(1)</script> \u6f22 Müller"}
    (tmp_path / "results.json").write_text(json.dumps(results))
    done = fabricbench("statement", tmp_path / "results.json", "--output", tmp_path)
    assert done.code == 0
    assert "<script>" not in (tmp_path / "statement.html").read_text()
    assert "? Müller" in text_of_pdf((tmp_path / "statement.pdf").read_bytes())


@pytest.mark.parametrize("kind", [["-algorithm", "ed25519"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]])
def test_the_results_are_signed(fabricbench, report, tmp_path, kind):
    key = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", *kind, "-out", key], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", tmp_path / "public.pem"], check=True)
    assert fabricbench("statement", report, "--output", tmp_path, "--key", key).code == 0
    signature = tmp_path / "results.json.sig"
    assert base64.b64encode(signature.read_bytes()).decode() in (tmp_path / "statement.html").read_text()
    raw = ["-rawin"] if "ed25519" in kind else ["-rawin", "-digest", "sha256"]
    subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", tmp_path / "public.pem", *raw, "-in", report / "results.json",
                    "-sigfile", signature], check=True, capture_output=True)


def test_what_cannot_be_is_one_line(fabricbench, report, tmp_path):
    (tmp_path / "other.json").write_text('{"cases": 1}')
    (tmp_path / "later.json").write_text('{"schema_version": 2}')
    (tmp_path / "no.pem").write_text("no key")
    for arguments, named in (([tmp_path / "none"], "none"), ([tmp_path / "other.json"], "other.json"), ([tmp_path / "later.json"], "schema version 2"),
                             ([report, "--key", tmp_path / "no.pem"], "no.pem"), ([report, "--output", "/proc/none"], "/proc/none")):
        done = fabricbench("statement", *arguments, cwd=tmp_path)
        assert done.code == 2 and done.out == "" and len(done.err.splitlines()) == 1 and named in done.err, done.err


def test_a_full_disk_is_one_line(report, tmp_path):
    script = f'ulimit -f 0; trap "" XFSZ; exec "{PROGRAM}" statement "{report}" --output out'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "statement.html" in done.stderr, done.stderr
