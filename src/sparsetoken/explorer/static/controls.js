// The form: a slider and a field for each number, a list for each word.

import { SPARSE_TOKEN, TASKS, boot, capital, trouble } from "explorer/state.js";
import { brief, formula, sentence } from "explorer/typeset.js";

const STEPS = 200;
const CLOSED = new Set(["Tokens"]);
const OF_DESCENT = new Set(["Network and task", "Descent on all weights"]);
const OF_SIGNALS = new Set(["Task", "Tokens"]); // no part of other tasks
const OF_NETWORK = { network_heads: ["heads"], network_hidden: ["gated"], network_rank: ["self_attention"], beta: ["softmax", "heads"] };
const OF_GIVEN = new Set(["cosine", "sharpness"]);
const OF_STEPS = new Set(["alpha0", "eta_w", "eta_b", "eta_q", "beta"]);

export class Controls {
  /** Build the form; `onChange(name, value)` is called for legal values alone. */
  constructor(form, onChange) {
    this.form = form;
    this.onChange = onChange;
    this.settings = {};
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Make the controls of all parameters, or of those on the axes of a grid. */
  build(axes) {
    this.axes = axes;
    this.rows = new Map();
    this.form.replaceChildren();
    const groups = new Map();
    for (const parameter of boot.parameters) {
      if (axes && !(parameter.name in axes)) continue;
      if (!groups.has(parameter.group)) groups.set(parameter.group, group(this.form, parameter.group));
      groups.get(parameter.group).append(this.row(parameter, axes?.[parameter.name]));
    }
  }

  row(parameter, values) {
    const row = element("div", { className: "control" });
    const id = `p-${parameter.name}`;
    const label = element("label", { htmlFor: id, textContent: parameter.label + " " });
    label.append(element("span", { className: "symbol" }));
    label.lastChild.append(...formula(parameter.symbol));
    label.title = parameter.help;
    const error = element("span", { className: "error", id: `${id}-error` });
    error.setAttribute("role", "alert");
    const parts = parameter.choices.length
      ? this.words(parameter, id)
      : this.number(parameter, id, error, values);
    row.append(label, ...parts.elements, error);
    this.rows.set(parameter.name, { ...parts, error });
    return row;
  }

  words(parameter, id) {
    const list = element("select", { id });
    for (const word of parameter.choices) {
      list.append(element("option", { value: word, textContent: word.replaceAll("_", " ") }));
    }
    list.addEventListener("change", () => this.onChange(parameter.name, list.value));
    return { elements: [list], show: (value) => { list.value = value; } };
  }

  number(parameter, id, error, values) {
    const field = element("input", { id, type: "number", min: parameter.low, max: parameter.high });
    field.step = parameter.whole ? 1 : "any";
    field.setAttribute("aria-describedby", `${id}-error`);
    const places = values ?? (parameter.whole ? wholes(parameter) : undefined);
    const most = places ? places.length - 1 : STEPS;
    const slider = element("input", { type: "range", min: 0, max: most, step: 1, id: `${id}-slider` });
    slider.setAttribute("aria-label", `${parameter.label} ${parameter.symbol}`);
    const scale = places ? listed(places) : continuous(parameter);
    const tell = (value) => {
      const wrong = trouble(parameter, value, this.settings);
      error.replaceChildren(...(wrong ? sentence(`${capital(wrong)}.`) : []));
      field.setAttribute("aria-invalid", String(Boolean(wrong)));
      this.mark();
      if (!wrong) this.onChange(parameter.name, value);
    };
    slider.addEventListener("input", () => tell(scale.value(Number(slider.value))));
    field.addEventListener("input", () => {
      const value = field.value.trim() === "" ? NaN : Number(field.value);
      tell(values && !Number.isNaN(value) ? scale.value(scale.place(value)) : value);
    });
    const show = (value) => {
      slider.value = scale.place(value);
      slider.setAttribute("aria-valuetext", brief(value));
      if (document.activeElement !== field || Number(field.value) === value) field.value = brief(value);
      error.textContent = "";
      field.setAttribute("aria-invalid", "false");
    };
    return { elements: [field, slider], show, field, slider };
  }

  /** Show settings, with sliders for the axes of a grid if there is one, and hide what plays no part in a view of them. */
  show({ settings, view }, axes) {
    this.settings = settings;
    if (!this.rows || axes !== this.axes) this.build(axes);
    for (const [name, row] of this.rows) row.show(settings[name]);
    this.mark();
    for (const box of this.form.children) box.hidden = true;
    for (const parameter of boot.parameters) {
      const row = this.rows.get(parameter.name)?.elements[0].parentElement;
      if (!row) continue;
      row.hidden = !plays(parameter, settings, view);
      if (!row.hidden) row.parentElement.hidden = false;
    }
  }

  /** Mark the parameters that a step of a story names. */
  name(names) {
    for (const [name, { elements }] of this.rows) elements[0].parentElement.classList.toggle("named", names.includes(name));
  }

  /** Bring the marked parameters into view. */
  bring() {
    for (const row of this.form.querySelectorAll(".named")) {
      row.closest("details")?.setAttribute("open", "");
      row.scrollIntoView({ block: "nearest" });
    }
  }

  /** Dim what is of the last legal settings while a field holds something else. */
  mark() {
    const wrong = [...this.rows.values()].some(({ error }) => error.textContent);
    document.body.classList.toggle("invalid", wrong);
    const text = wrong ? "The result shown is that of the last legal settings." : "";
    if (document.getElementById("old").textContent !== text) document.getElementById("old").textContent = text;
  }
}

/** Whether a parameter has a part in what is shown. */
export function plays({ name, group }, settings, view) {
  if (view === "descent") {
    const other = settings.task !== SPARSE_TOKEN;
    if (OF_NETWORK[name]) return OF_NETWORK[name].includes(settings.network);
    if (OF_SIGNALS.has(group)) return !other;
    if (name === "descent_overlap") return other;
    if (name === "loss") return !TASKS[settings.task].squared;
    return OF_DESCENT.has(group) || name === "alpha1";
  }
  if (OF_GIVEN.has(name)) return settings.query === "given";
  // The view of alignment is of a query that is found, beside a given one in the picture of a bag.
  if (OF_STEPS.has(name)) return settings.query !== "given" || view === "alignment";
  return !OF_DESCENT.has(group);
}

function group(form, name) {
  if (CLOSED.has(name)) {
    const box = element("details", { className: "group" });
    box.dataset.name = name;
    box.append(element("summary", { textContent: name }));
    box.open = Boolean(boot.grid);
    form.append(box);
    return box;
  }
  const box = element("fieldset");
  box.dataset.name = name;
  box.append(element("legend", { textContent: name }));
  form.append(box);
  return box;
}

function continuous(parameter) {
  const { low, high, log } = parameter;
  const [first, last] = log ? [Math.log(low), Math.log(high)] : [low, high];
  return {
    value(place) {
      const at = first + ((last - first) * place) / STEPS;
      const value = log ? Math.exp(at) : at;
      return Math.min(high, Math.max(low, Number(value.toPrecision(3))));
    },
    place: (value) => Math.round((((log ? Math.log(value) : value) - first) / (last - first)) * STEPS),
  };
}

/** Return the whole numbers that a slider stops at: all, or fewer and fewer as they grow. */
function wholes({ low, high, log }) {
  const values = [];
  for (let value = low; value <= high; value = log ? Math.max(value + 1, Math.round(1.07 * value)) : value + 1) values.push(value);
  if (values.at(-1) !== high) values.push(high);
  return values;
}

function listed(values) {
  const nearest = (value) => values.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(values[best] - value) ? i : best), 0);
  return { value: (place) => values[place], place: nearest };
}

export function element(kind, properties = {}) {
  return Object.assign(document.createElement(kind), properties);
}

