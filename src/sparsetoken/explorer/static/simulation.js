// Trials at finite dimension, beside the curves of the theory.

import { source } from "explorer/source.js";

const $ = (id) => document.getElementById(id);
let running; // the controller of the trials under way

export const stop = () => running?.abort();

/** Run trials at the present settings, and draw each as it comes. */
export async function simulate({ state, view, draw, fail, current }) {
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
  try {
    for await (const event of source.view("simulation", state.settings, options, controller.signal)) {
      if (!current(view)) break;
      last = event;
      view.event(event);
      $("bar").value = event.done / event.of;
      $("simulated").textContent = `${event.done} of ${event.of} trials at dimension ${event.dimension}`;
      draw();
    }
    if (current(view)) $("simulated").textContent += "; bars are one standard error.";
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
