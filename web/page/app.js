// The page: it shows the session that the fragment of its address names, and passes the session's messages to the panels.

/** View holds the session that is shown: its overview and its rows. */
class View {
  /** @param {Source} source @param {string} id */
  constructor(source, id) {
    this.source = source;
    this.id = id;
    /** @type {any} */
    this.overview = null;
    /** @type {Row[]} */
    this.rows = [];
    this.lost = false;
    this.closed = false;
    this.timer = 0;
    this.stop = () => {};
  }

  /** open begins to watch the session. */
  open() {
    for (const p of panels) p.open?.(this);
    this.timer = setInterval(() => { if (!this.lost && this.going()) for (const p of panels) p.tick?.(this); }, 1000);
    this.stop = this.source.watch(this.id, () => this.rows.length, (m) => { if (!this.closed) this.message(m); });
  }

  /** close ends it. */
  close() {
    this.closed = true;
    clearInterval(this.timer);
    this.stop();
    for (const p of panels) p.close?.();
  }

  /** message handles a message of the server. @param {any} m */
  message(m) {
    if (m.type === "end") clearInterval(this.timer);
    if (m.type === "lost" || m.type === "end") {
      this.connection(m.type === "lost");
      notice(m.text || "", m.type === "lost" && m.again ? "It will be asked again." : "");
      return;
    }
    if (this.lost) {
      this.connection(false);
      notice("");
    }
    if (m.type === "overview") this.setOverview(m.overview);
    if (m.type === "update") this.setOverview(mergeOverview(this.overview, m.overview));
    if (m.type === "rows") {
      for (const [n, row] of m.rows.entries()) this.rows[m.first + n] = row;
      for (const p of panels) p.rows?.(m.rows, this);
    }
    if (m.type === "live") for (const p of panels) p.live?.(m.event, this);
  }

  /** going returns how long a session that is at work has been silent, in milliseconds: the times of its overview end with its last record. */
  going() {
    const o = this.overview;
    if (!this.source.live || !(o?.state === "running" || o?.state === "waiting")) return 0;
    return Math.max(0, Date.now() - Date.parse(o.created) - o.time.total) || 0;
  }

  connection(/** @type {boolean} */ lost) {
    this.lost = lost;
    for (const p of panels) p.connection?.(lost, this);
  }

  setOverview(/** @type {any} */ o) {
    this.overview = o;
    this.again();
  }

  /** again shows the overview to the panels, if it is known. */
  again() { if (this.overview) for (const p of panels) p.overview?.(this.overview, this); }

  /** row returns a row if it is known. @param {number} i @returns {Row|undefined} */
  row(i) { return this.rows[i]; }

  /** jump shows a row, and opens it if wanted. @param {number} i @param {{expand?: boolean}} [how] */
  jump(i, how = {}) { timeline.jump(i, how); }

  /** filter shows only the rows that fit. @param {Filter} f */
  filter(f) { setFilter(f); }

  /** openSession shows another session, and remembers the row to come back to. @param {string} id @param {number} [fromRow] */
  openSession(id, fromRow) { go({ session: id, from: fromRow }); }
}

/**
 * mergeOverview returns an overview with an update, whose columns of steps and whose marks begin where something was added or has changed.
 * @param {any} old
 * @param {any} update
 */
function mergeOverview(old, update) {
  const steps = update.steps || { first: 1 }, merged = { ...update, steps: { ...old.steps, first: old.steps.first } };
  const keep = Math.max(0, steps.first - old.steps.first);
  for (const [name, column] of Object.entries(steps)) {
    if (Array.isArray(column)) merged.steps[name] = (old.steps[name] || []).slice(0, keep).concat(column);
  }
  merged.marks = (old.marks || []).slice(0, update.first_mark || 0).concat(update.marks || []);
  merged.first_mark = 0;
  return merged;
}

