package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/server"
)

// A token has no more sessions, requests and streams than it may have, others have theirs, and what
// is given back can be taken again.
func TestW4_Limits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(func(o *server.Options) {
		o.Limits = server.Limits{Sessions: 2, Requests: 40, Watchers: 3, Body: 1000}
	})
	c, other := s.as(ciToken), s.as(otherToken)
	first := c.create(object{})
	c.create(object{})
	c.refused(429, "limit", "POST", "/v1/sessions", "{}")
	other.create(object{})
	c.line(first, object{"type": "close"})
	third := c.create(object{})
	c.refused(429, "limit", "POST", "/v1/sessions/"+first+"/lines", `{"type":"status"}`)
	if a := c.request("DELETE", "/v1/sessions/"+third, ""); a.status != http.StatusNoContent {
		t.Errorf("%d %s", a.status, a.body)
	}
	c.line(first, object{"type": "status"})

	var watching []*watch
	for range 3 {
		watching = append(watching, c.watch("/v1/sessions/"+first+"/events"))
	}
	c.refused(429, "limit", "GET", "/v1/events", "")
	c.refused(429, "limit", "GET", "/v1/sessions/"+first+"/events", "")
	other.watch("/v1/events")
	watching[0].cancel()
	await.For(t, "room for a stream", func() bool {
		return strings.Contains(string(s.as(ownersToken).request("GET", "/metrics", "").body), "attractor_streams 3\n")
	})
	c.watch("/v1/events")
	c.refused(413, "too_large", "POST", "/v1/sessions", strings.Repeat(" ", 1001))

	for n := 0; ; n++ {
		a := c.request("GET", "/v1/sessions", "")
		if a.status == http.StatusTooManyRequests {
			if a.header.Get("Retry-After") == "" {
				t.Error("nothing says when to come again")
			}
			break
		}
		if n > 40 {
			t.Fatal("there is no limit of requests")
		}
	}
	if a := other.request("GET", "/v1/sessions", ""); a.status != 200 {
		t.Errorf("another token: %d %s", a.status, a.body)
	}
}

// Files that are not read take no more memory than a token may have, and others have theirs.
func TestW4_UnreadFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("Done."))
	s := w.start(full)
	c := s.as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	events.until("PROCESSING_END")
	if err := os.Truncate(filepath.Join(w.root, "a.txt"), 16<<20); err != nil {
		t.Fatal(err)
	}
	path := "/v1/sessions/" + id + "/files?path=a.txt"
	ask := func(token string) (int, io.Closer) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Body
	}
	var unread []io.Closer
	for i, want := range []int{200, 200, 429} {
		got, body := ask(ciToken)
		if unread = append(unread, body); got != want {
			t.Errorf("file %d: %d, want %d", i, got, want)
		}
	}
	got, body := ask(ownersToken)
	if unread = append(unread, body); got != 200 {
		t.Errorf("another token: %d", got)
	}
	for _, body := range unread {
		_ = body.Close() // it was not read
	}
	await.For(t, "room for a file", func() bool {
		got, body := ask(ciToken)
		_ = body.Close() // the status says it
		return got == 200
	})
}

// A token has a bounded number of sessions, those that are not open included.
func TestW4_AllSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.before = func(s *server.Server) { s.SetMost(2) }
	s := w.start()
	c := s.as(ciToken)
	first := c.create(object{}, "Idempotency-Key", "k")
	c.line(first, object{"type": "close"})
	c.line(c.create(object{}), object{"type": "close"})
	c.refused(429, "limit", "POST", "/v1/sessions", "{}")
	if again := c.create(object{}, "Idempotency-Key", "k"); again != first {
		t.Error("the same request is another session")
	}
	s.as(otherToken).create(object{})
	c.request("DELETE", "/v1/sessions/"+first, "")
	c.create(object{})
}

