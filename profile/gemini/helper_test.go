package gemini_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/tool"
)

// fixture holds a real directory, and a session with background processes, for the tools of the
// native dialect.
type fixture struct {
	*testing.T
	dir      string
	env      env.Environment
	registry *tool.Registry
	session  tool.Session
}

type session struct {
	tool.Plain
	processes *tool.ProcessTable
}

func (s *session) Processes() tool.Processes { return s.processes }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tool.NewRegistry(gemini.Native().Tools...)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{processes: tool.NewProcesses(nil, 1)}
	t.Cleanup(func() {
		if err := s.processes.Close(); err != nil {
			t.Error(err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t, dir, local, registry, s}
}

func (b *fixture) put(name, content string) {
	b.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *fixture) get(name string) string {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(content)
}

type object = map[string]any

// run takes a call through the whole pipeline, and returns what the model sees.
func (b *fixture) run(name string, args object) (text string, failed bool) {
	b.Helper()
	out := b.outcome(name, args)
	return out.Model.Text(), out.IsError
}

func (b *fixture) outcome(name string, args object) *tool.Outcome {
	b.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	out := b.registry.Run(context.Background(), llm.ToolCall{ID: "c1", Name: name, Args: string(data)},
		tool.Call{Env: b.env, Session: b.session}, nil)
	if out.Panic != "" {
		b.Fatalf("%s panicked: %s", name, out.Panic)
	}
	return out
}

// is runs a call that must succeed with exactly the text.
func (b *fixture) is(name string, args object, want string) {
	b.Helper()
	if got, failed := b.run(name, args); failed || got != want {
		b.Errorf("%s(%v) failed: %v\n%s\nwant\n%s", name, args, failed, got, want)
	}
}

// has runs a call that must succeed or fail as given, with the texts in its result.
func (b *fixture) has(name string, args object, fails bool, want ...string) string {
	b.Helper()
	got, failed := b.run(name, args)
	if failed != fails {
		b.Errorf("%s(%v) failed: %v\n%s", name, args, failed, got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			b.Errorf("%s(%v) does not say %q:\n%s", name, args, w, got)
		}
	}
	return got
}
