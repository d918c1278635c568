package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
)

// ErrNoTurn means that a session cannot be forked behind a turn that it does not have.
var ErrNoTurn = errors.New("agent: there is no turn")

// Fork creates the session to from the turns of the session from up to turn, in the same store, and
// opens its journal for Resume. It is listed with dir, in which it is to work; empty means the one
// in which the other session worked then. Turns are numbered as in [Turn].Number; 0 means all. If
// there is no such turn, the error wraps [ErrNoTurn]. The other session is only read, and may be
// running.
//
// A fork in the middle of an input goes on with it by Continue, or with another task by Submit.
// Behind an answer with calls it has the results that they got in the other session, as far as
// there are any, and the model is told that nothing of them was run in the fork. Calls that were
// running there get results that say so. Those that had not begun there are run by Continue, and
// with another task get results that say that they were not run. Steering and follow-ups that
// waited there are not in the fork.
func Fork(ctx context.Context, store journal.Store, from string, turn int, to, dir string) (journal.Log, error) {
	source, err := store.Read(ctx, from)
	if err != nil {
		return nil, err
	}
	point, err := forkPointOf(ctx, source, turn)
	if err = errors.Join(err, source.Close()); err != nil {
		return nil, err
	}
	point.dir = cmp.Or(dir, point.dir)
	return store.Fork(ctx, from, to, point.records, func(r *journal.Record) error { return point.forked(r, to) })
}

// forkPoint says where a fork begins.
type forkPoint struct {
	records int64 // that it has of the other session
	// answer is the record of the answer in the middle of whose round it begins, 0 if it begins
	// between rounds.
	answer int64
	dir    string // that of the other session, empty if it is still the one in which that began
	// waiting has the records of steering and follow-ups that nobody had got there.
	waiting map[int64]bool
}

// forkPointOf returns the last record before the next turn, or the journal's last record for turn
// 0. Behind an answer with calls it is the record of the last of their results.
func forkPointOf(ctx context.Context, from Records, turn int) (p forkPoint, err error) {
	state := new(State)
	var newest int64          // the record of the newest turn
	turns, open := 0, false   // before the record
	queued := map[int]int64{} // the records of steering and follow-ups, by their ids in the queue
	for line, err := range state.folding(ctx, from) {
		if err != nil {
			return p, err
		}
		if turn > 0 && state.turnCount > turn {
			switch line.Kind {
			case historyRecord{}.kind():
				return p, fmt.Errorf("%w %d to fork behind: it is one of the %d that the session began with; fork "+
					"behind turn %d or a later one", ErrNoTurn, turn, state.turnCount, state.turnCount)
			case resultRecord{}.kind():
				if open {
					p.records, p.answer = line.N, newest
				}
			}
			return p, nil
		}
		switch line.Kind {
		case queuedRecord{}.kind():
			queued[state.queued] = line.N
		case noteRecord{}.kind():
			if _, moved := state.Notes[dirNote]; moved {
				p.dir = state.Dir()
			}
		}
		p.waiting = state.waiting(queued)
		if p.records = line.N; state.turnCount > turns {
			newest = line.N
		}
		turns, open = state.turnCount, len(state.Calls) > 0
	}
	switch {
	case state.Records == 0:
		return p, errors.New("agent: the journal is empty; there is nothing to fork")
	case turn < 0 || turn > state.turnCount:
		return p, fmt.Errorf("%w %d: the session has %d", ErrNoTurn, turn, state.turnCount)
	case len(state.Calls) > 0:
		p.answer = newest
	}
	return p, nil
}

// waiting returns the records of steering and follow-ups in the queue, nil if there are none.
// queued has the records by the ids of their entries.
func (s *State) waiting(queued map[int]int64) (records map[int64]bool) {
	for _, q := range s.Queue {
		if q.Lane == LaneSteering || q.Lane == LaneFollowUps {
			if records == nil {
				records = map[int64]bool{}
			}
			records[queued[q.ID]] = true
		}
	}
	return records
}

// forked changes a record of the other session to one of the fork: the header, the results of the
// round in the middle of which the fork begins, and what waited, which is in no lane of the fork.
func (p forkPoint) forked(r *journal.Record, id string) error {
	isResult := p.answer > 0 && r.N > p.answer && r.Kind == (resultRecord{}).kind()
	if r.Kind != (headerRecord{}).kind() && !isResult && !p.waiting[r.N] {
		return nil
	}
	rec, at, err := decodeRecord(*r)
	if err != nil {
		return err
	}
	switch was := rec.(type) {
	case headerRecord:
		was.ForkOf, was.ID, was.Parent = was.ID, id, ""
		was.ForkedAt, was.ForkDir = p.records, p.dir
		was.Version = version // of the records that follow
		rec = was
	case resultRecord:
		was.Content = saysWhere(was.Content)
		rec = was
	case queuedRecord:
		rec = queuedRecord{Source: was.Source}
	default:
		return fmt.Errorf("agent: record %d is no %s", r.N, r.Kind)
	}
	data, err := encodeRecord(rec, at)
	if err != nil {
		return err
	}
	r.Data = json.RawMessage(data)
	return nil
}

// What the model is told of calls that were made in the session from which this one was forked.
const (
	ranElsewhere = "[This session was forked from another one, in which this call was made. Nothing of it was run " +
		"here, and what it changed there may be missing here. Its result there:]\n"
	unknownElsewhere = "Error: this session was forked from another one, in which this call had begun and had no " +
		"result yet. Nothing of it was run here, and its outcome there is not known: it may have had no effect, " +
		"some, or all. Look at the current state before you go on."
	notRunElsewhere = "Error: the call was not run: this session was forked from another one, in which it had no " +
		"result yet, and was then given another task."
)

// saysWhere returns the content of a result with what the model is told of it in a fork.
func saysWhere(content llm.Parts) llm.Parts {
	content = slices.Clone(content)
	if len(content) > 0 {
		if first, ok := content[0].(llm.Text); ok {
			if !strings.HasPrefix(first.Text, ranElsewhere) { // a fork of a fork
				first.Text = ranElsewhere + first.Text
				content[0] = first
			}
			return content
		}
	}
	return slices.Insert(content, 0, llm.Part(llm.Text{Text: ranElsewhere}))
}
