package openai

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// cut is an environment whose connection breaks while a command runs.
type cut struct{ env.Environment }

func (cut) Start(_ context.Context, c env.Command) (env.Process, error) {
	c.Output(env.Stdout, []byte("half of "))
	return gone{}, nil
}

type gone struct{ env.Process }

func (gone) ID() string { return "1" }

func (gone) Wait(context.Context) (env.Exit, error) {
	return env.Exit{}, fmt.Errorf("wait: %w (EOF)", env.ErrLost)
}

func (gone) Kill(context.Context) error { return nil }

// A command whose connection breaks has a result with its output, which says that nobody knows how
// far it had come.
func TestO1_LostExecCommand(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.env = cut{b.env}
	o := b.exec(object{"cmd": "make"})
	for _, want := range []string{"half of", "the connection to the environment was lost",
		"how far it had come is unknown"} {
		if text := o.Model.Text(); !o.IsError || !strings.Contains(text, want) {
			t.Errorf("the result has no %q: %s", want, text)
		}
	}
}
