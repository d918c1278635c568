// The keyboard.

/** keys holds the keys with their descriptions and actions. Tab and the keys of single elements work by themselves. @type {[string[], string, () => void][]} */
const keys = [
  [["j", "ArrowDown"], "next row", () => timeline.move(1)],
  [["k", "ArrowUp"], "previous row", () => timeline.move(-1)],
  [["PageDown"], "a page down", () => timeline.move(pageOfRows())],
  [["PageUp"], "a page up", () => timeline.move(-pageOfRows())],
  [["g", "Home"], "first row", () => timeline.jump(timeline.rowAt(0) ?? 0)],
  [["G", "End"], "last row, and follow what comes", () => timeline.toEnd()],
  [["Enter"], "open or close the row", () => {}],
  [["f"], "next failure", () => nextMark(1, isFailure)],
  [["F"], "previous failure", () => nextMark(-1, isFailure)],
  [["e"], "next change of files", () => nextMark(1, isChange)],
  [["E"], "previous change of files", () => nextMark(-1, isChange)],
  [["/"], "search", () => { bar.box.focus(); bar.box.select(); }],
  [["n"], "next hit", () => { nextHit(1); }],
  [["N"], "previous hit", () => { nextHit(-1); }],
  [["o"], "open the row's subagent", () => openAgent()],
  [["u"], "back to the parent session", () => { byID("crumbs").lastChild?.click(); }],
  [["v"], "show or hide the overview", () => switchOverview()],
  [["t"], "dark or light", () => switchTheme()],
  [["?"], "these keys", () => showKeys()],
];

/** pageOfRows returns how many lines fit on the screen. */
function pageOfRows() { return Math.max(1, Math.floor(timeline.root.clientHeight / timeline.height) - 1); }

/** openAgent opens the session of the subagent that the current row has started. */
function openAgent() {
  const session = view?.row(timeline.current)?.session;
  if (session) view?.openSession(session, timeline.current);
}

/** startKeys listens for keys. It ignores keys in fields, and keys that an element handles by itself. */
function startKeys() {
  addEventListener("keydown", (e) => {
    const at = /** @type {HTMLElement} */ (e.target);
    if (e.ctrlKey || e.metaKey || e.altKey || byID("help").open || at.closest("input, textarea, select, [contenteditable], #act")) return;
    if (e.key === "?" || e.key === "t") return doKey(e);
    if (!view) return e.key === "/" ? focusFilter(e) : undefined;
    if (e.key === "Escape" && at.closest(".details")) return timeline.toggle(timeline.current, false);
    if (e.key === "Escape") return leaveSearch();
    if (e.key.length > 1 && at.closest("#overview, #bar, #tools")) return;
    doKey(e);
  });
}

/** doKey carries out the action of a key. @param {KeyboardEvent} e */
function doKey(e) {
  const found = keys.find(([names]) => names.includes(e.key));
  if (!found || e.key === "Enter") return;
  e.preventDefault();
  found[2]();
}

function focusFilter(/** @type {KeyboardEvent} */ e) {
  e.preventDefault();
  byID("list").querySelector("input[type=search]")?.focus();
}

/** showKeys shows the list of keys. */
function showKeys() {
  const help = byID("help");
  help.replaceChildren(el("h2", {}, "Keys"),
    el("dl", {}, ...keys.flatMap(([names, what]) => [el("dt", {}, ...names.map((n) => el("kbd", {}, n))), el("dd", {}, what)])),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
  help.showModal();
}
