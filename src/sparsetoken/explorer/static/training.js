// The views of training: what all weights do together, step by step, and what that does to one bag.

import { QUANTITIES, TASKS, boot } from "explorer/state.js";
import { BLUE, GREEN, ORANGE, VERMILION, View, bags, name, paint, percent } from "explorer/views.js";

const NETWORKS = {
  softmax: ["softmax, one query", BLUE], heads: ["softmax, several heads", ORANGE], gated: ["gated attention", GREEN],
  self_attention: ["self-attention", VERMILION], pooled: [name("pooled"), ORANGE],
};
const QUICK = [7, 5]; // dashes of what is replaced
const SMALL = 0.05; // of the largest overlap: smaller ones are left out
const PALETTE = [BLUE, VERMILION, GREEN, ORANGE, ...Object.keys(boot.look).slice(3).map(paint)];

export class Training extends View {
  courses = [];
  step = 0; // of the bag
  number = 0; // of the bag

  event(event) {
    super.event(event);
    if (event.kind === "floor") this.floor = event.test_error;
    if (event.kind !== "course") return;
    const before = this.courses.findIndex((course) => course.network === event.network);
    this.courses.splice(before < 0 ? this.courses.length : before, 1, event);
    const several = this.courses.length > 1;
    this.notes = this.courses.filter((course) => !course.coarse)
      .flatMap((course) => course.notes.map((note) => (several ? `${NETWORKS[course.network][0]}: ${note}` : note)));
  }

  /** Return the last step that is known. */
  get last() {
    return Math.max(0, ...this.courses.map((course) => course.test_error.length - 1));
  }

  /** Return the name of a network, its new bag, and its course. */
  shown() {
    return this.courses.filter((course) => course.bags.length)
      .map((course) => ({ words: NETWORKS[course.network][0], bag: course.bags[this.number % course.bags.length] }));
  }

  line(course, quantity, words, colour) {
    const ys = course[quantity];
    return { name: words, colour, dash: course.coarse ? QUICK : undefined, xs: ys.map((_, i) => i), ys };
  }

  lines() {
    const { quantity } = this.state;
    if (quantity === "overlaps") return this.overlaps();
    const lines = this.courses.filter((course) => course[quantity].every((value) => value !== null))
      .map((course) => this.line(course, quantity, ...NETWORKS[course.network]));
    if (quantity === "test_error" && this.floor !== undefined) {
      const xs = [0, this.state.settings.descent_steps];
      lines.push({ name: name("floor"), colour: paint("floor"), dash: [2, 3], xs, ys: xs.map(() => this.floor) });
    }
    return lines;
  }

  /** Return the overlaps of softmax attention that matter, by the names of column and direction. */
  overlaps() {
    const course = this.courses.find(({ network }) => network === "softmax");
    const size = (key) => Math.max(...course[key].map(Math.abs));
    const keys = course ? Object.keys(course).filter((key) => key.startsWith("overlap_")) : [];
    const largest = Math.max(...keys.map(size));
    return keys.filter((key) => size(key) > SMALL * largest)
      .map((key, i) => this.line(course, key, key.split("_").slice(1).join(" · "), PALETTE[i % PALETTE.length]));
  }

  figure() {
    const series = this.lines();
    const values = series.flatMap((s) => s.ys);
    return {
      title: this.title(),
      x: { label: "step", short: "step", log: false },
      y: { label: this.upwards(), low: Math.min(0, ...values), high: 1.04 * Math.max(0, ...values) || 1 },
      mark: this.step, series,
    };
  }

  title() {
    return "Networks in training, all weights together";
  }

  upwards() {
    return QUANTITIES[this.state.quantity];
  }

  quick() {
    return this.courses.some((course) => course.coarse) ? " (quick)" : "";
  }

  headline() {
    const { quantity, settings } = this.state;
    if (!this.courses.length) return undefined;
    const least = quantity === "test_error" || quantity === "overlaps";
    const told = this.courses.map((course) => `${NETWORKS[course.network][0]} ${
      least ? `${percent(course.test_error[course.best_step])} (step ${course.best_step})` : course[quantity].at(-1).toFixed(2)}`);
    const what = least ? "the least test errors are" : `after the last step the ${QUANTITIES[quantity]} is`;
    return [`With all weights trained together on ${bags(settings.alpha1)}, ${what}: ${told.join(", ")}.`, "", this.quick()];
  }

  table() {
    const names = [...new Set(this.courses.flatMap((course) => Object.keys(course).filter((key) => Array.isArray(course[key]) && !["notes", "bags"].includes(key))))];
    const rows = this.courses.flatMap((course) => course.test_error.map((_, i) => [course.network, i, ...names.map((quantity) => course[quantity]?.[i])]));
    return { columns: ["network", "step", ...names], rows };
  }
}

export class Descent extends Training {
  lines() {
    const [course] = this.courses;
    if (!course) return [];
    return [["test_error", "test error", BLUE], ["training_loss", "training loss", ORANGE], ["cosine", "cosine of query and signal", GREEN]]
      .map((line) => this.line(course, ...line));
  }

  title() {
    return "Gradient descent on query, readout and bias together";
  }

  upwards() {
    return "test error, training loss, cosine";
  }

  headline() {
    const [f] = this.courses;
    if (!f) return undefined;
    const [best, last] = [f.test_error[f.best_step], f.test_error.at(-1)].map(percent);
    const ends = f.best_step === f.test_error.length - 1 ? "the last step shown." : best === last ? "and stays there." : `then it rises to ${last}: `;
    const words = `With all weights trained together on ${bags(this.state.settings.alpha1)}, the test error is least after step ${f.best_step}, ${best}, ${ends}`;
    return [words, ends.endsWith(": ") ? "stop early." : "", this.quick()];
  }
}

export class Tasks extends Training {
  get task() {
    return TASKS[this.state.settings.task];
  }

  title() {
    return this.task.sentence;
  }

  upwards() {
    const { quantity } = this.state;
    return quantity === "test_error" && this.task.squared ? "mean squared error" : QUANTITIES[quantity];
  }

  headline() {
    const found = this.courses.map((course) => [course.test_error[course.best_step], course]);
    if (found.length < 2) return undefined;
    const value = (error) => (this.task.squared ? error.toFixed(2) : percent(error));
    const told = found.map(([error, course]) => `${NETWORKS[course.network][0]} ${value(error)} (step ${course.best_step})`);
    const [[a], [b]] = found;
    const gap = Math.abs(a - b) / Math.max(a, b);
    const end = gap < 0.05 ? "nearly a tie." : a < b ? "attention wins." : "mean pooling wins.";
    const what = this.task.squared ? "least mean squared errors" : "least test errors";
    return [`${this.task.words}, ${bags(this.state.settings.alpha1)}; ${what}: ${told.join(", ")}: `, end, this.quick()];
  }

  summary() {
    const course = this.courses.find(({ network }) => network === "softmax");
    if (!course) return "";
    const most = ["q", "w"].map((column) => {
      const keys = Object.keys(course).filter((key) => key.startsWith(`overlap_${column}_`) || key === `overlap_${column}`);
      const [best] = keys.sort((one, other) => Math.abs(course[other].at(-1)) - Math.abs(course[one].at(-1)));
      return `with ${best.split("_").at(2)} (${course[best].at(-1).toFixed(2)})`;
    });
    return `After the last step the query has its largest overlap ${most[0]}, the readout ${most[1]}.`;
  }
}
