// The search page: the query, its results and the views.

import { ask, keep, key } from "/static/api.js";
import { button, byId, counted, described, element, milliseconds } from "/static/dom.js";
import { problemOf } from "/static/problems.js";
import { addressOf, asked, MODES, filterOf, VIEWS } from "/static/search/address.js";
import { showCollections, useCollections } from "/static/search/collections.js";
import { forgetGaps, showGaps } from "/static/search/gaps.js";
import { offerFilters, showFilters, useFilters } from "/static/search/filters.js";
import { useKeyboard } from "/static/search/keyboard.js";
import { fit, showPage } from "/static/search/passages.js";
import { askWhyNot, useWhyNot } from "/static/search/why-not.js";
import { useTheme } from "/static/theme-switch.js";

const TOP_K = 10;
const PER_PAGE = 3; // passages of one page
const PAUSE_MS = 250;
const SLOW_MS = 1000;
const NOTES_MS = 1200; // without typing, before notes about the words and the evidence
const TOPICS = "install start use configure create add change run build deploy support error";
const STAGES = {
  received: "opening the index",
  embedded: "embedding the question",
  searched: "searching",
  filtered: "fusing and choosing",
  formatted: "fetching the texts",
  returned: "answering",
};
const [field, form, status] = ["question", "ask", "status"].map(byId);
const [notice, hits, facts, timings] = ["notice", "hits", "facts", "timings"].map(byId);

let timer; // of the pause in typing
let request; // the newest; answers to older ones are dropped
let latest = "/"; // the address of the last search
let later; // timer of the notes
let settled = true; // typing changes the history entry that typing began; anything else adds one

// --- the question -----------------------------------------------------------------------------

function go(changes, { done = true } = {}) {
  clearTimeout(timer);
  const address = addressOf({ ...asked(), view: "search", ...changes });
  if (address !== location.pathname + location.search) {
    history[settled ? "pushState" : "replaceState"](null, "", address);
    scrollTo(0, 0);
  }
  settled = done;
  draw();
}

const written = () => ({ text: field.value.trim(), mode: form.elements.mode.value });

function draw() {
  const { view, where, byPage } = asked();
  byId("by-page").ariaPressed = String(byPage);
  choose.value = asked().collection;
  const searching = view === "search";
  byId("asking").hidden = !searching;
  for (const one of VIEWS) {
    byId(one).hidden = one !== view;
    if (one === view) byId(`to-${one}`).setAttribute("aria-current", "page");
    else byId(`to-${one}`).removeAttribute("aria-current");
  }
  byId("forget").hidden = !key();
  showFilters(where);
  if (searching) {
    latest = location.pathname + location.search;
    return search();
  }
  request?.abort();
  document.title = `${view === "gaps" ? "Gaps" : "Collections"} · surefind`;
  if (view === "gaps") showGaps();
  else showCollections();
}

function restore() {
  const { text, mode } = asked();
  clearTimeout(timer);
  field.value = text;
  form.elements.mode.value = mode;
  settled = true;
  draw();
}

async function search() {
  request?.abort();
  const mine = (request = new AbortController());
  clearTimeout(later);
  const { text, mode, threshold, where, byPage, collection } = asked();
  document.title = text ? `${text} · surefind` : "surefind";
  const body = text
    ? {
        query: text, top_k: TOP_K, mode, highlight: true, rendered: true,
        ...(byPage && { group_by: "document", group_size: PER_PAGE }),
        ...(collection && { collection }),
        ...(threshold && mode !== "lexical" && { threshold }),
        ...(where.length && { where: filterOf(where) }),
      }
    : { query: TOPICS, top_k: 15, mode: "lexical", ...(collection && { collection }) }; // lists headings without embedding anything
  hits.ariaBusy = "true";
  const slow = setTimeout(() => {
    if (mine === request) status.textContent = "Still searching. You can keep typing.";
  }, SLOW_MS);
  try {
    const answer = await ask("/retrieve", { body, signal: mine.signal });
    if (mine !== request) return;
    if (text) showAnswer(answer, body);
    else showStart(answer);
    if (answer.status !== "partial") offerFilters(answer.generation, answer.collection); // they come from the catalog
    offerCollections();
  } catch (error) {
    if (mine === request) showError(error);
  } finally {
    clearTimeout(slow);
  }
  if (mine === request) hits.ariaBusy = "false";
}

// --- the answer -------------------------------------------------------------------------------

function show(sentence, notes, passages = []) {
  status.textContent = sentence;
  notice.replaceChildren(...notes);
  notice.hidden = !notes.length;
  notice.className = "";
  const within = hits.contains(document.activeElement);
  hits.replaceChildren(...passages);
  if (within) field.focus(); // the focused element was removed
  fit(hits);
}

function showCollection({ collection, generation, chunks }) {
  byId("collection").textContent = `${collection} · ${counted(chunks, "passage")}`;
  facts.textContent = `generation ${generation} of ${collection}`;
}

function showTimings(spent, remembered) {
  timings.hidden = !spent;
  if (!spent) return;
  if (remembered) {
    timings.firstElementChild.textContent = `${milliseconds(spent.total)}, cached`;
    const why = "This result is cached: the collection has not changed since the same search.";
    timings.lastElementChild.replaceChildren(element("p", {}, why));
    return;
  }
  const stages = Object.entries(STAGES).filter(([stage]) => stage in spent);
  const rows = stages.map(([stage, words]) => {
    const bar = element("span", { className: "bar", ariaHidden: "true" });
    const part = element("i", { className: "dense" });
    part.style.setProperty("--share", spent.total ? spent[stage] / spent.total : 0);
    bar.append(part);
    return [words, [milliseconds(spent[stage]), bar]];
  });
  timings.firstElementChild.textContent = milliseconds(spent.total);
  timings.lastElementChild.replaceChildren(described(rows, "stages"));
}

