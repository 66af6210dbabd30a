// One bag: its tokens as bars, and the weight that attention gives to each.

import { svg } from "explorer/picture.js";
import { boot } from "explorer/state.js";

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

export class Bag {
  notes = [];

  constructor(state, query) {
    this.state = structuredClone(state);
    this.query = query;
    this.noise = draw(state.seed, state.settings);
    this.positive = state.positive;
    const { cosine, sharpness } = query;
    const rest = Math.sqrt(Math.max(0, 1 - cosine ** 2));
    this.signal = (l) => (this.positive && this.noise.places.has(l) ? state.settings.strength : 0);
    this.scores = this.noise.along.map((z, l) => cosine * (z + this.signal(l)) + rest * this.noise.across[l]);
    this.weights = softmax(this.scores, sharpness);
  }

  event() {}

  summary() {
    return "";
  }

  /** Return how much signal a pooling keeps for its noise: share over length of the weights. */
  ratio(weights) {
    const kept = [...this.noise.places].reduce((sum, l) => sum + weights[l], 0);
    return kept / Math.hypot(...weights);
  }

  svg(dark = false, small = false) {
    const front = dark ? "currentColor" : "#1d2329";
    const L = this.weights.length;
    const [left, width, high, low] = small ? [8, 304, 30, 120] : [60, 680, 40, 190]; // of the scores
    const [second, bottom, tallest] = small ? [150, 250, 80] : [232, 380, 130]; // of the weights
    const w = width / L;
    const parts = [
      `<text x="${left}" y="20" font-weight="bold">${small ? "score of each token" : "score of each token: its projection on the query"}</text>`,
      `<text x="${left}" y="${second}" font-weight="bold">${small ? "its weight (line: mean pooling)" : "weight that attention gives it (line: mean pooling, 1/L)"}</text>`,
    ];
    const [most, least] = [Math.max(1, ...this.scores), Math.min(-0.5, ...this.scores)];
    const scale = (low - high) / (most - least);
    const base = high + most * scale;
    const top = Math.max(...this.weights, 1.2 / L);
    for (let l = 0; l < L; l += 1) {
      const carries = this.signal(l) > 0;
      const fill = carries ? boot.look.attention[1] : "#9aa5ae";
      const x = left + l * w + 0.1 * w;
      const height = Math.abs(this.scores[l]) * scale;
      const y = this.scores[l] > 0 ? base - height : base;
      parts.push(`<rect x="${x}" y="${y}" width="${0.8 * w}" height="${height}" fill="${fill}"><title>token ${l + 1}${carries ? ", informative" : ""}: score ${this.scores[l].toFixed(2)}</title></rect>`);
      const tall = (tallest * this.weights[l]) / top;
      parts.push(`<rect x="${x}" y="${bottom - tall}" width="${0.8 * w}" height="${tall}" fill="${fill}"><title>token ${l + 1}${carries ? ", informative" : ""}: weight ${this.weights[l].toFixed(3)}</title></rect>`);
      if (L <= 20) parts.push(`<text x="${x + 0.4 * w}" y="${bottom + 16}" text-anchor="middle" font-size="11">${small && L > 10 ? "" : l + 1}${carries ? "★" : ""}</text>`);
    }
    const mean = bottom - tallest / L / top;
    parts.push(`<line x1="${left}" x2="${left + width}" y1="${base}" y2="${base}" stroke="${front}"/>`);
    parts.push(`<line x1="${left}" x2="${left + width}" y1="${mean}" y2="${mean}" stroke="${boot.look.pooled[1]}" stroke-width="2" stroke-dasharray="6 4"/>`);
    const text = svg(small ? 320 : 760, bottom + 25, parts.join(""), front);
    return dark ? text.replace('<rect width="100%" height="100%" fill="#ffffff"/>', "") : text;
  }

  /** Say where attention looks, and whether the signal is there. */
  found() {
    const { cosine, sharpness } = this.query;
    const first = this.weights.indexOf(Math.max(...this.weights));
    const looks = `Most weight, ${(100 * this.weights[first]).toFixed(0)}%, goes to token ${first + 1}`;
    const query = `The query has cosine ${cosine.toFixed(2)} and sharpness ${sharpness.toFixed(2)}.`;
    if (!this.positive) return [`${looks}. In a negative bag there is nothing to find.`, query];
    if (this.signal(first) > 0) return [`${looks}★, which carries the signal: found.`, query];
    const places = [...this.noise.places].sort((a, b) => a - b).map((l) => `${l + 1}★`).join(", ");
    return [`${looks}, which is noise; the signal is in ${places}: missed.`, query];
  }

  title() {
    const { cosine, sharpness } = this.query;
    return `A ${this.positive ? "positive" : "negative"} bag under a query of cosine ${cosine.toFixed(2)} and sharpness ${sharpness.toFixed(2)}`;
  }

  headline() {
    if (!this.positive) return ["A negative bag: no token carries the signal, and attention weighs noise."];
    const kept = [...this.noise.places].reduce((sum, l) => sum + this.weights[l], 0);
    const { informative, length } = this.state.settings;
    const gain = this.ratio(this.weights) / this.ratio(Array(length).fill(1 / length));
    return [`The informative tokens (★) get ${(100 * kept).toFixed(0)}% of the weight; mean pooling gives them ${((100 * informative) / length).toFixed(0)}%. `
      + `Signal to noise of the pooled feature is ${gain.toFixed(2)} times that of the mean.`];
  }

  table() {
    return {
      columns: ["token", "informative", "score", "weight"],
      rows: this.weights.map((weight, l) => [l + 1, this.signal(l) > 0 ? 1 : 0, this.scores[l], weight]),
    };
  }
}
