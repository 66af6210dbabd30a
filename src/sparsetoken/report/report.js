"use strict";
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const text = (value) => String(value).replace("-", "\u2212");

  const describe = (names, [, , panel, series, xName, yName, x, y, error, value]) => {
    const lines = [names[series] || names[panel], `${names[xName]} = ${text(x)}`];
    lines.push(`${names[yName]} = ${text(y)}${error === null ? "" : ` \u00b1 ${text(error)}`}`);
    if (value !== null) lines.push(`value ${text(value)}`);
    return lines.filter(Boolean).join("\n");
  };

  const show = (svg, { names, points }, event) => {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const at = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    let best = null, least = (16 / scale) ** 2;
    for (const point of points) {
      // Measured points are few: they win over a line that passes them.
      const measured = point[8] !== null ? 0.3 : 1;
      const far = measured * ((point[0] - at[0]) ** 2 + (point[1] - at[1]) ** 2);
      if (far < least) [best, least] = [point, far];
    }
    tip.hidden = best === null;
    if (best === null) return;
    tip.textContent = describe(names, best);
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
  };

  for (const svg of document.querySelectorAll("svg[data-figure]")) {
    const known = data[svg.dataset.figure];
    svg.addEventListener("pointermove", (event) => show(svg, known, event));
    svg.addEventListener("pointerdown", (event) => show(svg, known, event));
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  const filter = document.getElementById("filter");
  filter.closest("p").hidden = false;
  filter.addEventListener("change", () => {
    for (const row of document.querySelectorAll("tr[data-kinds]")) {
      row.hidden = filter.value !== "" && !row.dataset.kinds.split("|").includes(filter.value);
    }
  });

  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();

  const menu = document.querySelector("details.menu");
  const narrow = window.matchMedia("(max-width: 60rem)");
  const fold = () => { menu.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  menu.addEventListener("click", (event) => { if (event.target.closest("a")) fold(); });

  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.comparisons:not([open])")) {
      part.open = true;
      opened.push(part);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const part of opened.splice(0)) part.open = false;
  });
}
