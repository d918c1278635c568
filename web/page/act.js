// Steering a session of the viewer's own process: its current output, its questions, and the messages to it.

/** maxLive is how much of a text that grows is shown, in characters. */
const maxLive = 20000;

/** settles is how long the buttons of questions do nothing after one has come or gone, in milliseconds: a click may have been meant for what was
 * there before. */
const settles = 500;

/** modes holds the names of the permission modes. */
const modes = { ask: "ask first", "accept-edits": "accept edits", plan: "plan only", full: "allow all", "read-only": "read only" };

/** act holds what is shown of the session that can be steered. */
const act = {
  root: byID("act"),
  /** @type {View|null} */
  view: null,
  running: false, finished: false, drawing: false, inMode: "ask", moved: 0,
  text: "", thinking: "",
  /** @type {Map<string, string>} what was written in the box and not sent, by session */
  drafts: new Map(),
  /** @type {Map<string, {name: string, output: string}>} the calls that run, by their ids */
  calls: new Map(),
  /** @type {Map<string, HTMLElement>} the cards of open asks, by their ids */
  cards: new Map(),
  /** @type {any} */
  model: {},
  /** @type {any[]} */
  models: [],
  now: el("pre", { id: "now", tabIndex: 0, role: "region", "aria-label": "Being written now", hidden: true }),
  asks: el("div", { id: "asks" }),
  problem: el("p", { class: "problem", role: "alert", hidden: true }),
  box: el("textarea", { id: "say", name: "say", rows: 1, autocomplete: "off", "aria-label": "Message to the agent", oninput: () => grow(), onkeydown: (/** @type {KeyboardEvent} */ e) => composerKey(e) }),
  send: button("Send", () => submit(false), { class: "main" }),
  later: button("Send after this", () => submit(true), { title: "The agent gets it when it has finished what it does now" }),
  stop: button("Interrupt", () => tell({ type: "interrupt" })),
  mode: el("select", { name: "mode", "aria-label": "Permission mode", onchange: () => tell({ type: "set", mode: act.mode.value }, drawChoices) }),
  modelBox: el("select", { name: "model", "aria-label": "Model", onchange: () => chooseModel() }),
  effort: el("select", { name: "effort", "aria-label": "Reasoning effort", onchange: () => chooseEffort() }),
};

/**
 * tell sends a line of the protocol, shows why it was refused, and returns whether it was not.
 * @param {object} line
 * @param {() => void} [undo] is called if it was refused
 */
async function tell(line, undo) {
  const view = act.view;
  if (!view?.source.act) return false;
  let error = "";
  try {
    const reply = await view.source.act(view.id, line);
    error = reply.ok ? "" : reply.error || "It was refused.";
  } catch (err) { error = err.message; }
  if (view !== act.view) return !error;
  act.problem.replaceChildren(visible(error));
  act.problem.hidden = !error;
  if (error) undo?.();
  return !error;
}

/** submit sends what is in the box. @param {boolean} later the agent gets it after what it does now */
async function submit(later) {
  const text = act.box.value, id = act.view?.id || "";
  if (!text.trim() || act.send.disabled) return;
  act.send.disabled = act.later.disabled = true;
  if (await tell({ type: act.running && !later ? "steer" : "user", text })) {
    if (act.drafts.get(id) === text) act.drafts.delete(id); // another session is shown by now
    if (act.view?.id === id && act.box.value === text) act.box.value = "";
  }
  act.send.disabled = act.later.disabled = false;
  grow();
}

/** composerKey sends the text at Enter. Shift-Enter begins another line. @param {KeyboardEvent} e */
function composerKey(e) {
  if (e.key === "Escape") act.box.blur();
  if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
  e.preventDefault();
  submit(false);
}

/** grow makes the box as high as its text. */
function grow() { act.box.rows = Math.min(8, act.box.value.split("\n").length); }

/** chooseModel asks for another model. */
function chooseModel() {
  const m = act.models[Number(act.modelBox.value)];
  if (!m) return;
  tell({ type: "set", provider: m.provider, model: m.model }, drawChoices).then((ok) => {
    if (!ok) return;
    act.model = { ...m, effort: (m.efforts || []).includes(act.model.effort) ? act.model.effort : "" };
    drawChoices();
  });
}

