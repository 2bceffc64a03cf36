// Puts surefind's own search box into the header. Where no server is configured or it does not answer,
// the search of the theme stays.
(() => {
  "use strict";
  const server = document.querySelector('meta[name="surefind-server"]')?.content;
  const place = document.querySelector(".md-header__inner");
  if (!server || !place) return;

  const slot = document.createElement("div");
  slot.className = "surefind-slot";
  const script = document.createElement("script");
  script.src = `${server.replace(/\/$/, "")}/embed.js`;
  script.dataset.target = ".surefind-slot";
  script.dataset.placeholder = "Ask the documentation";
  script.addEventListener("load", () => document.documentElement.classList.add("has-surefind"));
  script.addEventListener("error", () => slot.remove());
  place.querySelector(".md-search")?.before(slot);
  document.head.append(script);
})();
