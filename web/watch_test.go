package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/web"
)

// message is a line of a stream.
type message struct {
	Type     string
	First    int
	Rows     []web.Row
	Overview web.Overview
	Event    json.RawMessage
	Text     string
}

// watcher holds what a page knows of a session by its stream.
type watcher struct {
	testing.TB
	lines    *bufio.Reader
	close    func()
	seen     []string // kinds of messages
	rows     []web.Row
	overview web.Overview
}

// watch begins to watch a session.
func (v *viewer) watch(id string, query ...string) *watcher {
	v.Helper()
	ctx, cancel := context.WithCancel(v.Context())
	resp, err := v.client.Do(v.request("GET", "/api/sessions/"+id+"/watch"+strings.Join(query, ""), "",
		nil).WithContext(ctx))
	if err != nil {
		v.Fatal(err)
	}
	w := &watcher{TB: v.TB, lines: bufio.NewReader(resp.Body), close: func() { cancel(); resp.Body.Close() }}
	v.Cleanup(w.close)
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		v.Fatalf("watching %s: %s %s, %v", id, resp.Status, text, err)
	}
	return w
}

// next reads a message and takes its rows, as the page does. At the end of the stream ok is false.
func (w *watcher) next() (m message, ok bool) {
	w.Helper()
	line, err := w.lines.ReadBytes('\n')
	if err == io.EOF {
		return m, false
	}
	if err != nil {
		w.Fatalf("the stream has failed: %v", err)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		w.Fatalf("%v in %s", err, line)
	}
	w.seen = append(w.seen, m.Type)
	switch m.Type {
	case "rows":
		for len(w.rows) < m.First+len(m.Rows) {
			w.rows = append(w.rows, web.Row{Index: -1})
		}
		for i, row := range m.Rows {
			if row.Index != m.First+i {
				w.Fatalf("row %d has the number %d", m.First+i, row.Index)
			}
			w.rows[row.Index] = row
		}
	case "overview", "update":
		w.overview = m.Overview
	}
	return m, true
}

// until reads messages until one is as wanted.
func (w *watcher) until(wanted func(message) bool) message {
	w.Helper()
	for {
		m, ok := w.next()
		if !ok {
			w.Fatalf("the stream has ended after %v", w.seen)
		}
		if wanted(m) {
			return m
		}
	}
}

// has reports whether the watcher has all rows of the newest overview.
func (w *watcher) has(rows int) func(message) bool {
	return func(message) bool { return w.overview.Rows >= rows && len(w.rows) >= rows }
}

// A watcher gets the rows of a session that it does not have, the overview, and what is added while
// it watches. All rows are those of the whole journal.
func TestN5_Watch(t *testing.T) {
	shop := newWorkshop(t)
	arrived, open := make(chan struct{}), make(chan struct{})
	s := shop.start("session", llmtest.Calls(shell("echo one")), llmtest.Text("first"),
		llmtest.Gate(arrived, open, llmtest.Calls(shell("exit 3"))), llmtest.Text("second"))
	shop.submit(s, "begin")
	v := view(t, web.Options{Store: shop.store})
	w := v.watch("session")
	w.until(func(m message) bool { return m.Type == "overview" })
	before := w.overview.Rows
	if len(w.rows) < before {
		t.Fatalf("%d of %d rows come before the overview", len(w.rows), before)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		shop.submit(s, "go on")
	}()
	<-arrived
	w.until(w.has(before + 1)) // the input
	close(open)
	<-done
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.until(func(message) bool { return w.overview.State == web.StateClosed })
	all := v.watch("session")
	all.until(func(m message) bool { return m.Type == "overview" })
	if len(all.rows) != w.overview.Rows || !slices.EqualFunc(all.rows, w.rows, sameRow) {
		t.Errorf("the watcher has other rows than the whole session:\n%+v\n%+v", w.rows, all.rows)
	}
	rest := v.watch("session", "?first=2")
	if m, _ := rest.next(); m.Type != "rows" || m.First != 2 || !sameRow(m.Rows[0], all.rows[2]) {
		t.Errorf("a page with two rows gets %+v", m)
	}
}

// sameRow reports whether two rows have the same JSON.
func sameRow(a, b web.Row) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Lists without an entry are empty in JSON, not null.
func TestN5_EmptyLists(t *testing.T) {
	shop := newWorkshop(t)
	s := shop.start("session", llmtest.Hang())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v := view(t, web.Options{Store: shop.store})
	w := v.watch("session")
	for kind := ""; kind != "overview"; {
		line, err := w.lines.ReadString('\n')
		var m message
		if err != nil || strings.Contains(line, "null") || json.Unmarshal([]byte(line), &m) != nil {
			t.Fatalf("%s, %v", line, err)
		}
		kind = m.Type
	}
	if got := v.do("GET", "/api/sessions/session/search?q=nix", "", nil); got.body != `{"more":false,"rows":[]}` {
		t.Errorf("a search without hits: %s", got.body)
	}
}

