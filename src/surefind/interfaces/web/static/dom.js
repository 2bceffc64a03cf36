// Builds elements. Content from the server becomes text nodes, never markup.

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

/** A list of terms and their descriptions. */
export function described(pairs, className = "") {
  const rows = pairs.map(([term, description]) =>
    element("div", {}, element("dt", {}, term), element("dd", {}, ...[description].flat())));
  return element("dl", { className }, ...rows);
}

/** A number that is unknown is null. */
export const counted = (number, thing) =>
  number === null ? `unknown number of ${thing}s` : `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

export const milliseconds = (value) => `${value.toFixed(1)} ms`;

/** The URL, if it is safe as a link. */
export const placeOf = (url) => /^https?:\/\//i.test(url) ? url : "";

/** The link of a hit. Unpublished pages open on this server, even behind a proxy. */
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
  const text = moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return element("time", { dateTime: iso, title: iso }, text);
}

/** Reads or writes browser storage. The page also works without it. */
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
