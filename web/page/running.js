// What goes on now: the calls that run, with their time, and the texts that wait for the model.

/** running holds what is shown. */
const running = { root: el("ul", { id: "running", "aria-label": "Running now", hidden: true }), timer: 0 };

/** drawRunning shows the running calls and the queue of an overview, and again every second while a call runs. @param {any} o */
function drawRunning(o) {
  clearTimeout(running.timer);
  const calls = (o.state === "running" || o.state === "waiting" ? o.running : null) || [], queue = o.queue || [];
  running.root.hidden = !calls.length && !queue.length;
  running.root.replaceChildren(
    ...calls.slice(0, 8).map((/** @type {any} */ c) => el("li", {}, icon(iconOf({ ...c, kind: "call" })), el("b", {}, c.name), el("span", { class: "text" }, c.text || ""),
      el("span", { class: "took" }, duration(Math.max(0, Math.floor((Date.now() - c.since) / 1000) * 1000)).replace(/^0 ms$/, "0 s")))),
    ...queue.slice(0, 4).map((/** @type {any} */ q) => el("li", {}, icon("steering"), el("b", {}, "waits"), el("span", { class: "text" }, q.text))));
  if (calls.length) running.timer = setTimeout(() => drawRunning(o), 1000);
}

byID("reader").append(running.root);
addPanel({ overview: drawRunning, open: () => { running.root.hidden = true; }, close: () => clearTimeout(running.timer) });
