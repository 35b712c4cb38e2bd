// The group of a word: bars of probability, scores, and what an attacker makes of it.

import { Latest } from "./api.js";
import { countOf, make, percent } from "./dom.js";
import { KINDS, classOf, isReplaced } from "./kinds.js";

const SHOWN_AT_FIRST = 10;
const HINT = "Choose a word of the sanitized text to see what it could have become, and how likely.";

export class WordCard {
  pane = null; // what it shows: a word of this pane, and of this answer
  traced = null;
  #body;
  #place = 0;
  #requests = new Latest();

  constructor(body) {
    this.#body = body;
    this.clear();
  }

  clear() {
    this.#requests.abort();
    this.pane = this.traced = null;
    this.#body.replaceChildren(make("p", { class: "note" }, HINT));
  }

  // After another draw of the same text, the card goes on to show the same word.
  async follow(pane) {
    const word = pane.traced.before === this.traced.before ? pane.words[this.#place] : undefined;
    if (word) await this.show(pane, word);
    else this.clear();
  }

  async show(pane, word) {
    const { traced } = pane;
    const { settings } = traced;
    Object.assign(this, { pane, traced });
    this.#place = word.place;
    if (!isReplaced(word.kind)) {
      this.#requests.abort();
      this.#body.replaceChildren(showWords(word), make("p", {}, KINDS[word.kind].about));
      return;
    }
    const found = await this.#requests.post("/api/inspect", { word: word.before, output: word.after, settings });
    if (found) this.#body.replaceChildren(showWords(word), ...tell(word, found, settings), showGroup(word, found));
  }
}

function showWords(word) {
  if (!isReplaced(word.kind) && word.before === word.after) {
    const clear = make("span", { class: "warning" }, " stays in the clear");
    return make("p", { class: "change" }, make("strong", { class: classOf(word.kind) }, word.before), clear);
  }
  const after = make("strong", { class: classOf(word.kind) }, word.after);
  return make("p", { class: "change" }, make("strong", {}, word.before), " became ", after);
}

function tell(word, found, settings) {
  const { guess } = found;
  const isRight = guess.word === found.word;
  const facts = [
    `It is in a group of ${countOf(found.group.length, "word")}, which everyone can see${tellReplaced(found)}.`,
    `From “${word.after}” alone, an attacker guesses “${guess.word}”, which is ${isRight ? "right" : "wrong"}, and is ${percent(guess.certainty)} certain.`,
  ];
  if (settings.eps === 0) {
    facts.push("Repeating the word reveals nothing more, because it always becomes the same word.");
  } else {
    facts.push(tellChance(found));
    facts.push(tellDraws(found.draws.likeliest));
  }
  return [make("ul", { class: "facts" }, ...facts.map((fact) => make("li", {}, fact)))];
}

// A chance of zero is no promise: it speaks of guesses from this word alone.
function tellChance({ word, chances }) {
  if (chances.right > 0) return `Over all possible draws, the best guess is right with a probability of ${percent(chances.right)}.`;
  return `Over all possible draws, the best guess is never “${word}”, because a word of its group is far more frequent. The words around it may still give it away.`;
}

// With plus, kept stopwords hide nothing.
function tellReplaced({ group, replaced }) {
  if (replaced === group.length) return "";
  return `; only ${countOf(replaced, "of them is", "of them are")} replaced, and the others stay as they are`;
}

// The query attack.
function tellDraws(draws) {
  if (draws === null) return "No number of repeated draws identifies it.";
  return `From about ${countOf(draws, "draw")} of this word, an attacker knows it with a probability of 95% (the query attack).`;
}

function showGroup(word, { word: own, group }) {
  const most = group[0].probability;
  const drawn = word.after.toLowerCase();
  const rows = group.map((one, place) => {
    const marks = [one.output === drawn ? "drawn" : null, one.output === own ? "the word itself" : null].filter(
      Boolean,
    );
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}));
    bar.firstChild.style.inlineSize = `${(100 * one.probability) / most}%`;
    return make(
      "tr",
      { class: one.output === drawn ? "drawn" : null, hidden: place >= SHOWN_AT_FIRST && !marks.length },
      make("th", { scope: "row" }, one.output, marks.length ? make("small", {}, ` ${marks.join(", ")}`) : null),
      make("td", { class: "chart" }, bar),
      make("td", {}, percent(one.probability)),
      make("td", {}, one.score.toFixed(3)),
    );
  });
  const hidden = rows.filter((row) => row.hidden);
  const label = (all) => (all ? `Show ${SHOWN_AT_FIRST} words` : `Show all ${group.length} words`);
  const more = make("button", { type: "button", class: "more-words", "aria-expanded": "false" }, label(false));
  more.addEventListener("click", () => {
    const all = more.getAttribute("aria-expanded") === "false";
    for (const row of hidden) row.hidden = !all;
    more.setAttribute("aria-expanded", String(all));
    more.textContent = label(all);
  });
  const head = ["Word", "", "Probability", "Score"].map((title) => make("th", { scope: "col" }, title));
  head[1] = make("td", {});
  return make(
    "div",
    { class: "group" },
    make(
      "table",
      {},
      make("caption", { class: "unseen" }, "The words of the group"),
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows),
    ),
    hidden.length ? more : null,
  );
}
