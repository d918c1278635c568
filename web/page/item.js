// The details of an open row: the events behind it, each in the form in which it is best read.

/**
 * drawItem fills the details of a row.
 * @param {any} body
 * @param {View} v
 * @param {Row} row
 */
async function drawItem(body, v, row) {
  body.replaceChildren(el("p", { class: "loading" }, "Loading …"));
  try {
    const item = await v.source.item(v.id, row.i);
    body.replaceChildren(...detailsOf(item, v), itemFoot(item, v));
  } catch (err) {
    body.replaceChildren(el("p", { class: "problem" }, err.message, " ", button("Try again", () => { drawItem(body, v, row); })));
  }
}

/** detailsOf returns the elements of an item. @param {any} item @param {View} v */
function detailsOf(item, v) {
  const all = [];
  for (const e of item.events) {
    const draw = drawers[e.kind];
    all.push(...(draw ? draw(e, item, v) : [fieldsOf(e)]).filter(Boolean));
  }
  if (item.row.session) all.push(childOf(item.row, v));
  return all;
}

/** itemFoot returns what can be done with an item. @param {any} item @param {View} v */
function itemFoot(item, v) {
  const raw = el("div", {});
  const show = button("Events as JSON", () => {
    raw.replaceChildren(raw.firstChild ? "" : fold(JSON.stringify(item.events, null, 2), { lines: 400 }));
    show.setAttribute("aria-expanded", String(!!raw.firstChild));
  }, { class: "quiet", "aria-expanded": "false" });
  const link = copyButton(() => location.href.split("#")[0] + hash({ session: v.id, row: item.row.i }), "Copy link");
  return el("div", { class: "foot" }, el("div", { class: "actions" }, link, copyButton(() => copyText(item.events), "Copy text"), show, undoSince(item.row, v), host.forkBefore?.(item, v)), raw);
}

/** copyText returns what a reader wants to have of events: the command and its output, or the text. @param {any[]} events */
function copyText(events) {
  return events.map((e) => {
    if (e.kind === "TOOL_CALL_START") return (e.effective || e.arguments || {}).command || JSON.stringify(e.effective || e.arguments, null, 2);
    return e.output ?? e.text ?? e.question ?? JSON.stringify(e, null, 2);
  }).join("\n\n");
}

/** labelled returns a part of the details with its name. @param {string} name @param {...any} children */
function labelled(name, ...children) { return el("section", { class: "part" }, el("h3", {}, name), ...children); }

/** drawers returns the elements of an event, by its kind. Other kinds have their fields shown. @type {Object<string, (e: any, item: any, v: View) => any[]>} */
const drawers = {
  SESSION_START: (e) => [facts(["model", modelName(e)], ["profile", e.profile], ["directory", e.dir], ["commands are confined by", e.containment], ["hidden from commands", e.hides_host ? "the host's processes" : ""], ["resumed", e.resumed ? "yes" : ""])],
  SESSION_END: (e) => [facts(["state", e.state], ["because", e.reason])],
  USER_INPUT: (e) => [prose(e.text), e.action ? facts(["action", e.action]) : null],
  STEERING_INJECTED: (e) => [prose(e.text), facts(["from", e.source])],
  THINKING_DELTA: (e) => [prose(e.text)],
  ASSISTANT_TEXT_END: (e) => [e.discarded ? el("p", { class: "problem" }, "This text was discarded: the attempt broke off, and another followed.") : null, prose(e.text), sourcesOf("Sources", e.sources)],
  WEB_SEARCH: (e) => [facts(["searched for", e.query], ["error", e.error]), sourcesOf("Page", e.page ? [{ url: e.page }] : []), sourcesOf("Found", e.hits)],
  ASSISTANT_TEXT_START: () => [],
  TOOL_CALL_START: drawCall,
  TOOL_CALL_END: drawResult,
  PROCESSING_END: (e) => [e.text ? prose(e.text) : null, facts(["ended", e.reason], ["finish", e.finish?.reason], ["cost", money(e.cost_usd)], ...usageFacts(e.usage), ["turns", e.turns], ["tool rounds", e.tool_rounds])],
  STEP_START: () => [],
  STEP_END: (e) => [facts(["step", e.step], ["answer took", duration(e.latency_ms || 0)], ["attempts", e.attempts > 1 ? e.attempts : ""], ["cost", money(e.cost_usd)], ...usageFacts(e.usage), ["finish", e.finish_reason])],
  LLM_RETRY: (e) => [e.text ? fold(e.text) : null, facts(["attempt", e.attempt], ["kind", e.error_kind], ["status", e.status], ["next attempt after", duration(e.delay_ms || 0)], ["text", e.text_discarded ? "discarded" : ""])],
  ERROR: (e) => [fold(e.text), facts(["kind", e.error_kind], ["provider", e.provider], ["status", e.status], ["request", e.request_id], ["can be repeated", e.retryable ? "yes" : "no"])],
  WARNING: (e) => [fold(e.text), facts(["code", e.code])],
  COMPACTION: (e) => [facts(["turns replaced by a summary", e.turns_replaced], ["tokens before", count(e.tokens_before || 0)], ["tokens after", count(e.tokens_after || 0)])],
  CONTEXT_WARNING: (e) => [facts(["window filled", Math.round(100 * e.ratio) + " %"], ["tokens", count(e.tokens || 0)], ["window", e.window ? count(e.window) : "unknown"])],
  LOOP_DETECTION: (e) => [fold(e.text), facts(["calls that repeat", e.period], ["repetitions", e.repeats])],
  PLAN: (e) => [e.explanation ? prose(e.explanation) : null, planOf(e.plan || [])],
  INPUT_REQUESTED: (e) => [prose(e.question), e.options ? el("ul", {}, ...e.options.map((/** @type {string} */ o) => el("li", {}, o))) : null, e.form ? labelled("Form", fold(JSON.stringify(e.form, null, 2))) : null, facts(["from", e.source], ["problem", e.problem])],
  NOTE: (e) => [e.text ? prose(e.text) : null, e.data !== undefined ? labelled("Data", fold(pretty(e.data))) : null],
  MODEL_CHANGED: (e) => [e.text ? fold(e.text) : null, facts(["from", modelName(e.from)], ["to", modelName(e.to)], ["because", e.reason], ["kind", e.error_kind], ["status", e.status], ["until", e.until_input ? "the next input" : e.until])],
  HISTORY: (e) => [el("div", {}, ...(e.messages || []).map((/** @type {any} */ m) => labelled(m.role, fold(pretty(m.parts)))))],
};

