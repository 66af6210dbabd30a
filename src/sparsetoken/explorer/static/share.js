// What can be taken away: Python, a command line, CSV.

import { TASKS, defaults } from "explorer/state.js";

const TWO_STEPS = ["alpha0", "eta_w", "eta_b", "eta_q", "beta"];
const covariance = (s) => s.spectrum > 0 || s.bag_effect > 0;

/** Return Python source that computes what a view shows. */
export function python({ settings: s, view, axis }) {
  const lines = ["import numpy as np", "import sparsetoken as st", ""];
  let tokens = "";
  if (covariance(s)) {
    lines.push(`within = np.arange(1, 101) ** -${float(s.spectrum)}`, "within /= within.mean()");
    const between = s.bag_effect > 0 ? `, ${float(s.bag_effect)} * within` : "";
    lines.push(`tokens = st.TokenCovariance(within${between}, signal=np.full(100, 0.1))`);
    tokens = ", tokens=tokens";
  }
  lines.push(`problem = st.SparseTokenProblem(${s.length}, ${s.informative}, ${float(s.strength)}, ${float(s.positive_rate)}${tokens})`);
  const steps = TWO_STEPS.map((name) => `${name}=${float(s[name])}`).join(", ");
  const trained = `st.TwoSteps(${steps}, loss="${s.loss}")`;
  const query = s.query === "given" ? `st.Query(${float(s.cosine)}, ${float(s.sharpness)})` : trained;
  lines.push(`query = ${query}`);
  lines.push(...BODY[view](s, axis, trained));
  return lines.join("\n") + "\n";
}

const float = (value) => (Number.isInteger(value) ? `${value}.0` : String(value));
const readout = (s, alpha) => `readout = st.Readout("${s.loss}", ridge=${s.ridge}, alpha1=${alpha})`;
const MODELS = "st.Attention(query), st.Pooled(), st.Vectorized()";
const PHASE = {
  strength: ["strength", "np.linspace(1, 8, 12)"],
  positive_rate: ["positive_rate", "np.linspace(0.05, 0.95, 12)"],
  length: ["length", "np.unique(np.geomspace(2, 60, 12).round()).astype(int)"],
};

const BODY = {
  curves: (s) => [
    readout(s, "np.geomspace(0.25, 10, 21)"),
    `for model in (${MODELS}):`,
    "    print(model.name, st.predict(problem, model, readout, tolerance=1e-3).test_error)",
  ],
  phase(s, axis, trained) {
    const lines = ["import dataclasses", readout(s, "np.geomspace(0.25, 10, 12)")];
    const many = axis === "alpha0";
    const [field, values] = many ? ["alpha0", "np.geomspace(0.05, 20, 12)"] : PHASE[axis];
    lines.push(`for value in ${values}:`);
    if (axis === "length") lines.push(`    if value < ${s.informative}:`, "        continue", "    value = int(value)");
    if (many && s.query !== "given") lines.push(`    query = dataclasses.replace(${trained}, ${field}=value)`, "    at = problem");
    else lines.push(`    at = ${many ? "problem" : `dataclasses.replace(problem, ${field}=value)`}`);
    lines.push(`    for model in (${MODELS}):`);
    lines.push("        print(value, model.name, st.predict(at, model, readout, tolerance=5e-3).test_error)");
    return lines;
  },
  alignment: (s, _, trained) => [
    "import dataclasses",
    `steps = dataclasses.replace(${trained}, alpha0=np.geomspace(0.05, 100, 25))`,
    "print(st.align(problem, steps).cosine)",
  ],
  capacity: () => [
    `for model in (${MODELS}):`,
    "    print(model.name, st.capacity(problem, model, tolerance=1e-2).capacity)",
  ],
  descent: (s) => [
    `rates = {"w": ${float(s.descent_eta_w)}, "q": ${float(s.descent_eta_q)}}`,
    `steps = st.Descent(st.networks.Softmax(beta=${float(s.beta)}), alpha=${float(s.alpha1)}, steps=${s.descent_steps}, rates=rates, start=0.0, loss="${s.loss}")`,
    "course = st.descend(problem, steps, tolerance=5e-3)",
    "print(course.test_error, course.best_step)",
  ],
  networks: (s) => [
    "kinds = (",
    `    st.networks.Softmax(beta=${float(s.beta)}),`,
    `    st.networks.Softmax(${s.network_heads}, beta=${float(s.beta)}),`,
    `    st.networks.Gated(${s.network_hidden}),`,
    `    st.networks.SelfAttention(${s.network_rank}),`,
    ")",
    "for network in kinds:",
    `    start = ${float(s.network_start)} * np.array(network.start_norms(outputs=1))`,
    `    steps = st.Descent(network, alpha=${float(s.alpha1)}, steps=${s.descent_steps}, rates=${float(s.network_rate)}, start=start, loss="${s.loss}")`,
    "    course = st.descend(problem, steps, tolerance=5e-3, replicas=8)",
    "    print(type(network).__name__, course.test_error, course.best_step)",
  ],
  tasks: (s) => [
    `task = st.tasks.${s.task}()`,
    `softmax, pooled = st.networks.Softmax(beta=${float(s.beta)}), st.networks.Pooled()`,
    `sizes = {"alpha": ${float(s.alpha1)}, "steps": ${s.descent_steps}, "loss": "${TASKS[s.task].squared ? "square" : s.loss}"}`,
    `rates = {"w": ${float(s.task_eta_w)}, "q": ${float(s.task_eta_q)}}`,
    `start = {"q": {"${TASKS[s.task].first}": ${float(s.task_overlap)}}, "w": 0.0}`,
    "for steps in (",
    "    st.Descent(softmax, rates=rates, start_overlaps=start, **sizes),",
    "    st.Descent(pooled, rates=rates[\"w\"], **sizes),",
    "):",
    "    course = st.descend(task, steps, tolerance=5e-3, replicas=8)",
    "    print(type(steps.network).__name__, course.test_error, course.best_step)",
  ],
};

