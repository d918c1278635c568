package webtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// gated is a model that makes a call in each answer, and waits with each until the test lets it go
// on.
type gated struct{ gate chan fakellm.Turn }

// newGated returns a home with such a model.
func newGated(t testing.TB) (*home, *gated) {
	t.Helper()
	g := &gated{gate: make(chan fakellm.Turn)}
	h := newHome(t, g.answer)
	t.Cleanup(func() { close(g.gate) }) // before the server waits for its answers
	return h, g
}

func (g *gated) answer(*fakellm.Request) fakellm.Turn { return <-g.gate }

// A session of another process is followed while it grows. Who is at the end stays there, and who
// reads further above is not moved.
func TestN5_LiveGrowth(t *testing.T) {
	t.Parallel()
	h, model := newGated(t)
	c := h.converse("--yes")
	c.say("user", object{"text": "Count."})
	v, p := h.view(c.id), newPage(t)
	p.open(v.url)
	p.wait(withText("#state .state", "running"))
	p.wait(`document.title.startsWith("▶")`)
	count := func(n int) {
		model.gate <- fakellm.Turn{Text: fmt.Sprintf("This is answer %d.", n),
			Calls: []fakellm.Call{use("shell", object{"command": fmt.Sprint("echo ", n)})}}
	}
	for n := range 40 {
		count(n)
		p.wait(withText("#timeline .row", fmt.Sprintf("This is answer %d.", n)))
	}
	atEnd := `(() => { const t = document.querySelector("#timeline"); return t.scrollTop + t.clientHeight >= t.scrollHeight - 40 && t.scrollHeight > t.clientHeight; })()`
	p.wait(atEnd)
	p.shot("following")
	eval[bool](p, `document.querySelector("#timeline").scrollTop = 100, true`)
	p.wait(withText("#timeline .row", "answer 2."))
	for n := 40; n < 45; n++ {
		count(n)
	}
	p.wait(withText("button.to-end", "new rows"))
	if top := eval[float64](p, `document.querySelector("#timeline").scrollTop`); top != 100 {
		t.Errorf("new rows have moved the page from 100 to %v", top)
	}
	p.shot("above")
	p.click("button.to-end")
	p.wait(atEnd)
	count(45)
	p.wait(withText("#timeline .row", "answer 45."))
	model.gate <- fakellm.Turn{Text: "That is all."}
	p.wait(withText("#timeline .row", "That is all."))
	c.next("PROCESSING_END")
	p.wait(withText("#state .state", "finished"))
	c.end()
	p.wait(withText("#state .state", "closed"))
	p.wait(`!document.title.startsWith("▶")`)
	if n := eval[int](p, `document.querySelectorAll("*").length`); n > 3000 {
		t.Errorf("the document has %d elements", n)
	}
}

// The time of a session that is at work goes on while nothing happens: it waits for the model here.
func TestN5_TimeGoesOn(t *testing.T) {
	t.Parallel()
	h, model := newGated(t)
	c := h.converse("--yes")
	c.say("user", object{"text": "Think."})
	v, p := h.view(c.id), newPage(t)
	p.open(v.url)
	const silent = `[...document.querySelectorAll(".ov-time .legend li")].find((e) => e.textContent.startsWith("Since the last event"))`
	p.wait(`parseInt(` + silent + `?.querySelector(".value").textContent) >= 2 && ` + silent +
		`.textContent.includes(" s, ")`)
	p.wait(`/\d s$/.test(document.querySelector("#state .sums").textContent)`)
	p.wait(`[...document.querySelectorAll(".fact")].some((f) => /^Time.*\d s$/.test(f.textContent))`)
	p.shot("silent")
	model.gate <- fakellm.Turn{Text: "I have thought."}
	p.wait(withText("#state .state", "finished"))
	p.wait(`!` + silent)
	c.end()
}

// When the viewer ends, the page says so and keeps what it shows.
func TestN5_ServerEnds(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, v := openSession(h, id)
	p.allow("ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_CONNECTION_REFUSED")
	p.keys("f")
	p.wait(current + `.querySelector(".details").innerText.includes("want 1m0s")`)
	v.end()
	p.wait(`!document.querySelector("#notice").hidden && document.querySelector("#notice").innerText.includes("ended")`)
	p.wait(current + `.querySelector(".details").innerText.includes("want 1m0s")`)
	p.keys("j")
	p.keys("\r") // its details cannot be had any more
	p.wait(current + `.querySelector(".details .problem").innerText.includes("does not answer")`)
	p.shot("ended")
}

