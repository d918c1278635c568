package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/attractor-go/attractor/internal/guard"
)

// A session goes on until it is to end: because the host asks, because of how an input ended, for a
// failure of its journal or of code of the host, because it is given away, or because its journal
// is full. Whoever works on it then ends the input, and the last worker, or who asked if there is
// none, shuts the session down, once.

// An ending says why a session ends. Its zero value says that it goes on. Conclude alone changes
// it.
type ending struct {
	reason  Reason
	why     error // wrapped by ErrClosed
	failure error // for Close to return
}

// A cause is what a session can end for.
type cause uint8

const (
	causeHost    cause = iota // Close or Abort
	causeInput                // how its input ended; without a reason the session goes on
	causeFailure              // of the journal or of the host's code
	causeGiven                // it was given away while somebody worked on it
	causeOwner                // it was given away, and ends for nothing else
	causeFull                 // there was no room for the input: the session ends in order all the same
	causeUnclean              // something failed while it was shut down
	causeCloser               // one of the host's Closers failed
)

// conclude notes a cause for which the session ends, with its reason and error. It is called with
// the lock held.
func (s *Session) conclude(of cause, reason Reason, err error) {
	e := &s.ending
	switch of {
	case causeHost:
		if e.reason == "" {
			e.reason, e.why = reason, err
		}
	case causeInput:
		if e.why = err; reason != "" {
			e.reason = reason
		}
	case causeFailure:
		if !errors.Is(e.failure, err) {
			*e = ending{ReasonFailed, err, err}
		}
	case causeGiven:
		if e.reason == ReasonClosed {
			return
		}
		if e.reason, e.why = ReasonClosed, err; errors.Is(err, ErrReleased) && errors.Is(e.failure, ErrReleased) {
			e.failure = nil
		}
	case causeOwner:
		if e.why != nil {
			return
		}
		if e.why = err; !errors.Is(err, ErrReleased) {
			e.failure = err
		}
	case causeFull:
		e.reason, e.failure = ReasonLogFull, nil
	case causeUnclean:
		if e.failure == nil {
			e.failure = err
		}
	case causeCloser:
		e.failure = errors.Join(e.failure, err)
	}
}

// open returns an error if the session is ending or has ended.
func (s *Session) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending.reason != "" {
		return s.closedError()
	}
	return nil
}

// closing waits until OnEvent has all events, within its bound, and returns the error that Close
// returns.
func (s *Session) closing() error {
	s.events.hurry()
	s.events.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.ending.failure, s.events.undelivered())
}

// requestEnd asks whatever runs to end, and starts the shutdown of the session if nothing does.
func (s *Session) requestEnd() {
	s.endLife(errAbort) // before the lock, whose holder may be waiting for code that does not return
	s.events.hurry()
	s.mu.Lock()
	running := s.working.Load()
	first := s.ending.reason == ""
	left := first && running == nil && s.state.Input != nil && s.state.Input != s.inherited // between two steps
	switch {
	case left:
		s.conclude(causeHost, ReasonAborted, ErrAborted)
		s.working.Store(&activity{ctx: s.life, cancel: func(error) {}})
	case running != nil:
		s.conclude(causeHost, ReasonAborted, nil)
	default:
		s.conclude(causeHost, ReasonClosed, nil)
	}
	s.mu.Unlock()
	s.events.hurry()
	switch {
	case running != nil:
		running.cancel(errAbort) // endActivity does the rest
	case left:
		go s.endOpenInput()
	case first:
		go s.shutdown()
	}
}

// endOpenInput ends the input that Advance has left open, as a step that works on it would, and
// then the session.
func (s *Session) endOpenInput() {
	ended := <-guard.Start("the loop", func() (struct{}, error) { return struct{}{}, s.loop(s.life) })
	s.endActivity(s.working.Load(), hostError(ended.Err))
}

// shutdown ends all that still runs, writes the session's end, emits its event and closes
// everything. It does so once; later calls wait for that.
func (s *Session) shutdown() {
	if s.shutting.Swap(true) {
		s.closed.Wait()
		return
	}
	defer s.closed.Done()
	s.endLife(errAbort)
	s.leaveCache()
	err := errors.Join(s.agents.close(), s.hostErr(s.life, "the environment's Kill", journalPatience*s.killGrace,
		s.processes.Close))
	err = errors.Join(err, s.writeEnd(), s.outputs.Close())
	s.events.flush()
	closing := s.closeOthers()
	s.mu.Lock()
	if why := s.givenAway(); why != nil {
		s.conclude(causeOwner, "", why)
	}
	if err != nil {
		err = hostError(fmt.Errorf("%w; the session did not end cleanly", err)) // err names the package
	}
	s.conclude(causeUnclean, "", err)
	s.conclude(causeCloser, "", closing)
	s.mu.Unlock()
	s.events.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conclude(causeUnclean, "", s.broken.get()) // by the last events
}

