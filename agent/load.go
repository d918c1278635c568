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
	for _, err := range s.folding(ctx, from) {
		if err != nil {
			return err
		}
	}
	return nil
}

// folding yields the records of a journal, each when it is folded into the state. It stops after an
// error.
func (s *State) folding(ctx context.Context, from Records) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for line, err := range lines(ctx, from) {
			if err == nil {
				err = s.Fold(line)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// lines yields the records of a journal. It stops after an error.
func lines(ctx context.Context, from Records) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for line, err := range from.Records(ctx, 1) {
			if err != nil {
				yield(line, fmt.Errorf("agent: cannot read the session: %w", err))
				return
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}