// When the viewer is killed, the page asks again until there is one on the same port. That has
// another token, and the page says what to do.
func TestN5_ServerGoneAndBack(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, v := openSession(h, id)
	p.allow("ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_CONNECTION_REFUSED")
	p.allow("401")
	v.ended = true
	if err := v.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = v.cmd.Wait() // killed
	p.wait(`!document.querySelector("#notice").hidden && document.querySelector("#notice").innerText.includes("again")`)
	p.wait(withText("#timeline .row", "answer"))
	p.shot("gone")
	port := strings.Split(strings.SplitN(v.url, "/#", 2)[0], ":")[2]
	h.view("--port", port)
	p.wait(`/token/.test(document.querySelector("#notice").innerText)`)
	p.shot("back")
}

// Without the right token the page shows nothing, and says what to do.
func TestN5_WrongToken(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	v := h.view(id)
	base := strings.SplitN(v.url, "#", 2)[0]
	for _, fragment := range []string{"", "#session=" + id, "#token=wrong&session=" + id, "#token=wrong"} {
		p := newPage(t)
		p.allow("401")
		p.open(base + fragment)
		p.wait(`!document.querySelector("#notice").hidden && /token|address|URL/.test(document.querySelector("#notice").innerText)`)
		if body := p.text("body"); strings.Contains(body, "TestDelay") {
			t.Errorf("with %q: %s", fragment, body)
		}
		p.shot("refused")
	}
}

// Journals that are empty, torn, damaged, of nobody or removed while they are shown are told, and
// what can be read is shown.
func TestN5_BrokenJournals(t *testing.T) {
	t.Parallel()
	whole, id := bugfix(t)
	journal := findJournal(t, whole, id)
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	half := bytes.Join(lines[:len(lines)/2], nil)
	damaged := bytes.Clone(data)
	damaged[len(half)+len(lines[len(lines)/2])/2] ^= 1
	for _, tt := range []struct {
		name string
		data []byte
		rows bool // some are shown
		said string
	}{
		{"torn", append(bytes.Clone(half), lines[len(lines)/2][:10]...), true, ""},
		{"damaged", damaged, true, "."},
		{"empty", nil, false, "."},
		{"nonsense", []byte("not a journal\n"), false, "."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, nil)
			file := filepath.Join(h.dir, strings.TrimPrefix(journal, whole.dir))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			v, p := h.view(), newPage(t)
			// a person clicks, this test goes to another fragment by itself
			p.allow("40[04]|50[0-9]|422|NavigationEntryMarkedSkippable")
			p.open(v.url)
			p.wait(`document.querySelectorAll("#list li").length == 1`)
			p.shot("list")
			eval[bool](p, `location.hash += "&session=`+id+`", true`)
			p.wait(`!document.querySelector("#session").hidden`)
			if tt.rows {
				p.wait(withText("#timeline .row", "TestDelay fails"))
			}
			if tt.said != "" {
				p.wait(`[...document.querySelectorAll("#notice, .ov-problem, #timeline .empty")].some((e) => e.innerText.trim().length > 10)`)
			}
			p.shot("session")
		})
	}
}

// findJournal returns the file of a session.
func findJournal(t testing.TB, h *home, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.journals(), id+"*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no journal of %s: %v", id, err)
	}
	return found[0]
}

// A session that is removed while it is shown stays on the page, which says so.
func TestN5_RemovedWhileShown(t *testing.T) {
	t.Parallel()
	whole, id := bugfix(t)
	h := newHome(t, nil)
	if err := os.CopyFS(filepath.Join(h.dir, ".local"), os.DirFS(filepath.Join(whole.dir, ".local"))); err != nil {
		t.Fatal(err)
	}
	p, _ := openSession(h, id)
	p.allow("40[04]|410|50[0-9]")
	rows := p.text("#timeline")
	h.run("sessions", "rm", id)
	p.keys("f") // its details are gone
	p.wait(`document.querySelector(".details .problem, .details .diff, .details .output")`)
	p.shot("removed")
	if now := p.text("#timeline .row:first-child"); !strings.Contains(rows,
		strings.TrimSpace(strings.SplitN(now, "\n", 2)[0])) {
		t.Errorf("the rows have gone: %q", now)
	}
}
