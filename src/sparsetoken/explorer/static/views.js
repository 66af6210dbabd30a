// One object for each view: it takes events, and describes what they show.

import { AXES, boot } from "explorer/state.js";
import { escaped, label } from "explorer/picture.js";
import { brief } from "explorer/typeset.js";

const LOADS = { label: "labelled bags per dimension, $n₁/d$", short: "n₁/d", log: true, range: [0.24, 10.5], ticks: [0.25, 0.5, 1, 2, 4, 8] };
export const name = (model) => boot.look[model][0];
export const paint = (model) => boot.look[model][1];
const TIE = 0.002; // a smaller difference of test errors names no winner
export const [BLUE, ORANGE, GREEN, VERMILION] = ["attention", "pooled", "vectorized", "hard_attention"].map(paint);

export function percent(value) {
  if (value < 0.0005) return "less than 0.05%";
  return `${Number((100 * value).toPrecision(2))}%`; // the accuracy of the curves
}

/** Whether a value is round enough to stand beside a map. */
const round = (value) => value === Number(value.toPrecision(2));

/** Return so many labelled bags for each dimension, in words. */
export function bags(load) {
  return `${Number(load.toPrecision(3))} labelled bag${load === 1 ? "" : "s"} per dimension`;
}

/** Return the value of a curve at a load, between its points if need be. */
export function valueAt(rows, alpha) {
  const exact = rows.find((row) => row.alpha === alpha);
  if (exact) return exact.test_error;
  const after = rows.findIndex((row) => row.alpha > alpha);
  if (after <= 0) return undefined;
  const [a, b] = [rows[after - 1], rows[after]];
  const t = Math.log(alpha / a.alpha) / Math.log(b.alpha / a.alpha);
  return a.test_error + t * (b.test_error - a.test_error);
}

/** Return coarse curves as rows, one for each load. */
export function asRows(curves) {
  return Object.fromEntries(Object.entries(curves).map(([model, c]) => [
    model, c.alpha.map((alpha, i) => ({ alpha, test_error: c.test_error[i] })).filter((row) => row.test_error !== null),
  ]));
}

/** Say who of some models wins at the present load: words, and in bold who. */
function winner(models, rows, settings) {
  const { alpha0, alpha1, query } = settings;
  const errors = models.map((model) => [valueAt(rows(model) ?? [], alpha1), name(model)]);
  if (errors.some(([error]) => error === undefined)) return undefined;
  const told = errors.map(([error, model], i) => (i ? `${model} ${percent(error)}` : `${model} misclassifies ${percent(error)} of new bags`));
  const [[least, best], [next]] = errors.sort(([a], [b]) => a - b);
  const labels = query === "given" ? " and a given query" : `, and ${Number(alpha0.toPrecision(3))} more for its query`;
  return [`With ${bags(alpha1)} for the readout${labels}, ${told.join(", ")}: `, next - least < TIE ? "a tie." : `${best} wins.`];
}

export class View {
  constructor(state) {
    this.state = structuredClone(state);
    this.notes = [];
  }

  event(event) {
    if (event.kind === "refused") this.notes.push(`The curve “${name(event.model)}” is missing: ${event.message}`);
  }

  /** Return what the view shows in a sentence: words, words in bold, "(quick)"; undefined before it is known. */
  headline() {
    return undefined;
  }

  /** Return a second sentence. */
  summary() {
    return "";
  }

  /** Return the table of the numbers: names of columns, and rows. */
  table() {
    return { columns: [], rows: [] };
  }
}

export class Curves extends View {
  coarse = {};
  exact = {};
  simulated = new Map();

  event(event) {
    super.event(event);
    if (event.kind === "curve") {
      const short = event.rows.filter((row) => row.status !== "converged" && row.status !== "tolerance_not_reached");
      if (short.length) this.notes.push(`${name(event.model)}: ${short.length} points did not converge and are left out.`);
      const rough = event.rows.filter((row) => row.status === "tolerance_not_reached");
      if (rough.length) {
        const worst = Math.max(...rough.map((row) => row.numerical_error));
        this.notes.push(`${name(event.model)}: ${rough.length} points are known to ±${(2 * worst).toPrecision(1)} only.`);
      }
      this.exact[event.model] = event.rows.filter((row) => row.test_error !== null);
    }
    if (event.kind === "simulated") this.simulated.set(`${event.model} ${event.alpha}`, event);
  }

  rows(model) {
    return this.exact[model] ?? this.coarse[model];
  }

