// Where sessions come from: the server of this page, or the page itself if it is a file that was exported.

/** @typedef {{i: number, kind: string, seq: number, time: number, ms?: number, step?: number, name?: string, text?: string, bytes?: number, failed?: boolean, added?: number, removed?: number, paths?: string[], session?: string, cost?: number}} Row as web/model.go describes it */

/**
 * A Source gives sessions. act is null if nothing can be steered.
 * @typedef {object} Source
 * @property {boolean} live the sessions can grow
 * @property {() => Promise<any[]>} list
 * @property {(id: string, known: () => number, onMessage: (m: any) => void) => () => void} watch known returns how many rows need not be given
 * @property {(id: string, i: number) => Promise<any>} item
 * @property {(id: string, hash: string, offset: number, limit: number) => Promise<{text: string, next: number}>} output next is 0 at the end
 * @property {(id: string, query: string) => Promise<{rows: number[], more: boolean}>} search
 * @property {null | ((id: string, line: object) => Promise<any>)} act
 */

/** A Filter says which rows are shown: each member that is set has to fit. @typedef {{kinds?: string[], tool?: string, failed?: boolean, changed?: boolean, path?: string}} Filter */

/** silence is how long a server that sends a ping every 15 seconds may be silent, in milliseconds. */
const silence = 45000;

/** ServerSource asks the server of this page. @implements {Source} */
class ServerSource {
  /** @param {string} token of the page's address */
  constructor(token) {
    this.token = token;
    this.live = true;
    this.act = (/** @type {string} */ id, /** @type {object} */ line) =>
      this.json(this.path(id, "do"), { method: "POST", body: JSON.stringify(line) });
  }

  path(/** @type {string} */ id, /** @type {string} */ rest) { return "/api/sessions/" + encodeURIComponent(id) + "/" + rest; }

  /**
   * fetch returns the response to a request, or fails with what the server says.
   * @param {string} path
   * @param {RequestInit} [init]
   */
  async fetch(path, init = {}) {
    let r;
    try {
      r = await fetch(path, { ...init, headers: { Authorization: "Bearer " + this.token, ...init.headers }, cache: "no-store" });
    } catch (err) {
      if (init.signal?.aborted) throw err;
      throw new Error("The viewer's server does not answer. Has it ended?");
    }
    if (r.ok) return r;
    const text = await r.text();
    let said = text;
    try {
      const value = JSON.parse(text);
      said = value.error || value.detail || text;
    } catch { /* not JSON: the text says it */ }
    throw Object.assign(new Error(said || "The server refuses: status " + r.status), { status: r.status });
  }

  async json(/** @type {string} */ path, /** @type {RequestInit} */ init = {}) { return (await this.fetch(path, init)).json(); }

  async list() { return (await this.json("/api/sessions?limit=5000")).sessions || []; }

  item(/** @type {string} */ id, /** @type {number} */ i) { return this.json(this.path(id, "items/" + i)); }

  async output(/** @type {string} */ id, /** @type {string} */ hash, /** @type {number} */ offset, /** @type {number} */ limit) {
    const r = await this.fetch(this.path(id, "outputs/" + encodeURIComponent(hash) + "?offset=" + offset + "&limit=" + limit));
    return { text: await r.text(), next: Number(r.headers.get("Attractor-Next") || 0) };
  }

  search(/** @type {string} */ id, /** @type {string} */ query) { return this.json(this.path(id, "search?q=" + encodeURIComponent(query))); }

  /**
   * watch gives the messages of a session until the returned function is called. It asks again when the server has gone, and then gives
   * {type: "lost", text} first.
   * @param {string} id
   * @param {() => number} known
   * @param {(m: any) => void} onMessage
   */
  watch(id, known, onMessage) {
    return this.keep(async (alive, stop) => {
      let ended = false;
      await this.lines(this.path(id, "watch?first=" + known()), (line) => {
        const m = JSON.parse(line);
        alive();
        ended = m.type === "end";
        onMessage(m);
      }, stop, () => ended);
    }, (err, again) => onMessage({ type: "lost", text: err.message, again }));
  }

  /**
   * keep reads again and again until the returned function is called, the server says that it is over, or it refuses.
   * @param {(alive: () => void, stop: AbortSignal) => Promise<any>} read is to call alive when the connection is good, and fails when it has gone
   * @param {(err: any, again: boolean) => void} lost
   */
  keep(read, lost) {
    const stop = new AbortController();
    const run = async () => {
      for (let tries = 0; !stop.signal.aborted; tries++) {
        let again = false;
        try {
          await read(() => { tries = 0; }, stop.signal);
        } catch (err) {
          if (stop.signal.aborted) return;
          again = !(err.status >= 400 && err.status < 500) || err.status === 429; // too much is too much for now
          lost(err, again);
        }
        if (!again) return;
        await new Promise((wake) => { setTimeout(wake, Math.min(1000 * 2 ** tries, 10000)); });
      }
    };
    run();
    return () => stop.abort();
  }

