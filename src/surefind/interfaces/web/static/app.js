// The search page. The address holds the question, so a search can be linked and Back works.
// Whatever comes from the server becomes text nodes, never markup.
"use strict";

const TOP_K = 10;
const PAUSE_MS = 250;
const READER = "http://localhost:8000/read/";
const MODES = ["hybrid", "dense", "lexical"];
const TOPICS = "install start use configure create add change run build deploy support error";
const STOPWORDS = new Set(
  ("a an and are as at be by can do does for from has have how i if in into is it its me my not of on or our " +
    "should than that the their there this to was we what when where which who why will with you your").split(" "),
);

const byId = (id) => document.getElementById(id);
const [field, form, status] = ["question", "ask", "status"].map(byId);
const [notice, hits, facts] = ["notice", "hits", "facts"].map(byId);

let timer; // of the pause in typing
let request; // the newest; answers to older ones are dropped
let settled = true; // typing changes the history entry that typing began; anything else adds one

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

// --- the question -----------------------------------------------------------------------------

function asked() {
  const given = new URLSearchParams(location.search);
  return {
    text: (given.get("q") ?? "").trim(),
    mode: MODES.includes(given.get("mode")) ? given.get("mode") : MODES[0],
    threshold: Number(given.get("threshold")) || 0,
  };
}

function addressOf(text, mode) {
  const { threshold } = asked();
  const parts = new URLSearchParams();
  if (text) parts.set("q", text);
  if (mode !== MODES[0]) parts.set("mode", mode);
  if (text && threshold) parts.set("threshold", threshold);
  return String(parts) ? `/?${parts}` : "/";
}

function ask({ done }) {
  clearTimeout(timer);
  const address = addressOf(field.value.trim(), form.elements.mode.value);
  if (address !== location.pathname + location.search) {
    history[settled ? "pushState" : "replaceState"](null, "", address);
    scrollTo(0, 0);
  }
  settled = done;
  search();
}

function restore() {
  const { text, mode } = asked();
  clearTimeout(timer);
  field.value = text;
  form.elements.mode.value = mode;
  settled = true;
  search();
}

async function retrieve(body, signal) {
  let response;
  try {
    response = await fetch("/retrieve", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw { error: "unreachable", message: "The server does not answer. Is it still running?" };
  }
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `HTTP ${response.status}`, message: "The server’s answer can’t be read." };
  });
  if (!answer.hits) throw answer;
  return answer;
}

async function search() {
  request?.abort();
  const mine = (request = new AbortController());
  const { text, mode, threshold } = asked();
  document.title = text ? `${text} · surefind` : "surefind";
  const body = text
    ? { query: text, top_k: TOP_K, mode, ...(threshold && mode !== "lexical" && { threshold }) }
    : { query: TOPICS, top_k: 15, mode: "lexical" }; // costs no embedding, tells what is there
  hits.ariaBusy = "true";
  try {
    const answer = await retrieve(body, mine.signal);
    if (mine === request) text ? showAnswer(answer) : showStart(answer);
  } catch (error) {
    if (mine === request) showError(error);
  }
  if (mine === request) hits.ariaBusy = "false";
}

// --- the answer -------------------------------------------------------------------------------

function show(sentence, told, passages = []) {
  status.textContent = sentence;
  notice.replaceChildren(...told);
  notice.hidden = !told.length;
  notice.className = "";
  hits.replaceChildren(...passages);
  fit();
}

function showCollection({ collection, generation, chunks }) {
  byId("collection").textContent = `${collection} · ${counted(chunks, "passage")}`;
  facts.textContent = `generation ${generation} of ${collection}`;
}

function showStart(answer) {
  showCollection(answer);
  const headings = [...new Set(answer.hits.map((hit) => hit.section))];
  const ideas = headings.filter((heading) => heading.length > 5 && heading.length < 45).slice(0, 5);
  const links = ideas.map((idea) =>
    element("li", {}, element("a", { href: addressOf(idea, form.elements.mode.value) }, idea)),
  );
  const told = [
    element("h2", {}, "What would you like to know?"),
    element("p", {}, "Ask as you would ask a colleague, in a sentence or in a few words. You get the " +
      `passages of “${answer.collection}” that answer, each with a link to its place.`),
  ];
  if (ideas.length) {
    told.push(element("p", { className: "quiet" }, "Some of its headings, to begin with:"));
    told.push(element("ul", { className: "ideas" }, ...links));
  }
  const keys = element("p", { className: "quiet keys" });
  for (const [key, what] of [["/", "ask"], ["↓ ↑", "move"], ["Enter", "open"], ["Esc", "come back"]]) {
    keys.append(element("span", {}, element("kbd", {}, key), ` ${what}`));
  }
  show("", [...told, keys]);
}

