// Line charts by uPlot from a plain description.
//
// figure: {title, x: {label, log, ticks}, y: {label, low, high}, mark, series: [
//   {name, colour, dash, points, xs, ys, errors}]}

import uPlot from "uplot";
import { element } from "explorer/controls.js";

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const FONT = "12px system-ui, 'DejaVu Sans', sans-serif";
const LINE = 20; // pixels of a line of a saved picture

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

  /** Return the chart as a PNG: the canvas of the page below a line of its title and one of its legend. */
  png() {
    const { title, series } = this.figure;
    const drawn = this.plot.ctx.canvas;
    const canvas = element("canvas", { width: drawn.width, height: drawn.height + 2 * LINE * devicePixelRatio });
    const ctx = canvas.getContext("2d");
    ctx.fillStyle = colour("--back");
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(drawn, 0, canvas.height - drawn.height);
    ctx.scale(devicePixelRatio, devicePixelRatio);
    Object.assign(ctx, { font: FONT, fillStyle: colour("--front") }).fillText(title, 8, 0.7 * LINE, this.plot.width - 16);
    let left = 8;
    for (const s of series) {
      ctx.fillStyle = ink(s.colour);
      ctx.fillText(s.name, left, 1.7 * LINE);
      left += ctx.measureText(s.name).width + 16;
    }
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  }

  size() {
    const width = Math.max(260, this.place.clientWidth);
    const narrow = matchMedia("(max-width: 860px)").matches; // where it stays in view
    return { width, height: narrow ? 207 : Math.round(Math.min(420, Math.max(250, width * 0.5 + 20))) };
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
    const entry = element("span", { textContent: s.name, className: s.points ? "square" : "" });
    entry.style.setProperty("--swatch", ink(s.colour));
    box.append(entry);
  }
  box.append(element("small"));
  return box;
}
