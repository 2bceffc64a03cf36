// Explains why an expected page is not among the passages.

import { ask } from "/static/api.js";
import { byId, described, element, knownAs, placeOf } from "/static/dom.js";

const [section, form, wanted, cause] = ["missing", "why-not", "wanted", "cause"].map(byId);
const CAUSES = {
  found: ["It is there", "It is among the passages above."],
  absent: ["It is not in the collection", "Check the spelling, and whether the page was ingested. Enter a URL, a file path or a passage ID."],
  filtered: ["A filter excludes it", "Remove that filter to see it."],
  below_threshold: ["It is not similar enough", "Remove the threshold from the URL to see it."],
  folded: ["It is a duplicate of a passage that is shown", "It is listed under “The same in”."],
  grouped: ["Its page already has its maximum of passages", "Turn off “By page” to see it."],
  over_budget: ["It does not fit into the token limit", "Allow more tokens."],
  lost: ["The approximate index misses it", "An exact search finds it; “surefind ingest --rebuild” rebuilds the index."],
  outranked: ["Other passages rank higher", "Use words from the page itself, or compare it with the passages above it."],
};

let request; // of the passages above

export function useWhyNot() {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { ...request, wanted: knownAs(wanted.value.trim()) };
    if (!body.wanted) return wanted.focus();
    cause.replaceChildren(element("p", { className: "quiet" }, "Searching…"));
    try {
      const answer = await ask("/retrieve/why-not", { body });
      if (body.query === request?.query) show(answer);
    } catch ({ error = "error", message = "Something went wrong on this page." }) {
      cause.replaceChildren(element("p", { className: "bad" }, message, " ", element("code", {}, error)));
    }
  });
}

/** For the search that is shown; hidden if there is none. */
export function askWhyNot(body) {
  request = body;
  section.hidden = !body;
  cause.replaceChildren();
}

function show({ cause: name, message, rank, score, similarity, chunk, ahead }) {
  const [headline, next] = CAUSES[name] ?? [name, ""];
  const facts = [];
  if (chunk) facts.push(["passage", linkTo(chunk.url, chunk.breadcrumb.replaceAll(" > ", " › "))]);
  if (rank) facts.push(["rank", String(rank)]);
  if (score !== null) facts.push(["score", score.toFixed(3)]);
  if (similarity !== null) facts.push(["cosine", similarity.toFixed(3)]);
  if (ahead.length && name === "outranked") {
    const links = ahead.map((hit) => element("li", {}, `${hit.rank}. `, linkTo(hit.url, hit.breadcrumb.replaceAll(" > ", " › ") || hit.source_path), ` with ${hit.score.toFixed(3)}`));
    facts.push(["ranked just above it", element("ul", {}, ...links)]);
  }
  cause.replaceChildren(
    element("h3", {}, headline),
    element("p", {}, message[0].toUpperCase() + message.slice(1) + ". ", next),
    ...(facts.length ? [described(facts, "facts")] : []),
  );
}

const linkTo = (url, label) => element("a", { href: placeOf(url) }, label);
