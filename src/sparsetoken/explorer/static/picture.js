// Pictures that are SVG: maps and bags, and an SVG as PNG. White paper, whatever the page.

import { tspans } from "explorer/typeset.js";

export function escaped(text) {
  return String(text).replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Return a sentence, in which formulas stand between $, for the inside of an SVG text. */
export function label(text) {
  return text.split("$").map((part, i) => (i % 2 ? tspans(part) : escaped(part))).join("");
}

/** Return an SVG: to be kept, on white paper; or within the page, in its colours. */
export function svg(width, height, inside, within = false) {
  const [front, paper] = within ? ["currentColor", ""] : ["#1d2329", '<rect width="100%" height="100%" fill="#ffffff"/>'];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" `
    + `font-family="DejaVu Sans, sans-serif" font-size="12.5" fill="${front}" color="${front}">${paper}${inside}</svg>`;
}

/** Return a text in lines of at most so many letters. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length >= most) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}

/** Return a picture to be kept, as an SVG: what is drawn under its title and above notes. */
export function kept(title, { width, height, inside }, notes) {
  const [heads, feet] = [wrapped(title, 88), wrapped(notes, 105)];
  const top = 12 + 18 * heads.length;
  const lines = (texts, y, look) => texts.map((text, i) => `<text x="16" y="${y + 18 * i}" ${look}>${label(text)}</text>`).join("");
  return svg(width, top + height + 18 * feet.length + 14, `${lines(heads, 20, 'font-weight="bold"')}<g transform="translate(0 ${top})">${inside}</g>`
    + lines(feet, top + height + 18, 'font-size="11.5" fill="#5b6670"'));
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