// Many watchers of one session, of which some never read and some go away, all get its end, and
// cost the session nothing.
func TestN5_ManyWatchers(t *testing.T) {
	shop := newWorkshop(t)
	arrived, open := make(chan struct{}), make(chan struct{})
	steps := []llmtest.Step{llmtest.Gate(arrived, open, llmtest.Text("begin"))}
	for range 100 {
		steps = append(steps, llmtest.Calls(shell("true")))
	}
	s := shop.start("session", append(steps, llmtest.Text("done"))...)
	v := view(t, web.Options{Store: shop.store})
	done := make(chan struct{})
	go func() {
		defer close(done)
		shop.submit(s, "begin")
	}()
	<-arrived
	var all []*watcher
	for i := range 30 {
		w := v.watch("session")
		switch i % 3 {
		case 0:
			all = append(all, w)
		case 1:
			w.next()
			w.close()
		}
	}
	close(open)
	<-done
	shop.submit(s, "again")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	for _, w := range all {
		reading.Go(func() {
			for w.overview.State != web.StateClosed {
				if _, ok := w.next(); !ok {
					t.Errorf("a stream has ended after %d messages", len(w.seen))
					return
				}
			}
		})
	}
	reading.Wait()
}

// A session that is removed ends its stream. Another one of the same name is another session.
func TestN5_RemovedSession(t *testing.T) {
	shop := newWorkshop(t)
	shop.session("session", llmtest.Text("first"))
	v := view(t, web.Options{Store: shop.store})
	w := v.watch("session")
	w.next()
	if err := shop.store.Remove(t.Context(), "session"); err != nil {
		t.Fatal(err)
	}
	if m := w.until(func(m message) bool { return m.Type == "end" }); m.Text != "The session was removed." {
		t.Errorf("the end is %q", m.Text)
	}
	if got := v.do("GET", "/api/sessions/session/items/0", "", nil); got.status != http.StatusNotFound {
		t.Errorf("a removed session: %d %s", got.status, got.body)
	}
	shop.session("session", llmtest.Calls(shell("true")), llmtest.Text("second"))
	if again := v.watch("session"); again.until(again.has(1)).Type == "end" {
		t.Error("the new session is not shown")
	}
}

// What is good of a damaged journal is shown, with what is wrong.
func TestN5_DamagedJournal(t *testing.T) {
	shop := newWorkshop(t)
	shop.session("session", llmtest.Calls(shell("true")), llmtest.Text("first"))
	files, err := filepath.Glob(filepath.Join(shop.dir, "session.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(data[:len(data)-1], '\n')
	data[bytes.LastIndexByte(data[:last], '\n')+1] ^= 1 // the brace of the line before the last
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	w := view(t, web.Options{Store: shop.store}).watch("session")
	w.until(func(m message) bool { return m.Type == "overview" })
	if w.overview.Problem == "" || w.overview.Rows == 0 {
		t.Errorf("the overview says %q, with %d rows", w.overview.Problem, w.overview.Rows)
	}
	if len(w.rows) != w.overview.Rows {
		t.Errorf("%d of %d rows have come", len(w.rows), w.overview.Rows)
	}
}

// When the server ends, its streams end in order.
func TestN5_WatchEndsWithTheServer(t *testing.T) {
	shop := newWorkshop(t)
	shop.session("session", llmtest.Text("first"))
	v := view(t, web.Options{Store: shop.store})
	w := v.watch("session")
	w.next()
	v.stop()
	if m := w.until(func(m message) bool { return m.Type == "end" }); m.Text != "The viewer has ended." {
		t.Errorf("the end is %q", m.Text)
	}
}

// The streams that are open at a time are bounded. One that has ended makes room.
func TestN5_TooManyWatchers(t *testing.T) {
	shop := newWorkshop(t)
	shop.session("session", llmtest.Text("first"))
	v := view(t, web.Options{Store: shop.store})
	const most = 64
	for range most {
		v.watch("session").next()
	}
	resp, err := v.client.Do(v.request("GET", "/api/sessions/session/watch", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("watcher %d: %s", most+1, resp.Status)
	}
	if got := v.do("GET", "/api/sessions/session/items/0", "", nil); got.status != http.StatusOK {
		t.Errorf("another request: %d %s", got.status, got.body)
	}
}
