// Where results come from: the server, or a grid that was computed beforehand.

import { boot } from "explorer/state.js";

export class Trouble extends Error {}

/** The server is gone; it may come back. */
export class Lost extends Trouble {
  constructor(what) {
    super(`${what} Start “sparsetoken explore” again, at the same port; this page then goes on by itself.`);
  }
}

class Server {
  views = ["curves", "phase", "alignment", "capacity", "descent", "networks", "bag"];

  /** Return coarse learning curves. */
  async coarse(settings, signal) {
    const answer = await this.post("coarse", { settings }, signal);
    return (await answer.json()).curves;
  }

  /** Yield the events of a view, until they end or the signal aborts. */
  async *view(name, settings, options, signal) {
    yield* this.lines(await this.post(`view/${name}`, { settings, ...options }, signal));
  }

  async *simulate(settings, options, signal) {
    yield* this.lines(await this.post("simulate", { settings, ...options }, signal));
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
  views = ["curves", "phase", "alignment", "capacity", "descent", "networks", "bag"];

  constructor(grid) {
    this.grid = grid;
  }

  at(settings) {
    return this.grid.points[this.grid.key.map((name) => settings[name]).join("|")];
  }

  curve(point, model) {
    const rows = this.grid.loads.map((alpha, i) => ({
      alpha, test_error: point[model][i], numerical_error: this.grid.tolerance / 2, status: "converged",
    }));
    return { kind: "curve", model, rows: rows.filter((row) => row.test_error !== null) };
  }

  async coarse() {
    return {};
  }

  async *view(name, settings, { axis } = {}) {
    const point = this.at(settings);
    if (!point) throw new Trouble("This point is not in the grid of this page.");
    const query = { kind: "query", cosine: point.query[0], sharpness: point.query[1], advice: [] };
    if (name === "query" || name === "curves") yield query;
    if (name === "curves") for (const model of this.grid.models) yield this.curve(point, model);
    if (name === "phase") yield* this.phase(settings, axis in this.grid.axes ? axis : "strength");
    if (name === "capacity") yield* point.capacity;
    if (name === "descent") yield this.descent(settings);
    if (name === "networks") yield* this.networks(settings);
    if (name === "alignment") {
      for (const alpha0 of this.grid.axes.alpha0) {
        const [cosine, sharpness] = this.at({ ...settings, alpha0 }).query;
        yield { kind: "alignment", alpha0, cosine, sharpness };
      }
    }
  }

  /** Return what was computed at the nearest load, and a message if that is another. */
  nearest(courses, settings, what) {
    const far = ({ alpha1 }) => Math.abs(Math.log(alpha1 / settings.alpha1));
    const nearest = courses.reduce((a, b) => (far(b) < far(a) ? b : a));
    const message = far(nearest) > 0 ? `This page holds ${what} on n₁/d = ${courses.map((c) => c.alpha1).join(" and ")}; shown is ${nearest.alpha1}.` : "";
    return { nearest, message };
  }

  descent(settings) {
    const courses = this.grid.descents[this.grid.descent_key.map((name) => settings[name]).join("|")];
    const { nearest, message } = this.nearest(courses, settings, "the descent");
    return { ...nearest, message: [message, nearest.message].filter(Boolean).join(" ") };
  }

  *networks(settings) {
    const { task, courses } = this.grid.networks;
    if (Object.entries(task).some(([name, value]) => settings[name] !== value)) {
      throw new Trouble(`This page holds networks at L = ${task.length} and R = ${task.informative} alone.`);
    }
    const { nearest, message } = this.nearest(courses[settings.strength], settings, "networks");
    const [floor, ...others] = nearest.events;
    yield { ...floor, message };
    yield* others;
  }

  *phase(settings, axis) {
    const values = this.grid.axes[axis].filter((value) => this.at({ ...settings, [axis]: value }));
    yield { kind: "axes", x: this.grid.loads, y: values, axis };
    for (const value of values) {
      const { attention, pooled, vectorized } = this.at({ ...settings, [axis]: value });
      yield { kind: "row", value, attention, pooled, vectorized };
    }
  }
}

export const source = boot.grid ? new Grid(boot.grid) : new Server();
