// Charts of a session by step. They share one axis, so that a column of pixels is the same steps in all of them. Each series is one path,
// whatever the number of steps, and its colour comes from the style sheet.

const chartHeight = 56; // of a plot, in pixels
const chartLeft = 52; // the room for the labels of an axis, in pixels
const chartRight = 8;
const widestStep = 64;

/** chartKinds returns the charts, from top to bottom. The parts of a chart are stacked. A value of null says that nothing is known. */
function chartKinds() {
  const share = (s, i) => (s.input[i] > 0 ? s.cache_read[i] / s.input[i] : null);
  return [
    {
      key: "tokens", title: "Tokens", unit: count,
      parts: [
        { key: "cached", name: "cached input", at: (s, i) => s.cache_read[i] },
        { key: "fresh", name: "new input", at: (s, i) => Math.max(0, s.input[i] - s.cache_read[i]) },
        { key: "output", name: "output", at: (s, i) => s.output[i] },
      ],
    },
    {
      key: "money", title: "Money", unit: dollars, unknown: (o) => !hasPrices(o) && "The prices of this model are unknown.",
      parts: [{ key: "cost", name: "by step", at: (s, i) => s.cost[i] }],
    },
    {
      key: "cache", title: "Cache hits", unit: percent, max: 1, worst: true,
      unknown: (o) => o.steps.cache_read.every((n) => !n) && "No input came from the cache.",
      parts: [{ key: "share", name: "of the input", at: share }],
    },
    {
      key: "context", title: "Context", unit: count, limit: (o) => o.window,
      note: (o) => (o.window ? "" : "The model's window is unknown."),
      parts: [{ key: "context", name: "used", at: (s, i) => s.context[i] }],
    },
    {
      key: "time", title: "Time", unit: duration, nice: niceTime,
      parts: [
        { key: "model", name: "model", at: (s, i) => s.model[i] },
        { key: "tools", name: "tools", at: (s, i) => s.tools[i] },
        { key: "waiting", name: "waiting", at: (s, i) => s.waiting[i] },
      ],
    },
  ];
}

/** dollars returns an amount of money, also if it is nothing. */
function dollars(usd) {
  return money(usd) || "$0";
}

/** percent returns a share as a text. */
function percent(share) {
  return Math.round(share * 100) + " %";
}

/** svgEl returns a new element of a drawing. */
function svgEl(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, String(value));
  e.append(...children);
  return e;
}

/** hasPrices reports whether the cost of an overview says anything. */
function hasPrices(o) {
  return o.cost > 0 || !(o.usage.input > 0 || o.usage.output > 0);
}

/** niceMax returns the end of an axis for a largest value: a round number, not much above it. */
function niceMax(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= value * 0.999) * power;
}

/** niceTime returns the end of an axis for a longest time. */
function niceTime(ms) {
  const unit = ms > 3600e3 ? 3600e3 : ms > 60e3 ? 60e3 : 0;
  return unit ? Math.ceil(ms / unit) * unit : niceMax(ms);
}

/** bucketsOf divides n steps into at most width columns and returns where each begins, and the end. */
function bucketsOf(n, width) {
  const columns = Math.max(1, Math.min(n, Math.floor(width)));
  const at = [];
  for (let i = 0; i <= columns; i++) at.push(Math.round((i * n) / columns));
  return at;
}

/**
 * columnsOf returns for each bucket the values of the step in it whose sum is the largest, or the smallest if that is the worst: a mean would hide
 * the one step that somebody looks for. A step of which nothing is known has null.
 */
function columnsOf(steps, buckets, parts, smallest) {
  const columns = [];
  for (let b = 0; b + 1 < buckets.length; b++) {
    let best = null;
    let bestSum = 0;
    for (let i = buckets[b]; i < buckets[b + 1]; i++) {
      let sum = 0;
      const values = parts.map((part) => part.at(steps, i));
      for (const v of values) sum += v ?? 0;
      if (values.every((v) => v === null)) continue;
      if (best === null || (smallest ? sum < bestSum : sum > bestSum)) [best, bestSum] = [values, sum];
    }
    columns.push(best);
  }
  return columns;
}

