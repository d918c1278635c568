package agent

import (
	"context"
	"errors"
	"time"
)

// loop is the loop: it takes steps until the session is at rest. It returns errors of the session
// only; a failure of the model or of a tool is a record.
func (s *Session) loop(ctx context.Context) error {
	for {
		step, err := s.step(ctx)
		switch {
		case err != nil:
			return err
		case step.Act == ActRest:
			return nil
		case step.Act == ActWait:
			s.sleep(ctx, step.Until)
		}
	}
}

// step decides what to do and does it, except for waiting. It commits the outcome to the journal,
// so that the next step depends on nothing else. Submit, Advance and a compaction of an idle
// session are made of it.
func (s *Session) step(ctx context.Context) (Step, error) {
	step, err := s.decide(ctx)
	for isFull(err) { // there is no room for the step, so the input ends in order
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

// errOutdated means that a step was not taken, because another one has become due since it was
// decided.
var errOutdated = errors.New("agent: something else is due")

// do executes the steps that run tools or hooks or call a model. decide has already committed the
// others.
func (s *Session) do(ctx context.Context, step Step) error {
	switch step.Act {
	case ActRunCalls:
		s.keepCache()
		return s.runCalls(ctx, step)
	case ActCallModel, ActCompact, ActSummarize:
		s.leaveCache()
	}
	switch step.Act {
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

// decide returns the step that Next decides. Steps without work, such as beginning or ending an
// input, are committed at once, so that nothing gets between the decision and its record. The end
// of the context is committed first, so that Next knows of it.
func (s *Session) decide(ctx context.Context) (Step, error) {
	defer s.events.flush()
	var step Step
	stopped := false
	err := s.update(context.Background(), func() ([]record, error) {
		if err := errors.Join(s.broken.get(), s.givenAway()); err != nil {
			return nil, err
		}
		if stop := s.stopRecords(ctx); stop != nil {
			stopped = true
			return stop, nil
		}
		if s.state.Input == nil && s.mustEnd(ctx) { // nothing new may begin
			step = Step{Act: ActRest}
			return nil, nil
		}
		step = Next(&s.state, s.now())
		return s.state.stepRecords(step), nil
	})
	if stopped && err == nil {
		return s.decide(ctx)
	}
	return step, err
}

// mustEnd reports whether the work has to end: its context has ended, or a log is full.
func (s *Session) mustEnd(ctx context.Context) bool { return ctx.Err() != nil || s.full.get() != nil }

// stopRecords returns the record that ends the open input, nil if it goes on or the record is
// written. It is called with the write lock.
func (s *Session) stopRecords(ctx context.Context) []record {
	interrupted, in := s.interrupted.Swap(false), s.state.Input
	if in == nil || in.Ending != "" || !interrupted && !s.mustEnd(ctx) {
		return nil
	}
	return []record{s.state.stop(stopReason(ctx, s.full.get() != nil))}
}

// sleep waits for a time, for the end of ctx, or until the session is given away.
func (s *Session) sleep(ctx context.Context, until time.Time) {
	timer := time.NewTimer(until.Sub(s.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.owned.Done():
	}
}
