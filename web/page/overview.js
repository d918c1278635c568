// The overview of a session: what it cost, where the time went, charts, tools, files, agents, the parts of the prompt, the todo list.

const mostFiles = 200; // in the table of files
const mostEdits = 12; // of a file that have a link

/** timeKinds returns the kinds of time, with the rows that they are about. */
function timeKinds() {
  return [
    { key: "model", name: "Model", rows: ["thinking", "text", "search"] },
    { key: "tools", name: "Tools", rows: ["call"] },
    { key: "waiting", name: "Waiting", rows: ["question", "retry"] },
    { key: "idle", name: "Idle", rows: [] },
    { key: "now", name: "Since the last event", rows: [] },
  ];
}

/**
 * OverviewPanel shows an overview in an element. Its actions: jump(row) shows a row of the timeline, openSession(id) opens a session, filter(what)
 * shows only rows of what.kinds, calls of what.tool, or failed ones if what.failed is set, and going() returns how long the session has been silent. It draws again only what has changed.
 */
class OverviewPanel {
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
    this.charts = new Charts(actions);
    this.drawn = new Map(); // what each section shows, as JSON
    const section = (key) => el("section", { class: "ov ov-" + key, hidden: true });
    this.sections = { facts: section("facts"), time: section("time"), plan: section("plan"), parts: section("parts"), tools: section("tools"), files: section("files"), agents: section("agents") };
    this.chartsBox = this.folded("charts", "Charts by step", this.charts.root);
    const { facts, time, plan, parts, tools, files, agents } = this.sections;
    this.details = el("div", { class: "ov-details" }, plan, agents, files, parts, tools);
    this.detailsBox = this.folded("details", "Tools, files, agents, prompt", this.details);
    this.root.replaceChildren(facts, time, this.chartsBox, this.detailsBox);
  }

  /** folded returns an element with a heading that can be folded. Whether it is open is kept; at first it is open where there is room. */
  folded(key, title, ...content) {
    const summary = el("summary", {}, el("h2", {}, title));
    const details = el("details", { class: "ov-fold" }, summary, ...content);
    const name = "overview." + key;
    details.open = setting(name, matchMedia("(min-width: 1200px)").matches ? "open" : "closed") === "open";
    summary.addEventListener("click", () => keep(name, details.open ? "closed" : "open"));
    details.addEventListener("toggle", () => this.charts.later());
    return details;
  }

  /** show draws an overview, or one with an update in it. */
  show(overview) {
    this.overview = overview;
    this.chartsBox.hidden = overview.steps.row.length === 0;
    this.charts.show(overview);
    const o = overview;
    this.tick();
    this.draw("plan", [o.plan], () => this.drawPlan(o));
    this.draw("parts", [o.parts], () => this.drawParts(o));
    this.draw("tools", [o.tools], () => this.drawTools(o));
    this.draw("files", [o.files], () => this.drawFiles(o));
    this.draw("agents", [o.children], () => this.drawAgents(o));
    this.detailsBox.hidden = [...this.details.children].every((section) => section.hidden);
  }

  /** tick draws what changes while a session is at work, also without an event. */
  tick() {
    const o = this.overview;
    const time = timesOf(o, this.actions.going());
    const total = duration(time.total);
    this.draw("facts", [stateText(o), total, o.reason, o.usage, o.cost, o.counts, (o.files ?? []).length, o.problem, o.model, o.dir], () => this.drawFacts(o, total));
    this.draw("time", [total, time.now > 0, o.time], () => this.drawTime(time));
  }

  close() {
    this.charts.close();
    this.root.replaceChildren();
  }

  /** draw fills a section if what it is about has changed, and keeps the focus where it was. */
  draw(key, about, make) {
    const text = JSON.stringify(about);
    if (this.drawn.get(key) === text) return;
    this.drawn.set(key, text);
    const section = this.sections[key];
    const focused = section.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    const content = make();
    section.hidden = content.length === 0;
    section.replaceChildren(...content);
    if (focused) [...section.querySelectorAll("[data-key]")].find((e) => e.dataset.key === focused)?.focus();
  }

  drawFacts(o, total) {
    const { usage, counts } = o;
    const files = o.files ?? [];
    const facts = [
      fact("State", stateText(o), "", isBad(o) ? "bad" : ""),
      fact("Cost", hasPrices(o) ? dollars(o.cost) : "unknown", hasPrices(o) ? besides(o) : "no known price"),
      fact("Input tokens", count(usage.input ?? 0), usage.input ? `${percent((usage.cache_read ?? 0) / usage.input)} cached` : ""),
      fact("Output tokens", count(usage.output ?? 0)),
      fact("Time", total, counts.inputs > 1 ? plural(counts.inputs, "input") : ""),
      fact("Steps", counts.steps.toLocaleString("en"), counts.retries ? plural(counts.retries, "retry", "retries") : ""),
      fact("Calls", counts.calls.toLocaleString("en"), counts.failed ? `${counts.failed} failed` : "", counts.failed ? "bad" : ""),
      fact("Files changed", String(files.length), files.length ? `+${sumBy(files, "added")} −${sumBy(files, "removed")}` : ""),
    ];
    const problem = o.problem ? [el("p", { class: "ov-problem", role: "alert" }, o.problem)] : [];
    const about = [o.model, o.provider && `(${o.provider})`, o.dir && `in ${o.dir}`, o.created && `since ${new Date(o.created).toLocaleString()}`];
    return [el("h2", { class: "unseen" }, "Overview"), el("dl", { class: "facts" }, ...facts), el("p", { class: "ov-about" }, about.filter(Boolean).join(" ")),
      ...problem];
  }

  drawTime(time) {
    if (!(time.total > 0)) return [];
    const kinds = timeKinds().filter((kind) => time[kind.key] > 0);
    const bar = el("div", { class: "time-bar", "aria-hidden": "true" });
    for (const kind of kinds) {
      const part = el("span", { class: "fill-" + kind.key });
      part.style.flexGrow = String(time[kind.key]);
      bar.append(part);
    }
    const legend = kinds.map((kind) => {
      const label = [el("span", { class: "swatch fill-" + kind.key, "aria-hidden": "true" }), kind.name + " ",
        el("span", { class: "value" }, `${duration(time[kind.key])}, ${percent(time[kind.key] / time.total)}`)];
      if (!kind.rows.length) return el("li", {}, ...label);
      const click = () => this.actions.filter({ kinds: kind.rows });
      return el("li", {}, el("button", { type: "button", "data-key": kind.key, title: "Show only these rows", onclick: click }, ...label));
    });
    return [bar, el("ul", { class: "legend", "aria-label": "Where the time went" }, ...legend)];
  }

  drawPlan(o) {
    const plan = o.plan ?? [];
    if (!plan.length) return [];
    const looks = { completed: "plan-done", in_progress: "plan-now" };
    const items = plan.map((item) => el("li", { class: looks[item.status] }, el("span", { class: "unseen" }, words(item.status) + ": "), item.text));
    const done = plan.filter((item) => item.status === "completed").length;
    return [el("h3", {}, `Plan, ${done} of ${plan.length} done`), el("ol", { class: "plain plan" }, ...items)];
  }

  drawParts(o) {
    const parts = o.parts ?? [];
    if (!parts.length) return [];
    const rows = parts.map((p) => el("tr", {}, el("th", { scope: "row" }, p.name, p.text ? el("small", {}, " " + p.text) : null),
      el("td", {}, p.cost ? dollars(p.cost) : "price unknown"), el("td", {}, count(p.tokens)), el("td", {}, p.requests)));
    return [el("h3", {}, "Dearest parts of the prompt"), tableOf(["Part", "Cost as input", "Tokens", "Requests"], rows)];
  }

  drawTools(o) {
    const tools = o.tools ?? [];
    if (!tools.length) return [];
    const longest = Math.max(...tools.map((t) => t.ms), 1);
    const rows = tools.map((t) => {
      const bar = el("span", { class: "cell-bar fill-tools", "aria-hidden": "true" });
      bar.style.width = `${Math.max(1, (48 * t.ms) / longest)}px`;
      const failed = t.failed ? link(t.failed, "failed " + t.name, () => this.actions.filter({ kinds: ["call"], tool: t.name, failed: true })) : "0";
      const name = link(t.name, "tool " + t.name, () => this.actions.filter({ kinds: ["call"], tool: t.name }));
      return el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, t.calls), el("td", { class: t.failed ? "bad" : "" }, failed),
        el("td", { class: "with-bar" }, bar, duration(t.ms)), el("td", {}, size(t.bytes)));
    });
    return [el("h3", {}, "Tools"), tableOf(["Tool", "Calls", "Failed", "Time", "Output"], rows)];
  }

  drawFiles(o) {
    const files = o.files ?? [];
    if (!files.length) return [];
    const rows = files.slice(0, mostFiles).map((f) => {
      const at = f.rows ?? [];
      const edits = at.slice(0, mostEdits).map((row, i) => {
        const edit = link(i + 1, `${f.path} ${row}`, () => this.actions.jump(row));
        edit.setAttribute("aria-label", `Edit ${i + 1} of ${plain(f.path)}`);
        return edit;
      });
      if (at.length > edits.length) edits.push(` … ${at.length}`);
      return el("tr", {}, el("th", { scope: "row" }, f.path, f.change === "modified" ? null : el("small", {}, " " + f.change)),
        el("td", { class: "plus" }, f.added ? "+" + f.added : ""), el("td", { class: "minus" }, f.removed ? "−" + f.removed : ""), el("td", { class: "edits" }, ...edits));
    });
    const rest = files.length - rows.length;
    return [el("h3", {}, "Files changed"), tableOf(["File", "Added", "Removed", "Edits"], rows), ...(rest > 0 ? [el("p", {}, `and ${plural(rest, "more file")}`)] : [])];
  }

  drawAgents(o) {
    const children = o.children ?? [];
    if (!children.length) return [];
    const rows = children.map((c) => {
      const open = link(c.task || c.agent, "agent " + c.session, () => this.actions.openSession(c.session));
      const call = c.row >= 0 ? link("call", "call " + c.session, () => this.actions.jump(c.row)) : "";
      const spent = (c.usage.input ?? 0) + (c.usage.output ?? 0);
      return el("tr", {}, el("th", { scope: "row" }, open), el("td", { class: c.status === "failed" ? "bad" : "" }, words(c.status)),
        el("td", {}, c.cost ? dollars(c.cost) : spent ? "price unknown" : ""), el("td", {}, spent ? count(spent) : ""), el("td", {}, call));
    });
    return [el("h3", {}, "Subagents"), tableOf(["Task", "Status", "Cost", "Tokens", "From"], rows)];
  }
}