/** chooseEffort asks for another effort. */
function chooseEffort() {
  const effort = act.effort.value;
  tell({ type: "set", effort }, drawChoices).then((ok) => { if (ok) act.model.effort = effort; });
}

/** drawChoices shows the mode, the model and the effort that are in force. */
function drawChoices() {
  const list = (/** @type {any} */ select, /** @type {[string, string][]} */ options, /** @type {string} */ chosen) => {
    select.replaceChildren(...options.map(([value, name]) => el("option", { value }, name)));
    select.value = chosen;
  };
  const readOnly = act.inMode === "read-only";
  list(act.mode, Object.entries(modes).filter(([m]) => (m === "read-only") === readOnly), act.inMode);
  act.mode.disabled = readOnly;
  const at = act.models.findIndex((/** @type {any} */ m) => m.provider === act.model.provider && m.model === act.model.model);
  list(act.modelBox, act.models.map((/** @type {any} */ m, /** @type {number} */ i) => [String(i), m.model]), String(at));
  const efforts = act.models[at]?.efforts || act.model.efforts || [];
  list(act.effort, [["", "default effort"], ...efforts.map((/** @type {string} */ e) => [e, e])], act.model.effort || "");
  act.effort.hidden = !efforts.length;
}

/** drawState shows what can be done now. */
function drawState() {
  act.later.hidden = act.stop.hidden = !act.running;
  act.send.textContent = act.running ? "Steer" : "Send";
  act.send.title = act.running ? "The agent gets it before its next step" : "";
  act.box.placeholder = act.running ? "Tell the agent something before its next step" : "What shall the agent do?";
}

/** drawNow shows what is being written, soon. */
function drawNow() {
  if (act.drawing) return;
  act.drawing = true;
  requestAnimationFrame(() => {
    act.drawing = false;
    const output = [...act.calls.values()].map((c) => c.output).filter(Boolean).join("\n");
    const text = act.text || act.thinking || output, low = act.now.scrollHeight - act.now.scrollTop - act.now.clientHeight < 30;
    act.now.className = act.text ? "" : "quiet";
    act.now.replaceChildren(visible(text));
    act.now.hidden = !text;
    if (low) act.now.scrollTop = act.now.scrollHeight;
  });
}

/** lastOf returns the end of a text that grows. @param {string} text */
function lastOf(text) { return text.length > 2 * maxLive ? text.slice(-maxLive) : text; }

/** clearNow clears the current output, because the timeline has it. */
function clearNow() {
  act.text = act.thinking = "";
  act.finished = false;
  drawNow();
}

/** finish clears the current output after a moment, when the timeline has it. */
function finish() {
  act.finished = true;
  setTimeout(() => { if (act.finished) clearNow(); }, 700);
}

/** happenings holds the handlers of live events, by their kinds. @type {Object<string, (e: any) => void>} */
const happenings = {
  LIVE: (e) => {
    Object.assign(act, { running: e.running, text: e.text || "", thinking: e.thinking || "", finished: false, inMode: e.mode, model: e.model, models: e.models || [] });
    act.calls = new Map(e.calls.map((/** @type {any} */ c) => [c.call_id, { name: c.name, output: c.output || "" }]));
    const open = new Set(e.asks.map((/** @type {any} */ a) => a.ask));
    for (const id of act.cards.keys()) if (!open.has(id)) endAsk(id, "");
    if (act.root.hidden) act.moved = performance.now();
    show(true);
    for (const a of e.asks) addAsk(a);
    drawChoices();
  },
  USER_INPUT: () => { act.running = true; },
  PROCESSING_END: () => { act.running = false; finish(); },
  STEP_START: clearNow, LLM_RETRY: clearNow,
  ASSISTANT_TEXT_START: clearNow,
  ASSISTANT_TEXT_DELTA: (e) => { act.text = lastOf(act.text + e.text); },
  ASSISTANT_TEXT_END: finish,
  THINKING_DELTA: (e) => { act.thinking = lastOf(act.thinking + e.text); },
  STEP_END: finish,
  TOOL_CALL_START: (e) => { act.calls.set(e.call_id, { name: e.name, output: "" }); },
  TOOL_CALL_OUTPUT_DELTA: (e) => { const c = act.calls.get(e.call_id); if (c) c.output = lastOf(c.output + e.text); },
  TOOL_CALL_END: (e) => { act.calls.delete(e.call_id); },
  APPROVAL_REQUESTED: addAsk, QUESTION: addAsk,
  ASK_ENDED: (e) => endAsk(e.ask, e.how),
  MODE_CHANGED: (e) => { act.inMode = e.mode; drawChoices(); },
  SESSION_END: () => leaveAct(),
};

