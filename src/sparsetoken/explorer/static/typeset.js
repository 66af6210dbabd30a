// Letters of formulas, in italics and with subscripts: α₀ = n₀/d, η_w; and numbers.

const SMALL = 1e-3; // from here on zeros would fill a field
const PIECES = /_(\w)|([₀-₉]+)|([A-Za-zα-ωℓ])|([^A-Za-zα-ωℓ_₀-₉]+)/gu;

/** Return the pieces of a formula: [text, "i" | "sub" | ""]. */
function pieces(formula) {
  return [...formula.matchAll(PIECES)].map(([, word, digits, letter, rest]) => {
    if (digits) return [[...digits].map((digit) => digit.codePointAt(0) - 0x2080).join(""), "sub"];
    return word ? [word, "sub"] : letter ? [letter, "i"] : [rest, ""];
  });
}

/** Return the nodes of a formula. */
export function formula(text) {
  return pieces(text).map(([part, kind]) => {
    if (!kind) return document.createTextNode(part);
    return Object.assign(document.createElement(kind), { textContent: part });
  });
}

/** Return the nodes of a sentence in which formulas stand between $. */
export function sentence(text) {
  return text.split("$").flatMap((part, i) => (i % 2 ? formula(part) : [document.createTextNode(part)]));
}

/** Return a formula for the inside of an SVG text. */
export function tspans(text) {
  return pieces(text).map(([part, kind]) => {
    const look = { i: ' font-style="italic"', sub: ' font-size="75%" baseline-shift="sub"', "": "" }[kind];
    return `<tspan${look}>${part.replace(/[<>&]/g, (c) => `&#${c.charCodeAt(0)};`)}</tspan>`;
  }).join("");
}

/** Return a value as a field has room for: a small number as 1e-5. */
export function brief(value) {
  if (typeof value !== "number") return value;
  const number = Number(value.toPrecision(4));
  return number !== 0 && Math.abs(number) < SMALL ? number.toExponential() : String(number);
}
