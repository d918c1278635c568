package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
)

// Submit gives the session a task and works on it, and on follow-ups, until the session is idle
// again. A limit, an answer that stays unfinished and a refusal are not errors; Result.Reason names
// them. The end of ctx interrupts the input, leaves the session idle and is returned as
// context.Cause(ctx). A model call that fails for good returns an *llm.Error; Policy.OnFailure says
// whether it also ends the session. A failure of the journal or of the host's own code always does.
//
// Submit always returns a Result, also beside an error, with what was done until then. Its Reason
// is empty if nothing was begun, or if the session was given away.
//
// Submit is [Session.Begin], and then [Session.Advance] until the session is at rest. An input that
// is already open is first ended as interrupted.
//
// With a [Key], a program can be run again after it was killed. If the session has had the key,
// Submit adds no task: it goes on with that input as Continue does, or returns the Result that it
// has come to. Sums are those of the input from where it was begun or continued last.
func (s *Session) Submit(ctx context.Context, prompt string, more ...SendOption) (*Result, error) {
	return s.submitText(ctx, prompt, more, func() {})
}

// submitText is Submit. It calls begun when nothing else works on the session any more, and not at
// all if something does.
func (s *Session) submitText(ctx context.Context, prompt string, more []SendOption, begun func()) (*Result, error) {
	m, err := send(prompt, more)
	if err == nil && s.hadKey(m.key) {
		return s.submitAgain(ctx, m.key, begun)
	}
	if err == nil {
		err = s.admitInput(ctx, m)
	}
	if isHostError(err) {
		s.endActivity(nil, err)
	}
	if err != nil {
		return new(Result), err
	}
	input := &inputRecord{Text: m.text, More: m.parts, Context: m.context, Key: m.key}
	if asked := s.waitingQuestion(); asked != nil {
		if _, err := asked.answered(*input, nil); err != nil {
			return new(Result), err
		}
	}
	return s.submit(ctx, input, begun)
}

// Continue goes on with the open input, or with the last one if that was ended by an interrupt, an
// abort, a limit or an error. A failed model call is tried again. Continue adds no turn. It returns
// what Submit returns.
func (s *Session) Continue(ctx context.Context) (*Result, error) { return s.goOn(ctx, func() {}) }

// goOn is Continue, with begun as in submitText.
func (s *Session) goOn(ctx context.Context, begun func()) (*Result, error) {
	switch open, last := s.inputs(); {
	case open != nil:
		return s.submit(ctx, nil, begun)
	case last != nil:
		return s.submit(ctx, &inputRecord{Continue: true}, begun)
	}
	return new(Result), errors.New("agent: there is no input to continue; give the session a task")
}

// Begin gives the session a task, or the answer to a waiting question, and leaves the work to
// [Session.Advance]. While an input is open it returns an [ErrBusy]. When Begin returns nil, the
// text is in the journal. The end of ctx ends the wait for the journal, which may have the text all
// the same.
func (s *Session) Begin(ctx context.Context, text string, more ...SendOption) error {
	m, err := send(text, more)
	if err == nil {
		err = s.admitInput(ctx, m)
	}
	if err != nil {
		return err
	}
	input := inputRecord{Text: m.text, More: m.parts, Context: m.context, Key: m.key}
	return s.updateDurably(ctx, func() ([]record, error) {
		switch {
		case s.state.hasKey(input):
			return nil, nil
		case s.working.Load() != nil:
			return nil, ErrBusy
		case s.state.Input != nil:
			return nil, fmt.Errorf("%w: call Advance until it is at rest, or Interrupt first", ErrBusy)
		}
		return s.inputRecords(input)
	})
}

