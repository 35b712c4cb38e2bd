// The receipt and the verdict.

import { make } from "./dom.js";

const SIGNS = { green: "✓", amber: "!", red: "✕" };
const SECTIONS = [
  ["word", "A word"],
  ["row", "The text as a whole"],
  ["dataset", "Several texts"],
  ["in_clear", "In the clear"],
  ["advice", "What would help"],
  ["limits", "What this does not say"],
];

export function showReceipt(receipt) {
  const lines = receipt.lines.map((line) => make("p", {}, line));
  const warnings = receipt.warnings.map((warning) => make("p", { class: "warning" }, `${warning}.`));
  return [...warnings, ...lines];
}

export function showSign(color) {
  return make("span", { class: "sign", "aria-hidden": "true" }, SIGNS[color]);
}

// open: whether to show every point.
export function showVerdict(verdict, { open = false } = {}) {
  const [opening, ...rest] = verdict.summary;
  const badge = make(
    "p",
    { class: `badge ${verdict.color}` },
    showSign(verdict.color),
    make("strong", {}, verdict.color),
  );
  const sections = SECTIONS.filter(([name]) => verdict[name].length).map(([name, title]) =>
    make("section", {}, make("h3", {}, title), make("ul", {}, ...verdict[name].map(showSentence))),
  );
  return [
    make(
      "div",
      { class: `opening ${verdict.color}` },
      badge,
      make("p", {}, opening.text),
      ...rest.map((one) => make("p", {}, one.text)),
    ),
    make("details", { open }, make("summary", {}, "Every point of the verdict"), ...sections),
  ];
}

function showSentence(sentence) {
  const mark = sentence.color
    ? make(
        "span",
        { class: `mark ${sentence.color}` },
        make("span", { "aria-hidden": "true" }, SIGNS[sentence.color]),
        ` ${sentence.color}`,
      )
    : make("span", { class: "mark" });
  return make("li", {}, mark, make("span", {}, sentence.text));
}
