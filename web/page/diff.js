// Diffs with line numbers.

/** A DiffLine is a line of a diff: " ", "+", "-", or "@" for what is between hunks. @typedef {{op: string, text: string, a?: number, b?: number, other?: string}} DiffLine */

/** parseDiff returns the lines of a unified diff. What stands between hunks is left out unless it is of many files. @param {string} diff @param {boolean} [many] @returns {DiffLine[]} */
function parseDiff(diff, many) {
  const out = [];
  let a = 0, b = 0, inHunk = false;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line);
    if (at) {
      [a, b, inHunk] = [Number(at[1]), Number(at[2]), true];
      out.push({ op: "@", text: at[3].trim() });
    } else if (many && !/^[-+ \\]/.test(line)) {
      inHunk = false;
      out.push({ op: "@", text: line });
    } else if (inHunk && line[0] === "+") out.push({ op: "+", text: line.slice(1), b: b++ });
    else if (inHunk && line[0] === "-") out.push({ op: "-", text: line.slice(1), a: a++ });
    else if (inHunk && line[0] === "\\") out.push({ op: "@", text: line.slice(2) });
    else if (inHunk) out.push({ op: " ", text: line.slice(1), a: a++, b: b++ });
  }
  return out;
}

/** textDiff returns what was replaced by what: the common lines at both ends, and the others. @param {string} before @param {string} after @returns {DiffLine[]} */
function textDiff(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [
    ...a.slice(0, head).map((text) => ({ op: " ", text })), ...a.slice(head, a.length - tail).map((text) => ({ op: "-", text })),
    ...b.slice(head, b.length - tail).map((text) => ({ op: "+", text })), ...a.slice(a.length - tail).map((text) => ({ op: " ", text })),
  ];
}

/** patchOf returns the text of a patch with its lines in colour. @param {string} patch */
function patchOf(patch) {
  return diffOf(patch.replace(/\n$/, "").split("\n").map((line) => {
    const op = { "+": "+", "-": "-", "*": "@", "@": "@" }[line[0]] || " ";
    return { op, text: op === "@" ? line : line.slice(1) };
  }));
}

/** changeOf returns a change of a file. @param {any} c @param {View} v @param {Row} row */
function changeOf(c, v, row) {
  const dir = v.overview?.dir ? v.overview.dir + "/" : "", short = (/** @type {string} */ p) => (dir && p.startsWith(dir) ? p.slice(dir.length) : p);
  const name = (c.from ? short(c.from) + " → " : "") + short(c.path || "");
  return el("section", { class: "part change" }, el("h3", {}, el("span", { class: "path" }, name), " ", el("span", { class: "badge" }, c.kind),
      row.paths?.includes(short(c.path)) ? button("All changes of this file", () => setFilter({ path: short(c.path) }), { class: "quiet" }) : null),
    c.diff ? diffOf(parseDiff(c.diff)) : null, c.diff_cut ? el("p", { class: "quiet" }, "The diff was too long: its end is missing.") : null);
}

/** diffRoom is how many lines of a diff are shown at first. */
const diffRoom = 300;

/** diffOf returns a diff, and the rest of a long one on demand. @param {DiffLine[]} lines */
function diffOf(lines) {
  const box = el("div", { class: "diff" });
  pairUp(lines);
  let room = diffRoom;
  const draw = () => {
    const table = el("table", {}, el("tbody", {}, ...lines.slice(0, room).map(rowOfDiff)));
    const more = lines.length > room ? button("Show " + plural(lines.length - room, "more line"), () => { room += 2000; draw(); box.firstChild.focus({ preventScroll: true }); }, { class: "gap" }) : null;
    box.replaceChildren(el("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Diff" }, table), ...(more ? [more] : []));
  };
  draw();
  return box;
}

/** opNames says what lines of a diff are to those who do not see colours. */
const opNames = { "+": "added", "-": "removed", " ": "", "@": "" };

/** rowOfDiff returns a line of a diff. @param {DiffLine} l */
function rowOfDiff(l) {
  if (l.op === "@") return el("tr", { class: "hunk" }, el("td", { colSpan: 4 }, l.text || "⋯"));
  return el("tr", { class: opNames[l.op] }, el("td", { class: "no" }, l.a), el("td", { class: "no" }, l.b), el("td", { class: "op" }, l.op), el("td", { class: "line" }, withinLine(l.text, l.other)));
}

/** maxLine is how much of a line a diff shows. */
const maxLine = 2000;

/** withinLine returns a line of which the part that differs from another line is set apart, if most of it is the same. @param {string} text @param {string|undefined} other */
function withinLine(text, other) {
  if (text.length > maxLine) return visible(text.slice(0, maxLine) + " … " + size(text.length) + " in this line");
  if (other === undefined || text === other) return visible(text);
  let head = 0, tail = 0;
  const most = Math.min(text.length, other.length);
  while (head < most && text[head] === other[head]) head++;
  while (tail < most - head && text[text.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  if ((head + tail) * 3 < most || /[\ud800-\udfff]/.test(text)) return visible(text);
  const out = document.createDocumentFragment(), end = text.length - tail;
  out.append(visible(text.slice(0, head)), end > head ? el("mark", {}, text.slice(head, end)) : "", visible(text.slice(end)));
  return out;
}

/** pairUp gives removed lines and the same number of added lines after them each other's texts. @param {DiffLine[]} lines */
function pairUp(lines) {
  for (let n = 0; n < lines.length;) {
    const from = n;
    while (lines[n]?.op === "-") n++;
    const half = n;
    while (lines[n]?.op === "+") n++;
    if (half - from === n - half) for (let k = 0; k < half - from; k++) [lines[from + k].other, lines[half + k].other] = [lines[half + k].text, lines[from + k].text];
    if (n === from) n++;
  }
  return lines;
}

