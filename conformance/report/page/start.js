// The report of one run: reads the data that stands in the page, and puts the parts together.
"use strict";

function showSummary(report) {
  const {counts} = report;
  byId("outcome").textContent = report.red ? "red" : "green";
  byId("outcome").className = `outcome ${report.red ? "red" : "green"}`;
  document.title = `fabricbench: ${report.dut}, ${report.red ? "red" : "green"}`;
  const fact = (name, value, wide) => make("div", {class: wide ? "wide" : false}, make("dt", {}, name), make("dd", {}, value));
  const canary = make("span", {class: `badge ${report.canary === "missed" ? "fail" : "pass"}`}, report.canary);
  const bar = make("div", {class: "bar", role: "img", "aria-label": VERDICTS.map((verdict) => `${counts[verdict]} ${verdict}`).join(", ")},
    VERDICTS.filter((verdict) => counts[verdict] > 0).map((verdict) =>
      make("span", {style: `flex: ${counts[verdict]}; background: var(--${verdict})`, title: `${counts[verdict]} ${verdict}`})));
  const others = ["regression", "unexpected_pass"].filter((name) => counts[name] > 0).map((name) =>
    make("li", {}, `${counts[name]} `, badge(name)));
  byId("summary").replaceChildren(...[
    make("dl", {class: "facts"},
      fact("product", report.dut, true), fact("cases", report.count.toLocaleString("en")), fact(word("canary"), canary),
      fact("seed", make("code", {}, report.seed)), fact("digest", make("code", {}, report.digest)),
      fact("started", report.started), fact("took", `${report.duration_s.toFixed(2)} s`),
      report.deviations.length > 0 ? fact("deviations", report.deviations.join(", "), true) : null,
      fact("by", `${report.tool.name} ${report.tool.version}`)),
    bar,
    ...(report.remarks ?? []).map((remark) => make("p", {class: "seen"}, remark)),
    report.interrupted ? make("p", {}, make("b", {}, "Interrupted: "), "the cases below are those that were finished.") : null,
    ...(report.remarks ?? []).map((remark) => make("p", {class: "remark"}, make("b", {}, "Note: "), remark)),
    report.canary === "missed" ? make("p", {class: "seen"}, "The case that must fail did not: trust no verdict here.") : null,
    make("ul", {class: "counts"}, VERDICTS.filter((verdict) => counts[verdict] > 0).map((verdict) =>
      make("li", {}, `${counts[verdict].toLocaleString("en")} `, badge(verdict))), others)].filter(Boolean));
}

/** #case/NAME/TRANSPORT, #group/SUITE/ROLE/TRANSPORT, #rule/ID, or the name of a tab; #cases?suite=…&verdict=… filters. */
function follow(report) {
  const [path, query] = location.hash.slice(1).split("?");
  const [kind, ...parts] = path.split("/").map(decodeURIComponent);
  if (kind === "case") {
    report.open("cases");
    report.list.reveal(...parts);
  } else if (kind === "group") {
    report.open("cases");
    report.list.choose({suite: parts[0] ?? "", role: parts[1] ?? "", transport: parts[2] ?? "", text: ""});
  } else if (kind === "rule") {
    report.open("cases");
    report.list.choose({suite: "", role: "", transport: "", text: parts[0]});
  } else if (["cases", "coverage", "words"].includes(kind)) {
    report.open(kind);
    if (kind === "cases" && query !== undefined) report.list.chooseByText(query);
  }
}

/** The cases, and a way to the exchanges: unpacked when the first one is wanted. */
async function loadParts(report) {
  let loading = null;
  if (!report.cases) {
    byId("shown").textContent = "The cases are being read …";
    // The summary is drawn first.
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    Object.assign(report, await unpack("list"));
    report.ladderOf = async (one) => {
      loading ??= unpack("exchange").then((exchange) => Object.assign(report, spreadColumns(exchange)));
      await loading;
      return report.ladders[report.cases.indexOf(one)];
    };
  } else {
    report.ladderOf = async (one) => one.ladder ?? null;
  }
}

async function startReport() {
  startTheme();
  const report = JSON.parse(byId("data").textContent);
  const drawn = new Set();
  report.open = startTabs((name) => {
    if (drawn.has(name)) return;
    drawn.add(name);
    if (name === "coverage") showCoverage(report);
    if (name === "words") showWords();
  });
  showSummary(report);
  try {
    await loadParts(report);
  } catch (error) {
    byId("shown").textContent = `This browser cannot read the cases of this page (${error.message}): they are in results.json too.`;
    return;
  }
  report.list = new CaseList(report);
  report.list.start();
  follow(report);
  addEventListener("hashchange", () => follow(report));
}

startReport();
