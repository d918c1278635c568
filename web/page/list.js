// The list of sessions, with subagents and forks under the sessions that they belong to.

/** sessions holds what the list shows. wanted is how many sessions are drawn, and room how many are still to be. */
const sessions = { timer: 0, drawn: -Infinity, all: /** @type {any[]} */ ([]), states: /** @type {Map<string, any>} what a server says of its sessions, by their ids */ (new Map()), filter: "", wanted: 200, room: 0 };

/** showList draws the list, and asks for it again every few seconds while it is shown. @param {Source} from */
async function showList(from) {
  const section = byID("list");
  if (!section.firstChild) section.append(...(host.form ? [host.form()] : []), listHead(), el("ul", { class: "sessions" }));
  clearTimeout(sessions.timer);
  const gone = () => section.hidden || !section.querySelector(".sessions"); // something else is shown by now
  try {
    const all = await from.list();
    if (gone()) return;
    if (JSON.stringify(all) !== JSON.stringify(sessions.all) || performance.now() - sessions.drawn > 30000) { // how long ago they were changes too
      sessions.all = all;
      drawList();
    }
    notice("");
  } catch (err) {
    if (!gone()) notice(err.message, "It will be asked again.");
  }
  if (from.live && !gone()) sessions.timer = setTimeout(() => showList(from), document.hidden ? 30000 : 4000);
}

/** hideList stops asking. */
function hideList() { clearTimeout(sessions.timer); }

/** listHead returns the box with which sessions are filtered. */
function listHead() {
  const box = el("input", { type: "search", name: "filter", placeholder: "Filter by task, directory, model or id", "aria-label": "Filter sessions",
    oninput: () => { sessions.filter = box.value; drawList(); } });
  return el("div", { class: "tools" }, box);
}

/** drawList draws the first of the sessions that fit the filter, and those above them. */
function drawList() {
  const words = sessions.filter.toLowerCase().split(/\s+/).filter(Boolean), byId = new Map(sessions.all.map((s) => [s.id, s])), wanted = new Set();
  for (const s of sessions.all) {
    const text = [s.task, s.dir, s.model, s.provider, s.id].join(" ").toLowerCase();
    if (!words.every((w) => text.includes(w))) continue;
    for (let at = s; at && !wanted.has(at.id); at = byId.get(at.parent || at.fork_of)) wanted.add(at.id);
  }
  const under = new Map();
  const waits = (/** @type {any} */ s) => Number(sessions.states.get(s.id)?.state === "waiting");
  for (const s of [...sessions.all].sort((a, b) => waits(b) - waits(a))) {
    if (!wanted.has(s.id)) continue;
    const above = byId.has(s.parent || s.fork_of) ? s.parent || s.fork_of : "";
    under.set(above, [...(under.get(above) || []), s]);
  }
  const ul = byID("list").lastChild;
  sessions.drawn = performance.now();
  const focused = ul.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
  sessions.room = sessions.wanted;
  ul.replaceChildren(...listUnder(under, "", new Set()));
  if (sessions.room <= 0) ul.append(el("li", {}, button("Show more sessions", () => { sessions.wanted *= 5; drawList(); }, { class: "gap" })));
  if (focused) [...ul.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
  if (!ul.firstChild) ul.append(emptyList());
}

/** listUnder returns the items of the sessions that belong to one. @param {Map<string, any[]>} under @param {string} id @param {Set<string>} seen */
function listUnder(under, id, seen) {
  const items = [];
  for (const s of under.get(id) || []) {
    if (seen.has(s.id) || sessions.room <= 0) continue;
    sessions.room--;
    seen.add(s.id);
    const below = listUnder(under, s.id, seen);
    items.push(el("li", {}, listLink(s), below.length ? el("ul", {}, ...below) : null));
  }
  return items;
}

/** listLink returns the line of a session. @param {any} s */
function listLink(s) {
  const time = Date.parse(s.modified), kind = s.parent ? "subagent" : s.fork_of ? "fork" : "", problem = s.problem || sessions.states.get(s.id)?.problem;
  return el("a", { class: "session", href: hash({ session: s.id }) },
    el("span", { class: "task" }, (s.task || "(no task yet)").slice(0, 300)),
    stateBadge(s),
    kind ? el("span", { class: "badge" }, kind) : null,
    problem ? el("span", { class: "badge bad" }, problem) : null,
    el("span", { class: "dir" }, s.dir || ""),
    el("span", { class: "model" }, s.model || ""),
    el("span", { class: "bytes" }, s.size ? size(s.size) : ""),
    el("time", { dateTime: s.modified || "", title: time ? new Date(time).toLocaleString() : "" }, time ? since(time) : ""));
}

/** stateBadge says what a session does, if that is known. @param {any} s */
function stateBadge(s) {
  const state = sessions.states.get(s.id)?.state;
  if (state) return state === "idle" ? null : el("span", { class: "state " + (state === "held" ? "interrupted" : state) }, stateNames[state]);
  return s.locked ? el("span", { class: "state running" }, s.own ? "runs here" : "open") : null;
}

/** emptyList says why there is nothing, and what to do. */
function emptyList() {
  if (sessions.all.length) return el("li", { class: "empty" }, "No session fits the filter.");
  if (host.form) return el("li", { class: "empty" }, "There is no session yet.");
  return el("li", { class: "empty" }, "There is no session yet. Start one with ", el("code", {}, 'attractor run "What is this project about?"'), ": it will appear here.");
}
