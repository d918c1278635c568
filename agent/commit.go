package agent

import (
	"context"
	"encoding/json"
	"fmt"

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

// append is commit for callers that hold the lock; they deliver the events after releasing it.
func (s *Session) append(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	if s.state.Records == 0 {
		records = append([]record{headerRecord{Version: version, Header: s.header}}, records...)
	}
	at := s.now()
	if s.journal != nil {
		lines := make([]journal.Record, len(records))
		for i, rec := range records {
			data, err := json.Marshal(rec)
			if err != nil {
				return fmt.Errorf("agent: cannot write a %s record: %w", rec.kind(), err)
			}
			lines[i] = journal.Record{Time: at, Kind: rec.kind(), Data: data}
		}
		// Not the caller's context: what has happened is written down even when the input is being interrupted.
		if err := s.journal.Append(context.Background(), s.state.Records+1, lines...); err != nil {
			return fmt.Errorf("agent: journal: %w", err)
		}
	}
	for _, rec := range records {
		if err := s.state.accepts(rec); err != nil {
			return fmt.Errorf("agent: %w", err)
		}
		events := project(rec, &s.state)
		s.state.fold(rec, at)
		s.events.add(events...)
	}
	return nil
}

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