function showAnswer(answer) {
  showCollection(answer);
  const { embedded, searched, total } = answer.timings_ms;
  facts.prepend(`${total.toFixed(1)} ms (embedding ${embedded.toFixed(1)}, search ${searched.toFixed(1)}) · `);
  if (!answer.hits.length) return showNothing(answer);
  const told = answer.status === "partial"
    ? [element("p", {}, "The catalog is away: the passages are the index’s own copies, and whole pages can’t be opened here.")]
    : [];
  if (answer.confidence?.evidence === "thin") {
    told.push(element("p", {}, "The evidence is thin: this may not be in the documentation at all. These are the nearest passages."));
  }
  const sought = stemsOf(answer.query);
  const passages = answer.hits.map((hit) => showHit(hit, sought));
  show(`${counted(passages.length, "passage")} for “${answer.query}”`, told, passages);
}

function showNothing({ mode, best_similarity: best, threshold, chunks }) {
  let why = `The nearest passage has a similarity of ${best?.toFixed(2)}; ${threshold} was asked for.`;
  if (best === null) why = chunks ? "No passage has any of these words." : "The collection is empty.";
  const told = [element("h2", {}, "Nothing found"), element("p", {}, why)];
  if (mode === "lexical") {
    const wider = element("button", { type: "button" }, "Search by meaning too");
    wider.addEventListener("click", () => {
      form.elements.mode.value = MODES[0];
      ask({ done: true });
      field.focus();
    });
    told.push(wider);
  }
  show(`No passages found. ${why}`, told);
}

function showError({ error = "error", message = "Something went wrong on this page." }) {
  const again = element("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => {
    field.focus();
    search();
  });
  const told = [element("h2", {}, "That did not work"), element("p", {}, message), element("code", {}, error)];
  show(`The search failed: ${message}`, [...told, again]);
  notice.className = "failed";
  facts.textContent = "";
}

function showHit(hit, sought) {
  const link = element("a", { href: hit.url.startsWith(READER) ? hit.read_path : hit.url });
  link.append(...marked(hit.section, sought));
  const above = hit.breadcrumb.slice(0, -hit.section.length).replaceAll(" > ", " › ");
  const passage = element("div", { className: "passage" }, ...passageOf(hit, sought));
  const more = element("button", { type: "button", className: "more", hidden: true }, "Show all");
  more.ariaExpanded = "false";
  more.addEventListener("click", () => {
    const open = passage.classList.toggle("open");
    more.ariaExpanded = String(open);
    more.textContent = open ? "Show less" : "Show all";
    fit();
  });
  const bar = element("span", { className: "bar", ariaHidden: "true" });
  bar.style.setProperty("--share", hit.score);
  return element("li", { className: "hit" },
    element("p", { className: "trail" },
      element("span", {}, above), element("span", { className: "path" }, hit.source_path)),
    element("h2", {}, link),
    passage,
    more,
    ...others(hit),
    element("p", { className: "score" }, bar, explain(hit)),
  );
}

/** The same passage elsewhere: in another version, another language, another place. */
function others({ also, version }) {
  if (!also.length) return [];
  const links = also.flatMap((same, number) => [
    number ? ", " : "",
    element("a", { href: same.url }, [same.version, same.locale].filter(Boolean).join(" ") || same.url),
  ]);
  return [element("p", { className: "also" }, version ? `${version}; the same in ` : "The same in ", ...links)];
}

