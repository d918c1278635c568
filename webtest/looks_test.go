package webtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page fits every width and looks right in every theme: nothing is wider than the window, and
// all text has a contrast of at least 4.5.
func TestN5_Looks(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	p.keys("e")
	p.wait(current + `.querySelector(".details .diff")`)
	for _, scheme := range []string{"light", "dark"} {
		p.prefer("prefers-color-scheme", scheme)
		for _, width := range []int64{360, 768, 1280, 1900} {
			p.size(width, 900)
			p.wait(fmt.Sprintf(`innerWidth == %d`, width))
			p.settle()
			if wide := eval[[]string](p, tooWide); len(wide) > 0 {
				t.Errorf("%d pixels: wider than the window: %q", width, wide)
			}
			p.shot(fmt.Sprintf("%s-%d", scheme, width))
		}
		if faint := eval[[]string](p, contrast); len(faint) > 0 {
			t.Errorf("%s: faint: %s", scheme, strings.Join(faint, "\n"))
		}
	}
	p.prefer("prefers-color-scheme", "light")
	p.keys("t") // the page's own switch, which a reload keeps
	p.wait(`document.documentElement.dataset.theme == "dark"`)
	p.reload()
	p.ready()
	p.wait(`document.documentElement.dataset.theme == "dark"`)
	p.prefer("forced-colors", "active")
	p.settle()
	p.shot("forced")
	p.prefer("prefers-reduced-motion", "reduce")
	if moving := eval[[]string](p,
		`document.getAnimations().map((a) => a.animationName || a.transitionProperty || "?")`); len(moving) > 0 {
		t.Errorf("moves although that is not wanted: %q", moving)
	}
}

// settle waits until the page has drawn what it was told.
func (p *page) settle() {
	p.Helper()
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 50))))`)
}

// tooWide returns what reaches over the right edge of the window and cannot be scrolled into it
// within its own box.
const tooWide = `(() => {
	const over = [], room = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > room) over.push("the document, by " + (document.documentElement.scrollWidth - room));
	for (const e of document.querySelectorAll("body *")) {
		const r = e.getBoundingClientRect();
		if (!r.width || !r.height || r.right <= room + 1) continue;
		let clipped = false;
		for (let up = e.parentElement; up && up !== document.body; up = up.parentElement)
			if (getComputedStyle(up).overflowX !== "visible" && up.getBoundingClientRect().right <= room + 1) clipped = true;
		if (!clipped) over.push(e.localName + "." + (e.getAttribute("class") || "") + "#" + e.id + " " + Math.round(r.right));
	}
	return over.slice(0, 8);
})()`

// contrast returns the visible texts whose contrast with what is behind them is less than 4.5, or 3
// if they are large.
const contrast = `(() => {
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); if (c.startsWith("color(")) return [m[0] * 255, m[1] * 255, m[2] * 255, m[3] ?? 1]; return [m[0], m[1], m[2], m[3] ?? 1]; };
	const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
	const lum = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const back = (e) => { const layers = []; for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor)); return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]); };
	const faint = new Map(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !e.getClientRects().length || e.closest("[aria-hidden=true], :disabled, svg")) continue;
		const style = getComputedStyle(e), r = e.getBoundingClientRect();
		if (style.visibility !== "visible" || r.width < 2 || r.height < 2 || style.clipPath !== "none" || style.clip !== "auto") continue;
		let opacity = 1;
		for (let up = e; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
		const under = back(e), text = parse(style.color), a = lum(over([text[0], text[1], text[2], text[3] * opacity], under)), b = lum(under);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
		if (ratio < (large ? 3 : 4.5)) faint.set(e.localName + "." + (e.getAttribute("class") || "") + " in " + (e.parentElement.getAttribute("class") || e.parentElement.id), ratio.toFixed(2) + " " + e.innerText.slice(0, 30));
	}
	return [...faint].map(([k, v]) => k + ": " + v).slice(0, 20);
})()`

// A session exported to a file opens without any request, and everything in it works.
func TestN5_Export(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	file := t.TempDir() + "/session.html"
	h.run("sessions", "export", id, "--html", file)
	p := newPage(t)
	p.open("file://" + file)
	p.ready()
	p.shot("open")
	p.keys("f")
	p.wait(current + `.querySelector(".details").innerText.includes("Delay for attempt 70 is 0s, want 1m0s")`)
	p.keys("e")
	p.wait(current + `.querySelector(".details .diff").innerText.includes("delay < 0")`)
	p.keys("/for range")
	p.wait(`/^[1-9]/.test(document.querySelector("#tools .count").innerText)`)
	p.keys("\r")
	p.wait(current + `.querySelector(".details").innerText.includes("for range")`)
	p.keys("\x1b")
	p.clickText("#tools button", "Failed")
	p.wait(`[...document.querySelectorAll("#timeline .sheet .row")].length >= 3`)
	p.clickText("#tools button", "All")
	p.clickText("#timeline .row .head", "Find all callers")
	p.clickText(".details .child button", "Open its session")
	p.wait(`document.querySelector("#title").innerText.includes("Find all callers")`)
	p.ready()
	p.wait(withText("#timeline .row", "Only the test calls Delay"))
	if eval[bool](p, visible("#act *")) {
		t.Errorf("a file offers to steer: %q", p.text("#act"))
	}
	for _, url := range p.requested() {
		if !strings.HasPrefix(url, "file://"+file) && !strings.HasPrefix(url, "data:") {
			t.Errorf("the file asked for %.200s", url)
		}
	}
	if info, err := os.Stat(file); err == nil {
		t.Logf("the file has %d bytes", info.Size())
	}
}

// No text of an exported session becomes markup either.
func TestN5_HostileExport(t *testing.T) {
	t.Parallel()
	h, id := hostile(t)
	file := t.TempDir() + "/session.html"
	h.run("sessions", "export", id, "--html", file)
	p := newPage(t)
	p.open("file://" + file)
	p.ready()
	check := func(where string) {
		for _, problem := range eval[[]string](p, structure("style")) {
			if !strings.Contains(problem, "icon href") {
				t.Errorf("%s: %s", where, problem)
			}
		}
	}
	check("the session")
	p.openAll(func(int) { check("a row") })
	for _, url := range p.requested() {
		if !strings.HasPrefix(url, "file://"+file) && !strings.HasPrefix(url, "data:") {
			t.Errorf("the file asked for %.200s", url)
		}
	}
}
