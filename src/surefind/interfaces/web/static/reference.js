// Sends the requests of the API reference to this server, and shows the answers as they are.

import { keep, key } from "/static/api.js";
import { byId } from "/static/dom.js";

const SHOWN = 200_000; // characters; browsers get slow beyond

/** The address of a request, with the values that were entered for its parameters. */
function addressOf(form) {
  const parameters = new URLSearchParams();
  let path = form.dataset.path;
  for (const input of form.querySelectorAll("input[data-in]")) {
    if (!input.value) continue;
    const written = encodeURIComponent(input.value);
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, written);
    else if (input.dataset.in === "query") parameters.append(input.name, input.value);
  }
  return parameters.size ? `${path}?${parameters}` : path;
}

function headersOf(form, hasBody) {
  const headers = hasBody ? { "Content-Type": "application/json" } : {};
  const shown = byId("api-key").value.trim();
  if (shown) headers.Authorization = `Bearer ${shown}`;
  for (const input of form.querySelectorAll("input[data-in='header']")) {
    if (input.value) headers[input.name] = input.value;
  }
  return headers;
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Show what happened, and the answer if there is one. */
function show(form, outcome, text = "") {
  const answer = form.querySelector(".answer");
  const whole = readable(text);
  answer.textContent = whole.length > SHOWN ? `${whole.slice(0, SHOWN)}\n…` : whole;
  answer.hidden = !text;
  form.querySelector(".outcome").textContent = outcome;
}

async function send(form) {
  const body = form.querySelector("textarea")?.value;
  try {
    if (body !== undefined) JSON.parse(body);
  } catch (error) {
    show(form, `Not sent: the body is not valid JSON. ${error.message}`);
    return;
  }
  const button = form.querySelector("button");
  button.disabled = true;
  show(form, "Waiting for the answer …");
  const started = performance.now();
  try {
    const headers = headersOf(form, body !== undefined);
    const response = await fetch(addressOf(form), { method: form.dataset.method, headers, body });
    const text = await response.text();
    const spent = Math.round(performance.now() - started);
    show(form, `${response.status} ${response.statusText} in ${spent} ms`.replace("  ", " "), text);
  } catch (error) {
    show(form, `No answer: ${error.message}. Is the server still running?`);
  } finally {
    button.disabled = false;
  }
}

byId("api-key").value = key() ?? "";
byId("api-key").addEventListener("change", (event) => keep(event.target.value.trim() || null));
byId("key").addEventListener("submit", (event) => event.preventDefault());
for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
  form.hidden = false;
}
byId("key").hidden = false;
