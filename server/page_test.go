package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/server"
)

// page asks for something that only the page asks for, which the document does not have.
func (c *client) page(path string, headers ...string) answer {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), "GET", c.url+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if strings.HasSuffix(path, "/watch") && a.status == http.StatusOK { // it does not end
		return a
	}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		c.Fatal(err)
	}
	return a
}

// pageWatch is a session that a page watches.
type pageWatch struct {
	*testing.T
	lines *bufio.Scanner
}

// watchPage watches a session as the page does. It ends with the test.
func (c *client) watchPage(id string) *pageWatch {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	c.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", c.url+"/api/sessions/"+id+"/watch", nil)
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = resp.Body.Close() }) // only read
	if resp.StatusCode != http.StatusOK {
		c.Fatalf("watching: %d", resp.StatusCode)
	}
	w := &pageWatch{T: c.T, lines: bufio.NewScanner(resp.Body)}
	w.lines.Buffer(nil, 1<<20)
	return w
}

// until returns the next message that fits.
func (w *pageWatch) until(what string, fits func(m object) bool) object {
	w.Helper()
	for w.lines.Scan() {
		var m object
		if err := json.Unmarshal(w.lines.Bytes(), &m); err != nil {
			w.Fatal(err)
		}
		if fits(m) {
			return m
		}
	}
	w.Fatalf("the stream has ended without %s: %v", what, w.lines.Err())
	return nil
}

// live returns the next event that is not in the journal and fits.
func (w *pageWatch) live(what string, fits func(e object) bool) (event object) {
	w.Helper()
	return w.until(what, func(m object) bool {
		e, is := m["event"].(object)
		return is && fits(e)
	})["event"].(object)
}

// The page is there for anybody, also from a link elsewhere, and has nothing without a token. A
// token reads its own sessions and their subagents, the owner's all.
func TestW2_WhoReadsWhat(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		switch body := string(r.Body); {
		case !strings.Contains(body, "the main task"):
			return say("Found.")
		case strings.Contains(body, "tool_result"):
			return say("Done.")
		}
		return say("", use("spawn_agent", object{"task": "Look around."}))
	})
	r := w.start(full)
	anybody, ci, other, owner := r.as(""), r.as(ciToken), r.as(otherToken), r.as(ownersToken)
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"}
	if a := anybody.page("/", link...); a.status != http.StatusOK || !strings.Contains(string(a.body), "page.js") ||
		!strings.Contains(a.header.Get("Content-Security-Policy"), "script-src 'self'") {
		t.Errorf("the page: %d %v %.100s", a.status, a.header, a.body)
	}
	for _, path := range []string{"/page.js", "/page.css"} {
		if a := anybody.page(path); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
		if a := anybody.page(path, link...); a.status != http.StatusForbidden {
			t.Errorf("%s from elsewhere: %d", path, a.status)
		}
	}
	id := ci.create(object{})
	ci.line(id, object{"type": "user", "text": "the main task"})
	ci.state(id, "idle")
	listed := func(c *client) (ids []string, child string) {
		var list struct {
			Sessions []struct{ ID, Parent, Task string }
		}
		if err := json.Unmarshal(c.page("/api/sessions").body, &list); err != nil {
			t.Fatal(err)
		}
		for _, s := range list.Sessions {
			ids = append(ids, s.ID)
			if s.Parent == id {
				child = s.ID
			}
		}
		return ids, child
	}
	ids, child := listed(ci)
	if len(ids) != 2 || child == "" {
		t.Fatalf("the token's own: %q", ids)
	}
	if ids, _ := listed(owner); len(ids) != 2 {
		t.Errorf("the owner's: %q", ids)
	}
	if ids, _ := listed(other); len(ids) != 0 {
		t.Errorf("another token sees %q", ids)
	}
	for _, session := range []string{id, child} {
		for _, path := range []string{"/items/0", "/search?q=main", "/watch", "/outputs/" + strings.Repeat("0", 64)} {
			path = "/api/sessions/" + session + path
			for c, want := range map[*client]int{anybody: http.StatusUnauthorized, other: http.StatusNotFound,
				ci:    http.StatusOK,
				owner: http.StatusOK} {
				if strings.Contains(path, "/outputs/") && want == http.StatusOK {
					want = http.StatusNotFound
				}
				if a := c.page(path); a.status != want {
					t.Errorf("%s: %d %s, want %d", path, a.status, a.body, want)
				}
			}
		}
	}
	if a := ci.page("/api/sessions/" + id + "/do"); a.status != http.StatusMethodNotAllowed &&
		a.status != http.StatusNotFound {
		t.Errorf("lines go elsewhere: %d", a.status)
	}
}