  /**
   * lines gives the lines of one connection. It fails when that ends, unless all has come.
   * @param {string} path
   * @param {(line: string) => void} onLine
   * @param {AbortSignal} stop
   * @param {() => boolean} [isAll]
   */
  async lines(path, onLine, stop, isAll) {
    const quiet = new AbortController();
    let timer = 0, heard = 0;
    const alive = () => { heard = Date.now(); clearTimeout(timer); timer = setTimeout(() => quiet.abort(), silence); };
    const end = () => quiet.abort(), back = () => { if (!document.hidden && Date.now() - heard > silence / 2) end(); }; // a phone has slept
    stop.addEventListener("abort", end);
    document.addEventListener("visibilitychange", back);
    try {
      alive();
      const r = await this.fetch(path, { signal: quiet.signal });
      const reader = /** @type {any} */ (r.body).pipeThrough(new TextDecoderStream()).getReader();
      let rest = /** @type {string[]} */ ([]);
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        alive();
        const lines = value.split("\n");
        rest.push(lines[0]);
        for (let n = 1; n < lines.length; n++) {
          const line = rest.join("");
          rest = [lines[n]];
          if (line) onLine(line);
        }
      }
      if (isAll?.()) return;
      throw new Error("The connection to the viewer's server has ended.");
    } catch (err) {
      if (quiet.signal.aborted && !stop.aborted) throw new Error("The viewer's server has been silent for too long.");
      throw err;
    } finally {
      clearTimeout(timer);
      stop.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", back);
    }
  }
}

/** FileSource reads the blocks of data in an exported file. A block is parsed when something in it is asked for. @implements {Source} */
class FileSource {
  constructor() {
    this.live = false;
    this.act = null;
    /** @type {Map<string, {first: number, node: HTMLElement}[]>} by kind and session */
    this.blocks = new Map();
    for (const node of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("script.data"))) {
      const key = node.dataset.kind + " " + (node.dataset.session || "");
      const list = this.blocks.get(key) || [];
      list.push({ first: Number(node.dataset.first || 0), node });
      this.blocks.set(key, list);
    }
    /** @type {Map<HTMLElement, any>} the blocks that were parsed last */
    this.parsed = new Map();
  }

  /** parse returns the value of a block. It remembers those that were used last. @param {HTMLElement} node */
  parse(node) {
    let value = this.parsed.get(node);
    this.parsed.delete(node);
    value ??= JSON.parse(node.textContent || "null");
    this.parsed.set(node, value);
    for (const old of this.parsed.keys()) {
      if (this.parsed.size <= 24) break;
      this.parsed.delete(old);
    }
    return value;
  }

  of(/** @type {string} */ kind, /** @type {string} */ id) { return this.blocks.get(kind + " " + id) || []; }

  /** block returns the block that holds a number, and its values. @param {string} kind @param {string} id @param {number} i */
  block(kind, id, i) {
    const found = this.of(kind, id).findLast((b) => b.first <= i);
    if (!found) throw new Error("The file does not have this part of the session.");
    return { first: found.first, values: this.parse(found.node) };
  }

  /** about returns what the file says about itself: the session to show first, and notes. @returns {{session: string, notes: string[]}} */
  about() { return this.of("export", "").map((b) => this.parse(b.node))[0] || { session: "", notes: [] }; }

  async list() { return this.of("sessions", "").flatMap((b) => this.parse(b.node)); }

  watch(/** @type {string} */ id, /** @type {() => number} */ known, /** @type {(m: any) => void} */ onMessage) {
    let stopped = false;
    queueMicrotask(() => {
      if (stopped) return;
      const block = this.of("overview", id)[0];
      for (const b of this.of("rows", id)) onMessage({ type: "rows", first: b.first, rows: this.parse(b.node) });
      if (block) onMessage({ type: "overview", overview: this.parse(block.node) });
      onMessage({ type: "end", text: block ? this.about().notes.join(" ") : "This file does not have the session " + id + "." });
    });
    return () => { stopped = true; };
  }

  async item(/** @type {string} */ id, /** @type {number} */ i) {
    const { first, values } = this.block("items", id, i);
    if (!values[i - first]) throw new Error("The file does not have the details of this row.");
    return values[i - first];
  }

  async output(/** @type {string} */ id, /** @type {string} */ hash, /** @type {number} */ offset, /** @type {number} */ limit) {
    const found = this.of("output", id).find((b) => b.node.dataset.hash === hash);
    if (!found) throw new Error("The file does not have this output: it was too long for the export. attractor view shows it.");
    const text = this.parse(found.node), end = offset + limit;
    return { text: text.slice(offset, end), next: end < text.length ? end : 0 };
  }

  async search(/** @type {string} */ id, /** @type {string} */ query) {
    const rows = [], wanted = query.toLowerCase();
    for (const b of this.of("items", id)) {
      let since = performance.now();
      for (const item of this.parse(b.node)) {
        if (texts(item.events).some((t) => t.toLowerCase().includes(wanted))) rows.push(item.row.i);
        if (performance.now() - since > 20) { await breathe(); since = performance.now(); }
      }
    }
    return { rows, more: false };
  }
}

/** breathe lets the browser draw and listen. */
function breathe() { return new Promise((go) => { setTimeout(go); }); }

/** texts returns all strings in a JSON value, without the parts that say when and where. @param {any} value @returns {string[]} */
function texts(value) {
  if (typeof value === "string") return [value];
  if (!value || typeof value !== "object") return [];
  if (Array.isArray(value)) return value.flatMap(texts);
  return Object.entries(value).flatMap(([name, v]) => (["kind", "session_id", "time", "data"].includes(name) ? [] : texts(v)));
}

/** fits reports whether a row is one that a filter shows. @param {Row} row @param {Filter} filter */
function fits(row, filter) {
  return (!filter.kinds || filter.kinds.includes(row.kind)) && (!filter.failed || !!row.failed) && (!filter.changed || !!row.paths?.length) &&
    (!filter.tool || (row.kind === "call" && row.name === filter.tool)) && (!filter.path || !!row.paths?.includes(filter.path));
}
