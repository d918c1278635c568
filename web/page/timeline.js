// The timeline: one line for each row, of which only those that are seen are in the document. Rows that are open have the height of their details.

/** spare is how many rows are drawn above and below those that are seen. */
const spare = 8;

/** Timeline draws the rows of a view, or those of them that fit a filter. */
class Timeline {
  /** @param {HTMLElement} root */
  constructor(root) {
    /** @type {View|null} */
    this.view = null;
    this.root = root;
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", "Rows: the arrow keys walk through them");
    this.sheet = el("div", { class: "sheet", role: "list", "aria-label": "Events" });
    this.probe = el("div", { class: "row probe", "aria-hidden": "true" }, el("div", { class: "head" }, "\u00a0"));
    this.more = button("", () => this.toEnd(), { class: "to-end", hidden: true });
    this.empty = el("p", { class: "empty", hidden: true });
    root.append(this.probe, this.sheet, this.empty);
    root.after(this.more);
    this.input = button("", () => { if (this.input.data) this.jump(this.input.data.i); }, { class: "now-input", hidden: true, title: "The input that these rows belong to" });
    root.prepend(this.input);
    root.addEventListener("scroll", () => this.scrolled(), { passive: true });
    for (const type of ["wheel", "touchmove", "pointerdown"]) root.addEventListener(type, () => { this.held = false; }, { passive: true });
    this.height = 28;
    this.room = 0;
    /** @type {number[]} the rows of inputs */
    this.inputs = [];
    /** @type {Set<number>} the rows that a search has found */
    this.marked = new Set();
    this.begun = false;
    /** @type {{i: number, how: {expand?: boolean}}|null} the row that is shown when the session is known */
    this.wanted = null;
    /** @type {number[]|null} the rows that are shown, all if null */
    this.list = null;
    /** @type {Map<number, {extra: number, body: any, row: Row|null, ready?: Promise<void>}>} open rows */
    this.opened = new Map();
    /** @type {{p: number, sum: number}[]} places of open rows, with the extra heights up to each */
    this.sums = [];
    /** @type {Map<number, any>} drawn elements by row */
    this.drawn = new Map();
    this.sizes = new ResizeObserver((list) => this.resized(list));
    this.sizes.observe(root);
    this.sizes.observe(this.probe);
    this.reset();
  }

  /** reset forgets what was shown. */
  reset() {
    this.sheet.replaceChildren();
    this.list = null;
    this.opened.clear();
    this.sums = [];
    this.inputs = [];
    this.drawn.clear();
    this.current = -1;
    this.root.tabIndex = 0;
    this.follow = false;
    this.followed = 0; // where the window was when it last followed the end
    this.held = false; // the reader has gone to a row, so that only scrolling follows the end again
    this.seen = 0;
    this.longest = 1;
    this.pending = 0;
    this.marked = new Set();
    this.more.hidden = true;
    this.empty.hidden = true;
  }

  open(/** @type {View} */ view) {
    this.reset();
    this.view = view;
    this.root.scrollTop = 0;
    this.begun = false;
    this.draw();
    this.explain();
  }

  close() {
    this.view = null;
    this.reset();
  }

  /** total returns how many places there are. */
  total() {
    if (!this.view?.overview) return 0;
    return this.list ? this.list.length : this.view.rows.length;
  }

  /** rowAt returns the number of the row at a place. @param {number} p */
  rowAt(p) { return this.list ? this.list[p] : p; }

  /** placeOf returns the place of a row, or of the next one that is shown. @param {number} i */
  placeOf(i) { return this.list ? lowerBound(this.list.length, (n) => /** @type {number[]} */ (this.list)[n] >= i) : i; }

  /** data returns the row at a place if it is known. @param {number} p */
  data(p) { return this.view?.row(this.rowAt(p)); }

  /** top returns where a place begins. @param {number} p */
  top(p) {
    const n = lowerBound(this.sums.length, (k) => this.sums[k].p >= p);
    return p * this.height + (n ? this.sums[n - 1].sum : 0);
  }

  /** at returns the place that is at a height. @param {number} y */
  at(y) { return Math.max(0, lowerBound(this.total(), (p) => this.top(p) > y) - 1); }

  /** sum computes the heights of open rows again. */
  sum() {
    let sum = 0;
    this.sums = [...this.opened].map(([i, o]) => ({ p: this.placeOf(i), i, extra: o.extra }))
      .filter((o) => this.rowAt(o.p) === o.i).sort((a, b) => a.p - b.p).map((o) => ({ p: o.p, sum: sum += o.extra }));
  }

