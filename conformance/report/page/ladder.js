// The exchange of a case as a picture: a column for each party, an arrow for each thing that was said, in
// virtual time from top to bottom, faults where they struck.
"use strict";

const ROW = 30;          // height of an event
const LAYER_COLOURS = ["rdma", "cm", "nvme", "tcp", "mctp", "mi"];
const LOST = /drop|lost|lose|leave out|discard|withh|swallow/i;  // in the words of a fault: it never arrives
const WORD_LAYERS = ["state", "note", "fault", "verdict"];
const MEANINGS = {
  rdma: "packets between queue pairs", cm: "messages of the connection manager", nvme: "NVMe commands and completions",
  tcp: "NVMe/TCP PDUs, and TCP where a connection begins or ends", mctp: "MCTP packets and control messages",
  mi: "NVMe-MI messages", state: "changes of state inside the emulated products and the bench", note: "steps of the case",
  fault: "what was done to the exchange on purpose", verdict: "what the case came to",
};

/** Gives each ladder its rows and each event its fields back: a packed exchange has them by columns, which compresses better. */
function spreadColumns(exchange) {
  const summed = (steps) => {
    let sum = 0;
    return steps.map((step) => sum += step);
  };
  const columns = exchange.columns.map(({values, steps}) => steps ? summed(values) : values);
  let next = 0;
  for (const ladder of exchange.ladders) {
    if (!ladder) continue;
    const first = next;
    next += ladder.rows;
    ladder.rows = Array.from({length: next - first}, (_, row) => columns.map((column) => column[first + row]));
  }
  delete exchange.columns;
  const taken = exchange.shapes.map(() => 0);
  const {shapes} = exchange.fields;
  const values = exchange.fields.values.map((shape) => shape.map((ofName) => ofName.steps ? summed(ofName.steps).map(String) : ofName));
  exchange.fields = shapes.map((shape) => {
    if (shape < 0) return [];
    const at = taken[shape]++;
    return [shape, ...values[shape].map((ofName) => ofName[at])];
  });
  return exchange;
}

/** The packed rows as objects; `gap` counts what was left out in front of a row. */
function unpackLadder(report, ladder) {
  const text = report.text;
  const events = [];
  let time = 0;
  for (const [wait, layer, from, to, label, packet, fields, struck, gap] of ladder.rows) {
    time += wait;
    const known = unpackFields(report, fields);
    // \u0001 and a digit: the value of that field.
    const full = text[label].replace(/\u0001(\d)/g, (_, digit) => known[digit][1]);
    events.push({time, layer: text[layer], from, to, label: full, packet: packet ?? 0, fields: known,
      struck: struck > 0 ? text[struck] : "", gap: gap ?? 0});
  }
  return events;
}

function unpackFields(report, index) {
  if (!(index > 0)) return [];
  const [shape, ...values] = report.fields[index];
  const names = report.shapes[shape];
  return values.map((value, at) => [report.text[names[at]], typeof value === "string" ? value : report.text[value]]);
}

