package tool

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/env"
)

// oneLine is a process that ends when it has read a line, before the write returns.
type oneLine struct {
	env.Environment
	env.Process
	read chan struct{}
}

func (p oneLine) Start(context.Context, env.Command) (env.Process, error) { return p, nil }

func (p oneLine) Stdin() io.WriteCloser { return p }

func (p oneLine) Write(data []byte) (int, error) {
	close(p.read)
	synctest.Wait() // until its end has been noticed
	return len(data), nil
}

func (p oneLine) Close() error { return nil }

func (p oneLine) Wait(context.Context) (env.Exit, error) {
	<-p.read
	return env.Exit{}, nil
}

func (p oneLine) Kill(context.Context) error { return nil }

// A write to a process that ends because of that input succeeds.
func TestC7_InputThatEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewProcesses(nil, 1)
		id, err := table.Start(t.Context(), oneLine{read: make(chan struct{})}, env.Command{Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Write(t.Context(), id, "it\n"); err != nil {
			t.Error(err)
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
}
