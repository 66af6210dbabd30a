// What is shown: a story, the settings, the view and its axis. It lives in the address.

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
/** Views of links of old that are parts of the view of descent now. */
const FORMER = new Set(["networks", "tasks"]);
export const SPARSE_TOKEN = "sparse_token";
/** Of each task its name, what it asks, and whether the target is a number. */
export const TASKS = {
  [SPARSE_TOKEN]: { words: "The sparse-token problem", sentence: "In positive bags a few tokens carry the signal; the label is that of the bag" },
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

/** Return what is wrong with a value, or "". */
export function trouble(parameter, value, settings) {
  const { label, low, high } = parameter;
  if (parameter.choices.length) return parameter.choices.includes(value) ? "" : `${label}: unknown word`;
  if (typeof value !== "number" || !Number.isFinite(value)) return `A number from ${low} to ${high} is needed.`;
  if (parameter.whole && !Number.isInteger(value)) return `A whole number from ${low} to ${high} is needed.`;
  if (value < low || value > high) return `From ${low} to ${high}, please.`;
  if (parameter.name === "informative" && value > settings.length) return `At most L = ${settings.length}.`;
  return "";
}

/** Return the state that an address holds; what it holds wrongly has its default. */
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = defaults(stories.has(given.get("story")) ? given.get("story") : undefined);
  for (const [key, known] of Object.entries({ view: VIEWS, axis: AXES, quantity: QUANTITIES })) {
    if (Object.hasOwn(known, given.get(key) ?? "")) state[key] = given.get(key);
  }
  if (FORMER.has(given.get("view"))) {
    state.view = "descent";
    state.note = `The view “${given.get("view")}” of this link is part of this one now: choose the network and the task.`;
  }
  for (const parameter of boot.parameters) {
    const text = given.get(parameter.name);
    if (text === null) continue;
    const value = parameter.choices.length ? text : text.trim() === "" ? NaN : Number(text);
    if (!trouble(parameter, value, state.settings)) state.settings[parameter.name] = value;
  }
  if (state.settings.informative > state.settings.length) state.settings.informative = 1;
  return state;
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
