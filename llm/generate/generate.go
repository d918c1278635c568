package generate

import (
	"context"
	"errors"
	"iter"

	"github.com/attractor-go/attractor/llm"
)

// Generate calls the model, runs the tools that it calls, gives it their results, and so on until it answers without calls, the
// rounds are used up, StopWhen says so, or a call is the caller's to run. Every failure is an [*llm.Error]; the result is
// never nil and holds the steps that were done before it. An answer that breaks off is retried like any other failure. It
// returns after every tool that it started has.
func Generate(ctx context.Context, client *llm.Client, o Options) (*Result, error) {
	r, err := newRun(silently(client.Stream), o, nil)
	if err != nil {
		return &Result{}, err
	}
	err = r.loop(ctx, func(llm.StreamEvent) bool { return true })
	return &r.result, err
}

// Streaming is a generation whose events can be watched. It is for one goroutine.
type Streaming struct {
	ctx     context.Context
	run     *run
	err     error
	started bool
}

// Stream is Generate with events. Nothing happens before the events are ranged over, or the result is asked for. A model call
// that has delivered content is not retried.
func Stream(ctx context.Context, client *llm.Client, o Options) *Streaming {
	r, err := newRun(client.Stream, o, nil)
	return &Streaming{ctx: ctx, run: r, err: err}
}

// Events are the events of all steps: those of each model call without its EventFinish (blocks are counted anew from its
// EventStart), an EventStepFinish with the step's answer once the step's tools have run, and at the very end one EventFinish
// with the last answer. Any other end is exactly one error. Leaving the loop ends the generation. It can be ranged over once.
func (s *Streaming) Events() iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		if s.started {
			yield(llm.StreamEvent{}, llm.Errorf(llm.ErrInvalidRequest, "the events were ranged over before"))
			return
		}
		s.started = true
		if s.err == nil {
			s.err = errLeft // until it is known better, should the listener's loop panic
			s.err = s.run.loop(s.ctx, func(ev llm.StreamEvent) bool { return yield(ev, nil) })
		}
		if s.err != nil && !errors.Is(s.err, errLeft) {
			yield(llm.StreamEvent{}, s.err)
		}
	}
}

// Text is the text of the events, piece by piece, of all steps.
func (s *Streaming) Text() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for ev, err := range s.Events() {
			if (err != nil || ev.Type == llm.EventTextDelta) && !yield(ev.Delta, err) {
				return
			}
		}
	}
}

// Result is what Generate would have returned. Events that nobody has ranged over are read to their end; after a loop that was
// left early the error is an [llm.ErrAborted].
func (s *Streaming) Result() (*Result, error) {
	if !s.started {
		for range s.Events() { // what is wrong is kept
		}
	}
	if s.run == nil {
		return &Result{}, s.err
	}
	if errors.Is(s.err, errLeft) {
		return &s.run.result, &llm.Error{Kind: llm.ErrAborted, Message: errLeft.Error()}
	}
	return &s.run.result, s.err
}
