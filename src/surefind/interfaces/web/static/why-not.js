// Why a page that somebody expected is not among the passages.

import { ask } from "/static/api.js";
import { byId, described, element, knownAs, placeOf } from "/static/dom.js";

const [section, form, wanted, cause] = ["missing", "why-not", "wanted", "cause"].map(byId);
const CAUSES = {
  found: ["It is there", "You find it among the passages above."],
  absent: ["It is not in the collection", "Check its spelling, and whether the page was ingested: an address, a file’s path or a passage’s id will do."],
  filtered: ["A filter leaves it out", "Remove that filter to see it."],
  below_threshold: ["It is not similar enough", "Take the threshold out of the address to see it."],
  folded: ["It says the same as a passage that is shown", "It stands under “The same in”."],
  grouped: ["Its page has its places already", "Ask for more passages of one page."],
  over_budget: ["It did not fit any more", "Allow more tokens."],
  lost: ["The approximate index misses it", "An exact search finds it; “surefind ingest --rebuild” builds the index anew."],
  outranked: ["Others are nearer to the question", "Ask with words that the page itself uses, or look at what stands before it."],
};

let request; // what the passages above are an answer to

export function useWhyNot() {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { ...request, wanted: knownAs(wanted.value.trim()) };
    if (!body.wanted) return wanted.focus();
    cause.replaceChildren(element("p", { className: "quiet" }, "Looking…"));
    try {
      const answer = await ask("/retrieve/why-not", { body });
      if (body.query === request?.query) show(answer);
    } catch ({ error = "error", message = "Something went wrong on this page." }) {
      cause.replaceChildren(element("p", { className: "bad" }, message, " ", element("code", {}, error)));
    }
  });
}

/** For the search that is shown; for none, it goes away. */
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
    facts.push(["the last before it", element("ul", {}, ...links)]);
  }
  cause.replaceChildren(
    element("h3", {}, headline),
    element("p", {}, message[0].toUpperCase() + message.slice(1) + ". ", next),
    ...(facts.length ? [described(facts, "facts")] : []),
  );
}

const linkTo = (url, label) => element("a", { href: placeOf(url) }, label);
