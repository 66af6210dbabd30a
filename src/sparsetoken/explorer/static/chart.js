// Line charts by uPlot from a plain description.
//
// figure: {title, x: {label, log, ticks}, y: {label, low, high}, mark, series: [
//   {name, colour, dash, points, xs, ys, errors}]}

import uPlot from "uplot";
import { element } from "explorer/controls.js";
import { escaped, label } from "explorer/picture.js";

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const FONT = "12px system-ui, 'DejaVu Sans', sans-serif";

/** Return the colour of a series: what is grey on white is a lighter grey on a dark page. */
const ink = (hex) => (hex === "#666666" ? colour("--soft") : hex);

export class LineChart {
  constructor(place) {
    this.place = place;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(place);
  }

  draw(figure) {
    this.figure = figure;
    const shape = JSON.stringify([
      figure.x, figure.y, colour("--front"), figure.series.map((s) => [s.name, s.colour, s.dash, s.points]),
    ]);
    const data = aligned(figure.series);
    if (this.plot && shape === this.shape) {
      this.plot.setData(data);
      return;
    }
    this.clear();
    this.shape = shape;
    this.legend = legend(figure.series);
    this.box = element("div");
    this.place.replaceChildren(this.legend, this.box);
    this.plot = new uPlot(this.options(figure), data, this.box);
  }

