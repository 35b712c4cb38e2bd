// A text whose words are marked by what became of them. Arrow keys move between words, and Enter opens one.

import { make } from "./dom.js";
import { KINDS, classOf, nameKind } from "./kinds.js";

const MOST_WORDS = 4000; // shown at first

// Returns the words of an answer of the server, each with its place, its text before and after, and its kind.
export function listWords(traced) {
  const unchanged = new Set(traced.unchanged);
  return traced.kinds.map((kind, place) => ({
    place,
    before: traced.before.slice(traced.starts[place], traced.ends[place]),
    after: traced.after.slice(traced.new_starts[place], traced.new_ends[place]),
    start: traced.new_starts[place],
    end: traced.new_ends[place],
    kind: nameKind(kind, unchanged.has(place)),
  }));
}

// Returns which kinds of words there are.
export function listKinds(words) {
  return new Set(words.map((word) => word.kind));
}

// Fills an element with a text. show: returns the element for a word. Browsers take seconds to lay out tens of thousands
// of words, so the last part has a button that shows more.
export function fillText(element, text, words, show, most = MOST_WORDS) {
  const parts = [];
  let position = 0;
  for (const word of words.slice(0, most)) {
    if (word.start > position) parts.push(text.slice(position, word.start));
    parts.push(show(word));
    position = word.end;
  }
  if (words.length > most) {
    const label = `… Show the other ${(words.length - most).toLocaleString("en")} words`;
    const all = make("button", { type: "button" }, label);
    all.addEventListener("click", () => {
      fillText(element, text, words, show, words.length);
      letTabIn(element);
      element.querySelectorAll(".word")[most]?.focus();
    });
    parts.push(" ", all);
  } else {
    parts.push(text.slice(position));
  }
  element.replaceChildren(...parts);
}

export function markWord(word) {
  const { label } = KINDS[word.kind];
  return make(
    "span",
    {
      class: `word ${classOf(word.kind)}`,
      role: "button",
      tabindex: "-1",
      "data-place": word.place,
      "aria-label": `${word.after}, ${label}`,
    },
    word.after,
  );
}

// What the attacker reads: the words as they are, and above each replaced one the best guess, right or wrong.
export function annotateWord(word, guess) {
  if (guess === undefined)
    return word.after === word.before ? make("span", { class: "clear" }, word.after) : word.after;
  const [sign, says] = guess.right ? ["✓", "right"] : ["✗", "wrong"];
  const guessed = [make("span", { class: "unseen" }, ", guessed "), guess.word];
  const marked = [make("span", { "aria-hidden": "true" }, ` ${sign}`), make("span", { class: "unseen" }, `, ${says}`)];
  return make(
    "span",
    { class: `word guess ${says}`, role: "button", tabindex: "-1", "data-place": word.place },
    make("ruby", {}, word.after, make("rt", {}, ...guessed, ...marked)),
  );
}

// Lets the keyboard reach the words of an element, with one stop for the Tab key.
export function wireWords(element, open) {
  const list = () => [...element.querySelectorAll(".word")];
  const focus = (word) => {
    for (const other of element.querySelectorAll('.word[tabindex="0"]')) other.tabIndex = -1;
    word.tabIndex = 0;
    word.focus();
  };
  element.addEventListener("click", (event) => {
    const word = event.target.closest(".word");
    if (word && getSelection().isCollapsed) {
      focus(word);
      open(Number(word.dataset.place));
    }
  });
  element.addEventListener("keydown", (event) => {
    const word = event.target.closest(".word");
    if (!word) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(Number(word.dataset.place));
      return;
    }
    const words = list();
    const place = words.indexOf(word);
    const next = {
      ArrowRight: place + 1,
      ArrowDown: place + 1,
      ArrowLeft: place - 1,
      ArrowUp: place - 1,
      Home: 0,
      End: words.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (words[next]) focus(words[next]);
  });
}

// One word of an element that was just filled can be reached by the Tab key. focused: the place of the word that had the
// focus before, if any.
export function letTabIn(element, focused) {
  const again = focused === undefined ? null : element.querySelector(`.word[data-place="${focused}"]`);
  const first = again ?? element.querySelector(".word");
  if (first) first.tabIndex = 0;
  again?.focus({ preventScroll: true });
}