  /** resized takes the heights that the browser has measured, and keeps what is seen in its place. @param {ResizeObserverEntry[]} list */
  resized(list) {
    const anchor = this.anchor();
    let changed = false;
    for (const entry of list) {
      const target = /** @type {any} */ (entry.target);
      if (target === this.root) changed = changed || this.room !== this.root.clientHeight, this.room = this.root.clientHeight;
      if (target === this.probe && target.offsetHeight) changed = changed || this.height !== target.offsetHeight, this.height = target.offsetHeight;
      const o = this.opened.get(target.row);
      if (!o || target !== o.body || !target.isConnected) continue;
      changed = changed || o.extra !== target.offsetHeight;
      o.extra = target.offsetHeight;
    }
    if (changed) this.sum();
    if (changed) this.restore(anchor);
    this.draw();
  }

  /** anchor returns what is at the top of the window. */
  anchor() {
    const p = this.at(this.root.scrollTop);
    return { i: this.rowAt(p), offset: this.root.scrollTop - this.top(p) };
  }

  /** restore scrolls to an anchor, or to the end if the reader is there. @param {{i: number, offset: number}} a */
  restore(a) {
    this.stretch();
    if (this.follow) this.keepUp();
    else this.root.scrollTop = this.top(this.placeOf(a.i)) + a.offset;
  }

  /** keepUp scrolls to the end, unless the reader has scrolled away from it: the event that tells so is still to come. */
  keepUp() {
    const end = this.root.scrollHeight - this.root.clientHeight;
    this.follow = this.root.scrollTop >= Math.min(this.followed, end) - 1;
    if (!this.follow) return;
    this.root.scrollTop = end;
    this.followed = this.root.scrollTop;
  }

  /** stretch gives the sheet the height of all rows. */
  stretch() { this.sheet.style.height = this.top(this.total()) + "px"; }

  scrolled() {
    if (!this.view) return;
    this.room = this.root.clientHeight; // a scroll event comes before the observer tells that the room has changed
    const y = this.root.scrollTop, end = this.atEnd(y);
    this.follow = !this.held && end;
    this.followed = y;
    if (end) this.seen = this.total();
    this.draw();
  }

  /** atEnd reports whether the last row is seen from a height on. @param {number} y */
  atEnd(y) { return y + this.room >= this.top(this.total()) - this.height; }

  /** draw draws what is seen, before the next frame. */
  draw() {
    if (!this.pending) this.pending = requestAnimationFrame(() => { this.pending = 0; this.drawNow(); });
  }

  drawNow() {
    if (!this.view) return;
    const y = this.root.scrollTop; // read once: after a change, reading it costs a layout
    this.stretch();
    const total = this.total(), top = this.at(y), first = Math.max(0, top - spare);
    const last = Math.min(total - 1, this.at(y + this.room) + spare);
    const wanted = new Map();
    for (let p = first; p <= last; p++) wanted.set(this.rowAt(p), p);
    const kept = this.current >= 0 ? this.placeOf(this.current) : -1;
    if (kept >= 0 && kept < total && this.rowAt(kept) === this.current) wanted.set(this.rowAt(kept), kept);
    for (const [key, e] of this.drawn) {
      if (wanted.has(key)) continue;
      e.remove();
      this.drawn.delete(key);
    }
    let before = null;
    for (const [key, p] of [...wanted].sort((a, b) => a[1] - b[1])) before = this.place(key, p, before, total);
    if (this.atEnd(y)) this.seen = total;
    this.drawMore(total);
    this.drawNowInput(this.rowAt(top));
    paintHits();
  }

  /** drawNowInput shows the input that the row at the top of the window belongs to, if its own row is not seen. @param {number} i */
  drawNowInput(i) {
    const v = this.view, top = this.list ? -1 : i, n = lowerBound(this.inputs.length, (k) => this.inputs[k] >= top);
    const at = n > 0 && this.inputs[n] !== top ? this.inputs[n - 1] : -1, row = at >= 0 ? v?.row(at) : undefined;
    this.input.hidden = !row;
    if (!row || this.input.data === row) return;
    this.input.data = row;
    this.input.replaceChildren(icon("input"), el("span", { class: "text" }, row.text || ""));
  }

