package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
)

// The causes with which the session ends the context of a running input. Any other cause comes from the host's context.
var (
	errInterrupt = errors.New("agent: interrupted")
	errAbort     = errors.New("agent: aborted")
)

// stopReason returns why the input has to end: a log is full, or its context has ended.
func stopReason(ctx context.Context, full bool) Reason {
	switch cause := context.Cause(ctx); {
	case full:
		return ReasonLogFull
	case errors.Is(cause, errAbort):
		return ReasonAborted
	case errors.Is(cause, errBudgetTime):
		return ReasonBudgetTime
	case isFull(cause):
		return ReasonLogFull
	}
	return ReasonInterrupted
}

// Steer adds a message before the next model call of the running input. In an idle session the message waits for the next Submit. When
// Steer returns nil, the message is in the journal. The end of ctx ends the wait for the journal, which may have the message all the same.
func (s *Session) Steer(ctx context.Context, text string, more ...SendOption) error {
	return s.enqueue(ctx, LaneSteering, text, more)
}

// FollowUp queues a task that runs as an input of its own when the running one has ended, by itself or at a limit. The end of the
// session drops it. When FollowUp returns nil, the task is in the journal. The end of ctx ends the wait for the journal, which may have
// the task all the same.
func (s *Session) FollowUp(ctx context.Context, text string, more ...SendOption) error {
	return s.enqueue(ctx, LaneFollowUps, text, more)
}

func (s *Session) enqueue(ctx context.Context, lane Lane, text string, more []SendOption) error {
	m, err := send(text, more)
	if err == nil {
		err = s.admit(ctx, m, Message{Kind: map[Lane]MessageKind{LaneSteering: MessageSteering, LaneFollowUps: MessageFollowUp}[lane]})
	}
	if err != nil {
		return err
	}
	return s.commitDurably(ctx, queuedRecord{Lane: lane, Text: m.text, More: m.parts, Context: m.context, Source: sourceHost, Key: m.key})
}

// Set changes settings from the next model call on. Another model gets the whole history, also a model of another provider, except for
// parts that only the old one can read. When Set returns nil, the settings are in the journal. The end of ctx ends the wait for the journal,
// which may have them all the same.
func (s *Session) Set(ctx context.Context, set Settings) error {
	if set.Model != nil && *set.Model == "" {
		return errors.New("agent: the model's name is empty")
	}
	if set.Provider != nil {
		if _, err := s.provider(*set.Provider); err != nil {
			return fmt.Errorf("agent: %w", err)
		}
		if set.Model == nil && *set.Provider != s.chosen().Provider {
			return fmt.Errorf("agent: another provider (%s) has other models: set Settings.Model with it", *set.Provider)
		}
	}
	return s.set(ctx, set)
}

// commitDurably commits a record that a host asks for and makes it durable. It delivers no events, because the caller may hold a lock that its OnEvent takes.
func (s *Session) commitDurably(ctx context.Context, rec record) error {
	err := s.update(ctx, func() ([]record, error) {
		if err := s.open(); err != nil || s.state.hasKey(rec) {
			return nil, err
		}
		return []record{rec}, nil
	})
	if err != nil {
		return err
	}
	return s.sync(ctx)
}

// open returns an error if the session is ending or has ended.
func (s *Session) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != "" {
		return s.closedError()
	}
	return nil
}

// Interrupt ends the open input and keeps the session: the model's stream is cut, commands are ended with all that they started, and open
// calls get error results. It returns at once; Submit returns when all of that is done. An input that nobody works on ends with the next
// steps of Advance. In an idle session Interrupt does nothing.
func (s *Session) Interrupt() {
	s.interrupted.Store(true)
	if now := s.working.Load(); now != nil { // without the lock: whoever holds it may be waiting for a journal that does not return
		now.cancel(errInterrupt)
	}
}

// Abort ends the session like Close, without waiting for it.
func (s *Session) Abort() { s.requestEnd() }

// Close ends the session: it aborts an input that runs or that Advance has left open, emits SESSION_END and closes the journal. It waits for
// all of that, and returns the failure that ended the session, if that was one of the journal or of the host's code. Close may be called
// again, but not from OnEvent, nor with a lock held that OnEvent takes.
//
// Close always returns. Code that does not end is left behind after Options.Grace, a journal or an environment after ten times that; the
// error is then an [ErrStuck] that names it. If OnEvent did not take all events in time, the error is also an [ErrUndelivered]; calling
// Close again waits for OnEvent once more.
func (s *Session) Close() error {
	s.requestEnd()
	s.closed.Wait()
	return s.closing()
}

// closing waits until OnEvent has all events, within its bound, and returns the error that Close returns.
func (s *Session) closing() error {
	s.events.hurry()
	s.events.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failure, s.events.undelivered())
}

