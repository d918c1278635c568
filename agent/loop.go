package agent

import (
	"context"
	"errors"
	"time"
)

// run is the loop: it takes steps until the session is at rest. The error is one of ours; a failure of the model or of a tool is a record
// like any other.
func (s *Session) run(ctx context.Context) error {
	for {
		step, err := s.step(ctx)
		switch {
		case err != nil:
			return err
		case step.Act == ActRest:
			return nil
		case step.Act == ActWait:
			s.pause(ctx, step.Until)
		}
	}
}

// step asks what to do, and does it, unless it is to wait. Whatever it comes to is committed to the journal, so that the next step depends
// on nothing else. Submit, Advance, a compaction at rest and a replay are made of it.
func (s *Session) step(ctx context.Context) (Step, error) {
	step, err := s.decide(ctx)
	for isFull(err) { // what does not fit is not done, and the input ends in order
		step, err = s.decide(ctx)
	}
	if err == nil {
		err = s.do(ctx, step)
	}
	switch {
	case errors.Is(err, errOutdated):
		return s.step(ctx)
	case isFull(err):
		err = nil
	}
	return step, err
}

// errOutdated means that a step was not taken, because something else is due since it was decided.
var errOutdated = errors.New("agent: something else is due")

// do takes the steps that need work; the others are done when they are decided.
func (s *Session) do(ctx context.Context, step Step) error {
	switch step.Act {
	case ActRunCalls:
		return s.runCalls(ctx, step)
	case ActCallModel:
		return s.callModel(ctx)
	case ActCompact:
		return s.compact(ctx, step)
	case ActConfirm:
		return s.askToStop(ctx, step)
	case ActSummarize:
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
		if stop := s.halt(ctx); stop != nil {
			stopped = true
			return stop, nil
		}
		if s.state.Input == nil && s.halts(ctx) { // nothing is begun any more
			step = Step{Act: ActRest}
			return nil, nil
		}
		step = Next(&s.state, s.now())
		return s.state.records(step), nil
	})
	if stopped && err == nil {
		return s.decide(ctx)
	}
	return step, err
}

// halts reports whether nothing more is to be done.
func (s *Session) halts(ctx context.Context) bool { return ctx.Err() != nil || s.filled() != nil }

// halt returns the record that the open input is to end, if it is and that is not written yet. It is called with the turn.
func (s *Session) halt(ctx context.Context) []record {
	interrupted, in := s.interrupted.Swap(false), s.state.Input
	if in == nil || in.Stop != "" || !interrupted && !s.halts(ctx) {
		return nil
	}
	return []record{s.state.stop(stopReason(ctx, s.filled() != nil))}
}

// upcoming returns what the session does next.
func (s *Session) upcoming() Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Next(&s.state, s.now())
}

// sleep waits for a time, or until the context ends or the session is given away. The next decision tells which it was.
func (s *Session) sleep(ctx context.Context, until time.Time) {
	timer := time.NewTimer(until.Sub(s.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.stay.Done():
	}
}
