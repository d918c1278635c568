package tool

import (
	"context"
	"io"
	"strings"
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

// deaf is a process that takes no input and whose input cannot be closed.
type deaf struct {
	oneLine
	killed chan struct{}
}

func (p deaf) Start(context.Context, env.Command) (env.Process, error) { return p, nil }

func (p deaf) Stdin() io.WriteCloser { return p }

func (p deaf) Write([]byte) (int, error) {
	<-p.killed
	return 0, io.ErrClosedPipe
}

func (p deaf) Close() error {
	<-p.killed
	return nil
}

func (p deaf) Wait(context.Context) (env.Exit, error) {
	<-p.killed
	return env.Exit{}, nil
}

func (p deaf) Kill(context.Context) error {
	close(p.killed)
	return nil
}

// Neither a write nor the end of the input waits for ever, also without a deadline of the caller.
func TestC7_InputThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewProcesses(nil, 1)
		id, err := table.Start(t.Context(), deaf{killed: make(chan struct{})}, env.Command{Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"Write": table.Write(t.Context(), id, "it\n"),
			"EndInput": table.EndInput(t.Context(), id)} {
			if err == nil || !strings.Contains(err.Error(), "does not read its input (it took none for 10 s)") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
}

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
