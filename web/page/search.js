// Search and filters: which rows are shown, which of them have a text, and the ways to the next failure and the next change.

/** shown holds what the reader looks for. */
const shown = { filter: /** @type {Filter} */ ({}), query: "", hits: /** @type {number[]} */ ([]), more: false, at: -1, opened: -1, run: 0, timer: 0 };

/** filters are the choices of rows. @type {[string, string, Filter][]} */
const filters = [
  ["All", "everything", {}],
  ["Messages", "inputs, answers, steering and questions", { kinds: ["input", "text", "steering", "question", "end"] }],
  ["Calls", "tool calls", { kinds: ["call"] }],
  ["Failed", "failed calls and errors", { failed: true }],
  ["Changes", "calls that changed files", { changed: true }],
];

/** bar holds the controls. */
const bar = { box: el("input", { type: "search", name: "search", placeholder: "Search", "aria-label": "Search in the session" }), count: el("span", { class: "count", role: "status" }),
  tool: el("select", { name: "tool", "aria-label": "Tool" }),
  failure: button("Next failure", () => nextMark(1, isFailure), { title: "next failure (f)" }), change: button("Next change", () => nextMark(1, isChange), { title: "next change (e)" }), choices: /** @type {any[]} */ ([]), path: el("span", {}) };

/** drawBar makes the controls. */
function drawBar() {
  bar.box.addEventListener("input", () => { shown.query = bar.box.value; later(); });
  bar.box.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "Enter") nextHit(e.shiftKey ? -1 : 1);
    if (e.key === "Escape") leaveSearch();
    if (["Enter", "Escape"].includes(e.key)) { e.preventDefault(); e.stopPropagation(); }
  });
  bar.tool.addEventListener("change", () => setFilter(bar.tool.value ? { kinds: ["call"], tool: bar.tool.value } : {}));
  bar.choices = filters.map(([name, title, f]) => button(name, () => setFilter(f), { title, "aria-pressed": "false" }));
  byID("tools").append(
    el("span", { class: "group" }, bar.box, bar.count, button("Previous hit", () => nextHit(-1), { icon: "up" }), button("Next hit", () => nextHit(1), { icon: "down" })),
    el("span", { class: "group choices" }, ...bar.choices, bar.tool, bar.path),
    el("span", { class: "group" }, bar.failure, bar.change));
}

/** isFailure reports whether a mark is of a failure. @param {any} m */
function isFailure(m) { return m.failed || m.kind === "error" || m.kind === "limit"; }

/** isChange reports whether a mark is of a change. @param {any} m */
function isChange(m) { return !!m.changed; }

/** nextMark jumps to the next mark in a direction, from the end to the beginning. @param {number} by @param {(m: any) => boolean} wanted */
function nextMark(by, wanted) {
  if (!view?.overview) return;
  const rows = (view.overview.marks || []).filter(wanted).map((/** @type {any} */ m) => m.row).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  if (!rows.length) return say("There is none.");
  const now = timeline.current, n = by > 0 ? rows.findIndex((/** @type {number} */ r) => r > now) : rows.findLastIndex((/** @type {number} */ r) => r < now);
  view.jump(n >= 0 ? rows[n] : by > 0 ? rows[0] : rows[rows.length - 1], { expand: true });
}

/** setFilter shows only the rows that fit. @param {Filter} f */
function setFilter(f) {
  shown.filter = f;
  for (const [n, [, , choice]] of filters.entries()) bar.choices[n].setAttribute("aria-pressed", String(JSON.stringify(choice) === JSON.stringify(f)));
  bar.tool.value = f.tool || "";
  bar.path.replaceChildren(f.path ? button(f.path + " ✕", () => setFilter({}), { title: "show all files again" }) : "");
  look();
}

/** later looks when the reader has stopped typing. */
function later() {
  clearTimeout(shown.timer);
  shown.timer = setTimeout(look, 200);
}

