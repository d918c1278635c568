package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/journal"
)

// commit is the door through which everything enters: journal first, then the state, then the events. Tools that run at the
// same time append their results through it, and Steer its queue entries.
func (s *Session) commit(records ...record) error {
	defer s.events.deliver()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(records...)
}

// outcome commits what a step of the loop came to.
func (s *Session) outcome(ctx context.Context, records ...record) error {
	if s.inTurn != nil {
		if records[0] = s.inTurn(ctx, records[0]); records[0] == nil {
			return nil
		}
	}
	return s.commit(records...)
}

// append is commit for callers that hold the lock; they deliver the events after releasing it.
func (s *Session) append(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	if err := s.state.accepts(records[0]); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	at := stamp(s.now())
	if s.journal != nil {
		lines, size := make([]journal.Record, len(records)), int64(0)
		for i, rec := range records {
			data, err := encodeRecord(rec, s.events.last())
			if err != nil {
				return err
			}
			lines[i] = journal.Record{Time: at, Kind: rec.kind(), Data: data}
			size += sizeOf(lines[i])
		}
		if err := s.room(size, records); err != nil {
			return err
		}
		// Not the caller's context: what has happened is written down even when the input is being interrupted.
		next := s.state.Records + 1
		err := s.write("Append", func() error { return s.journal.Append(context.Background(), next, lines...) })
		if err != nil {
			return err
		}
		s.written += size
	}
	for _, rec := range records {
		events := project(rec, &s.state)
		s.state.fold(rec, at)
		s.events.record(rec, events...)
		s.events.add(s.state.overflow()...)
	}
	return nil
}

// stamp makes a time what it is after it was written down and read again.
func stamp(t time.Time) time.Time { return t.UTC().Round(0) }

// sync is a commit point: what was appended is durable when it returns. There are two in a round, before tools with effects run
// and before the model is called, and one before Steer and FollowUp return.
func (s *Session) sync() error {
	if s.journal == nil {
		return nil
	}
	return s.write("Sync", func() error { return s.journal.Sync(context.Background()) })
}

// journalPatience is how many grace times a call of the journal may take once the input or the session was asked to end: what is
// given up there is lost, and a busy disk is slow.
const journalPatience = 10

// write calls the journal. One that did not return is not called again: nobody knows what it would do.
func (s *Session) write(what string, f func() error) error {
	if lost := s.lost.Load(); lost != nil {
		return *lost
	}
	err := s.call(s.running(), "the journal's "+what, journalPatience*s.grace, f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrStuck):
		s.lost.CompareAndSwap(nil, &err)
		return err
	case isHostError(err):
		s.giveUp(err)
		return err
	}
	return fmt.Errorf("agent: cannot keep the session: %w", err)
}

// overflow returns the warning that the model's window fills up, once for each level.
func (s *State) overflow() []Event {
	if !s.warns {
		return nil
	}
	tokens, window := s.Context.Tokens(), s.Policy.Window
	return []Event{&ContextWarning{Ratio: float64(tokens) / float64(window), Tokens: tokens, Window: window}}
}
