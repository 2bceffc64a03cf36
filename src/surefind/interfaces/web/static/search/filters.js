// Filters: chips for those in use, and a panel with the collection's fields and values.

import { ask } from "/static/api.js";
import { button, byId, element } from "/static/dom.js";
import { read } from "/static/search/address.js";

const [chips, panel, opener] = ["chips", "filters", "filter"].map(byId);
const MOST_BUTTONS = 12; // with more values, a field is only in the list below, as are numbers such as sidebar_position
const SIGNS = {
  text: [["=", "is"], ["!=", "is not"]],
  flag: [["=", "is"]],
  path: [["^=", "is under"], ["=", "is"], ["!=", "is not"]],
  number: [[">=", "is at least"], ["<=", "is at most"], ["=", "is"], ["!=", "is not"]],
  date: [[">=", "is not before"], ["<", "is before"]],
};
const WORDS = { "=": " is ", "!=": " is not ", "^=": " under ", ">=": " ≥ ", "<=": " ≤ ", ">": " > ", "<": " < " };
const NAMES = { content_type: "content", kind: "kind of page", source_path: "file", url: "address", locale: "language" };
const SAID_TWICE = new Set(["has_code"]); // the content type says it, too
const FOLDER = "source_path^=";

let offered; // the fields of a generation, from the server
let given = []; // the expressions in use
let change = () => {}; // called when the visitor changes them

const nameOf = (key) => NAMES[key] ?? key.replaceAll("_", " ");
const valueOf = (value) => ({ true: "yes", false: "no" })[value] ?? String(value);

function labelOf(expression) {
  const parts = read(expression);
  if (expression.startsWith(FOLDER)) return `folder ${parts[2]}`;
  return parts ? nameOf(parts[0]) + WORDS[parts[1]] + valueOf(parts[2]) : expression;
}

export function useFilters(whenChanged) {
  change = whenChanged;
  opener.addEventListener("click", () => toggleFilters());
}

export function toggleFilters(open = panel.hidden) {
  if (opener.hidden) return;
  panel.hidden = !open;
  opener.ariaExpanded = String(open);
  if (open) panel.querySelector("button, select")?.focus();
  else opener.focus();
}

export const filtersAreOpen = () => !panel.hidden;

/** The available fields; requested once per collection and generation, and again after a failure. */
export async function offerFilters(generation, collection) {
  if (offered?.generation === generation && offered.collection === collection) return;
  offered = { generation, collection, fields: [] };
  try {
    offered = await ask(`/fields?collection=${encodeURIComponent(collection)}`);
  } catch {
    offered = undefined; // searches work without it, and show the error
  }
  opener.hidden = !offered?.fields.length;
  drawPanel();
}

export function showFilters(where) {
  given = where;
  chips.hidden = !where.length;
  chips.replaceChildren(...where.map((expression, number) => {
    const chip = button(labelOf(expression), () => {
      change(given.filter((other) => other !== expression));
      (chips.querySelectorAll("button")[number] ?? chips.querySelector("button") ?? byId("question")).focus();
    }, { className: "chip", ariaLabel: `Remove the filter ${labelOf(expression)}` });
    return element("li", {}, chip);
  }));
  if (where.length > 1) chips.append(element("li", {}, button("Remove all", () => {
    change([]);
    byId("question").focus();
  }, { className: "link" })));
  opener.textContent = where.length ? `Filter (${where.length})` : "Filter";
  for (const toggle of panel.querySelectorAll("[aria-pressed]")) {
    toggle.ariaPressed = String(given.includes(toggle.dataset.expression));
  }
}

function drawPanel() {
  const fields = offered?.fields ?? [];
  const near = fields.filter(({ name, kinds, values }) =>
    values?.length > 1 && values.length <= MOST_BUTTONS && !SAID_TWICE.has(name) && kinds.some((kind) => kind !== "number"));
  const folders = (offered?.folders ?? []).slice(0, MOST_BUTTONS);
  panel.replaceChildren(...near.map(choices), ...(folders.length > 1 ? [folderChoices(folders)] : []), condition(fields));
}

function choices({ name, values }) {
  return choicesOf(nameOf(name), values.map(({ value, chunks }) => ({
    label: valueOf(value), chunks, expression: `${name}=${value}`,
  })));
}

/** One folder at a time, named without the folders that all have in common. */
function folderChoices(folders) {
  const parent = folders[0].path.slice(0, folders[0].path.lastIndexOf("/") + 1);
  return choicesOf("folder", folders.map(({ path, chunks }) => ({
    label: path.slice(parent.length), chunks, expression: FOLDER + path, alone: FOLDER,
  })));
}

/** Expressions that begin with `alone` exclude each other. */
function choicesOf(called, options) {
  const toggles = options.map(({ label, chunks, expression, alone }) => {
    const toggle = button("", () => {
      const others = given.filter((other) => other !== expression && !(alone && other.startsWith(alone)));
      change(given.includes(expression) ? others : [...others, expression]);
    }, { className: "choice", ariaPressed: String(given.includes(expression)) });
    toggle.dataset.expression = expression;
    toggle.append(label, " ", element("small", {}, chunks.toLocaleString("en")));
    return toggle;
  });
  const group = element("div", { className: "choices" }, element("span", { className: "name" }, called), element("span", { className: "values" }, ...toggles));
  group.role = "group";
  group.ariaLabel = called;
  return group;
}

// --- any field, any condition -----------------------------------------------------------------

function condition(fields) {
  const option = ({ name }) => element("option", { value: name }, nameOf(name));
  const grouped = (label, some) => (some.length ? [element("optgroup", { label }, ...some.map(option))] : []);
  const field = element("select", { name: "field", ariaLabel: "Field" },
    ...grouped("From the front matter", fields.filter((one) => one.front_matter)),
    ...grouped("Of every passage", fields.filter((one) => !one.front_matter)));
  const sign = element("select", { name: "sign", ariaLabel: "Condition" });
  const place = element("span", { className: "value" });
  const form = element("form", { className: "condition" },
    element("span", { className: "name" }, "Any field"), field, sign, place, element("button", {}, "Add"));
  const chosen = () => fields.find(({ name }) => name === field.value);
  const draw = () => {
    const { kinds, values } = chosen();
    const signs = new Map(kinds.flatMap((kind) => SIGNS[kind]));
    sign.replaceChildren(...[...signs].map(([value, words]) => element("option", { value }, words)));
    drawValue(place, kinds, values);
  };
  field.addEventListener("change", draw);
  if (fields.some(({ name }) => name === "source_path")) field.value = "source_path";
  if (fields.length) draw();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = place.firstChild.value.trim();
    if (!value) return place.firstChild.focus();
    const expression = field.value + sign.value + value;
    if (!given.includes(expression)) change([...given, expression]);
    if (place.firstChild.type === "text") place.firstChild.value = "";
  });
  return form;
}

function drawValue(place, kinds, values) {
  const [kind] = kinds;
  const label = { ariaLabel: "Value", name: "value" };
  if (values?.length || kind === "flag") {
    const listed = values?.length ? values : [{ value: true }, { value: false }];
    place.replaceChildren(element("select", label,
      ...listed.map(({ value }) => element("option", { value: String(value) }, valueOf(value)))));
    return;
  }
  const type = kinds.length > 1 ? "text" : { number: "number", date: "date" }[kind] ?? "text";
  const hint = { path: "docs/guide", number: "50" }[kind] ?? "";
  place.replaceChildren(element("input", { ...label, type, placeholder: hint, step: "any", autocomplete: "off", spellcheck: false }));
}