// requestEnd asks whatever runs to end, and starts the shutdown of the session if nothing does.
func (s *Session) requestEnd() {
	s.endLife(errAbort) // before the lock, whose holder may be waiting for code that does not return
	s.events.hurry()
	s.mu.Lock()
	running := s.working.Load()
	first := s.ending == ""
	left := first && running == nil && s.state.Input != nil && s.state.Input != s.inherited // between two steps
	switch {
	case left:
		s.ending, s.why = ReasonAborted, ErrAborted
		s.working.Store(&activity{ctx: s.life, cancel: func(error) {}})
	case first && running != nil:
		s.ending = ReasonAborted
	case first:
		s.ending = ReasonClosed
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

// endOpenInput ends the input that Advance has left open, as a step that works on it would, and then the session.
func (s *Session) endOpenInput() {
	ended := <-guard.Start("the loop", func() (struct{}, error) { return struct{}{}, s.loop(s.life) })
	s.endActivity(s.working.Load(), hostError(ended.Err))
}

// shutdown ends all that still runs, writes the session's end, emits its event and closes everything. It does so once; later calls wait for that.
func (s *Session) shutdown() {
	if s.shutting.Swap(true) {
		s.closed.Wait()
		return
	}
	defer s.closed.Done()
	s.endLife(errAbort)
	err := errors.Join(s.agents.close(), s.hostErr(s.life, "the environment's Kill", journalPatience*s.killGrace, s.processes.Close))
	err = errors.Join(err, s.writeEnd(), s.outputs.Close())
	s.events.flush()
	closing := s.closeOthers()
	s.mu.Lock()
	s.blameOwner()
	if s.failure == nil && err != nil {
		s.failure = hostError(fmt.Errorf("%w; the session did not end cleanly", err)) // err names the package
	}
	s.failure = errors.Join(s.failure, closing)
	s.mu.Unlock()
	s.events.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = s.brokenErr() // by the last events
	}
}

// closeOthers closes Options.Closers and returns their errors.
func (s *Session) closeOthers() error {
	var errs []error
	for i, c := range slices.Backward(s.closers) {
		name := fmt.Sprintf("Options.Closers[%d]", i)
		err := s.hostErr(s.life, name+".Close", journalPatience*s.grace, c.Close)
		if err != nil && !errors.Is(err, ErrStuck) && !isHostError(err) { // which name it
			err = fmt.Errorf("agent: %s: %w", name, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeEnd writes the session's end, unless it ends for a failure or is given away, and closes the journal.
func (s *Session) writeEnd() error {
	var err, failure error
	if s.givenAway() != nil {
		if !s.severed.Load() {
			if s.lockWrites(context.Background()) == nil { // a write that is under way comes to its end, and so do its events
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
		closed := s.write(context.Background(), "Close", func(context.Context) error { return s.journal.Close() }, func(error) {})
		if closed != nil && closed != failure && closed != s.givenAway() {
			err = errors.Join(err, closed)
		}
	}
	s.stopJournal()
	return err
}

// reason returns why the session ends.
func (s *Session) reason() Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// emitFailure returns the failure that ends the session, and emits its event.
func (s *Session) emitFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = s.brokenErr()
	}
	s.addFailureEvents()
	return s.failure
}

// addFailureEvents emits the events of a failure that could not become a record, and those that end an open input.
func (s *Session) addFailureEvents() {
	if s.failure == nil {
		return
	}
	s.events.add(failedStep(&s.state)...) // a model call that waited for its next attempt; dropped if it has ended
	kind := "journal"
	if isHostError(s.failure) {
		kind = "host"
	}
	s.events.add(&Error{ErrorKind: kind, Text: s.failure.Error()})
	if in := s.state.Input; in != nil {
		s.events.add(&ProcessingEnd{Reason: ReasonFailed, Finish: in.Finish, Text: in.Final, Usage: in.Usage, Turns: in.Turns, ToolRounds: in.Rounds,
			State: StatusClosed})
	}
}

// Status returns the session's status.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asking > 0 || s.working.Load() == nil && s.ending == "" && s.state.awaiting() != nil:
		return StatusAwaiting
	case s.working.Load() != nil:
		return StatusProcessing
	case s.ending != "":
		return StatusClosed
	case s.state.Input != nil:
		return StatusProcessing
	}
	return StatusIdle
}

// Events yields the events since the session was started or resumed, and goes on with new ones until SESSION_END or the end of ctx. Any
// number of cursors can run at once. A slow cursor neither holds up the session nor costs memory.
//
// A cursor gets all facts, in order, but joins deltas: it gets all that it has not seen of a text, a thought or live output in one delta,
// which has the number of the last piece. A text that has ended is thus its start, one delta and its end. Long live output is cut to its
// first and last 32 KiB, around a line that says how many bytes are left out. Once a call has ended its live output is skipped, because
// TOOL_CALL_END has the output: the whole while that is in memory or in the session's output store, otherwise what the model saw, with
// OutputComplete false.
func (s *Session) Events(ctx context.Context) iter.Seq[Event] { return s.events.cursor(ctx) }

// History returns the turns so far. The session shares their parts, so they must not be changed.
func (s *Session) History() []Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.Turns)
}

// Usage returns the tokens that the session has used, failed attempts included.
func (s *Session) Usage() llm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Usage
}

// validText returns text as valid UTF-8. All text that enters a session passes it, so that journal, events and model have the same.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
