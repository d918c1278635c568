package webtest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// current is the row that has the focus, or whose details have it.
const current = `document.querySelector("#timeline .row.current")`

// addressed says that the address has the current row. It follows at most three times a second.
const addressed = rowOf + ` == ` + current + `.getAttribute("aria-posinset") - 1`

// Within a minute somebody who sees the page for the first time finds the failing command, the edit
// that mended it, what the session has cost and where the time went. Here each takes a click or a
// key.
func TestN5_AMinuteIsEnough(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	if title := p.text("#title"); !strings.Contains(title, "TestDelay fails") {
		t.Errorf("title %q", title)
	}
	p.shot("open")
	facts := p.text("#overview .facts")
	for _, want := range []string{"$", "tokens", "failed"} {
		if !strings.Contains(strings.ToLower(facts), want) {
			t.Errorf("the facts do not have %q: %s", want, facts)
		}
	}
	if legend := p.text("#overview .legend"); !strings.Contains(legend, "odel") || !strings.Contains(legend, "ools") ||
		!strings.Contains(legend, "%") {
		t.Errorf("where the time went: %q", legend)
	}
	p.clickText("#tools button", "Next failure")
	p.wait(current + `.querySelector(".details").innerText.includes("Delay for attempt 70 is 0s, want 1m0s")`)
	p.wait(current + `.querySelector(".details .command").innerText.includes("go test ./...")`)
	p.wait(current + `.querySelector(".details").innerText.includes("exit code")`)
	p.shot("failure")
	p.clickText("#tools button", "Next change")
	p.wait(current + `.querySelector(".details .diff").innerText.includes("delay < 0")`)
	p.clickText("#tools button", "Next change")
	p.wait(current + `.querySelector(".details .diff").innerText.includes("for range attempt")`)
	p.shot("edit")
	p.keys("n")
	if strings.Contains(p.text("#notice"), "rror") {
		t.Errorf("notice %q", p.text("#notice"))
	}
}

// The list shows the sessions with their subagents, is filtered as one types, and opens a session
// with a click.
func TestN5_List(t *testing.T) {
	t.Parallel()
	h, _ := bugfix(t)
	v, p := h.view(), newPage(t)
	p.open(v.url)
	p.wait(`document.querySelectorAll("#list li .session").length == 3`)
	p.wait(`document.querySelectorAll("#list li li .session").length == 2`) // subagents are below their parent
	p.shot("list")
	p.keys("/")
	p.wait(`document.activeElement.type == "search"`)
	p.keys("callers")
	p.wait(`document.querySelectorAll("#list li .session").length == 2`) // with the parent
	for range "callers" {
		p.keys(kb.Backspace)
	}
	p.keys("nothing like that")
	p.wait(`document.querySelector("#list").innerText.includes("No session fits the filter")`)
	for range "nothing like that" {
		p.keys(kb.Backspace)
	}
	p.clickText("#list .session", "TestDelay fails")
	p.ready()
	p.clickText("#crumbs a", "Sessions")
	p.wait(`document.querySelectorAll("#list li .session").length == 3`)
}

// Without sessions the list says how to begin.
func TestN5_NoSessions(t *testing.T) {
	t.Parallel()
	v, p := newHome(t, nil).view(), newPage(t)
	p.open(v.url)
	p.wait(`document.querySelector("#list").innerText.includes("attractor run")`)
	p.shot("empty")
}

// A diff is shown with the numbers of its lines.
func TestN5_Diff(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	p.keys("e")
	p.wait(current + `.querySelector(".details .diff tr.added .line").innerText.includes("delay < 0")`)
	p.wait(current + `.querySelector(".details .diff tr.removed .line").innerText.includes("delay > most")`)
	numbers := eval[[]string](p,
		`[...`+current+`.querySelectorAll("tr.added .no, tr.removed .no")].map((e) => e.textContent).filter(Boolean)`)
	if len(numbers) != 2 || numbers[0] != "8" || numbers[1] != "8" {
		t.Errorf("line numbers %q, want 8 and 8", numbers)
	}
	p.keys("e")
	p.wait(current + `.querySelector(".details .diff").innerText.includes("for range attempt")`)
}

// The row of a call that has started a subagent leads to its session, and back to the row.
func TestN5_Subagent(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	p.clickText("#timeline .row .head", "Find all callers")
	p.wait(current + `.querySelector(".details .child").innerText.includes("agent-1")`)
	// what it has cost, from its own journal
	p.wait(current + `.querySelector(".details .child").innerText.includes("$")`)
	p.shot("row")
	row := eval[int](p, current+`.data.i`)
	p.clickText(".details .child button", "Open its session")
	p.wait(`document.querySelector("#title").innerText.includes("Find all callers")`)
	p.ready()
	p.wait(withText("#timeline .row", "Only the test calls Delay"))
	p.shot("child")
	p.clickText("#crumbs a", "parent")
	p.wait(`document.querySelector("#title").innerText.includes("TestDelay fails")`)
	p.wait(current)
	if now := eval[int](p, current+`.data.i`); now != row {
		t.Errorf("back at row %d, not %d", now, row)
	}
}

