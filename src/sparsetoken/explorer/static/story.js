// The story that is told, with a button for each step.

import { element } from "explorer/controls.js";
import { defaults, stories } from "explorer/state.js";
import { sentence } from "explorer/typeset.js";

/** Return the state after a step of a story: settings add up. */
function after(name, step) {
  const { steps } = stories.get(name);
  const start = defaults(name);
  const { quantity = start.quantity } = steps[step];
  const settings = Object.assign({}, start.settings, ...steps.slice(0, step + 1).map((each) => each.set));
  return { ...start, settings, quantity };
}

function same(one, other) {
  return one.quantity === other.quantity && Object.entries(one.settings).every(([name, value]) => other.settings[name] === value);
}

/** Tell the story of a state in a text and a list, mark the step that the state is at, and return it. */
export function tell(state, text, list, go) {
  const { name, story, steps } = stories.get(state.story);
  if (list.dataset.of !== name) {
    list.dataset.of = name;
    text.replaceChildren(...sentence(story));
    list.replaceChildren(...steps.map((step, i) => {
      const item = element("li");
      const button = element("button", { type: "button" });
      button.append(...sentence(step.do));
      button.addEventListener("click", () => go(after(name, i)));
      item.append(button, element("span", { textContent: `“${step.see.join("”, “")}”` }));
      return item;
    }));
  }
  const here = steps.findIndex((_, i) => same(after(name, i), state));
  [...list.children].forEach((item, i) => {
    if (i === here) {
      item.setAttribute("aria-current", "step");
      list.scrollLeft = item.offsetLeft - list.offsetLeft; // on a phone they are side by side
    }
    else item.removeAttribute("aria-current");
  });
  return steps[here];
}