/** barsPath returns the path of one part of stacked columns. */
function barsPath(columns, part, scale, width) {
  const wide = width / columns.length;
  const gap = wide >= 4 ? 1 : 0;
  let d = "";
  columns.forEach((values, c) => {
    if (!values || !values[part]) return;
    let below = 0;
    for (let p = 0; p < part; p++) below += values[p] ?? 0;
    const top = chartHeight - (below + values[part]) * scale;
    const high = Math.max(values[part] * scale, below === 0 ? 0.75 : 0.25);
    d += `M${round1(c * wide)} ${round1(top)}h${round1(wide - gap)}v${round1(high)}h${round1(gap - wide)}z`;
  });
  return d;
}

function round1(n) {
  return Math.round(n * 10) / 10;
}

/** markShapes returns how the marks of each kind are drawn at a place of the lane, and what they are called. */
function markShapes() {
  return [
    { key: "changed", name: "edit", of: (m) => m.changed && !m.failed, draw: (x) => `M${x - 0.75} 8h1.5v8h-1.5z` },
    { key: "failed", name: "failed call", of: (m) => m.kind === "call" && m.failed, draw: (x) => `M${x - 1} 6h2v10h-2z` },
    { key: "input", name: "input", of: (m) => m.kind === "input", draw: (x) => `M${x - 4} 1h8l-4 6z`, line: true },
    { key: "retry", name: "retry", of: (m) => m.kind === "retry", draw: (x) => `M${x - 3} 4a3 3 0 1 0 6 0a3 3 0 1 0-6 0z` },
    { key: "compaction", name: "compaction", of: (m) => m.kind === "compaction", draw: (x) => `M${x - 3} 1h6v6h-6z`, line: true },
    { key: "model", name: "other model", of: (m) => m.kind === "model", draw: (x) => `M${x} 0l4 4l-4 4l-4-4z`, line: true },
    { key: "limit", name: "limit", of: (m) => m.kind === "limit", draw: (x) => `M${x - 4} 1h8v3h-8z`, line: true },
    { key: "error", name: "error", of: (m) => m.kind === "error", draw: (x) => `M${x - 4} 1l2-1 2 2.5 2-2.5 2 1-2.5 3 2.5 3-2 1-2-2.5-2 2.5-2-1 2.5-3z`, line: true },
  ];
}

/**
 * Charts draws the charts of an overview in an element and lets people walk through the steps. Its actions: jump(row) shows a row of the timeline.
 */
class Charts {
  constructor(actions) {
    this.actions = actions;
    this.kinds = chartKinds();
    this.shapes = markShapes();
    this.at = -1; // the step that is pointed at
    this.overview = null;
    this.build();
  }

  build() {
    this.where = el("p", { class: "charts-where" });
    this.lane = svgEl("svg", { class: "chart-lane", height: 17, "aria-hidden": "true" });
    this.legend = el("ul", { class: "legend marks-legend", "aria-label": "Marks" });
    this.plots = this.kinds.map((kind) => this.buildPlot(kind));
    this.cursor = el("div", { class: "charts-cursor", hidden: true });
    this.slider = el("div", {
      class: "charts-slider", tabindex: 0, role: "slider", "aria-label": "Step", "aria-orientation": "horizontal",
      "aria-keyshortcuts": "ArrowLeft ArrowRight PageUp PageDown Home End Enter",
    });
    this.area = el("div", { class: "charts-area" }, this.slider, this.lane, ...this.plots.map((p) => p.figure), this.cursor);
    this.hint = el("p", { class: "charts-hint" }, "Click or Enter opens a step; arrow keys walk.");
    this.root = el("div", { class: "charts" }, this.where, this.area, this.legend, this.hint);
    this.listen();
    this.watcher = new ResizeObserver(() => this.later());
    this.watcher.observe(this.area);
  }

  buildPlot(kind) {
    const svg = svgEl("svg", { class: "chart-plot", height: chartHeight, role: "img" });
    const grid = svgEl("path", { class: "chart-grid" });
    const lines = svgEl("path", { class: "chart-marks" });
    const limit = svgEl("path", { class: "chart-limit" });
    const paths = kind.parts.map((part) => svgEl("path", { class: `fill-${part.key}` }));
    svg.append(grid, lines, ...paths, limit);
    const values = new Map();
    const entry = (part) => {
      const value = el("span", { class: "value" });
      values.set(part.key, value);
      return el("li", {}, el("span", { class: "swatch fill-" + part.key, "aria-hidden": "true" }), part.name + " ", value);
    };
    const legend = el("ul", { class: "legend" }, ...kind.parts.map(entry));
    const note = el("p", { class: "chart-note", hidden: true });
    const top = el("span", { class: "axis axis-top", "aria-hidden": "true" });
    const figure = el("figure", { class: "chart chart-" + kind.key }, el("figcaption", {}, el("b", {}, kind.title), legend), note,
      el("div", { class: "chart-box" }, top, el("span", { class: "axis axis-bottom", "aria-hidden": "true" }, "0"), svg));
    return { kind, figure, svg, grid, lines, limit, paths, values, note, top };
  }