/** notice shows a line above the content, or none. @param {string} text @param {string} [more] */
function notice(text, more = "") {
  const p = byID("notice");
  p.replaceChildren(visible(text + (text && more ? " " + more : "")));
  p.hidden = !text;
}

/** @typedef {{token?: string, session?: string, row?: number, from?: number}} Place of the page, as its fragment says it */

/** place returns where the page is. @returns {Place} */
function place() {
  const p = new URLSearchParams(location.hash.slice(1)), row = parseInt(p.get("row") || "", 10), from = parseInt(p.get("from") || "", 10);
  return { token: p.get("token") || undefined, session: p.get("session") || undefined, row: row >= 0 ? row : undefined, from: from >= 0 ? from : undefined };
}

/** hash returns the fragment of a place. The token stays in it, so that reloading and copied links work. @param {Place} to */
function hash(to) {
  const p = new URLSearchParams(), token = place().token;
  if (token) p.set("token", token);
  if (to.session) p.set("session", to.session);
  if (to.row !== undefined) p.set("row", String(to.row));
  if (to.from !== undefined) p.set("from", String(to.from));
  return "#" + p;
}

/** go shows another place. @param {Place} to */
function go(to) {
  remember();
  location.hash = hash(to);
}

/** latest is the row that the page's address has to have. */
const latest = { timer: 0, at: 0, session: /** @type {string|undefined} */ (undefined), row: 0 };

/** here remembers a row in the page's address, at most three times a second: browsers refuse to change it too often. @param {number} row */
function here(row) {
  clearTimeout(latest.timer);
  Object.assign(latest, { session: place().session, row });
  const wait = latest.at + 333 - performance.now();
  if (wait > 0) latest.timer = setTimeout(remember, wait);
  else remember();
}

/** remember puts the latest row in the page's address, unless that names another session by now. */
function remember() {
  clearTimeout(latest.timer);
  if (latest.session && latest.session === place().session) history.replaceState(null, "", hash({ ...place(), row: latest.row }));
  latest.session = undefined;
  latest.at = performance.now();
}

/** @type {View|null} */
let view = null;
/** @type {Source} */
let source;

/** route shows what the address names. */
function route() {
  const at = place();
  if (view && view.id === at.session) {
    if (at.row !== undefined) view.jump(at.row, {});
    return;
  }
  if (view || at.session) byID("main").focus();
  view?.close();
  view = null;
  notice("");
  byID("list").hidden = !!at.session;
  byID("session").hidden = !at.session;
  document.body.classList.toggle("in-session", !!at.session);
  drawHead(null);
  if (!at.session) {
    showList(source);
    return;
  }
  hideList();
  view = new View(source, at.session);
  view.open();
}

/** stateNames holds the names of the states of a session. @type {Object<string, string>} */
const stateNames = { running: "running", waiting: "waits for you", idle: "finished", interrupted: "interrupted", closed: "closed", held: "held" };

/** reasonNames holds texts for the reasons with which an input ends that is not completed. @type {Object<string, string>} */
const reasonNames = { error: "failed", max_tool_rounds: "limit of tool rounds", max_turns: "limit of turns", loop: "stopped in a loop", budget_tokens: "token budget spent",
  budget_usd: "money spent", budget_time: "time is up", awaiting_input: "asks you", incomplete: "incomplete", refused: "refused", interrupted: "interrupted", aborted: "aborted", log_full: "journal is full" };

/** stateOf returns the state of a session. One whose call waits to be approved runs for its journal. @param {any} o the overview */
function stateOf(o) { return act.cards.size && !act.root.hidden ? "waiting" : o.state; }

/** stateText says what a session does, or how its last input has ended. @param {any} o the overview */
function stateText(o) {
  const state = stateOf(o);
  return (state === "idle" || state === "closed") && reasonNames[o.reason] || stateNames[state] || state;
}

