// One setting and what it makes of the text: the controls, the sanitized text, and the attacker's view of it.

import { Latest } from "./api.js";
import { clone, countOf, find, percent } from "./dom.js";
import { showSign } from "./findings.js";
import { isReplaced } from "./kinds.js";
import { annotateWord, fillText, letTabIn, listWords, markWord, wireWords } from "./marked_text.js";
import { SettingsForm } from "./settings_form.js";

export class Pane {
  element;
  form;
  traced = null; // the latest answer of the server, and the settings that it is about
  words = [];
  receipt = null; // it comes with the verdict
  #setup;
  #events;
  #output;
  #switch;
  #summary;
  #draws = new Latest();
  #attacks = new Latest();
  #verdict = null;

  // events: changed(redraw), when a setting or the view was changed; asked(), for another draw; drawn(), when there is a
  // new text; opened(word); failed(error).
  constructor(setup, events) {
    this.#setup = setup;
    this.#events = events;
    this.element = clone("pane-template").firstElementChild;
    this.#output = find(".output", this.element);
    this.#switch = find(".attack", this.element);
    this.#summary = find(".summary", this.element);
    this.form = new SettingsForm(find(".settings", this.element), setup.mappings, () => events.changed(true));
    find(".again", this.element).addEventListener("click", () => events.asked());
    this.#switch.addEventListener("click", () => {
      this.seesAsAttacker = !this.seesAsAttacker;
      this.#show().catch(events.failed);
      events.changed(false);
    });
    wireWords(this.#output, (place) => events.opened(this.words[place]));
  }

  get verdict() {
    return this.#verdict;
  }

  // Only its color is shown here.
  set verdict(verdict) {
    this.#verdict = verdict;
    const grade = find(".grade", this.element);
    grade.className = verdict ? `grade ${verdict.color}` : "grade";
    grade.replaceChildren(...(verdict ? [showSign(verdict.color), verdict.color] : []));
  }

  get title() {
    return find("h2", this.element).textContent;
  }

  set title(title) {
    find("h2", this.element).textContent = title;
    this.element.setAttribute("aria-label", title);
    this.#output.setAttribute("role", "group");
    this.#output.setAttribute("aria-label", `${title}: arrow keys move between words, Enter opens one`);
  }

  get seesAsAttacker() {
    return this.#switch.getAttribute("aria-checked") === "true";
  }

  set seesAsAttacker(value) {
    this.#switch.setAttribute("aria-checked", String(value));
  }

  get settings() {
    return this.form.value;
  }

  async draw(text) {
    try {
      const { settings } = this;
      const found = await this.#draws.post("/api/sanitize", { text, settings });
      if (!found) return;
      this.traced = { ...found, settings };
      this.words = listWords(found);
      await this.#show();
      this.#events.drawn();
    } catch (error) {
      this.#output.replaceChildren(); // rather than an earlier text
      this.#summary.textContent = "";
      this.#events.failed(error);
    }
  }

  // Ends a draw that the server has not answered yet.
  abort() {
    this.#draws.abort();
  }

  async #show() {
    this.#attacks.abort();
    if (!this.traced) return;
    const focused =
      document.activeElement?.closest(".output") === this.#output ? document.activeElement.dataset.place : undefined;
    if (this.seesAsAttacker) {
      await this.#showGuesses(focused);
    } else {
      fillText(this.#output, this.traced.after, this.words, markWord);
      letTabIn(this.#output, focused);
      this.#summary.textContent = this.#tellCounts();
    }
  }

  #tellCounts() {
    const replaced = this.words.filter((word) => isReplaced(word.kind)).length;
    if (!this.words.length) return "No words yet.";
    const own = this.traced.unchanged.length;
    const how = this.traced.settings.eps === 0 ? "by" : "drew";
    const unchanged = own ? ` (${own} ${how} ${own === 1 ? "itself" : "themselves"})` : "";
    const others = this.words.length - replaced;
    const rest = others ? `; ${others.toLocaleString("en")} kept or masked` : "";
    return `${replaced.toLocaleString("en")} of ${countOf(this.words.length, "word")} replaced${unchanged}${rest}.`;
  }

  async #showGuesses(focused) {
    const { traced, words } = this;
    const outputs = words.map((word) => (isReplaced(word.kind) ? word.after : ""));
    const { before, settings } = traced;
    const found = await this.#attacks.post("/api/attack", { text: before, outputs, settings });
    if (!found || !this.seesAsAttacker || traced !== this.traced) return;
    const guesses = new Map(
      found.places.map((place, index) => [place, { word: found.guesses[index], right: found.right[index] }]),
    );
    fillText(this.#output, traced.after, words, (word) => annotateWord(word, guesses.get(word.place)));
    letTabIn(this.#output, focused);
    this.#summary.textContent = this.#tellGuesses(found);
  }

  #tellGuesses(found) {
    if (found.share === null) return "No word was replaced.";
    const right = found.right.filter(Boolean).length.toLocaleString("en");
    const said = `${right} of ${countOf(found.right.length, "replaced word")} guessed (${percent(found.share)})`;
    return found.with_context
      ? `${said}, from the whole text. The attacker learned from ${found.public}.`
      : `${said}: a single guess for each word, from its replacement alone. An attacker who knows similar texts reads more; to see that, start with --public FILE.`;
  }
}
