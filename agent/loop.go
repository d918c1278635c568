package agent

import (
	"context"
	"errors"
	"time"
)

// run is the loop: ask what to do, do it, and ask again. Whatever a step comes to is committed to the journal before the next
// question, so that the answer depends on nothing else. It returns when the session is at rest, or with an error of ours; a
// failure of the model or of a tool is a record like any other.
func (s *Session) run(ctx context.Context) error {
	for {
		step, err := s.decide(ctx)
		if err == nil && step.Act == Rest {
			return nil
		}
		if err == nil {
			err = s.do(ctx, step)
		}
		if err != nil && !isFull(err) { // a log that is full ends the input in order
			return err
		}
	}
}

// do takes the steps that need work; the others are done when they are decided.
func (s *Session) do(ctx context.Context, step Step) error {
	switch step.Act {
	case Run:
		return s.runCalls(ctx, step)
	case Call:
		return s.callModel(ctx)
	case Wait:
		s.pause(ctx, step.Until)
	case Compact:
		return s.compact(ctx, step)
	case Confirm:
		return s.askToStop(ctx, step)
	case Summarize:
		return s.summarize(ctx, step)
	}
	return nil
}

// decide asks Next. Steps that need no work (to begin an input, to inject steering, to end an input) are committed at once,
// in the same turn, so that nothing gets between the decision and its record. The end of the context is written down first,
// so that Next sees it like anything else.
func (s *Session) decide(ctx context.Context) (Step, error) {
	defer s.events.flush()
	var step Step
	stopped := false
	err := s.update(context.Background(), func() ([]record, error) {
		if err := errors.Join(s.brokenBy(), s.left()); err != nil {
			return nil, err
		}
		if full := s.filled() != nil; full || ctx.Err() != nil {
			switch in := s.state.Input; {
			case in == nil: // nothing is begun any more
				return nil, nil
			case in.Stop == "":
				stopped = true
				return []record{s.state.stop(stopReason(ctx, full))}, nil
			}
		}
		step = Next(&s.state, s.now())
		return s.state.records(step), nil
	})
	if stopped && err == nil {
		return s.decide(ctx)
	}
	return step, err
}

// sleep waits for a time or for the end of the context. The next decision tells which it was.
func (s *Session) sleep(ctx context.Context, until time.Time) {
	timer := time.NewTimer(until.Sub(s.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