function showStart(answer) {
  showCollection(answer);
  showTimings(null);
  askWhyNot(null);
  const { mode, where, collection } = asked();
  const headings = [...new Set(answer.hits.map((hit) => hit.section))];
  const ideas = headings.filter((heading) => heading.length > 5 && heading.length < 45).slice(0, 5);
  const links = ideas.map((idea) =>
    element("li", {}, element("a", { href: addressOf({ text: idea, mode, where, collection }) }, idea)));
  const notes = [
    element("h2", {}, "What would you like to know?"),
    element("p", {}, "Enter a question or a few keywords. You get the " +
      `passages of “${answer.collection}” that answer it, each with a link.`),
  ];
  if (ideas.length) {
    notes.push(element("p", { className: "quiet" }, "For example:"));
    notes.push(element("ul", { className: "ideas" }, ...links));
  }
  const keys = element("p", { className: "quiet keys" });
  for (const [name, what] of [["/", "ask"], ["↓ ↑", "move"], ["Enter", "open"], ["Esc", "back"], ["?", "all keys"]]) {
    keys.append(element("span", {}, element("kbd", {}, name), ` ${what}`));
  }
  show("", [...notes, keys]);
}

function showAnswer(answer, body) {
  showCollection(answer);
  showTimings(answer.timings_ms, answer.remembered);
  askWhyNot(body);
  if (!answer.hits.length) return showNothing(answer);
  const notes = answer.status === "partial"
    ? [element("p", {}, "The catalog is unavailable. These passages are copies from the index, and whole pages can’t be opened here.")]
    : [];
  const remarks = remarksOf(answer);
  if (answer.confidence?.evidence === "thin") {
    remarks.push(element("p", {}, "The evidence is thin: the documentation may not cover this. These are the nearest passages."));
  }
  const pages = asked().byPage ? groupedByPage(answer.hits) : answer.hits.map((hit) => [hit]);
  show(`${counted(answer.hits.length, "passage")} for “${answer.query}”`, settled ? [...notes, ...remarks] : notes, pages.map(showPage));
  if (settled || !remarks.length) return;
  later = setTimeout(() => {
    notice.append(...remarks);
    notice.hidden = false;
  }, NOTES_MS);
}

const remarksOf = (answer) => answer.notes.map((note) => element("p", { className: "quiet" }, `${note}.`));

/** In the order of their best passages. */
function groupedByPage(found) {
  const pages = new Map();
  for (const hit of found) {
    const page = `${hit.collection}/${hit.source_path || hit.chunk_id}`;
    pages.set(page, [...(pages.get(page) ?? []), hit]);
  }
  return [...pages.values()];
}

function showNothing(answer) {
  const { mode, best_similarity: best, threshold, chunks, where } = answer;
  let why = `The nearest passage has a similarity of ${best?.toFixed(2)}, below the threshold of ${threshold}.`;
  if (best === null) why = chunks ? "No passage contains any of these words." : "The collection is empty.";
  if (where.length && best === null) why = "No passage matches both the filters and the query.";
  const notes = [element("h2", {}, "Nothing found"), element("p", {}, why), ...remarksOf(answer)];
  const offer = (label, changes) => notes.push(button(label, () => {
    go({ ...written(), ...changes });
    restore();
    field.focus();
  }));
  if (mode === "lexical" && chunks) offer("Also search by meaning", { mode: MODES[0] });
  if (where.length) offer("Remove the filters", { where: [] });
  if (threshold) offer("Show the nearest anyway", { threshold: 0 });
  show(`No passages found. ${why}`, notes);
}

function showError(error) {
  const again = () => {
    field.focus();
    draw();
  };
  const notes = problemOf(error, again, {
    unfiltered: () => go({ where: [] }),
    words: () => {
      go({ mode: "lexical" });
      restore();
    },
  });
  show(`The search failed: ${error.message ?? "something went wrong on this page"}`, notes);
  notice.className = error.status === 401 ? "" : "failed";
  facts.textContent = "";
  showTimings(null);
  askWhyNot(null);
}

// --- the collection ---------------------------------------------------------------------------

const choose = byId("choose");

/** A chooser, if there is anything to choose; a key that can't list collections searches one. */
async function offerCollections() {
  if (choose.options.length) return;
  try {
    const { collections } = await ask("/collections");
    if (collections.length < 2) return;
    collections.sort((one, other) => other.served - one.served);
    choose.replaceChildren(...collections.map(({ name, served, chunks }) =>
      element("option", { value: served ? "" : name }, `${name} · ${counted(chunks, "passage")}`)));
    choose.value = asked().collection;
    choose.hidden = false;
  } catch {
    // The search says what is wrong.
  }
}

choose.addEventListener("change", () => {
  settled = true;
  go({ ...written(), collection: choose.value, where: [] });
});

// --- the visitor ------------------------------------------------------------------------------

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => go(written(), { done: false }), PAUSE_MS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  go(written());
});
form.addEventListener("change", (event) => {
  if (event.target === field) return;
  settled = true;
  go(written());
});
for (const view of VIEWS) {
  byId(`to-${view}`).addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", view === "search" ? latest : addressOf({ view }));
    restore();
    if (view === "search") field.focus();
  });
}
byId("by-page").addEventListener("click", () => {
  settled = true;
  go({ ...written(), byPage: !asked().byPage });
});
byId("forget").addEventListener("click", () => {
  keep(null);
  forgetGaps();
  draw();
});
addEventListener("popstate", restore);
addEventListener("resize", () => fit(hits));
useFilters((where) => {
  settled = true;
  go({ ...written(), where });
});
useWhyNot();
useCollections();
useKeyboard();
useTheme();
restore();
