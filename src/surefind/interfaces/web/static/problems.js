// Error messages: the problem and the next step.

import { keep, key } from "/static/api.js";
import { button, byId, element } from "/static/dom.js";

const HINTS = {
  unreachable: "Start it again with “surefind serve”, then try again.",
  rate_limited: "Wait a moment, then try again.",
  upstream_error: "Keyword search works without it.",
  service_unavailable: "It may work again in a moment.",
  validation_error: "Change the question or its filters.",
};

/** The problem, and what to do next. */
export function problemOf({ status: code, error = "error", message = "Something went wrong on this page.", wait_s: wait }, again, ways = {}) {
  if (code === 401) return [keyForm(message, again)];
  if (code === 404) return [element("h2", {}, "Nothing here yet"), element("p", {}, message), button("Try again", again)];
  const hint = wait > 1 ? `Wait ${wait} s, then try again.` : (HINTS[error] ?? "");
  const nodes = [element("h2", {}, "That did not work"), element("p", {}, message)];
  if (hint) nodes.push(element("p", {}, hint));
  nodes.push(element("code", {}, error));
  const line = element("p", { className: "line" }, button("Try again", again));
  if (message.startsWith("where:") && ways.unfiltered) line.append(button("Remove the filters", ways.unfiltered));
  if (error === "upstream_error" && ways.words) line.append(button("Search by words", ways.words));
  return [...nodes, line];
}

function keyForm(message, again) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: false, required: true });
  const made = element("form", { className: "key" },
    element("h2", {}, "This server requires a key"),
    element("p", {}, "The key is kept in this tab only, until you close it. The server’s operator creates keys with “surefind keys create”."),
    element("div", { className: "line" }, element("label", {}, "Key", input), element("button", { type: "submit", className: "strong" }, "Use it")));
  if (key()) made.append(element("p", { className: "bad" }, `The key was refused: ${message}.`));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    keep(input.value.trim());
    byId("forget").hidden = false;
    again();
  });
  return made;
}
