// Requests to the server. A key, if the server requires one, is kept for this tab only.

import { stored } from "/static/dom.js";

const KEY = "surefind.key";
let unsaved = null; // if the browser stores nothing

export const key = () => stored("sessionStorage", KEY) ?? unsaved;

export function keep(value) {
  unsaved = value;
  stored("sessionStorage", KEY, value);
}

/** The response. Errors are thrown as {status, error, message, wait_s}. */
export async function ask(path, { body, signal, shown = key() } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers: {
        ...(body && { "Content-Type": "application/json" }),
        ...(shown && { Authorization: `Bearer ${shown}` }),
      },
      body: body && JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw { error: "unreachable", message: "The server does not respond. Is it still running?" };
  }
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `HTTP ${response.status}`, message: "The server’s response is not valid JSON." };
  });
  if (response.ok && !answer.error) return answer;
  throw { ...answer, status: response.status, wait_s: Number(response.headers.get("Retry-After")) || null };
}
