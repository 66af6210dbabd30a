// The view of descent: what all weights do together, step by step, and what that does to one bag.

import { QUANTITIES, SPARSE_TOKEN, TASKS, boot } from "explorer/state.js";
import { BLUE, GREEN, ORANGE, VERMILION, View, bags, name, paint, percent } from "explorer/views.js";

const NETWORKS = {
  softmax: "softmax attention", heads: "attention with several heads", gated: "gated attention", self_attention: "self-attention", pooled: name("pooled"),
};
const QUICK = [7, 5]; // dashes of what is replaced
const SMALL = 0.05; // of the largest overlap: smaller ones are left out
const TIE = 0.05; // relative: a smaller difference names no winner
const PALETTE = [BLUE, VERMILION, GREEN, ORANGE, ...Object.keys(boot.look).slice(3).map(paint)];

export class Descent extends View {
  trajectories = [];
  step = 0; // of the bag
  number = 0; // of the bag

  event(event) {
    super.event(event);
    if (event.kind === "bayes") this.bayes = event.test_error;
    if (event.kind !== "trajectory") return;
    const before = this.trajectories.findIndex((trajectory) => trajectory.network === event.network);
    this.trajectories.splice(before < 0 ? this.trajectories.length : before, 1, event);
    this.notes = this.trajectories.filter((trajectory) => !trajectory.coarse)
      .flatMap((trajectory) => trajectory.notes.map((note) => `${NETWORKS[trajectory.network]}: ${note}`));
  }

  get task() {
    return TASKS[this.state.settings.task];
  }

  /** Return the trajectory of the chosen network. */
  get chosen() {
    return this.trajectories.find((trajectory) => trajectory.network !== "pooled");
  }

  /** Return the last step that is known. */
  get last() {
    return Math.max(0, ...this.trajectories.map((trajectory) => trajectory.test_error.length - 1));
  }

  /** Return each network by name, with its new bag. */
  shown() {
    return this.trajectories.filter((trajectory) => trajectory.bags.length)
      .map((trajectory) => ({ words: NETWORKS[trajectory.network], bag: trajectory.bags[this.number % trajectory.bags.length] }));
  }

  line(trajectory, quantity, words, colour, dash) {
    const ys = trajectory[quantity];
    return { name: words, colour, dash: trajectory.coarse ? QUICK : dash, xs: ys.map((_, i) => i), ys };
  }

  lines() {
    const { quantity } = this.state;
    if (quantity === "overlaps") return this.overlaps();
    if (quantity !== "errors") {
      return this.trajectories.filter((trajectory) => trajectory[quantity].every((value) => value !== null))
        .map((trajectory) => this.line(trajectory, quantity, NETWORKS[trajectory.network], trajectory === this.chosen ? BLUE : ORANGE));
    }
    const lines = this.trajectories.map((trajectory) => this.line(trajectory, "test_error", NETWORKS[trajectory.network], trajectory === this.chosen ? BLUE : ORANGE));
    if (this.chosen) lines.splice(1, 0, this.line(this.chosen, "training_loss", "its training loss", BLUE, [2, 3]));
    if (this.bayes !== undefined) {
      const xs = [0, this.state.settings.descent_steps];
      lines.push({ name: name("bayes"), colour: paint("bayes"), dash: [2, 3], xs, ys: xs.map(() => this.bayes) });
    }
    return lines;
  }

  /** Return the overlaps that matter, by the names of column and direction. */
  overlaps() {
    const trajectory = this.chosen;
    const size = (key) => Math.max(...trajectory[key].map(Math.abs));
    const keys = trajectory ? Object.keys(trajectory).filter((key) => key.startsWith("overlap_")) : [];
    const largest = Math.max(...keys.map(size));
    return keys.filter((key) => size(key) > SMALL * largest)
      .map((key, i) => this.line(trajectory, key, key.split("_").slice(1).join(" · "), PALETTE[i % PALETTE.length]));
  }

  figure() {
    const series = this.lines();
    const values = series.flatMap((s) => s.ys);
    return {
      title: this.task.sentence,
      x: { label: "step", short: "step", log: false },
      y: { label: this.upwards(), low: Math.min(0, ...values), high: 1.04 * Math.max(0, ...values) || 1 },
      mark: this.step, series,
    };
  }

  upwards() {
    const words = QUANTITIES[this.state.quantity];
    return this.task.squared ? words.replace("test error", "mean squared error") : words;
  }

  headline() {
    const [chosen, pooled] = [this.chosen, this.trajectories.find(({ network }) => network === "pooled")];
    if (!chosen || !pooled) return undefined;
    const { quantity, settings } = this.state;
    const quick = this.trajectories.some((trajectory) => trajectory.coarse) ? " (quick)" : "";
    const words = `${this.task.words}, all weights trained together on ${bags(settings.alpha1)}: `;
    const who = NETWORKS[chosen.network];
    if (quantity === "attended" || quantity === "cosine") {
      return [`${words}after the last step the ${QUANTITIES[quantity]} is ${chosen[quantity].at(-1).toFixed(2)} for ${who}.`, "", quick];
    }
    const { squared } = this.task;
    const value = (error) => (squared ? error.toFixed(2) : percent(error));
    const [a, b] = [chosen, pooled].map((trajectory) => trajectory.test_error[trajectory.best_step]);
    const end = Math.abs(a - b) <= TIE * Math.max(a, b) ? "nearly a tie." : `${a < b ? who : name("pooled")} wins.`;
    const error = squared ? "mean squared error" : "test error";
    return [`${words}the ${error} of ${who} is least after step ${chosen.best_step}, ${value(a)}${after(chosen, value)}; mean pooling has ${value(b)} at best: `, end, quick];
  }

  /** Say what the columns of softmax attention point to on a task with several directions. */
  summary() {
    const trajectory = this.chosen;
    if (trajectory?.network !== "softmax" || this.state.settings.task === SPARSE_TOKEN) return "";
    const most = ["q", "w"].map((column) => {
      const keys = Object.keys(trajectory).filter((key) => key.startsWith(`overlap_${column}_`) || key === `overlap_${column}`);
      const [best] = keys.sort((one, other) => Math.abs(trajectory[other].at(-1)) - Math.abs(trajectory[one].at(-1)));
      return `with ${best.split("_").at(2)} (${trajectory[best].at(-1).toFixed(2)})`;
    });
    return `After the last step the query has its largest overlap ${most[0]}, the readout ${most[1]}.`;
  }

  table() {
    const names = [...new Set(this.trajectories.flatMap((trajectory) => Object.keys(trajectory).filter((key) => Array.isArray(trajectory[key]) && !["notes", "bags"].includes(key))))];
    const rows = this.trajectories.flatMap((trajectory) => trajectory.test_error.map((_, i) => [trajectory.network, i, ...names.map((quantity) => trajectory[quantity]?.[i])]));
    return { columns: ["network", "step", ...names], rows };
  }
}

/** Say how a trajectory goes on after its best step. */
function after({ test_error: errors, best_step: best }, value) {
  if (best === errors.length - 1) return " (the last step shown)";
  const [least, last] = [errors[best], errors.at(-1)].map(value);
  return least === last ? ", and stays there" : `, then it rises to ${last}: stop early`;
}