  /**
   * place puts the element of a row where it belongs, after another one.
   * @param {number} key
   * @param {number} p
   * @param {any} before
   * @param {number} total
   */
  place(key, p, before, total) {
    const row = this.data(p);
    let e = this.drawn.get(key);
    if (!e || e.data !== row) {
      const focused = e?.contains(document.activeElement);
      const made = this.element(key, p, /** @type {Row} */ (row));
      if (e) e.replaceWith(made);
      e = made;
      this.drawn.set(key, e);
      if (focused) e.firstChild.focus({ preventScroll: true });
    }
    const after = before ? before.nextSibling : this.sheet.firstChild;
    if (after !== e) this.sheet.insertBefore(e, after);
    const top = this.top(p);
    if (e.top !== top) e.style.top = (e.top = top) + "px";
    if (e.place !== p || e.total !== total) {
      Object.assign(e, { place: p, total });
      e.setAttribute("aria-posinset", String(p + 1));
      e.setAttribute("aria-setsize", String(total));
    }
    return e;
  }

  /** element returns a new element of a row. @param {number} i @param {number} p @param {Row} row @returns {any} */
  element(i, p, row) {
    const e = el("div", { class: "row", role: "listitem" });
    e.data = row;
    const o = this.opened.get(i);
    e.classList.add("k-" + row.kind);
    e.classList.toggle("failed", !!row.failed);
    e.classList.toggle("current", i === this.current);
    e.classList.toggle("hit", this.marked.has(i));
    const above = p > 0 ? this.data(p - 1) : undefined, begins = !above || above.step !== row.step;
    e.classList.toggle("begins", begins);
    e.append(this.head(i, row, begins, !!o));
    if (o) e.append(this.body(i, row, o));
    return e;
  }

  /** head returns the line of a row. @param {number} i @param {Row} row @param {boolean} begins @param {boolean} open */
  head(i, row, begins, open) {
    const start = Date.parse(this.view?.overview?.created) || 0;
    const ms = this.took(row, begins), tab = i === this.current ? 0 : -1;
    return el("button", { class: "head", type: "button", tabIndex: tab, "aria-expanded": String(open), onclick: () => this.toggle(i), onfocus: () => this.focused(i) },
      el("span", { class: "step", title: row.step ? "step " + row.step : "" }, begins && row.step ? row.step : ""),
      icon(iconOf(row)),
      el("span", { class: "name" }, nameOfRow(row)),
      el("span", { class: "text" }, row.text || ""),
      el("span", { class: "extras" }, ...factsOf(row)),
      el("span", { class: "took" }, ms ? duration(ms) : ""),
      this.bar(row, ms),
      start && row.time ? el("span", { class: "when", title: new Date(row.time).toLocaleString() }, clock(row.time - start)) : el("span", { class: "when" }));
  }

  /** took returns the duration of a row. The first row of a step that is not a call has that of the model call. @param {Row} row @param {boolean} begins */
  took(row, begins) {
    const steps = this.view?.overview?.steps;
    if (row.ms || !begins || !row.step || !steps || row.kind === "call" || row.kind === "plan") return row.ms || 0;
    return steps.model[row.step - steps.first] || 0;
  }

  /** bar returns a duration to scale, beside the longest step of the session. @param {Row} row @param {number} ms */
  bar(row, ms) {
    const bar = el("span", { class: "bar" }), fill = el("span");
    fill.style.width = Math.min(100, 100 * ms / this.longest) + "%";
    fill.hidden = !ms || row.kind === "end" || !this.view?.overview;
    bar.append(fill);
    return bar;
  }

  /** body returns the details of an open row. @param {number} i @param {Row} row @param {any} o */
  body(i, row, o) {
    if (!o.body || o.row !== row) {
      if (o.body) this.sizes.unobserve(o.body);
      o.body = el("div", { class: "details" });
      o.row = row;
      o.body.row = i;
      o.body.style.minHeight = o.extra ? Math.min(o.extra, 400) + "px" : "";
      this.sizes.observe(o.body);
      const body = o.body;
      o.ready = drawItem(body, /** @type {View} */ (this.view), row).then(() => { body.style.minHeight = ""; });
    }
    return o.body;
  }

  /** redraw draws a row again. @param {number} i */
  redraw(i) {
    const e = this.drawn.get(i);
    if (e) e.data = null;
    this.draw();
  }

  focused(/** @type {number} */ i) {
    if (this.current === i) return;
    const old = this.drawn.get(this.current)?.firstChild;
    if (old) old.tabIndex = -1;
    this.current = i;
    this.root.tabIndex = -1;
    const now = this.drawn.get(i);
    if (now) now.firstChild.tabIndex = 0;
    for (const e of this.drawn.values()) e.classList.toggle("current", e === now);
    if (this.view) here(i);
  }

