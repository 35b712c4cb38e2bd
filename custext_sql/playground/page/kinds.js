// What becomes of a word: the name of each kind in style.css, its label, and what to say about it.

import { make } from "./dom.js";

export const KINDS = {
  replaced: ["replaced", "Drawn from the words of its group."],
  itself: ["drew itself", "Drawn from the words of its group, and the draw gave the same word."],
  stopword: ["stopword, kept", "Kept, because stopwords are kept (plus)."],
  unknown: [
    "not in the vocabulary",
    "Not in the vocabulary, so it has no group. The policy decides what becomes of it.",
  ],
  number: ["number", "A number outside the vocabulary. The policy decides what becomes of it."],
  unit: ["unit, masked", "An e-mail address, a phone number, a date or the like, masked as a whole."],
  ending: ["ending, kept", "An English ending such as ’s, which is kept."],
  kept: ["kept", "Kept, because it is on a list of public words."],
  alone: ["alone in its group, masked", "No other word of its group would be replaced, so nothing would hide it."],
};

const NAMES = { sampled: "replaced" };

export function nameKind(kind, isUnchanged) {
  if (kind === "sampled" && isUnchanged) return "itself";
  return NAMES[kind] ?? kind;
}

// Fills a list with the marks that are on the page. guesses: whether there are guesses of an attacker.
export function showLegend(list, kinds, guesses) {
  const marks = Object.keys(KINDS).filter((name) => kinds.has(name));
  const items = marks.map((name) =>
    make("li", {}, make("span", { class: `word still ${name}`, "aria-hidden": "true" }, "word"), KINDS[name][0]),
  );
  if (guesses) {
    items.push(make("li", {}, make("span", { class: "clear" }, "word"), " in the clear"));
    items.push(make("li", { class: "right" }, make("span", { class: "guessed" }, "✓"), "guessed, right"));
    items.push(make("li", { class: "wrong" }, make("span", { class: "guessed" }, "✗"), "guessed, wrong"));
  }
  list.replaceChildren(...items);
}

export function isReplaced(kind) {
  return kind === "replaced" || kind === "itself";
}
