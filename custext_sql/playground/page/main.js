// The page: reads the token and the settings from the address, and lets its parts work together.

import { get, keepToken, post, readToken } from "./api.js";
import { countOf, find, make, settle, wireTabs } from "./dom.js";
import { FileMode } from "./file_mode.js";
import { showReceipt, showVerdict } from "./findings.js";
import { learnKinds, showLegend } from "./kinds.js";
import { listKinds } from "./marked_text.js";
import { Pane } from "./pane.js";
import { DEFAULTS, readSettings, writeSettings } from "./settings.js";
import { Snippets } from "./snippets.js";
import { WordCard } from "./word_card.js";

const EXAMPLE =
  "My doctor in Boston said the surgery went well, and the nurse was kind. " +
  "Call Zoë Štěpánková at 617-555-0142, or write to a.novak@example.com before 12/05/2026.";
const PAPER = { ...DEFAULTS, eps: 1, plus: true, policy: { name: "paper" } };
const BETTER = { ...DEFAULTS, eps: 0 };
const TYPING = 120; // milliseconds of rest after which the text is sanitized
const SLIDING = 60;
const RESTING = 400; // after which the verdict is asked for

const text = find("#text");
let setup;
let panes = [];
let active; // the pane that the cards below are about
let wordCard;
let snippets;
let fileMode;
let judged = null; // the pane whose verdict is shown
let unfolded = false; // whether every point of the verdict is shown
let notice = null; // a message that stays until a setting is changed
let mode = "text";
let chooseMode;

start();

async function start() {
  takeToken();
  find("#token-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    keepToken(find("#token").value.trim().split("token=").at(-1).split("&")[0]);
    succeed();
    if (await enter()) text.focus();
  });
  addEventListener("hashchange", () => {
    if (takeToken() || !setup) enter();
    else readAddress();
  });
  for (const kind of ["dragover", "drop"]) addEventListener(kind, stayHere);
  await enter();
}

// Moves the token from the address to the storage, and returns whether there was one.
function takeToken() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get("token");
  if (token) keepToken(token);
  parameters.delete("token");
  replaceAddress(parameters);
  return Boolean(token);
}

// A browser would leave the page to show a file that is dropped beside its place.
function stayHere(event) {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
}

// Returns whether the server let the page in; if not, the page asks for the token, and keeps the settings meanwhile.
async function enter() {
  try {
    setup = await get("/api/setup");
    learnKinds(setup.kinds);
  } catch (error) {
    const isRefused = error.status === 403;
    if (!isRefused || readToken()) fail(error);
    find("#token-form").hidden = !isRefused;
    if (isRefused) find("#token").focus();
    return false;
  }
  find("#token-form").hidden = true;
  if (find("#main").hidden) build();
  find("#main").hidden = find(".modes").hidden = false;
  succeed();
  readAddress();
  return true;
}

function build() {
  text.value = EXAMPLE;
  const drawSoon = settle(drawAll, TYPING);
  text.addEventListener("input", drawSoon);
  wordCard = new WordCard(find("#word"));
  snippets = new Snippets(find("#snippets"));
  fileMode = new FileMode(find("#file"), setup, { changed: takeFileSettings, failed: fail, succeeded: succeed });
  chooseMode = wireTabs(find(".modes"), (tab) => {
    mode = tab.id.replace("tab-", "");
    for (const name of ["text", "file"]) find(`#mode-${name}`).hidden = name !== mode;
    if (mode === "file") fileMode.settings = panes[0].settings;
    writeAddress();
  });
  find("#compare").addEventListener("click", () => {
    setPanes(panes.length === 1 ? [panes[0].settings, findRival()] : [panes[0].settings]);
    writeAddress();
    drawAll();
  });
}

// What to compare with: the paper's settings, or better ones if the paper's are there already.
function findRival() {
  const greedy = setup.mappings.find((mapping) => mapping.k === 20)?.name ?? null;
  return panes[0].settings.policy.name === "paper" ? BETTER : { ...PAPER, mapping: greedy };
}

function setPanes(list) {
  while (panes.length > list.length) panes.pop().element.remove();
  while (panes.length < list.length) {
    const drawLater = settle(() => draw(pane), SLIDING);
    const judgeLater = settle(judge, RESTING);
    const pane = new Pane(setup, {
      asked: () => draw(pane),
      changed: (redraw) => {
        notice = null;
        activate(pane);
        writeAddress();
        if (redraw) drawLater();
        else show(pane);
      },
      drawn: () => {
        if (!isTooLong()) succeed();
        pane.verdict = null;
        show(pane);
        judgeLater(pane);
      },
      opened: (word) => openWord(pane, word),
      failed: fail,
    });
    panes.push(pane);
    find("#panes").append(pane.element);
  }
  for (const [place, settings] of list.entries()) {
    panes[place].form.value = settings;
    panes[place].title = list.length === 1 ? "Sanitized" : `Setting ${"AB"[place]}`;
  }
  find("#board").classList.toggle("comparing", list.length > 1);
  find("#compare").setAttribute("aria-pressed", String(list.length > 1));
  activate(panes.includes(active) ? active : panes[0]);
}

