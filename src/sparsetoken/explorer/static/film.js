// One bag in training: the weight of each token and the output after each step, which can be played.

import { WIDTH, weightBars } from "explorer/bag.js";
import { svg } from "explorer/picture.js";

const PACE = 600; // milliseconds for each step
const ROW = 118;
const $ = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");
let timer;
let shown; // the view whose bag is shown
let tell; // what else follows its step

/** Show the bag of a view of training; its first time it plays, unless motion is unwanted. */
export function show(view, follow) {
  const fresh = shown !== view;
  if (fresh) pause();
  $("play").disabled = $("step").disabled = !view.trajectories.length;
  if (!view.trajectories.length) {
    shown = undefined;
    $("tokens").replaceChildren();
    $("found").textContent = "The bag is shown as soon as the first trajectory is known.";
    return;
  }
  [shown, tell] = [view, follow];
  if (fresh && still.matches) view.step = view.last;
  if (fresh && !still.matches) play();
  $("step").max = view.last;
  go(Math.min(view.step, view.last));
}

function go(step) {
  shown.step = step;
  $("step").value = step;
  $("step").setAttribute("aria-valuetext", `step ${step} of ${shown.last}`);
  $("at").textContent = `step ${step} of ${shown.last}`;
  const rows = shown.shown();
  $("tokens").innerHTML = picture(rows, step);
  $("found").textContent = rows.length ? "" : "Among tokens of a covariance there is no picture of a bag.";
  tell();
}

/** Return the bag under each network after a step. */
export function picture(rows, step) {
  const parts = rows.map(({ words, bag }, i) => {
    const at = Math.min(step, bag.weights.length - 1);
    return `<text x="8" y="${18 + i * ROW}" font-weight="bold">${words}</text><text x="8" y="${36 + i * ROW}">${says(bag, bag.output[at])}</text>`
      + weightBars(bag.weights[at], bag.informative, { bottom: 98 + i * ROW, tallest: 52, top: 1 });
  });
  return svg(WIDTH, ROW * rows.length + 4, parts.join(""), true);
}

/** Say what a network says of a bag, and whether it is right. */
function says({ target, kind }, output) {
  if (kind === "number") return `output ${output.toFixed(2)}, target ${target.toFixed(2)}`;
  if (output === 0) return "output 0: undecided";
  return `output ${output.toFixed(2)}: ${output > 0 ? "positive" : "negative"}, ${output * target > 0 ? "right ✓" : "wrong ✗"}`;
}

export function pause() {
  clearInterval(timer);
  timer = undefined;
  $("play").textContent = "Play";
}

function play() {
  if (shown.step >= shown.last) shown.step = 0;
  $("play").textContent = "Pause";
  timer = setInterval(() => {
    if (shown.step >= shown.last) pause();
    else go(shown.step + 1);
  }, PACE);
}

$("play").addEventListener("click", () => {
  if (timer) pause();
  else {
    play();
    go(shown.step);
  }
});
$("step").addEventListener("input", () => {
  pause();
  go(Number($("step").value));
});
