// The page: controls change the state, the state asks for results, results are drawn.
// Coarse curves come at once, one request at a time, always for the newest state; the exact ones
// start when the sliders rest, and are dropped when they move again.

import { VIEWS, boot, defaults, read, stories, titled, told, written } from "explorer/state.js";
import { Controls, element, plays } from "explorer/controls.js";
import { Lost, source, Trouble } from "explorer/source.js";
import { LineChart } from "explorer/chart.js";
import { Alignment, Capacity, Curves, Phase, asRows } from "explorer/views.js";
import { Descent } from "explorer/training.js";
import { Bag } from "explorer/bag.js";
import * as film from "explorer/film.js";
import { kept, png, svg } from "explorer/picture.js";
import { buildOptions } from "explorer/options.js";
import { simulate, stop } from "explorer/simulation.js";
import { tell } from "explorer/story.js";
import { csv, save } from "explorer/share.js";
import { sentence } from "explorer/typeset.js";

const REST = 160; // milliseconds without a move, before the exact results are asked for
const LATE = 300; // milliseconds of solving, before progress is shown
const RETRY = 1500; // milliseconds, before a server that is gone is asked again
const KINDS = { curves: Curves, phase: Phase, alignment: Alignment, capacity: Capacity, descent: Descent };
const narrow = matchMedia("(max-width: 860px)");
const $ = (id) => document.getElementById(id);
const button = (does) => $("share").querySelector(`[data-${does}]`);

let state = read(location.hash);
source.snap(state);
let view; // what is drawn
let query; // of the present settings, once it is known
let latest = {}; // coarse curves of the newest answer
let moves = 0; // number of the newest state
let coarse = { busy: false, wanted: false };
let exact; // the controller of the exact results that are under way
let timer;
let began; // the solution of the exact results, in milliseconds
let late;
const chart = new LineChart($("plot"));

const controls = new Controls($("controls"), (name, value) => {
  const settings = { ...state.settings, [name]: value };
  if (name === "length") settings.informative = Math.min(settings.informative, value);
  change({ settings });
});

/** Take a new part of the state, and ask for what it shows. */
function change(part, { at_once = false } = {}) {
  state = { ...state, note: "", ...part };
  note("");
  source.snap(state);
  moves += 1;
  controls.show(state, source.sheet?.axes);
  history.replaceState(null, "", `#${written(state)}`);
  pressed();
  refresh(at_once);
}

/** Take away what was said of what was shown before. */
function tidy() {
  $("copied").textContent = $("simulated").textContent = "";
  $("text").hidden = true;
}

function refresh(at_once) {
  tidy();
  exact?.abort();
  if (!$("again").hidden) solving(); // what was stopped is of the settings before
  stop();
  clearTimeout(timer);
  write($("link"), state.note);
  const before = view;
  latest = {};
  $("verdict").classList.add("stale");
  const Kind = KINDS[state.view];
  view = new Kind(state);
  if (before instanceof Curves && view instanceof Curves) view.coarse = { ...before.coarse, ...before.exact };
  $("plot").classList.add("stale");
  if (before && before.constructor !== Kind) $("verdict").textContent = "…"; // of the view before
  drawTokens();
  askCoarse();
  button("copy=python").disabled = true; // until its code is there
  $("simulate").hidden = state.view !== "curves" || Boolean(boot.grid);
  timer = setTimeout(askExact, at_once || boot.grid ? 0 : REST);
}

