// Where results come from: the server, or a grid that was computed beforehand.

import { AXES, VIEWS, boot, defaults, parameters, stories, titled, told } from "explorer/state.js";

export class Trouble extends Error {}

/** The server is gone; it may come back. */
export class Lost extends Trouble {
  constructor(what) {
    super(`${what} Start “sparsetoken explore” again, at the same port; this page then goes on by itself.`);
  }
}

class Server {
  views = Object.keys(VIEWS);

  snap() {}

  /** Return coarse learning curves, and the query. */
  async coarse(settings, signal) {
    const answer = await this.post("coarse", { settings }, signal);
    return answer.json();
  }

  /** Yield the events of a view, until they end or the signal aborts. */
  async *view(name, settings, options, signal) {
    yield* this.lines(await this.post(`view/${name}`, { settings, ...options }, signal));
  }

  async post(path, body, signal) {
    const headers = { "Content-Type": "application/json" };
    let answer;
    try {
      answer = await fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Lost("The server does not answer.");
    }
    if (!answer.ok) {
      const found = await answer.json().catch(() => ({}));
      throw new Trouble(found.error ?? `The server answered ${answer.status}.`);
    }
    return answer;
  }

  async *lines(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let ended = false;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          const event = JSON.parse(line);
          if (event.kind === "error") throw new Trouble(event.message);
          if (event.kind === "end") ended = true;
          else yield event;
        }
      }
    } catch (error) {
      if (error.name === "AbortError" || error instanceof Trouble) throw error;
      throw new Lost("The server stopped in the middle.");
    }
    if (!ended) throw new Lost("The server stopped in the middle.");
  }
}

class Grid {
  /** Move a state to what the page holds, and keep to the results of its story. */
  snap(at) {
    this.sheet = boot.grid.sheets[at.story];
    const axes = Object.keys(AXES).filter((name) => this.sheet.axes[name]?.length > 1);
    this.views = Object.keys(VIEWS).filter((view) => holds(this.sheet, view));
    if (!this.views.includes(at.view)) {
      const other = [...stories.keys()].find((name) => holds(boot.grid.sheets[name], at.view));
      if (other) {
        Object.assign(at, defaults(other), { view: at.view, note: at.note });
        this.snap(at);
        return;
      }
      at.view = "curves";
    }
    const moved = [];
    for (const [name, wanted] of Object.entries(at.settings)) {
      const values = this.sheet.axes[name] ?? [this.sheet.fixed[name]];
      if (values.includes(wanted)) continue;
      const near = (a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a);
      at.settings[name] = typeof wanted === "number" ? values.reduce(near) : values[0];
      const { label, symbol } = parameters.get(name);
      moved.push(`${titled(label, symbol)} = ${told(at.settings[name])} is used in place of ${told(wanted)}.`);
    }
    if (moved.length) at.note = `${at.note} This page holds results at some settings only. ${moved.join(" ")}`.trim();
    if (at.settings.informative > at.settings.length) at.settings.informative = 1;
    if (!axes.includes(at.axis)) at.axis = axes[0] ?? "strength";
  }

  at(settings) {
    return this.sheet.points[this.sheet.key.map((name) => this.sheet.axes[name].indexOf(settings[name])).join("|")];
  }

  async coarse(settings) {
    const point = this.at(settings);
    const curve = (model) => ({ alpha: this.sheet.loads, test_error: point[model] });
    const curves = Object.fromEntries(["attention", "pooled", "vectorized"].map((model) => [model, curve(model)]));
    return { curves, query: point.query };
  }

  async *view(name, settings, { axis } = {}) {
    const point = this.at(settings);
    if (name === "query" || name === "curves") yield point.query;
    if (name === "curves") for (const model of boot.grid.models) yield this.curve(point, model);
    if (name === "phase") yield* this.phase(settings, axis);
    if (name === "capacity") yield* point.capacity;
    if (name === "descent") yield* point.descent[this.sheet.axes.alpha1.indexOf(settings.alpha1)];
    if (name === "alignment") {
      for (const alpha0 of this.sheet.axes.alpha0) yield { ...this.at({ ...settings, alpha0 }).query, kind: "alignment", alpha0 };
    }
  }

  curve(point, model) {
    const rows = this.sheet.loads.map((alpha, i) => ({
      alpha, test_error: point[model][i], numerical_error: boot.grid.tolerance / 2, status: "converged",
    }));
    return { kind: "curve", model, rows: rows.filter((row) => row.test_error !== null) };
  }

  *phase(settings, axis) {
    const values = this.sheet.axes[axis].filter((value) => this.at({ ...settings, [axis]: value }));
    yield { kind: "axes", x: boot.grid.loads, y: values, axis };
    for (const value of values) {
      const point = this.at({ ...settings, [axis]: value });
      const errors = (model) => boot.grid.loads.map((alpha) => point[model][this.sheet.loads.indexOf(alpha)]);
      yield { kind: "row", value, attention: errors("attention"), pooled: errors("pooled"), vectorized: errors("vectorized") };
    }
  }
}

/** Whether the results of a story are enough for a view. */
function holds({ axes, points }, view) {
  const moves = (name) => axes[name]?.length > 1;
  if (view === "phase") return Object.keys(AXES).some(moves);
  if (view === "alignment") return moves("alpha0");
  if (view === "descent") return view in Object.values(points)[0];
  return true;
}

export const source = boot.grid ? new Grid() : new Server();