// A search looks into whole texts, arguments and outputs, counts, and jumps from hit to hit.
func TestN5_Search(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	p.keys("/")
	p.wait(`document.activeElement.matches("#tools input")`)
	p.keys("ATTEMPT 70 IS")
	p.wait(`/^\d/.test(document.querySelector("#tools .count").innerText)`)
	if n := p.text("#tools .count"); n != "2" {
		t.Errorf("%s hits, want the two runs of the tests that failed", n)
	}
	p.keys(kb.Enter)
	p.wait(current + `.querySelector(".details").innerText.includes("attempt 70 is 0s")`)
	p.wait(addressed)
	first := eval[string](p, `location.hash`)
	p.keys(kb.Enter)
	p.wait(`location.hash != ` + quote(first))
	p.wait(`document.querySelector("#tools .count").innerText == "2 of 2"`)
	p.wait(`document.activeElement.matches("#tools input")`)
	p.shot("hits")
	p.keys(kb.Enter) // from the last to the first
	p.wait(`location.hash == ` + quote(first))
	p.keys(kb.Escape)
	p.wait(`document.querySelector("#tools input").value == "" && document.querySelector("#tools .count").innerText == ""`)
	p.keys("/no such text")
	p.wait(`document.querySelector("#tools .count").innerText == "none"`)
}

// A filter shows only rows of its kind, and goes away again.
func TestN5_Filters(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	rows := `[...document.querySelectorAll("#timeline .sheet .row")].filter((e) => e.getClientRects().length)`
	p.clickText("#tools button", "Failed")
	p.wait(rows + `.every((e) => e.classList.contains("failed")) && ` + rows + `.length >= 3`)
	p.shot("failed")
	p.clickText("#tools button", "Changes")
	p.wait(rows + `.length >= 3 && ` + rows + `.every((e) => /patch|write/.test(e.innerText))`)
	p.clickText("#tools button", "All")
	p.wait(rows + `.some((e) => e.classList.contains("k-thinking"))`)
	eval[bool](p, `(() => { const s = document.querySelector("#tools select"); s.value = "shell"; s.dispatchEvent(new Event("change")); return true; })()`)
	p.wait(rows + `.length == 4 && ` + rows + `.every((e) => e.innerText.includes("shell"))`)
}

// Everything can be done without a mouse.
func TestN5_KeyboardOnly(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	v, p := h.view(), newPage(t)
	p.open(v.url)
	p.wait(`document.querySelectorAll("#list li .session").length == 3`)
	for range 12 { // to the first session
		p.keys(kb.Tab)
		if eval[bool](p, `document.activeElement.matches("#list .session")`) {
			break
		}
	}
	p.keys(kb.Enter)
	p.wait(`location.hash.includes(` + quote(id) + `)`)
	p.ready()
	p.keys("g")
	p.wait(`document.activeElement.matches("#timeline .row .head")`)
	first := eval[string](p, `document.activeElement.parentElement.getAttribute("aria-posinset")`)
	p.keys("jj")
	p.keys(kb.ArrowDown)
	p.wait(`document.activeElement.parentElement.getAttribute("aria-posinset") == "4"`)
	if first != "1" {
		t.Errorf("g goes to row %s", first)
	}
	p.keys("k")
	p.wait(`document.activeElement.parentElement.getAttribute("aria-posinset") == "3"`)
	p.keys(kb.Enter)
	p.wait(`document.activeElement.getAttribute("aria-expanded") == "true" && document.activeElement.parentElement.querySelector(".details .foot")`)
	p.keys(kb.Tab) // into the details, and with Escape out of them
	p.wait(`document.activeElement.closest(".details")`)
	p.keys(kb.Escape)
	p.wait(`document.activeElement.matches(".head") && document.activeElement.getAttribute("aria-expanded") == "false"`)
	p.keys("G")
	p.wait(`document.activeElement.parentElement.getAttribute("aria-posinset") == document.activeElement.parentElement.getAttribute("aria-setsize")`)
	p.keys("?")
	p.wait(`document.querySelector("#help").open && document.querySelector("#help").innerText.includes("next failure")`)
	p.shot("keys")
	p.keys(kb.Escape)
	p.wait(`!document.querySelector("#help").open`)
	p.keys("?")
	p.wait(`document.querySelector("#help").open`)
	p.clickText("#help button", "Close")
	p.wait(`!document.querySelector("#help").open`)
	p.keys("g")
	p.keys("f")
	p.wait(current + `.classList.contains("failed")`)
	p.keys("u") // to the list
	p.wait(`document.querySelectorAll("#list li .session").length == 3`)
}

// The address leads back to the same row, after a reload and in another tab.
func TestN5_ReloadAndLinks(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, v := openSession(h, id)
	p.keys("f")
	p.wait(current + `.querySelector(".details").innerText.includes("want 1m0s")`)
	p.wait(addressed)
	address := eval[string](p, `location.href`)
	p.reload()
	p.wait(current + `?.querySelector(".details")?.innerText.includes("want 1m0s")`)
	other := newPage(t) // another browser, even
	other.open(address)
	other.wait(current + `?.querySelector(".details")?.innerText.includes("want 1m0s")`)
	if !strings.HasPrefix(address, strings.SplitN(v.url, "#", 2)[0]) {
		t.Errorf("address %q", address)
	}
	for _, url := range append(p.requested(), other.requested()...) {
		if strings.Contains(url, "token") {
			t.Errorf("the token was sent in %s", url)
		}
	}
}
