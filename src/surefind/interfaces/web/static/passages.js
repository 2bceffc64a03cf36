// A passage: where it stands, what it says, and how its score came about.

import { button, described, element, placeOf, placeOfHit } from "/static/dom.js";

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|!?\[([^\]]*)\]\([^)]*\)/g;
const ITEM = /^(\s*)([-*+]|\d{1,3}[.)])\s+/;
const STORED_AS_HTML = /^\s*<(?:article|blockquote|body|div|h[1-6]|html|main|ol|p|pre|section|span|table|ul)(?:\s[^<>]*)?>[\s\S]*<\/(?:article|blockquote|body|div|h[1-6]|html|main|ol|p|pre|section|span|table|ul)>\s*$/i;
const ELEMENT = /<(a|b|code|dd|dt|em|h[1-6]|i|li|p|span|strong|td|th|u)(?:\s[^<>]*)?>[^<]*\S[^<]*<\/\1>/i;
const MARKDOWN = /`|\]\(|\*\*|^[ \t]*(?:#{1,6}[ \t]|[-*+|>]|\d{1,9}[.)][ \t]|~~~)/m;
const FENCE = /^ *(`{3,}|~{3,})/;

export function showHit(hit) {
  const link = element("a", { href: placeOfHit(hit) });
  if (hit.section) link.append(...marked(hit.section, unitsOf(hit.section, hit.section_highlights), 0, hit.section.length));
  else link.append(hit.title || hit.source_path || hit.chunk_id); // of pages that others have ingested
  const above = hit.breadcrumb.slice(0, hit.breadcrumb.length - hit.section.length).split(" > ").filter(Boolean);
  const passage = element("div", { className: "passage" }, ...passageOf(hit));
  const more = button("Show all", () => {
    const open = passage.classList.toggle("open");
    more.ariaExpanded = String(open);
    more.textContent = open ? "Show less" : "Show all";
    fit(passage.closest("ol"));
  }, { className: "more", hidden: true, ariaExpanded: "false" });
  return element("li", { className: "hit" },
    element("p", { className: "trail" },
      element("span", { className: "crumbs" }, above.map((title) => `${title} › `).join("")),
      element("span", { className: "path" }, hit.source_path)),
    element("h2", {}, link),
    passage,
    more,
    ...others(hit),
    scoreOf(hit),
  );
}

/** The same passage elsewhere: in another version, another language, another place. */
function others({ also, version }) {
  if (!also.length) return [];
  const links = also.flatMap((same, number) => [
    number ? ", " : "",
    element("a", { href: placeOf(same.url) }, [same.version, same.locale].filter(Boolean).join(" ") || same.url),
  ]);
  return [element("p", { className: "also" }, version ? `${version}; the same in ` : "The same in ", ...links)];
}

// --- the score --------------------------------------------------------------------------------

function scoreOf({ rank, score, legs: { dense, lexical } }) {
  const bar = element("span", { className: "bar", ariaHidden: "true" });
  const parts = [];
  const rows = [];
  const tell = (name, className, leg, raw) => {
    if (!leg) return;
    const part = element("i", { className });
    part.style.setProperty("--share", leg.share);
    bar.append(part);
    parts.push(`${name} ${leg.share.toFixed(2)}`);
    rows.push([name, `${raw}, ${leg.rank ? `rank ${leg.rank}` : "not among its best"}: ${leg.share.toFixed(3)} of the score`]);
  };
  tell("meaning", "dense", dense, `cosine ${dense?.score.toFixed(3)}`);
  tell("words", "lexical", lexical, lexical?.score > 0 ? `BM25 ${lexical.score.toFixed(2)}` : "no words in common");
  const summary = element("summary", {}, bar,
    element("span", {}, `score ${score.toFixed(2)}`),
    element("span", { className: "parts" }, parts.length > 1 ? parts.join(" + ") : `by ${parts[0]?.split(" ")[0]} alone`),
    element("span", { className: "hidden" }, ` of passage ${rank}: how it is made`));
  return element("details", { className: "score" }, summary, described(rows));
}

// --- the text ---------------------------------------------------------------------------------

/** The passage without the headings that stand above it, its Markdown set as far as it helps. */
function passageOf({ text: stored, breadcrumb, content_type: type, highlights }) {
  const text = readable(stored);
  const spans = unitsOf(text, text === stored ? highlights : []);
  const said = (start, end) => inline(text, spans, start, end);
  return blocksOf(text, breadcrumb.split(" > "), type).map(({ kind, start, end, marker, depth }) => {
    if (kind === "pre") return element("pre", {}, ...marked(text, spans, start, end));
    if (kind === "heading") return element("p", { className: "heading" }, ...said(start, end));
    if (kind !== "item") return element("p", {}, ...said(start, end));
    const item = element("p", { className: "item" },
      element("span", { className: "marker" }, marker), " ", element("span", {}, ...said(start, end)));
    item.style.setProperty("--depth", depth);
    return item;
  });
}

