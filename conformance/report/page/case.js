// One case, opened: the rule, what was expected and seen, the exchange, how to run it again.
"use strict";

function requirementBlock(rule) {
  return make("div", {class: "rule"},
    make("p", {class: "text"}, rule.text),
    make("p", {class: "id"}, make("code", {}, rule.id), ` · ${rule.citation} · `,
      word(rule.level), " · ", word(rule.confidence), rule.profile ? ` · ${rule.profile}` : ""));
}

function expectedSet(values) {
  if (values.length === 1) return values[0];
  return make("ul", {}, values.map((value) => make("li", {}, value)));
}

function findingsTable(one, rule) {
  const rows = (one.findings ?? []).map(([what, expected, seen]) =>
    make("tr", {}, make("td", {"data-head": "checked"}, what), make("td", {"data-head": "expected"}, expectedSet(expected)),
      make("td", {class: "seen", "data-head": "seen"}, seen)));
  if (rows.length > 0) {
    const head = ["checked", "expected, any of", "seen"].map((text) => make("th", {scope: "col"}, text));
    return make("table", {class: "findings"}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  }
  const seen = one.shown === "pass" ? "a legal one, in every check" : one.reason || "nothing";
  return make("table", {class: "findings"}, make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "legal answers"),
    make("th", {scope: "col"}, "seen"))), make("tbody", {}, make("tr", {}, make("td", {"data-head": "legal answers"},
    expectedSet(rule.answers)), make("td", {"data-head": "seen"}, seen))));
}

function caseFacts(one) {
  const facts = [`lasted ${duration(one.virtual_ns)}`, `took ${duration(one.wall_us * 1000)}`];
  const link = one.capture && make("a", {href: one.capture.split("/").map(encodeURIComponent).join("/")}, one.capture);
  return make("p", {class: "quiet"}, facts.join(" · "), " · digest ", make("code", {}, one.digest), link ? [" · ", link] : "",
    one.malformed ? " · sends malformed bytes" : "");
}

/** Reason, owner, expiry and link of the waiver, and why it does not help. Only links of the web are links. */
function waiverBlock(one) {
  const {waiver} = one;
  if (!waiver && !one.waiver_problem) return null;
  const parts = [];
  if (waiver) {
    parts.push(make("b", {}, one.disposition === "waived" ? "Waived: " : "Waiver: "), waiver.reason);
    if (waiver.owner) parts.push(` · owner ${waiver.owner}`);
    if (waiver.expires) parts.push(` · expires ${waiver.expires}`);
    if (waiver.link) parts.push(" · ", /^https?:\/\//.test(waiver.link) ? make("a", {href: waiver.link}, waiver.link) : waiver.link);
  }
  if (one.waiver_problem) parts.push(make("span", {class: "seen"}, `${waiver ? " · " : ""}${one.waiver_problem}`));
  return make("p", {class: "waiver"}, ...parts);
}

function caseDetails(report, one) {
  const rule = report.requirements[one.requirement];
  const command = `fabricbench replay ${one.replay.replace("{}", one.name)}`;
  const exchange = make("div", {class: "exchange"});
  const draw = (ladder) => ladder && exchange.replaceChildren(ladderBlock(report, {...one, ladder}));
  if (one.ladder) draw(one.ladder);
  else report.ladderOf(one).then(draw);
  return make("div", {class: "details"},
    make("div", {class: "said"}, badge(one.verdict), word(one.disposition, spaced(one.disposition), `badge ${one.disposition}`),
      make("span", {class: "quiet"}, `${one.suite} · ${one.role} · ${one.place}`)),
    requirementBlock(rule),
    waiverBlock(one),
    findingsTable(one, rule),
    one.shown_by ? make("p", {}, `${one.reason}. Broken in ${one.shown_by.length} cases, whose own verdicts stand: `,
      one.shown_by.flatMap((name, i) => [i > 0 ? ", " : "", make("a", {href: `#case/${encodeURIComponent(name)}`}, name)])) : null,
    one.rules ? make("p", {class: "quiet"}, `The product broke rules that are reported once for the run: ${one.rules.join(", ")}`) : null,
    one.replay ? make("div", {class: "command"}, make("code", {}, command), copyButton(command, "the command that reproduces it")) : null,
    exchange,
    caseFacts(one));
}
