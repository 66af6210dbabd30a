// The page: controls change the state, the state asks for results, results are drawn.
// Coarse curves come at once, one request at a time, always for the newest state; the exact ones
// start when the sliders rest, and are dropped when they move again.

import { AXES, QUANTITIES, VIEWS, boot, read, written, defaults } from "explorer/state.js";
import { Controls, element } from "explorer/controls.js";
import { Lost, source, Trouble } from "explorer/source.js";
import { LineChart } from "explorer/chart.js";
import { Alignment, Capacity, Curves, Descent, Networks, Phase, asRows, percent, valueAt } from "explorer/views.js";
import { Bag } from "explorer/bag.js";
import { png } from "explorer/picture.js";
import { command, csv, python, save } from "explorer/share.js";

const REST = 160; // milliseconds without a move, before the exact results are asked for
const RETRY = 1500; // milliseconds, before a server that is gone is asked again
const KINDS = { curves: Curves, phase: Phase, alignment: Alignment, capacity: Capacity, descent: Descent, networks: Networks };
const $ = (id) => document.getElementById(id);

let state = read(location.hash);
if (boot.grid) snap(state);
let view; // what is drawn
let query; // of the present settings, once it is known
let latest = {}; // coarse curves of the newest answer
let moves = 0; // number of the newest state
let coarse = { busy: false, wanted: false };
let exact; // the controller of the exact results that are under way
let running; // the controller of the simulation
let timer;
const chart = new LineChart($("plot"));

const controls = new Controls($("controls"), (name, value) => {
  const settings = { ...state.settings, [name]: value };
  if (name === "length") settings.informative = Math.min(settings.informative, value);
  change({ settings });
});

/** Take a new part of the state, and ask for what it shows. */
function change(part, { at_once = false } = {}) {
  state = { ...state, ...part };
  if (boot.grid) snap(state);
  moves += 1;
  controls.show(state.settings);
  history.replaceState(null, "", `#${written(state)}`);
  pressed();
  refresh(at_once);
}

/** Move a state to the grid of a page without server. */
function snap(at) {
  at.settings = { ...defaults().settings, ...at.settings };
  for (const parameter of boot.parameters) {
    const values = boot.grid.axes[parameter.name];
    if (!values) at.settings[parameter.name] = boot.grid.fixed[parameter.name];
    else if (!values.includes(at.settings[parameter.name])) {
      const wanted = at.settings[parameter.name];
      at.settings[parameter.name] = values.reduce((a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a));
    }
  }
  if (at.settings.informative > at.settings.length) at.settings.informative = 1;
  if (!source.views.includes(at.view)) at.view = "curves";
}

function refresh(at_once) {
  exact?.abort();
  running?.abort();
  clearTimeout(timer);
  const before = view;
  if (state.view === "bag") {
    drawBag();
  } else {
    const Kind = KINDS[state.view];
    view = new Kind(state);
    if (before instanceof Curves && view instanceof Curves) view.coarse = { ...before.coarse, ...before.exact };
    $("plot").classList.add("stale");
  }
  askCoarse();
  $("simulate").hidden = state.view !== "curves" || Boolean(boot.grid);
  timer = setTimeout(askExact, at_once || boot.grid ? 0 : REST);
}

async function askCoarse() {
  if (boot.grid) return;
  if (coarse.busy) {
    coarse.wanted = true;
    return;
  }
  coarse = { busy: true, wanted: false };
  const [number, wanted] = [moves, state];
  try {
    const curves = await source.coarse(wanted.settings);
    latest = asRows(curves);
    if (!(view instanceof Curves)) verdict();
    if (state.view === "curves" && view instanceof Curves) {
      view.coarse = latest;
      if (number === moves || !Object.keys(view.exact).length) draw(number, "coarse");
    }
  } catch (error) {
    fail(error);
  } finally {
    const again = coarse.wanted;
    coarse = { busy: false, wanted: false };
    if (again) askCoarse();
  }
}

async function askExact() {
  const controller = (exact = new AbortController());
  const [number, mine] = [moves, view];
  const kind = state.view === "bag" ? "query" : state.view;
  const options = kind === "phase" ? { axis: state.axis } : {};
  $("progress").textContent = "Solving exactly…";
  try {
    for await (const event of source.view(kind, state.settings, options, controller.signal)) {
      if (controller.signal.aborted) return;
      if (event.kind === "query") {
        query = event;
        showQuery();
        if (state.view === "bag") drawBag();
      } else if (event.kind === "working") {
        $("progress").textContent = `Solving exactly: ${boot.look[event.model][0]}…`;
      } else {
        mine.event(event);
        draw(number, "exact");
      }
    }
    $("progress").textContent = "";
    if (kind !== "query" && kind !== "curves") askQuery(controller.signal);
    document.dispatchEvent(new CustomEvent("explorer:settled", { detail: { number, view: state.view } }));
  } catch (error) {
    if (error.name !== "AbortError") fail(error);
  }
}