/** modelName returns a model's name with its provider. @param {any} m */
function modelName(m) { return typeof m === "string" ? m : m ? [m.provider, m.model].filter(Boolean).join("/") : ""; }

/** usageFacts returns the facts of a usage. @param {any} u */
function usageFacts(u) {
  if (!u) return [];
  return [["tokens in", count(u.input || 0)], ["from cache", u.cache_read ? count(u.cache_read) : ""], ["tokens out", count(u.output || 0)], ["web searches", u.searches || ""]];
}

/** facts returns names with values, without those that have none. @param {...any[]} pairs */
function facts(...pairs) {
  const has = pairs.filter(([, v]) => v !== undefined && v !== null && v !== "");
  return has.length ? el("dl", { class: "pairs" }, ...has.map(([name, v]) => el("div", {}, el("dt", {}, name), el("dd", {}, v)))) : null;
}

/** fieldsOf returns the members of an event of a kind that the page does not know. @param {any} e */
function fieldsOf(e) {
  return el("div", {}, ...Object.entries(e).filter(([name]) => !["session_id", "seq", "time"].includes(name)).map(([name, v]) => field(name, v)));
}

/** pretty returns a JSON value as a text. @param {any} v */
function pretty(v) { return typeof v === "string" ? v : JSON.stringify(v, null, 2); }

/** field returns a name and a value, as a line or as a block. @param {string} name @param {any} v */
function field(name, v) {
  const text = pretty(v) ?? "";
  if (text.length > 120 || text.includes("\n")) return labelled(name, fold(text));
  return el("p", { class: "field" }, el("span", { class: "label" }, name), " ", el("code", {}, text));
}

/**
 * sourcesOf returns a list of pages on the web, of which only those of http and https are links.
 * @param {string} name
 * @param {{url: string, title?: string}[]} [list]
 */
function sourcesOf(name, list) {
  if (!list?.length) return null;
  return labelled(name, el("ul", { class: "sources" }, ...list.map((s) => {
    const known = /^https?:\/\/[^\s/]/i.test(s.url), text = s.title || s.url;
    return el("li", {}, known ? el("a", { href: s.url, rel: "noopener noreferrer nofollow", target: "_blank" }, text) : text, s.title ? el("code", {}, s.url) : null);
  })));
}

/** planOf returns a todo list. @param {any[]} items */
function planOf(items) {
  return el("ul", { class: "plan" }, ...items.map((i) => el("li", { class: i.status }, i.status === "completed" ? "☑ " : i.status === "in_progress" ? "▸ " : "☐ ", i.step)));
}