class Ladder {
  constructor(report, one) {
    this.lanes = one.ladder.lanes.map((lane) => report.text[lane]);
    this.events = unpackLadder(report, one.ladder);
    this.rest = one.ladder.rest ?? 0;
    const present = new Set(this.events.map((event) => event.layer));
    this.layers = [...LAYER_COLOURS, ...WORD_LAYERS].filter((layer) => present.has(layer));
    this.hidden = new Set(present.has("state") && this.events.length > 12 ? ["state"] : []);
    this.picture = make("div", {class: "picture"});
    this.pin = make("aside", {class: "pin", "aria-live": "polite", "aria-label": "Fields", hidden: true});
    this.block = make("div", {class: "ladder"}, this.picture, this.pin);
    this.picture.addEventListener("keydown", (event) => this.walk(event));
    this.block.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.unpin();
    });
    new ResizeObserver(() => this.resize()).observe(this.picture);
  }

  legend() {
    if (this.layers.length < 2) return null;
    return make("div", {class: "legend", role: "group", "aria-label": "Layers shown"}, this.layers.map((layer) => {
      const chip = make("button", {type: "button", class: "chip", "aria-pressed": !this.hidden.has(layer),
        "aria-description": MEANINGS[layer], style: `--colour: ${this.colour(layer)}`}, make("i"), layer);
      chip.addEventListener("click", () => {
        if (!this.hidden.delete(layer)) this.hidden.add(layer);
        chip.setAttribute("aria-pressed", !this.hidden.has(layer));
        this.render();
      });
      return explain(chip, () => MEANINGS[layer]);
    }));
  }

  colour(layer) {
    if (layer === "fault") return "var(--fail)";
    const at = LAYER_COLOURS.indexOf(layer);
    return at < 0 ? "var(--layer-4)" : `var(--layer-${at % 5})`;
  }

  resize() {
    const width = Math.floor(this.picture.clientWidth);
    if (width > 0 && width !== this.width) {
      this.width = width;
      this.render();
    }
  }

  // ---- drawing ----

  x(lane) {
    const left = this.timeWidth + this.margin;
    const right = this.width - this.margin;
    return this.lanes.length < 2 ? (left + right) / 2 : left + (lane * (right - left)) / (this.lanes.length - 1);
  }

  render() {
    if (!this.width) return;
    this.timeWidth = this.width < 480 ? 62 : 84;
    this.margin = Math.min(this.width < 480 ? 34 : 70, (this.width - this.timeWidth) / (2 * Math.max(2, this.lanes.length)));
    const svg = draw("svg", {role: "group", "aria-label": "Ladder diagram", width: this.width});
    const rows = [];
    let y = 8;
    let gap = 0;
    this.shown = [];
    this.events.forEach((event, index) => {
      gap += event.gap;
      if (this.hidden.has(event.layer)) return;
      if (gap > 0) {
        rows.push(this.elision(y, gap));
        y += ROW;
        gap = 0;
      }
      const row = this.row(event, index, y);
      this.shown.push(row);
      rows.push(row);
      y += ROW;
    });
    gap += this.rest;
    if (gap > 0) {
      rows.push(this.elision(y, gap));
      y += ROW;
    }
    const lanes = this.lanes.map((_, lane) => draw("line", {class: "lane-line", x1: this.x(lane), x2: this.x(lane), y1: 0, y2: y}));
    svg.setAttribute("height", y + 6);
    svg.append(...lanes, ...rows);
    const pinned = this.picture.contains(document.activeElement) ? document.activeElement.dataset.index : undefined;
    this.picture.replaceChildren(this.head(), svg);
    const again = this.shown.find((row) => row.dataset.index === (pinned ?? this.pinned)) ?? this.shown[0];
    if (again) again.setAttribute("tabindex", 0);
    if (pinned !== undefined) again?.focus();
  }

  head() {
    const room = this.lanes.length < 2 ? this.width : (this.x(1) - this.x(0));
    // "bench 10.0.0.1" in two lines, so that columns may stand close to each other.
    const lines = (name) => (/^(EID|\S+$)/.test(name) ? [name] : [name.slice(0, name.indexOf(" ")), name.slice(name.indexOf(" ") + 1)]);
    const height = Math.max(1, ...this.lanes.map((name) => lines(name).length)) * 15 + 10;
    const names = this.lanes.map((name, lane) => lines(name).map((line, at) =>
      draw("text", {class: at === 0 ? "lane-name" : "lane-name address", x: this.x(lane), y: 17 + 15 * at}, draw("title", {}, name),
        this.fitted(line, Math.min(room, 2 * (this.width - this.x(lane))) - 6))));
    return draw("svg", {class: "lanes", width: this.width, height, "aria-hidden": true}, names.flat());
  }

  /** As much of the text as fits into so many pixels. */
  fitted(text, pixels) {
    const most = Math.max(4, Math.floor(pixels / 6.3));
    return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  }

  elision(y, count) {
    const middle = (this.timeWidth + this.width) / 2;
    return draw("g", {class: "elided"}, draw("line", {x1: this.timeWidth, x2: this.width - 8, y1: y + 15, y2: y + 15}),
      draw("text", {x: middle, y: y + 11},
        this.fitted(`${plural(count, "event")} left out${this.width < 480 ? "" : "; the capture has all of them"}`,
          this.width - this.timeWidth)));
  }

  row(event, index, y) {
    const struck = event.struck || event.layer === "fault";
    const failed = event.layer === "verdict" || event.layer === "fault" || /^(failed|FAIL)/.test(event.label);
    const bad = failed && !/verdict: (pass|skip)/.test(event.label);
    const spoken = event.to >= 0 ? `${this.lanes[event.from]} to ${this.lanes[event.to]}: ` : "";
    const group = draw("g", {class: `event ${event.layer}${struck ? " struck" : ""}${bad ? " failed" : ""}`, tabindex: -1, role: "button",
      "data-index": index, "aria-pressed": this.pinned === String(index), style: `--colour: ${this.colour(event.layer)}`,
      "aria-label": `${duration(event.time)} ${spoken}${event.label}${event.struck ? `; ${event.struck}` : ""}`},
      draw("rect", {class: "hit", x: 1, y, width: this.width - 2, height: ROW, rx: 4}),
      draw("text", {class: "time", x: this.timeWidth - 8, y: y + 19}, duration(event.time)),
      event.to >= 0 ? this.arrow(event, y) : this.words(event, y));
    group.addEventListener("click", () => this.pinTo(group, event));
    group.addEventListener("keydown", (key) => {
      if (key.key !== "Enter" && key.key !== " ") return;
      key.preventDefault();
      this.pinTo(group, event);
    });
    // Beside the pinned fields there is no room for a second picture of them.
    return explain(group, () => (this.pinned === undefined ? this.summary(event) : ""));
  }

  words(event, y) {
    const room = this.width - this.timeWidth - 16;
    const cross = event.layer === "fault" ? this.cross(this.timeWidth + 4, y + 15) : null;
    const x = this.timeWidth + (cross ? 16 : 0);
    return [draw("line", {class: "rule-line", x1: this.timeWidth, x2: this.width - 8, y1: y + 26, y2: y + 26}), cross,
      draw("text", {class: "note", x, y: y + 19}, this.fitted(event.label, room))].filter(Boolean);
  }

  arrow(event, y) {
    const from = this.x(event.from);
    const to = this.x(event.to);
    const line = y + 22;
    const fault = event.struck ? this.fitted(event.struck, this.width - this.timeWidth) : "";
    if (event.from === event.to) {
      return [draw("circle", {class: "head", cx: from, cy: line - 4, r: 4}),
        draw("text", {class: "label", x: from, y: y + 12}, this.fitted(event.label, this.width - this.timeWidth - 20))];
    }
    const way = Math.sign(to - from);
    const lost = LOST.test(event.struck);
    const end = lost ? from + (to - from) * 0.62 : to;
    const middle = (from + to) / 2;
    const room = Math.max(Math.abs(to - from), this.lanes.length === 2 ? this.width - this.timeWidth - 60 : 0);
    const label = room < 150 ? event.label.replace(/^(CapsuleCmd|CapsuleResp|SEND) (?=\S)/, "") : event.label;
    const parts = [draw("path", {class: "shaft", d: `M${from} ${line}H${lost ? end : to - way * 6}`})];
    if (lost) parts.push(this.strike(event.struck, end, line));
    else parts.push(draw("path", {class: "head", d: `M${to} ${line}l${-way * 8} -4v8z`}));
    if (event.struck && !lost) parts.push(this.strike(event.struck, from + (to - from) * 0.85, line));
    parts.push(draw("text", {class: "label", x: middle, y: y + 14}, this.fitted(fault ? `${label} — ${fault}` : label, room)));
    return parts;
  }

  cross(x, y) {
    return draw("path", {class: "cross", d: `M${x - 5} ${y - 5}l10 10M${x + 5} ${y - 5}l-10 10`});
  }

  /** What a fault did: a clock for a delay, a flash for changed bytes, two bars for a copy, a cross for the rest. */
  strike(fault, x, y) {
    const shapes = [[/flip|change|corrupt|damage|truncat|cut|overwrit/i, "M2 -8L-3 1H3L-2 8"],
      [/dup|copy|copied|repeat|twice|once more/i, "M-3 -6V6M3 -6V6"],
      [/delay|hold|stall|throttle|late/i, "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0M0 -3V0H3"]];
    const [, d] = shapes.find(([words]) => words.test(fault)) ?? [];
    return d && !LOST.test(fault) ? draw("path", {class: "cross sign", d, transform: `translate(${x} ${y})`}) : this.cross(x, y);
  }

  // ---- fields ----

  summary(event) {
    const lines = [event.label];
    if (event.struck) lines.push(event.struck);
    for (const [name, value] of event.fields.slice(0, 14)) lines.push(`${name}  ${value}`);
    if (event.fields.length > 14) lines.push("…");
    return lines.join("\n");
  }

  pinTo(group, event) {
    hideTip();
    if (this.pinned === group.dataset.index) {
      this.unpin();
      return;
    }
    this.pinned = group.dataset.index;
    this.mark();
    const facts = [["time", duration(event.time)], event.to >= 0 ? ["from", this.lanes[event.from]] : null,
      event.to >= 0 ? ["to", this.lanes[event.to]] : null, ["layer", event.layer], event.packet ? ["packet", String(event.packet)] : null,
      event.struck ? ["fault", event.struck] : null, ...event.fields].filter(Boolean);
    const close = make("button", {type: "button", class: "close", "aria-label": "Close the fields", onclick: () => this.unpin()}, "×");
    this.pin.replaceChildren(make("header", {}, make("h3", {}, event.label), close),
      make("table", {}, make("tbody", {}, facts.map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", {}, value))))));
    this.pin.hidden = false;
    this.block.classList.add("pinned");
    this.reach(group);
  }

  unpin() {
    const group = this.shown.find((row) => row.dataset.index === this.pinned);
    this.pinned = undefined;
    this.pin.hidden = true;
    this.block.classList.remove("pinned");
    this.mark();
    if (group) this.reach(group);
  }

  mark() {
    for (const row of this.shown) row.setAttribute("aria-pressed", row.dataset.index === this.pinned);
  }

  reach(group) {
    for (const row of this.shown) row.setAttribute("tabindex", row === group ? 0 : -1);
    group.focus({preventScroll: true});
    hideTip();
  }

  walk(event) {
    const at = this.shown.indexOf(event.target);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.shown.length - 1}[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = this.shown[to];
    if (!next) return;
    for (const row of this.shown) row.setAttribute("tabindex", row === next ? 0 : -1);
    next.focus();
    next.scrollIntoView({block: "nearest"});
  }
}

function ladderBlock(report, one) {
  const ladder = new Ladder(report, one);
  return make("div", {}, make("h3", {}, "The exchange"), ladder.legend(), ladder.block);
}
