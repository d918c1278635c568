// What goes on now: the calls that run, with their time, and the texts that wait for the model.

/** running is the list of what goes on. */
const running = el("ul", { id: "running", "aria-label": "Running now", hidden: true });

/** drawRunning shows the running calls and the queue of an overview. @param {any} o */
function drawRunning(o) {
  const calls = (o.state === "running" || o.state === "waiting" ? o.running : null) || [], queue = o.queue || [];
  running.hidden = !calls.length && !queue.length;
  running.replaceChildren(
    ...calls.slice(0, 8).map((/** @type {any} */ c) => el("li", {}, icon(iconOf({ ...c, kind: "call" })), el("b", {}, c.name), el("span", { class: "text" }, c.text || ""),
      el("span", { class: "took" }, duration(Math.max(0, Math.floor((Date.now() - c.since) / 1000) * 1000)).replace(/^0 ms$/, "0 s")))),
    ...queue.slice(0, 4).map((/** @type {any} */ q) => el("li", {}, icon("steering"), el("b", {}, "waits"), el("span", { class: "text" }, q.text))));
}

byID("reader").append(running);
addPanel({ overview: drawRunning, tick: (v) => drawRunning(v.overview), open: () => { running.hidden = true; } });