async function askCoarse() {
  if (coarse.busy) {
    coarse.wanted = true;
    return;
  }
  coarse = { busy: true, wanted: false };
  const [number, wanted] = [moves, state];
  try {
    const found = await source.coarse(wanted.settings);
    latest = asRows(found.curves);
    tellQuery(found.query);
    if (view instanceof Phase) verdict();
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
  const options = state.view === "phase" ? { axis: state.axis } : {};
  clearTimeout(late);
  began = performance.now();
  if (!boot.grid) late = setTimeout(solving, LATE, 0);
  try {
    for await (const event of source.view(state.view, state.settings, options, controller.signal)) {
      if (controller.signal.aborted) return;
      if (event.of) solving(event.done / event.of, boot.look[event.model]?.[0]);
      if (event.kind === "query") tellQuery(event);
      else if (event.kind === "code") {
        mine.code = event.text;
        button("copy=python").disabled = false;
      }
      else if (event.kind !== "working") {
        mine.event(event);
        draw(number, "exact");
      }
    }
    solving();
    document.dispatchEvent(new CustomEvent("explorer:settled", { detail: { number, view: state.view } }));
  } catch (error) {
    if (error.name !== "AbortError") fail(error);
  }
}

/** Show which share of the exact solution is there, and about how long the rest takes; without arguments that it is all there. */
function solving(share, what) {
  const ended = share === undefined;
  const seconds = (performance.now() - began) / 1000;
  if (ended) clearTimeout(late);
  else if (1000 * seconds < LATE || boot.grid) return; // quick so far
  $("solving").hidden = $("halt").hidden = ended;
  $("again").hidden = true;
  if (share) $("solving").value = share;
  else $("solving").removeAttribute("value");
  const left = share ? Math.ceil((seconds * (1 - share)) / share) : 0;
  const about = left > 2 ? `, about ${left} s left` : "";
  $("progress").textContent = ended ? "" : `Solving exactly${what ? `: ${what}` : ""}${about}…`;
}

/** Leave the exact solution as it is. */
function halt() {
  exact.abort();
  solving();
  $("progress").textContent = "Stopped: what is dashed is approximate, and some may be missing.";
  $("again").hidden = false;
  $("again").focus({ preventScroll: true });
}

/** Write a sentence in which formulas stand between $, unless it is there: changes are read aloud. */
function write(place, text) {
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren(...sentence(text));
}

function note(text) {
  $("notes").removeAttribute("role");
  write($("notes"), text);
}

function fail(error) {
  if (!(error instanceof Trouble)) throw error;
  solving();
  write($("notes"), error.message);
  $("notes").setAttribute("role", "alert");
  if (!(error instanceof Lost)) {
    if ($("verdict").classList.contains("stale")) $("verdict").textContent = "There is no result at these settings; the note below says why.";
    return;
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, RETRY, true);
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
    const { width, height, inside } = view.drawing();
    $("plot").innerHTML = svg(width, height, inside, true);
  }
  $("summary").textContent = view.summary();
  if (quality === "exact") note(view.notes.join(" ")); // quick curves know of no trouble
  verdict();
  if (view instanceof Descent) drawTokens();
  if ($("numbers").open) fillTable();
  requestAnimationFrame(() => {
    document.dispatchEvent(new CustomEvent("explorer:drawn", { detail: { number, quality, view: state.view } }));
  });
}

/** Draw the bag beside the figure: under the query, or in training. */
function drawTokens() {
  const trained = view instanceof Descent;
  $("query").hidden = $("kind").hidden = trained; // of four stages
  $("film").hidden = !trained;
  if (trained) {
    film.show(view, () => chart.moveMark(view.step));
    return;
  }
  film.pause();
  const bag = new Bag(state, state.settings.query === "given" ? state.settings : query ?? state.settings);
  $("tokens").innerHTML = bag.svg();
  $("found").replaceChildren(...bag.found().map((textContent) => element("span", { textContent })));
}

/** Say in a sentence what the view shows. */
function verdict() {
  const [words, strong, rough = ""] = view.headline(latest) ?? [];
  if (words === undefined) return;
  const text = $("verdict");
  text.classList.remove("stale");
  if (text.textContent === words + (strong ?? "") + rough) return; // is read aloud
  text.replaceChildren(words, ...(strong ? [element("b", { textContent: strong })] : []), rough);
}

function tellQuery(found) {
  query = found;
  const given = state.settings.query === "given" ? "The given query" : "The query that two steps find";
  const text = `${given} has cosine ${query.cosine.toFixed(2)} with the signal and sharpness ${query.sharpness.toFixed(2)}.`;
  $("query").replaceChildren(text, ...query.advice.map((advice) => {
    const line = element("span", { className: "advice" });
    line.append(...sentence(advice));
    return line;
  }));
  if (state.view !== "descent") drawTokens();
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
  for (const { name, title } of stories.values()) {
    const choice = element("button", { type: "button", textContent: title, id: `preset-${name}` });
    choice.addEventListener("click", () => change(defaults(name), { at_once: true }));
    $("presets").append(choice);
  }
}

