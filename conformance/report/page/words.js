// The words of a verdict, said where they stand.
"use strict";

const WORDS = {
  pass: "Every check of the case held, and the case reached the point that it was written for.",
  fail: "The product answered outside the set of legal answers, or did not answer.",
  skip: "Not applicable: the product does not claim the feature. The reason names the field that says so.",
  waived: "It failed, and a waiver with a reason and a date, or the profile of a known peer, expects just this failure.",
  inconclusive: "No condition such as the case needs could be made, or its rule was not confirmed and a person should look. Blames nobody.",
  error: "The bench itself broke. Never the product's fault; please report it.",
  as_expected: "The verdict is what was expected of this product.",
  regression: "It was expected to pass and did not (\"regression\" in JSON). Makes the run red.",
  unexpected_pass: "A waiver names a failure that no longer happens: delete the waiver. Makes the run red.",
  canary: "A case that must fail, in every run. Caught: what turns a wrong answer into a FAIL worked in this very run. "
    + "Missed: trust no verdict here.",
  mandatory: "The specification says shall.",
  recommended: "The specification says should, or known products are at odds about the rule.",
  informative: "The specification describes it; a product that differs breaks no rule.",
  confirmed: "The rule was checked against the text of its document and against products.",
  read: "The rule was checked against the text of its document.",
  memory: "The rule was written from knowledge of the field; its document has not been at hand.",
};
const VERDICTS = ["fail", "error", "inconclusive", "waived", "pass", "skip"];

// JSON says "regression" of a first run, too, where nothing was better before.
const SHOWN = {regression: "unexpected failure"};
const spaced = (name) => SHOWN[name] ?? name.replaceAll("_", " ");
/** "skip" is also the class of the link to the cases. */
const styleOf = (word) => (word === "skip" ? "skip-verdict" : word);

/** What the row shows: a failure that was waived is no failure, an unexpected pass is no pass. */
function shownVerdict(one) {
  if (one.disposition === "waived") return "waived";
  return one.verdict;
}

/** A word with its meaning: pointing at it, or reaching it with the keyboard, says it. */
function word(name, shown = spaced(name), style = "") {
  const meaning = WORDS[name];
  if (!meaning) return make("span", {class: style}, shown);
  const element = make("dfn", {class: `word ${style}`, tabindex: 0, "aria-description": meaning}, shown);
  return explain(element, () => meaning);
}

const badge = (name, shown = spaced(name)) => word(name, shown, `badge ${styleOf(name)}`);


function showWords() {
  const section = byId("words");
  const rows = Object.entries(WORDS).map(([name, meaning]) =>
    make("tr", {}, make("th", {scope: "row"}, make("span", {class: `badge ${styleOf(name)}`}, spaced(name))), make("td", {}, meaning)));
  const keys = [["/", "to the search"], ["↑ ↓", "from case to case, or from event to event in a drawing"],
    ["Enter", "opens and closes a case; pins the fields of an event"], ["Esc", "closes what is pinned; leaves the search"]];
  section.replaceChildren(
    make("div", {class: "coverage-block"}, make("h2", {}, "What the words mean"), make("table", {}, make("tbody", {}, rows))),
    make("div", {class: "coverage-block"}, make("h2", {}, "Keys"), make("table", {}, make("tbody", {}, keys.map(([key, what]) =>
      make("tr", {}, make("th", {scope: "row"}, make("kbd", {}, key)), make("td", {}, what)))))));
}
