// The list of cases: what is chosen, what is shown, and how the keyboard walks through it.
"use strict";

const PORTION = 400;  // rows that are made at a time
const ORDERS = [["", "by verdict"], ["section", "by section"], ["suite", "by suite"]];

class CaseList {
  constructor(report) {
    this.report = report;
    this.wanted = {verdict: new Set(), suite: "", role: "", transport: "", text: "", group: ""};
    this.limit = PORTION;
    this.list = byId("list");
    for (const one of report.cases) {
      const rule = report.requirements[one.requirement];
      one.shown = shownVerdict(one);
      one.suite = rule.id.split(".")[0];
      one.place = one.lane ? `${one.transport}/${one.lane}` : one.transport;
      one.id = `${one.name}/${one.place}`;
      one.haystack = [one.name, one.title, one.place, one.role, rule.id, rule.document, rule.section, rule.text, one.reason,
        one.disposition, ...(one.findings ?? []).flat(2)].join("\n").toLowerCase();
    }
    this.list.addEventListener("keydown", (event) => this.walk(event));
    document.addEventListener("keydown", (event) => this.shortcut(event));
  }

  // ---- the filter ----

  values(key) {
    return [...new Set(this.report.cases.map((one) => one[key]))].sort();
  }

  start() {
    const search = make("input", {type: "search", id: "search", placeholder: "Search cases, rules, reasons   /",
      "aria-label": "Search", autocomplete: "off", spellcheck: "false"});
    search.addEventListener("input", () => this.choose({text: search.value}));
    const select = (key, all) => {
      const element = make("select", {id: `filter-${key}`, "aria-label": key}, make("option", {value: ""}, all),
        this.values(key).map((value) => make("option", {value}, value)));
      element.addEventListener("change", () => this.choose({[key]: element.value}));
      return element;
    };
    this.chips = make("div", {class: "chips", role: "group", "aria-label": "Verdicts"});
    const group = make("select", {id: "filter-group", "aria-label": "order"},
      ORDERS.map(([value, shown]) => make("option", {value}, shown)));
    group.addEventListener("change", () => this.choose({group: group.value}));
    byId("filter").append(search, select("suite", "all suites"), select("role", "all roles"),
      select("transport", "all transports"), group, this.chips);
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    this.show();
  }

  choose(change) {
    Object.assign(this.wanted, change);
    this.limit = PORTION;
    for (const key of ["suite", "role", "transport", "group"]) byId(`filter-${key}`).value = this.wanted[key];
    if (byId("search").value !== this.wanted.text) byId("search").value = this.wanted.text;
    this.show();
    history.replaceState(null, "", this.address());
  }

  /** What is chosen, as the page's address says it: a link that is passed on shows the same. */
  address() {
    const chosen = new URLSearchParams();
    if (this.wanted.verdict.size > 0) chosen.set("verdict", [...this.wanted.verdict].join(","));
    for (const key of ["suite", "role", "transport", "text", "group"]) if (this.wanted[key]) chosen.set(key, this.wanted[key]);
    return [...chosen].length > 0 ? `#cases?${chosen}` : "#cases";
  }

  chooseByText(query) {
    const given = new URLSearchParams(query);
    const known = {suite: this.values("suite"), role: this.values("role"), transport: this.values("transport"),
      group: ORDERS.map(([value]) => value)};
    const verdicts = (given.get("verdict") ?? "").split(",").filter((verdict) => VERDICTS.includes(verdict));
    const change = {text: given.get("text") ?? "", verdict: new Set(verdicts)};
    for (const [key, values] of Object.entries(known)) change[key] = values.includes(given.get(key)) ? given.get(key) : "";
    this.choose(change);
  }

  toggleVerdict(verdict) {
    const chosen = this.wanted.verdict;
    if (!chosen.delete(verdict)) chosen.add(verdict);
    this.choose({});
  }

  fits(one) {
    const {suite, role, transport, text} = this.wanted;
    return (!suite || one.suite === suite) && (!role || one.role === role) && (!transport || one.transport === transport)
      && text.toLowerCase().split(/\s+/).every((part) => one.haystack.includes(part));
  }

  // ---- the rows ----

  show() {
    const fitting = this.report.cases.filter((one) => this.fits(one));
    const chosen = this.wanted.verdict;
    this.found = fitting.filter((one) => chosen.size === 0 || chosen.has(one.shown));
    const rank = (one) => (one.disposition === "unexpected_pass" ? 0 : VERDICTS.indexOf(one.shown));
    const group = (one) => this.groupOf(one);
    this.found.sort((a, b) => bySection(group(a), group(b)) || rank(a) - rank(b));
    // What a heading counts: all that fits, whatever its verdict.
    this.groups = new Map();
    for (const one of this.wanted.group ? fitting : []) {
      const counts = this.groups.get(group(one)) ?? {judged: 0, passed: 0};
      this.groups.set(group(one), counts);
      counts.judged += one.shown === "skip" ? 0 : 1;
      counts.passed += one.shown === "pass" ? 1 : 0;
    }
    this.chips.replaceChildren(...VERDICTS.map((verdict) => this.chip(verdict, fitting)).filter(Boolean));
    byId("shown").textContent = `${plural(this.found.length, "case")} of ${this.report.cases.length.toLocaleString("en")}`;
    this.list.replaceChildren();
    this.fill();
  }

