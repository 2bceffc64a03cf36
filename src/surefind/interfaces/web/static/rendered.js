// Builds what the server rendered: trees of known elements and text nodes, never markup.

import { element } from "/static/dom.js";

const TAGS = new Set(("p ul ol li blockquote pre code strong b em i s kbd sub sup br hr mark table thead tbody tr th td")
  .split(" "));
const CLASSES = new Set(["file"]);

/** Headings of a passage look like headings, but the page has its own outline. */
export function built(nodes) {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    const [tag, attributes, ...inside] = node;
    if (/^h[1-6]$/.test(tag)) return element("p", { className: "heading" }, ...built(inside));
    const made = element(TAGS.has(tag) ? tag : "span", {}, ...built(inside));
    if (CLASSES.has(attributes.class)) made.className = attributes.class;
    if (tag === "ol" && /^\d{1,9}$/.test(attributes.start)) made.start = Number(attributes.start);
    // A wide table scrolls by itself, also by keyboard.
    return tag === "table" ? element("div", { className: "table", tabIndex: 0, role: "region", ariaLabel: "Table" }, made) : made;
  });
}
