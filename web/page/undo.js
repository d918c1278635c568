// What a session that can be steered has changed in files, and how that is taken back: a section above the box for messages.

/** changes holds that section. asked counts what was asked, so that a late answer does not replace what came after it. */
const changes = { root: el("section", { id: "changes", tabIndex: -1, "aria-labelledby": "changes-title", hidden: true }), asked: 0 };

/**
 * drawChanges shows the section with a title, elements and buttons. For a moment the buttons do nothing: a click may have been meant for those before.
 * @param {string} title
 * @param {any[]} parts
 * @param {...any} buttons
 */
function drawChanges(title, parts, ...buttons) {
  changes.asked++;
  for (const b of buttons) b.disabled = true;
  setTimeout(() => { for (const b of buttons) b.disabled = false; }, settles);
  changes.root.replaceChildren(el("h3", { id: "changes-title" }, title), ...parts, el("div", { class: "answers" }, ...buttons, button("Close", closeChanges)));
  changes.root.hidden = false;
  if (!document.activeElement?.matches("input, textarea, select")) changes.root.focus();
}

/** closeChanges hides the section. */
function closeChanges() {
  const back = changes.root.contains(document.activeElement);
  changes.asked++;
  changes.root.hidden = true;
  changes.root.replaceChildren();
  if (back) act.box.focus();
}

/**
 * askChanges sends a line of the protocol. It returns the reply, or null if something else is shown by then, or the line was refused, which it shows.
 * @param {string} title
 * @param {any} line
 */
async function askChanges(title, line) {
  const view = act.view;
  if (!view?.source.act) return null;
  drawChanges(title, [el("p", { class: "quiet" }, "Looking at the files …")]);
  const asked = changes.asked;
  let reply;
  try {
    reply = await view.source.act(view.id, line);
  } catch (err) { reply = { error: err.message }; }
  if (asked !== changes.asked) return null;
  if (reply.ok) return reply;
  drawChanges(title, [el("p", { class: "problem", role: "alert" }, reply.error || "It was refused.")], again(line));
  return null;
}

/** again returns the button that asks once more for what was refused. @param {any} line */
function again(line) { return button("Try again", () => (line.type === "diff" ? showChanges() : planUndo({ ...line, plan: undefined }))); }

/** undoButton returns the button that asks for the plan of an undo or a redo. @param {boolean} redo @param {string} label */
function undoButton(redo, label) { return button(label, () => planUndo({ type: redo ? "redo" : "undo" })); }

/** showChanges shows what the session has changed until now. */
async function showChanges() {
  const reply = await askChanges("Changed files", { type: "diff" });
  if (reply) drawChanges("Changed files", [reply.text ? diffOf(parseDiff(reply.text, true)) : el("p", {}, "All is as it was before the session.")],
    undoButton(false, "Undo the last input's changes"), undoButton(true, "Redo"));
}

/** planUndo shows what an undo or a redo would do, and asks. @param {any} line */
async function planUndo(line) {
  const title = line.type === "redo" ? "Redo" : "Undo", reply = await askChanges(title, line);
  if (!reply) return;
  const go = button("Do this", () => runUndo({ ...line, plan: reply.plan }), { class: "main" });
  drawChanges(title, [el("pre", { tabIndex: 0 }, reply.text)], ...(reply.plan ? [go] : []));
}

/** runUndo has a plan carried out. @param {any} line */
async function runUndo(line) {
  const reply = await askChanges(line.type === "redo" ? "Redo" : "Undo", line);
  if (reply) showUndone({ redo: line.type === "redo", text: reply.text });
}

/** showUndone shows what became of an undo or a redo, whoever has asked for it. @param {{redo?: boolean, text: string}} e */
function showUndone(e) {
  drawChanges(e.redo ? "Redo" : "Undo", [el("pre", { tabIndex: 0 }, e.text)], undoButton(!e.redo, e.redo ? "Undo" : "Redo"));
  say(e.text);
}

/** undoSince returns the button that asks for an undo of what was changed since an input, null if there can be none. @param {any} row @param {View} v */
function undoSince(row, v) {
  if (!row.turn || !v.source.act || act.root.hidden) return null;
  return button("Undo from here on", () => planUndo({ type: "undo", turn: row.turn - 1 }), { class: "quiet" });
}

happenings.UNDONE = showUndone;
act.asks.after(changes.root);
act.stop.after(button("Changed files", showChanges));
addPanel({ open: closeChanges, connection: (lost) => { if (lost) closeChanges(); } });
