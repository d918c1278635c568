// What only the page of a server has: it begins, forks and deletes sessions, and tells a person when a session waits or has finished.

/** HostSource asks package server: it reads like ServerSource, and what a person does goes to the server's API. @implements {Source} */
class HostSource extends ServerSource {
  /** @param {string} token */
  constructor(token) {
    super(token);
    /** @type {Map<string, string>} the keys of what is sent now, and of what may have arrived within the last minute, by what it is */
    this.keys = new Map();
    this.act = async (/** @type {string} */ id, /** @type {object} */ line) => ({ ok: true, ...await this.post("/v1/sessions/" + encodeURIComponent(id) + "/lines", line) });
  }

  /**
   * post sends an object with a key, so that it is carried out once although it is sent again: by itself when the connection was lost, or by a
   * person who presses a button again.
   * @param {string} path
   * @param {object} value
   */
  async post(path, value) {
    const body = JSON.stringify(value), what = path + body;
    const key = this.keys.get(what) || [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
    this.keys.set(what, key);
    for (let tries = 1; ; tries++) {
      try {
        const answer = await this.json(path, { method: "POST", body, headers: { "Idempotency-Key": key } });
        this.keys.delete(what);
        return answer;
      } catch (err) {
        if (err.status || tries === 4) {
          setTimeout(() => { if (this.keys.get(what) === key) this.keys.delete(what); }, err.status ? 0 : 60000);
          throw err;
        }
        await new Promise((wake) => { setTimeout(wake, 1000 * tries); });
      }
    }
  }

  /** watchAll gives the changes of all sessions, and {kind: "LOST", error, again} when the connection has gone. @param {(c: any) => void} onChange */
  watchAll(onChange) {
    return this.keep((alive, stop) => this.lines("/v1/events", (line) => {
      alive();
      if (line.startsWith("data: ")) onChange(JSON.parse(line.slice(6)));
    }, stop), (error, again) => onChange({ kind: "LOST", error, again }));
  }
}

/** served holds what the page knows besides what it shows. @type {{source: any, sound: any}} */
const served = { source: null, sound: null };

/** startServed begins to hear of all sessions, and returns where they come from. @param {string} [token] */
function startServed(token) {
  served.source = new HostSource(token || "");
  byID("switches").prepend(button("Notify me", switchBell, { id: "bell", class: "quiet", title: "tell me when a session waits for me or has finished", "aria-pressed": setting("bell", "off") === "on" ? "true" : "false" }));
  if (token) served.source.watchAll(changed);
  else askToken("Open the address that attractor serve has printed, or enter a token of the server.");
  return served.source;
}

/** askToken asks for a token, which becomes a part of the page's address. @param {string} why */
function askToken(why) {
  const box = el("input", { type: "password", name: "token", autocomplete: "current-password", "aria-label": "Token", required: true });
  const form = el("form", { class: "begin", onsubmit: (/** @type {Event} */ e) => {
    e.preventDefault();
    const place = new URLSearchParams(location.hash.slice(1));
    place.set("token", box.value.trim());
    history.replaceState(null, "", "#" + place);
    location.reload();
  } }, el("p", {}, why), el("div", { class: "fields" }, box, el("button", { class: "main" }, "Enter")));
  view?.close();
  view = null;
  hideList();
  notice("");
  byID("session").hidden = true;
  byID("list").hidden = false;
  byID("list").replaceChildren(form);
}

/** changed handles a change of the sessions. @param {any} c */
function changed(c) {
  const states = sessions.states;
  if (c.kind === "LOST") {
    if (c.error.status === 401) askToken("The server does not know this token. Without --tokens it makes another one at each start.");
    return;
  }
  if (c.kind === "SNAPSHOT") {
    const all = new Map(c.sessions.map((/** @type {any} */ s) => [s.id, s]));
    for (const id of states.keys()) if (!all.has(id)) states.delete(id);
    for (const s of c.sessions) became(s);
  } else if (c.kind === "DELETED") states.delete(c.id);
  else became(c.session);
  retitle();
  if (byID("list").hidden) return;
  if (sessions.all.some((s) => s.id === (c.session?.id || c.id))) drawList();
  else showList(served.source);
}

/** became notes what a session does, and tells a person who does not look at it. @param {any} s */
function became(s) {
  const was = sessions.states.get(s.id);
  sessions.states.set(s.id, s);
  const asks = s.state === "waiting" && s.asks > (was?.asks || 0), finished = ["running", "waiting"].includes(was?.state) && s.state === "idle";
  if ((asks || finished) && (document.hidden || view?.id !== s.id)) ring(s, asks);
}

/** ring tells a person of a session: by the system where the browser allows it, otherwise by a sound. @param {any} s @param {boolean} asks */
function ring(s, asks) {
  if (setting("bell", "off") !== "on") return;
  const task = sessions.all.find((x) => x.id === s.id)?.task || s.dir;
  try {
    if (isSecureContext && Notification.permission === "granted") {
      const n = new Notification(asks ? "An agent waits for you" : "An agent has finished", { body: plain(task).slice(0, 200), tag: s.id });
      n.onclick = () => { window.focus(); go({ session: s.id }); n.close(); };
      return;
    }
  } catch { /* browsers of phones have Notification, but its constructor fails */ }
  if (asks) beep();
}

/** beep plays two short tones, if the browser lets the page make a sound: somebody must have clicked in it. */
function beep() {
  try {
    served.sound ??= new AudioContext();
    for (const at of [0, 0.25]) {
      const tone = served.sound.createOscillator(), low = served.sound.createGain(), begin = served.sound.currentTime + at;
      low.gain.value = 0.1;
      tone.connect(low).connect(served.sound.destination);
      tone.start(begin);
      tone.stop(begin + 0.12);
    }
  } catch { /* the title says it too */ }
}

/** switchBell switches notifications on or off. */
function switchBell() {
  const on = setting("bell", "off") !== "on";
  keep("bell", on ? "on" : "off");
  byID("bell").setAttribute("aria-pressed", String(on));
  if (!on) return;
  beep(); // so that it may be heard later, and is known
  if (isSecureContext && "Notification" in window && Notification.permission === "default") Notification.requestPermission();
}

/** retitle puts the number of sessions that wait in front of the page's title. */
function retitle() {
  const waiting = [...sessions.states.values()].filter((s) => s.state === "waiting").length;
  document.title = (waiting ? "(" + waiting + ") " : "") + document.title.replace(/^\(\d+\) /, "");
}

/** begin creates a session, and shows it. What the person wrote for it is sent or, if it cannot be, is in the box. @param {object} wanted @param {string} text @param {boolean} send */
async function begin(wanted, text, send) {
  const from = location.hash, made = await served.source.post("/v1/sessions", wanted);
  try {
    if (send) await served.source.act(made.id, { type: "user", text });
    else act.drafts.set(made.id, text);
  } catch (err) {
    act.drafts.set(made.id, text);
    setTimeout(() => notice(err.message)); // behind the notice of the session
  }
  if (location.hash === from) go({ session: made.id }); // else the person looks at something else by now
}

/** choices returns a selection. The first choice stands for what the server has. @param {string} name @param {string} label @param {[string, string][]} all */
function choices(name, label, all) {
  return el("label", {}, label, el("select", { name }, ...[["", "as the server has it"], ...all].map(([value, text]) => el("option", { value }, text))));
}

/** beginForm returns the form that begins a session. */
function beginForm() {
  const problem = el("p", { class: "problem", role: "alert", hidden: true }), task = el("textarea", { name: "task", rows: 2, required: true, autocomplete: "off", value: setting("begin.task", ""), oninput: () => keep("begin.task", task.value), "aria-label": "Task", placeholder: "What shall an agent do?" });
  const dir = el("input", { type: "text", name: "dir", list: "known-dirs", autocomplete: "off", placeholder: "the server's root, or a path in it", value: setting("begin.dir", "") }), start = el("button", { class: "main" }, "Begin");
  const known = (/** @type {string} */ id, /** @type {string} */ member) => el("datalist", { id }, ...[...new Set([...sessions.states.values()].map((s) => s[member]))].filter(Boolean).slice(-50).map((value) => el("option", { value })));
  const lists = el("div", {});
  const form = el("form", { class: "begin", "aria-label": "New session", onfocusin: () => lists.replaceChildren(known("known-dirs", "dir"), known("known-models", "model")),
    onsubmit: async (/** @type {Event} */ e) => {
      e.preventDefault();
      const given = /** @type {any} */ (Object.fromEntries([...new FormData(form)].filter(([name, value]) => value && name !== "task")));
      if (given.budget_usd) given.budget_usd = Number(given.budget_usd);
      keep("begin.dir", given.dir || "");
      start.disabled = true;
      start.textContent = "Beginning …";
      problem.hidden = true;
      try {
        await begin(given, task.value, true);
        task.value = "";
        keep("begin.task", "");
      } catch (err) {
        problem.replaceChildren(visible(err.message));
        problem.hidden = false;
      }
      start.disabled = false;
      start.textContent = "Begin";
    } }, task, el("div", { class: "fields" }, el("label", {}, "Directory", dir), start),
  el("details", {}, el("summary", {}, "Model, mode, sandbox, budget"), el("div", { class: "fields" },
    el("label", {}, "Model", el("input", { type: "text", name: "model", list: "known-models", autocomplete: "off", placeholder: "provider/model" })),
    choices("mode", "Mode", Object.entries(modes)), choices("sandbox", "Sandbox", [["off", "off"], ["workspace-weak", "workspace, if it can be"], ["workspace", "workspace"], ["read-only", "read only"]]),
    el("label", {}, "Dollars at most", el("input", { type: "number", name: "budget_usd", min: "0", step: "any", inputMode: "decimal" })))), problem, lists);
  return form;
}

/** fork begins a session with the conversation of another one. @param {View} v @param {number} turn behind which, 0 for all @param {string} text for the box */
async function fork(v, turn, text) {
  try {
    await begin({ fork: v.id, ...(turn ? { turn } : {}) }, text, false);
  } catch (err) { notice(err.message); }
}

/** forkBefore returns the button that forks in front of an input, null if there is nothing to fork. @param {any} item @param {View} v */
function forkBefore(item, v) {
  if (!(item.row.turn > 1)) return null;
  const text = item.events.find((/** @type {any} */ e) => e.kind === "USER_INPUT")?.text || "";
  return button("Fork before this", () => fork(v, item.row.turn - 1, text), { class: "quiet", title: "another session with the conversation until here, in the same directory" });
}

/** remove deletes the session that is shown, when the person says so again. @param {View} v */
function remove(v) {
  const go = button("Delete it", async () => {
    try {
      await served.source.fetch("/v1/sessions/" + encodeURIComponent(v.id), { method: "DELETE" });
      location.hash = hash({});
    } catch (err) { notice(err.message); }
  }, { class: "main" });
  drawChanges("Delete this session?", [el("p", {}, "It ends, and what was said in it is gone for good, also in its subagents. Files stay as they are.")], go);
}

/** held is shown for a session whose input does not go on by itself. */
const held = el("section", { class: "ask", hidden: true, "aria-label": "The session is held" }, el("h3", {}, "Shall the agent go on?"),
  el("p", {}, "The server has ended twice, not in order, while it worked on the last input. So it does not go on by itself."),
  el("div", { class: "answers" }, button("Go on", () => tell({ type: "continue" }), { class: "main" }), button("Stop it", () => tell({ type: "interrupt" }))));

Object.assign(host, { start: startServed, form: beginForm, forkBefore, retitle });
act.asks.before(held);
act.later.after(button("Fork", () => { if (act.view) fork(act.view, 0, act.box.value); }, { title: "another session with this conversation, in the same directory" }));
act.mode.before(button("Delete", () => { if (act.view) remove(act.view); }, { class: "quiet" }));
addPanel({ live(e) { if (e.kind === "LIVE") held.hidden = !e.held; } });
