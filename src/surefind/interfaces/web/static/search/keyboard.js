// Keyboard shortcuts.

import { byId, stored } from "/static/dom.js";
import { filtersAreOpen, toggleFilters } from "/static/search/filters.js";

const [field, hits, list, single] = ["question", "hits", "keys", "single-keys"].map(byId);
const OFF = "surefind.single-keys";

function move(step) {
  const links = [...hits.querySelectorAll(":is(h2, h3) a")];
  const at = links.findIndex((link) => link.closest("li") === document.activeElement?.closest("li.hit"));
  if (step < 0 && at <= 0) return field.focus();
  const next = links[Math.min(at + step, links.length - 1)];
  next?.focus({ preventScroll: true });
  next?.closest("li").scrollIntoView({ block: "nearest" });
}

function explain() {
  const summary = document.activeElement?.closest(".hit")?.querySelector(":scope > .score summary");
  summary?.click();
}

/** The action of a key; null while the visitor types text. */
function actionOf(key, target) {
  const writes = target.matches("input:not([type=radio], [type=checkbox]), select, textarea");
  const among = target === field || hits.contains(target);
  if (key === "ArrowDown" && among) return () => move(1);
  if (key === "ArrowUp" && among) return () => move(-1);
  if (key === "Escape") return escape(target);
  if (writes || !single.checked) return null;
  const shown = field.checkVisibility();
  return {
    "/": () => (shown ? (field.focus(), field.select()) : byId("to-search").click()),
    "?": () => list.showModal(),
    j: shown && (() => move(1)),
    k: shown && (() => move(-1)),
    e: shown && explain,
    f: shown && (() => toggleFilters()),
  }[key];
}

function escape(target) {
  if (filtersAreOpen() && byId("filters").contains(target)) return () => toggleFilters(false);
  if (target === field || !field.checkVisibility()) return null;
  return () => (field.focus(), field.select());
}

export function useKeyboard() {
  single.checked = stored("localStorage", OFF) !== "off";
  single.addEventListener("change", () => stored("localStorage", OFF, single.checked ? null : "off"));
  byId("show-keys").addEventListener("click", () => list.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return; // it handles keys itself
    const action = actionOf(event.key, event.target);
    if (!action) return;
    event.preventDefault();
    action();
  });
}