// endless is a body without an end.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// A body without an end is refused at the limit, and one that stops is cut off after a time.
func TestW4_EndlessBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(func(o *server.Options) { o.Limits.Body = 1 << 20 })
	c := s.as(ciToken)
	id := c.create(object{})
	for _, path := range []string{"/v1/sessions", "/v1/sessions/" + id + "/lines"} {
		body := &endless{}
		a, err := c.try("POST", path, body)
		if err == nil && a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%d %s", a.status, a.body)
		}
		if body.read.Load() > 64<<20 {
			t.Errorf("%d bytes of a body without an end were read", body.read.Load())
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nX") // and no more
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("a request that stops: %v", err)
	}
	if a := c.request("GET", "/v1/sessions", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A watcher that stops reading is cut off and holds nobody up: the session comes to its end, and
// the watcher gets all of it when it is back.
func TestW4_WatcherThatStopsReading(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	w := newWorld(t, say(long, write("a.txt", "x\n")), say(long, write("b.txt", "x\n")), say("Done."))
	w.before = func(s *server.Server) { s.SetTimes(time.Minute, 200*time.Millisecond) }
	s := w.start(full)
	c := s.as(ciToken)
	id := c.create(object{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", id,
		ciToken)
	begin := bufio.NewReaderSize(conn, 16)
	if line, err := begin.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q %v", line, err)
	}
	c.line(id, object{"type": "user", "text": "go"})
	c.state(id, "idle")
	await.For(t, "the reader to be cut off", func() bool {
		return strings.Contains(string(s.as(ownersToken).request("GET", "/metrics", "").body),
			"attractor_streams_cut_total 1\n")
	})
	if end := c.watch("/v1/sessions/"+id+"/events", "Last-Event-ID",
		"3").until("PROCESSING_END"); end[len(end)-1].data["text"] != "Done." {
		t.Errorf("the end: %v", end[len(end)-1].data)
	}
}

// Two servers do not serve the same directory.
func TestW4_TwoServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	if _, err := server.New(t.Context(), w.options()); !errors.Is(err, server.ErrInUse) {
		t.Errorf("the second server: %v", err)
	}
	s.end()
	w.start()
}

// A session that another process has open is not opened by the server.
func TestW4_SessionOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Done."))
	c := w.start().as(ciToken)
	id := c.create(object{})
	c.line(id, object{"type": "close"})
	log, err := journal.NewDir(w.store).Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c.refused(409, "conflict", "POST", "/v1/sessions/"+id+"/lines", `{"type":"user","text":"go"}`)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	c.line(id, object{"type": "user", "text": "go"})
	c.state(id, "idle")
}

// gated is a model whose second answer waits.
func gated(t *testing.T, turns ...fakellm.Turn) (model fakellm.Model, asked, let chan struct{}) {
	asked, let = make(chan struct{}, 10), make(chan struct{})
	script := fakellm.Script(turns...)
	return func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() == 1 {
			asked <- struct{}{}
			select {
			case <-let:
			case <-t.Context().Done():
			}
		}
		return script(r)
	}, asked, let
}

// A server that ends waits for inputs that run, takes nothing new meanwhile, and gives those away
// that wait for an answer, which are asked again.
func TestW4_Drain(t *testing.T) {
	t.Parallel()
	model, asked, let := gated(t, say("", write("a.txt", "x\n")), say("Done."))
	w := newWorldOf(t, model)
	s := w.start(func(o *server.Options) { o.Grace = await.Limit })
	c := s.as(ciToken)
	runs, waits, rests := c.create(object{"mode": "accept-edits"}), c.create(object{}), c.create(object{})
	c.line(rests, object{"type": "close"})
	c.line(runs, object{"type": "user", "text": "go"})
	c.line(waits, object{"type": "user", "text": "go"})
	await.Receive(t, "the model call", asked)
	c.state(waits, "waiting")
	events := c.watch("/v1/sessions/" + runs + "/events")
	ended := make(chan error, 1)
	go func() { ended <- s.stop() }()
	await.For(t, "the beginning of the end", func() bool {
		return c.request("GET", "/health", "").status == http.StatusServiceUnavailable
	})
	c.refused(503, "draining", "POST", "/v1/sessions", "{}")
	c.refused(503, "draining", "GET", "/v1/sessions/"+rests+"/diff", "")
	c.refused(503, "draining", "POST", "/v1/sessions/"+runs+"/lines", `{"type":"user","text":"more"}`)
	close(let)
	if end := events.until("PROCESSING_END"); end[len(end)-1].data["reason"] != "completed" {
		t.Errorf("the input that ran: %v", end[len(end)-1].data)
	}
	if err := await.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}

	c = w.start().as(ciToken)
	c.state(waits, "waiting")
	again := c.watch("/v1/sessions/" + waits + "/events")
	found := again.until("APPROVAL_REQUESTED")
	c.line(waits, object{"type": "approve", "ask": found[len(found)-1].data["ask"], "decision": "allow"})
	if end := again.until("PROCESSING_END"); end[len(end)-1].data["reason"] != "completed" {
		t.Errorf("the input that went on: %v", end[len(end)-1].data)
	}
	if got := c.request("GET", "/v1/sessions/"+runs, "").object(t)["state"]; got != "idle" {
		t.Errorf("the other one is %v", got)
	}
}

