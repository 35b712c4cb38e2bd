// A file: choose a column, see ten rows before and after and what leaks, and download the sanitized file.

import { Latest, download, post, remove, upload } from "./api.js";
import { countOf, find, make, percent, settle } from "./dom.js";
import { showReceipt } from "./findings.js";
import { KINDS, classOf, nameKind, showLegend } from "./kinds.js";
import { SettingsForm } from "./settings_form.js";
import { Snippets } from "./snippets.js";

export class FileMode {
  #form;
  #setup;
  #events;
  #file = null;
  #turn = 0; // counts the files that were chosen
  #requests = new Latest();
  #drop;
  #work;
  #preview = make("div", { class: "preview", "aria-live": "polite" });
  #result = make("div", { class: "result", role: "status" });
  #column = make("select", { id: "column" });
  #dataset = make("input", { id: "dataset", autocomplete: "off", spellcheck: "false" });
  #second = make("input", { type: "checkbox", id: "second-mapping" });
  #release = make("button", { type: "button", class: "main-action" }, "Sanitize and download");
  #snippets;

  // events: changed(settings), when they were changed; failed(error); succeeded(), to take back an earlier message.
  constructor(body, setup, events) {
    this.#setup = setup;
    this.#events = events;
    this.#drop = this.#makeDrop();
    const settings = make("form", { class: "settings" });
    const snippets = make("div", {});
    this.#work = make(
      "div",
      { hidden: true, class: "file-work" },
      make(
        "section",
        { class: "card", "aria-label": "Settings of the file" },
        make("h2", {}, "Settings"),
        this.#makeColumn(),
        settings,
      ),
      make(
        "section",
        { class: "card", "aria-label": "Ten rows before and after" },
        make("h2", {}, "Before and after"),
        this.#preview,
      ),
      make(
        "section",
        { class: "card", "aria-label": "Release" },
        make("h2", {}, "Release"),
        this.#makeRelease(),
        this.#result,
      ),
      make("section", { class: "card", "aria-label": "Code" }, make("h2", {}, "The same settings elsewhere"), snippets),
    );
    body.append(this.#drop, this.#work);
    const updateSoon = settle(() => this.#update(), 200);
    this.#form = new SettingsForm(settings, setup.mappings, () => {
      this.#events.changed(this.#form.value);
      updateSoon();
    });
    this.#snippets = new Snippets(snippets, "file-");
    this.#column.addEventListener("change", () => this.#update());
    this.#release.addEventListener("click", () => this.#sanitize());
  }

  set settings(settings) {
    this.#form.value = settings;
    this.#update();
  }

  #makeDrop() {
    const most = Math.round(this.#setup.limits.bytes / 2 ** 20);
    const input = make("input", {
      type: "file",
      id: "file-input",
      accept: ".csv,.tsv,.parquet,.json,.jsonl,.ndjson,.txt,.gz",
    });
    input.addEventListener("change", () => input.files[0] && this.#open(input.files[0]));
    const drop = make(
      "section",
      { class: "card drop", "aria-label": "Choose a file" },
      make("label", { for: "file-input" }, "Drop a CSV, TSV, Parquet, JSON or text file here, or choose one"),
      input,
      make(
        "p",
        { class: "note" },
        `At most ${most} MB. The file stays on this machine, in a private folder that is deleted when the server stops.`,
      ),
    );
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      if (event.dataTransfer.files[0]) this.#open(event.dataTransfer.files[0]);
    });
    return drop;
  }

  #makeColumn() {
    return make("p", { class: "field" }, make("label", { for: "column" }, "Column "), this.#column);
  }

  #makeRelease() {
    const drop = make("button", { type: "button" }, "Delete this file from the server");
    drop.addEventListener("click", () => this.#forget());
    return make(
      "div",
      {},
      make(
        "p",
        {},
        "The sanitized file is entered in the ledger, like any release. All other columns are copied unchanged.",
      ),
      make(
        "p",
        { class: "field" },
        make("label", { for: "dataset" }, "Name of the data in the ledger "),
        this.#dataset,
      ),
      make(
        "p",
        { class: "note" },
        "Releases of the same data add up under this name. For a file that was released on the command line, give its full path.",
      ),
      make(
        "p",
        { class: "field check" },
        this.#second,
        make("label", { for: "second-mapping" }, " Allow another mapping than that of earlier releases"),
      ),
      make("p", { class: "row" }, this.#release, drop),
    );
  }

  async #open(file) {
    if (file.size > this.#setup.limits.bytes) {
      const most = Math.round(this.#setup.limits.bytes / 2 ** 20);
      this.#events.failed(
        new Error(
          `This file is too large: it has ${Math.round(file.size / 2 ** 20)} MB, and ${most} MB are accepted. For larger files, use custext sanitize.`,
        ),
      );
      return;
    }
    const turn = (this.#turn += 1);
    this.#drop.setAttribute("aria-busy", "true");
    let stored;
    try {
      stored = await upload(file);
    } catch (error) {
      if (turn === this.#turn) this.#events.failed(error);
      return;
    } finally {
      if (turn === this.#turn) this.#drop.removeAttribute("aria-busy");
    }
    const old = turn === this.#turn ? this.#file : stored; // the last file that was chosen stays
    if (old) remove(`/api/files/${old.id}`).catch(() => {});
    if (turn !== this.#turn) return;
    this.#file = stored;
    this.#preview.replaceChildren();
    const guess =
      this.#file.columns.find((name) => /text|body|review|comment|message/i.test(name)) ?? this.#file.columns.at(-1);
    this.#column.replaceChildren(
      ...this.#file.columns.map((name) => make("option", { selected: name === guess }, name)),
    );
    this.#column.parentElement.hidden = !this.#file.columns.length;
    this.#dataset.value = this.#file.name;
    this.#result.replaceChildren();
    this.#work.hidden = false;
    await this.#update();
  }

  get #chosen() {
    return this.#file.columns.length ? this.#column.value : null;
  }

  async #update() {
    const file = this.#file;
    if (!file) return;
    const settings = this.#form.value;
    const column = this.#chosen;
    this.#preview.setAttribute("aria-busy", "true");
    try {
      const found = await this.#requests.post(`/api/files/${file.id}/preview`, { column, settings });
      if (!found || file !== this.#file) return;
      this.#preview.replaceChildren(
        ...this.#showLeaks(found.leaks, settings.eps),
        this.#showMarks(found.rows),
        this.#showRows(found.rows),
      );
      this.#events.succeeded();
      this.#preview.removeAttribute("aria-busy");
      await this.#snippets.update(settings, { file: file.name, column });
    } catch (error) {
      if (file !== this.#file) return;
      this.#preview.replaceChildren();
      this.#preview.removeAttribute("aria-busy");
      this.#events.failed(error);
    }
  }

  #nameMark([before, after, kind]) {
    return nameKind(kind, before.toLowerCase() === after.toLowerCase());
  }

  #showMarks(rows) {
    const list = make("ul", { class: "legend", "aria-label": "Marks" });
    const words = rows.flatMap((row) => row.pieces.filter((piece) => piece[2] !== null));
    showLegend(list, new Set(words.map((piece) => this.#nameMark(piece))), false);
    return list;
  }

  #showRows(rows) {
    const show = (row, side) =>
      make(
        "p",
        { dir: "auto" },
        ...row.pieces.map((piece) => {
          const text = piece[side];
          if (piece[2] === null) return text;
          const name = this.#nameMark(piece);
          return make("span", { class: `word still ${classOf(name)}`, title: KINDS[name].label }, text);
        }),
      );
    const body = rows.map((row) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, String(row.place)),
        make("td", { "data-label": "Before" }, show(row, 0)),
        make("td", { "data-label": "After" }, show(row, 1)),
      ),
    );
    const head = ["Row", "Before", "After"].map((title) => make("th", { scope: "col" }, title));
    return makeScroll(
      "Rows before and after",
      make("table", { class: "rows" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)),
    );
  }

  #showLeaks(leaks, eps) {
    const clear = leaks.words ? leaks.in_clear / leaks.words : 0;
    const summary = `${countOf(leaks.rows, "row")}, ${countOf(leaks.words, "word")}: ${leaks.replaced.toLocaleString("en")} replaced, ${percent(clear)} in the clear.`;
    const rows = leaks.kinds.map((kind) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, kind.kind),
        make("td", { class: "number-cell" }, kind.count.toLocaleString("en")),
        make("td", { class: kind.in_clear ? "warning" : null }, kind.becomes),
        make("td", {}, kind.words.join(", "), kind.distinct > kind.words.length ? ", …" : ""),
      ),
    );
    const head = ["Outside the vocabulary", "Count", "Becomes", "Words"].map((title) =>
      make("th", { scope: "col" }, title),
    );
    const table = make(
      "table",
      { class: "leaks" },
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows),
    );
    const advice = leaks.advice.map((sentence) => make("p", { class: "note" }, sentence));
    const unchanged = eps === 0 ? leaks.unchanged_at_eps_0 : leaks.unchanged_at_any_eps;
    const warning = make("p", { class: "warning" }, `${countOf(unchanged, "text")} would come out unchanged.`);
    const lines = [make("p", {}, summary), ...(unchanged ? [warning] : [])];
    return [...lines, ...(rows.length ? [makeScroll("What leaks", table)] : []), ...advice];
  }

  async #sanitize() {
    if (this.#release.getAttribute("aria-disabled") === "true") return;
    const path = `/api/files/${this.#file.id}`;
    this.#release.setAttribute("aria-disabled", "true"); // a button that is disabled would lose the focus
    this.#result.replaceChildren(make("p", { class: "note" }, "Sanitizing …"));
    try {
      const columns = this.#chosen === null ? [] : [this.#chosen];
      const request = {
        columns,
        dataset: this.#dataset.value,
        settings: this.#form.value,
        second_mapping: this.#second.checked,
      };
      const done = await post(`${path}/release`, request);
      save(await download(`${path}/output`), done.output);
      const copied = done.copied.length
        ? [make("p", { class: "warning" }, `Copied unchanged: ${done.copied.join(", ")}.`)]
        : [];
      const what = make(
        "p",
        {},
        make("strong", {}, done.output),
        ` (${countOf(done.rows, "row")}) was downloaded, and the release is in the ledger.`,
      );
      this.#result.replaceChildren(what, ...copied, ...showReceipt(done));
      this.#events.succeeded();
    } catch (error) {
      this.#result.replaceChildren();
      this.#events.failed(error);
    } finally {
      this.#release.removeAttribute("aria-disabled");
    }
  }

  async #forget() {
    if (this.#release.getAttribute("aria-disabled") === "true") return; // it is being released
    try {
      await remove(`/api/files/${this.#file.id}`);
      this.#file = null;
      this.#work.hidden = true;
      find("#file-input").value = "";
      find("#file-input").focus();
    } catch (error) {
      this.#events.failed(error);
    }
  }
}

// A wide table scrolls by itself, also with the keyboard.
function makeScroll(label, table) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
