// The views of training: what all weights do together, step by step.

import { QUANTITIES } from "explorer/state.js";
import { BLUE, GREEN, ORANGE, VERMILION, View, bags, name, paint, percent } from "explorer/views.js";

export class Descent extends View {
  event(event) {
    super.event(event);
    if (event.kind !== "descent") return;
    this.found = event;
    if (event.message && !event.coarse) this.notes = [event.message];
  }

  figure() {
    const f = this.found ?? { test_error: [], training_loss: [], cosine: [], coarse: true };
    const xs = f.test_error.map((_, i) => i);
    const dash = f.coarse ? [7, 5] : undefined;
    return {
      title: "Gradient descent on query, readout and bias together",
      x: { label: "step", short: "step", log: false },
      y: { label: "test error, training loss, cosine", low: Math.min(0, ...f.cosine), high: Math.max(1, ...f.training_loss) * 1.03 },
      mark: f.best_step,
      series: [
        { name: "test error", colour: BLUE, dash, xs, ys: f.test_error },
        { name: "training loss", colour: ORANGE, dash, xs, ys: f.training_loss },
        { name: "cosine of query and signal", colour: GREEN, dash, xs, ys: f.cosine },
      ],
    };
  }

  headline() {
    const f = this.found;
    if (!f) return undefined;
    const [best, last] = [f.test_error[f.best_step], f.test_error.at(-1)].map(percent);
    const ends = f.best_step === f.test_error.length - 1 ? "the last step shown." : best === last ? "and stays there." : `then it rises to ${last}: `;
    const words = `With all weights trained together on ${bags(this.state.settings.alpha1)}, the test error is least after step ${f.best_step}, ${best}, ${ends}`;
    return [words, ends.endsWith(": ") ? "stop early." : "", f.coarse ? " (quick)" : ""];
  }

  table() {
    const f = this.found;
    const rows = (f?.test_error ?? []).map((error, i) => [i, error, f.training_loss[i], f.cosine[i]]);
    return { columns: ["step", "test_error", "training_loss", "cosine"], rows };
  }
}

const NETWORKS = { softmax: ["softmax, one query", BLUE], heads: ["softmax, several heads", ORANGE], gated: ["gated attention", GREEN], self_attention: ["self-attention", VERMILION] };

export class Networks extends View {
  courses = [];

  event(event) {
    super.event(event);
    if (event.kind === "floor") this.floor = event.test_error;
    if (event.message) this.notes.push(event.message);
    if (event.kind !== "course") return;
    this.courses.push(event);
    this.notes.push(...event.notes.map((note) => `${NETWORKS[event.network][0]}: ${note}`));
  }

  figure() {
    const { quantity } = this.state;
    const series = this.courses.map((course) => ({
      name: NETWORKS[course.network][0], colour: NETWORKS[course.network][1],
      xs: course[quantity].map((_, i) => i), ys: course[quantity],
    }));
    if (quantity === "test_error" && this.floor !== undefined) {
      const xs = [0, this.state.settings.descent_steps];
      series.push({ name: name("floor"), colour: paint("floor"), dash: [2, 3], xs, ys: xs.map(() => this.floor) });
    }
    const highest = Math.max(0, ...series.flatMap((s) => s.ys));
    return {
      title: "Networks in training, all weights together",
      x: { label: "step", short: "step", log: false },
      y: { label: QUANTITIES[quantity], low: 0, high: 1.04 * highest || 1 },
      mark: null, series,
    };
  }

  headline() {
    const { quantity, settings } = this.state;
    if (!this.courses.length) return undefined;
    const least = quantity === "test_error";
    const told = this.courses.map((course) => `${NETWORKS[course.network][0]} ${
      least ? `${percent(course.test_error[course.best_step])} (step ${course.best_step})` : course[quantity].at(-1).toFixed(2)}`);
    const what = least ? "the least test errors are" : `after the last step the ${QUANTITIES[quantity]} is`;
    return [`With all weights trained together on ${bags(settings.alpha1)}, ${what}: ${told.join(", ")}.`];
  }

  table() {
    const names = Object.keys(QUANTITIES);
    const rows = this.courses.flatMap((course) => course.test_error.map((_, i) => [course.network, i, ...names.map((quantity) => course[quantity][i])]));
    return { columns: ["network", "step", ...names], rows };
  }
}