// Advance takes one step, as [Next] decides it: one attempt of a model call, for example, or the
// tool calls of one answer. It is all that another engine needs to drive a session. The step is in
// the journal when Advance returns, so that another process can resume the session and take the
// next one. All that can be done while Submit works, such as Steer, can also be done between two
// steps.
//
// [ActRest] means that there is nothing to do; [Session.Result] has the outcome of the input.
// [ActWait] means that there is nothing to do before Step.Until, when the next attempt of a model
// call is due or the time budget ends; Advance has not waited. Any other step was taken.
//
// The end of ctx interrupts the input as in Submit: Advance returns context.Cause(ctx), and the
// next steps end the input. A step that ends the input for a failure returns the error that Submit
// would return, and ends the session where Submit would. While another goroutine works on the
// session the error is [ErrBusy]. A session that was given away meanwhile returns its [ErrReleased]
// or [ErrTakenOver].
//
// The time budget runs on between two steps, but not between two processes: the first step of a
// resumed session commits that the input goes on. Subagents and background processes end with the
// process that started them.
func (s *Session) Advance(ctx context.Context) (Step, error) {
	var step Step
	var outcome error
	_, err := s.work(ctx, func(run context.Context) (err error) {
		step, outcome, err = s.advance(ctx, run)
		return err
	})
	return step, cmp.Or(err, outcome)
}

// advance is Advance for the goroutine that works on the session. Outcome is the failure of the
// input, err that of the session.
func (s *Session) advance(ctx, run context.Context) (step Step, outcome, err error) {
	if look(s, func(st *State) Act { return Next(st, s.now()).Act }) != ActWait {
		if err := s.goOnInherited(); err != nil {
			return Step{}, nil, err
		}
	}
	_, before := s.inputs()
	if step, err = s.step(run); err != nil || step.Act == ActRest {
		return step, nil, err
	}
	if s.life.Err() != nil { // the session is ending, and its input ends first
		err = s.loop(run)
	} else if step.Act == ActWait {
		step.Until = s.beforeBudget(step.Until)
	}
	if err != nil {
		return step, nil, err
	}
	if outcome, err = s.endStep(ctx, run, before); err != nil {
		return step, nil, err
	}
	return step, cmp.Or(outcome, s.givenAway()), s.sync(context.Background())
}

// submit works on an input, or on the open one if it is nil, and on follow-ups, until the session
// is at rest.
func (s *Session) submit(ctx context.Context, input *inputRecord, begun func()) (*Result, error) {
	before := look(s, (*State).totals)
	var result *Result
	var outcome error
	worked, err := s.work(ctx, func(run context.Context) (err error) {
		begun()
		if err = s.beginInput(run, input); err != nil {
			return err
		}
		for result == nil {
			if err = s.loop(run); err != nil {
				return err
			}
			if err = s.sync(context.Background()); err != nil { // what Submit returns must survive a crash
				return err
			}
			if result, outcome = s.goIdle(run, before); result == nil && outcome != nil {
				return outcome
			}
		}
		return nil
	})
	switch {
	case !worked:
		return new(Result), err
	case result == nil:
		return s.partialResult(before), err
	case err == nil && outcome == nil && result.Reason == ReasonInterrupted && ctx.Err() != nil:
		return result, context.Cause(ctx)
	}
	return result, cmp.Or(err, outcome)
}

// work runs f as the only work on the session, and reports whether f has begun: it does not while
// other work goes on, nor in a session that has ended. The context of f ends with ctx, with the
// session and with the time budget. An error of f ends the session. F runs on a goroutine of its
// own, so that a panic or runtime.Goexit there does not reach the caller's.
func (s *Session) work(ctx context.Context, f func(run context.Context) error) (begun bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := &activity{ctx: run, cancel: cancel}
	if err := s.startActivity(work); err != nil {
		return false, err
	}
	defer s.tieToLife(work)()
	defer work.endAfter(0, false)
	s.watchTime()
	held := <-guard.Start("the loop", func() (struct{}, error) { return struct{}{}, f(run) })
	if s.waitingQuestion() == nil {
		s.leaveCache()
	}
	if err = hostError(held.Err); err == nil {
		err = s.broken.get()
	}
	s.endActivity(work, err)
	if broken := s.broken.get(); err == nil && broken != nil { // by OnEvent, while it got the last events
		s.endActivity(work, broken)
		return true, broken
	}
	return true, err
}

// watchTime ends the activity that runs, if there is one, with the time budget. It is called again
// when the budget has changed.
func (s *Session) watchTime() {
	if work := s.working.Load(); work != nil {
		left, limited := s.timeLeft()
		work.endAfter(left, limited)
	}
}

