// What all parts share. Text from the run reaches the page through textContent and setAttribute alone,
// never as markup.
"use strict";

const byId = (id) => document.getElementById(id);

/** make("p", {class: "quiet"}, "text", child): an element. Attributes that are false or absent are left out. */
function make(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
function draw(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-")) element.setAttribute(name, String(value));  // there "false" says something
    else if (value === false) continue;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** 1234567 ns -> "1.235 ms". */
function duration(ns) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units) {
    if (ns >= size) return `${Number((ns / size).toPrecision(ns >= 1000 * size ? 6 : 4))} ${unit}`;
  }
  return `${ns} ns`;
}

/** A name that may be broken behind its underscores, where a line is short. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);
}

/** Bytes of a text with five characters for four bytes, the most significant first; n bytes at the end have n + 1. */
function fromBase85(text) {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%()*+,-./:;=?@[]^_{|";
  const valueOf = new Uint8Array(128);
  [...digits].forEach((digit, value) => { valueOf[digit.charCodeAt(0)] = value; });
  const bytes = new Uint8Array(Math.floor(text.length * 4 / 5));
  for (let from = 0, to = 0; from < text.length; from += 5) {
    let value = 0;
    for (let i = 0; i < 5; ++i) value = value * 85 + (from + i < text.length ? valueOf[text.charCodeAt(from + i)] : 84);
    for (let i = 3; i >= 0; --i, value = Math.floor(value / 256)) {
      if (to + i < bytes.length) bytes[to + i] = value % 256;
    }
    to += 4;
  }
  return bytes;
}

/** What the program packed under this name: compressed, so that the page stays small and is there at once. */
async function unpack(name) {
  const bytes = fromBase85(byId(`packed-${name}`).textContent);
  const text = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  return JSON.parse(await text);
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

// ---- light and dark: what the system wants, until somebody presses the button ----

function startTheme() {
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("fabricbench-theme");
  } catch {
    // Pages from disk may have no storage: then the choice lasts as long as the page.
  }
  const show = () => {
    document.documentElement.dataset.theme = chosen ?? (wanted.matches ? "dark" : "light");
  };
  show();
  wanted.addEventListener("change", show);
  byId("theme").addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("fabricbench-theme", chosen);
    } catch {
      // as above
    }
    show();
  });
}

// ---- one tooltip, for pointer and keyboard alike ----

function showTip(element, text) {
  const tip = byId("tip");
  if (!text) return;
  tip.textContent = text;
  tip.hidden = false;
  const at = element.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - size.width - 8));
  const below = at.bottom + 6 + size.height < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? at.bottom + 6 : Math.max(4, at.top - size.height - 6)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

/** Shows text() while the element is pointed at or has the focus. */
function explain(element, text) {
  const show = () => showTip(element, text());
  element.addEventListener("pointerenter", show);
  element.addEventListener("focus", show);
  element.addEventListener("pointerleave", hideTip);
  element.addEventListener("blur", hideTip);
  return element;
}

// ---- copying, also where a page from disk has no clipboard ----

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", {"aria-hidden": "true", style: "position:fixed;opacity:0"});
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

function copyButton(text, what) {
  const button = make("button", {type: "button", class: "copy", "aria-label": `Copy ${what}`}, "Copy");
  button.addEventListener("click", async () => {
    const done = await copyText(text);
    button.textContent = done ? "Copied" : "Select and copy";
    setTimeout(() => (button.textContent = "Copy"), 1500);
    button.focus();
  });
  return button;
}

// ---- tabs ----

function startTabs(shown) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const choose = (tab) => {
    for (const one of tabs) {
      const is = one === tab;
      one.setAttribute("aria-selected", is);
      one.tabIndex = is ? 0 : -1;
      byId(one.getAttribute("aria-controls")).hidden = !is;
    }
    shown(tab.getAttribute("aria-controls"));
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: tabs.length - 1}[event.key];
      if (!step) return;
      const next = tabs[(index + step) % tabs.length];
      choose(next);
      next.focus();
    });
  });
  return (name) => choose(byId(`tab-${name}`));
}