/** drawHead shows the names of the session and of those that it belongs to, and its state. @param {any} o the overview, or null */
function drawHead(o) {
  const at = place(), crumbs = at.session ? [el("a", { href: hash({}) }, "Sessions")] : [];
  if (o?.parent) crumbs.push(el("a", { href: hash({ session: o.parent, row: at.from }) }, "parent session"));
  byID("crumbs").replaceChildren(...crumbs);
  const task = (o ? o.task || o.id : at.session || "Sessions").slice(0, 500);
  byID("title").replaceChildren(visible(task));
  byID("title").title = plain(task);
  const state = o ? stateOf(o) : "", before = byID("state").dataset.state;
  if (before && state && before !== state) say("State of the session: " + stateText(o));
  byID("state").dataset.state = state;
  byID("state").replaceChildren(...(o ? [el("span", { class: "state " + (isBad(o) ? "bad" : state) }, stateText(o)), el("span", { class: "sums" })] : []));
  drawSums(o);
  document.title = (state === "running" ? "▶ " : state === "waiting" ? "? " : "") + plain(task).slice(0, 80) + " · Attractor";
  host.retitle?.();
  favicon(o && isBad(o) ? "bad" : state);
}

/** isBad reports whether the last input of a session that stands still has failed. @param {any} o the overview */
function isBad(o) { return o.reason === "error" && !["running", "waiting"].includes(o.state); }

/** drawSums shows what the session has cost and taken so far. @param {any} o the overview, or null */
function drawSums(o) {
  const sums = byID("state").querySelector(".sums"), ms = o ? o.time.total + (view?.going() || 0) : 0;
  if (sums) sums.textContent = [money(o.cost), ms ? duration(ms) : ""].filter(Boolean).join(" · ");
}

/** favicon shows the state in the browser's tab. @param {string} state */
function favicon(state) {
  /** @type {Object<string, string>} */
  const colours = { running: "2f7de1", waiting: "d98a00", interrupted: "c33", bad: "c33" };
  const svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='6' fill='#" + (colours[state] || "888") + "'/></svg>";
  const link = document.querySelector("link[rel=icon]");
  if (link) link.setAttribute("href", "data:image/svg+xml," + encodeURIComponent(svg));
}

/** setOverviewShown shows the overview or hides it. @param {boolean} yes */
function setOverviewShown(yes) {
  document.body.classList.toggle("no-overview", !yes);
  byID("overview-switch").setAttribute("aria-pressed", String(yes));
}

/** switchOverview shows the overview if it is hidden, and hides it if not. */
function switchOverview() {
  const yes = document.body.classList.contains("no-overview");
  keep("overview", yes ? "shown" : "hidden");
  setOverviewShown(yes);
}

/** setTheme shows the page dark, light, or as the system does. @param {string} theme dark, light or an empty string */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  keep("theme", theme);
  dispatchEvent(new Event("theme"));
}

/** switchTheme shows the other theme. */
function switchTheme() {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
}

/** start draws the page. */
function start() {
  document.documentElement.dataset.theme = setting("theme", "");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));
  const token = place().token, isFile = !!document.querySelector("script.data");
  source = isFile ? new FileSource() : host.start ? host.start(token) : new ServerSource(token || "");
  if (source instanceof FileSource && !location.hash) history.replaceState(null, "", hash({ session: source.about().session }));
  byID("switches").append(button("Overview", switchOverview, { id: "overview-switch", class: "quiet", title: "show or hide the overview (v)" }), button("Keys", showKeys, { icon: "help", class: "quiet" }), button("Dark or light", switchTheme, { icon: "theme", class: "quiet" }));
  setOverviewShown(setting("overview", innerWidth < 700 ? "hidden" : "shown") === "shown");
  byID("skip").addEventListener("click", () => byID("main").focus());
  addPanel({ overview: drawHead, tick: (v) => drawSums(v.overview) });
  startKeys();
  addEventListener("hashchange", route);
  if (!isFile && !token) {
    drawHead(null);
    if (host.start) return;
    notice("The address of this page lacks its token. Open the whole address that attractor has printed.");
    return;
  }
  route();
}

start();
