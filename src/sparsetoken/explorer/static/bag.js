// One bag: its tokens as bars, and the weight that attention gives to each.

import { svg } from "explorer/picture.js";
import { boot } from "explorer/state.js";

export const WIDTH = 320;
const [LEFT, INSIDE] = [8, 304];

/** Return a generator of numbers in (0, 1) from a seed (mulberry32). */
function uniforms(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

/** Draw the noise of a bag along the signal and across it, and its informative places. */
export function draw(seed, settings) {
  const next = uniforms(seed);
  const normal = () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
  const { length, informative } = settings;
  const [along, across, keys] = [[], [], []];
  for (let l = 0; l < length; l += 1) { // token by token: a longer bag begins with the same ones
    along.push(normal());
    across.push(normal());
    keys.push(next());
  }
  const order = keys.map((_, i) => i).sort((a, b) => keys[a] - keys[b]);
  return { along, across, places: new Set(order.slice(0, informative)) };
}

/** Return softmax(k t) for projections t. */
export function softmax(t, k) {
  const most = Math.max(...t);
  const powers = t.map((value) => Math.exp(k * (value - most)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((value) => value / sum);
}

/** Return the bar of a value of a token, from y on. */
function bar(l, length, y, height, carries, told) {
  const w = INSIDE / length;
  const fill = carries ? boot.look.attention[1] : "#9aa5ae";
  return `<rect x="${LEFT + (l + 0.1) * w}" y="${y}" width="${0.8 * w}" height="${height}" fill="${fill}"><title>token ${l + 1}${carries ? ", informative" : ""}: ${told}</title></rect>`;
}

/** Return the bars of the weights of tokens, and a line at that of mean pooling. */
export function weightBars(weights, carries, { bottom, tallest, top }) {
  const L = weights.length;
  const parts = weights.map((weight, l) => {
    const tall = (tallest * weight) / top;
    const mark = `${L > 10 ? "" : l + 1}${carries[l] ? "★" : ""}`;
    const place = L <= 20 && `<text x="${LEFT + ((l + 0.5) * INSIDE) / L}" y="${bottom + 16}" text-anchor="middle" font-size="11">${mark}</text>`;
    return bar(l, L, bottom - tall, tall, carries[l], `weight ${weight.toFixed(3)}`) + (place || "");
  });
  const mean = bottom - tallest / L / top;
  return `${parts.join("")}<line x1="${LEFT}" x2="${LEFT + INSIDE}" y1="${mean}" y2="${mean}" stroke="${boot.look.pooled[1]}" stroke-width="2" stroke-dasharray="6 4"/>`;
}

export class Bag {
  constructor(state, query) {
    this.settings = state.settings;
    this.query = query;
    this.noise = draw(state.seed, state.settings);
    this.positive = state.positive;
    const { cosine, sharpness } = query;
    const rest = Math.sqrt(Math.max(0, 1 - cosine ** 2));
    this.carries = this.noise.along.map((_, l) => this.positive && this.noise.places.has(l));
    const strength = (l) => (this.carries[l] ? state.settings.strength : 0);
    this.scores = this.noise.along.map((z, l) => cosine * (z + strength(l)) + rest * this.noise.across[l]);
    this.weights = softmax(this.scores, sharpness);
  }

  svg() {
    const L = this.weights.length;
    const [high, low] = [30, 120]; // of the scores
    const [most, least] = [Math.max(1, ...this.scores), Math.min(-0.5, ...this.scores)];
    const scale = (low - high) / (most - least);
    const base = high + most * scale;
    const scores = this.scores.map((score, l) => bar(l, L, base - Math.max(0, score) * scale, Math.abs(score) * scale, this.carries[l], `score ${score.toFixed(2)}`));
    const top = Math.max(...this.weights, 1.2 / L);
    return svg(WIDTH, 275, `<text x="${LEFT}" y="20" font-weight="bold">score of each token</text>${scores.join("")}`
      + `<line x1="${LEFT}" x2="${LEFT + INSIDE}" y1="${base}" y2="${base}" stroke="currentColor"/>`
      + `<text x="${LEFT}" y="150" font-weight="bold">its weight (line: mean pooling)</text>`
      + weightBars(this.weights, this.carries, { bottom: 250, tallest: 80, top }), true);
  }

  /** Say where attention looks, whether the signal is there, and what that is worth. */
  found() {
    const { cosine, sharpness } = this.query;
    const first = this.weights.indexOf(Math.max(...this.weights));
    const looks = `Most weight, ${(100 * this.weights[first]).toFixed(0)}%, goes to token ${first + 1}`;
    const query = `The query has cosine ${cosine.toFixed(2)} and sharpness ${sharpness.toFixed(2)}.`;
    if (!this.positive) return [`${looks}. In a negative bag there is nothing to find.`, query];
    const kept = [...this.noise.places].reduce((sum, l) => sum + this.weights[l], 0);
    const { informative, length } = this.settings;
    const gain = (kept / Math.hypot(...this.weights)) / (informative / Math.sqrt(length));
    const worth = `Signal to noise of the pooled feature is ${gain.toFixed(2)} times that of the mean.`;
    if (this.carries[first]) return [`${looks}★, which carries the signal: found.`, worth, query];
    const places = [...this.noise.places].sort((a, b) => a - b).map((l) => `${l + 1}★`).join(", ");
    return [`${looks}, which is noise; the signal is in ${places}: missed.`, worth, query];
  }
}
