package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/attractor-go/attractor/agent"
)

// view shows a session. Its show method is the session's OnEvent: one event at a time.
type view struct {
	events *json.Encoder // with --json: the events, on standard output
	stdout io.Writer
	// progress is what a person watches, on standard error. With --json there is none.
	progress *progress
	// repeat says that the answer is printed at the end although its text was shown as it came.
	repeat bool
	abort  func()
	failed error // the first write that failed
}

func newView(t terminal, asJSON bool) *view {
	v := &view{stdout: t.out, repeat: true}
	if asJSON {
		v.events = json.NewEncoder(t.out)
		v.events.SetEscapeHTML(false)
		return v
	}
	onTerminal := isTerminal(t.err)
	v.progress = &progress{w: t.err, colour: onTerminal && os.Getenv("NO_COLOR") == "", start: time.Now(),
		running: map[string]*agent.ToolCallStart{}}
	v.repeat = !onTerminal || !isTerminal(t.out)
	return v
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (v *view) show(ev agent.Event) {
	if v.events == nil {
		v.progress.show(ev)
		return
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
	if v.events != nil || !v.repeat || result.Reason != agent.Completed && result.Text == "" {
		return nil
	}
	_, err := fmt.Fprintln(v.stdout, result.Text)
	return err
}
