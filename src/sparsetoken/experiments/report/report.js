"use strict";
{
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = parsed("data"), rows = parsed("rows");
  const tip = document.getElementById("tip");
  const text = (value) => String(value).replace("-", "\u2212");

  // Figures that stand at the top of the page are shown again in their sections.
  for (const image of document.querySelectorAll("img[data-same]")) {
    image.hidden = false;
    image.src = document.getElementById(`figure-${image.dataset.same}`).src;
  }

  const describe = (series, [, , x, y, error, value]) => {
    const lines = [series.series || series.panel, `${series.x} = ${text(x)}`];
    lines.push(`${series.y} = ${text(y)}${error == null ? "" : ` \u00b1 ${text(error)}`}`);
    if (value != null) lines.push(`value ${text(value)}`);
    return lines.filter(Boolean).join("\n");
  };
  const scaleOf = (image) => image.clientWidth / image.getAttribute("width");
  const show = (image, found) => {
    tip.hidden = !found;
    if (!found) return;
    const [series, point] = found, box = image.getBoundingClientRect(), scale = scaleOf(image);
    tip.textContent = describe(series, point);
    const x = box.left + point[0] * scale, y = box.top + point[1] * scale;
    tip.style.left = `${Math.max(8, Math.min(x + 12, window.innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(8, y - tip.offsetHeight - 10)}px`;
  };
  const nearest = (image, known, event) => {
    const box = image.getBoundingClientRect(), scale = scaleOf(image);
    const at = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    let best = null, least = (16 / scale) ** 2;
    for (const series of known) {
      // Measured points are few: they win over a line that passes them.
      const weight = series.mark === "point" ? 0.3 : 1;
      for (const point of series.points) {
        const far = weight * ((point[0] - at[0]) ** 2 + (point[1] - at[1]) ** 2);
        if (far < least) [best, least] = [[series, point], far];
      }
    }
    return best;
  };
  for (const drawing of document.querySelectorAll("[data-figure]")) {
    const image = drawing.querySelector("img"), known = figures[drawing.dataset.figure];
    const points = known.flatMap((series) => series.points.map((point) => [series, point]));
    const stops = points.filter(([series]) => series.mark === "point");
    const order = stops.length ? stops : points;
    let place = -1;
    const hide = () => show(image, null);
    drawing.addEventListener("pointermove", (event) => show(image, nearest(image, known, event)));
    drawing.addEventListener("pointerdown", (event) => show(image, nearest(image, known, event)));
    drawing.addEventListener("pointerleave", hide);
    drawing.addEventListener("blur", hide);
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || !order.length) return;
      event.preventDefault();
      place = (place + step + order.length) % order.length;
      const x = order[place][1][0] * scaleOf(image);
      drawing.scrollLeft = x - drawing.clientWidth / 2;
      show(image, order[place]);
    });
  }

  const HEAD = ["verdict", "quantity", "where", "theory", "measured", "std. error", "shift of finite d", "z without", "z", "evidence"];
  const draw = (details) => {
    if (details.querySelector("table")) return;
    const numeric = (i) => (i > 2 && i < 9 ? ' class="n"' : "");
    const line = (cells, tag) => `<tr>${cells.map((cell, i) => `<${tag}${numeric(i)}>${cell}</${tag}>`).join("")}</tr>`;
    const badge = (verdict) => `<span class="verdict ${verdict.replace(" ", "-")}">${verdict}</span>`;
    const body = rows[details.dataset.claim].map((cells) => line([badge(cells[0]), ...cells.slice(1)], "td"));
    details.insertAdjacentHTML("beforeend",
      `<div class="scroll"><table class="claims"><thead>${line(HEAD, "th")}</thead><tbody>${body.join("")}</tbody></table></div>`);
  };
  for (const details of document.querySelectorAll("details.comparisons")) {
    details.addEventListener("toggle", () => { if (details.open) draw(details); });
  }

  const filter = document.getElementById("filter");
  filter.closest("p").hidden = false;
  filter.addEventListener("change", () => {
    for (const row of document.querySelectorAll("tr[data-kinds]")) {
      row.hidden = filter.value !== "" && !row.dataset.kinds.split("|").includes(filter.value);
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
