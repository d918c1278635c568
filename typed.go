package attractor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// TypedNote is the kind of the note that tells the model of a command that a person has run.
const TypedNote = "attractor.typed"

// What the model is told of a command of a person, in characters and bytes. A note has room for
// 64 KiB.
const (
	maxTypedOutput  = 12_000
	maxTypedCommand = 8 << 10
)

// RunTyped runs a command that a person has written, where the session's commands run. Nobody is
// asked about it, but what a rule or a hook denies does not run, the sandbox and the limits hold,
// and secrets are masked. show gets what the command prints as it comes, in order; it may be nil.
// The model is told the command and what it printed before its next answer. The error is an
// [ErrRefused] if the command was not run; a command that fails is none. The end of the context
// ends the command. The session has to be started.
func (s *Setup) RunTyped(ctx context.Context, command string, show func(text string)) (*tool.Ran, error) {
	shell := coding.Shell(env.MaxTimeout)
	shell.Limit.Chars = maxTypedOutput
	tools, err := tool.NewRegistry(shell)
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return nil, err
	}
	out := &shownOutput{show: show}
	for stream := range out.masks {
		out.masks[stream] = s.Secrets.Stream()
	}
	call := llm.ToolCall{ID: fmt.Sprintf("typed-%d", s.typed.Add(1)), Name: "shell", Args: string(args)}
	c := tool.Call{Env: s.Options.Env, SessionID: s.Options.ID, Session: new(tool.Plain), Live: out.write}
	p, _ := tools.Authorize(ctx, tools.Prepare(call), c, s.Gate.Typed)
	if p.Outcome != nil {
		return nil, fail(ErrRefused, "%s", strings.TrimPrefix(p.Outcome.Model.Text(), "Error: "))
	}
	o := p.Run(ctx, c, s.Options.Middleware, nil)
	out.end()
	switch ran := o.Ran; {
	case ran != nil:
	case o.IsError: // a hook kept it from running
		return nil, fail(ErrRefused, "%s", strings.TrimPrefix(o.Model.Text(), "Error: "))
	default: // a patch
		out.put(o.Model.Text())
		o.Ran = &tool.Ran{Exit: new(env.Exit)}
	}
	return o.Ran, s.tellTyped(context.WithoutCancel(ctx), command, o.Model.Text())
}

// tellTyped tells the model of a command that a person has run.
func (s *Setup) tellTyped(ctx context.Context, command, printed string) error {
	command = texts.Cut(command, maxTypedCommand, " [cut]")
	data, err := json.Marshal(map[string]string{"command": s.Secrets.String(command)})
	if err != nil {
		return err
	}
	text := "The user ran this command, without you:\n\n$ " + command + "\n" + strings.TrimSuffix(printed, "\n") +
		"\n\nDo nothing about it unless the user asks."
	if err := s.session.Note(ctx, TypedNote, data, s.Secrets.String(text)); err != nil {
		return fmt.Errorf("the command ran, but the model cannot be told: %w", err)
	}
	return nil
}

// shownOutput cleans and masks what a command prints, and shows it as it comes.
type shownOutput struct {
	show func(text string)

	mu       sync.Mutex
	ended    bool
	cleaners [env.Stderr + 1]sanitize.Cleaner
	masks    [env.Stderr + 1]*secret.Stream
}

// write shows a piece of a stream.
func (o *shownOutput) write(stream int, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || stream < 0 || stream >= len(o.masks) {
		return
	}
	o.put(o.masks[stream].Next(string(o.cleaners[stream].Append(nil, p))))
}

// end shows what was held back. What comes later is dropped.
func (o *shownOutput) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	for stream, mask := range o.masks {
		o.put(mask.Next(string(o.cleaners[stream].Flush(nil))) + mask.Flush())
	}
}

// put shows a text that is clean and masked.
func (o *shownOutput) put(text string) {
	if text != "" && o.show != nil {
		o.show(text)
	}
}
