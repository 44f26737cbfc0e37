"""`fabricbench catalogue`: every requirement as pages to look things up in, from disk and without a server."""

import html
import html.parser
import json
import subprocess
import urllib.parse

import pytest
from selenium.webdriver.common.keys import Keys

from browser import browser
from conftest import PROGRAM

REQUIREMENT = "fabrics.connect.sqsize.minimum"


class Links(html.parser.HTMLParser):
    """The anchors of a page, and what it refers to. Every element that is opened is closed."""

    VOID = {"meta", "link", "input"}

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.anchors.append(values["id"])
        self.links += [values[key] for key in ("href", "src") if key in values]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalogue") / "a report"
    subprocess.run([PROGRAM, "run", "--case", "connect_refuses_sqsize_*", "--deviation", "connect_takes_sqsize_zero", "--report", folder],
                   capture_output=True, timeout=300, check=False)
    return folder


@pytest.fixture(scope="module")
def site(report, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "the pages"
    subprocess.run([PROGRAM, "catalogue", "--output", folder, report], capture_output=True, timeout=300, check=True)
    return folder


def ledger(fabricbench):
    return json.loads(fabricbench("requirements", "--json").out)["requirements"]


def test_each_requirement_is_there_once_and_each_link_leads_somewhere(fabricbench, site):
    pages = {path.name: Links(path.read_text()) for path in site.glob("*.html")}
    for name, page in pages.items():
        assert len(page.anchors) == len(set(page.anchors)), name
        for link in page.links:
            target, _, anchor = link.partition("#")
            assert (site / (target or name)).is_file(), link
            assert not anchor or urllib.parse.unquote(anchor) in pages[target or name].anchors, link
    rules = ledger(fabricbench)
    anchors = [anchor for page in pages.values() for anchor in page.anchors]
    assert all(anchors.count(rule["id"]) == 1 for rule in rules)
    sections = {(rule["document"], rule["revision"], rule["section"].split(",")[0]) for rule in rules}
    assert sum(anchor.startswith("s") and (site / name).read_text().count(f'<h2 id="{html.escape(anchor)}">')
               for name, page in pages.items() for anchor in page.anchors) == len(sections)


def test_a_requirement_has_its_text_answers_cases_and_products(fabricbench, report, site):
    rule = next(one for one in ledger(fabricbench) if one["id"] == REQUIREMENT)
    text = next(path.read_text() for path in site.glob("*.html") if f'<article id="{REQUIREMENT}">' in path.read_text())
    article = text.split(f'<article id="{REQUIREMENT}">')[1].split("</article>")[0]
    for wanted in [*rule["cases"], *rule["deviations"], rule["level"]]:
        assert wanted in article, wanted
    results = json.loads((report / "results.json").read_text())
    assert f"<td>{results['dut']}</td>" in article
    assert '<td class="verdict">fail</td>' in article
    assert "Linux 6.12" in (site / "index.html").read_text()


def test_the_search_finds_words_in_any_order(site):
    with browser() as page:
        page.open(site / "index.html")
        page.one("#words").send_keys("SQSIZE connect")
        assert REQUIREMENT in page.one("#found").text
        assert "requirements" in page.one("#count").text
        link = next(one for one in page.all("#found a") if one.text == REQUIREMENT)
        link.click()
        assert page.one(f'article[id="{REQUIREMENT}"]').is_displayed()
        page.driver.back()
        assert page.one("#words").get_attribute("value") == "SQSIZE connect"
        page.one("#words").send_keys(Keys.CONTROL, "a")
        page.one("#words").send_keys("no such words anywhere")
        assert page.one("#count").text == "0 requirements"
        assert page.errors() == []


def test_pages_fit_a_telephone(site):
    largest = max(site.glob("*.html"), key=lambda path: path.stat().st_size)
    with browser() as page:
        page.resize(390)
        for name in (largest, site / "index.html"):
            page.open(name)
            assert page.script("return document.documentElement.scrollWidth") <= 390, name


def test_nothing_of_a_product_becomes_markup(fabricbench, report, tmp_path):
    results = json.loads((report / "results.json").read_text())
    results["product"] = {"Model": "<script>alert(1)</script>"}
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert fabricbench("catalogue", tmp_path / "results.json", "--output", tmp_path / "out").code == 0
    assert all("<script>alert" not in path.read_text() for path in (tmp_path / "out").iterdir())


def test_what_cannot_be_is_one_line(fabricbench, report, tmp_path):
    (tmp_path / "other.json").write_text('{"cases": 1}')
    for arguments, named in (([tmp_path / "none"], "none"), ([tmp_path / "other.json"], "other.json"),
                             ([report, "--output", "/proc/none"], "/proc/none")):
        done = fabricbench("catalogue", *arguments, cwd=tmp_path)
        assert done.code == 2 and done.out == "" and len(done.err.splitlines()) == 1 and named in done.err, done.err


def test_a_full_disk_is_one_line(tmp_path):
    script = f'ulimit -f 0; trap "" XFSZ; exec "{PROGRAM}" catalogue --output out'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "index.html" in done.stderr, done.stderr
