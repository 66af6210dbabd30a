// Pictures to keep: any figure as SVG, and the SVG as PNG. White paper, whatever the page.

import { tspans } from "explorer/typeset.js";

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [760, 440, 70, 64, 16, 54];

export function escaped(text) {
  return String(text).replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Return a sentence, in which formulas stand between $, for the inside of an SVG text. */
export function label(text) {
  return text.split("$").map((part, i) => (i % 2 ? tspans(part) : escaped(part))).join("");
}

/** Return a line figure as the text of an SVG. */
export function svgOfLines(figure) {
  const { x, y, series } = figure;
  const values = series.flatMap((s) => s.xs);
  const [left, right] = x.range ?? [Math.min(...values), Math.max(...values)];
  const low = y.low ?? Math.min(...series.flatMap((s) => s.ys));
  const high = y.high ?? Math.max(...series.flatMap((s) => s.ys)) * 1.05;
  const scale = (value) => (x.log ? Math.log(value) : value);
  const px = (value) => LEFT + ((scale(value) - scale(left)) / (scale(right) - scale(left) || 1)) * (WIDTH - LEFT - RIGHT);
  const py = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const parts = [`<text x="${LEFT}" y="20" font-size="15" font-weight="bold">${escaped(figure.title)}</text>`];
  for (const tick of x.ticks ?? even(left, right)) {
    parts.push(line(px(tick), TOP, px(tick), HEIGHT - BOTTOM, "#e4e4e4"));
    parts.push(`<text x="${px(tick)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${tick}</text>`);
  }
  for (const tick of even(low, high)) {
    parts.push(line(LEFT, py(tick), WIDTH - RIGHT, py(tick), "#e4e4e4"));
    parts.push(`<text x="${LEFT - 6}" y="${py(tick) + 4}" text-anchor="end">${tick}</text>`);
  }
  parts.push(`<text x="${(LEFT + WIDTH) / 2}" y="${HEIGHT - 12}" text-anchor="middle">${label(x.label)}</text>`);
  parts.push(`<text transform="translate(16 ${HEIGHT / 2}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`);
  let at = LEFT;
  for (const s of series) {
    const places = s.xs.map((value, i) => [px(value), py(s.ys[i])]);
    const dash = s.dash ? ` stroke-dasharray="${s.dash.join(" ")}"` : "";
    if (s.points) {
      places.forEach(([a, b], i) => {
        if (s.errors?.[i] > 0) parts.push(line(a, py(s.ys[i] - s.errors[i]), a, py(s.ys[i] + s.errors[i]), s.colour));
        parts.push(`<circle cx="${a}" cy="${b}" r="4" fill="${s.colour}"/>`);
      });
    } else {
      const path = places.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
      parts.push(`<polyline points="${path}" fill="none" stroke="${s.colour}" stroke-width="2"${dash}/>`);
    }
    parts.push(line(at, 40, at + 18, 40, s.colour, 3), `<text x="${at + 23}" y="44">${escaped(s.name)}</text>`);
    at += 40 + 6.6 * s.name.length;
  }
  return svg(WIDTH, HEIGHT, parts.join(""));
}

function line(x1, y1, x2, y2, stroke, width = 1) {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${stroke}" stroke-width="${width}"/>`;
}

/** Return round numbers that cut an interval into about five. */
export function even(low, high) {
  const raw = (high - low) / 5 || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * ([1, 2, 5, 10].find((n) => n * unit >= raw) ?? 10);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i += 1) ticks.push(Number((i * step).toPrecision(8)));
  return ticks;
}

/** Return an SVG: to be kept, on white paper; or within the page, in its colours. */
export function svg(width, height, inside, within = false) {
  const [front, paper] = within ? ["currentColor", ""] : ["#1d2329", '<rect width="100%" height="100%" fill="#ffffff"/>'];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" `
    + `font-family="DejaVu Sans, sans-serif" font-size="12.5" fill="${front}" color="${front}">${paper}${inside}</svg>`;
}

/** Return the PNG of an SVG as a blob, twice as large. */
export async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.width;
  canvas.height = 2 * image.height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}