/** addAsk shows an open ask, unless it is shown already. @param {any} e */
function addAsk(e) {
  if (act.cards.has(e.ask)) return;
  const card = e.kind === "QUESTION" ? questionCard(e) : approvalCard(e);
  act.cards.set(e.ask, card);
  act.asks.append(card);
  const fields = [...card.querySelectorAll("button")];
  for (const b of fields) b.disabled = true;
  setTimeout(() => { for (const b of fields) b.disabled = false; }, settles);
  if (!document.activeElement?.matches("input, textarea, select")) card.focus(); // not the answer: a key must not give it
  say("The agent asks: " + (e.question || e.tool));
  act.view?.again();
}

/** endAsk removes the card of an ask. @param {string} id @param {string} how it has ended */
function endAsk(id, how) {
  const card = act.cards.get(id);
  if (!card) return;
  const back = card.contains(document.activeElement);
  act.cards.delete(id);
  card.remove();
  act.moved = performance.now();
  if (back) (act.asks.firstElementChild || act.box).focus();
  act.view?.again();
  if (how === "timed_out") say("Nobody answered in time.");
}

/** card returns an ask with a title. @param {string} title @param {any} e @param {...any} parts */
function card(title, e, ...parts) {
  const label = "ask-" + e.ask;
  return el("section", { class: "ask", tabIndex: -1, "aria-labelledby": label }, el("h3", { id: label }, title),
    e.problem && el("p", { class: "problem" }, e.problem), ...parts);
}

/** approvalCard asks whether a call may run. @param {any} e */
function approvalCard(e) {
  const approve = (/** @type {object} */ more) => tell({ type: "approve", ask: e.ask, ...more }), allow = (/** @type {object} */ more = {}) => approve({ decision: "allow", ...more });
  const reason = el("input", { type: "text", name: "reason", autocomplete: "off", "aria-label": "Why not", placeholder: "Why not (the agent is told)" });
  const buttons = e.plan
    ? [button("Approve, and ask first", () => allow({ mode: "ask" }), { class: "main" }), button("Approve, and accept edits", () => allow({ mode: "accept-edits" }))]
    : [button("Allow once", () => allow(), { class: "main" }), ...(e.allow ? [
      button("Allow in this session", () => allow({ remember: "session" }), { title: plain(e.allow.join("\n")) }),
      ...(e.project ? [button("Allow in this project", () => allow({ remember: "project" }), { title: plain(e.allow.join("\n")) })] : []),
      button("Allow everywhere", () => allow({ remember: "always" }), { title: plain(e.allow.join("\n")) })] : [])];
  return card(e.plan ? "May the agent carry out its plan?" : "May the agent call " + e.tool + "?", e,
    el("pre", { tabIndex: 0 }, e.text || JSON.stringify(e.arguments, null, 2)),
    e.allow && el("p", { class: "quiet" }, "Allowing more than once keeps ", ...e.allow.flatMap((/** @type {string} */ r, /** @type {number} */ i) => [i ? ", " : "", el("code", {}, r)])),
    el("div", { class: "answers" }, ...buttons, el("span", { class: "deny" }, reason, button(e.plan ? "Keep planning" : "Deny", () => approve({ decision: "deny", reason: reason.value })))),
    !e.refused && !e.plan && changeForm(e, allow));
}