/** look shows the rows that fit the filter, and asks which of them have the text. */
async function look() {
  clearTimeout(shown.timer);
  const run = ++shown.run, v = view, f = shown.filter, query = shown.query.trim();
  if (!v) return;
  if (Object.keys(f).length === 0) timeline.show(null);
  else timeline.show(v.rows.filter((r) => fits(r, f)).map((r) => r.i));
  if (query) bar.count.textContent = "…";
  try {
    const found = query ? await v.source.search(v.id, query) : { rows: [], more: false };
    if (run !== shown.run || v !== view) return;
    Object.assign(shown, { hits: found.rows.filter((i) => !v.rows[i] || fits(v.rows[i], f)), more: found.more, at: -1 });
    timeline.mark(shown.hits);
    paintHits();
    drawCount();
  } catch (err) {
    if (run === shown.run) bar.count.replaceChildren(visible(err.message));
  }
}

/** drawCount shows how many rows have the text, and which of them is shown. */
function drawCount() {
  const n = shown.hits.length;
  bar.count.textContent = !shown.query.trim() ? "" : !n ? "none" : (shown.at >= 0 ? shown.at + 1 + " of " : "") + n + (shown.more ? "+" : "");
}

/** nextHit jumps to the next row that has the text, and opens it if its line does not show it. @param {number} by */
async function nextHit(by) {
  if (!view || !shown.hits.length) return;
  const now = timeline.current, n = shown.hits.length, v = view;
  let at = shown.at + by;
  if (shown.at < 0 || shown.hits[shown.at] !== now) at = by > 0 ? shown.hits.findIndex((r) => r > now) : shown.hits.findLastIndex((r) => r < now);
  shown.at = at < 0 ? (by > 0 ? 0 : n - 1) : at % n;
  const i = shown.hits[shown.at], row = v.row(i);
  const box = document.activeElement === bar.box;
  if (shown.opened >= 0 && shown.opened !== i) timeline.toggle(shown.opened, false);
  const inLine = ((row?.name || "") + "\n" + (row?.text || "")).toLowerCase().includes(shown.query.trim().toLowerCase());
  shown.opened = inLine || timeline.opened.has(i) ? -1 : i;
  v.jump(i, { expand: !inLine });
  if (box) bar.box.focus();
  drawCount();
  await timeline.opened.get(i)?.ready;
  const hit = timeline.current === i ? hitsIn(timeline.drawn.get(i)?.querySelector(".details"), 1)[0] : undefined;
  if (hit) timeline.reveal(hit);
}

/** paintHits marks the text that is searched for, where it is seen. Browsers that cannot do it mark the rows alone. */
function paintHits() {
  const marks = /** @type {any} */ (CSS).highlights, query = shown.query.trim().toLowerCase();
  if (!marks || (!query && !marks.size)) return;
  marks.clear();
  if (!query) return;
  marks.set("found", new Highlight(...hitsIn(timeline.sheet, 1000)));
}

/** hitsIn returns the first places in an element that have the text. @param {any} root @param {number} most */
function hitsIn(root, most) {
  const query = shown.query.trim().toLowerCase(), ranges = /** @type {Range[]} */ ([]);
  if (!root || !query) return ranges;
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node && ranges.length < most; node = walk.nextNode()) {
    const text = (node.nodeValue || "").toLowerCase();
    for (let at = text.indexOf(query); at >= 0 && ranges.length < most; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + query.length, node.nodeValue?.length || 0));
      ranges.push(range);
    }
  }
  return ranges;
}

/** leaveSearch ends the search and goes back to the timeline. */
function leaveSearch() {
  bar.box.value = shown.query = "";
  look();
  timeline.move(0);
}

/** drawTools offers the tools that the session has called, and the ways to marks that it has. @param {any} o */
function drawTools(o) {
  bar.failure.disabled = !o.marks.some(isFailure);
  bar.change.disabled = !o.marks.some(isChange);
  const names = (o.tools || []).map((/** @type {any} */ t) => t.name).sort();
  if (names.join() === bar.tool.dataset.names) return;
  bar.tool.dataset.names = names.join();
  bar.tool.replaceChildren(el("option", { value: "" }, "Tool"), ...names.map((/** @type {string} */ n) => el("option", { value: n }, n)));
  bar.tool.value = shown.filter.tool || "";
}

drawBar();
addPanel({
  open: () => { bar.box.value = shown.query = ""; setFilter({}); },
  overview: drawTools,
});
