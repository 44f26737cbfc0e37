// One world of a campaign: what happened, told and drawn.
"use strict";

// Of a world the words say something else than of a case.
Object.assign(WORDS, {
  pass: "Everything held that the products promise under such faults.",
  fail: "A promise was broken: the signature says which.",
  inconclusive: "The faults went beyond what the specifications promise to survive.",
});

function showWorld(world) {
  const failed = world.verdict === "fail";
  byId("outcome").textContent = world.verdict;
  byId("outcome").className = `outcome ${failed ? "red" : "green"}`;
  document.title = `fabricbench: ${world.name}, ${world.verdict}`;
  const one = {ladder: world.ladder};
  byId("world").replaceChildren(
    make("div", {class: "said"}, badge(world.verdict), make("code", {}, world.name)),
    failed ? make("div", {class: "rule"}, make("p", {class: "text"}, world.signature), make("p", {class: "id"}, world.reason)) : "",
    make("h3", {}, "The story"),
    make("ol", {class: "story"}, world.story.map((sentence) => make("li", {}, sentence))),
    make("div", {class: "command"}, make("code", {}, world.command), copyButton(world.command, "the command that reproduces it")),
    ladderBlock(world, one),
    make("p", {class: "quiet"}, `lasted ${duration(world.virtual_ns)} · digest `, make("code", {}, world.digest),
      world.as_recorded ? ", as recorded · " : ", not as recorded · ", make("a", {href: world.capture}, world.capture)));
}

startTheme();
showWorld(JSON.parse(byId("data").textContent));
