package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/attractor-go/attractor/journal"
)

// Records reads a journal. Each [journal.Reader] implements it.
type Records interface {
	Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error]
}

// Load returns the state of a session, folded from its journal. The session may be running.
func Load(ctx context.Context, from Records) (*State, error) {
	state := new(State)
	if err := state.foldAll(ctx, from); err != nil {
		return nil, err
	}
	if state.Records == 0 {
		return nil, errors.New("agent: the journal is empty")
	}
	return state, nil
}

// foldAll folds all records of a journal.
func (s *State) foldAll(ctx context.Context, from Records) error {
	for line, err := range from.Records(ctx, 1) {
		if err != nil {
			return fmt.Errorf("agent: cannot read the session: %w", err)
		}
		if err := s.Fold(line); err != nil {
			return err
		}
	}
	return nil
}
