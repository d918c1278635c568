package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

func TestMain(m *testing.M) {
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// host holds what the sketches' sessions need: a directory with a real environment, journals on
// disk, and a scripted model.
type host struct {
	dir      string
	env      *env.Local
	journals string // the directory of store
	store    *journal.Dir
	model    *llmtest.Provider

	mu     sync.Mutex
	events []agent.Event
}

// newHost returns a host whose model answers with the given steps.
func newHost(t *testing.T, o env.LocalOptions, steps ...llmtest.Step) *host {
	t.Helper()
	h := &host{dir: t.TempDir(), journals: t.TempDir(), model: llmtest.NewProvider("test", steps...)}
	h.store = journal.NewDir(h.journals)
	var err error
	if h.env, err = env.NewLocal(h.dir, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.env.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// coder returns a profile with the tools of a coding agent.
func coder() profile.Profile {
	return profile.Profile{Name: "coder", Provider: "test", Model: "model-1", Tools: []tool.Tool{coding.ReadFile(),
		coding.WriteFile(), coding.EditFile(),
		coding.Shell(10 * time.Second), coding.Grep(), coding.UpdatePlan()}}
}

// options returns the options of a session of the host, with a new or an opened journal.
func (h *host) options(t *testing.T, id string) agent.Options {
	t.Helper()
	log, err := h.store.Open(t.Context(), id)
	if errors.Is(err, os.ErrNotExist) {
		log, err = h.store.Create(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return agent.Options{ID: id, Client: &llm.Client{Providers: []llm.Provider{h.model}}, Profile: coder(), Env: h.env,
		System: "You are a sketch.", Journal: log, OnEvent: h.on}
}

func (h *host) on(ev agent.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, ev)
}

// start starts a session, or resumes the one in the journal. At the end of the test it is closed,
// and its journal must replay.
func (h *host) start(t *testing.T, o agent.Options) *agent.Session {
	t.Helper()
	open := agent.New
	if o.Journal.Len() > 0 {
		open = agent.Resume
	}
	s, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, agent.ErrReleased) && !errors.Is(err, agent.ErrTakenOver) {
			t.Errorf("Close: %v", err)
		}
		replay(t, h.store, o.ID)
	})
	return s
}

func replay(t *testing.T, store journal.Store, id string) {
	t.Helper()
	log, err := store.Read(context.Background(), id)
	if err == nil {
		err = errors.Join(agent.Replay(context.Background(), log, agent.ReplayOptions{}), log.Close())
	}
	if err != nil {
		t.Errorf("replay: %v", err)
	}
}

// submit submits a task and checks the reason of its end.
func submit(t *testing.T, s *agent.Session, task string, want agent.Reason) *agent.Result {
	t.Helper()
	result, err := s.Submit(t.Context(), task)
	if err != nil || result.Reason != want {
		t.Fatalf("Submit = %+v, %v; want the reason %s", result, err, want)
	}
	return result
}

// callEnds returns the TOOL_CALL_END events so far, in order.
func (h *host) callEnds() (ends []*agent.ToolCallEnd) { return only[*agent.ToolCallEnd](h) }

// only returns the events of a type, in order.
func only[E agent.Event](h *host) (events []E) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ev := range h.events {
		if e, ok := ev.(E); ok {
			events = append(events, e)
		}
	}
	return events
}

// shell returns a call that runs a script.
func shell(script string) llm.ToolCall {
	return llmtest.Call("shell", map[string]string{"command": script})
}

// write writes a file in a directory, and read reads one.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content),
		0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mustJSON returns the JSON of a value that can always be encoded.
func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