  figure() {
    const series = [];
    for (const model of Object.keys(boot.look)) {
      const rows = this.rows(model);
      if (!rows?.length) continue;
      const rough = !this.exact[model];
      series.push({
        name: name(model), colour: paint(model), smooth: true,
        dash: rough ? [7, 5] : model === "bayes" ? [2, 3] : undefined,
        xs: rows.map((row) => row.alpha), ys: rows.map((row) => row.test_error),
      });
    }
    for (const model of ["attention", "pooled"]) {
      const points = [...this.simulated.values()].filter((p) => p.model === model);
      if (!points.length) continue;
      series.push({
        name: `${name(model)}, simulated`, colour: paint(model), points: true,
        xs: points.map((p) => p.alpha), ys: points.map((p) => p.mean),
        errors: points.map((p) => p.standard_error ?? 0),
      });
    }
    return {
      title: "Test error: the share of new bags that are misclassified", x: LOADS,
      y: { label: "test error", low: 0, high: 0.52 },
      mark: this.state.settings.alpha1, series,
    };
  }

  headline() {
    const found = winner(["attention", "pooled"], (model) => this.rows(model), this.state.settings);
    const exactly = boot.grid || (this.exact.attention && this.exact.pooled);
    if (!found && exactly) return ["At this load the exact test error is not known; the notes below say why."];
    return found && [...found, exactly ? "" : " (quick)"];
  }

  summary() {
    const [attention, pooled] = [this.rows("attention"), this.rows("pooled")];
    if (!attention?.length || !pooled?.length) return "";
    const wins = pooled.map((row) => [row.alpha, row.test_error - (valueAt(attention, row.alpha) ?? row.test_error)]);
    const ahead = wins.filter(([, gain]) => gain > TIE).map(([alpha]) => alpha);
    if (!ahead.length) return "At no load shown is attention better than mean pooling.";
    const behind = wins.filter(([, gain]) => gain < -TIE);
    if (!behind.length) return "At every load shown attention is at least as good as mean pooling.";
    return `At the loads shown attention is better from ${ahead[0].toPrecision(2)} to ${ahead.at(-1).toPrecision(2)} labels per dimension.`;
  }

  table() {
    const rows = Object.entries(this.exact).flatMap(([model, points]) => points.map((p) => [model, p.alpha, p.test_error, p.numerical_error, "theory"]));
    for (const p of this.simulated.values()) rows.push([p.model, p.alpha, p.mean, p.standard_error, `simulation d=${p.dimension}, ${p.trials} trials`]);
    return { columns: ["model", "alpha1", "test_error", "error", "source"], rows };
  }
}

export const CLASSES = ["attention", "pooled", "vectorized"];

export class Phase extends View {
  rows = [];

  event(event) {
    super.event(event);
    if (event.kind === "axes") this.axes = event;
    if (event.kind === "here" && CLASSES.every((model) => event[model] !== null)) this.errorsHere = event;
    if (event.kind === "row") this.rows.push(event);
  }

  cells() {
    return this.rows.flatMap((row) => this.axes.x.map((alpha, i) => {
      const errors = CLASSES.map((model) => row[model][i]);
      if (errors.some((e) => e === null)) return { alpha, value: row.value };
      const order = [0, 1, 2].sort((a, b) => errors[a] - errors[b]);
      const [best, next] = order;
      return { alpha, value: row.value, errors, best: CLASSES[best], gain: errors[next] - errors[best] };
    }));
  }

