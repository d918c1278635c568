package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// maxOutput limits the bytes that are kept of each stream of a hook.
const maxOutput = 1 << 20

// killTime limits the wait for the end of the processes that a hook has left behind.
const killTime = 10 * time.Second

// Run describes one run of a hook, for people.
type Run struct {
	Hook *Hook
	// About is what the hook was run for, such as the name of a tool.
	About    string
	Code     int // -1 if the command did not end by itself
	Duration time.Duration
	// Stdout and Stderr are what the hook has printed, at most 1 MiB of each. Stdout is empty if
	// the hook has set suppressOutput.
	Stdout, Stderr string
	// Err says why the hook has no effect.
	Err error
}

// execute runs a hook to its end. Nothing that it started is left.
func (h *Hooks) execute(ctx context.Context, hook *Hook, input []byte) (r Run) {
	r = Run{Hook: hook, Code: -1}
	if h.o.Check != nil {
		if r.Err = h.o.Check(hook); r.Err != nil {
			return r
		}
	}
	e, err := h.o.Env(hook.Origin)
	if err != nil {
		r.Err = fmt.Errorf("it could not be started: %w", err)
		return r
	}
	out, errs := newOutput(), newOutput()
	take := func(stream int, p []byte) {
		if stream == env.Stderr {
			errs.Write(stream, p)
			return
		}
		out.Write(stream, p)
	}
	feed := &feeder{Base: env.Base{Environment: e}, input: input}
	result, err := env.Run(ctx, feed, env.Command{Script: hook.script(h.o.Project), Dir: h.dirOf(hook),
		Env: []string{"CLAUDE_PROJECT_DIR=" + h.o.Project}, Stdin: true, Output: take}, hook.Timeout)
	feed.close()
	if result.Process != nil {
		unhurried, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
		if left := result.Process.Kill(unhurried); left != nil && err == nil {
			err = fmt.Errorf("what it left running could not be ended: %w", left)
		}
		cancel()
	}
	r.Duration, r.Stdout, r.Stderr = result.Duration, h.mask(beginning(out)), h.mask(beginning(errs))
	switch {
	case ctx.Err() != nil:
		r.Err = context.Cause(ctx)
	case result.Process == nil:
		r.Err = fmt.Errorf("it could not be started: %w", err)
	case err != nil:
		r.Err = err
	default:
		r.Code, r.Err = result.Code, problemOf(&result, r.Stderr)
		if over, _, _ := out.Omission(); r.Err == nil && over > 0 && result.Code == 0 {
			r.Err = fmt.Errorf("it printed more than %d MiB", maxOutput>>20)
		}
	}
	return r
}

// problemOf returns an error if a command did not end as a hook should, with the code 0 or 2.
func problemOf(r *env.Result, stderr string) error {
	said := ""
	if text := strings.Join(strings.Fields(sanitize.Text(stderr)), " "); text != "" {
		said = ": " + texts.Cut(text, 500, " [...]")
	}
	switch {
	case r.TimedOut:
		return fmt.Errorf("it was ended because it took longer than %v", r.Timeout)
	case r.Signal != "":
		return fmt.Errorf("it was ended by %s%s", r.Signal, said)
	case r.Code == 126, r.Code == 127:
		return fmt.Errorf("it could not be started%s", cmp.Or(said, fmt.Sprintf(": code %d", r.Code)))
	case r.Code != 0 && r.Code != 2:
		return fmt.Errorf("it ended with code %d%s", r.Code, said)
	}
	return nil
}

// script returns what the shell runs.
func (h *Hook) script(project string) string {
	if h.Args == nil {
		return h.Command
	}
	words := []string{"exec"}
	for _, word := range append([]string{h.Command}, h.Args...) {
		for _, name := range []string{"${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"} {
			word = strings.ReplaceAll(word, name, project)
		}
		words = append(words, shquote.Words(word))
	}
	return strings.Join(words, " ")
}

// newOutput returns a buffer for the beginning of a stream.
func newOutput() *capture.Buffer { return capture.New(capture.Options{Head: maxOutput, Tail: -1}) }

func beginning(b *capture.Buffer) string {
	head, _ := b.Bytes()
	return string(head)
}

// feeder is an environment that writes to the input of the command that it starts. A command need
// not read it.
type feeder struct {
	env.Base
	input   []byte
	process env.Process
	writing sync.WaitGroup
}

// Start implements env.Environment.
func (f *feeder) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	p, err := f.Environment.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	f.process = p
	f.writing.Go(func() {
		_, _ = p.Stdin().Write(f.input) // the command may have ended, or may not read
		_ = p.Stdin().Close()
	})
	return p, nil
}

// close ends the writing.
func (f *feeder) close() {
	if f.process != nil {
		_ = f.process.Stdin().Close() // which may be closed already
	}
	f.writing.Wait()
}

// result returns what a run says.
func (h *Hooks) result(r *Run) (answer, error) {
	switch {
	case r.Err != nil:
		return answer{}, r.Err
	case r.Code == 0:
		return read(r.Hook.Event, r.Stdout, h.blocks(r.Hook))
	}
	text := clean(r.Stderr)
	switch r.Hook.Event {
	case SessionStart, SessionEnd, Notification, SubagentStart:
		return answer{messages: []string{cmp.Or(text, "the hook ended with code 2")}}, nil
	}
	return answer{stance: Denies, reason: cmp.Or(text, fmt.Sprintf("a hook for %s blocks it", r.Hook.Event))}, nil
}

// encode returns the JSON for hooks, with secrets masked.
func (h *Hooks) encode(payload map[string]any) ([]byte, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	if h.o.Mask != nil {
		data = h.o.Mask.JSON(data)
	}
	return append(data, '\n'), nil
}

// mask returns a text with secrets masked.
func (h *Hooks) mask(text string) string {
	if h.o.Mask == nil {
		return text
	}
	return h.o.Mask.String(text)
}

// errEnded says that the hooks are over.
var errEnded = errors.New("the session has ended")