  /** toggle opens a row or closes it. @param {number} i @param {boolean} [open] */
  toggle(i, open = !this.opened.has(i)) {
    if (!this.view || open === this.opened.has(i)) return;
    const anchor = this.anchor();
    if (open) {
      this.opened.set(i, { extra: 0, body: null, row: null });
      this.hold();
    } else {
      const o = this.opened.get(i);
      if (o?.body) this.sizes.unobserve(o.body);
      this.opened.delete(i);
    }
    this.focused(i);
    this.sum();
    this.restore(anchor);
    this.redraw(i);
    this.limitOpened();
    this.drawNow();
    this.drawn.get(i)?.firstChild.focus({ preventScroll: true });
  }

  /** limitOpened drops the details of open rows that are not seen. They are made again when they are. */
  limitOpened() {
    let spareBodies = 30;
    for (const [i, o] of this.opened) {
      if (!o.body || this.drawn.has(i) || --spareBodies >= 0) continue;
      this.sizes.unobserve(o.body);
      o.body = null;
    }
  }

  /** jump shows a row and puts the focus on it. It scrolls only if the row is not seen. @param {number} i @param {{expand?: boolean}} [how] */
  jump(i, how = {}) {
    if (!this.view) return;
    if (!this.view.overview) {
      this.wanted = { i, how };
      return;
    }
    if (this.list && this.rowAt(this.placeOf(i)) !== i) setFilter({});
    const p = Math.min(this.placeOf(i), this.total() - 1), top = this.top(p), room = this.root.clientHeight;
    if (p < 0) return;
    this.stretch();
    const below = how.expand ? room / 2 : this.height; // so that details are seen as well
    if (top < this.root.scrollTop + this.height || top + below > this.root.scrollTop + room) this.root.scrollTop = Math.max(0, top - room / 3);
    this.hold();
    const row = this.rowAt(p);
    if (how.expand) this.toggle(row, true);
    this.focused(row);
    this.drawNow();
    const e = this.drawn.get(row);
    e?.firstChild.focus({ preventScroll: true });
  }

  /** reveal scrolls so that a place within the rows is seen. @param {Range} range */
  reveal(range) {
    const at = range.getBoundingClientRect(), box = this.root.getBoundingClientRect();
    if (at.top < box.top + this.height || at.bottom > box.bottom) this.root.scrollTop += at.top - box.top - box.height / 3;
  }

  /** move puts the focus on a place beside the current one. @param {number} by */
  move(by) {
    const now = this.current < 0 ? this.at(this.root.scrollTop) - Math.sign(by) : this.placeOf(this.current);
    const p = Math.max(0, Math.min(this.total() - 1, now + by));
    if (this.total()) this.jump(this.rowAt(p), {});
  }

  toEnd() {
    if (!this.total()) return;
    this.jump(this.rowAt(this.total() - 1), {});
    this.stretch();
    this.root.scrollTop = this.sheet.offsetHeight;
    this.held = false;
    this.follow = true;
  }

  /** hold stays at the row that the reader has gone to. */
  hold() {
    this.held = true;
    this.follow = false;
  }

  /** explain says why there are no rows, if there are none. */
  explain() {
    const v = this.view, reads = v?.source.live && !v.lost;
    this.empty.textContent = !v?.overview ? "The session is being read." : this.list ? "No row fits this filter." : "This session has no events yet.";
    this.empty.hidden = this.total() > 0 || !v?.overview && !reads;
  }

  /** show shows only some rows, or all if the list is null. @param {number[]|null} list */
  show(list) {
    if (!list && !this.list) return;
    const anchor = this.current >= 0 ? { i: this.current, offset: -this.root.clientHeight / 3 } : this.anchor();
    this.list = list;
    this.seen = this.total(); // what another filter hides is not new
    this.explain();
    for (const e of this.drawn.values()) e.data = null;
    this.sum();
    this.restore(anchor);
    this.draw();
  }

  /** mark marks the rows that a search has found. @param {number[]} rows */
  mark(rows) {
    this.marked = new Set(rows);
    for (const [i, e] of this.drawn) e.classList.toggle("hit", this.marked.has(i));
  }