// The cards below the panes are about the pane that was used last.
function activate(pane) {
  if (active !== pane) wordCard.clear();
  active = pane;
  const of = panes.length > 1 ? ` on ${pane.title.toLowerCase().replace(/.$/, (letter) => letter.toUpperCase())}` : "";
  find("#verdict-title").textContent = `Verdict${of}`;
  find("#receipt-title").textContent = `Receipt${of.replace(" on", " of")}`;
  find("#snippets-title").textContent = `The same settings elsewhere${of.replace(" on", ":")}`;
  show(pane);
}

function drawAll() {
  draw(...panes);
}

function isTooLong() {
  return text.value.length > setup.limits.characters;
}

// Text beyond the limit is refused, not cut off, so that nobody takes a part for the whole.
function draw(...some) {
  const { length } = text.value;
  const most = setup.limits.characters;
  const note = find("#text-note");
  note.textContent = `${countOf(length, "character")} of at most ${most.toLocaleString("en")}`;
  note.classList.toggle("warning", isTooLong());
  if (isTooLong()) {
    for (const pane of panes) pane.abort();
    fail(
      new Error(
        `This text is too long: it has ${countOf(length, "character")}, and ${most.toLocaleString("en")} are accepted. Save it as a file, and use the tab File.`,
      ),
    );
  } else for (const pane of some) pane.draw(text.value);
}

function takeFileSettings(settings) {
  panes[0].form.value = settings;
  writeAddress();
  drawAll();
}

// Shows what is below the panes, if it is about this one.
function show(pane) {
  const marked = panes.filter((one) => !one.seesAsAttacker);
  const kinds = new Set(marked.flatMap((one) => [...listKinds(one.words)]));
  showLegend(find("#legend"), kinds, marked.length < panes.length);
  if (pane !== active || !pane.traced) return;
  if (wordCard.pane === pane && wordCard.traced !== pane.traced) wordCard.follow(pane).catch(fail);
  const [verdict, receipt] = [find("#verdict"), find("#receipt")];
  const held = verdict.contains(document.activeElement);
  unfolded = find("details", verdict)?.open ?? unfolded;
  if (judged !== pane) for (const body of [verdict, receipt]) body.replaceChildren();
  judged = pane;
  if (pane.verdict) {
    verdict.replaceChildren(...showVerdict(pane.verdict, { open: unfolded }));
    if (held) find("summary", verdict).focus({ preventScroll: true });
    receipt.replaceChildren(...showReceipt(pane.receipt));
  } else if (!pane.words.length) {
    verdict.replaceChildren(make("p", { class: "note" }, "Type a text to get a verdict."));
    receipt.replaceChildren();
  }
  for (const body of [verdict, receipt]) body.setAttribute("aria-busy", String(!pane.verdict && pane.words.length > 0));
  snippets.update(pane.settings).catch(fail);
}

async function judge(pane) {
  const { traced } = pane;
  if (!pane.words.length) return;
  try {
    const { before: text, settings, is_unchanged } = traced;
    const unchanged = traced.unchanged.length;
    const found = await post("/api/verdict", { text, settings, unchanged, is_unchanged });
    if (traced !== pane.traced) return;
    pane.receipt = found.receipt;
    pane.verdict = found.verdict;
    show(pane);
  } catch (error) {
    fail(error);
  }
}

async function openWord(pane, word) {
  if (!word) return;
  activate(pane);
  try {
    await wordCard.show(pane, word);
    find("#word-card").scrollIntoView({ block: "nearest", behavior: "smooth" });
  } catch (error) {
    fail(error);
  }
}

// The address holds the settings, so that they can be sent to a colleague; neither the text nor the token.
function writeAddress() {
  const parameters = new URLSearchParams();
  for (const [place, pane] of panes.entries()) {
    const prefix = place === 0 ? "" : "b.";
    writeSettings(pane.settings, prefix, parameters);
    if (pane.seesAsAttacker) parameters.set(`${prefix}view`, "attacker");
  }
  if (panes.length > 1) parameters.set("compare", "1");
  if (mode !== "text") parameters.set("mode", mode);
  replaceAddress(parameters);
}

function replaceAddress(parameters) {
  const written = String(parameters);
  history.replaceState(null, "", location.pathname + (written && `#${written}`));
}

function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const choices = { mappings: setup.mappings.map((mapping) => mapping.name) };
  const list = [readSettings(parameters, "", choices)];
  if (parameters.get("compare") === "1") list.push(readSettings(parameters, "b.", choices));
  const asked = ["mapping", "b.mapping"].map((name) => parameters.get(name)).filter(Boolean);
  if (!asked.every((name) => choices.mappings.includes(name))) {
    notice = "The mapping in this address is not in this database, so the default one is shown instead.";
  }
  setPanes(list);
  for (const [place, pane] of panes.entries()) {
    pane.seesAsAttacker = parameters.get(place === 0 ? "view" : "b.view") === "attacker";
  }
  chooseMode(find(parameters.get("mode") === "file" ? "#tab-file" : "#tab-text"));
  drawAll();
}

function fail(error) {
  const message = find("#message");
  message.textContent = error.message;
  message.hidden = false;
}

function succeed() {
  if (notice) fail(new Error(notice));
  else find("#message").hidden = true;
}