const TASK = { length: "length", informative: "informative", strength: "strength", "positive-rate": "positive_rate" };
const STEPS = { alpha0: "alpha0", "eta-w": "eta_w", "eta-b": "eta_b", "eta-q": "eta_q", beta: "beta" };
const GIVEN = { cosine: "cosine", sharpness: "sharpness" };

/** Return the command that computes what a view shows, or why there is none. */
export function command({ settings: s, view }) {
  if (covariance(s)) return "# Tokens of a covariance have no options on the command line; copy as Python.\n";
  const plain = defaults().settings;
  const told = (options) => Object.entries(options).map(([option, name]) => ` --${option} ${s[name]}`).join("");
  const query = s.query === "given" ? told(GIVEN) : told(STEPS);
  const loss = s.loss === plain.loss ? "" : ` --loss ${s.loss}`;
  const task = told(TASK);
  const lines = {
    curves: ["attention", "pooled", "vectorized"].map((model) => `sparsetoken predict ${model}${task}${query}${loss}${told({ ridge: "ridge", alpha1: "alpha1" })}`),
    capacity: ["attention", "pooled", "vectorized"].map((model) => `sparsetoken capacity ${model}${task}${query}${loss}`),
    alignment: [`sparsetoken align${task}${told(STEPS)}${loss}`],
    descent: [`sparsetoken descend${task}${told({ alpha: "alpha1", steps: "descent_steps", "eta-w": "descent_eta_w", "eta-q": "descent_eta_q", beta: "beta" })}${loss}`],
  };
  lines.networks = [
    ["softmax", "beta"], ["heads", "heads", "beta"], ["gated", "hidden"], ["self_attention", "rank"],
  ].map(([network, ...own]) => {
    const options = Object.fromEntries(own.map((option) => [option, option === "beta" ? option : `network_${option}`]));
    return `sparsetoken descend${task} --network ${network}${told({ ...options, alpha: "alpha1", steps: "descent_steps", rate: "network_rate" })}${loss}`;
  });
  if (s.network_start !== 1) lines.networks = ["# The command line takes the length of each column at the start; copy as Python."];
  const square = TASKS[s.task].squared ? " --loss square" : loss;
  lines.tasks = [`sparsetoken descend --task ${s.task} --rate ${s.task_eta_q},${s.task_eta_w}${told({ "start-overlap": "task_overlap", alpha: "alpha1", steps: "descent_steps", beta: "beta" })}${square}`];
  lines.phase = lines.curves;
  return lines[view].join("\n") + "\n";
}

/** Return a table as CSV. */
export function csv({ columns, rows }) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

/** Give a file to the user. */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