/** prose returns a text of a person or a model, in which only fenced code is set apart. @param {string} text */
function prose(text) {
  const out = el("div", { class: "prose" }), lines = (text || "").split("\n");
  let part = /** @type {string[]} */ ([]), fence = "";
  const flush = (/** @type {boolean} */ code) => {
    const s = part.join("\n");
    if (s.trim()) out.append(code ? fold(s) : fold(s, { class: "words" }));
    part = [];
  };
  for (const line of lines) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] || "";
    if (!fence && mark) { flush(false); fence = mark; }
    else if (fence && mark.startsWith(fence) && line.trim() === mark) { flush(true); fence = ""; }
    else part.push(line);
  }
  flush(!!fence);
  return out;
}

/** chunk is how much text is added at a time, in characters. */
const chunk = 65536;

/**
 * fold returns a text of which the middle is left out if it is long. The rest is added in pieces.
 * @param {string} text
 * @param {{lines?: number, class?: string}} [how]
 */
function fold(text, how = {}) {
  text ??= "";
  const box = el("div", { class: "fold " + (how.class || "code") });
  const lines = how.lines || 40, head = lineEnd(text, 0, Math.ceil(lines * 0.6)), tail = Math.max(head, lineStart(text, Math.floor(lines * 0.4)));
  box.append(piece(text, 0, head));
  if (tail > head) box.append(...middle(text, head, tail));
  if (tail < text.length) box.append(piece(text, tail, text.length));
  return box;
}

/** middle returns what is left out of a text, and the place in it that has what is searched for. @param {string} text @param {number} from @param {number} to */
function middle(text, from, to) {
  const query = shown.query.trim().toLowerCase(), at = query ? text.slice(from, to).toLowerCase().indexOf(query) + from : -1;
  if (at < from || at >= to) return [gap(text, from, to)];
  const start = Math.max(from, at - 1000, text.lastIndexOf("\n", Math.max(0, at - 80)) + 1), end = Math.min(to, lineEnd(text, at, 5, 2000));
  return [...(start > from ? [gap(text, from, start)] : []), piece(text, start, end), ...(end < to ? [gap(text, end, to)] : [])];
}

/** piece returns a part of a text. @param {string} text @param {number} from @param {number} to */
function piece(text, from, to) { return el("pre", {}, visible(text.slice(from, to).replace(/\n$/, ""))); }

/** gap returns a button that shows a part of a text, or the first of it. @param {string} text @param {number} from @param {number} to */
function gap(text, from, to) {
  const b = button("Show " + size(to - from) + " more" + (to - from > chunk ? " (" + size(chunk) + " at a time)" : ""), () => {
    const end = to - from > chunk * 1.2 ? lineEnd(text, from, 1e9, chunk) : to;
    const shown = piece(text, from, end);
    b.replaceWith(shown, ...(end < to ? [gap(text, end, to)] : []));
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true }); // the button is gone
  }, { class: "gap" });
  return b;
}

/** lineEnd returns the end of some lines, of at most so many characters. @param {string} text @param {number} from @param {number} lines @param {number} [most] */
function lineEnd(text, from, lines, most = 8192) {
  let at = from;
  for (let n = 0; n < lines && at < text.length; n++) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    if (next - from > most) return at > from ? at : whole(text, from + most);
    at = next;
  }
  return at;
}

/** lineStart returns the beginning of the last lines, of at most 4096 characters. @param {string} text @param {number} lines */
function lineStart(text, lines) {
  let at = text.length;
  for (let n = 0; n < lines && at > 0; n++) {
    const before = text.lastIndexOf("\n", at - 2) + 1;
    if (text.length - before > 4096) return at < text.length ? at : whole(text, text.length - 4096);
    at = before;
  }
  return at;
}

/** whole moves a place in a text so that it is not within a character. @param {string} text @param {number} at */
function whole(text, at) { return /[\udc00-\udfff]/.test(text[at] || "") ? at + 1 : at; }

/** drawCall returns the arguments of a call. @param {any} e @param {any} item */
function drawCall(e, item) {
  const args = e.arguments || {}, done = item.events.find((/** @type {any} */ x) => x.kind === "TOOL_CALL_END");
  const hasDiff = done?.changes?.some((/** @type {any} */ c) => c.diff);
  const parts = [argumentsOf(args, hasDiff)];
  if (e.effective) parts.push(labelled("Ran with other arguments", argumentsOf(e.effective, hasDiff)));
  const a = e.access;
  if (a) parts.push(facts(["access", a.effect?.replace("_", " ")], ["paths", args.file_path || args.path ? "" : a.paths?.join(", ")], ["hosts", a.hosts?.join(", ")], ["guarded", a.guarded?.map((/** @type {any} */ g) => g.path + ": " + g.why).join(", ")]));
  return parts;
}