  overview(/** @type {any} */ o) {
    const steps = o.steps || {};
    this.inputs = (o.marks || []).filter((/** @type {any} */ m) => m.kind === "input").map((/** @type {any} */ m) => m.row);
    for (const column of [steps.model || [], steps.tools || []]) for (const ms of column) if (ms > this.longest) this.longest = ms;
    if (!this.begun) {
      this.begun = true;
      this.seen = this.total();
      this.follow = o.state === "running" || o.state === "waiting";
      const at = this.wanted || (place().row !== undefined ? { i: place().row ?? 0, how: { expand: true } } : null);
      this.wanted = null;
      this.stretch();
      if (at) this.jump(at.i, at.how);
      else if (!this.follow) this.root.scrollTop = 0;
    } else if (!this.follow && !this.held && (o.state === "running" || o.state === "waiting")) {
      this.follow = this.atEnd(this.root.scrollTop); // all rows have been seen so far, and more will come
    }
    this.grown();
  }

  rows(/** @type {Row[]} */ rows) {
    if (this.list && this.view) this.list = extend(this.list, rows);
    this.grown();
  }

  /** grown draws what is new, and stays at the end if the reader is there. */
  grown() {
    this.explain();
    this.stretch();
    if (this.follow) this.keepUp();
    this.draw();
  }

  /** drawMore offers the end if there are new rows there. @param {number} total */
  drawMore(total) {
    const n = total - this.seen;
    this.more.hidden = n <= 0;
    if (n > 0) this.more.textContent = plural(n, "new row") + " ↓";
  }
}

/** lowerBound returns the first number below n for which a condition holds, which then holds for all later ones, or n. @param {number} n @param {(k: number) => boolean} holds */
function lowerBound(n, holds) {
  let low = 0;
  while (low < n) {
    const mid = (low + n) >> 1;
    if (holds(mid)) n = mid;
    else low = mid + 1;
  }
  return low;
}

/** extend returns a list of rows with those that are new and fit the filter. @param {number[]} list @param {Row[]} rows */
function extend(list, rows) {
  const has = (/** @type {number} */ i) => list[lowerBound(list.length, (n) => list[n] >= i)] === i;
  const more = rows.filter((r) => fits(r, shown.filter) && !has(r.i)).map((r) => r.i);
  return more.length ? list.concat(more).sort((a, b) => a - b) : list;
}

/** kindNames says what kinds of rows are called. */
const kindNames = { start: "session", history: "history", input: "input", thinking: "thinking", text: "answer", search: "web search", question: "question", steering: "steering",
  plan: "plan", note: "note", retry: "retry", compaction: "compaction", model: "model", loop: "loop", limit: "limit", context: "context", warning: "warning",
  error: "error", end: "end", close: "closed", call: "call" };

/** nameOfRow returns the name that a line shows. @param {Row} row */
function nameOfRow(row) {
  if (row.kind === "call" || row.kind === "note") return (row.name || row.kind).replace(/^attractor\./, "");
  return kindNames[row.kind] || row.kind;
}

/** iconOf returns the name of a row's icon. @param {Row} row */
function iconOf(row) {
  if (row.kind === "search") return "find";
  if (row.kind !== "call") return row.kind;
  const name = (row.name || "").toLowerCase();
  if (row.session || /agent|task/.test(name)) return "agent";
  if (/shell|bash|exec|process|command/.test(name)) return "shell";
  if (row.paths?.length || /edit|write|patch/.test(name)) return "edit";
  if (/grep|glob|search|find/.test(name)) return "find";
  return /read|list|view/.test(name) ? "read" : "call";
}

/** factsOf returns the small facts at the end of a line. @param {Row} row */
function factsOf(row) {
  const facts = [];
  if (row.added) facts.push(el("span", { class: "added" }, "+" + row.added));
  if (row.removed) facts.push(el("span", { class: "removed" }, "−" + row.removed));
  if (row.session) facts.push(el("span", { class: "badge" }, "agent"));
  if (row.failed && (row.kind === "call" || row.kind === "search")) facts.push(el("span", { class: "badge bad" }, "failed"));
  if (row.failed && (row.kind === "text" || row.kind === "thinking")) facts.push(el("span", { class: "badge bad" }, "discarded"));
  if (row.cost && row.kind === "end") facts.push(el("span", {}, money(row.cost)));
  if (row.kind === "call" && (row.bytes || 0) >= 1000) facts.push(el("span", { class: "bytes" }, size(row.bytes || 0)));
  return facts;
}

/** @type {Timeline} */
const timeline = new Timeline(byID("timeline"));
addPanel({
  open: (v) => timeline.open(v), close: () => timeline.close(), overview: (o) => timeline.overview(o), rows: (rows) => timeline.rows(rows),
  connection: () => timeline.explain(),
});
