// Texts of a session as elements, and numbers as words. Texts never become markup: they are text nodes, and what cannot be seen is a mark.

/** unseen matches runs of characters that are invisible, control a terminal or turn the direction of a text. */
const unseen = new RegExp("(?:(?![\\t\\n]|(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d)" +
  "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180d\\u2800\\u3164\\uffa0\\ufe00-\\ufe0d\\u{e0100}-\\u{e01ef}]" +
  "|[\\ufe0e\\ufe0f]{2,})+", "gu");

/** shortNames names characters that are seen often. */
const shortNames = { 0: "NUL", 7: "BEL", 8: "BS", 13: "CR", 27: "ESC", 127: "DEL", 0x200b: "ZWSP", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM",
  0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM" };

/** maxMarks limits the marks of one text. What follows the last is one mark. */
const maxMarks = 2000;

/**
 * nameOf returns what a mark shows for a run of unseen characters.
 * @param {string} run
 */
function nameOf(run) {
  const all = [...run];
  const names = all.slice(0, 8).map((c) => {
    const code = c.codePointAt(0) || 0;
    return shortNames[code] || "U+" + code.toString(16).toUpperCase().padStart(4, "0");
  });
  return names.join(" ") + (all.length > 8 ? " … " + all.length : "");
}

/**
 * visible returns a text as nodes in which nothing is invisible.
 * @param {string} text
 */
function visible(text) {
  const out = document.createDocumentFragment();
  text = text.replaceAll("\r\n", "\n");
  let at = 0, marks = 0;
  for (const m of text.matchAll(unseen)) {
    if (++marks > maxMarks) break;
    if (m.index > at) out.append(text.slice(at, m.index));
    const mark = document.createElement("span");
    mark.className = "mark-char";
    mark.textContent = nameOf(m[0]);
    mark.title = "characters that cannot be seen: " + mark.textContent;
    out.append(mark);
    at = m.index + m[0].length;
  }
  if (at < text.length) out.append(marks > maxMarks ? text.slice(at).replace(unseen, "\ufffd") : text.slice(at));
  return out;
}

/**
 * plain returns a text for an attribute or a title, in which unseen characters are replaced.
 * @param {string} text
 */
function plain(text) { return text.replace(unseen, "\ufffd"); }

/**
 * duration returns milliseconds as a short text.
 * @param {number} ms
 */
function duration(ms) {
  if (ms < 1000) return Math.round(ms) + " ms";
  const s = ms / 1000;
  if (s < 59.95) return s.toFixed(s < 10 ? 1 : 0) + " s";
  const whole = Math.round(s);
  if (whole < 3600) return Math.floor(whole / 60) + " m " + String(whole % 60).padStart(2, "0") + " s";
  return Math.floor(whole / 3600) + " h " + String(Math.floor(whole / 60) % 60).padStart(2, "0") + " m";
}

/**
 * clock returns milliseconds as minutes and seconds since the beginning of a session.
 * @param {number} ms
 */
function clock(ms) {
  const s = Math.max(0, Math.floor(ms / 1000)), two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  if (s >= 360000) return Math.floor(s / 3600) + " h";
  return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

/**
 * size returns bytes as a short text.
 * @param {number} n
 */
function size(n) {
  for (const unit of ["B", "kB", "MB"]) {
    if (n < 999.5) return (unit === "B" || n >= 99.95 ? Math.round(n) : n.toFixed(1)) + " " + unit;
    n /= 1000;
  }
  return n.toFixed(1) + " GB";
}

/**
 * count returns a number as a short text, such as 12.3k.
 * @param {number} n
 */
function count(n) {
  if (n < 1000) return String(n);
  for (const unit of ["k", "M"]) {
    n /= 1000;
    if (n < 999.5) return (n < 99.95 ? n.toFixed(1) : Math.round(n)) + unit;
  }
  return (n / 1000).toFixed(1) + "G";
}

/**
 * money returns US dollars as a text. Prices that are unknown are 0, and the text is empty.
 * @param {number|undefined} usd
 */
function money(usd) {
  if (!usd) return "";
  return "$" + (usd < 0.0001 ? "0.0001" : usd < 0.1 ? usd.toFixed(4) : usd < 100 ? usd.toFixed(2) : usd.toFixed(0));
}

/**
 * plural returns a number with its noun.
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
function plural(n, one, many) { return n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s"); }

/**
 * since returns how long ago a time was.
 * @param {number} time in milliseconds since 1970
 */
function since(time) {
  const s = Math.max(0, (Date.now() - time) / 1000);
  if (s < 90) return "just now";
  if (s < 3600) return Math.round(s / 60) + " min ago";
  if (s < 129600) return plural(Math.round(s / 3600), "hour") + " ago";
  if (s < 2592000) return plural(Math.round(s / 86400), "day") + " ago";
  return new Date(time).toLocaleDateString();
}
