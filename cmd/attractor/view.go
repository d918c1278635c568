package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/sanitize"
)

// view shows a session. Its show method is the session's OnEvent: one event at a time.
type view struct {
	events *json.Encoder // with --json: the events, on standard output
	stdout io.Writer
	// progress is what a person watches, on standard error. With --json there is none.
	progress *progress
	// warnings is where the warnings go with --json, for a person beside the events. Nil shows none.
	warnings io.Writer
	// once says that the answer is not printed if it was shown as it came, because both go to the same place.
	once   bool
	abort  func()
	failed error // the first write that failed
}

func newView(t terminal, asJSON bool) *view {
	v := &view{stdout: t.out}
	if asJSON {
		v.events = json.NewEncoder(inForm(t.out, sanitize.JSON))
		v.events.SetEscapeHTML(false)
		return v
	}
	v.progress = &progress{w: inForm(t.err, sanitize.Coloured), colour: isTerminal(t.err) && os.Getenv("NO_COLOR") == "", start: time.Now(),
		running: map[string]*agent.ToolCallStart{}}
	v.once = samePlace(t.out, t.err)
	return v
}

func (v *view) show(ev agent.Event) {
	if v.events == nil {
		v.progress.show(ev)
		return
	}
	if w, ok := ev.(*agent.Warning); ok && v.warnings != nil {
		fmt.Fprintln(v.warnings, "attractor: warning: "+plainError(w.Text))
	}
	if v.failed != nil {
		return
	}
	if v.failed = v.events.Encode(ev); v.failed != nil && v.abort != nil {
		v.abort()
	}
}

// onFailure says what to do when events can no longer be written; at once, when that is so already.
func (v *view) onFailure(abort func()) {
	v.abort = abort
	if v.failed != nil {
		abort()
	}
}

// answer prints the final answer, which is all that standard output gets in text mode. An input that did not complete may have left none.
func (v *view) answer(result *agent.Result) error {
	if v.events != nil || v.once && v.progress.hasShown(result.Text) || result.Reason != agent.Completed && result.Text == "" {
		return nil
	}
	_, err := fmt.Fprintln(v.stdout, result.Text)
	return err
}