// closeOthers closes Options.Closers and returns their errors.
func (s *Session) closeOthers() error {
	var errs []error
	for i, c := range slices.Backward(s.closers) {
		name := fmt.Sprintf("Options.Closers[%d]", i)
		err := s.hostErr(s.life, name+".Close", journalPatience*s.limits.Grace, c.Close)
		if err != nil && !errors.Is(err, ErrStuck) && !isHostError(err) { // which name it
			err = fmt.Errorf("agent: %s: %w", name, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeEnd writes the session's end, unless it ends for a failure or is given away, and closes the
// journal.
func (s *Session) writeEnd() error {
	var err, failure error
	if s.givenAway() != nil {
		if !s.severed.Load() {
			// a write that is under way comes to its end, and so do its events
			if s.lockWrites(context.Background()) == nil {
				s.unlockWrites()
			}
			err = s.sync(context.Background())
		}
		s.events.endSilently()
	} else if failure = s.emitFailure(); failure == nil {
		if err = s.commit(endRecord{Session: true, Reason: s.reason()}); err == nil {
			err = s.sync(context.Background())
		}
	}
	s.events.add(&SessionEnd{State: StatusClosed, Reason: s.reason()}) // dropped if the record has made one
	if s.journal != nil {
		closed := s.write(context.Background(), "Close", func(context.Context) error { return s.journal.Close() },
			func(error) {})
		if closed != nil && closed != failure && closed != s.givenAway() {
			err = errors.Join(err, closed)
		}
	}
	s.stopJournal()
	return err
}

// reason returns why the session ends.
func (s *Session) reason() Reason { return look(s, func(*State) Reason { return s.ending.reason }) }

// emitFailure returns the failure that ends the session, and emits its event.
func (s *Session) emitFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conclude(causeUnclean, "", s.broken.get())
	s.addFailureEvents()
	return s.ending.failure
}

// addFailureEvents emits the events of a failure that could not become a record, and those that end
// an open input.
func (s *Session) addFailureEvents() {
	failure := s.ending.failure
	if failure == nil {
		return
	}
	s.events.add(failedStep(&s.state)...) // a model call that waited for its next attempt; dropped if it has ended
	kind := "journal"
	if isHostError(failure) {
		kind = "host"
	}
	s.events.add(&Error{ErrorKind: kind, Text: failure.Error()})
	if in := s.state.Input; in != nil {
		s.events.add(&ProcessingEnd{Reason: ReasonFailed, Finish: in.Finish, Text: in.Final, Usage: in.Usage,
			Turns: in.Turns, ToolRounds: in.Rounds, State: StatusClosed})
	}
}

// closedError returns the error for calls of a session that has ended. It is called with the lock
// held.
func (s *Session) closedError() error {
	if s.ending.why == nil {
		return ErrClosed
	}
	return &closedError{s.ending.why}
}

// closedError is an [ErrClosed] with its cause.
type closedError struct{ why error }

func (e *closedError) Error() string {
	return ErrClosed.Error() + ": " + strings.TrimPrefix(e.why.Error(), "agent: ")
}

func (e *closedError) Unwrap() []error { return []error{ErrClosed, e.why} }

// A firstError keeps the first error that it is given.
type firstError struct{ is atomic.Pointer[error] }

// set reports whether an error is the first.
func (f *firstError) set(err error) bool { return f.is.CompareAndSwap(nil, &err) }

// get returns the error, nil if there is none.
func (f *firstError) get() error {
	if err := f.is.Load(); err != nil {
		return *err
	}
	return nil
}

// breakDown ends what is running, and then the session, because code of the host is broken. Only
// the first failure counts. It takes no lock.
func (s *Session) breakDown(err error) {
	if s.broken.set(err) {
		s.endLife(err)
		if s.returned.Load() {
			go s.endBroken(err)
		}
	}
}

// endBroken ends a session that is given up. If an activity runs, that ends it.
func (s *Session) endBroken(err error) {
	if s.endIdle(func() { s.conclude(causeFailure, ReasonFailed, err) }) {
		s.shutdown()
	}
}

// endIdle concludes that a session ends, if nobody works on it and it goes on.
func (s *Session) endIdle(conclude func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := s.ending.reason == "" && s.working.Load() == nil
	if idle {
		conclude()
	}
	return idle
}

// endForFullLog ends the running activity, and then the session, because a log is full. It takes no
// lock.
func (s *Session) endForFullLog(err error) {
	if s.full.set(err) {
		s.endLife(err)
	}
}

// endGivenAway ends a session that is given away. If somebody works on it, that worker ends it.
func (s *Session) endGivenAway() {
	given := func() {
		s.conclude(causeHost, ReasonClosed, nil)
		s.conclude(causeOwner, "", s.givenAway())
	}
	if s.endIdle(given) {
		go s.shutdown()
	}
}

// givenAway returns why the session is given away, nil if it is not.
func (s *Session) givenAway() error { return context.Cause(s.owned) }

// sever ends a session that is given away in the middle of a step: from now on nothing is written
// and no event is emitted.
func (s *Session) sever() {
	s.severed.Store(true)
	s.events.endSilently()
	s.endLife(s.givenAway())
	s.events.hurry()
}

// startActivity makes work the activity that runs, or returns why it cannot.
func (s *Session) startActivity(work *activity) error {
	if s.working.Load() != nil { // it may hold the write lock for long
		return ErrBusy
	}
	if err := s.lockWrites(work.ctx); err != nil {
		return err
	}
	defer s.unlockWrites()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending.reason != "":
		return s.closedError()
	case s.working.Load() != nil:
		return ErrBusy
	}
	s.working.Store(work)
	s.events.unhurry()
	s.state.gather()
	return nil
}

// tieToLife ends an activity with the session, and bounds the wait for OnEvent once the activity is
// to end. The function that it returns undoes both.
func (s *Session) tieToLife(work *activity) func() {
	untie := func() bool { return true }
	if s.agentID != "" { // the parent may end its life
		untie = context.AfterFunc(s.life, func() { work.cancel(context.Cause(s.life)) })
	} else if s.life.Err() != nil { // before the activity began; afterwards endLife ends it
		work.cancel(context.Cause(s.life))
	}
	waiting := context.AfterFunc(work.ctx, s.events.hurry)
	return func() {
		untie()
		waiting()
	}
}

// lifeOf returns the context of the session's life, and the function that ends it together with the
// running activity. An AfterFunc for each activity would do the same, but a context keeps the
// memory for its functions, also while the session is at rest.
func (s *Session) lifeOf(parent context.Context) (context.Context, context.CancelCauseFunc) {
	life, end := context.WithCancelCause(parent)
	return life, func(cause error) {
		end(cause)
		if work := s.working.Load(); work != nil {
			work.cancel(context.Cause(life))
		}
	}
}

// markIdle marks the session as idle. With the write lock it also drops the encoded history, which
// the next input encodes again, so that a session at rest holds its history once. It is called with
// the lock.
func (s *Session) markIdle(turn bool) {
	s.working.Store(nil)
	if turn && s.state.Input == nil {
		s.memo = nil
		s.state.shrink()
		s.events.rest()
	}
}

// inputFailure returns the failure that ended an input, and sets why the session ends if that ends
// it, too. It is called with the lock held.
func (s *Session) inputFailure(in *Input) error {
	switch in.Reason {
	case ReasonFailed:
		err := s.faultError(in)
		if s.state.Policy.closes(in.Fault) {
			s.conclude(causeInput, ReasonFailed, err)
		}
		return err
	case ReasonAborted:
		reason := Reason("")
		if s.life.Err() != nil { // requestEnd may still be waiting for the lock
			reason = ReasonAborted
		}
		s.conclude(causeInput, reason, ErrAborted)
		return ErrAborted
	case ReasonLogFull:
		full := s.full.get() // nil if the journal was full in an earlier process
		if full == nil {
			s.conclude(causeInput, "", nil)
			return nil
		}
		s.conclude(causeInput, ReasonLogFull, full)
		return full
	}
	return nil
}

// endActivity ends an activity, if it still runs, and the session if that is to end. A failure of
// the session, such as that of its journal, always ends it.
func (s *Session) endActivity(work *activity, failure error) {
	turn := s.tryLockWrites()
	s.mu.Lock()
	if s.working.Load() == work {
		s.markIdle(turn)
	}
	if failure != nil {
		s.conclude(causeFailure, ReasonFailed, failure)
	}
	if why := s.givenAway(); why != nil {
		s.conclude(causeGiven, ReasonClosed, why)
	}
	if isFull(failure) {
		s.conclude(causeFull, ReasonLogFull, nil)
	}
	over := s.ending.reason != "" && s.working.Load() == nil // otherwise the activity that runs ends it
	s.mu.Unlock()
	if turn {
		s.unlockWrites()
	}
	if over {
		s.shutdown()
	}
	s.events.flush()
}