  /** show draws an overview. Before the next frame it costs nothing, so updates may come at any rate. */
  show(overview) {
    if (this.overview && this.overview.id !== overview.id) this.at = -1;
    this.overview = overview;
    this.later();
  }

  later() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  close() {
    this.watcher.disconnect();
    cancelAnimationFrame(this.frame);
  }

  count() {
    return this.overview ? this.overview.steps.row.length : 0;
  }

  draw() {
    const n = this.count();
    this.root.hidden = n === 0;
    const width = Math.min(this.area.clientWidth - chartLeft - chartRight, n * widestStep);
    if (n === 0 || width <= 0) return; // it is drawn when it is seen
    this.width = width;
    this.buckets = bucketsOf(n, width);
    this.drawLane();
    for (const plot of this.plots) this.drawPlot(plot);
    this.slider.setAttribute("aria-valuemin", "1");
    this.slider.setAttribute("aria-valuemax", String(n));
    this.point(this.at);
  }

  drawPlot(plot) {
    const o = this.overview;
    const { kind } = plot;
    const missing = kind.unknown && kind.unknown(o);
    plot.figure.classList.toggle("unknown", Boolean(missing));
    const note = missing || (kind.note && kind.note(o)) || "";
    plot.note.hidden = !note;
    plot.note.textContent = note;
    if (missing) return;
    const columns = columnsOf(o.steps, this.buckets, kind.parts, kind.worst);
    let most = 0;
    for (const values of columns) most = Math.max(most, (values ?? []).reduce((sum, v) => sum + (v ?? 0), 0));
    const limit = kind.limit ? kind.limit(o) : 0;
    const max = kind.max ?? (limit ? Math.max(limit, most) * 1.04 : (kind.nice ?? niceMax)(most));
    const scale = chartHeight / max;
    plot.svg.setAttribute("width", String(this.width));
    plot.grid.setAttribute("d", `M0 ${chartHeight / 2}h${this.width}M0 .5h${this.width}M0 ${chartHeight - 0.5}h${this.width}`);
    plot.limit.setAttribute("d", limit ? `M0 ${round1(chartHeight - limit * scale)}h${this.width}` : "");
    plot.lines.setAttribute("d", this.markLines);
    plot.paths.forEach((path, p) => path.setAttribute("d", barsPath(columns, p, scale, this.width)));
    plot.top.textContent = kind.unit(limit || max);
    plot.svg.setAttribute("aria-label", this.summary(kind));
  }

  /** x returns the place of the middle of a step in the plots. */
  x(step) {
    return ((step + 0.5) / this.count()) * this.width;
  }

  drawLane() {
    this.lane.setAttribute("width", String(this.width));
    this.lane.replaceChildren();
    this.legend.replaceChildren();
    const offset = this.overview.steps.first;
    let lines = "";
    for (const shape of this.shapes) {
      const marks = this.overview.marks.filter(shape.of);
      if (!marks.length) continue;
      const places = new Set();
      for (const m of marks) {
        places.add(Math.round(this.x(Math.min(Math.max(m.step - offset, 0), this.count() - 1))));
      }
      this.lane.append(svgEl("path", { class: `mark-${shape.key}`, d: [...places].map(shape.draw).join("") }));
      if (shape.line && places.size <= 40) lines += [...places].map((x) => `M${x} 0v${chartHeight}`).join("");
      const icon = svgEl("svg", { width: 10, height: 17, "aria-hidden": "true" }, svgEl("path", { class: `mark-${shape.key}`, d: shape.draw(5) }));
      this.legend.append(el("li", {}, icon, el("span", {}, `${shape.name} ${marks.length}`)));
    }
    this.markLines = lines;
  }

  /** summary returns what a chart shows, for those who do not see it. */
  summary(kind) {
    const { steps } = this.overview;
    let most = -1;
    let at = 0;
    for (let i = 0; i < this.count(); i++) {
      let sum = 0;
      for (const part of kind.parts) sum += part.at(steps, i) ?? 0;
      if (kind.worst ? most < 0 || sum < most : sum > most) [most, at] = [sum, i];
    }
    return `${kind.title} by step: the ${kind.worst ? "smallest" : "largest"} is ${kind.unit(most)}, in step ${at + steps.first}.`;
  }

