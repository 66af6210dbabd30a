"use strict";
{
  for (const template of document.querySelectorAll("details > template")) {
    template.parentElement.addEventListener("toggle", () => template.replaceWith(template.content), { once: true });
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
