package web_test

import (
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// workshop has a directory in which sessions with real tools work, and the store of their journals.
type workshop struct {
	*testing.T
	dir    string // of the journals
	store  *journal.Dir
	local  *env.Local
	asleep chan struct{} // closed when the model of the story waits
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	return &workshop{T: t, dir: dir, store: journal.NewDir(dir), local: local}
}

// start begins a session whose model answers with the steps. The test closes it.
func (w *workshop) start(id string, steps ...llmtest.Step) *agent.Session {
	w.Helper()
	log, err := w.store.Create(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	s, err := agent.New(w.Context(), agent.Options{ID: id, Journal: log, Env: w.local,
		Limits:    agent.Limits{KeepOutputs: 64 << 20, Diffs: 64 << 10},
		OutputDir: w.TempDir(), Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", steps...)}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "m",
			Tools: []tool.Tool{coding.Shell(time.Minute), coding.WriteFile()}}})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() }) // a test that has failed before
	return s
}

// submit has a session work on an input.
func (w *workshop) submit(s *agent.Session, text string) {
	w.Helper()
	if result, err := s.Submit(w.Context(), text); err != nil || result.Reason != agent.ReasonCompleted {
		w.Fatalf("%q ended with %+v, %v", text, result, err)
	}
}

// session runs a whole session.
func (w *workshop) session(id string, steps ...llmtest.Step) {
	w.Helper()
	s := w.start(id, steps...)
	w.submit(s, "begin")
	if err := s.Close(); err != nil {
		w.Fatal(err)
	}
}

// shell returns a call of the shell.
func shell(command string) llm.ToolCall {
	return llmtest.Call("shell", map[string]any{"command": command})
}
