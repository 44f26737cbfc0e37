"""The report as people use it: the page is opened from disk in a browser and clicked; the files for programs
say the same as the page."""

import json
import pathlib
import re
import subprocess
import time
import xml.etree.ElementTree

import jsonschema
import pytest
import yaml

from browser import browser
from conftest import PROGRAM, ROOT

# Cases of several kinds: fabrics on both transports, one that fails on the deviation below, MI.
SELECTION = "connect_*,icreq_*,*_queue_pair_*,a_*_unit_*,access_*,admin_commands_*"
DEVIATION = "connect_takes_sqsize_zero"
FAILING = "connect_refuses_sqsize_zero"
HOSTILE = "</script><img src=x onerror=document.title='hit'><b>bold"


def run(*arguments, **options):
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report with a failure in it."""
    path = tmp_path_factory.mktemp("report")
    done = run("run", "--case", SELECTION, "--deviation", DEVIATION, "--report", path)
    assert done.returncode == 1, done.stderr
    return path


@pytest.fixture(scope="module")
def clean_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("clean")
    done = run("run", "--case", SELECTION, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def chrome():
    with browser() as page:
        yield page


@pytest.fixture
def page(chrome, folder):
    chrome.resize(1280)
    chrome.prefer("light")
    chrome.open(folder / "index.html")
    chrome.script("try { localStorage.clear(); } catch {}")
    chrome.open(folder / "index.html")
    yield chrome
    assert chrome.errors() == []


def rows(page):
    return [row for row in page.all("#list .row") if row.is_displayed()]


def names(page):
    return page.script("return [...document.querySelectorAll('#list .row .name')].map(e => e.textContent)")


def open_case(page, name=FAILING):
    page.one("#search").clear()
    page.one("#search").send_keys(name)
    page.one("#list .row").click()
    return page.one("#list .details")


# ---- the file ----


def test_the_page_is_one_file_that_needs_no_other(folder):
    text = (folder / "index.html").read_text()
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', text)
    assert not re.search(r"@import|url\(", text)
    assert "default-src 'none'" in text


def test_summary_says_what_was_run(page, results):
    shown = page.one("#summary").text
    for part in [results["dut"], results["digest"], DEVIATION, "caught", f"{len(results['cases'])}"]:
        assert part in shown
    assert page.one("#outcome").text == "red"
    for verdict in ["pass", "fail"]:
        assert f"{results['summary'][verdict]} {verdict}" in shown


# ---- choosing ----


def test_filters_narrow_the_list(page, results):
    page.one('.chip[data-verdict="fail"]').click()
    assert set(names(page)) == {case["name"] for case in results["cases"] if case["verdict"] == "fail"}
    page.one('.chip[data-verdict="fail"]').click()
    for key, value in [("suite", "mi"), ("role", "endpoint"), ("transport", "smbus")]:
        page.one(f"#filter-{key}").send_keys(value)
    expected = [case["name"] for case in results["cases"]
                if (case["suite"], case["role"], case["transport"]) == ("mi", "endpoint", "smbus")]
    assert expected and sorted(names(page)) == sorted(expected)
    assert str(len(expected)) in page.one("#shown").text


def test_search_finds_names_rules_and_reasons(page, results):
    page.one("#search").send_keys("sqsize minimum")
    assert FAILING in names(page)
    assert len(names(page)) < len(results["cases"])
    page.one("#search").clear()
    page.one("#search").send_keys("no such words anywhere")
    assert names(page) == [] and "No case fits" in page.one("#list").text


# ---- a case ----


def test_a_case_shows_rule_expected_and_seen(page, results):
    case = next(one for one in results["cases"] if one["name"] == FAILING)
    text = open_case(page).text
    for part in [case["requirement"], case["document"], case["section"], case["seen"], *case["expected"], case["replay"]]:
        assert part in text
    link = page.one('.details a[href^="captures/"]').get_attribute("href")
    assert link.endswith(case["capture"])


def test_every_word_of_a_verdict_is_explained_where_it_stands(page):
    open_case(page)
    for word in page.all(".details dfn"):
        page.script("arguments[0].focus()", word)
        tip = page.one("#tip")
        assert len(tip.text) > 10 and word.get_attribute("tabindex") == "0"
    page.one("#tab-words").click()
    for word in ["pass", "fail", "skip", "waived", "inconclusive", "error", "unexpected failure", "unexpected pass", "as expected", "canary"]:
        assert word in page.one("#words").text


def test_the_command_is_copied(page, results):
    open_case(page)
    button = page.one(".copy")
    page.script("""window.copied = null;
        Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async (text) => { window.copied = text; }}});""")
    button.click()
    case = next(one for one in results["cases"] if one["name"] == FAILING)
    assert page.script("return window.copied").startswith("fabricbench replay fb1:" + case["name"])
    page.script("document.querySelector('.copy').textContent = 'Copy'")
    # Without a clipboard the text is copied from a field.
    page.script("""Object.defineProperty(navigator, 'clipboard', {configurable: true, value: undefined});
        document.execCommand = (what) => { window.fallback = what + ' ' + document.activeElement.value; return true; };""")
    button.click()
    assert page.script("return window.fallback").startswith("copy fabricbench replay fb1:")
    assert page.one(".copy").text == "Copied"


def test_the_exchange_is_drawn_and_its_fields_are_shown(page):
    open_case(page)
    arrows = page.all(".event.nvme")
    assert arrows, "capsules are arrows"
    connect = next(arrow for arrow in arrows if "Connect" in arrow.get_attribute("aria-label"))
    label = connect.get_attribute("aria-label")
    page.script("arguments[0].dispatchEvent(new PointerEvent('pointerenter'))", connect)
    assert "Connect" in page.one("#tip").text
    page.script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", connect)
    pin = page.one(".pin")
    assert "sqsize" in pin.text.lower() and "CID" in pin.text.upper()
    assert page.one('.event[aria-pressed="true"]').get_attribute("aria-label") == label, "also when the drawing has another width"
    page.one(".pin .close").click()
    assert not [one for one in page.all(".pin") if one.is_displayed()]
    failed = [event.get_attribute("aria-label") for event in page.all(".event.failed")]
    assert any("failed: " in label for label in failed), "the check that failed stands where it happened"


def test_layers_can_be_hidden(page):
    open_case(page)
    before = len(page.all(".event"))
    chip = next(one for one in page.all(".legend .chip") if one.text == "nvme")
    chip.click()
    assert len(page.all(".event")) < before and not page.all(".event.nvme")


# ---- the keyboard ----


def test_the_keyboard_is_enough(page):
    from selenium.webdriver.common.keys import Keys

    body = page.one("body")
    body.send_keys("/")
    assert page.focused().get_attribute("id") == "search"
    page.focused().send_keys("connect", Keys.ENTER)
    first = page.focused()
    assert "row" in first.get_attribute("class")
    first.send_keys(Keys.ARROW_DOWN)
    second = page.focused()
    assert second != first and "row" in second.get_attribute("class")
    second.send_keys(Keys.ENTER)
    assert second.get_attribute("aria-expanded") == "true"
    seen = set()
    for _ in range(40):
        page.focused().send_keys(Keys.TAB)
        seen.add(page.focused().get_attribute("class"))
        if "event" in page.focused().get_attribute("class"):
            break
    assert any("word" in one for one in seen) and "copy" in seen
    event = page.focused()
    event.send_keys(Keys.ARROW_DOWN)
    assert page.focused() != event and "event" in page.focused().get_attribute("class")
    page.focused().send_keys(Keys.ENTER)
    assert page.one(".pin").is_displayed()
    page.focused().send_keys(Keys.ESCAPE)
    assert not [one for one in page.all(".pin") if one.is_displayed()]


# ---- how it looks ----


def background(page):
    return page.script("return getComputedStyle(document.body).backgroundColor")


def brightness(colour):
    return sum(int(number) for number in re.findall(r"\d+", colour)[:3])


def test_light_and_dark(page, folder):
    light = background(page)
    page.one("#theme").click()
    dark = background(page)
    assert brightness(dark) < 200 < 500 < brightness(light)
    page.one("#theme").click()
    assert background(page) == light
    page.script("try { localStorage.clear(); } catch {}")
    page.prefer("dark")
    page.open(folder / "index.html")
    assert background(page) == dark


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_sticks_out(page, width):
    page.resize(width)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.script(wide) <= 0
    open_case(page)
    time.sleep(0.2)
    assert page.script(wide) <= 0
    assert len(page.all(".event")) > 3
    page.script("document.querySelector('.event.nvme').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert page.one(".pin").is_displayed() and page.script(wide) <= 0
    for tab in ["coverage", "words"]:
        page.script("scrollTo(0, 0)")
        page.one(f"#tab-{tab}").click()
        page.script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        time.sleep(0.2)
        assert page.script(wide) <= 0, tab


# ---- coverage ----


def open_block(block):
    """Its inside is made when it opens."""
    closed = block.text
    block.find_element("css selector", "summary").click()
    deadline = time.monotonic() + 20
    while block.text == closed and time.monotonic() < deadline:
        time.sleep(0.05)


def test_coverage_counts_sections_transitions_and_edges(page, results):
    page.one("#tab-coverage").click()
    text = page.one("#coverage").text
    assert "NVMe Base 2.3" in text
    block = next(one for one in page.all(".coverage-block") if one.text.startswith("Controller"))
    seen, known = map(int, re.search(r"(\d+) of (\d+)", block.text).groups())
    assert 2 <= seen <= known
    open_block(block)
    assert "enabling" in block.text and "→ ready" in block.text
    connect = next(one for one in page.all(".coverage-block") if one.text.startswith("Connect"))
    open_block(connect)
    assert "sqsize" in connect.text and "max" in connect.text


# ---- hostile data ----


def hostile_page(folder, target):
    """The page with words from a hostile product in its data, escaped as the program escapes them."""
    text = (folder / "index.html").read_text()
    start = text.index('id="data">') + len('id="data">')
    end = text.index("</script>", start)
    data = json.loads(text[start:end])
    case = next(one for one in data["cases"] if one["name"] == FAILING)
    case["reason"] = case["waiver"] = HOSTILE
    case["findings"] = [[HOSTILE, [HOSTILE, HOSTILE], HOSTILE]]
    data["dut"] = HOSTILE
    data["text"] = [word + HOSTILE if len(word) > 12 else word for word in data["text"]]
    dumped = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    target.write_text(text[:start] + dumped + text[end:])


def test_hostile_words_show_as_text(chrome, folder, tmp_path):
    hostile_page(folder, tmp_path / "index.html")
    chrome.resize(1280)
    chrome.open(tmp_path / "index.html")
    details = open_case(chrome)
    assert HOSTILE in details.text and HOSTILE in chrome.one("#summary").text
    for number in range(6):
        chrome.script("document.querySelectorAll('.event')[arguments[0]].dispatchEvent(new MouseEvent('click', {bubbles: true}))", number)
    assert chrome.script("return document.querySelectorAll('img, main b b').length") == 0
    assert chrome.script("return document.title").startswith("fabricbench: </script>")
    assert chrome.errors() == []


def test_the_program_escapes_what_it_embeds(tmp_path):
    """The name of a folder and a product reach the matrix as they are."""
    for name, dut in [("a</script><img src=x onerror=alert(1)>", HOSTILE), ("b", "embedded")]:
        one = tmp_path / name.replace("/", "_")
        one.mkdir()
        results = {"tool": {}, "seed": 2 ** 64 - 1, "dut": dut, "digest": "0" * 16, "canary": "caught", "summary": {
            "fail": 0, "error": 0, "regression": 0, "unexpected_pass": 0}, "cases": [{
                "name": HOSTILE, "suite": HOSTILE, "role": "host", "transport": "tcp", "verdict": "pass" if name == "b" else "skip",
                "disposition": "as_expected"}]}
        (one / "results.json").write_text(json.dumps(results))
    folders = sorted(path for path in tmp_path.iterdir())
    done = run("report", *folders, "--output", tmp_path / "matrix.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "matrix.html").read_text()
    assert "<img" not in text and text.count("</script>") == 2
    with browser() as page:
        page.open(tmp_path / "matrix.html")
        assert HOSTILE in page.one("#matrix").text and HOSTILE in page.one("#differences").text
        assert page.script("return document.querySelectorAll('img').length") == 0
        assert "18446744073709551615" in page.one("#matrix").text


# ---- a world of a campaign ----


def test_faults_are_drawn_where_they_struck(chrome, tmp_path):
    run("campaign", "--deviation", "write_ends_wrong", "--workload", "rdma", "--seeds", "3..12", "--out",
        tmp_path / "out")
    file = next(path for path in (tmp_path / "out").glob("*.json") if path.name != "campaign.json")
    done = run("replay", file, "--report", tmp_path / "world")
    assert done.returncode == 1 and "as recorded" in done.stdout
    chrome.resize(1280)
    chrome.open(tmp_path / "world" / "index.html")
    shown = chrome.one("#world").text
    assert "fail" in shown and f"fabricbench replay {file}" in shown
    assert len(chrome.all(".story li")) >= 2
    struck = chrome.all(".event.struck")
    assert struck and all(event.find_elements("css selector", ".cross") for event in struck)
    chrome.script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", struck[0])
    assert "fault" in chrome.one(".pin").text
    chrome.resize(360)
    assert chrome.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert chrome.errors() == []


# ---- several runs ----


def test_matrix_leads_to_the_evidence(chrome, folder, clean_folder, tmp_path):
    output = tmp_path / "matrix.html"
    done = run("report", folder, clean_folder, "--output", output)
    assert done.returncode == 0 and str(output) in done.stdout
    chrome.resize(1280)
    chrome.open(output)
    assert FAILING in chrome.one("#differences").text
    cell = next(link for link in chrome.all("#matrix td a") if "fail" in link.get_attribute("class"))
    cell.click()
    assert chrome.one("#outcome").text == "red"
    assert "#cases?suite=fabrics&role=controller" in chrome.driver.current_url
    assert chrome.one("#filter-suite").get_attribute("value") == "fabrics"
    assert FAILING in names(chrome)
    chrome.driver.back()
    link = next(one for one in chrome.all("#differences td a") if "fail" in one.get_attribute("class"))
    link.click()
    assert chrome.one(".case.open .name").text == FAILING
    chrome.resize(360)
    chrome.open(output)
    assert chrome.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


@pytest.mark.parametrize("spoil, word", [
    (lambda path: None, "no such folder"),
    (lambda path: path.mkdir(), "no results.json"),
    (lambda path: (path.mkdir(), (path / "results.json").write_text("{")), "no JSON"),
    (lambda path: (path.mkdir(), (path / "results.json").write_text("[1]")), "not the results of a run"),
    (lambda path: (path.mkdir(), (path / "results.json").write_text('{"seed": "x"}')), "not the results of a run"),
])
def test_wrong_folders_get_one_clear_line(clean_folder, tmp_path, spoil, word):
    spoil(tmp_path / "other")
    done = run("report", clean_folder, tmp_path / "other", "--output", tmp_path / "matrix.html")
    assert done.returncode == 2 and word in done.stderr and "other" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "matrix.html").exists()


def test_a_folder_twice_and_an_output_nowhere(clean_folder, tmp_path):
    for arguments in [(clean_folder, clean_folder), (clean_folder, "--output", tmp_path / "nowhere" / "matrix.html"),
                      (clean_folder, "--output", tmp_path)]:
        done = run("report", *arguments)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1


# ---- for programs ----


def test_results_follow_their_schema(results, clean_folder):
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(results)
    validator.validate(json.loads((clean_folder / "results.json").read_text()))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**results, "canary": "perhaps"})


def test_a_campaign_follows_its_schema(tmp_path):
    schema = json.loads((ROOT / "docs" / "campaign.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    done = run("campaign", "--workload", "mixed", "--seeds", "2..3", "--json", cwd=tmp_path)
    jsonschema.Draft202012Validator(schema).validate(json.loads(done.stdout))


def test_a_check_follows_its_schema(folder, results):
    schema = json.loads((ROOT / "docs" / "check.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    case = next(one for one in results["cases"] if one["name"] == FAILING)
    done = run("check", folder / case["capture"], "--json")
    jsonschema.Draft202012Validator(schema).validate(json.loads(done.stdout))


def test_sarif_names_what_did_not_pass(folder, results):
    log = json.loads((folder / "results.sarif").read_text())
    (run_,) = log["runs"]
    wanted = sorted(case["name"] for case in results["cases"] if case["verdict"] in ("fail", "error", "inconclusive"))
    assert FAILING in wanted
    assert sorted(one["message"]["text"].split(":")[0] for one in run_["results"]) == wanted
    rules = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules) == len({case["requirement"] for case in results["cases"]})
    for one in run_["results"]:
        assert rules[one["ruleIndex"]] == one["ruleId"]
        assert (folder / one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]).is_file()


def test_the_summary_for_a_job_names_the_failures(folder, clean_folder, results):
    text = (folder / "summary.md").read_text()
    assert text.startswith("## fabricbench: failures\n") and results["digest"] in text
    assert FAILING.replace("_", "\\_") in text.split("### Failures")[1]
    clean = (clean_folder / "summary.md").read_text()
    assert clean.startswith("## fabricbench: all as expected\n") and "### Failures" not in clean


def test_annotations_are_those_of_the_failures(tmp_path):
    done = run("run", "--case", FAILING, "--deviation", DEVIATION, "--annotations", "github", cwd=tmp_path)
    lines = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert done.returncode == 1 and lines and all(FAILING in line for line in lines)
    done = run("run", "--case", FAILING, "--annotations", "github", cwd=tmp_path)
    assert done.returncode == 0 and "::error" not in done.stdout
    done = run("run", "--case", FAILING, "--annotations", "github", "--json", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1


def read_tap(path):
    """(name, role, transport) -> (verdict, disposition), and the points by themselves."""
    lines = path.read_text().splitlines()
    assert lines[0] == "TAP version 14"
    plan = int(re.fullmatch(r"1\.\.(\d+)", lines[1]).group(1))
    points, at = [], 2
    while at < len(lines):
        ok, number, text = re.fullmatch(r"(ok|not ok) (\d+) - (.*)", lines[at]).groups()
        name, _, directive = text.partition(" # ")
        at += 1
        details = []
        if at < len(lines) and lines[at] == "  ---":
            end = lines.index("  ...", at)
            details = lines[at + 1:end]
            at = end + 1
        points.append((ok, int(number), name, directive, yaml.safe_load("\n".join(details)) or {}))
    assert [point[1] for point in points] == list(range(1, plan + 1))
    return points


def test_junit_tap_and_results_say_the_same(folder, results):
    points = read_tap(folder / "results.tap")
    assert points[-1][2] == "canary_is_caught"
    expected = {(case["name"], case["role"], case["transport"]): case for case in results["cases"]}
    tap = {}
    for ok, _, text, directive, details in points[:-1]:
        name, role, transport = re.fullmatch(r"(\S+) \((\S+) (\S+)\)", text).groups()
        case = expected[name, role, transport]
        tap[name, role, transport] = (details.get("verdict", "pass"), details.get("disposition", "as_expected"))
        red = case["verdict"] in {"fail", "error"} and case["disposition"] != "waived" or case["disposition"] == "unexpected_pass"
        assert (ok == "not ok") == red
        assert directive.startswith("SKIP") == (not red and case["verdict"] != "pass")
    junit = {}
    for element in xml.etree.ElementTree.parse(folder / "junit.xml").getroot().iter("testcase"):
        if element.get("classname") == "bench":
            continue
        _, role, transport = element.get("classname").split(".")
        properties = {one.get("name"): one.get("value") for one in element.iter("property")}
        junit[element.get("name"), role, transport] = (properties["verdict"], properties["disposition"])
        assert (element.find("failure") is not None) == (properties["verdict"] == "fail")
    said = {key: (case["verdict"], case["disposition"]) for key, case in expected.items()}
    assert tap == said == junit


def test_a_report_is_the_same_for_the_same_seed(tmp_path):
    pages = []
    for jobs in (1, 2):
        path = tmp_path / str(jobs)
        run("run", "--case", "connect_*", "--jobs", jobs, "--report", path)
        text = (path / "index.html").read_text()
        pages.append(re.sub(r'"(wall_us|duration_s)":[\d.e-]+|"started":"[^"]*"', "", text))
    assert pages[0] == pages[1]


def test_the_page_of_a_whole_run_is_small_and_shows_each_exchange(chrome, tmp_path):
    done = run("run", "--seed", "1", "--captures", "none", "--report", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((tmp_path / "results.json").read_text())["cases"]
    assert len(cases) > 5000 and (tmp_path / "index.html").stat().st_size < 3e6
    chrome.resize(1280)
    chrome.open(tmp_path / "index.html")
    # The last ones too: what is packed holds their rows and fields behind those of all others.
    connect = next(case["name"] for case in cases if case["name"].startswith("connect_refuses_"))
    for name, layer in ((cases[-1]["name"], ""), (connect, ".nvme")):
        open_case(chrome, name)
        event = chrome.one(f".event{layer}")
        chrome.script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", event)
        assert len(chrome.one(".pin").text.splitlines()) > 2
    connects = [event.get_attribute("aria-label") for event in chrome.all(".event.nvme")]
    assert any("Connect" in label for label in connects), connects
    assert chrome.errors() == []
