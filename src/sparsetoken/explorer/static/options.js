// What belongs to one view alone: what is drawn.

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
  if (state.view === "descent") {
    box.append(chooser("quantity", Object.entries(QUANTITIES), state, (quantity) => page.redraw({ quantity })));
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
