// Two or more runs beside each other: a row for each group of cases, a column for each run, each cell a
// link to where the run shows it; and the cases whose verdicts differ.
"use strict";

const cellHref = (run, ...parts) => `${run.href}#${parts.map(encodeURIComponent).join("/")}`;

function worst(counts) {
  return VERDICTS.find((verdict) => counts[verdict] > 0) ?? "none";
}

function countsText(counts) {
  return VERDICTS.filter((verdict) => counts[verdict] > 0).map((verdict) => `${counts[verdict]} ${verdict}`).join(", ");
}

/** 118 / 120: passed, of those that were judged. */
function cellText(counts) {
  const judged = VERDICTS.filter((verdict) => verdict !== "skip").reduce((sum, verdict) => sum + counts[verdict], 0);
  return judged === 0 ? "skip" : `${counts.pass} / ${judged}`;
}

function groupCell(run, group, counts) {
  if (!counts) return make("td", {class: "quiet"}, "–");
  const link = make("a", {class: styleOf(worst(counts)), href: cellHref(run, "group", group.suite, group.role, group.transport),
    "aria-description": countsText(counts)}, cellText(counts));
  return make("td", {}, explain(link, () => countsText(counts)));
}

function columnHead(run) {
  return make("th", {scope: "col"}, make("a", {href: run.href}, run.name), make("div", {class: "quiet"}, run.dut),
    make("div", {class: "quiet"}, `seed ${run.seed}`),
    make("span", {class: `badge ${run.red ? "fail" : "pass"}`}, run.red ? "red" : "green"),
    run.canary === "caught" ? null : make("div", {}, make("span", {class: "badge fail"}, `canary ${run.canary}`)));
}

const GROUPS_SHOWN = [["all", "all groups"], ["common", "groups of every run"], ["differ", "groups that differ"]];
let shownGroups = "all";

function isShown(group) {
  if (shownGroups === "common") return group.cells.every(Boolean);
  // Of those that hold a group, one came to something else than another.
  const texts = new Set(group.cells.filter(Boolean).map((counts) => countsText(counts)));
  return shownGroups === "all" || texts.size > 1;
}

function groupChoice(matrix) {
  return make("div", {class: "chips", role: "group", "aria-label": "Groups shown"}, GROUPS_SHOWN.map(([value, text]) => {
    const chip = make("button", {type: "button", class: "chip", "aria-pressed": value === shownGroups, "data-shown": value}, text);
    chip.addEventListener("click", () => {
      shownGroups = value;
      showMatrix(matrix);
      document.querySelector(`[data-shown="${value}"]`).focus();
    });
    return chip;
  }));
}

function showMatrix(matrix) {
  const head = make("tr", {}, make("th", {scope: "col"}, "group"), matrix.runs.map(columnHead));
  const groups = matrix.groups.filter(isShown);
  const rows = groups.map((group) => make("tr", {}, make("th", {scope: "row"}, make("b", {}, group.suite), " ",
    make("span", {class: "kind"}, `${group.role} · ${group.transport}`)),
    matrix.runs.map((run, at) => groupCell(run, group, group.cells[at]))));
  byId("matrix").replaceChildren(make("h2", {}, "Groups by peer"),
    make("p", {class: "quiet"}, "Passed, of those that were judged; the colour is that of the worst. A cell leads to its cases. ",
      make("a", {href: "#differences"}, `${plural(matrix.differences.length, "case")} came to different verdicts.`)),
    groupChoice(matrix),
    groups.length === 0 ? make("p", {class: "quiet"}, shownGroups === "common" ? "No group is in every run." : "No group differs.") : "",
    make("div", {class: "matrix", tabindex: 0, role: "region", "aria-label": "Matrix"},
      make("table", {}, make("thead", {}, head), make("tbody", {}, rows))));
}

function showDifferences(matrix) {
  const count = matrix.differences.length;
  const title = make("h2", {}, count === 0 ? "No case differs" : `${plural(count, "case")} with different verdicts`);
  if (count === 0) {
    byId("differences").replaceChildren(title);
    return;
  }
  const verdictCell = (run, one, verdict) => (verdict === "" ? make("td", {class: "quiet"}, "–")
    : make("td", {}, make("a", {class: styleOf(verdict), href: cellHref(run, "case", one.name, one.transport)}, verdict)));
  const rows = matrix.differences.map((one) => make("tr", {}, make("th", {scope: "row"}, make("code", {}, breakable(one.name)), " ",
    make("span", {class: "kind"}, one.transport)), matrix.runs.map((run, at) => verdictCell(run, one, one.verdicts[at]))));
  byId("differences").replaceChildren(title, make("div", {class: "matrix", tabindex: 0, role: "region", "aria-label": "Cases that differ"},
    make("table", {}, make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "case"),
      matrix.runs.map((run) => make("th", {scope: "col"}, run.name)))), make("tbody", {}, rows))));
}

startTheme();
const matrix = JSON.parse(byId("data").textContent);
showMatrix(matrix);
showDifferences(matrix);
