package webtest

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// exported opens the page of the bugfix as a file.
func exported(t *testing.T) *page {
	t.Helper()
	h, id := bugfix(t)
	file := filepath.Join(t.TempDir(), "session.html")
	h.run("sessions", "export", id, "--html", file)
	p := newPage(t)
	p.size(1500, 1000)
	p.open("file://" + file)
	p.wait(visible(".chart-tokens svg"))
	return p
}

// mouse does something with the mouse at a place of the charts: a share of the width of a plot.
func (p *page) mouse(kind input.DispatchMouseEventType, share float64) {
	p.Helper()
	box := eval[[]float64](p,
		`(() => { const r = document.querySelector(".chart-time svg").getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`)
	params := input.DispatchMouseEventParams{Type: kind, X: box[0] + share*box[2], Y: box[1] + box[3]/2,
		Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
	if kind == input.DispatchMouseEventTypeMouseMoved {
		params.ClickCount = 0
	}
	call(p, input.DispatchMouseEvent, params)
}

// where is the text above the charts, and rowOf the row in the page's address.
const (
	where = `document.querySelector(".charts-where").textContent`
	rowOf = `new URLSearchParams(location.hash.slice(1)).get("row")`
)

// The charts show the values of the step below the mouse. A click opens the step in the timeline.
func TestN5_ChartsMouse(t *testing.T) {
	t.Parallel()
	p := exported(t)
	p.wait(where + `.endsWith(" steps")`)
	steps := eval[string](p, where)
	p.mouse(input.DispatchMouseEventTypeMouseMoved, 0.99)
	p.wait(where + `.startsWith("Step ` + strings.TrimSuffix(steps, " steps") + ` of ")`)
	p.mouse(input.DispatchMouseEventTypeMouseMoved, 0.01)
	p.wait(where + `.startsWith("Step 1 of ")`)
	p.shot("pointed")
	p.mouse(input.DispatchMouseEventTypeMousePressed, 0.01)
	p.mouse(input.DispatchMouseEventTypeMouseReleased, 0.01)
	p.wait(rowOf + ` !== null && document.activeElement !== document.body`)
	p.prefer("forced-colors", "active", "prefers-color-scheme", "dark")
	p.shot("forced-colors")
}

// The keyboard walks through the steps, which are told to screen readers, and opens them.
func TestN5_ChartsKeyboard(t *testing.T) {
	t.Parallel()
	p := exported(t)
	eval[bool](p, `document.querySelector(".charts-slider").focus(), true`)
	const text = `document.querySelector(".charts-slider").getAttribute("aria-valuetext")`
	p.keys(kb.ArrowRight)
	p.wait(text + `.startsWith("Step 1 of ") && ` + text + `.includes("new input")`)
	p.keys(kb.ArrowRight)
	p.wait(text + `.startsWith("Step 2 of ")`)
	p.keys(kb.End)
	last := eval[int](p, `Number(document.querySelector(".charts-slider").getAttribute("aria-valuenow"))`)
	if most := eval[int](p, `Number(document.querySelector(".charts-slider").getAttribute("aria-valuemax"))`); last != most || last < 5 {
		t.Errorf("End goes to step %d of %d", last, most)
	}
	p.keys(kb.Home)
	p.keys(kb.Enter)
	p.wait(rowOf + ` !== null`)
}

// The parts of the prompt that have cost most are in a table.
func TestV6_DearestParts(t *testing.T) {
	t.Parallel()
	p := exported(t)
	p.wait(`document.querySelectorAll(".ov-parts tbody tr").length > 3`)
	rows := eval[string](p, `document.querySelector(".ov-parts").innerText`)
	for _, want := range []string{"Dearest parts of the prompt", "the built-in tools", "the system prompt",
		"the result of "} {
		if !strings.Contains(rows, want) {
			t.Errorf("no %q in the table:\n%s", want, rows)
		}
	}
	p.shot("dearest-parts")
}

// The tables lead to rows.
func TestN5_OverviewLeadsToRows(t *testing.T) {
	t.Parallel()
	p := exported(t)
	failed := eval[int](p, `[...document.querySelectorAll(".fact")].flatMap((f) => f.querySelector("dt").textContent === "Calls" ? [parseInt(f.querySelector("small").textContent)] : [])[0]`)
	p.click(".ov-files .edits .link")
	p.wait(rowOf + ` !== null`)
	edit := eval[string](p, rowOf)
	p.click(".ov-tools td.bad .link")
	p.wait(`document.querySelectorAll("#timeline .row").length >= ` + strconv.Itoa(min(failed, 1)))
	p.shot("failed-calls")
	p.keys("g") // to the first failure
	p.wait(rowOf + ` !== ` + quote(edit))
	p.click(".ov-agents .link")
	p.wait(`document.querySelector("#crumbs").textContent.includes("parent")`)
	for _, url := range p.requested() {
		if !strings.HasPrefix(url, "file://") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the file asks for %s", url)
		}
	}
}