async function askQuery(signal) {
  try {
    for await (const event of source.view("query", state.settings, {}, signal)) {
      query = event;
      showQuery();
    }
  } catch (error) {
    if (error.name !== "AbortError") fail(error);
  }
}

function fail(error) {
  if (!(error instanceof Trouble)) throw error;
  $("progress").textContent = "";
  if ($("notes").textContent !== error.message) $("notes").textContent = error.message; // is read aloud
  $("notes").setAttribute("role", "alert");
  if (!(error instanceof Lost)) return;
  clearTimeout(timer);
  timer = setTimeout(askAgain, RETRY);
}

/** Ask a server that was gone for what is shown. */
function askAgain() {
  if (state.view !== "bag") refresh(true);
  else {
    askCoarse();
    askExact();
  }
}

function draw(number, quality) {
  $("plot").classList.remove("stale");
  if (view.figure) {
    const figure = view.figure();
    $("caption").textContent = figure.title;
    if (!chart.plot) $("plot").replaceChildren();
    if (figure.series.some((s) => s.xs.length)) chart.draw(figure);
  } else {
    chart.clear();
    $("caption").textContent = view.title();
    $("plot").innerHTML = view.svg(true);
  }
  $("summary").textContent = view.summary();
  $("notes").removeAttribute("role");
  $("notes").textContent = view.notes.join(" ");
  if (view instanceof Curves) verdict();
  if ($("numbers").open) fillTable();
  requestAnimationFrame(() => {
    document.dispatchEvent(new CustomEvent("explorer:drawn", { detail: { number, quality, view: state.view } }));
  });
}

function drawBag() {
  const { cosine, sharpness } = state.settings.query === "given" ? state.settings : query ?? state.settings;
  view = new Bag(state, { cosine, sharpness });
  draw(moves, "exact");
}

/** Say in a sentence who wins. */
function verdict() {
  const load = state.settings.alpha1;
  const rows = (model) => (view instanceof Curves ? view.rows(model) : latest[model]) ?? [];
  const [a, p] = ["attention", "pooled"].map((model) => valueAt(rows(model), load));
  if (a === undefined || p === undefined) return;
  const where = `With ${Number(load.toPrecision(3))} labelled bags per dimension, attention misjudges ${percent(a)} of new bags, mean pooling ${percent(p)}: `;
  const tie = Math.abs(a - p) < 0.002;
  const strong = tie ? "a tie." : a < p ? "attention wins." : "mean pooling wins.";
  const text = $("verdict");
  const exactly = view.exact?.attention && view.exact?.pooled;
  text.replaceChildren(where, element("b", { textContent: strong }), exactly ? "" : " (quick)");
}

function showQuery() {
  const given = state.settings.query === "given" ? "The given query" : "The query that two steps find";
  const text = `${given} has cosine ${query.cosine.toFixed(2)} with the signal and sharpness ${query.sharpness.toFixed(2)}.`;
  $("query").replaceChildren(text, ...query.advice.map((advice) => element("span", { className: "advice", textContent: advice })));
}

function fillTable() {
  const { columns, rows } = view.table();
  const line = (cells, kind) => {
    const row = element("tr");
    row.append(...cells.map((cell) => element(kind, { textContent: typeof cell === "number" ? Number(cell.toPrecision(5)) : cell ?? "" })));
    return row;
  };
  const table = element("table");
  table.append(line(columns, "th"), ...rows.map((row) => line(row, "td")));
  $("table").replaceChildren(table);
}

function buildPresets() {
  for (const preset of boot.presets) {
    if (boot.grid && !boot.grid.presets.includes(preset.name)) continue;
    const button = element("button", { type: "button", textContent: preset.title, id: `preset-${preset.name}` });
    button.addEventListener("click", () => {
      $("story").textContent = preset.story;
      change({ settings: { ...defaults().settings, ...preset.settings }, view: preset.view, axis: "strength" }, { at_once: true });
    });
    $("presets").append(button);
  }
}

function isAt(preset) {
  const settings = { ...defaults().settings, ...preset.settings };
  return Object.entries(settings).every(([name, value]) => state.settings[name] === value);
}

