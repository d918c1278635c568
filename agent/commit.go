package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/journal"
)

// commit is the door through which everything enters: journal first, then the state, then the events. Tools that run at the
// same time append their results through it, and Steer its queue entries.
func (s *Session) commit(records ...record) error {
	s.mu.Lock()
	err := s.append(records...)
	s.mu.Unlock()
	s.events.deliver()
	return err
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
	if s.state.Records == 0 {
		records = append([]record{headerRecord{Version: version, Header: *s.header}}, records...)
	}
	if err := s.state.accepts(records[0]); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	at := stamp(s.now())
	if s.journal != nil {
		lines := make([]journal.Record, len(records))
		for i, rec := range records {
			data, err := encodeRecord(rec, s.events.last())
			if err != nil {
				return err
			}
			lines[i] = journal.Record{Time: at, Kind: rec.kind(), Data: data}
		}
		// Not the caller's context: what has happened is written down even when the input is being interrupted.
		if err := s.journal.Append(context.Background(), s.state.Records+1, lines...); err != nil {
			return fmt.Errorf("agent: journal: %w", err)
		}
	}
	for _, rec := range records {
		events := project(rec, &s.state, &s.policy)
		s.state.fold(rec, at)
		if s.header != nil { // the state has it now; written once, since calls read it without the lock
			s.header = nil
		}
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
	if err := s.journal.Sync(context.Background()); err != nil {
		return fmt.Errorf("agent: journal: %w", err)
	}
	return nil
}

// overflow is the warning that the model's window fills up, once for each level.
func (s *State) overflow() []Event {
	if !s.warns {
		return nil
	}
	tokens, window := s.Context.Tokens(), s.policy.Window
	return []Event{&ContextWarning{Ratio: float64(tokens) / float64(window), Tokens: tokens, Window: window}}
}