// A page that watches a session at rest sees it opened, asked, put away and opened again.
func TestW2_PageWatchesThroughOpenings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Writing.", write("a.txt", "x\n")), say("Done."), say("Again."))
	first := w.start()
	id := first.as(ciToken).create(object{"mode": "ask"})
	first.end()
	c := w.start().as(ciToken)
	page := c.watchPage(id)
	rest := page.live("a session at rest", func(e object) bool { return e["kind"] == "LIVE" })
	if rest["running"] != false || rest["mode"] != "ask" || rest["model"].(object)["model"] != "claude-sonnet-5-5" {
		t.Errorf("at rest: %v", rest)
	}
	c.line(id, object{"type": "user", "text": "write"})
	page.live("a session that is open",
		func(e object) bool { return e["kind"] == "LIVE" && len(e["models"].([]any)) > 1 })
	ask := page.live("an ask", func(e object) bool { return e["kind"] == "APPROVAL_REQUESTED" })["ask"]
	c.line(id, object{"type": "approve", "ask": ask, "decision": "allow"})
	page.live("the end of the ask", func(e object) bool { return e["kind"] == "ASK_ENDED" })
	c.state(id, "idle")
	c.line(id, object{"type": "close"})
	page.live("a session at rest again",
		func(e object) bool { return e["kind"] == "LIVE" && len(e["models"].([]any)) == 1 })
	c.line(id, object{"type": "user", "text": "again"})
	page.live("an input", func(e object) bool { return e["kind"] == "PROCESSING_END" })
}

// A fork begins with the conversation of a session that its token sees, works in the same directory
// or, with the files of its turn, in one of its own, and does not go on with what was open.
func TestW2_Forks(t *testing.T) {
	t.Parallel()
	var asked atomic.Pointer[string]
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		body := string(r.Body)
		asked.Store(&body)
		if strings.Contains(body, "the second input") {
			return say("Asking.", use("ask_user", object{"question": "Which?"}))
		}
		if strings.Contains(body, "x.txt") {
			return say("Done.")
		}
		return say("Writing.", write("x.txt", "x\n"))
	})
	r := w.start(full)
	c := r.as(ciToken)
	if err := os.MkdirAll(filepath.Join(w.root, "work"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.root, "own"), 0o755); err != nil {
		t.Fatal(err)
	}
	id := c.create(object{"dir": "work", "model": "anthropic/claude-opus-5"})
	c.line(id, object{"type": "user", "text": "the first input"})
	c.state(id, "idle")
	c.line(id, object{"type": "user", "text": "the second input"})
	c.state(id, "waiting")

	fork := c.create(object{"fork": id}, "Idempotency-Key", "a")
	if again := c.create(object{"fork": id}, "Idempotency-Key", "a"); again != fork {
		t.Errorf("the same key gives %s and %s", fork, again)
	}
	s := c.state(fork, "idle")
	if s["fork"] != id || s["dir"] != filepath.Join(w.root, "work") || s["mode"] != "full" ||
		s["model"] != "anthropic/claude-opus-5" {
		t.Errorf("the fork: %v", s)
	}
	c.line(fork, object{"type": "user", "text": "the third input"})
	await.For(t, "the fork's request", func() bool { return strings.Contains(*asked.Load(), "the third input") })
	if body := *asked.Load(); !strings.Contains(body, "the first input") {
		t.Errorf("the fork has not the conversation: %s", body)
	}

	own := c.create(object{"fork": id, "turn": 4, "dir": "own"})
	if data, err := os.ReadFile(filepath.Join(w.root, "own", "x.txt")); err != nil || string(data) != "x\n" {
		t.Errorf("the files of the turn: %q, %v", data, err)
	}
	if s := c.state(own, "idle"); s["dir"] != filepath.Join(w.root, "own") {
		t.Errorf("the fork in its own directory: %v", s)
	}
	c.refused(400, "invalid", "POST", "/v1/sessions", `{"turn":1}`)
	c.refused(400, "invalid", "POST", "/v1/sessions", `{"fork":"`+id+`","turn":-1}`)
	c.refused(404, "not_found", "POST", "/v1/sessions", `{"fork":"none"}`)
	r.as(otherToken).refused(404, "not_found", "POST", "/v1/sessions", `{"fork":"`+id+`"}`)
}