// timeLeft returns what is left of the time budget, and whether there is one. The time between two
// processes does not count.
func (s *Session) timeLeft() (left time.Duration, limited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, worked := s.state.Policy.Budget.Time, s.state.worked()
	if limit == 0 {
		return 0, false
	}
	if in := s.state.Input; in != nil && in != s.inherited {
		worked = s.state.Worked + s.now().Sub(in.Began)
	}
	return max(limit-worked, 0), true
}

// beginInput commits the input of a Submit, nil for the open one. It first ends an open input as
// interrupted.
func (s *Session) beginInput(ctx context.Context, input *inputRecord) error {
	if input == nil {
		return s.goOnInherited()
	}
	if open, _ := s.inputs(); open != nil {
		if err := s.commit(stopRecord{Reason: ReasonInterrupted}); err != nil {
			return err
		}
		if err := s.loop(ctx); err != nil {
			return err
		}
	}
	defer s.events.flush()
	return s.update(context.Background(), func() ([]record, error) {
		if s.state.hasKey(*input) { // it has come meanwhile, in another way
			return nil, nil
		}
		return s.inputRecords(*input)
	})
}

// inputRecords returns the records that begin an input, or that answer the waiting question if
// there is one. It is called with the write lock, when no input is open.
func (s *Session) inputRecords(input inputRecord) ([]record, error) {
	s.interrupted.Store(false) // it came before this input
	if asked := s.state.awaiting(); asked != nil && !input.Continue {
		return asked.answered(input, nil)
	}
	return []record{input}, nil
}

// goOnInherited commits that an input goes on that was open when the session was resumed, so that
// the time between the processes does not count.
func (s *Session) goOnInherited() error {
	return s.update(context.Background(), func() ([]record, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		in := s.inherited
		if s.inherited = nil; in == nil || in != s.state.Input {
			return nil, nil
		}
		return []record{inputRecord{Continue: true}}, nil
	})
}

// beforeBudget returns until, or the end of the time budget if that comes first.
func (s *Session) beforeBudget(until time.Time) time.Time {
	if left, limited := s.timeLeft(); limited {
		if end := s.now().Add(left); end.Before(until) {
			return end
		}
	}
	return until
}

// endStep ends a step. It commits the end of the step's context, because the next step has another
// one. Outcome is the failure of an input that has ended in this step, or the cause of the host's
// context if that interrupted the input. Last is the input that ended before.
func (s *Session) endStep(ctx, run context.Context, last *Input) (outcome, err error) {
	defer s.events.flush()
	if err := s.update(context.Background(), func() ([]record, error) { return s.stopRecords(run), nil }); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.state.Input
	interrupted := in != nil && in.Ending == ReasonInterrupted
	if ended := s.state.Last; ended != last {
		outcome, interrupted = s.inputFailure(ended), ended.Reason == ReasonInterrupted
	}
	if outcome == nil && interrupted && ctx.Err() != nil {
		outcome = context.Cause(ctx)
	}
	return outcome, nil
}

// goIdle marks the session as idle and returns the Result of its inputs and their failure. If a
// follow-up has come since the loop found nothing to do, both are nil. An error without a Result is
// one of the session.
func (s *Session) goIdle(ctx context.Context, before totals) (*Result, error) {
	if err := s.lockWrites(context.Background()); err != nil {
		return nil, err
	}
	defer s.unlockWrites()
	if ctx.Err() == nil && Next(&s.state, s.now()).Act != ActRest {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.markIdle(true)
	if s.state.Last == nil {
		return new(Result), nil
	}
	return s.result(s.state.Last, before), s.inputFailure(s.state.Last)
}

// inputs returns the open input and the one that ended last.
func (s *Session) inputs() (open, last *Input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Input, s.state.Last
}

// partialResult returns the Result of an input that a failure of the session ended.
func (s *Session) partialResult(before totals) *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in Input // none was begun
	switch {
	case s.state.Input != nil:
		in = *s.state.Input
	case s.state.Last != nil && s.state.inputs > before.inputs:
		in = *s.state.Last
	}
	if in.Reason = ReasonFailed; s.givenAway() != nil {
		in.Reason = "" // the input goes on elsewhere
	}
	return s.result(&in, before)
}
