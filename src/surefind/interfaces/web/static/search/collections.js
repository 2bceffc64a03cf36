// The second view: the collections, their stored generations, and rolling back to one.

import { ask, key } from "/static/api.js";
import { button, byId, counted, described, element, when } from "/static/dom.js";
import { problemOf } from "/static/problems.js";

const view = byId("collections");
const [dialog, form, adminKey] = ["confirm", "rollback", "admin-key"].map(byId);
const [text, problem, title] = ["confirm-text", "confirm-error", "confirm-title"].map(byId);
let target; // the generation to roll back to

export async function showCollections() {
  view.ariaBusy = "true";
  if (!view.firstChild) view.append(element("p", { className: "quiet" }, "Loading…"));
  try {
    const { collections } = await ask("/collections");
    collections.sort((one, other) => other.served - one.served);
    const cards = await Promise.all(collections.map(cardOf));
    view.replaceChildren(element("h2", {}, "Collections"), ...(cards.length ? cards : [nothing()]));
  } catch (error) {
    view.replaceChildren(...problemOf(error, showCollections));
  }
  view.ariaBusy = "false";
}

const nothing = () => element("p", {}, "There are no collections yet. Build one from your documentation: ",
  element("code", {}, "surefind ingest FOLDER"), ".");

async function cardOf({ name, served, documents, chunks }) {
  const badge = served ? [element("span", { className: "badge" }, "served here")] : [];
  let generations;
  try {
    ({ generations } = await ask(`/generations?collection=${encodeURIComponent(name)}`));
  } catch ({ message }) { // an unavailable collection does not hide the others
    return element("section", { className: "card" }, element("h3", {}, name, " ", ...badge), element("p", { className: "bad" }, message));
  }
  const builds = generations.map((build, number) => buildOf(build, generations[number - 1], served)).reverse();
  return element("section", { className: "card" },
    element("h3", {}, name, " ", ...badge),
    element("p", { className: "quiet" }, `${counted(documents, "page")}, ${counted(chunks, "passage")}`),
    element("ol", { className: "builds", ariaLabel: `Generations of ${name}, the newest first` }, ...builds));
}

function buildOf(build, before, served) {
  const { generation, current, documents, chunks, created_at: made, collection } = build;
  const head = element("div", { className: "head" },
    element("h4", {}, `Generation ${generation}`),
    ...(current ? [element("span", { className: "badge" }, "current")] : []),
    when(made));
  if (served && !current) {
    head.append(button("Roll back…", () => confirmRollback(build), { ariaLabel: `Roll back to generation ${generation}…` }));
  }
  const grown = (now, then) => ((then ?? null) === null || now === null || now === then ? "" : ` (${now > then ? "+" : "−"}${Math.abs(now - then).toLocaleString("en")})`);
  return element("li", { className: current ? "build current" : "build" },
    head,
    element("p", {}, counted(documents, "page") + grown(documents, before?.documents) + ", " +
      counted(chunks, "passage") + grown(chunks, before?.chunks)),
    unfolded("What changed", () => changesOf(collection, generation)),
    unfolded("How it was built", () => [manifestOf(build)]));
}

/** Filled when first opened. */
function unfolded(label, fill) {
  const inside = element("div", {}, element("p", { className: "quiet" }, "Loading…"));
  const made = element("details", {}, element("summary", {}, label), inside);
  made.addEventListener("toggle", async () => {
    if (!made.open || made.dataset.filled) return;
    made.dataset.filled = "true";
    try {
      inside.replaceChildren(...(await fill()));
    } catch ({ message }) {
      delete made.dataset.filled; // opening it again retries
      inside.replaceChildren(element("p", { className: "bad" }, message));
    }
  });
  return made;
}

async function changesOf(collection, generation) {
  const address = `/generations/${generation}/changes?collection=${encodeURIComponent(collection)}`;
  const { compared_with: before, added, changed, removed, unchanged } = await ask(address);
  if (before === null) return [element("p", {}, `The oldest stored generation. It has ${counted(added.number, "page")}.`)];
  const nodes = [element("p", { className: "quiet" }, `Compared with generation ${before}; ${counted(unchanged, "page")} unchanged.`)];
  for (const [what, { number, paths }] of Object.entries({ added, changed, removed })) {
    if (!number) continue;
    const rest = number > paths.length ? [element("li", {}, `and ${(number - paths.length).toLocaleString("en")} more`)] : [];
    nodes.push(element("h5", { className: what }, `${counted(number, "page")} ${what}`),
      element("ul", { className: "paths" }, ...paths.map((path) => element("li", {}, path)), ...rest));
  }
  if (nodes.length === 1) nodes.push(element("p", {}, "The pages are unchanged; only the index was rebuilt."));
  return nodes;
}

function manifestOf(build) {
  const { calibration, fields } = build;
  const names = Object.keys(fields);
  return described([
    ["embedder", build.embedder],
    ["chunker", build.chunker],
    ["lexical index", `analyzer ${build.analyzer}`],
    ["sources", build.sources.join(", ") || "none"],
    ["sites", build.sites.join(", ") || "none"],
    ["based on", build.based_on ? `generation ${build.based_on}` : "nothing: built from scratch"],
    ["front matter", names.length ? names.join(", ") : "no fields"],
    ["calibration", calibration
      ? `mean best cosine ${calibration.answered_mean.toFixed(2)} for answered questions, ${calibration.unanswered_mean.toFixed(2)} for others`
      : "none"],
    ["source digest", element("code", {}, build.source_digest)],
    ["built by", `surefind ${build.surefind_version}`],
  ], "facts");
}

// --- rolling back -----------------------------------------------------------------------------

function confirmRollback(build) {
  target = build;
  title.textContent = `Roll back to generation ${build.generation}?`;
  text.textContent = `All searches of “${build.collection}” will use its ${counted(build.documents, "page")} as they were then. ` +
    "Nothing is deleted: you can return in the same way.";
  problem.textContent = "";
  adminKey.value = key() ?? "";
  dialog.showModal();
}

export function useCollections() {
  byId("cancel").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => (adminKey.value = "")); // never kept
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      await ask("/generations/rollback", { body: { to: target.generation }, shown: adminKey.value.trim() });
      dialog.close();
      await showCollections();
      const done = `Generation ${target.generation} of ${target.collection} is now current.`;
      view.prepend(element("p", { className: "done", role: "status" }, done));
    } catch ({ message = "Something went wrong on this page." }) {
      problem.textContent = message;
      adminKey.focus();
    }
  });
}
