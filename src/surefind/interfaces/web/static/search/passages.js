// A passage: its place, its text and its score.

import { button, byId, described, element, placeOf, placeOfHit } from "/static/dom.js";
import { built } from "/static/rendered.js";

/** A page: its best passage, then the others found on it. */
export function showPage([best, ...others]) {
  const item = showHit(best);
  if (others.length) {
    const more = others.map((hit) => showHit(hit, "h3"));
    item.append(element("ol", { className: "same-page", ariaLabel: `More of ${best.title}` }, ...more));
  }
  return item;
}

function showHit(hit, heading = "h2") {
  const link = element("a", { href: placeOfHit(hit) });
  if (hit.section) link.append(...marked(hit.section, unitsOf(hit.section, hit.section_highlights), 0, hit.section.length));
  else link.append(hit.title || hit.source_path || hit.chunk_id); // in connected collections
  const titles = hit.breadcrumb.slice(0, hit.breadcrumb.length - hit.section.length).split(" > ").filter(Boolean);
  const above = heading === "h2" ? titles : titles.slice(1); // the page is named above
  const passage = element("div", { className: "passage rendered" }, ...passageOf(hit));
  const more = button("Show all", () => {
    const open = passage.classList.toggle("open");
    more.ariaExpanded = String(open);
    more.textContent = open ? "Show less" : "Show all";
    fit(byId("hits"));
  }, { className: "more", hidden: true, ariaExpanded: "false" });
  return element("li", { className: "hit" },
    element("p", { className: "trail" },
      element("span", { className: "crumbs" }, above.map((title) => `${title} › `).join("")),
      element("span", { className: "path" }, hit.source_path)),
    element(heading, {}, link),
    passage,
    more,
    ...others(hit),
    scoreOf(hit),
  );
}

/** Duplicates of the passage in other versions, languages or places. */
function others({ also, version }) {
  if (!also.length) return [];
  const links = also.flatMap((same, number) => [
    number ? ", " : "",
    element("a", { href: placeOf(same.url) }, [same.version, same.locale].filter(Boolean).join(" ") || same.url),
  ]);
  return [element("p", { className: "also" }, version ? `${version}; the same in ` : "The same in ", ...links)];
}

// --- the score --------------------------------------------------------------------------------

/** The parts of a score, which add up to it unless an exact heading has raised it. */
function scoreOf({ rank, score, weight, page, legs: { dense, lexical } }) {
  const legs = (dense?.share ?? 0) + (lexical?.share ?? 0);
  const own = (page && legs ? page.own / legs : 1) * weight;
  const bar = element("span", { className: "bar", ariaHidden: "true" });
  const parts = [];
  const rows = [];
  const tell = (name, className, share, what) => {
    const part = element("i", { className });
    part.style.setProperty("--share", share);
    bar.append(part);
    parts.push(`${name} ${share.toFixed(2)}`);
    rows.push([name, `${what}: ${share.toFixed(3)} of the score`]);
  };
  const tellLeg = (name, className, leg, raw) => {
    if (leg) tell(name, className, leg.share * own, `${raw}, ${leg.rank ? `rank ${leg.rank}` : "not among its results"}`);
  };
  tellLeg("meaning", "dense", dense, `cosine ${dense?.score.toFixed(3)}`);
  tellLeg("words", "lexical", lexical, lexical?.score > 0 ? `BM25 ${lexical.score.toFixed(2)}` : "no words in common");
  if (page?.passages) tell("page", "passages", page.passages * weight, "other passages of the page");
  if (page?.names) tell("title", "names", page.names * weight, "title and address of the page");
  const summary = element("summary", {}, bar,
    element("span", {}, `score ${score.toFixed(2)}`),
    element("span", { className: "parts" }, parts.length > 1 ? parts.join(" + ") : `${parts[0]?.split(" ")[0]} only`),
    element("span", { className: "hidden" }, ` of passage ${rank}: details`));
  return element("details", { className: "score" }, summary, described(rows));
}

// --- the text ---------------------------------------------------------------------------------

const passageOf = ({ rendered }) => built(rendered);

/** A part of a text, with the server's matches marked. */
function marked(text, spans, start, end) {
  const nodes = [];
  let done = start;
  for (const [from, to] of spans) {
    if (from < done || to > end) continue;
    nodes.push(text.slice(done, from), element("mark", {}, text.slice(from, to)));
    done = to;
  }
  return [...nodes, text.slice(done, end)].filter((node) => node !== "");
}

/** The server counts characters, the browser UTF-16 code units. */
function unitsOf(text, spans) {
  if (!/[\ud800-\udbff]/.test(text)) return spans;
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  return spans.map((span) => span.map((place) => places[place]));
}

/** A passage that is cut gets a button, and starts near its first match. */
export function fit(hits) {
  for (const passage of hits.querySelectorAll(".passage:not(.open)")) {
    passage.nextElementSibling.hidden = passage.scrollHeight <= passage.clientHeight + 2;
    const { start, within } = startOf(passage);
    passage.scrollTop = start;
    passage.classList.toggle("within", within);
  }
}

/** At the block of the first match, so that no line is cut, or else within the block, a little above the match. */
function startOf(passage) {
  passage.scrollTop = 0;
  const match = passage.querySelector("mark");
  const topOf = (node) => node.getBoundingClientRect().top - passage.getBoundingClientRect().top;
  const sought = match ? topOf(match) : 0;
  if (sought <= passage.clientHeight * 0.6) return { start: 0, within: false };
  const block = match.closest("p, li, pre, tr, blockquote, .passage > *");
  const start = topOf(block);
  if (sought - start <= passage.clientHeight * 0.6) return { start, within: false };
  return { start: sought - passage.clientHeight * 0.4, within: true };
}