// A fork is within what the server allows now, although the other session was allowed more.
func TestW2_ForksAreCapped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Done."))
	s := w.start(full)
	c := s.as(ciToken)
	id := c.create(object{"mode": "full", "budget_usd": 5})
	c.line(id, object{"type": "user", "text": "go"})
	c.state(id, "idle")
	s.end()
	c = w.start(func(o *server.Options) { o.MaxMode, o.Config.Budget.USD = permit.ModeAsk, 1 }).as(ciToken)
	if got := c.state(c.create(object{"fork": id}), "idle"); got["mode"] != "ask" || got["budget_usd"] != 1.0 {
		t.Errorf("the fork: %v", got)
	}
}

// A session that was noted, and not begun before the server died, begins when its request is sent
// again: the page could not show it otherwise.
func TestW2_DiedBeforeTheJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	c.line(id, object{"type": "user", "text": "go"})
	c.state(id, "idle")
	fork := c.create(object{"fork": id}, "Idempotency-Key", "f")
	s.end()
	w.died()
	if err := os.Remove(filepath.Join(w.store, fork+".jsonl")); err != nil {
		t.Fatal(err)
	}
	c = w.start().as(ciToken)
	if again := c.create(object{"fork": id}, "Idempotency-Key", "f"); again != fork {
		t.Errorf("the same key gives %s and %s", fork, again)
	}
	if a := c.page("/api/sessions/" + fork + "/items/0"); a.status != http.StatusOK {
		t.Errorf("the fork's rows: %d %s", a.status, a.body)
	}
}

// A session that is held is so on the page, also when somebody has opened it, until it goes on.
func TestW2_HeldOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	c.line(id, object{"type": "user", "text": "go"})
	for range 2 {
		c.state(id, "waiting")
		s.end()
		w.died()
		s = w.start()
		c = s.as(ciToken)
	}
	page := c.watchPage(id)
	if e := page.live("a session at rest", func(e object) bool { return e["kind"] == "LIVE" }); e["held"] != true {
		t.Errorf("at rest: %v", e)
	}
	c.request("GET", "/v1/sessions/"+id+"/diff", "")
	e := page.live("a session that is open", func(e object) bool {
		return e["kind"] == "LIVE" && len(e["models"].([]any)) > 1
	})
	if e["held"] != true {
		t.Errorf("open: %v", e)
	}
	c.line(id, object{"type": "continue"})
	page.live("a session that goes on", func(e object) bool { return e["kind"] == "LIVE" && e["held"] == nil })
}

// A page that watches while the server ends is not told that this is all, so that it comes back to
// the next server.
func TestW2_TheServerEndsUnderThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	c := s.as(ciToken)
	page := c.watchPage(c.create(object{}))
	page.live("the session", func(e object) bool { return e["kind"] == "LIVE" })
	s.end()
	for page.lines.Scan() {
		if strings.Contains(page.lines.Text(), `"type":"end"`) {
			t.Errorf("the page is told %s", page.lines.Text())
		}
	}
}

// A fork does not go on with what is open in the other session, also when the server died before
// the fork's journal said so.
func TestW2_DiedInTheFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	c.line(id, object{"type": "user", "text": "go"})
	c.state(id, "waiting")
	fork := c.create(object{"fork": id})
	c.state(fork, "idle")
	s.end()
	w.died()
	name := filepath.Join(w.store, fork+".jsonl")
	all := strings.SplitAfter(read(t, name), "\n")
	end := slices.IndexFunc(all, func(line string) bool { return strings.Contains(line, `"continue":true`) })
	if end < 0 {
		t.Fatalf("the fork's journal: %s", all)
	}
	if err := os.WriteFile(name, []byte(strings.Join(all[:end], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	c = w.start().as(ciToken)
	events := c.watch("/v1/sessions/" + fork + "/events")
	if end := events.until("PROCESSING_END"); end[len(end)-1].data["reason"] != "interrupted" {
		t.Errorf("the fork ends with %v", end[len(end)-1].data)
	}
	if s := c.state(fork, "idle"); s["asks"] != 0.0 {
		t.Errorf("the fork: %v", s)
	}
}