/** changeForm lets a person change the arguments of a call. @param {any} e @param {(more: object) => Promise<boolean>} allow */
function changeForm(e, allow) {
  const text = el("textarea", { name: "arguments", rows: 4, value: JSON.stringify(e.arguments, null, 2), "aria-label": "Arguments as JSON", spellcheck: false }), wrong = el("p", { class: "problem", role: "alert" });
  const change = () => {
    try {
      wrong.textContent = "";
      allow({ args: JSON.parse(text.value) });
    } catch (err) { wrong.replaceChildren(visible("These arguments are not JSON: " + err.message)); }
  };
  return el("details", {}, el("summary", {}, "Change it first"), text, wrong, button("Ask again with these arguments", change));
}

/** questionCard asks a question of the model or of a server. @param {any} e */
function questionCard(e) {
  const answer = (/** @type {object} */ more) => tell({ type: "answer", ask: e.ask, ...more }), title = (e.source ? e.source : "The agent") + " asks";
  const decline = button("Decline", () => answer({ action: "decline" })), question = el("pre", { class: "question" }, e.question);
  if (e.form) {
    const { fields, content } = formFields(e.form);
    return card(title, e, question, ...fields, el("div", { class: "answers" }, button("Answer", () => answer({ content: content() }), { class: "main" }), decline));
  }
  const text = el("input", { type: "text", name: "answer", autocomplete: "off", "aria-label": "Your answer" });
  const send = () => { if (text.value.trim()) answer({ text: text.value }); };
  text.addEventListener("keydown", (/** @type {KeyboardEvent} */ k) => { if (k.key === "Enter" && !k.isComposing) send(); });
  return card(title, e, question, el("div", { class: "answers" }, ...(e.options || []).map((/** @type {string} */ o) => button(o, () => answer({ text: o }))), text, button("Answer", send, { class: "main" }), decline));
}

/** formFields returns fields for a JSON Schema, and a function that returns their values as texts, which the session converts. @param {any} form */
function formFields(form) {
  const inputs = /** @type {[string, any][]} */ ([]);
  const fields = Object.entries(form.properties || {}).map(([name, p]) => {
    const options = /** @type {any} */ (p).type === "boolean" ? ["true", "false"] : /** @type {any} */ (p).enum, value = /** @type {any} */ (p).default ?? "";
    const input = options ? el("select", { name }, ...["", ...options].map((o) => el("option", { value: String(o) }, String(o)))) : el("input", { type: "text", name, autocomplete: "off" });
    input.value = String(value);
    inputs.push([name, input]);
    return el("label", {}, (/** @type {any} */ (p).title || name) + ((form.required || []).includes(name) ? " (required)" : ""), input, /** @type {any} */ (p).description && el("small", { class: "quiet" }, /** @type {any} */ (p).description));
  });
  return { fields, content: () => Object.fromEntries(inputs.filter(([, i]) => i.value !== "").map(([name, i]) => [name, i.value])) };
}

/** show shows or hides the controls that steer the session. @param {boolean} yes */
function show(yes) {
  act.root.hidden = !yes;
  act.view?.again();
}

/** leaveAct hides the controls that steer the session. */
function leaveAct() {
  for (const id of [...act.cards.keys()]) endAsk(id, "");
  act.root.hidden = true;
  act.calls.clear();
  clearNow();
}

act.asks.addEventListener("click", (/** @type {MouseEvent} */ e) => {
  if (performance.now() - act.moved < settles) { e.stopPropagation(); e.preventDefault(); }
}, true);
act.root.append(act.asks, act.now, act.problem, el("div", { class: "composer" }, act.box, el("div", { class: "answers" }, act.send, act.later, act.stop, el("span", { class: "choices" }, act.mode, act.modelBox, act.effort))));

addPanel({
  open(view) {
    leaveAct();
    act.view = view;
    act.problem.hidden = true;
    act.box.value = act.drafts.get(view.id) || "";
    grow();
  },
  live(e) {
    happenings[e.kind]?.(e);
    drawState();
    drawNow();
  },
  rows() { if (act.finished) clearNow(); },
  connection(lost) { if (lost) show(false); }, // a LIVE comes when it is back; half an answer stays
  close() {
    if (act.view) act.drafts.set(act.view.id, act.box.value);
    act.view = null;
    leaveAct();
  },
});
