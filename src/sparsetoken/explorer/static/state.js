// What is shown: a story, the settings, the view and its axis. It lives in the address.

import { brief } from "explorer/typeset.js";

export const boot = JSON.parse(document.getElementById("boot").textContent);
/** The stories; of a page without server those that it holds results of. */
export const stories = new Map(boot.presets.filter((p) => !boot.grid || Object.hasOwn(boot.grid.sheets, p.name)).map((p) => [p.name, p]));
export const parameters = new Map(boot.parameters.map((p) => [p.name, p]));
/** Of each view its name and its question. */
export const VIEWS = {
  curves: ["Learning curves", "When does attention beat pooling?"],
  phase: ["Who wins where", "Where does which model win?"],
  alignment: ["Alignment", "Does the query find the signal?"],
  capacity: ["Capacity", "How many labels can be fitted without a mistake?"],
  descent: ["Descent", "What does joint training learn, and when should it stop?"],
};
export const SPARSE_TOKEN = "sparse_token";
/** Of each task its name, what it asks, and whether the target is a number. */
export const TASKS = {
  [SPARSE_TOKEN]: { words: "The sparse-token problem", sentence: "In positive bags a few tokens carry the signal; the label is the bag's" },
  single_location_regression: { words: "Single-location regression", sentence: "One token of six is marked, along “place”; the target is the number that it carries, along “value”", squared: true },
  lookup: { words: "A value looked up in two hops", sentence: "One token of six carries “mark” and a key, -1 or 1; the label is the sign along “value” of the token that has this key" },
  needle_with_value: { words: "A needle with a value", sentence: "One token of six is marked, along “needle”; the label is the sign of what it carries, along “value”" },
  position: { words: "A number at one position", sentence: "Each of five tokens carries the vector of its position; the target is the number that the third carries, along “value”", squared: true },
  meeting_concepts: { words: "Two concepts that must meet", sentence: "A bag of five tokens is positive if it holds both concepts, “1” and “2”; one alone does not count" },
  majority: { words: "Label of the majority", sentence: "Each of five tokens carries a sign, along “sign”; the label is that of most of them" },
};
export const QUANTITIES = {
  errors: "test error and training loss",
  attended: "share of bags whose most attended token is informative",
  cosine: "cosine of attention and the first direction",
  overlaps: "overlaps of all columns with directions",
};
const axes = ["strength", "positive_rate", "alpha0", "length"].map((name) => parameters.get(name));
export const AXES = Object.fromEntries(axes.map((p) => [p.name, `${p.label} $${p.symbol}$`]));

/** Return the state in which a story starts. */
export function defaults(story = stories.keys().next().value) {
  const { settings, view } = stories.get(story);
  const plain = Object.fromEntries(boot.parameters.map((p) => [p.name, p.default]));
  return { story, settings: { ...plain, ...settings }, view, axis: "strength", quantity: "errors", note: "", seed: 1, positive: true };
}

/** Return the legal values of a parameter in words. */
function legal({ choices, whole, low, high }) {
  if (choices.length) return `one of ${choices.join(", ").replaceAll("_", " ")}`;
  return `${whole ? "a whole number" : "a number"} from ${brief(low)} to ${brief(high)}`;
}

/** Return what a value should be, or "" if it is legal. */
export function trouble(parameter, value, settings) {
  const { choices, whole, low, high } = parameter;
  const needed = `${legal(parameter)} is needed`;
  if (choices.length) return choices.includes(value) ? "" : needed;
  if (typeof value !== "number" || !Number.isFinite(value)) return needed;
  if ((whole && !Number.isInteger(value)) || value < low || value > high) return needed;
  if (parameter.name === "informative" && value > settings.length) return `at most $L$ = ${settings.length} is possible`;
  return "";
}

/** Return a text with a capital at its start. */
export const capital = (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** Return a text of the address in quotes; of $, which begins a formula, the wide form. */
const quoted = (text) => `“${text.replaceAll("$", "＄")}”`;

/** Return the state that an address holds; what it holds wrongly has its default, and the note says so. */
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = defaults(stories.has(given.get("story")) ? given.get("story") : undefined);
  const known = {
    story: Object.fromEntries([...stories.values()].map(({ name, title }) => [name, title])),
    view: Object.fromEntries(Object.entries(VIEWS).map(([name, [title]]) => [name, title])),
    axis: AXES,
    quantity: QUANTITIES,
  };
  const wrong = [];
  for (const [key, words] of Object.entries(known)) {
    const text = given.get(key);
    if (text === null) continue;
    if (Object.hasOwn(words, text)) state[key] = text;
    else wrong.push(`The ${key} ${quoted(text)} is not known; “${words[state[key]]}” is used.`);
  }
  for (const parameter of boot.parameters) {
    const { name, label, symbol, choices } = parameter;
    const text = given.get(name);
    if (text === null) continue;
    const value = choices.length ? text : text.trim() === "" ? NaN : Number(text);
    const why = trouble(parameter, value, state.settings);
    if (why) wrong.push(`${titled(label, symbol)} = ${quoted(text)}: ${why}; ${told(state.settings[name])} is used.`);
    else state.settings[name] = value;
  }
  const { length, informative } = state.settings;
  if (informative > length) {
    state.settings.informative = 1;
    wrong.push(`The ${informative} informative tokens of this story are more than $L$ = ${length}; 1 is used.`);
  }
  const unknown = [...new Set(given.keys())].filter((key) => !Object.hasOwn(known, key) && !parameters.has(key));
  if (unknown.length) wrong.push(`Not known, and left out: ${unknown.map(quoted).join(", ")}.`);
  if (wrong.length) state.note = `${state.note} This link is not shown as it is written. ${wrong.join(" ")}`.trim();
  return state;
}

/** Return a label with its letter, as the start of a sentence. */
export function titled(label, symbol) {
  const letter = symbol.split(" = ")[0];
  return `${capital(label)}${letter ? ` $${letter}$` : ""}`;
}

/** Return a value in words. */
export function told(value) {
  return typeof value === "number" ? brief(value) : `“${value.replaceAll("_", " ")}”`;
}

/** Return the part of the address that stands for a state: what differs from the defaults. */
export function written(state) {
  const plain = defaults(state.story);
  const parts = new URLSearchParams();
  if (state.story !== defaults().story) parts.set("story", state.story);
  for (const key of ["view", "axis", "quantity"]) if (state[key] !== plain[key]) parts.set(key, state[key]);
  for (const [name, value] of Object.entries(state.settings)) {
    if (value !== plain.settings[name]) parts.set(name, String(value));
  }
  return parts.toString();
}