function tellStory() {
  const step = tell(state, $("story"), $("steps"), (part) => {
    change(part, { at_once: true }); // which tells the story again
    if (narrow.matches) scrollTo(0, $("stay").offsetTop);
    controls.bring();
  });
  controls.name(Object.keys(step?.set ?? {}));
}

function pressed() {
  for (const name of stories.keys()) $(`preset-${name}`).setAttribute("aria-pressed", String(name === state.story));
  tellStory();
  $("question").textContent = VIEWS[state.view][1];
  for (const tab of $("tabs").children) {
    const on = tab.id === `tab-${state.view}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on) $("panel").setAttribute("aria-labelledby", tab.id);
  }
  buildOptions($("options"), { state, change, redraw });
}

/** Draw the same results in another way. */
function redraw(part) {
  tidy();
  state = { ...state, ...part };
  Object.assign(view.state, part);
  tellStory();
  history.replaceState(null, "", `#${written(state)}`);
  draw(moves, "exact");
}

function buildTabs() {
  for (const name of Object.keys(VIEWS)) {
    const tab = element("button", { type: "button", textContent: VIEWS[name][0], id: `tab-${name}` });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "panel");
    tab.addEventListener("click", () => change({ view: name }, { at_once: true }));
    $("tabs").append(tab);
  }
  $("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const names = Object.keys(VIEWS);
    const next = names[(names.indexOf(state.view) + by + names.length) % names.length];
    change({ view: next }, { at_once: true });
    $(`tab-${state.view}`).focus();
  });
}

async function copy(kind) {
  const text = { python: () => view.code, csv: () => csv(view.table()), address: () => location.href }[kind]();
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

/** Return the settings that have a part in what is shown, and the version, for a picture. */
function notes() {
  const { settings } = state;
  const playing = boot.parameters.filter((parameter) => plays(parameter, settings, state.view));
  const values = playing.map(({ name, label, symbol }) => `${symbol ? `$${symbol.split(" = ")[0]}$` : label}\u00a0=\u00a0${told(settings[name])}`);
  return `${values.join(", ")}; sparsetoken ${boot.version}`;
}

async function store(kind) {
  if (view.figure && !chart.plot) {
    $("copied").textContent = "There is no picture yet.";
    return;
  }
  const text = kept($("caption").textContent, view.figure ? chart.drawing() : view.drawing(), notes());
  save(kind === "png" ? await png(text) : new Blob([text], { type: "image/svg+xml" }), `sparsetoken-${state.view}.${kind}`);
}

buildPresets();
buildTabs();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address holds the state, not a place on the page
  $("stay").focus();
});
$("redraw").addEventListener("click", () => {
  state.seed += 1;
  view.number += 1;
  drawTokens();
});
$("kind").addEventListener("click", () => {
  state.positive = !state.positive;
  drawTokens();
});
$("run").addEventListener("click", () => {
  simulate({ state, view, fail, draw: () => draw(moves, "exact"), current: (mine) => mine === view });
});
$("stop").addEventListener("click", stop);
$("halt").addEventListener("click", halt);
$("again").addEventListener("click", () => refresh(true));
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
button("copy=python").hidden = Boolean(boot.grid);
button("copy=address").hidden = Boolean(boot.grid) && location.protocol === "file:";
/** Put the form below the result on a phone, beside it otherwise: Tab meets both in the order in which they are seen. The steps stay in view on a phone. */
function place() {
  (narrow.matches ? $("rest") : $("result")).before($("controls"));
  if (narrow.matches) $("stay").prepend($("steps"));
  else $("told").append($("steps"));
}

narrow.addEventListener("change", place);
place();
controls.show(state, source.sheet?.axes);
pressed();
refresh(true);

