package cli

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/sessions"
)

// threeSessions returns a home with a session that is done, one that has failed and one whose input
// is open, all of them old, by their tasks.
func threeSessions(t *testing.T) (h *home, ids map[string]string) {
	t.Helper()
	asked, ended := make(chan struct{}, 1), make(chan struct{})
	model := fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if strings.Contains(lastUser(held{Request: r}), "third") {
			asked <- struct{}{}
			<-ended
		}
		return say("fine")
	}, fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultStatus, Status: 400}}})
	web := httptest.NewServer(model)
	t.Cleanup(func() { close(ended); web.Close() })
	h = newHome(t, web.URL)
	h.run(0, "run", "--yes", "first")
	h.dir = filepath.Join(h.dir, "below")
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.run(exitFailed, "run", "--yes", "second")
	killed := h.command("run", "--yes", "third")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	ids = map[string]string{}
	for _, s := range h.sessions() {
		ids[s.Task] = s.ID
		h.age(s.ID, 40*24*time.Hour)
	}
	return h, ids
}

// age makes a session older.
func (h *home) age(id string, by time.Duration) {
	h.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(h.journalFile(id), then, then); err != nil {
		h.Fatal(err)
	}
}

// The list with costs has the model of a session that it has now.
func TestX9_ListHasTheNewestModel(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("one"), say("two"))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "first")
	h.run(0, "run", "--yes", "--continue", "--model", "claude-haiku-4-5", "second")
	if out := h.run(0, "sessions", "list", "--cost").stdout; !strings.Contains(out, "  claude-haiku-4-5  ") {
		t.Error(out)
	}
}

// A fork, which has the first message of its origin, is marked in the list.
func TestX9_ForksAreMarked(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("one"), say("two"))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "first")
	id := h.sessions()[0].ID
	h.run(0, "run", "--yes", "--fork", id, "second")
	out := h.run(0, "sessions", "list").stdout
	if strings.Count(out, "  (fork of "+id[:8]+") first\n") != 1 || strings.Count(out, "  first\n") != 1 {
		t.Error(out)
	}
	s := sessions.Summary{Task: "x", ForkOf: id, Entry: journal.Entry{Locked: true, PID: 7}}
	if got, want := taskColumn(&s), "(open in process 7) (fork of "+id[:8]+") x"; got != want {
		t.Errorf("a fork that runs is %q, want %q", got, want)
	}
}

// The list has the state and the cost of sessions, and only those of a directory or in a state.
func TestX9_SessionsList(t *testing.T) {
	h, _ := threeSessions(t)
	var list []sessions.Summary
	if err := json.Unmarshal([]byte(h.run(0, "sessions", "list", "--cost", "--json").stdout), &list); err != nil {
		t.Fatal(err)
	}
	states := map[string]sessions.State{}
	for _, s := range list {
		states[s.Task] = s.State
		if s.Task == "first" && s.CostUSD <= 0 {
			t.Errorf("%+v", s)
		}
	}
	if states["first"] != sessions.Done || states["second"] != sessions.Failed ||
		states["third"] != sessions.Open {
		t.Errorf("%v", states)
	}
	out := h.run(0, "sessions", "list", "--cost").stdout
	if !strings.Contains(out, "STATE") || !strings.Contains(out, "done    $0.") {
		t.Error(out)
	}
	for _, c := range []struct {
		tasks string
		args  []string
	}{
		{"second", []string{"--state", "failed"}},
		{"third second", []string{"--dir", "."}},
		{"third second first", []string{"--dir", ".."}},
		{"third", []string{"--dir", ".", "--state", "open"}},
	} {
		out := h.run(0, append([]string{"sessions", "list"}, c.args...)...).stdout
		for _, task := range []string{"first", "second", "third"} {
			if strings.Contains(out, task) != strings.Contains(c.tasks, task) {
				t.Errorf("%v: %s", c.args, out)
			}
		}
	}
	has(t, h.run(0, "sessions", "list", "--dir", "/nowhere").stderr, "no such sessions")
	has(t, h.run(exitUsage, "sessions", "list", "--state", "broken").stderr, `no state "broken"`, "interrupted")
}

