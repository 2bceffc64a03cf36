
"use strict";
{
  // The table of all tests. Rows are created from the page's JSON as they are shown.
  const SIZE = 50;
  const data = JSON.parse(document.getElementById("data").textContent);
  const FIELDS = ["id", "query", "outcome", "kind", "category", "cause", "message", "measures",
    "similarity", "latency", "sought", "found", "changed"];
  const tests = data.tests.map((row, place) => {
    const test = Object.fromEntries(FIELDS.map((name, at) => [name, row[at]]));
    test.place = place;
    test.value = test.measures.length ? test.measures[0] : null;
    test.hits = [];
    for (let at = 0; at < test.found.length; at += 3) {
      const [number, score, similarity] = test.found.slice(at, at + 3);
      test.hits.push([number, score / 1000, similarity === null ? null : similarity / 1000]);
    }
    test.words = `${test.id} ${test.query} ${test.message}`.toLowerCase();
    return test;
  });
  const first = data.measures[0];
  const state = { text: "", outcome: "", category: "", cause: "", changed: "", key: "place", down: false, page: 0 };
  const MARKS = { passed: "✓", failed: "✗", error: "!" };

  function make(name, properties = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in element) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }
  const spaced = word => word.replaceAll("_", " ");
  const shown = (value, digits) => value === null ? "" : value.toFixed(digits);

  function badge(word) {
    const mark = make("span", { "aria-hidden": "true" }, MARKS[word] || "?");
    return make("span", { className: `badge ${word}` }, mark, ` ${spaced(word)}`);
  }

  function chosen() {
    const wanted = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = tests.filter(test =>
      (!state.outcome || (state.outcome === "bad" ? test.outcome !== "passed" : test.outcome === state.outcome))
      && (!state.category || test.category === state.category)
      && (!state.cause || test.cause === state.cause)
      && (!state.changed || test.changed === state.changed)
      && wanted.every(word => test.words.includes(word)));
    const sign = state.down ? -1 : 1;
    return kept.sort((one, other) => {
      const [a, b] = [one[state.key], other[state.key]];
      if (a === null || b === null) return (a === null) - (b === null) || one.place - other.place;
      const order = typeof a === "string" ? a.localeCompare(b) : a - b;
      return sign * order || one.place - other.place;
    });
  }

  // --- one test ------------------------------------------------------------------------------

  function passage(number) {
    const words = data.chunks[number][3];
    return words ? [make("blockquote", {}, words)] : [];
  }

  function place(number) {
    const [id, url, where] = data.chunks[number];
    return url ? make("a", { href: url, rel: "noreferrer noopener" }, where || id) : where || id;
  }

  function expected([expectation, grade, rank, stale, message, nearest]) {
    const shown = stale ? "no longer in the collection" : rank ? `found at rank ${rank}` : message || "not found";
    const graded = grade > 1 ? ` (grade ${grade})` : "";
    return make("li", {}, `${expectation}${graded}: `, make("span", { className: "quiet" }, shown),
      ...(nearest >= 0 ? passage(nearest) : []));
  }

  function came(test, [number, score, similarity], at) {
    const met = test.sought.some(one => one[2] === at + 1) ? " · expected" : "";
    const alike = similarity === null ? "" : `, similarity ${shown(similarity, 3)}`;
    return make("li", {}, place(number),
      make("span", { className: "quiet" }, ` score ${shown(score, 3)}${alike}${met}`), ...passage(number));
  }

  function inside(test) {
    const parts = [];
    if (test.message) parts.push(make("p", {}, test.message));
    if (test.sought.length) {
      parts.push(make("h3", {}, "Expected"), make("ul", {}, ...test.sought.map(expected)));
    } else if (test.kind === "negative") {
      parts.push(make("p", {}, "No answer: this is a negative test."));
    }
    if (test.hits.length) {
      parts.push(make("h3", {}, "Hits"), make("ol", {}, ...test.hits.map((hit, at) => came(test, hit, at))));
    }
    if (test.measures.length) {
      const values = data.measures.map((name, at) => `${name} ${shown(test.measures[at], 3)}`);
      parts.push(make("p", { className: "quiet" }, values.join(" · ")));
    }
    return make("div", { className: "inside" }, ...parts);
  }

  // --- the table -----------------------------------------------------------------------------

  const COLUMNS = [
    ["id", "test"], ["query", "query"], ["outcome", "outcome"], ["cause", "cause"],
    ...(tests.some(test => test.category) ? [["category", "category"]] : []),
    ...(first ? [["value", first]] : []),
    ["similarity", "best similarity"], ["latency", "ms"],
    ...(data.compared ? [["changed", "baseline"]] : []),
  ];
  const NUMBERS = new Set(["value", "similarity", "latency"]);

  function cell(test, key) {
    if (key === "outcome") return make("td", {}, badge(test.outcome));
    if (key === "value" || key === "similarity") return make("td", { className: "number" }, shown(test[key], 3));
    if (key === "latency") return make("td", { className: "number" }, shown(test.latency, 1));
    return make("td", {}, spaced(test[key]));
  }

  function row(test) {
    const opener = make("button", { type: "button", "aria-expanded": "false" }, test.query);
    const line = make("tr", {}, ...COLUMNS.map(([key]) => {
      if (key === "id") return make("th", { scope: "row" }, test.id);
      return key === "query" ? make("td", { className: "asked" }, opener) : cell(test, key);
    }));
    let more = null;
    opener.addEventListener("click", () => {
      if (more) {
        more.remove();
        more = null;
      } else {
        more = make("tr", {}, make("td", { colSpan: COLUMNS.length }, inside(test)));
        line.after(more);
      }
      opener.setAttribute("aria-expanded", String(Boolean(more)));
    });
    return line;
  }

  const body = make("tbody");
  const status = make("span", { role: "status" });
  const before = make("button", { type: "button" }, "Previous");
  const after = make("button", { type: "button" }, "Next");
  const heads = COLUMNS.map(([key, name]) => {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      if (state.key !== key) [state.key, state.down] = [key, false];
      else if (!state.down) state.down = true;
      else [state.key, state.down] = ["place", false];
      state.page = 0;
      draw();
    });
    return make("th", { scope: "col", className: NUMBERS.has(key) ? "number" : "" }, button);
  });

  function draw() {
    const kept = chosen();
    const last = Math.max(0, Math.ceil(kept.length / SIZE) - 1);
    state.page = Math.min(state.page, last);
    const start = state.page * SIZE;
    const part = kept.slice(start, start + SIZE);
    body.replaceChildren(...part.map(row));
    const count = number => number.toLocaleString("en");
    const whole = kept.length === tests.length ? `${count(tests.length)} tests` : `${count(kept.length)} of ${count(tests.length)} tests`;
    status.textContent = kept.length ? `${count(start + 1)} to ${count(start + part.length)}, ${whole}` : "No tests match.";
    before.disabled = state.page === 0;
    after.disabled = state.page === last;
    heads.forEach((head, at) => {
      if (COLUMNS[at][0] === state.key) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function chooser(name, label, values) {
    const options = [["", "all"], ...values];
    const select = make("select", {}, ...options.map(([value, words]) => make("option", { value }, words)));
    select.addEventListener("change", () => {
      [state[name], state.page] = [select.value, 0];
      draw();
    });
    return make("label", {}, label, select);
  }
  const kinds = key => [...new Set(tests.map(test => test[key]))].filter(Boolean).sort().map(value => [value, spaced(value)]);

  const text = make("input", { type: "search", autocomplete: "off" });
  let pause = 0;
  text.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      [state.text, state.page] = [text.value, 0];
      draw();
    }, 120);
  });
  const controls = make("div", { className: "controls", role: "search", "aria-label": "Filter the tests" },
    make("label", {}, "Search queries, tests and messages", text),
    chooser("outcome", "Outcome", [["bad", "not passed"], ...kinds("outcome")]));
  for (const [key, label] of [["cause", "Cause"], ["category", "Category"], ["changed", "Change from baseline"]]) {
    const values = kinds(key);
    if (values.length) controls.append(chooser(key, label, values));
  }
  const turn = step => () => {
    state.page += step;
    draw();
    document.getElementById("tests").scrollIntoView();
  };
  before.addEventListener("click", turn(-1));
  after.addEventListener("click", turn(1));

  const shownTable = make("table", {}, make("caption", { className: "hidden" }, "All tests"),
    make("thead", {}, make("tr", {}, ...heads)), body);
  if (tests.length) {
    document.getElementById("table").append(controls,
      make("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "Table of tests" }, shownTable),
      make("div", { className: "pager" }, before, after, status));
    draw();
  } else {
    document.getElementById("table").append(make("p", {}, "There were no tests."));
  }

  // Open all details for printing.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.test:not([open])")].slice(0, 10);
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });
}
