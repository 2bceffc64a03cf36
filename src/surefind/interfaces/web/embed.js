// A search box for any site: <script src="https://search.example.com/embed.js" data-key="…"></script>
// It lives in a shadow root, brings its styles as a constructed sheet, and loads nothing else, so a
// site with a strict policy needs only script-src and connect-src for the service. Content from the
// service becomes text nodes, never markup.
(() => {
  "use strict";

  const script = document.currentScript;
  if (!script?.src || document.querySelector("surefind-search")) return;
  const service = new URL(script.src).origin;
  const options = { ...window.surefind, ...script.dataset };
  const PAUSE_MS = 200;
  const NOTES_MS = 1200; // without typing, before notes are shown
  const AROUND = 90; // letters before the first word of the query
  const LENGTH = 260;
  const TOP_K = 8;
  const PER_PAGE = 3; // passages of one page
  const RECENT = 5;
  const RECENT_KEY = "surefind.recent";
  const BLOCKS = new Set("p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre table tr th td br hr".split(" "));
  const MAC = /mac|iphone|ipad/i.test(navigator.platform);

  // In pixels, because sites give rem other sizes.
  const STYLES = `
    :host {
      color-scheme: light dark;
      --accent: var(--surefind-accent, light-dark(#0f6a62, #6fd1c1));
      --ground: var(--surefind-background, light-dark(#fff, #1b2023));
      --ink: var(--surefind-text, light-dark(#1d2327, #e3e7e8));
      --quiet: color-mix(in srgb, var(--ink) 72%, var(--ground));
      --line: color-mix(in srgb, var(--ink) 16%, var(--ground));
      --tint: color-mix(in srgb, var(--accent) 12%, var(--ground));
      --round: var(--surefind-radius, 12px);
      font: 16px/1.5 var(--surefind-font, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
    }
    :host([data-theme="light"]) { color-scheme: light; }
    :host([data-theme="dark"]) { color-scheme: dark; }
    * { box-sizing: border-box; font: inherit; }
    h2, p, ol { margin: 0; padding: 0; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    .open {
      display: inline-flex; align-items: center; gap: .6em; padding: .45em .9em; border: 1px solid var(--line);
      border-radius: 99px; background: var(--ground); color: var(--ink); font-size: .9em; cursor: pointer;
    }
    .open:hover { border-color: var(--accent); }
    .open.floating { position: fixed; right: 20px; bottom: 20px; z-index: 2147483000; box-shadow: 0 4px 18px #0003; }
    .open svg { flex: none; }
    kbd { padding: 0 .4em; border: 1px solid var(--line); border-radius: 5px; color: var(--quiet); font-size: .8em; }
    dialog {
      --above: min(12dvh, 96px);
      width: min(var(--surefind-width, 672px), calc(100vw - 24px)); max-height: min(640px, calc(100dvh - var(--above) - 24px));
      margin: var(--above) auto auto; padding: 0; border: 1px solid var(--line); border-radius: var(--round);
      background: var(--ground); color: var(--ink); box-shadow: 0 24px 70px #0006; overflow: hidden;
    }
    dialog[open] { display: flex; flex-direction: column; }
    dialog::backdrop { background: #0b10128c; }
    .field { display: flex; align-items: center; gap: 11px; padding: 14px 18px; border-bottom: 1px solid var(--line); }
    .field svg { flex: none; color: var(--quiet); }
    input { flex: 1; min-width: 0; border: 0; background: none; color: inherit; font-size: 1.08em; outline: none; }
    input:focus-visible { outline: none; }
    input::placeholder { color: var(--quiet); opacity: 1; }
    .field:focus-within { box-shadow: inset 0 -2px var(--accent); }
    .close { padding: .15em .6em; border: 1px solid var(--line); border-radius: 6px; background: none; color: var(--quiet); font-size: .8em; cursor: pointer; }
    .found { flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; }
    .status { padding: 11px 18px; color: var(--quiet); font-size: .88em; }
    .status:empty, .notes:empty { display: none; }
    .notes { padding: 0 18px 11px; color: var(--quiet); font-size: .88em; overflow-wrap: anywhere; }
    .status.bad { color: light-dark(#a1261d, #ff9a8f); }
    ol { list-style: none; padding: 0 8px 8px; }
    ol:empty { display: none; }
    .found[aria-busy="true"] ol { opacity: .55; }
    a { display: block; padding: 10px 11px; border-radius: calc(var(--round) - 4px); color: inherit; text-decoration: none; overflow-wrap: anywhere; }
    a:hover, a:focus { background: var(--tint); }
    .page-title { padding: 11px 11px 2px; color: var(--quiet); font-size: .8em; font-weight: 600; }
    .page a { margin-left: 11px; border-left: 2px solid var(--line); border-radius: 0 calc(var(--round) - 4px) calc(var(--round) - 4px) 0; padding: 7px 11px; }
    .recent { display: block; width: 100%; padding: 8px 11px; border: 0; border-radius: calc(var(--round) - 4px); background: none; color: inherit; text-align: left; cursor: pointer; overflow-wrap: anywhere; }
    .recent:is(:hover, :focus) { background: var(--tint); }
    .forget { color: var(--quiet); font-size: .85em; }
    .trail:empty { display: none; }
    .title { color: var(--accent); font-weight: 600; }
    .trail { color: var(--quiet); font-size: .78em; }
    .text { margin-top: 2px; font-size: .88em; color: var(--quiet); }
    mark { padding: 0 .08em; border-radius: 3px; background: light-dark(#ffe8a3, #564410); color: light-dark(#3b2f00, #ffedb3); }
    .keys { display: flex; gap: 18px; padding: 8px 18px; border-top: 1px solid var(--line); color: var(--quiet); font-size: .78em; }
    @media (hover: none) { .keys, .open kbd { display: none; } }
  `;

  // --- building -------------------------------------------------------------------------------

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function glass() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const set = { viewBox: "0 0 24 24", width: "18", height: "18", fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round", "aria-hidden": "true" };
    for (const [name, value] of Object.entries(set)) svg.setAttribute(name, value);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 20 20");
    svg.append(path);
    return svg;
  }

  const label = options.label || "Search";
  const opener = element("button", { type: "button", className: "open" }, glass(), label);
  if (options.shortcut !== "off") {
    opener.append(element("kbd", { ariaHidden: "true" }, MAC ? "⌘ K" : "Ctrl K"));
    opener.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
  }
  const input = element("input", {
    type: "text", placeholder: options.placeholder || "Ask the documentation", ariaLabel: label,
    autocomplete: "off", autocapitalize: "none", spellcheck: false, enterKeyHint: "search", maxLength: 2000,
  });
  const status = element("p", { className: "status", role: "status" });
  const list = element("ol", { ariaLabel: "Passages" });
  const notes = element("div", { className: "notes", role: "status" });
  const found = element("div", { className: "found", ariaBusy: "false" }, status, notes, list);
  const close = element("button", { type: "button", className: "close" }, "Close");
  const keys = element("p", { className: "keys", ariaHidden: "true" });
  for (const [key, what] of [["↓ ↑", "move"], ["Enter", "open"], ["Esc", "close"]]) {
    keys.append(element("span", {}, element("kbd", {}, key), ` ${what}`));
  }
  const dialog = element("dialog", { ariaLabel: label }, element("div", { className: "field" }, glass(), input, close), found, keys);

  // --- searching ------------------------------------------------------------------------------

  let timer; // of the pause in typing
  let later; // timer of the notes
  let request;
  let answered = null; // the question of the passages that are shown
  let blocked = false; // by the content security policy of this page

  async function search({ typing = false } = {}) {
    clearTimeout(timer);
    clearTimeout(later);
    request?.abort();
    const query = input.value.trim();
    if (!query) {
      request = null;
      found.ariaBusy = "false";
      return showRecent();
    }
    const mine = (request = new AbortController());
    found.ariaBusy = "true";
    try {
      const answer = await retrieve(query, mine.signal);
      if (mine !== request) return;
      show(sentence(answer.hits.length, query), pagesOf(answer.hits));
      answered = query;
      later = setTimeout(() => notes.replaceChildren(...notesOf(answer)), typing ? NOTES_MS : 0);
    } catch (problem) {
      if (mine === request && problem.name !== "AbortError") show(problem.message, [], true);
    }
    if (mine === request) found.ariaBusy = "false";
  }

  function notesOf(answer) {
    const thin = answer.hits.length && answer.confidence?.evidence === "thin";
    const verdict = thin ? ["The evidence is thin: the documentation may not cover this"] : [];
    return [...answer.notes, ...verdict].map((note) => element("p", {}, `${note}.`));
  }

  const sentence = (number, query) =>
    number ? `${number} passage${number === 1 ? "" : "s"} for “${query}”` : `Nothing found for “${query}”. Try other words.`;

  async function retrieve(query, signal) {
    const body = {
      query, top_k: Number(options.topK) || TOP_K, mode: options.mode || "hybrid", highlight: true, rendered: true,
      ...(options.group !== "off" && { group_by: "document", group_size: PER_PAGE }),
      ...(options.collection && { collection: options.collection }), ...where(),
    };
    const headers = { "Content-Type": "application/json", ...(options.key && { Authorization: `Bearer ${options.key}` }) };
    let response;
    try {
      response = await fetch(`${service}/retrieve`, { method: "POST", headers, body: JSON.stringify(body), signal, credentials: "omit" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(await unreachable());
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok && answer.hits) return answer;
    if (response.status === 401) complain("it requires a key: create one with scope read, and set it as data-key");
    else complain(`${response.status} ${answer.message ?? ""}`);
    if (response.status === 429) throw new Error("Too many searches. Wait a moment, then try again.");
    if (response.status === 400) throw new Error(`The search can’t run this query: ${answer.message}`);
    throw new Error("The search is not working. Try again later.");
  }

  function where() {
    if (!options.where) return {};
    if (typeof options.where === "object") return { where: options.where };
    try {
      return { where: JSON.parse(options.where) };
    } catch {
      complain("data-where is not valid JSON, so it is ignored");
      return {};
    }
  }

  /** Browsers hide the cause of a failed request, so a second request finds it. */
  async function unreachable() {
    try {
      await fetch(`${service}/live`, { mode: "no-cors", credentials: "omit" });
    } catch {
      await new Promise((done) => setTimeout(done, 50)); // the violation event comes a little later
      if (blocked) {
        complain(`the content security policy of this page blocks it: add ${service} to connect-src`);
        return "This page is not allowed to reach the search.";
      }
      complain("it does not respond");
      return "The search does not respond. Try again later.";
    }
    complain(`it does not allow this site: start it with SUREFIND_CORS_ORIGINS=${location.origin} (the setting cors_origins)`);
    return `The search does not allow this site yet. Its owner must add ${location.origin} to cors_origins.`;
  }

  const complain = (what) => console.error(`surefind: ${service}: ${what}`);

  // --- displaying ------------------------------------------------------------------------------

  function show(message, hits = [], bad = false) {
    answered = null;
    status.textContent = message;
    status.classList.toggle("bad", bad);
    notes.replaceChildren();
    const within = list.contains(list.getRootNode().activeElement);
    list.replaceChildren(...hits);
    if (within) input.focus(); // the focused element was removed
    found.scrollTop = 0;
    if (!message) found.ariaBusy = "false";
  }

  /** In the order of their best passages. A page with one passage has no heading of its own. */
  function pagesOf(hits) {
    const pages = new Map();
    for (const hit of hits) {
      const page = options.group === "off" ? hit.chunk_id : `${hit.collection}/${hit.source_path || hit.chunk_id}`;
      pages.set(page, [...(pages.get(page) ?? []), hit]);
    }
    return [...pages.values()].map((found) => {
      const passages = found.map((hit) => passageOf(hit, found.length > 1));
      if (passages.length === 1) return element("li", {}, passages[0]);
      return element("li", { className: "page" },
        element("div", { className: "page-title" }, found[0].title || found[0].source_path), ...passages);
    });
  }

  function passageOf({ url, read_path: readPath, chunk_id: passage, title, source_path: path, section, section_highlights: marks, breadcrumb, rendered }, underTitle) {
    const name = section ? marked(section, unitsOf(section, marks)) : [title || path];
    const titles = breadcrumb.slice(0, breadcrumb.length - section.length).split(" > ").filter(Boolean);
    const above = (underTitle ? titles.slice(1) : titles).join(" › ");
    const link = element("a", {},
      element("div", { className: "trail" }, above),
      element("div", { className: "title" }, ...name),
      element("div", { className: "text" }, ...excerpt(piecesOf(rendered), marks.length > 0)));
    const [page, anchor] = readPath.split("#");
    const place = url.endsWith(readPath) ? `${service}${page}?passage=${encodeURIComponent(passage)}${anchor ? `#${anchor}` : ""}` : url;
    if (/^https?:\/\//i.test(place)) link.href = place;
    link.addEventListener("click", () => remember(input.value.trim()));
    return link;
  }

  /** The text of a rendered passage as [text, whether it matches the query]. */
  function piecesOf(nodes, sought = false) {
    return nodes.flatMap((node) => {
      if (typeof node === "string") return [[node.replace(/\s+/g, " "), sought]];
      const [tag, , ...inside] = node;
      const within = piecesOf(inside, sought || tag === "mark");
      return BLOCKS.has(tag) ? [[" ", false], ...within, [" ", false]] : within;
    });
  }

  /** A part of the passage: its start if the heading matches, or else from a little before the first match. */
  function excerpt(pieces, fromStart) {
    let text = "";
    const spans = [];
    for (const [piece, sought] of pieces) {
      const part = /(^|\s)$/.test(text) ? piece.trimStart() : piece;
      if (sought) spans.push([text.length, text.length + part.length]);
      text += part;
    }
    const first = spans[0]?.[0] ?? 0;
    let start = !fromStart && first > LENGTH / 2 ? first - AROUND : 0;
    if (start) start += text.slice(start, first).search(/\s/) + 1;
    let end = Math.min(text.length, start + LENGTH);
    if (end < text.length) end = start + text.slice(start, end).replace(/\s\S*$/, "").length;
    return [start ? "… " : "", ...marked(text, spans, start, end), end < text.trimEnd().length ? " …" : ""];
  }

  function marked(text, spans, start = 0, end = text.length) {
    const nodes = [];
    let done = start;
    for (const [from, to] of spans) {
      if (from < done || to > end) continue;
      nodes.push(text.slice(done, from), element("mark", {}, text.slice(from, to)));
      done = to;
    }
    return [...nodes, text.slice(done, end)];
  }

  /** The service counts characters, a browser counts halves of some of them. */
  function unitsOf(text, spans) {
    if (!/[\ud800-\udbff]/.test(text)) return spans;
    const places = [0];
    for (const character of text) places.push(places.at(-1) + character.length);
    return spans.map((span) => span.map((place) => places[place]));
  }

  // --- recent searches ------------------------------------------------------------------------

  /** Kept in this browser only; where it keeps nothing, there are none. */
  function recent() {
    try {
      const kept = JSON.parse(localStorage.getItem(RECENT_KEY) ?? "[]");
      return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, RECENT) : [];
    } catch {
      return [];
    }
  }

  function keepRecent(questions) {
    try {
      if (questions.length) localStorage.setItem(RECENT_KEY, JSON.stringify(questions.slice(0, RECENT)));
      else localStorage.removeItem(RECENT_KEY);
    } catch {
      // Forbidden by the visitor's settings.
    }
  }

  function remember(question) {
    if (question && options.recent !== "off") keepRecent([question, ...recent().filter((one) => one !== question)]);
  }

  function showRecent() {
    const questions = options.recent === "off" ? [] : recent();
    const items = questions.map((question) => {
      const again = element("button", { type: "button", className: "recent" }, question);
      again.addEventListener("click", () => {
        input.value = question;
        input.focus();
        search();
      });
      return element("li", {}, again);
    });
    if (items.length) {
      const forget = element("button", { type: "button", className: "recent forget" }, "Forget these");
      forget.addEventListener("click", () => {
        keepRecent([]);
        showRecent();
        input.focus();
      });
      items.push(element("li", {}, forget));
    }
    show(items.length ? "Recent searches" : "", items);
  }

  // --- the visitor ----------------------------------------------------------------------------

  function open() {
    if (!dialog.open) dialog.showModal();
    if (!input.value.trim()) showRecent();
    input.focus();
    input.select();
  }

  const choices = () => [...list.querySelectorAll("a, button")];

  function move(to) {
    const all = choices();
    if (to < 0) return input.focus();
    const next = all[Math.min(to, all.length - 1)];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  }

  /** Enter searches. If the results are already shown, it opens the best passage. */
  function enter() {
    if (answered !== null && answered === input.value.trim()) list.querySelector("a")?.click();
    else search();
  }

  function actionOf(key) {
    const active = list.getRootNode().activeElement;
    const at = choices().indexOf(active);
    if (key === "Enter") return active === input ? enter : null;
    if (key === "ArrowDown") return () => move(at + 1);
    if (key === "ArrowUp") return () => move(at - 1);
    if (at < 0) return null; // in the field, the other keys edit
    return { Home: () => move(0), End: () => move(Infinity), Backspace: () => input.focus(), "/": () => input.focus() }[key];
  }

  opener.addEventListener("click", open);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // on the backdrop
  });
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the site's own shortcuts do not apply here
    if (event.isComposing) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actionOf(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search({ typing: true }), PAUSE_MS);
  });
  addEventListener("keydown", (event) => {
    const wanted = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k";
    if (!wanted || options.shortcut === "off") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    open();
  }, true);
  document.addEventListener("securitypolicyviolation", (event) => {
    if (event.blockedURI.startsWith(service) && event.effectiveDirective === "connect-src") blocked = true;
  });

  // --- placement -----------------------------------------------------------------------------

  const host = document.createElement("surefind-search");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  root.append(opener, dialog);

  /** The option decides, then the theme of the site, then the system. */
  function follow() {
    const ofMaterial = { slate: "dark", default: "light" }[document.body.dataset.mdColorScheme];
    const theme = [options.theme, document.documentElement.dataset.theme, ofMaterial].find((one) => one === "dark" || one === "light");
    if (theme) host.dataset.theme = theme;
    else delete host.dataset.theme;
  }

  function place() {
    const target = options.target ? document.querySelector(options.target) : null;
    if (options.target && !target) complain(`this page has no element ${options.target}, so the button floats`);
    opener.classList.toggle("floating", !target);
    (target ?? document.body).append(host);
    follow();
    const changes = new MutationObserver(follow);
    changes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    changes.observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", place);
  else place();
})();
