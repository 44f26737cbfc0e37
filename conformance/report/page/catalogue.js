"use strict";
// Search in the index of the catalogue. `entries` is a script of its own, so that pages open from a disk.
(() => {
  const most = 100;
  const words = document.getElementById("words");
  const found = document.getElementById("found");
  const count = document.getElementById("count");
  const texts = entries.map(([id, , citation, text, answers]) => `${id} ${citation} ${text}${answers}`.toLowerCase());

  function row([id, page, citation, text]) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${page}#${encodeURIComponent(id)}`;
    link.textContent = id;
    const place = document.createElement("div");
    place.className = "facts";
    place.textContent = citation;
    const rule = document.createElement("div");
    rule.textContent = text;
    item.append(link, place, rule);
    return item;
  }

  function search() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const hits = wanted.length === 0 ? [] : entries.filter((_, i) => wanted.every((word) => texts[i].includes(word)));
    found.replaceChildren(...hits.slice(0, most).map(row));
    if (wanted.length === 0) count.textContent = "";
    else count.textContent = hits.length > most ? `${hits.length} requirements, the first ${most} shown` : `${hits.length} requirements`;
    history.replaceState(null, "", wanted.length === 0 ? location.pathname : `#${encodeURIComponent(words.value)}`);
  }

  words.addEventListener("input", search);
  words.value = decodeURIComponent(location.hash.slice(1));
  search();
})();