  options(figure) {
    const line = { stroke: colour("--grid"), width: 1 };
    const axis = { stroke: colour("--front"), grid: line, ticks: line, font: FONT, labelFont: FONT, labelSize: 22, gap: 5 };
    const x = { ...axis, label: figure.x.label.replaceAll("$", ""), size: 34, space: 50 };
    if (figure.x.ticks) {
      x.splits = () => figure.x.ticks;
      x.values = (_, splits) => splits.map(String);
      x.filter = (_, splits) => splits;
    }
    return {
      ...this.size(),
      scales: {
        x: { time: false, distr: figure.x.log ? 3 : 1, range: figure.x.range && (() => figure.x.range) },
        y: { range: (_, low, high) => [figure.y.low ?? low, figure.y.high ?? high * 1.05] },
      },
      axes: [x, { ...axis, label: figure.y.label, size: 50, space: 30 }],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 7 } },
      series: [
        {},
        ...figure.series.map((s) => ({
          stroke: ink(s.colour),
          width: 2,
          dash: s.dash,
          spanGaps: true,
          pxAlign: 0, // points close to one another keep their slopes
          paths: s.points ? () => null : s.smooth ? uPlot.paths.spline() : undefined,
          points: { show: Boolean(s.points), size: 8, fill: ink(s.colour) },
        })),
      ],
      hooks: { draw: [(plot) => marks(plot, this.figure)], setCursor: [(plot) => this.tell(plot)] },
    };
  }

  /** Write the values under the cursor into the legend. */
  tell(plot) {
    const at = plot.cursor.idx;
    const x = at == null ? null : plot.data[0][at];
    this.legend.lastChild.textContent = x == null ? "" : `${this.figure.x.short} = ${Number(x.toPrecision(3))}`;
    this.figure.series.forEach((s, i) => {
      const y = x == null ? null : plot.data[i + 1][at];
      this.legend.children[i].textContent = y == null ? s.name : `${s.name} ${Number(y.toPrecision(3))}`;
    });
  }

  /** Mark another place of the same figure. */
  moveMark(mark) {
    if (!this.plot || this.figure.mark === mark) return;
    this.figure.mark = mark;
    this.plot.redraw(false);
  }

  /** Return the chart as the inside of an SVG, with the scales that are seen. */
  drawing() {
    const { plot, figure: { x, y, mark, series } } = this;
    const entries = entriesOf(series);
    const [left, right, top, bottom] = [64, 744, entries.bottom + 12, entries.bottom + 332];
    const place = (key, from, to) => {
      const { min, max, distr } = plot.scales[key];
      const f = distr === 3 ? Math.log : Number;
      return (value) => from + ((to - from) * (f(value) - f(min))) / (f(max) - f(min));
    };
    const [X, Y] = [place("x", left, right), place("y", bottom, top)];
    const line = (x1, y1, x2, y2, look) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${look}/>`;
    const ticks = (axis, draw) => axis._splits.map((value, i) => (axis._values[i] ? draw(value, axis._values[i]) : "")).join("");
    const faint = 'stroke="#e9ecef"';
    const parts = [entries.inside,
      ticks(plot.axes[0], (value, words) => line(X(value), top, X(value), bottom, faint) + `<text x="${X(value)}" y="${bottom + 18}" text-anchor="middle">${words}</text>`),
      ticks(plot.axes[1], (value, words) => line(left, Y(value), right, Y(value), faint) + `<text x="${left - 8}" y="${Y(value) + 4}" text-anchor="end">${words}</text>`),
      `<text x="${(left + right) / 2}" y="${bottom + 40}" text-anchor="middle">${label(x.label)}</text>`,
      `<text transform="translate(18 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle">${label(y.label)}</text>`];
    if (mark != null) parts.push(line(X(mark), top, X(mark), bottom, 'stroke="#5b6670" stroke-dasharray="4 4"'));
    for (const s of series) {
      const look = `stroke="${s.colour}" stroke-width="2" fill="none" stroke-dasharray="${s.dash ?? ""}"`;
      if (!s.points) parts.push(`<polyline points="${s.xs.map((value, i) => `${X(value)},${Y(s.ys[i])}`).join(" ")}" ${look}/>`);
      else s.xs.forEach((value, i) => parts.push(`<circle cx="${X(value)}" cy="${Y(s.ys[i])}" r="4" fill="${s.colour}"/>`
        + line(X(value), Y(s.ys[i] - s.errors[i]), X(value), Y(s.ys[i] + s.errors[i]), look)));
    }
    return { width: 760, height: bottom + 50, inside: parts.join("") };
  }

  size() {
    const width = Math.max(260, this.place.clientWidth);
    const narrow = matchMedia("(max-width: 860px)").matches; // where it stays in view
    return { width, height: narrow ? 195 : Math.round(Math.min(width * 0.5 + 20, Math.max(250, innerHeight - 490))) };
  }

  resize() {
    if (this.plot && this.plot.width !== this.size().width) this.plot.setSize(this.size());
  }

  clear() {
    this.plot?.destroy();
    this.plot = undefined;
    this.shape = undefined;
    this.place.replaceChildren();
  }
}

/** Draw the marked place and the error bars. */
function marks(plot, { mark, series }) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  if (mark != null) {
    const x = plot.valToPos(mark, "x", true);
    ctx.strokeStyle = colour("--soft");
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  for (const s of series) {
    if (!s.errors) continue;
    ctx.strokeStyle = ink(s.colour);
    s.xs.forEach((value, i) => {
      if (!(s.errors[i] > 0)) return;
      const x = plot.valToPos(value, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, plot.valToPos(s.ys[i] - s.errors[i], "y", true));
      ctx.lineTo(x, plot.valToPos(s.ys[i] + s.errors[i], "y", true));
      ctx.stroke();
    });
  }
  ctx.restore();
}

/** Return the columns that uPlot takes: all xs, and the values of each series at them. */
export function aligned(series) {
  const xs = [...new Set(series.flatMap((s) => s.xs))].sort((a, b) => a - b);
  return [xs, ...series.map((s) => {
    const at = new Map(s.xs.map((x, i) => [x, s.ys[i]]));
    return xs.map((x) => at.get(x) ?? null);
  })];
}

function legend(series) {
  const box = element("div", { className: "legend" });
  for (const s of series) {
    const entry = element("span", { textContent: s.name, className: s.points ? "disc" : "" });
    entry.style.setProperty("--swatch", ink(s.colour));
    entry.style.setProperty("--dash", !s.dash ? "solid" : s.dash[0] > s.dash[1] ? "dashed" : "dotted");
    box.append(entry);
  }
  box.append(element("small"));
  return box;
}

/** Return the legend of a saved picture, and where it ends. */
function entriesOf(series) {
  let [left, y] = [16, 18];
  const parts = series.map((s) => {
    const width = 48 + 7.6 * s.name.length;
    if (left + width > 744) [left, y] = [16, y + 20];
    const swatch = s.points ? `<circle cx="${left + 14}" cy="${y - 4}" r="4" fill="${s.colour}"/>`
      : `<line x1="${left}" x2="${left + 28}" y1="${y - 4}" y2="${y - 4}" stroke="${s.colour}" stroke-width="2.5" stroke-dasharray="${s.dash ?? ""}"/>`;
    const entry = `${swatch}<text x="${left + 34}" y="${y}">${escaped(s.name)}</text>`;
    left += width;
    return entry;
  });
  return { inside: parts.join(""), bottom: y };
}
