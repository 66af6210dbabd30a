// Line charts by uPlot from a plain description, on the page and as pictures to keep.
//
// figure: {title, x: {label, log, ticks}, y: {label, low, high}, mark, series: [
//   {name, colour, dash, points, xs, ys, errors}]}

import uPlot from "uplot";
import { element } from "explorer/controls.js";
import { sentence } from "explorer/typeset.js";

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Return the look of the page. */
const ofPage = () => ({ front: colour("--front"), soft: colour("--soft"), grid: colour("--grid"), scale: 1 });
/** White paper, large enough for print. */
const PAPER = { front: "#1d2329", soft: "#666666", grid: "#e4e4e4", scale: 2, width: 1520, height: 800 };
const FONT = "system-ui, 'DejaVu Sans', sans-serif";
const TITLE = `bold 28px ${FONT}`;

/** Return the colour of a series: what is grey on paper is a lighter grey on a dark page. */
const ink = (hex, look) => (hex === "#666666" ? look.soft : hex);

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
    const label = element("div", { className: "label" });
    label.append(...sentence(figure.x.label));
    this.place.replaceChildren(this.legend, this.box, label);
    this.plot = new uPlot(this.options(figure, { ...ofPage(), ...this.size() }), data, this.box);
  }

  options(figure, look) {
    const { front, grid, scale } = look;
    const font = `${12 * scale}px ${FONT}`;
    const line = { stroke: grid, width: scale };
    const axis = { stroke: front, grid: line, ticks: line, font, labelFont: font, labelSize: 22 * scale, gap: 5 * scale };
    const x = { ...axis, size: 34 * scale, space: 50 * scale };
    if (figure.x.ticks) {
      x.splits = () => figure.x.ticks;
      x.values = (_, splits) => splits.map(String);
      x.filter = (_, splits) => splits;
    }
    return {
      width: look.width,
      height: look.height,
      scales: {
        x: { time: false, distr: figure.x.log ? 3 : 1, range: figure.x.range && (() => figure.x.range) },
        y: { range: (_, low, high) => [figure.y.low ?? low, figure.y.high ?? high * 1.05] },
      },
      axes: [x, { ...axis, label: figure.y.label, size: 50 * scale, space: 30 * scale }],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 7 } },
      series: [
        {},
        ...figure.series.map((s) => ({
          stroke: ink(s.colour, look),
          width: 2 * scale,
          dash: s.dash?.map((length) => length * scale),
          spanGaps: true,
          pxAlign: 0, // points close to one another keep their slopes
          paths: s.points ? () => null : s.smooth ? uPlot.paths.spline() : undefined,
          points: { show: Boolean(s.points), size: 8 * scale, fill: ink(s.colour, look) },
        })),
      ],
      hooks: { draw: [(plot) => marks(plot, this.figure, look)], setCursor: [(plot) => this.tell(plot)] },
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

  /** Return the chart as a PNG, with its title, legend and label. */
  async png() {
    const { figure } = this;
    const look = PAPER;
    const options = this.options(figure, look);
    const drawn = new Promise((done) => { options.hooks.draw.push(done); });
    const plot = new uPlot(options, aligned(figure.series), document.createElement("div"));
    await drawn;
    const canvas = onPaper(plot.ctx.canvas, figure, look);
    plot.destroy();
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  }

  size() {
    const width = Math.max(260, this.place.clientWidth);
    const narrow = matchMedia("(max-width: 860px)").matches; // where it stays in view
    return { width, height: narrow ? 190 : Math.round(Math.min(400, Math.max(230, width * 0.5))) };
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
function marks(plot, { mark, series }, look) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio * look.scale;
  if (mark != null) {
    const x = plot.valToPos(mark, "x", true);
    ctx.strokeStyle = look.soft;
    ctx.setLineDash([4 * look.scale, 4 * look.scale]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  for (const s of series) {
    if (!s.errors) continue;
    ctx.strokeStyle = ink(s.colour, look);
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

/** Return a canvas with a plot below its title and legend, and above the label of its axis. */
function onPaper(plot, { title, x, series }, { front, width, height }) {
  const [canvas, row] = [document.createElement("canvas"), 40];
  const ctx = canvas.getContext("2d");
  canvas.width = plot.width;
  const by = plot.width / width; // pixels of the device
  const heads = inLines(ctx, title, width - 80);
  const top = 14 + row * heads.length;
  const lines = laidOut(ctx, series, width - 80);
  canvas.height = plot.height + by * (top + row * (lines.length + 1));
  ctx.scale(by, by);
  ctx.fillStyle = "#ffffff";
  ctx.fillRect(0, 0, width, canvas.height);
  const write = (text, left, y, font) => Object.assign(ctx, { font, fillStyle: front }).fillText(text, left, y);
  heads.forEach((head, i) => write(head, 40, 38 + i * row, TITLE));
  lines.forEach((line, i) => {
    for (const { s, left } of line) {
      ctx.fillStyle = s.colour;
      ctx.fillRect(left, top + i * row + 18, 36, 6);
      write(s.name, left + 46, top + i * row + 29, `24px ${FONT}`);
    }
  });
  const below = top + row * lines.length;
  ctx.drawImage(plot, 0, below, width, height);
  ctx.textAlign = "center";
  write(x.label.replaceAll("$", ""), width / 2, below + height + 26, `24px ${FONT}`);
  return canvas;
}

/** Return a title in lines of a width. */
function inLines(ctx, title, width) {
  ctx.font = TITLE;
  const lines = [];
  for (const word of title.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && ctx.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Return the entries of a legend in lines of a width, each with its place. */
function laidOut(ctx, series, width) {
  ctx.font = `24px ${FONT}`;
  const lines = [[]];
  let left = 40;
  for (const s of series) {
    const wide = 86 + ctx.measureText(s.name).width;
    if (left + wide > width && lines.at(-1).length) {
      lines.push([]);
      left = 40;
    }
    lines.at(-1).push({ s, left });
    left += wide;
  }
  return lines;
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
    entry.style.setProperty("--swatch", ink(s.colour, ofPage()));
    box.append(entry);
  }
  box.append(element("small"));
  return box;
}
