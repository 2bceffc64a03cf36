// Runs before anything is drawn, so that a chosen appearance does not flash in the other one.
"use strict";

try {
  const chosen = localStorage.getItem("surefind.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is blocked, so the system decides.
}
