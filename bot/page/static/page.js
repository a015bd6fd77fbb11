// Keys for the list and for a triage, and the text loaded into its triage. Without this script all works by links.
"use strict";

const typing = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea");

document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (link) return link.click();
  const rows = [...document.querySelectorAll(".inbox a")];
  if (!rows.length || !["j", "k"].includes(event.key)) return;
  const at = rows.indexOf(document.activeElement);
  const next = at < 0 ? 0 : at + (event.key === "j" ? 1 : -1);
  rows[Math.max(0, Math.min(rows.length - 1, next))].focus();
});

for (const place of document.querySelectorAll("[data-load]")) {
  fetch(place.dataset.load)
    .then((answer) => (answer.ok ? answer.text() : ""))
    .then((text) => {
      const loaded = new DOMParser().parseFromString(text, "text/html").getElementById("loaded");
      // Without the whole text, the quoted lines stay.
      if (loaded?.hasAttribute("data-whole")) place.replaceChildren(loaded);
      else if (loaded) place.append(loaded);
    })
    .catch(() => {}); // The link to the text is still there.
}

for (const place of document.querySelectorAll("[data-reload]")) {
  setTimeout(() => location.reload(), 1000 * place.dataset.reload);
}