  drawing() {
    if (!this.axes) return { width: 760, height: 440, inside: "" };
    const { x, y, axis } = this.axes;
    const [left, top, width, height] = [84, 58, 650, 330];
    const [w, h] = [width / x.length, height / y.length];
    const parts = [];
    for (const cell of this.cells()) {
      const i = x.indexOf(cell.alpha);
      const j = y.indexOf(cell.value);
      const box = `x="${left + i * w}" y="${top + height - (j + 1) * h}" width="${w - 1}" height="${h - 1}"`;
      if (!cell.best) {
        parts.push(`<rect ${box} fill="none" stroke="#888"><title>not converged</title></rect>`);
        continue;
      }
      const depth = 0.15 + 0.85 * Math.min(1, cell.gain / 0.2);
      const text = `${name(cell.best)} wins by ${percent(cell.gain)} (n₁/d = ${cell.alpha.toPrecision(2)}, ${Number(cell.value.toPrecision(3))}: `
        + CLASSES.map((model, k) => `${name(model)} ${percent(cell.errors[k])}`).join(", ") + ")";
      parts.push(`<rect ${box} fill="${cell.gain < TIE ? "#999999" : paint(cell.best)}" fill-opacity="${cell.gain < TIE ? 0.25 : depth.toFixed(3)}"><title>${escaped(text)}</title></rect>`);
    }
    x.forEach((alpha, i) => {
      if (round(alpha)) parts.push(`<text x="${left + (i + 0.5) * w}" y="${top + height + 17}" text-anchor="middle">${alpha}</text>`);
    });
    y.forEach((value, j) => {
      if (round(value)) parts.push(`<text x="${left - 6}" y="${top + height - (j + 0.5) * h + 4}" text-anchor="end">${value}</text>`);
    });
    let at = left;
    for (const model of CLASSES) {
      parts.push(`<rect x="${at}" y="30" width="14" height="14" fill="${paint(model)}"/><text x="${at + 20}" y="42">${name(model)} wins</text>`);
      at += 75 + 9 * name(model).length; // letters of a phone are large
    }
    parts.push(`<text x="${left + 650}" y="18" text-anchor="end">grey: a tie</text>`);
    parts.push(`<text x="${left + width / 2}" y="${top + height + 40}" text-anchor="middle">${label(LOADS.label)}</text>`);
    parts.push(`<text transform="translate(22 ${top + height / 2}) rotate(-90)" text-anchor="middle">${label(AXES[axis])}</text>`);
    const here = this.here(left, top, width, height);
    if (here) parts.push(here);
    return { width: 760, height: 440, inside: parts.join("") };
  }

  /** Return a ring at the present settings. */
  here(left, top, width, height) {
    const { x, y, axis } = this.axes;
    const place = (values, value) => {
      const after = values.findIndex((v) => v >= value);
      if (after < 0 || value < values[0]) return undefined;
      const before = Math.max(0, after - 1);
      const t = after === before ? 0 : (value - values[before]) / (values[after] - values[before]);
      return (before + t + 0.5) / values.length;
    };
    const i = place(x, this.state.settings.alpha1);
    const j = place(y, this.state.settings[axis]);
    if (i === undefined || j === undefined) return "";
    return `<circle cx="${left + i * width}" cy="${top + height - j * height}" r="7" fill="none" stroke="currentColor" stroke-width="2.5"><title>You are here</title></circle>`;
  }

  title() {
    return `Which model errs least; stronger colour: larger lead (full: 20 points)`;
  }

  headline(coarse) {
    const { settings } = this.state;
    const exactly = this.errorsHere && ((model) => [{ alpha: settings.alpha1, test_error: this.errorsHere[model] }]);
    const found = winner(CLASSES, exactly ?? ((model) => coarse[model]), settings);
    return found && [...found, boot.grid || exactly ? "" : " (quick)"];
  }

  summary() {
    const cells = this.cells();
    const solved = cells.filter((cell) => cell.best);
    const clear = solved.filter((cell) => cell.gain >= TIE);
    const won = CLASSES.map((model) => `${name(model)} ${clear.filter((cell) => cell.best === model).length}`);
    const open = cells.length > solved.length ? `, not solved ${cells.length - solved.length}` : "";
    return `Places won, of ${cells.length}: ${won.join(", ")}, ties ${solved.length - clear.length}${open}. The ring is where you are.`;
  }

  table() {
    const rows = this.cells().filter((cell) => cell.best).map((cell) => [cell.alpha, cell.value, ...cell.errors, cell.best]);
    return { columns: ["alpha1", this.axes?.axis ?? "", ...CLASSES, "best"], rows };
  }
}

export class Alignment extends View {
  points = [];

  event(event) {
    super.event(event);
    if (event.kind === "alignment") this.points = [...this.points, event].sort((a, b) => a.alpha0 - b.alpha0);
  }

  figure() {
    const xs = this.points.map((p) => p.alpha0);
    const cosines = this.points.map((p) => p.cosine);
    return {
      title: "Does the query turn towards the signal?",
      x: { label: "labelled bags per dimension for the query, $n₀/d$", short: "n₀/d", log: true, range: [0.045, 110], ticks: [0.1, 1, 10, 100] },
      y: { label: "cosine with the signal", low: Math.min(0, ...cosines) < 0 ? -1 : 0, high: 1.02 },
      mark: this.state.settings.query === "given" ? null : this.state.settings.alpha0,
      series: [
        { name: "query", colour: BLUE, xs, ys: cosines },
        ...(this.points.every((p) => p.readout_cosine !== undefined)
          ? [{ name: "readout after its first step", colour: VERMILION, xs, ys: this.points.map((p) => p.readout_cosine) }]
          : []),
      ],
    };
  }

