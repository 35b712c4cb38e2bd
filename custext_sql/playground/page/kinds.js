// What becomes of a word: the kinds of words, as the server lists them, and those that drew themselves.

import { make } from "./dom.js";

export const KINDS = {}; // by name: label, what to say about it, and its mark in style.css
const NAMES = []; // by number

const ITSELF = {
  label: "drew itself",
  about: "Drawn from the words of its group, and the draw gave the same word.",
  mark: "itself",
};

// Takes the kinds from the first answer of the server.
export function learnKinds(kinds) {
  for (const kind of kinds) {
    KINDS[kind.name] = kind;
    NAMES[kind.number] = kind.name;
    if (kind.name === "replaced") KINDS.itself = ITSELF;
  }
}

export function nameKind(number, isUnchanged) {
  const name = NAMES[number];
  return name === "replaced" && isUnchanged ? "itself" : name;
}

export function classOf(name) {
  return `mark-${KINDS[name].mark}`;
}

// Fills a list with the marks that are on the page. guesses: whether there are guesses of an attacker.
export function showLegend(list, kinds, guesses) {
  const marks = Object.keys(KINDS).filter((name) => kinds.has(name));
  const items = marks.map((name) =>
    make("li", {}, make("span", { class: `word still ${classOf(name)}`, "aria-hidden": "true" }, "word"), KINDS[name].label),
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