/** argumentsOf returns arguments as fields. What the call's diffs show is left out. @param {any} args @param {boolean} hasDiff */
function argumentsOf(args, hasDiff) {
  if (!args || typeof args !== "object" || Array.isArray(args)) return fold(pretty(args) ?? "");
  const { old_string: before, new_string: after, ...rest } = args, all = [];
  for (const [name, v] of Object.entries(rest)) {
    if (name === "command" && typeof v === "string") all.push(el("div", { class: "command" }, fold(v)));
    else if (name === "patch" && typeof v === "string") { if (!hasDiff) all.push(labelled(name, patchOf(v))); }
    else if (!(hasDiff && name === "content")) all.push(field(name, v));
  }
  if (typeof before === "string" && typeof after === "string") {
    if (!hasDiff) all.push(diffOf(textDiff(before, after)));
  } else if (before !== undefined || after !== undefined) all.push(field("old_string", before), field("new_string", after));
  return el("div", { class: "arguments" }, ...all);
}

/** drawResult returns the result of a call. @param {any} e @param {any} item @param {View} v */
function drawResult(e, item, v) {
  const parts = [];
  for (const c of e.changes || []) parts.push(changeOf(c, v, item.row));
  const exit = e.ran?.exit, name = e.is_error ? "Error" : "Output";
  if (e.output || !parts.length) {
    const what = e.output ? name + ", " + size(e.output_bytes || e.output.length) + (e.output_complete === false ? ", in part" : "") : "No output";
    parts.push(el("section", { class: "part output" + (e.is_error ? " bad" : "") }, el("h3", {}, what), e.output ? fold(e.output) : null, wholeOutput(e, v)));
  }
  if (e.structured !== undefined && JSON.stringify(e.structured) !== e.output) parts.push(labelled("Result for programs", fold(pretty(e.structured))));
  for (const m of e.media || []) parts.push(mediaOf(m));
  parts.push(facts(["exit code", exitCode(exit)], ["ended by", exit?.signal], ["timed out after", e.ran?.timed_out ? duration(e.ran.timed_out / 1e6) : ""], ["interrupted", e.ran?.interrupted ? "yes" : ""], ["problem", e.ran?.error], ["took", duration(e.duration_ms || 0)]));
  return parts;
}

/** exitCode returns the exit code of a command. @param {any} exit */
function exitCode(exit) { return exit ? exit.code ?? exit.Code ?? 0 : undefined; }

/** wholeOutput offers what the journal has kept of an output that is shown in part. @param {any} e @param {View} v */
function wholeOutput(e, v) {
  if (e.output_complete !== false) return null;
  if (!e.output_blob) return el("p", { class: "quiet" }, "The rest was not kept.");
  const text = el("pre", { hidden: true }), box = el("div", { class: "fold code" }, text);
  const load = async (/** @type {number} */ offset) => {
    more.disabled = true;
    try {
      const got = await v.source.output(v.id, e.output_blob, offset, chunk);
      text.hidden = false;
      text.append(visible(got.text)); // to the same element, because a piece may end within a line
      if (got.next) {
        next = got.next;
        more.textContent = "Show the next " + size(chunk);
      } else more.remove();
    } catch (err) {
      more.replaceChildren(visible(err.message));
    }
    more.disabled = false;
  };
  let next = 0;
  const more = button("Show the whole output, " + size(e.output_bytes || 0), () => load(next), { class: "gap" });
  box.append(more);
  return box;
}

/** imageTypes are the images that browsers draw without running anything. */
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** mediaOf returns an image, or says what else a call has returned. @param {any} m */
function mediaOf(m) {
  const what = plain([m.name, m.mime].filter(Boolean).join(", "));
  if (!m.data || !imageTypes.includes(m.mime)) return el("p", { class: "quiet" }, "A file that is not shown: ", what || "unknown", m.data ? ", " + size(m.data.length * 0.75) : "");
  const bytes = Uint8Array.from(atob(m.data), (c) => c.charCodeAt(0)), url = URL.createObjectURL(new Blob([bytes], { type: m.mime }));
  const free = () => URL.revokeObjectURL(url);
  return el("img", { src: url, alt: what, onload: free, onerror: free });
}

/** childOf returns the subagent that a call has started. @param {Row} row @param {View} v */
function childOf(row, v) {
  const c = (v.overview?.children || []).find((/** @type {any} */ x) => x.session === row.session) || {};
  return el("section", { class: "part child" }, el("h3", {}, "Subagent " + (c.agent || "")), c.task ? prose(c.task) : null,
    facts(["status", c.status], ["cost", money(c.cost)], ...usageFacts(c.usage)),
    button("Open its session", () => v.openSession(/** @type {string} */ (row.session), row.i), { class: "main" }));
}
