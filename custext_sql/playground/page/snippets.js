// The lines that reproduce the settings of the page elsewhere, each with a button that copies them.

import { Latest } from "./api.js";
import { make, wireTabs } from "./dom.js";

const NAMES = { command: "Command line", sql: "SQL", python: "Python", spacy: "spaCy" };

export class Snippets {
  #requests = new Latest();
  #found = {};
  #chosen = "command";
  #code = make("code", {});
  #status = make("span", { class: "unseen", role: "status" });
  #copy = make("button", { type: "button", class: "copy" }, "Copy");

  // prefix: of the IDs, since there are two of these on the page
  constructor(body, prefix = "") {
    const tabs = Object.entries(NAMES).map(([name, label], place) =>
      make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `${prefix}snippet-${name}`,
          "aria-controls": `${prefix}snippet`,
          "aria-selected": String(place === 0),
          tabindex: place === 0 ? "0" : "-1",
        },
        label,
      ),
    );
    const list = make("div", { role: "tablist", class: "tabs", "aria-label": "Languages" }, ...tabs);
    const panel = make(
      "div",
      { role: "tabpanel", id: `${prefix}snippet`, "aria-labelledby": `${prefix}snippet-command`, class: "snippet" },
      make("pre", { tabindex: "0" }, this.#code),
      this.#copy,
      this.#status,
    );
    body.append(list, panel);
    wireTabs(list, (tab) => {
      this.#chosen = tab.id.replace(`${prefix}snippet-`, "");
      panel.setAttribute("aria-labelledby", tab.id);
      this.#show();
    });
    this.#copy.addEventListener("click", () => this.#copyCode());
  }

  async update(settings, file = null) {
    const found = await this.#requests.post("/api/snippets", { settings, ...(file ?? {}) });
    if (found) {
      this.#found = found;
      this.#show();
    }
  }

  // The same lines stay as they are, since a person may have selected or copied them.
  #show() {
    const lines = this.#found[this.#chosen] ?? "";
    if (this.#code.textContent === lines) return;
    this.#code.textContent = lines;
    this.#copy.textContent = "Copy";
  }

  async #copyCode() {
    try {
      await navigator.clipboard.writeText(this.#code.textContent);
      this.#copy.textContent = this.#status.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(this.#code);
      this.#copy.textContent = this.#status.textContent = "Selected; press Ctrl+C";
    }
  }
}
