package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/journal"
)

// ErrNoTurn means that a session cannot be forked behind a turn that it does not have.
var ErrNoTurn = errors.New("agent: there is no turn")

// Fork creates the session to from the turns of the session from up to turn, in the same store, and
// opens its journal for Resume. Turns are numbered as in [Turn].Number; 0 means all. If there is no
// such turn, the error wraps [ErrNoTurn]. The other session is only read, and may be running.
//
// A fork in the middle of an input goes on with it by Continue, or with another task by Submit.
// Calls that may have run in the other session and have no result in these turns get results that
// say that their outcome is unknown.
func Fork(ctx context.Context, store journal.Store, from string, turn int, to string) (journal.Log, error) {
	source, err := store.Read(ctx, from)
	if err != nil {
		return nil, err
	}
	n, err := recordsUpTo(ctx, source, turn)
	if err = errors.Join(err, source.Close()); err != nil {
		return nil, err
	}
	return store.Fork(ctx, from, to, n, func(r *journal.Record) error { return forked(r, to) })
}

// recordsUpTo returns the number of the last record before the next turn, or of the journal's last
// record for turn 0.
func recordsUpTo(ctx context.Context, from Records, turn int) (n int64, err error) {
	state := new(State)
	for line, err := range from.Records(ctx, 1) {
		if err != nil {
			return 0, fmt.Errorf("agent: cannot read the session: %w", err)
		}
		if err := state.Fold(line); err != nil {
			return 0, err
		}
		if turn > 0 && state.turnCount > turn {
			if line.Kind == (historyRecord{}).kind() {
				return 0, fmt.Errorf("%w %d to fork behind: it is one of the %d that the session began with; fork behind turn %d or a later one",
					ErrNoTurn, turn, state.turnCount, state.turnCount)
			}
			return n, nil
		}
		n = line.N
	}
	switch {
	case state.Records == 0:
		return 0, errors.New("agent: the journal is empty; there is nothing to fork")
	case turn < 0 || turn > state.turnCount:
		return 0, fmt.Errorf("%w %d: the session has %d", ErrNoTurn, turn, state.turnCount)
	}
	return n, nil
}

// forked changes a header to the new session's id and to the version of the records that it will
// write.
func forked(r *journal.Record, id string) error {
	if r.Kind != (headerRecord{}).kind() {
		return nil
	}
	rec, at, err := decodeRecord(*r)
	if err != nil {
		return err
	}
	h, ok := rec.(headerRecord)
	if !ok {
		return fmt.Errorf("agent: record %d is no header", r.N)
	}
	h.ForkOf, h.ID, h.Parent = h.ID, id, ""
	h.Version = version // of the records that follow
	data, err := encodeRecord(h, at)
	if err != nil {
		return err
	}
	r.Data = json.RawMessage(data)
	return nil
}