// clean removes what it has shown, when a person has said so, and never what is open.
func TestX9_SessionsClean(t *testing.T) {
	h, ids := threeSessions(t)
	left := func() (tasks string) {
		for _, s := range h.sessions() {
			tasks = s.Task + " " + tasks
		}
		return tasks
	}
	has(t, h.run(exitUsage, "sessions", "clean").stderr, "needs --older or --failed")
	has(t, h.run(exitUsage, "sessions", "clean", "--older", "soon").stderr, "write it as 30d")
	has(t, h.run(exitUsage, "sessions", "clean", "--failed", "--older", "", "--yes").stderr, "--older needs an age")
	has(t, h.run(exitUsage, "sessions", "clean", "--failed", "--dir", "", "--yes").stderr, "--dir needs a directory")
	has(t, h.run(exitUsage, "sessions", "list", "--dir", "").stderr, "--dir needs a directory")
	has(t, h.run(0, "sessions", "clean", "--older", "41d", "--yes").stderr, "nothing to remove")
	has(t, h.run(exitUsage, "sessions", "clean", "--older", "30d").stderr, "pass --yes")
	p := startOnTerminal(t, h.command("sessions", "clean", "--older", "30d"))
	p.expect("Kept, because a process has them open or they can be continued: 1 session.")
	if shown := p.expect("Remove 2 sessions? [y/N] "); !strings.Contains(shown, "first") ||
		!strings.Contains(shown, "second") || strings.Contains(shown, "third") {
		t.Errorf("it shows %s", shown)
	}
	p.write("n\n")
	p.wait()
	if got := left(); strings.Count(got, " ") != 3 {
		t.Errorf("left: %s", got)
	}

	has(t, h.run(0, "sessions", "clean", "--older", "30d", "--failed", "--yes").stderr, "Removed 1 session.")
	if got := left(); strings.Contains(got, "second") || strings.Count(got, " ") != 2 {
		t.Errorf("left: %s", got)
	}

	store := journal.NewDir(filepath.Dir(h.journalFile("x")))
	log, err := store.Open(t.Context(), ids["first"])
	if err != nil {
		t.Fatal(err)
	}
	h.age(ids["first"], 40*24*time.Hour)
	has(t, h.run(0, "sessions", "clean", "--older", "30d", "--yes").stderr, "continued: 2 sessions.",
		"nothing to remove")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	h.age(ids["first"], time.Hour)
	has(t, h.run(0, "sessions", "clean", "--older", "2w", "--yes").stderr, "nothing to remove")
	has(t, h.run(0, "sessions", "clean", "--older", "30m", "--yes").stderr, "Removed 1 session.")
	if got := left(); got != "third " {
		t.Errorf("left: %s", got)
	}
}

// What is shown and gone on with before the answer stays.
func TestX9_CleanKeepsWhatGoesOn(t *testing.T) {
	url, _ := serve(t, nil, say("fine"), say("more"))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "first")
	id := h.sessions()[0].ID
	h.age(id, 40*24*time.Hour)
	p := startOnTerminal(t, h.command("sessions", "clean", "--older", "30d"))
	p.expect("Remove 1 session? [y/N] ")
	h.run(0, "run", "--yes", "--resume", id, "go on")
	p.write("y\n")
	p.expect("somebody has gone on with it")
	p.expect("Removed 0 sessions.")
	p.wait()
	if len(h.sessions()) != 1 {
		t.Error("the session is gone")
	}
}

// What was interrupted can be gone on with, and a session belongs to its newest subagent.
func TestX9_CleanKeepsWhatCanGoOn(t *testing.T) {
	asked, ended := make(chan struct{}, 1), make(chan struct{})
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		switch text := lastText(r); {
		case strings.Contains(text, "stop here"):
			asked <- struct{}{}
			<-ended
		case strings.Contains(text, "delegate"):
			return say("", use("spawn_agent", map[string]any{"task": "say fine"}))
		case strings.Contains(text, "agent_id"):
			return say("", use("wait", map[string]any{"agent_id": "agent-1"}))
		}
		return say("fine")
	}, fakellm.Options{}))
	t.Cleanup(func() { close(ended); web.Close() })
	h := newHome(t, web.URL)
	stopped := h.command("run", "--yes", "stop here")
	if err := stopped.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := stopped.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = stopped.Wait() // it was interrupted
	h.age(h.sessions()[0].ID, 40*24*time.Hour)
	has(t, h.run(0, "sessions", "list", "--state", "interrupted").stdout, "stop here")
	has(t, h.run(0, "sessions", "clean", "--older", "30d", "--yes").stderr, "continued: 1 session.",
		"nothing to remove")

	h.run(0, "run", "--yes", "delegate")
	child := ""
	for _, s := range h.sessions() {
		if s.Parent != "" {
			child = s.ID
			h.age(s.Parent, 40*24*time.Hour)
		}
	}
	has(t, h.run(0, "sessions", "clean", "--older", "30d", "--yes").stderr, "nothing to remove")
	h.age(child, 40*24*time.Hour)
	has(t, h.run(0, "sessions", "clean", "--older", "30d", "--yes").stderr, "Removed 2 sessions.")
}