function explain({ score, legs: { dense, lexical } }) {
  const place = (leg) => (leg.rank ? `rank ${leg.rank}` : "not near");
  const parts = [];
  if (dense) parts.push(`meaning ${place(dense)} (cosine ${dense.score.toFixed(2)})`);
  if (lexical?.score > 0) parts.push(`words ${place(lexical)} (BM25 ${lexical.score.toFixed(1)})`);
  else if (lexical) parts.push("no words in common");
  return `score ${score.toFixed(2)}: ${parts.join(", ")}`;
}

// --- the passage ------------------------------------------------------------------------------

/** The passage without the headings that stand above it, its fenced code set as code. */
function passageOf({ text, breadcrumb, content_type: type }, sought) {
  const above = breadcrumb.split(" > ");
  const lines = text.split("\n");
  const repeats = (line) => line.startsWith("#") && above.some((title) => line.includes(title));
  const body = lines.findIndex((line) => line.trim() && !repeats(line));
  let shown = lines.slice(Math.max(body, 0)).join("\n");
  const fences = shown.match(/^ *(?:`{3,}|~{3,}).*$/gm) ?? [];
  // A long block of code may be cut, and a passage then begins inside it.
  if (fences.length ? fences.length % 2 && !/\w/.test(fences[0]) : type === "code") shown = "```\n" + shown;
  const nodes = [];
  let end = 0;
  const add = (tag, part) => {
    const trimmed = part.replace(/^\n+|\s+$/g, "");
    if (trimmed) nodes.push(element(tag, {}, ...marked(trimmed, sought)));
  };
  for (const block of shown.matchAll(/^ *(`{3,}|~{3,}).*\n([^]*?)(?:^ *\1[`~]* *$|$(?![^]))/gm)) {
    add("p", shown.slice(end, block.index));
    add("pre", block[2]);
    end = block.index + block[0].length;
  }
  add("p", shown.slice(end));
  return nodes;
}

function stemsOf(question) {
  const words = (question.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => word.toLowerCase());
  const telling = words.filter((word) => !STOPWORDS.has(word));
  return new Set((telling.length ? telling : words).map(stem));
}

/** Near enough to the index's own stemmer to show why a passage was found. */
function stem(word) {
  return word.toLowerCase()
    .replace(/^(.*?[aeiouy].*?)(?:ings?|ed|ies|es|(?<!s)s)$/, "$1")
    .replace(/(?<=..)(?:ion|(?<=.{5})ment|e|(?<![aeiou])y)$/, "")
    .replace(/(?<=.{5})at$/, "")
    .replace(/([bdfgmnprt])\1$/, "$1");
}

function marked(text, sought) {
  const nodes = [];
  let end = 0;
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    if (!sought.has(stem(word))) continue;
    nodes.push(text.slice(end, index), element("mark", {}, word));
    end = index + word.length;
  }
  return [...nodes, text.slice(end)];
}

/** A passage that is cut has a button, and begins near the first word that was sought. */
function fit() {
  for (const passage of hits.querySelectorAll(".passage:not(.open)")) {
    passage.nextElementSibling.hidden = passage.scrollHeight <= passage.clientHeight + 2;
    const sought = passage.querySelector("mark")?.offsetTop ?? 0;
    passage.scrollTop = sought > passage.clientHeight * 0.6 ? sought - passage.clientHeight * 0.4 : 0;
    passage.classList.toggle("within", passage.scrollTop > 0);
  }
}

// --- the visitor ------------------------------------------------------------------------------

function move(step) {
  const links = [...hits.querySelectorAll("h2 a")];
  const at = links.findIndex((link) => link.closest("li").contains(document.activeElement));
  if (step < 0 && at <= 0) return field.focus();
  const next = links[Math.min(at + step, links.length - 1)];
  next?.focus({ preventScroll: true });
  next?.closest("li").scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const { key, target } = event;
  const typing = target === field;
  const among = typing || hits.contains(target);
  const step = { ArrowDown: among && 1, ArrowUp: among && -1, j: !typing && 1, k: !typing && -1 }[key];
  if (step) move(step);
  else if ((key === "/" || key === "Escape") && !typing) field.focus(), field.select();
  else return;
  event.preventDefault();
});

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS, { done: false });
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask({ done: true });
});
form.addEventListener("change", (event) => {
  if (event.target === field) return;
  settled = true;
  ask({ done: true });
});
addEventListener("popstate", restore);
addEventListener("resize", fit);
restore();
