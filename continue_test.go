package attractor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sessions"
)

// touch makes a session the newest one.
func (b *bench) touch(id string, n int) {
	b.Helper()
	when := time.Now().Add(time.Duration(n) * time.Hour)
	if err := os.Chtimes(filepath.Join(b.kept, id+".jsonl"), when, when); err != nil {
		b.Fatal(err)
	}
}

// The newest session of the directory is continued, not a newer subagent, a newer session without
// an input, one that is damaged, one of another directory, or one that somebody has open. The last
// is told.
func TestN8_ContinueChooses(t *testing.T) {
	b := newBench(t, calls(t, "spawn_agent", object{"task": "count"}), calls(t, "wait", object{"agent_id": "agent-1"}),
		fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	c := b.config()
	id, _ := b.submit(c, "the task")
	list, err := sessions.List(t.Context(), b.store, 0)
	if err != nil || len(list) != 2 {
		t.Fatalf("the list has %+v, %v", list, err)
	}
	for _, s := range list {
		if s.Parent == "" {
			continue
		}
		if s.Task != "count" {
			t.Fatalf("the subagent has the task %q", s.Task)
		}
		b.touch(s.ID, 5)
	}
	other := b.config()
	other.Dir = t.TempDir()
	elsewhere, _ := b.submit(other, "the task of elsewhere")
	b.touch(elsewhere, 4)
	start := func() (*agent.Session, func()) {
		setup, session := b.begin(c)
		return session, func() {
			if err := errors.Join(session.Close(), setup.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	idle, end := start()
	end()
	b.touch(idle.ID(), 7)
	text, err := os.ReadFile(filepath.Join(b.kept, id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.kept, "damaged.jsonl"),
		[]byte(strings.ReplaceAll(string(text), "the task", "the tusk")), 0o600); err != nil {
		t.Fatal(err)
	}
	b.touch("damaged", 6)
	session, end := start()
	again := config{Config: Config{Store: b.store, Dir: b.dir, Continue: true, Mode: permit.ModeFull}, Getenv: c.Getenv}
	if err := again.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.submit(again, "go on"); got != id {
		t.Errorf("the session %s was continued, want %s of %+v", got, id, list)
	}

	if _, err := session.Submit(t.Context(), "busy"); err != nil {
		t.Fatal(err)
	}
	b.touch(session.ID(), 3)
	var told []string
	// without Check
	again = config{Config: Config{Store: b.store, Dir: b.dir, Continue: true, Mode: permit.ModeFull}, Getenv: c.Getenv}
	got, _ := b.submit(again, "and on", func(o *agent.Options) {
		o.OnEvent = func(ev agent.Event) {
			if w, ok := ev.(*agent.Warning); ok && w.Code == "continue" {
				told = append(told, w.Text)
			}
		}
	})
	if got != id || len(told) != 1 || !strings.Contains(told[0], session.ID()) ||
		!strings.Contains(told[0], fmt.Sprintf("process %d has it open", os.Getpid())) {
		t.Errorf("the session %s was continued, and told was %q", got, told)
	}
	if err := b.store.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(t.Context(), again); !errors.Is(err, sessions.ErrNotFound) || !strings.Contains(err.Error(),
		session.ID()) {
		t.Errorf("with nothing but an open session: %v", err)
	}
	end()
}

// A session that has moved to another directory is not continued there without its user's
// knowledge.
func TestN8_ContinueOfMovedSession(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"}, fakellm.Turn{Text: "three"})
	c := b.config()
	id, _ := b.submit(c, "the task")
	moved := b.config()
	moved.Resume, moved.Dir = id, t.TempDir()
	b.submit(moved, "go on")
	c.Continue = true
	if _, err := prepare(t.Context(), c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(),
		"works in "+moved.Dir+" now") {
		t.Errorf("Open returns %v", err)
	}
	moved.Dir = ""
	b.submit(moved, "nobody has it open")
	if _, err := prepare(t.Context(), config{Config: Config{Dir: b.dir, Continue: true},
		Getenv: c.Getenv}); !errors.Is(err,
		sessions.ErrNoStore) {
		t.Errorf("without a store: %v", err)
	}
}

// BenchmarkN8_Continue reports what finding the newest session of a directory costs among 10,000,
// against listing them.
func BenchmarkN8_Continue(b *testing.B) {
	const many = 10_000
	dir, work := b.TempDir(), b.TempDir()
	store := journal.NewDir(dir)
	if err := longsession.Write(b.Context(), store, "0", 1); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "0.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	for i := 1; i < many; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	local, err := env.NewLocal(work, env.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	o := longsession.Options(local, 1)
	if o.Journal, err = store.Create(b.Context(), "newest"); err != nil {
		b.Fatal(err)
	}
	session, err := agent.New(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	_, err = session.Submit(b.Context(), "the task")
	if err := errors.Join(err, session.Close(), local.Close()); err != nil {
		b.Fatal(err)
	}
	var find, all time.Duration
	for b.Loop() {
		begin := time.Now()
		c := config{Config: Config{Store: store, Dir: work, Continue: true}}
		if err := c.check(b.Context()); err != nil || c.Resume != "newest" {
			b.Fatal(err, c.Resume)
		}
		middle := time.Now()
		if _, err := sessions.List(b.Context(), store, 0); err != nil {
			b.Fatal(err)
		}
		find, all = find+middle.Sub(begin), all+time.Since(middle)
	}
	b.ReportMetric(float64(find.Microseconds())/1e3/float64(b.N), "ms")
	b.ReportMetric(float64(find)/float64(all), "x-list")
	b.ReportMetric(0, "ns/op")
}
