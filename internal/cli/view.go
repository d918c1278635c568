package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/sanitize"
)

// view shows a session. Its method show is the session's OnEvent.
type view struct {
	events io.Writer // to standard output, with --json
	stdout io.Writer
	// progress writes to standard error, for a person. It is nil with --json.
	progress *render.Session
	w        io.Writer // to standard error, for progress
	// warnings gets the warnings with --json, for a person beside the events. Nil shows none.
	warnings io.Writer
	// once suppresses an answer that progress has shown, because both go to the same place.
	once bool
	last *lastLine // of the terminal; nil without one
	// richOut says that the answer is for a screen.
	richOut bool

	failed context.Context // ends with the error of the first event that could not be written
	fail   context.CancelCauseFunc
}

// styleOf returns how text looks on a stream.
func styleOf(stream any, getenv func(string) string) render.Style {
	return render.Style{Colour: isTerminal(stream) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// newView returns a view of a session. Answers are rendered as Markdown on a screen if they are
// known to be for people.
func newView(t terminal, asJSON, markdown bool) *view {
	v := &view{stdout: t.out}
	v.failed, v.fail = context.WithCancelCause(context.Background())
	if asJSON {
		v.events = inForm(t.out, sanitize.JSON)
		return v
	}
	style := styleOf(t.err, os.Getenv)
	if markdown && hasScreen(t.err, os.Getenv) {
		style.Rich = true
		style.Width = widthOf(t.err)
	}
	v.progress = render.NewSession(style)
	v.richOut = markdown && hasScreen(t.out, os.Getenv)
	v.w = inForm(t.err, sanitize.Coloured)
	v.once = samePlace(t.out, t.err)
	return v
}

// show shows an event of the session.
func (v *view) show(ev agent.Event) {
	if v.events == nil {
		if text := v.last.event(ev, v.progress); text != "" {
			fmt.Fprint(v.w, text) // errors are ignored: progress is best effort
		}
		return
	}
	if w, ok := ev.(*agent.Warning); ok && v.warnings != nil {
		warn(v.warnings, w.Text)
	}
	v.write(ev)
}

// showOwn shows an event of the host to a program. A person is asked instead.
func (v *view) showOwn(ev attractor.Event) {
	if v.events != nil {
		v.write(ev)
	}
}

// write writes an event, unless an earlier one could not be written.
func (v *view) write(ev any) {
	if v.failure() != nil {
		return
	}
	if err := writeLine(v.events, ev); err != nil {
		v.fail(err)
	}
}

// failure returns the first error of a write of an event.
func (v *view) failure() error { return context.Cause(v.failed) }

// writeLine writes a value as a line of JSON.
func writeLine(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// onFailure has a function called on a goroutine of its own when events can no longer be written.
func (v *view) onFailure(abort func()) { context.AfterFunc(v.failed, abort) }

// answer prints the final answer, which is all that standard output gets without --json. An
// incomplete input may have none.
func (v *view) answer(result *agent.Result) error {
	if v.events != nil || v.once && v.progress.HasShown(result.Text) || result.Reason != agent.ReasonCompleted &&
		result.Text == "" {
		return nil
	}
	text := result.Text + "\n"
	if v.richOut {
		style := styleOf(v.stdout, os.Getenv)
		style.Width = widthOf(v.stdout)
		m := render.NewMarkdown(style)
		text = m.Add(text) + m.End()
	}
	_, err := io.WriteString(inForm(v.stdout, sanitize.Coloured), text)
	return err
}