function pressed() {
  for (const preset of boot.presets) $(`preset-${preset.name}`)?.setAttribute("aria-pressed", String(isAt(preset)));
  for (const tab of $("tabs").children) {
    const on = tab.id === `tab-${state.view}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on) $("panel").setAttribute("aria-labelledby", tab.id);
  }
  buildOptions();
}

function buildTabs() {
  for (const name of source.views) {
    const tab = element("button", { type: "button", textContent: VIEWS[name], id: `tab-${name}` });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "panel");
    tab.addEventListener("click", () => change({ view: name }, { at_once: true }));
    $("tabs").append(tab);
  }
  $("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const names = source.views;
    const next = names[(names.indexOf(state.view) + by + names.length) % names.length];
    change({ view: next }, { at_once: true });
    $(`tab-${next}`).focus();
  });
}

/** Offer what belongs to one view alone. */
function buildOptions() {
  const box = $("options");
  if (box.dataset.of === state.view) return;
  box.dataset.of = state.view;
  box.replaceChildren();
  if (state.view === "phase") {
    const shown = Object.entries(AXES).filter(([name]) => !boot.grid || name in boot.grid.axes);
    box.append(chooser("axis", shown, (axis) => change({ axis }, { at_once: true })));
  }
  if (state.view === "networks") {
    box.append(chooser("quantity", Object.entries(QUANTITIES), (quantity) => {
      state = { ...state, quantity };
      view.state.quantity = quantity;
      history.replaceState(null, "", `#${written(state)}`);
      draw(moves, "exact");
    }));
  }
  if (state.view === "bag") {
    const another = element("button", { type: "button", textContent: "Draw another bag", id: "another" });
    another.addEventListener("click", () => change({ seed: (state.seed ?? 1) + 1 }));
    const kind = element("button", { type: "button", textContent: "Positive or negative", id: "kind" });
    kind.addEventListener("click", () => change({ positive: !(state.positive ?? true) }));
    box.append(another, kind);
    if (!boot.grid) box.append(turner("cosine", "turn the query: cosine", -1, 1), turner("sharpness", "sharpness", 0, 10));
  }
}

/** Return a list of what is drawn upwards. */
function chooser(id, entries, choose) {
  const list = element("select", { id });
  for (const [value, textContent] of entries) list.append(element("option", { value, textContent }));
  list.value = state[id];
  list.addEventListener("change", () => choose(list.value));
  const label = element("label", { textContent: "upwards: " });
  label.append(list);
  return label;
}

/** Return a slider that gives the query by hand. */
function turner(name, text, low, high) {
  const slider = element("input", { type: "range", min: low, max: high, step: 0.01, id: `turn-${name}` });
  slider.value = (state.settings.query === "given" ? state.settings : query ?? state.settings)[name];
  slider.addEventListener("input", () => {
    const now = state.settings.query === "given" || !query ? state.settings : query;
    const settings = { ...state.settings, cosine: now.cosine, sharpness: Math.min(10, now.sharpness), query: "given" };
    change({ settings: { ...settings, [name]: Number(slider.value) } });
  });
  const label = element("label", { textContent: `${text} ` });
  label.append(slider);
  return label;
}

async function simulate() {
  const options = {};
  for (const name of ["dimension", "trials"]) {
    const [field, value] = [$(name), Number($(name).value)];
    if (!Number.isInteger(value) || value < Number(field.min) || value > Number(field.max)) {
      $("simulated").textContent = `${name}: a whole number from ${field.min} to ${field.max}, please.`;
      field.focus();
      return;
    }
    options[name] = value;
  }
  const controller = (running = new AbortController());
  busy(true);
  $("simulated").textContent = "";
  let last;
  const mine = view;
  try {
    for await (const event of source.simulate(state.settings, options, controller.signal)) {
      if (view !== mine) break;
      last = event;
      mine.event(event);
      $("bar").value = event.done / event.of;
      $("simulated").textContent = `${event.done} of ${event.of} trials at dimension ${event.dimension}`;
      draw(moves, "exact");
    }
    if (view === mine) $("simulated").textContent += "; bars are one standard error.";
  } catch (error) {
    if (error.name === "AbortError") $("simulated").textContent = last ? `Stopped after ${last.done} trials.` : "Stopped.";
    else fail(error);
  } finally {
    if (running === controller) busy(false);
  }
}

function busy(on) {
  $("run").hidden = on;
  $("stop").hidden = !on;
  $("bar").hidden = !on;
  (on ? $("stop") : $("run")).focus({ preventScroll: true });
}

async function copy(kind) {
  const text = { python: () => python(state), command: () => command(state), csv: () => csv(view.table()), address: () => location.href }[kind]();
  $("text").value = text;
  $("text").hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = "Copied.";
  } catch {
    $("text").select();
    $("copied").textContent = "Take it from the field below.";
  }
}

async function store(kind) {
  const text = view.svg();
  const name = `sparsetoken-${state.view}.${kind}`;
  save(kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await png(text), name);
}

buildPresets();
buildTabs();
$("run").addEventListener("click", simulate);
$("stop").addEventListener("click", () => running?.abort());
$("share").addEventListener("click", (event) => {
  const { copy: taken, save: kept } = event.target.dataset;
  if (taken) copy(taken);
  if (kept) store(kept);
});
$("numbers").addEventListener("toggle", () => $("numbers").open && fillTable());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view && draw(moves, "exact"));
addEventListener("hashchange", () => {
  if (location.hash.replace(/^#/, "") !== written(state)) change(read(location.hash), { at_once: true });
});
$("version").textContent = boot.version;
const shown = boot.presets.find((preset) => isAt(preset) && preset.view === state.view);
$("story").textContent = (shown ?? boot.presets[0]).story;
if (boot.grid) $("share").querySelector("[data-copy=address]").hidden = location.protocol === "file:";
controls.show(state.settings);
pressed();
refresh(true);

