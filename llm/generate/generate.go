package generate

import (
	"context"
	"errors"
	"iter"

	"github.com/attractor-go/attractor/llm"
)

// Generate calls the model, runs the tools that it calls, sends it their results, and repeats this.
// It returns when a response has no calls, the rounds are used up, StopWhen returns true, or a call
// is the caller's to run. Every failure is an [*llm.Error]. The result is never nil and holds the
// completed steps. A response that breaks off is retried like any other failure. Generate returns
// only after all its tools have returned.
func Generate(ctx context.Context, client *llm.Client, o Options) (*Result, error) {
	r, err := newRun(silently(client.Stream), o, nil)
	if err != nil {
		return &Result{}, err
	}
	err = r.loop(ctx, func(llm.StreamEvent) bool { return true })
	return &r.result, err
}

// TextStream is a generation in progress. It must be used by one goroutine.
type TextStream struct {
	ctx     context.Context
	run     *run
	err     error
	started bool
}

// Stream starts a generation like [Generate] that can be followed event by event. Nothing happens
// before the events are ranged over or the result is requested. A model call that has delivered
// content is not retried.
func Stream(ctx context.Context, client *llm.Client, o Options) *TextStream {
	r, err := newRun(client.Stream, o, nil)
	return &TextStream{ctx: ctx, run: r, err: err}
}

// Events returns the events of all steps: those of each model call except its EventFinish, an
// EventStepFinish with the step's response once its tools have run, and at the end one EventFinish
// with the last response. Blocks are numbered anew from each EventStart. A failure yields exactly
// one error, at the end. Breaking out of the loop ends the generation. The events can be ranged
// over once.
func (s *TextStream) Events() iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		if s.started {
			yield(llm.StreamEvent{}, llm.Errorf(llm.ErrInvalidRequest, "the events can be ranged over only once"))
			return
		}
		s.started = true
		if s.err == nil {
			s.err = errLeft // stays if the listener's loop panics
			s.err = s.run.loop(s.ctx, func(ev llm.StreamEvent) bool { return yield(ev, nil) })
		}
		if s.err != nil && !errors.Is(s.err, errLeft) {
			yield(llm.StreamEvent{}, s.err)
		}
	}
}

// Text returns the text of all steps, piece by piece.
func (s *TextStream) Text() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for ev, err := range s.Events() {
			if (err != nil || ev.Type == llm.EventTextDelta) && !yield(ev.Delta, err) {
				return
			}
		}
	}
}

// Result returns what [Generate] would have returned. It reads events that nobody has ranged over.
// After a loop that was left early, the error is an [llm.ErrAborted].
func (s *TextStream) Result() (*Result, error) {
	if !s.started {
		for range s.Events() { // an error is kept in s.err
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