/** besides returns which part of the cost is not that of the steps, such as that of subagents, if it is worth a word. */
function besides(o) {
  const rest = (o.cost ?? 0) - o.steps.cost.reduce((sum, n) => sum + n, 0);
  return rest > 0.02 * o.cost ? `incl. ${dollars(rest)} outside steps` : "";
}

/** fact returns one of the headline figures, with a smaller text below it. */
function fact(name, value, more, mood) {
  return el("div", { class: mood ? "fact " + mood : "fact" }, el("dt", {}, name), el("dd", {}, value, more ? el("small", {}, more) : null));
}

/** link returns a button that looks like a link. Its key finds it again when its section is drawn anew. */
function link(text, key, click) {
  return el("button", { type: "button", class: "link", "data-key": key, onclick: click }, text);
}

/** tableOf returns a table with these headings. */
function tableOf(heads, rows) {
  const head = el("tr", {}, ...heads.map((h) => el("th", { scope: "col" }, h)));
  return el("div", { class: "table-box" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

/** words returns a name of the protocol as words. */
function words(name) {
  return name.replaceAll("_", " ");
}

function sumBy(list, name) {
  return list.reduce((n, item) => n + (item[name] ?? 0), 0);
}

/** timesOf returns the times of a session that has been silent for some time. What it waits for is known of a question alone. */
function timesOf(o, silent) {
  const key = stateOf(o) === "waiting" ? "waiting" : "now";
  const time = { now: 0, ...o.time };
  time.total += silent;
  time[key] += silent;
  return time;
}

/** overviewPanel shows the overview beside the timeline. */
const overviewPanel = {
  panel: null,

  open(view) {
    const actions = {
      jump: (row) => view.jump(row),
      filter: (what) => view.filter(what),
      going: () => view.going(),
      openSession: (id) => view.openSession(id, view.overview?.children?.find((c) => c.session === id)?.row),
    };
    this.panel = new OverviewPanel(byID("overview"), actions);
  },

  overview(o) {
    this.panel.show(o);
  },

  tick() {
    this.panel.tick();
  },

  close() {
    this.panel.close();
    this.panel = null;
  },
};

addPanel(overviewPanel);