// What still runs after the grace is given away and goes on with the next server, its queue too.
func TestW4_GraceIsOver(t *testing.T) {
	t.Parallel()
	model, asked, let := gated(t, say("", write("a.txt", "x\n")), say("Done."), say("And this."))
	w := newWorldOf(t, model)
	w.before = func(s *server.Server) { s.SetRelease(time.Millisecond) }
	s := w.start(func(o *server.Options) { o.Grace = time.Millisecond })
	c := s.as(ciToken)
	id := c.create(object{"mode": "accept-edits"})
	c.line(id, object{"type": "user", "text": "go"})
	await.Receive(t, "the model call", asked)
	if queued := c.line(id, object{"type": "follow_up", "text": "more"}); queued["queued"] != true {
		t.Errorf("%v", queued)
	}
	s.end()
	close(let)
	c = w.start().as(ciToken)
	events := c.watch("/v1/sessions/" + id + "/events")
	events.until("PROCESSING_END")
	if end := events.until("PROCESSING_END"); end[len(end)-1].data["text"] != "And this." {
		t.Errorf("the end of the second input: %v", end[len(end)-1].data)
	}
	if n := strings.Count(read(t, filepath.Join(w.root, "a.txt")), "x"); n != 1 {
		t.Errorf("the call ran %d times", n)
	}
}

// died makes the server that has ended one that has died.
func (w *world) died() {
	w.Helper()
	name := filepath.Join(w.state, "sessions.json")
	was := read(w.T, name)
	now := strings.Replace(was, `"drained":true`, `"drained":false`, 1)
	if now == was {
		w.Fatalf("the server has not ended in order: %s", was)
	}
	if err := os.WriteFile(name, []byte(now), 0o600); err != nil {
		w.Fatal(err)
	}
}

// A session is held from the second death in a row until somebody has it go on, also when it was
// opened and closed meanwhile.
func TestW4_Held(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	c.line(id, object{"type": "user", "text": "go"})
	path := "/v1/sessions/" + id
	for _, end := range []struct {
		died bool
		then string
	}{{true, "waiting"}, {false, "waiting"}, {true, "waiting"}, {true, "held"}, {false, "held"}} {
		if end.then == "waiting" {
			c.state(id, "waiting")
		}
		s.end()
		if end.died {
			w.died()
		}
		s = w.start()
		c = s.as(ciToken)
		c.state(id, end.then)
	}
	c.line(id, object{"type": "status"})
	c.line(id, object{"type": "close"})
	c.state(id, "held")
	c.request("GET", path+"/diff", "")
	c.state(id, "held")
	c.line(id, object{"type": "close"})
	s.end()
	s = w.start()
	c = s.as(ciToken)
	c.state(id, "held")
	c.request("GET", path+"/diff", "")
	c.refused(409, "conflict", "POST", path+"/lines", `{"type":"user","text":"go"}`)
	c.line(id, object{"type": "continue"})
	c.state(id, "waiting")
	s.end()
	s = w.start()
	c = s.as(ciToken)
	c.state(id, "waiting")
	s.end()
	w.died()
	s = w.start()
	c = s.as(ciToken)
	c.state(id, "waiting")
	c.line(id, object{"type": "interrupt"})
	c.state(id, "idle")
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ReadTokens refuses what would leave the server open.
func TestW1_TokenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens")
	for content, want := range map[string]string{
		"# mine\n\nci " + ciToken + "\nme " + ownersToken + " owner\n": "",
		"":                                       "no token",
		"ci short\n":                             "fewer than 32",
		"ci\n":                                   "line 1",
		"ci " + ciToken + " admin\n":             "line 1",
		"c/i " + ciToken + "\n":                  "name of a token",
		"a " + ciToken + "\nb " + ciToken + "\n": "another name",
		"a " + ciToken + "\na " + otherToken + "\n": "two tokens",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		tokens, err := server.ReadTokens(name)
		if want == "" {
			if err != nil || len(tokens) != 2 || tokens[0].Owner || !tokens[1].Owner {
				t.Errorf("%v %v", tokens, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ciToken) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ReadTokens(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
}
