package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/journal"
)

// commit writes records to the journal, folds them into the state and delivers their events, in
// this order. Nothing else changes a session. Tools that run at the same time append their results
// through it, and Steer its queue entries.
func (s *Session) commit(records ...record) error {
	return s.update(context.Background(), func() ([]record, error) { return records, nil })
}

// update commits the records that decide returns. It holds the session's write lock meanwhile, so
// that the records find the state that decide saw, but not its mutex: reading, interrupting or
// closing the session never waits for a journal.
//
// The end of ctx ends the wait for the write lock and for the journal. Records that the journal has
// by then are committed when it returns.
func (s *Session) update(ctx context.Context, decide func() ([]record, error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.lockWrites(ctx); err != nil {
		return err
	}
	records, err := decide()
	if err != nil || len(records) == 0 {
		s.unlockWrites()
		return err
	}
	defer s.events.deliver()
	return s.append(ctx, records)
}

// lockWrites takes the write lock, which is held while records are committed. Only its holder
// changes the state, and may read it without mu.
func (s *Session) lockWrites(ctx context.Context) error {
	select {
	case <-s.writeLock:
	default:
		// whose caller holds the lock
		if _, err := awaitJournal(ctx, s, "the journal's Append", s.writeLock); err != nil {
			return err
		}
	}
	lost := s.journalLost.get()
	switch {
	case lost != nil:
		s.unlockWrites()
		return lost
	case s.severed.Load():
		s.unlockWrites()
		return &closedError{s.givenAway()}
	}
	return nil
}

// tryLockWrites takes the write lock if it is free, and reports whether it has.
func (s *Session) tryLockWrites() bool {
	select {
	case <-s.writeLock:
		return true
	default:
		return false
	}
}

func (s *Session) unlockWrites() { s.writeLock <- struct{}{} }

// append writes records to the journal and then folds them into the state. It is called with the
// write lock, which ends when the journal returns: that may be after append has returned.
func (s *Session) append(ctx context.Context, records []record) error {
	at := stamp(s.now())
	if err := s.state.accepts(records[0]); err != nil {
		s.unlockWrites()
		return fmt.Errorf("agent: %w", err)
	}
	if s.journal == nil {
		s.foldAll(records, at, 0)
		s.unlockWrites()
		return nil
	}
	s.state.addEpochs(records)
	lines, size, err := s.encode(records, at)
	if err != nil {
		s.events.releaseHeld()
		s.unlockWrites()
		return err
	}
	next := s.state.Records + 1
	call := func(ctx context.Context) error { return s.journal.Append(ctx, next, lines...) }
	return s.write(ctx, "Append", call, func(err error) {
		if err == nil && s.journalLost.get() == nil && !s.severed.Load() {
			s.foldAll(records, at, size)
		} else {
			s.events.releaseHeld()
		}
		s.unlockWrites()
		s.events.deliver() // append may have returned long ago
	})
}

// encode returns the journal's lines of records and their size in bytes. It also holds back events,
// so that the events of these records get the numbers that follow the one in the lines.
func (s *Session) encode(records []record, now time.Time) (lines []journal.Record, size int64, err error) {
	lines = make([]journal.Record, len(records))
	at := place{Seq: s.events.holdBack(), Resumed: s.resumed}
	for i, rec := range records {
		data, err := encodeRecord(rec, at)
		if err != nil {
			return nil, 0, err
		}
		lines[i] = journal.Record{Time: now, Kind: rec.kind(), Data: data}
		size += sizeOf(lines[i])
		at.Resumed = 0
	}
	return lines, size, s.checkRoom(size, records)
}

// foldAll folds records that the journal has and adds their events.
func (s *Session) foldAll(records []record, at time.Time, size int64) {
	if slices.ContainsFunc(records, changesPolicy) {
		defer s.watchTime() // without the lock
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.size += size
	s.resumed = 0
	written := make([]recorded, len(records))
	for i, rec := range records {
		events := s.state.apply(rec, at)
		if set, ok := rec.(settingRecord); ok && set.registry != nil {
			s.registry = set.registry
		}
		written[i] = recorded{rec, events}
	}
	s.events.releaseHeld(written...)
}

// stamp returns a time as it reads after it was written.
func stamp(t time.Time) time.Time { return t.UTC().Round(0) }

// sync makes all appended records durable. A round has two such points: before tools with effects
// run, and before anything of the next answer counts, see [Session.syncBeside]. Steer and FollowUp
// sync before they return.
func (s *Session) sync(ctx context.Context) error {
	call, after := s.syncCall()
	if call == nil {
		return nil
	}
	return s.write(ctx, "Sync", call, after)
}

// syncCall returns the arguments of write for a sync. Call is nil if all records are durable.
func (s *Session) syncCall() (call func(context.Context) error, after func(error)) {
	if s.journal == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := s.state.Records
	if s.durable >= wanted && s.journalLost.get() == nil {
		return nil, nil
	}
	return s.journal.Sync, func(err error) {
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.durable = max(s.durable, wanted)
	}
}

// A besideSync is a sync of the journal that runs while a request travels.
type besideSync struct {
	returned chan struct{} // closed when the sync has returned, after its error has canceled the context
	wait     func() error  // waits for the sync as [Session.sync] does
}

// syncBeside starts a sync and does not wait for it. Its error cancels the context that syncBeside
// returns, and so does cancel, which must be called. A request may travel meanwhile, because it has
// no effect on what a resumed session finds. Nothing of its answer may be shown, committed or run
// before the sync has returned.
func (s *Session) syncBeside(ctx context.Context) (run context.Context, beside besideSync,
	cancel context.CancelCauseFunc) {
	run, cancel = context.WithCancelCause(ctx)
	beside = besideSync{returned: make(chan struct{}), wait: func() error { return nil }}
	call, after := s.syncCall()
	if call == nil {
		close(beside.returned)
		return run, beside, cancel
	}
	done, err := s.startWrite("Sync", call, func(err error) {
		after(err)
		if err != nil {
			cancel(err)
		}
		close(beside.returned)
	})
	beside.wait = func() error {
		if err != nil {
			return err
		}
		return s.endWrite(context.Background(), "Sync", done)
	}
	return run, beside, cancel
}

// journalPatience is the number of grace times that a call of the journal may take once the input
// or the session was asked to end. It is long, because a busy disk is slow and records that are
// given up are lost.
const journalPatience = 10

// write runs call, which calls the journal, and then after with its error, however late call
// returns. A journal that did not return once is not called again. The journal's own context does
// not end with ctx, so that nothing is half written; it ends when the journal is given up.
func (s *Session) write(ctx context.Context, what string, call func(context.Context) error, after func(error)) error {
	done, err := s.startWrite(what, call, after)
	if err != nil {
		return err
	}
	return s.endWrite(ctx, what, done)
}

// startWrite is the part of write that does not wait.
func (s *Session) startWrite(what string, call func(context.Context) error,
	after func(error)) (<-chan guard.Result[struct{}], error) {
	if lost := s.journalLost.get(); lost != nil {
		after(lost)
		return nil, lost
	}
	what = "the journal's " + what
	run := func() (_ struct{}, err error) {
		returned := false
		defer func() {
			if !returned {
				err = guard.Caught(what, recover())
			}
			if errors.Is(err, journal.ErrConflict) {
				s.disown(fmt.Errorf("%w: %w", ErrTakenOver, err))
				s.sever()
				if s.returned.Load() { // otherwise New or Resume fails, and the caller still owns what it passed
					s.endGivenAway()
				}
			}
			after(err)
		}()
		err = call(s.journalCtx)
		returned = true
		return
	}
	return guard.Start(what, run), nil
}

// endWrite waits for a call of the journal and returns its error as one of the session.
func (s *Session) endWrite(ctx context.Context, what string, done <-chan guard.Result[struct{}]) error {
	returned, err := awaitJournal(ctx, s, "the journal's "+what, done)
	err = cmp.Or(err, hostError(returned.Err))
	switch {
	case err == nil, errors.Is(err, ErrStuck), ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return err
	case isHostError(err):
		s.breakDown(err)
		return err
	case s.severed.Load():
		return s.givenAway()
	}
	return fmt.Errorf("agent: cannot keep the session: %w", err)
}

// awaitJournal returns what a channel gives when the journal has done something. It waits until ctx
// ends, or for the journal's patience after the input or the session was asked to end; then the
// journal is given up.
func awaitJournal[T any](ctx context.Context, s *Session, what string, done <-chan T) (T, error) {
	var none T
	for hurried := false; !hurried; {
		running := s.running()
		select {
		case r := <-done:
			return r, nil
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-running.Done():
		case <-s.life.Done():
		}
		// an input that has ended by itself hurries nobody
		hurried = s.life.Err() != nil || s.running() == running
	}
	timer := time.NewTimer(journalPatience * s.limits.Grace)
	defer timer.Stop()
	select {
	case r := <-done:
		return r, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-timer.C:
		return none, s.abandonJournal(what)
	}
}

// abandonJournal gives up a journal that did not return, and returns the error for it.
func (s *Session) abandonJournal(what string) error {
	s.journalLost.set(&stuckError{what, journalPatience * s.limits.Grace})
	s.stopJournal()
	s.events.releaseHeld()
	return s.journalLost.get()
}

// windowWarning returns the warning that the model's window is filling up, once for each level.
func (s *State) windowWarning() []Event {
	if !s.warnWindow {
		return nil
	}
	tokens, window := s.Context.Tokens(), s.Policy.Window
	return []Event{&ContextWarning{Ratio: float64(tokens) / float64(window), Tokens: tokens, Window: window}}
}
