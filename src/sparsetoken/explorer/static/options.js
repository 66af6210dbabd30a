// What belongs to one view alone: what is drawn, or the query of a bag turned by hand.

import { element } from "explorer/controls.js";
import { source } from "explorer/source.js";
import { AXES, QUANTITIES, boot } from "explorer/state.js";

/** Offer what belongs to one view alone. */
export function buildOptions(box, page) {
  const { state } = page;
  const chosen = box.querySelector("select");
  if (chosen) chosen.value = state[chosen.id];
  const of = `${state.view} ${boot.grid ? state.story : ""}`;
  if (box.dataset.of === of) return;
  box.dataset.of = of;
  box.replaceChildren();
  if (state.view === "phase") {
    const shown = Object.entries(AXES).filter(([name]) => !boot.grid || source.sheet.axes[name]?.length > 1);
    box.append(chooser("axis", shown, state, (axis) => page.change({ axis }, { at_once: true })));
  }
  if (state.view === "networks") {
    box.append(chooser("quantity", Object.entries(QUANTITIES), state, (quantity) => page.redraw({ quantity })));
  }
  if (state.view === "bag") {
    const another = element("button", { type: "button", textContent: "Draw another bag", id: "another" });
    another.addEventListener("click", () => page.change({ seed: page.state.seed + 1 }));
    const kind = element("button", { type: "button", textContent: "Positive or negative", id: "kind" });
    kind.addEventListener("click", () => page.change({ positive: !page.state.positive }));
    box.append(another, kind);
    if (!boot.grid) box.append(turner(page, "cosine", "turn the query: cosine", -1, 1), turner(page, "sharpness", "sharpness", 0, 10));
  }
}

/** Return a list of what is drawn upwards. */
function chooser(id, entries, state, choose) {
  const list = element("select", { id });
  for (const [value, textContent] of entries) list.append(element("option", { value, textContent: textContent.replaceAll("$", "") }));
  list.value = state[id];
  list.addEventListener("change", () => choose(list.value));
  const label = element("label", { textContent: id === "axis" ? "upwards: " : "drawn: " });
  label.append(list);
  return label;
}

/** Return a slider that gives the query by hand. */
function turner(page, name, text, low, high) {
  const at = () => (page.state.settings.query === "given" || !page.query ? page.state.settings : page.query);
  const slider = element("input", { type: "range", min: low, max: high, step: 0.01, id: `turn-${name}` });
  slider.value = at()[name];
  slider.addEventListener("input", () => {
    const { cosine, sharpness } = at();
    const settings = { ...page.state.settings, cosine, sharpness: Math.min(10, sharpness), query: "given" };
    page.change({ settings: { ...settings, [name]: Number(slider.value) } });
  });
  const label = element("label", { textContent: `${text} ` });
  label.append(slider);
  return label;
}
