// The third view: what users ask and the documentation hardly answers. For admins, and read-only.

import { ask, key } from "/static/api.js";
import { byId, counted, element, placeOf, when } from "/static/dom.js";
import { problemOf } from "/static/problems.js";

const view = byId("gaps");
let shown; // an admin key for this view alone, never kept

export async function showGaps() {
  view.ariaBusy = "true";
  if (!view.firstChild) view.append(element("p", { className: "quiet" }, "Loading…"));
  try {
    const report = await ask("/gaps", { shown: shown ?? key() });
    view.replaceChildren(element("h2", {}, "Gaps"), ...contentOf(report));
  } catch (error) {
    const ownKey = error.status === 403 || (error.status === 401 && shown);
    view.replaceChildren(...(ownKey ? [adminForm(error.message)] : problemOf(error, showGaps)));
  }
  view.ariaBusy = "false";
}

/** The admin key is not used for anything else. */
export function forgetGaps() {
  shown = undefined;
  view.replaceChildren();
}

function adminForm(message) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: false, required: true });
  const made = element("form", { className: "key" },
    element("h2", {}, "Gaps are for admins"),
    element("p", {}, "They show what users asked. The key is used for this view only and is not stored."),
    element("div", { className: "line" }, element("label", {}, "A key with scope admin", input), element("button", { type: "submit", className: "strong" }, "Show the gaps")));
  if (shown) made.append(element("p", { className: "bad", role: "alert" }, `The key was refused: ${message}.`));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    shown = input.value.trim();
    showGaps();
  });
  return made;
}

function contentOf({ query_log: logging, collection, searches, thin, gaps, gaps_total: total }) {
  const nodes = [element("p", { className: "quiet" },
    `${collection}, the last 30 days: ${searches.toLocaleString("en")} ${searches === 1 ? "search" : "searches"}, ${thin.toLocaleString("en")} with thin evidence.`)];
  if (!logging) nodes.push(element("p", {}, "This server keeps no query log. Set ", element("code", {}, "query_log = true"), " in surefind.toml and restart it."));
  if (!gaps.length) return [...nodes, element("p", {}, "No gaps.")];
  nodes.push(element("ol", { className: "builds", ariaLabel: "Gaps, the most frequent first" }, ...gaps.map(gapOf)));
  if (total > gaps.length) nodes.push(element("p", { className: "quiet" }, `and ${(total - gaps.length).toLocaleString("en")} more`));
  return nodes;
}

function gapOf({ questions: [first, ...others], count, trend, clients, last, nearest }) {
  const times = count === 1 ? "1 search" : `${count.toLocaleString("en")} searches`;
  const from = clients ? ` from ${counted(clients, "client")}` : "";
  const made = element("li", { className: "build" },
    element("div", { className: "head" }, element("h3", {}, first), element("span", { className: "badge" }, trend), when(last)),
    element("p", {}, times + from));
  if (others.length) made.append(element("ul", { className: "paths" }, ...others.map((text) => element("li", {}, text))));
  const [page] = nearest;
  if (page) {
    const place = placeOf(page.url);
    made.append(element("p", { className: "quiet" }, "Nearest page: ", place ? element("a", { href: place }, page.title || place) : page.title || page.url));
  }
  return made;
}
