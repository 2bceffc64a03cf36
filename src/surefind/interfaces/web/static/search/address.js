// The address holds the whole search, so a search can be linked and Back works.

export const MODES = ["hybrid", "dense", "lexical"];
export const VIEWS = ["search", "collections", "gaps"];
const EXPRESSION = /^\s*([^=<>!^~]+?)\s*(>=|<=|!=|\^=|=|>|<)([^]*)$/;
const BOUNDS = { ">=": "gte", ">": "gt", "<=": "lte", "<": "lt" };

export function asked() {
  const given = new URLSearchParams(location.search);
  return {
    text: (given.get("q") ?? "").trim(),
    mode: MODES.includes(given.get("mode")) ? given.get("mode") : MODES[0],
    threshold: Number(given.get("threshold")) || 0,
    where: given.getAll("where"),
    byPage: given.get("group") !== "off",
    collection: given.get("collection") ?? "",
    view: VIEWS.includes(given.get("view")) ? given.get("view") : VIEWS[0],
  };
}

export function addressOf({ text = "", mode = MODES[0], threshold = 0, where = [], byPage = true, collection = "", view = "search" }) {
  const parts = new URLSearchParams();
  if (view !== "search") return `/?view=${view}`;
  if (text) parts.set("q", text);
  if (mode !== MODES[0]) parts.set("mode", mode);
  if (text && threshold) parts.set("threshold", threshold);
  if (!byPage) parts.set("group", "off");
  if (collection) parts.set("collection", collection);
  for (const expression of where) parts.append("where", expression);
  return String(parts) ? `/?${parts}` : "/";
}

/** `version=2.0`, as the command line reads it: [key, sign, value], or null. */
export function read(expression) {
  const found = EXPRESSION.exec(expression);
  return found && [found[1], found[2], found[3].trim()];
}

/** Expressions as `where` of a request. Several `=` conditions on one key are alternatives. */
export function filterOf(expressions) {
  const where = Object.create(null);
  for (const expression of expressions) {
    const [key, sign, value] = read(expression) ?? [expression, "=", ""];
    const wanted = (where[key] ??= {});
    if (sign === "=") (wanted.any ??= []).push(value);
    else if (sign === "!=") (wanted.not ??= []).push(value);
    else if (sign === "^=") wanted.under = value;
    else wanted[BOUNDS[sign]] = value;
  }
  return where;
}
