package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// TestMain fails the package when a process outlives its tests.
func TestMain(m *testing.M) { orphans.Verify(m.Run) }

type object = map[string]any

// fixture holds a real directory, and a session with background processes, for the tools of the
// native dialect.
type fixture struct {
	testing.TB
	dir     string
	env     env.Environment
	session tool.Session
	calls   int
}

// session is a session with background processes, whose ids begin with 7.
type session struct {
	tool.Plain
	outputs   *tool.DirOutputs
	processes *tool.ProcessTable
}

func (s *session) Outputs() tool.Outputs     { return s.outputs }
func (s *session) Processes() tool.Processes { return s.processes }

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{outputs: tool.NewOutputs(t.TempDir())}
	s.processes = tool.NewProcesses(s.outputs, 7)
	t.Cleanup(func() {
		for _, closer := range []interface{ Close() error }{s.processes, s.outputs, local} {
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return &fixture{TB: t, dir: dir, env: local, session: s}
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

// sh runs a command without the tools.
func (b *fixture) sh(script string) {
	b.Helper()
	got, err := env.Run(context.Background(), b.env, env.Command{Script: script}, time.Minute)
	if err != nil || got.Exit.Code != 0 {
		b.Fatalf("%s: %+v, %v", script, got, err)
	}
}

// call takes a call of a native tool through the whole pipeline.
func (b *fixture) call(ctx context.Context, name string, args object, call tool.Call,
	authorize tool.Authorize) *tool.Outcome {
	b.Helper()
	registry, err := tool.NewRegistry(Native().Tools...)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	b.calls++
	call.Env, call.Session = b.env, b.session
	out := registry.Run(ctx, llm.ToolCall{ID: fmt.Sprintf("call%d", b.calls), Name: name, Args: string(text)}, call,
		authorize)
	if out.Panic != "" {
		b.Fatal(out.Panic)
	}
	return out
}

func (b *fixture) run(name string, args object) *tool.Outcome {
	b.Helper()
	return b.call(context.Background(), name, args, tool.Call{}, nil)
}

func (b *fixture) exec(args object) *tool.Outcome {
	b.Helper()
	return b.run("exec_command", args)
}

func (b *fixture) stdin(args object) *tool.Outcome {
	b.Helper()
	return b.run("write_stdin", args)
}

// volatile matches what differs from run to run, and so checks its form.
var volatile = regexp.MustCompile(`(?m)^Chunk ID: [0-9a-f]{6}\nWall time: \d+\.\d{4} seconds\n`)

// want compares the result of a command without its first two lines.
func (b *fixture) want(what string, out *tool.Outcome, isError bool, want string) {
	b.Helper()
	text := out.Model.Text()
	rest := volatile.ReplaceAllString(text, "")
	if rest == text || rest != want || out.IsError != isError {
		b.Errorf("%s: error %v\n%s\nwant, after chunk and time:\n%s", what, out.IsError, text, want)
	}
}

// ranIs compares the Ran of a result, without the duration and the names of processes left running.
func ranIs(t *testing.T, what string, out *tool.Outcome, want tool.Ran) {
	t.Helper()
	if out.Ran == nil {
		t.Errorf("%s: the result says nothing of the command: %s", what, out.Model.Text())
		return
	}
	got := *out.Ran
	if got.Exit != nil {
		exit := *got.Exit
		if exit.Duration <= 0 {
			t.Errorf("%s: it took %v", what, exit.Duration)
		}
		exit.Duration = 0
		if len(exit.Left) > 0 {
			exit.Left = []string{"something"}
		}
		got.Exit = &exit
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}