  /** point shows the values of a step, or of the whole session if step is -1. */
  point(step) {
    this.at = Math.min(Math.max(step, -1), this.count() - 1);
    const o = this.overview;
    this.cursor.hidden = this.at < 0;
    if (this.at >= 0) this.cursor.style.transform = `translateX(${chartLeft + this.x(this.at)}px)`;
    for (const plot of this.plots) this.pointPlot(plot);
    this.where.textContent = this.at < 0 ? this.shownText() : this.stepText();
    this.slider.setAttribute("aria-valuenow", String(Math.max(0, this.at) + o.steps.first));
    this.slider.setAttribute("aria-valuetext", this.at < 0 ? this.where.textContent : this.where.textContent + ". " + this.spoken());
  }

  shownText() {
    const per = Math.ceil(this.count() / (this.buckets.length - 1));
    return plural(this.count(), "step") + (per > 1 ? `; a column stands for ${per} and shows the largest` : "");
  }

  stepText() {
    const { steps } = this.overview;
    const attempts = steps.attempts[this.at];
    return `Step ${this.at + steps.first} of ${this.count()}, at ${clock(steps.time[this.at] - beginOf(this.overview))}` + (attempts > 1 ? `, ${attempts} attempts` : "");
  }

  /** spoken returns the values of the step that is pointed at as a sentence. */
  spoken() {
    const { steps } = this.overview;
    const said = [];
    for (const { kind } of this.plots) {
      if (kind.unknown && kind.unknown(this.overview)) continue;
      said.push(`${kind.title}: ` + kind.parts.map((part) => `${kind.unit(part.at(steps, this.at) ?? 0)} ${part.name}`).join(", "));
    }
    return said.join("; ");
  }

  pointPlot({ kind, values }) {
    const { steps } = this.overview;
    const show = (part, value) => { values.get(part.key).textContent = value === null ? "" : kind.unit(value); };
    for (const part of kind.parts) {
      if (kind.limit) this.pointContext(kind, values.get(part.key));
      else if (this.at >= 0) show(part, part.at(steps, this.at));
      else if (kind.key === "cache") show(part, cacheShare(this.overview));
      else show(part, steps.row.reduce((sum, _, i) => sum + (part.at(steps, i) ?? 0), 0));
    }
  }

  /** pointContext shows how much of the limit a step fills, or the last step. */
  pointContext(kind, value) {
    const used = this.overview.steps.context[this.at < 0 ? this.count() - 1 : this.at];
    const limit = kind.limit(this.overview);
    value.textContent = kind.unit(used) + (limit ? ` of ${kind.unit(limit)}, ${percent(used / limit)}` : "");
  }

  /** stepAt returns the step below a pointer. */
  stepAt(event) {
    const x = event.clientX - this.area.getBoundingClientRect().left - chartLeft;
    return Math.min(this.count() - 1, Math.max(0, Math.floor((x / this.width) * this.count())));
  }

  listen() {
    this.area.addEventListener("pointermove", (e) => { if (this.count() && this.width) this.point(this.stepAt(e)); });
    this.area.addEventListener("click", (e) => { if (this.count()) this.open(this.stepAt(e)); });
    this.area.addEventListener("pointerleave", () => { if (this.overview && document.activeElement !== this.slider) this.point(-1); });
    this.slider.addEventListener("keydown", (e) => this.pressed(e));
    this.slider.addEventListener("blur", () => this.overview && this.count() && this.point(-1));
  }

  open(step) {
    const row = this.overview.steps.row[step];
    if (row >= 0) this.actions.jump(row);
  }

  pressed(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !this.count()) return;
    const at = Math.max(0, this.at);
    const moves = { ArrowLeft: at - 1, ArrowRight: this.at + 1, ArrowDown: at - 1, ArrowUp: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: this.count() };
    if (e.key in moves) this.point(Math.max(0, moves[e.key]));
    else if (e.key === "Enter") this.open(at);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
}

/** beginOf returns when a session began, in milliseconds since 1970. */
function beginOf(o) {
  return Date.parse(o.created ?? "") || o.steps.time[0] || 0;
}

/** cacheShare returns which part of all input came from the cache, or null without input. */
function cacheShare(o) {
  let input = 0;
  let cached = 0;
  o.steps.input.forEach((n, i) => {
    input += n;
    cached += o.steps.cache_read[i];
  });
  return input > 0 ? cached / input : null;
}