  headline() {
    const last = this.points.at(-1);
    if (!last) return undefined;
    if (last.cosine < 0) return [`The query of two steps turns away from the signal: at the right end of the curve, with ${bags(last.alpha0)}, its cosine is ${last.cosine.toFixed(2)}.`];
    const near = this.points.findIndex((p) => p.cosine >= 0.9);
    if (near < 0) return [`The cosine of the query of two steps stays below 0.9, up to ${bags(last.alpha0)}.`];
    const [before, after] = [this.points[Math.max(0, near - 1)], this.points[near]];
    const t = near && (0.9 - before.cosine) / (after.cosine - before.cosine);
    const load = before.alpha0 * (after.alpha0 / before.alpha0) ** t;
    return [`The query of two steps reaches a cosine of 0.9 with ${bags(Number(load.toPrecision(2)))}.`];
  }

  table() {
    return { columns: ["alpha0", "cosine", "sharpness"], rows: this.points.map((p) => [p.alpha0, p.cosine, p.sharpness]) };
  }
}

export class Capacity extends View {
  found = [];

  event(event) {
    super.event(event);
    if (event.kind !== "capacity") return;
    if (event.capacity === null) this.notes.push(`${name(event.model)}: no capacity is known. ${event.message}`);
    else this.found.push(event);
  }

  drawing() {
    const [left, width] = [262, 470];
    const load = this.state.settings.alpha1;
    const values = [load, ...this.found.map((f) => f.capacity)].filter((value) => value > 0);
    const [low, high] = [Math.floor(Math.log10(Math.min(...values) / 1.3)), Math.ceil(Math.log10(Math.max(...values) * 1.3))];
    const place = (value) => left + (width * (Math.log10(Math.max(value, 10 ** low)) - low)) / (high - low);
    const bottom = 20 + 50 * Math.max(4, this.found.length);
    const line = (value, look) => `<line x1="${place(value)}" x2="${place(value)}" y1="20" y2="${bottom}" stroke="currentColor" ${look}/>`;
    const parts = [line(load, 'stroke-dasharray="4 4"'), `<text x="${place(load)}" y="14" text-anchor="middle">${label(`you: $n₁/d$ = ${Number(load.toPrecision(3))}`)}</text>`];
    for (let power = low; power <= high; power += 1) {
      parts.push(line(10 ** power, 'stroke-opacity="0.15"'), `<text x="${place(10 ** power)}" y="${bottom + 18}" text-anchor="middle">${10 ** power}</text>`);
    }
    this.found.forEach((f, i) => {
      const [x, y] = [place(f.capacity), 45 + 50 * i];
      parts.push(`<text x="${left - 20}" y="${y + 4}" text-anchor="end">${name(f.model)}</text><line x1="${left}" x2="${left + width}" y1="${y}" y2="${y}" stroke="currentColor" stroke-opacity="0.15"/>`
        + `<circle cx="${x}" cy="${y}" r="7" fill="${paint(f.model)}"/><text x="${x}" y="${y - 12}" text-anchor="middle">${f.capacity.toPrecision(3)}</text>`);
    });
    parts.push(`<text x="${left + width / 2}" y="${bottom + 40}" text-anchor="middle">${label(LOADS.label)}</text>`);
    return { width: 760, height: bottom + 50, inside: parts.join("") };
  }

  title() {
    return "Number of labelled bags up to which the training set is separable";
  }

  headline() {
    if (!this.found.length) return undefined;
    const { alpha1, ridge } = this.state.settings;
    const [yes, no] = [true, false].map((side) => this.found.filter((f) => f.capacity > alpha1 === side).map((f) => name(f.model)).join(", "));
    const told = [yes && `separable for ${yes}`, no && `not separable for ${no}`].filter(Boolean).join("; ");
    const but = yes && ridge > 0 ? ` A readout with ridge ${brief(ridge)} can still make mistakes on it.` : "";
    return [`With ${bags(alpha1)} the training set is ${told}.${but}`];
  }

  table() {
    return { columns: ["model", "capacity", "numerical_error", "status"], rows: this.found.map((f) => [f.model, f.capacity, f.numerical_error, f.status]) };
  }
}
