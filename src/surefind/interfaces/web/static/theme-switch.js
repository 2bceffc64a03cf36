// Dark or light: follows the system until the visitor chooses. theme.js applies the choice first.

import { byId, stored } from "/static/dom.js";

export function useTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => (byId("theme").ariaPressed = String(isDark()));
  byId("theme").addEventListener("click", () => {
    const wanted = isDark() ? "light" : "dark";
    const follows = (wanted === "dark") === system.matches;
    if (follows) delete root.dataset.theme;
    else root.dataset.theme = wanted;
    stored("localStorage", "surefind.theme", follows ? null : wanted);
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}
