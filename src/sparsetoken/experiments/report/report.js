"use strict";
{
  const tables = JSON.parse(document.getElementById("tables").textContent);

  // Figures that stand at the top of the page are shown again in their sections.
  for (const image of document.querySelectorAll("img[data-same]")) {
    image.hidden = false;
    image.src = document.getElementById(`figure-${image.dataset.same}`).src;
  }

  const badge = (verdict) => `<span class="verdict ${verdict.replace(" ", "-")}">${verdict}</span>`;
  const draw = (details) => {
    if (details.querySelector("table") || !(details.dataset.table in tables)) return;
    const [head, ...rows] = tables[details.dataset.table];
    const judged = details.classList.contains("comparisons");
    const numeric = (i) => (i > 2 && i < 9 ? ' class="n"' : "");
    const line = (cells, tag) => `<tr>${cells.map((cell, i) => `<${tag}${numeric(i)}>${cell}</${tag}>`).join("")}</tr>`;
    const body = rows.map(([first, ...others]) => line([judged ? badge(first) : first, ...others], "td"));
    details.insertAdjacentHTML("beforeend",
      `<div class="scroll"><table class="claims"><thead>${line(head, "th")}</thead><tbody>${body.join("")}</tbody></table></div>`);
  };
  for (const details of document.querySelectorAll("details[data-table]")) {
    details.addEventListener("toggle", () => { if (details.open) draw(details); });
  }

  const filter = document.getElementById("filter");
  filter.closest("p").hidden = false;
  filter.addEventListener("change", () => {
    for (const row of document.querySelectorAll("tr[data-source]")) {
      row.hidden = !row.dataset.source.includes(filter.value.toLowerCase());
    }
  });

  const openTarget = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      draw(target);
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();

  const menu = document.querySelector("details.menu");
  const narrow = window.matchMedia("(max-width: 60rem)");
  const fold = () => { menu.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  menu.addEventListener("click", (event) => { if (event.target.closest("a")) fold(); });
}
