// What all parts of the page share: elements, icons, settings, and the panels of an open session.

/**
 * el returns a new element. Properties that begin with "on" are listeners; class, role, title, data-* and aria-* are attributes; texts among the
 * children are shown by visible.
 * @param {string} tag
 * @param {Object<string, any>} [props]
 * @param {...(Node|string|number|null|undefined|false)} children
 * @returns {any}
 */
function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name in e && !name.includes("-") && name !== "list") e[name] = value;
    else e.setAttribute(name === "class" ? "class" : name, value === true ? "" : String(value));
  }
  for (const c of children) {
    if (c === null || c === undefined || c === false) continue;
    e.append(c instanceof Node ? c : visible(String(c)));
  }
  return e;
}

/**
 * byID returns an element of index.html.
 * @param {string} id
 * @returns {any}
 */
function byID(id) { return document.getElementById(id); }

/** icons holds paths in a square of 16, by name. */
const icons = {
  start: "M4 3v10l9-5z", history: "M8 2a6 6 0 1 1-5.6 4M2 2v4h4M8 5v3.5l2.5 1.5", input: "M3 13v-1.5a4 4 0 0 1 4-4h2a4 4 0 0 1 4 4V13M8 2a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5",
  thinking: "M5 11a4 4 0 1 1 6 0v1.5H5zM6 14.5h4", text: "M2 3h12v8H7l-3 3v-3H2z", call: "M10 2a3.5 3.5 0 0 0-3 5L2 12l2 2 5-5a3.5 3.5 0 0 0 5-4l-2 2-2-2 2-2a3 3 0 0 0-2-1",
  shell: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.5h3", edit: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.5 4.2l2.3 2.3", read: "M4 2h6l3 3v9H4zM6 7h5M6 10h5", find: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2M10.5 10.5L14 14",
  agent: "M3 6h10v7H3zM8 6V3M6 9v1M10 9v1M7 2.5h2", question: "M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M8 12.5v.5", steering: "M3 8h9M8.5 4.5L12 8l-3.5 3.5", plan: "M2 4l1 1 2-2M2 8.5l1 1 2-2M2 13l1 1 2-2M7 4h7M7 8.5h7M7 13h7",
  note: "M3 2h10v8l-4 4H3zM9 14v-4h4", retry: "M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2v4H9", compaction: "M8 1v5M5.5 3.5L8 6l2.5-2.5M8 15v-5M5.5 12.5L8 10l2.5 2.5M2 8h12", model: "M2 5h9M8.5 2.5L11 5 8.5 7.5M14 11H5M7.5 8.5L5 11l2.5 2.5",
  loop: "M4 5h7a3 3 0 0 1 0 6H5a3 3 0 0 1-2-5M11 2.5L13.5 5 11 7.5", limit: "M5 2h6l3 3v6l-3 3H5l-3-3V5z", context: "M2 13h12M4 13V9M8 13V6M12 13V3", warning: "M8 2l6.5 12h-13zM8 6.5v3.5M8 11.8v.4", error: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4",
  end: "M3 8.5l3.5 3.5L13 4.5", close: "M4 4h8v8H4z", up: "M3 10l5-5 5 5", down: "M3 6l5 5 5-5", theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12", help: "M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M8 12.5v.5",
};

/**
 * icon returns a drawing that screen readers skip.
 * @param {string} name of icons
 */
function icon(name) {
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), path = document.createElementNS(ns, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", icons[name] || icons.note);
  svg.append(path);
  return svg;
}

/**
 * button returns a button with a text or, if it has none, with an icon and a name for screen readers.
 * @param {string} label
 * @param {(e: Event) => void} click
 * @param {Object<string, any>} [props] also icon, the name of one
 */
function button(label, click, props = {}) {
  const { icon: drawn, ...rest } = props;
  if (drawn) Object.assign(rest, { "aria-label": label, title: rest.title || label });
  return el("button", { type: "button", onclick: click, ...rest }, drawn ? icon(drawn) : label);
}

/**
 * copyButton returns a button that copies a text to the clipboard.
 * @param {() => string} text
 * @param {string} [label]
 */
function copyButton(text, label = "Copy") {
  const b = button(label, () => {
    const done = (/** @type {string} */ word) => { b.textContent = word; setTimeout(() => { b.textContent = label; }, 1500); };
    if (!navigator.clipboard) return done("The browser does not allow it");
    navigator.clipboard.writeText(text()).then(() => done("Copied"), () => done("The browser does not allow it"));
  }, { class: "quiet" });
  return b;
}

/**
 * setting returns what the reader has chosen, or otherwise the default. A browser that keeps nothing has the default.
 * @param {string} name
 * @param {string} or
 */
function setting(name, or) {
  try { return localStorage.getItem("attractor." + name) ?? or; } catch { return or; }
}

/**
 * keep remembers a setting, if the browser allows it.
 * @param {string} name
 * @param {string} value
 */
function keep(name, value) {
  try { localStorage.setItem("attractor." + name, value); } catch { /* it holds until the page is closed */ }
}

/**
 * say tells something to screen readers. What is said within a second is one text.
 * @param {string} text
 */
function say(text) {
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { byID("said").textContent = plain(text); }, 1000);
}
/** @type {any} */
say.timer = 0;

/**
 * host has what only the page of a server does; on other pages it is empty.
 * @type {{start?: (token?: string) => Source, form?: () => any, forkBefore?: (item: any, v: View) => any, retitle?: () => void}}
 */
const host = {};

/**
 * A Panel draws a part of an open session. open is called first and close last, and each may be absent. The theme event of the window tells that
 * colours have changed.
 * @typedef {object} Panel
 * @property {(view: View) => void} [open] a session is shown; view.overview is null until it is known
 * @property {(overview: any, view: View) => void} [overview] it is known, or has changed
 * @property {(rows: Row[], view: View) => void} [rows] rows were added, also before the overview is known
 * @property {(view: View) => void} [tick] another second of a session that is at work has gone
 * @property {(event: any, view: View) => void} [live] an event that is not in the journal
 * @property {(lost: boolean, view: View) => void} [connection] the server has gone, or is back
 * @property {() => void} [close]
 */

/** @type {Panel[]} */
const panels = [];

/**
 * addPanel registers a panel. Scripts do it when they are loaded.
 * @param {Panel} panel
 */
function addPanel(panel) { panels.push(panel); }
