package coding

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// fixture holds a directory, the real environment on it, and what a call gets.
type fixture struct {
	testing.TB
	dir string
	env env.Environment
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	e, err := env.NewLocal(dir, env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t, dir, e}
}

// put writes a file without the tools.
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

// run takes a call through the whole pipeline.
func (b *fixture) run(t tool.Tool, args any) *tool.Outcome {
	b.Helper()
	return b.runCall(context.Background(), t, args, tool.Call{})
}

func (b *fixture) runCall(ctx context.Context, t tool.Tool, args any, call tool.Call) *tool.Outcome {
	b.Helper()
	r, err := tool.NewRegistry(t)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	call.Env = b.env
	if call.Session == nil {
		call.Session = new(tool.Plain)
	}
	out := r.Run(ctx, llm.ToolCall{ID: "c1", Name: t.Name, Args: string(text)}, call, nil)
	if out.Panic != "" {
		b.Fatalf("%s panicked: %s", t.Name, out.Panic)
	}
	return out
}

// ok runs a call that must succeed and returns what the model sees.
func (b *fixture) ok(t tool.Tool, args any) string {
	b.Helper()
	out := b.run(t, args)
	if out.IsError {
		b.Fatalf("%s(%v) failed: %s", t.Name, args, out.Model.Text())
	}
	return out.Model.Text()
}

// fails runs a call that must fail with all of the given texts.
func (b *fixture) fails(t tool.Tool, args any, want ...string) string {
	b.Helper()
	out := b.run(t, args)
	text := out.Model.Text()
	if !out.IsError {
		b.Fatalf("%s(%v) succeeded: %s", t.Name, args, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			b.Errorf("%s(%v): the error does not say %q:\n%s", t.Name, args, w, text)
		}
	}
	return text
}

type object = map[string]any

// parameters holds the parts of a JSON Schema that the tests check.
type parameters struct {
	Type       string
	Required   []string
	Properties map[string]struct{ Type, Description string }
}

func parseParameters(t testing.TB, schema json.RawMessage) parameters {
	t.Helper()
	var p parameters
	if err := json.Unmarshal(schema, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// sorted returns the names, sorted and joined.
func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, " ")
}
