package coding_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// cut is an environment whose connection breaks during each operation.
type cut struct{ env.Environment }

func (c cut) lost(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%w: EOF", env.ErrLost)}
}

func (c cut) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return nil, c.lost("open", name)
}

func (c cut) WriteFile(_ context.Context, name string, _ []byte, _ fs.FileMode) error {
	return c.lost("write", name)
}

func (c cut) Start(_ context.Context, cmd env.Command) (env.Process, error) {
	cmd.Output(env.Stdout, []byte("half of "))
	return gone{}, nil
}

// late is an environment whose connection broke before an operation.
type late struct{ env.Environment }

func (late) Start(context.Context, env.Command) (env.Process, error) {
	return nil, fmt.Errorf("start command: %w (EOF)", env.ErrLostBefore)
}

// A command that could not be started because the connection had broken before has not run, and its
// result does not say otherwise.
func TestO1_LostBeforeTheCommand(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(coding.Shell(0))
	if err != nil {
		t.Fatal(err)
	}
	o := r.Prepare(llm.ToolCall{ID: "1", Name: "shell", Args: `{"command":"make"}`}).Run(t.Context(),
		tool.Call{Env: late{envtest.NewMemory(nil)}, Session: new(tool.Plain)}, nil, nil)
	if text := o.Model.Text(); !o.IsError || !strings.Contains(text, "was lost before this") ||
		strings.Contains(text, "unknown") || o.Ran.Lost {
		t.Errorf("the result is %s", text)
	}
}

// gone is a command whose connection has broken.
type gone struct{ env.Process }

func (gone) ID() string { return "1" }

func (gone) Wait(context.Context) (env.Exit, error) {
	return env.Exit{}, fmt.Errorf("wait: %w: EOF", env.ErrLost)
}

func (gone) Kill(context.Context) error { panic("a command of a lost connection is killed") }

// A call whose connection breaks says that what it did is unknown if it may have done something,
// with the output up to then, and that the next call connects again.
func TestO1_LostConnection(t *testing.T) {
	t.Parallel()
	const unknown, again = "had done by then is unknown", "The next call tries to connect again."
	for _, tt := range []struct {
		tool tool.Tool
		args string
		want []string
		not  string
	}{
		{coding.Shell(0), `{"command":"make"}`, []string{"half of", "connection to the environment was lost: EOF",
			"Output up to then is shown above", "is unknown", again}, "exit code"},
		{coding.ReadFile(), `{"file_path":"a"}`,
			[]string{"open a: the connection to the environment was lost: EOF. " + again}, "unknown"},
		{coding.WriteFile(), `{"file_path":"b","content":"x"}`, []string{"connection to the environment was lost",
			unknown, again}, ""},
		{coding.EditFile(), `{"file_path":"a","old_string":"x","new_string":"y"}`,
			[]string{"connection to the environment was lost", again}, ""},
		{coding.ApplyPatch(), `{"patch":"*** Begin Patch\n*** Add File: c\n+x\n*** End Patch"}`,
			[]string{"connection to the environment was lost", "is unknown", again}, ""},
		{coding.Grep(), `{"pattern":"x","path":"a"}`, []string{"connection to the environment was lost", again},
			"unknown"},
	} {
		t.Run(tt.tool.Name, func(t *testing.T) {
			t.Parallel()
			memory := envtest.NewMemory(map[string]string{"a": "x\n"})
			r, err := tool.NewRegistry(tt.tool)
			if err != nil {
				t.Fatal(err)
			}
			call := llm.ToolCall{ID: "1", Name: tt.tool.Name, Args: tt.args}
			o := r.Prepare(call).Run(t.Context(), tool.Call{Env: cut{memory}, Session: new(tool.Plain)}, nil, nil)
			text := o.Model.Text()
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("the result has no %q: %s", want, text)
				}
			}
			if !o.IsError || tt.not != "" && strings.Contains(text, tt.not) {
				t.Errorf("the result is %s, an error: %v", text, o.IsError)
			}
		})
	}
}
