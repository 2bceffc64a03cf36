// Making elements. Whatever comes from the server becomes text nodes, never markup.

const UNPUBLISHED = "surefind://";

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function button(label, action, properties = {}) {
  const made = element("button", { type: "button", ...properties }, label);
  made.addEventListener("click", action);
  return made;
}

/** A list of terms and what is said of each. */
export function described(pairs, className = "") {
  const rows = pairs.map(([term, told]) =>
    element("div", {}, element("dt", {}, term), element("dd", {}, ...[told].flat())));
  return element("dl", { className }, ...rows);
}

/** What nobody has counted is told as null. */
export const counted = (number, thing) =>
  number === null ? `${thing}s nobody has counted` : `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

export const milliseconds = (value) => `${value.toFixed(1)} ms`;

/** The URL, if it is safe as a link. */
export const placeOf = (url) => /^https?:\/\//i.test(url) ? url : "";

/** Where a hit is read. Unpublished pages are read here, even if a proxy hides this server's name. */
export function placeOfHit({ url, read_path: path, chunk_id: passage }) {
  if (!url.endsWith(path)) return placeOf(url) || path;
  const [page, anchor] = path.split("#");
  return `${page}?passage=${encodeURIComponent(passage)}${anchor ? `#${anchor}` : ""}`;
}

/** The URL of a page in this server's reader, as the collection stores it. */
export function knownAs(address) {
  const here = `${location.origin}/read/`;
  return address.startsWith(here) ? UNPUBLISHED + address.slice(here.length) : address;
}

export function when(iso) {
  if (!iso) return "";
  const moment = new Date(iso);
  const told = moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return element("time", { dateTime: iso, title: iso }, told);
}

/** What a browser keeps for the page; where it keeps nothing, the page still works. */
export function stored(storage, name, ...values) {
  try {
    if (!values.length) return window[storage].getItem(name);
    if (values[0] === null) window[storage].removeItem(name);
    else window[storage].setItem(name, values[0]);
  } catch {
    // Forbidden by the visitor's settings.
  }
  return values[0] ?? null;
}
