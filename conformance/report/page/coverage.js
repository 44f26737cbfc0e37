// What the run went through: sections of the specifications, transitions of state tables, values at the
// edges of fields.
"use strict";

/** The worst that came of a requirement's cases in this run, or nothing when none judged it. */
function judgements(report) {
  const found = new Map();
  for (const one of report.cases) {
    if (one.shown === "skip") continue;
    const before = found.get(one.requirement);
    if (before === undefined || VERDICTS.indexOf(one.shown) < VERDICTS.indexOf(before)) found.set(one.requirement, one.shown);
  }
  return found;
}

function meter(part, all, missed = 0) {
  const share = (count) => `width: ${all === 0 ? 0 : (100 * count) / all}%`;
  return make("div", {class: "meter", "aria-hidden": true}, make("span", {style: share(part - missed)}),
    missed > 0 ? make("span", {class: "missed", style: share(missed)}) : null);
}

function block(title, part, all, missed, fill, level = "h2") {
  const details = make("details", {class: "coverage-block"}, make("summary", {}, make("span", {}, make(level, {}, title)),
    meter(part, all, missed), make("span", {class: "count"}, `${part.toLocaleString("en")} of ${all.toLocaleString("en")}`)));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(...fill());
  });
  return details;
}

/** "7.1.10" behind "7.1.9". */
function bySection(a, b) {
  return a.localeCompare(b, "en", {numeric: true});
}

function requirementItem(report, index, verdict) {
  const rule = report.requirements[index];
  const state = verdict ?? (rule.state === "covered" ? "none" : rule.state);
  const shown = {none: "not in this run", todo: "no case yet", exception: "no case: exception"}[state] ?? state;
  const first = report.cases.find((one) => one.requirement === index);
  const mark = make("span", {class: `badge ${styleOf(state)}`}, shown);
  return make("li", {}, first ? make("a", {href: `#rule/${rule.id}`}, mark) : mark, " ", make("code", {}, rule.id),
    make("div", {}, rule.text), rule.reason ? make("div", {class: "quiet"}, rule.reason) : null);
}

function sectionList(report, judged, sections) {
  // Those that this run has judged come first.
  const none = (indices) => !indices.some((index) => judged.has(index));
  return [...sections.entries()].sort(([a, x], [b, y]) => none(x) - none(y) || bySection(a, b)).map(([section, indices]) => {
    const verdicts = indices.map((index) => judged.get(index)).filter(Boolean);
    const bad = verdicts.filter((verdict) => verdict === "fail" || verdict === "error").length;
    const {document: name, revision, citation} = report.requirements[indices[0]];
    const label = citation.slice(`${name} ${revision}, `.length) || section;
    const details = make("details", {}, make("summary", {}, make("code", {}, label), meter(verdicts.length, indices.length, bad),
      make("span", {class: "count"}, `${verdicts.length} of ${indices.length}`)));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) {
        details.append(make("ul", {class: "requirements"}, indices.map((index) => requirementItem(report, index, judged.get(index)))));
      }
    });
    return details;
  });
}

function showSections(report) {
  const judged = judgements(report);
  const documents = new Map();
  report.requirements.forEach((rule, index) => {
    const name = `${rule.document} ${rule.revision}`;
    if (!documents.has(name)) documents.set(name, new Map());
    const sections = documents.get(name);
    if (!sections.has(rule.section)) sections.set(rule.section, []);
    sections.get(rule.section).push(index);
  });
  const count = (sections) => [...sections.values()].flat().filter((index) => judged.has(index)).length;
  const blocks = [...documents.entries()].sort(([a, x], [b, y]) => count(y) - count(x) || bySection(a, b)).map(([name, sections]) => {
    const all = [...sections.values()].flat();
    const verdicts = all.map((index) => judged.get(index)).filter(Boolean);
    const bad = verdicts.filter((verdict) => verdict === "fail" || verdict === "error").length;
    return block(name, verdicts.length, all.length, bad, () => [make("div", {class: "sections"}, sectionList(report, judged, sections))]);
  });
  return [make("h2", {}, "Requirements by document and section"),
    make("p", {class: "quiet"}, "Judged in this run, of all that the ledger holds. A requirement whose cases were skipped is not judged."),
    ...blocks];
}

function cell(shown, count, meaning) {
  return make("span", {class: `cell${count > 0 ? "" : " never"}`, title: meaning}, shown,
    count > 0 ? ` × ${count.toLocaleString("en")}` : "");
}

function showTransitions(report) {
  const blocks = report.transitions.map((machine) => {
    const seen = machine.rows.filter((row) => row[2] > 0).length;
    return block(machine.name, seen, machine.rows.length, 0, () => {
      const sources = [...new Set(machine.rows.map((row) => row[0]))];
      return [make("p", {class: "quiet"}, machine.what), make("table", {class: "machine"}, make("thead", {}, make("tr", {},
        make("th", {scope: "col"}, "from"), make("th", {scope: "col"}, "to"))), make("tbody", {}, sources.map((source) =>
        make("tr", {}, make("th", {scope: "row"}, source), make("td", {}, make("div", {class: "cells"},
          machine.rows.filter((row) => row[0] === source).map(([, to, count]) => cell(`→ ${to}`, count, `seen ${count} times`))))))))];
    }, "h3");
  });
  return [make("h2", {}, "Transitions of the state tables"),
    make("p", {class: "quiet"}, "Which transitions the emulated products and the bench went through. Dashed: never in this run."),
    ...blocks];
}

function showEdges(report) {
  const groups = new Map();
  for (const field of report.edges) {
    if (!groups.has(field.where)) groups.set(field.where, []);
    groups.get(field.where).push(field);
  }
  const blocks = [...groups.entries()].map(([where, fields]) => {
    const values = fields.flatMap((field) => field.values);
    return block(where, values.filter((value) => value[1] > 0).length, values.length, 0, () => [make("table", {class: "machine"},
      make("tbody", {}, fields.map((field) => make("tr", {}, make("th", {scope: "row"}, field.name), make("td", {},
        make("div", {class: "cells"}, field.values.map(([value, count]) => cell(value, count, `seen ${count} times`))))))))], "h3");
  });
  return [make("h2", {}, "Values at the edges of fields"),
    make("p", {class: "quiet"}, "Smallest and largest values that were on the wire, by what they count. Dashed: never in this run."),
    ...blocks];
}

function showCoverage(report) {
  const parts = [...showSections(report)];
  if (report.transitions.length > 0) parts.push(...showTransitions(report));
  if (report.edges.length > 0) parts.push(...showEdges(report));
  byId("coverage").replaceChildren(...parts);
}