  /** The heading that a case stands under; empty without groups. */
  groupOf(one) {
    const rule = this.report.requirements[one.requirement];
    if (this.wanted.group === "section") return `${rule.document} ${rule.revision}, ${rule.section}`;
    return this.wanted.group === "suite" ? one.suite : "";
  }

  chip(verdict, fitting) {
    const count = fitting.filter((one) => one.shown === verdict).length;
    const pressed = this.wanted.verdict.has(verdict);
    if (count === 0 && !pressed) return null;
    const chip = make("button", {type: "button", class: `chip ${styleOf(verdict)}`, "aria-pressed": pressed, "data-verdict": verdict,
      "aria-description": WORDS[verdict], onclick: () => {
        this.toggleVerdict(verdict);
        this.chips.querySelector(`[data-verdict="${verdict}"]`)?.focus();
        hideTip();
      }}, make("i"), make("b", {}, count.toLocaleString("en")), verdict);
    return explain(chip, () => WORDS[verdict]);
  }

  fill() {
    const from = this.list.querySelectorAll(".case").length;
    this.list.querySelector(".more")?.remove();
    this.found.slice(from, this.limit).forEach((one, at) => {
      const heading = this.groupOf(one);
      const before = this.found[from + at - 1];
      if (heading && (!before || this.groupOf(before) !== heading)) this.list.append(this.heading(heading));
      this.list.append(this.item(one));
    });
    const rest = this.found.length - this.limit;
    if (rest > 0) {
      const more = make("button", {type: "button", class: "plain more"}, `${plural(rest, "more case")}`);
      more.addEventListener("click", () => {
        this.limit += PORTION;
        this.fill();
      });
      this.list.append(more);
    }
    if (this.found.length === 0) this.list.append(make("p", {class: "quiet"}, "No case fits. Take a word or a filter away."));
    const first = this.list.querySelector(".row");
    if (first && !this.list.querySelector('.row[tabindex="0"]')) first.tabIndex = 0;
  }

  heading(text) {
    const {judged, passed} = this.groups.get(text);
    return make("div", {class: "group-head", role: "listitem"}, make("h3", {}, text), make("span", {class: "quiet"},
      judged === 0 ? "not judged" : `${passed} of ${judged} passed`));
  }

  item(one) {
    const verdict = one.disposition === "unexpected_pass" ? "unexpected_pass" : one.shown;
    const why = one.shown === "pass" && verdict === "pass" ? this.report.requirements[one.requirement].text : one.reason;
    const row = make("button", {type: "button", class: "row", tabindex: -1, "aria-expanded": false, "aria-description": WORDS[verdict],
      onclick: () => this.toggle(one)},
      make("span", {class: `badge ${styleOf(verdict)}`, title: WORDS[verdict]}, spaced(verdict)),
      make("span", {class: "title"}, one.title, " ", make("span", {class: "name"}, breakable(one.name))),
      make("span", {class: "where"}, `${one.role} · ${one.place}`),
      make("span", {class: "why"}, why));
    const item = make("div", {class: "case", role: "listitem", "data-id": one.id}, row);
    return item;
  }

  element(one) {
    return [...this.list.children].find((item) => item.dataset.id === one.id);
  }

  toggle(one, open) {
    const item = this.element(one);
    const row = item.querySelector(".row");
    const is = row.getAttribute("aria-expanded") === "true";
    if (open === is) return;
    row.setAttribute("aria-expanded", !is);
    item.classList.toggle("open", !is);
    if (is) {
      item.querySelector(".details").remove();
      return;
    }
    item.append(caseDetails(this.report, one));
    history.replaceState(null, "", `#case/${encodeURIComponent(one.name)}/${encodeURIComponent(one.place)}`);
    this.focus(row);
  }

  /** Shows a case whatever the filter was. */
  reveal(name, transport) {
    const one = this.report.cases.find((each) => each.name === name && (!transport || each.place === transport));
    if (!one) return;
    const hidden = this.found.indexOf(one);
    if (hidden < 0) {
      this.wanted.verdict.clear();
      this.choose({suite: "", role: "", transport: "", text: ""});
    }
    this.limit = Math.max(this.limit, this.found.indexOf(one) + 1);
    this.fill();
    this.toggle(one, true);
    // Rows that were never shown have guessed heights; when those above have been drawn, it is the right place.
    const place = () => this.element(one)?.scrollIntoView({block: "start"});
    place();
    requestAnimationFrame(() => requestAnimationFrame(place));
  }

  // ---- the keyboard ----

  focus(row) {
    for (const other of this.list.querySelectorAll('.row[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }

  walk(event) {
    if (!event.target.classList.contains("row")) return;
    const rows = [...this.list.querySelectorAll(".row")];
    const at = rows.indexOf(event.target);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0) byId("search").focus();
    else if (rows[to]) this.focus(rows[to]);
  }

  shortcut(event) {
    const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.report.open("cases");
      byId("search").focus();
      byId("search").select();
    }
    if (event.key === "Escape") hideTip();
    if (event.target.id !== "search") return;
    if (event.key === "Escape") event.target.blur();
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      const row = this.list.querySelector(".row");
      if (row) this.focus(row);
    }
  }
}
