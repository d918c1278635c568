package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// script is a script for the shell of a workspace.
type script struct {
	text string
	in   io.Reader // nil for no input
	out  io.Writer // nil discards the output
}

// scriptError says how a script failed.
type scriptError struct {
	code   int
	stderr string
}

// Error implements error.
func (e *scriptError) Error() string {
	if text := lastLines(e.stderr, 3); text != "" {
		return text
	}
	return fmt.Sprintf("exit code %d", e.code)
}

// killTime bounds how long a script that is killed may take to end.
const killTime = 10 * time.Second

// runScript runs a script in an environment until it ends, or ctx does.
func runScript(ctx context.Context, e env.Environment, s script) error {
	stderr := &tail{max: 8 << 10}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := e.Start(ctx, env.Command{Script: s.text, Stdin: s.in != nil, Env: quiet,
		Output: func(stream int, data []byte) {
			to := s.out
			if stream == env.Stderr {
				to = stderr
			}
			if to == nil {
				return
			}
			if _, err := to.Write(data); err != nil {
				cancel(err)
			}
		}})
	if err != nil {
		return err
	}
	fed := make(chan error, 1)
	go func() { fed <- feed(p, s.in) }()
	exit, err := p.Wait(ctx)
	if err = cmp.Or(context.Cause(ctx), err); err != nil {
		unhurried, done := context.WithTimeout(context.WithoutCancel(ctx), killTime)
		defer done()
		return errors.Join(err, p.Kill(unhurried))
	}
	if exit.Code != 0 || exit.Signal != "" {
		return &scriptError{code: exit.Code, stderr: stderr.String()}
	}
	return <-fed
}

// scriptOutput returns what a script prints.
func scriptOutput(ctx context.Context, e env.Environment, text string) (string, error) {
	var out bytes.Buffer
	err := runScript(ctx, e, script{text: text, out: &limited{to: &out, left: maxOutput}})
	return out.String(), err
}

// feed writes the input of a process. It returns when the input ends, or the process.
func feed(p env.Process, in io.Reader) error {
	if in == nil {
		return nil
	}
	_, err := io.Copy(p.Stdin(), in)
	return errors.Join(err, p.Stdin().Close())
}

// gitScript returns a shell command that runs git with the settings of hardening and arguments.
func gitScript(args ...string) string {
	words := []string{"git"}
	for _, s := range hardening {
		words = append(words, "-c", shquote.Words(s))
	}
	return strings.Join(append(words, shquote.Words(args...)), " ")
}