/** What somebody stored as HTML becomes text; such a document loads nothing and runs nothing. */
function readable(text) {
  if (!STORED_AS_HTML.test(text) && (!ELEMENT.test(text) || MARKDOWN.test(text))) return text;
  const { body } = new DOMParser().parseFromString(text, "text/html");
  for (const node of body.querySelectorAll("script, style")) node.remove();
  for (const node of body.querySelectorAll("br, div, h1, h2, h3, h4, h5, h6, li, p, pre, tr")) node.after("\n\n");
  return body.textContent.trim() || text;
}

function blocksOf(text, above, type) {
  const lines = [];
  for (const { 0: line, index } of text.matchAll(/[^\n]*\n|[^\n]+$/g)) {
    lines.push({ line: line.replace(/\n$/, ""), start: index });
  }
  const repeats = (line) => line.startsWith("#") && above.some((title) => line.includes(title));
  const first = lines.findIndex(({ line }) => line.trim() && !repeats(line));
  const shown = lines.slice(Math.max(first, 0));
  const fences = shown.filter(({ line }) => FENCE.test(line));
  // A long block of code may be cut, and a passage then begins inside it.
  const within = fences.length ? fences.length % 2 && !/\w/.test(fences[0].line) : type === "code";
  const blocks = [];
  let fence = within ? (fences[0]?.line.match(FENCE)[1] ?? "```") : null;
  let open = fence ? { kind: "pre" } : null;
  const close = () => {
    if (open?.end > open?.start) blocks.push(open);
    open = null;
  };
  const extend = (start, end, block) => {
    open ??= block;
    open.start ??= start;
    open.end = end;
  };
  for (const { line, start } of shown) {
    const end = start + line.length;
    const mark = line.match(FENCE)?.[1];
    if (fence) {
      if (mark?.startsWith(fence) && !/\w/.test(line)) {
        close();
        fence = null;
      } else if (line.trim() || open?.start !== undefined) extend(start, end, { kind: "pre" });
      continue;
    }
    const heading = line.match(/^#{1,6}\s+/)?.[0];
    const item = line.match(ITEM);
    if (mark || !line.trim() || heading || item) close();
    if (mark) [fence, open] = [mark, { kind: "pre" }];
    else if (heading) blocks.push({ kind: "heading", start: start + heading.length, end });
    else if (item) {
      const marker = /\d/.test(item[2]) ? item[2] : "•";
      extend(start + item[0].length, end, { kind: "item", marker, depth: Math.min(Math.floor(item[1].length / 2), 4) });
    } else if (line.trimStart().startsWith("|")) {
      if (open && open.kind !== "pre") close();
      extend(start, end, { kind: "pre" });
    } else if (line.trim()) {
      if (open?.kind === "pre") close();
      extend(start, end, { kind: "p" });
    }
  }
  close();
  for (const block of blocks) {
    const cut = text.slice(block.start, block.end);
    block.end = block.start + cut.trimEnd().length;
  }
  return blocks;
}

function inline(text, spans, start, end) {
  const nodes = [];
  let done = start;
  for (const found of text.slice(start, end).matchAll(INLINE)) {
    const at = start + found.index;
    const [code, strong, label] = found.slice(1);
    const inner = code ?? strong ?? label;
    const from = at + found[0].indexOf(inner, code !== undefined ? 1 : strong !== undefined ? 2 : 1);
    nodes.push(...marked(text, spans, done, at));
    const children = code !== undefined
      ? marked(text, spans, from, from + inner.length)
      : inline(text, spans, from, from + inner.length);
    if (code !== undefined) nodes.push(element("code", {}, ...children));
    else if (strong !== undefined) nodes.push(element("strong", {}, ...children));
    else nodes.push(...children);
    done = at + found[0].length;
  }
  return [...nodes, ...marked(text, spans, done, end)];
}

/** A part of a text, with what the server found there marked. */
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

/** The server counts characters, a browser counts halves of some of them. */
function unitsOf(text, spans) {
  if (!/[\ud800-\udbff]/.test(text)) return spans;
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  return spans.map((span) => span.map((place) => places[place]));
}

/** A passage that is cut has a button, and begins near the first word that was sought. */
export function fit(hits) {
  for (const passage of hits.querySelectorAll(".passage:not(.open)")) {
    passage.nextElementSibling.hidden = passage.scrollHeight <= passage.clientHeight + 2;
    const sought = passage.querySelector("mark")?.offsetTop ?? 0;
    passage.scrollTop = sought > passage.clientHeight * 0.6 ? sought - passage.clientHeight * 0.4 : 0;
    passage.classList.toggle("within", passage.scrollTop > 0);
  }
}
