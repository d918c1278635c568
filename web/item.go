package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

// errRested is returned by Add after Rest.
var errRested = errors.New("web: the trace was ended by Rest")

// keptText limits the texts of events that a trace keeps, in bytes.
const keptText = 4 << 10

// kept holds the events of a row.
type kept struct {
	row    int
	events []agent.Event
}

// keptOf returns the events of a row, nil if they are not kept.
func keptOf(all []kept, row int) []agent.Event {
	i, ok := slices.BinarySearchFunc(all, row, func(k kept, row int) int { return cmp.Compare(k.row, row) })
	if !ok {
		return nil
	}
	return all[i].events
}

// shortened returns events to keep. It cuts the text of an answer if it is long, because the row
// before has all of it.
func shortened(events []agent.Event) []agent.Event {
	for i, ev := range events {
		if end, ok := ev.(*agent.ProcessingEnd); ok && len(end.Text) > keptText {
			c := *end
			c.Text = line(end.Text)
			events[i] = &c
		}
	}
	return events
}

// Item returns a row with its events, which it reads from the journal again unless they were kept.
func (t *Trace) Item(ctx context.Context, from agent.Records, i int) (Item, error) {
	t.mu.RLock()
	if i < 0 || i >= len(t.rows) {
		defer t.mu.RUnlock()
		return Item{}, fmt.Errorf("web: there is no row %d; the session has %d", i, len(t.rows))
	}
	row, at, first, events := t.rows[i], t.places[i], t.first, keptOf(t.kept, i)
	nth := t.nth(i)
	t.mu.RUnlock()
	if events == nil {
		made, err := remake(ctx, from, t.masker, first, at)
		if err != nil {
			return Item{}, err
		}
		if events = pick(made, row.Kind, nth); events == nil {
			return Item{}, fmt.Errorf("web: record %d has no events of the row %d any more", at.last, i)
		}
		complete(events, row)
	}
	return newItem(row, events)
}

// newItem returns a row with its events.
func newItem(row Row, events []agent.Event) (Item, error) {
	item := Item{Row: row, Events: []json.RawMessage{}}
	for _, ev := range events {
		raw, err := json.Marshal(ev)
		if err != nil {
			return Item{}, err
		}
		item.Events = append(item.Events, raw)
	}
	return item, nil
}

// nth returns how many rows of a row's kind its record has before it.
func (t *Trace) nth(i int) (n int) {
	for j := i - 1; j >= 0 && t.places[j].last == t.places[i].last; j-- {
		if t.rows[j].Kind == t.rows[i].Kind {
			n++
		}
	}
	return n
}

// remake makes the rows of a record again, from the records that have their events.
func remake(ctx context.Context, from agent.Records, m *secret.Masker, first journal.Record, at place) ([]made, error) {
	f := newFolder(m)
	f.partial = true
	if at.last == 1 {
		r, err := f.add(first)
		return r.rows, err
	}
	if _, err := f.add(first); err != nil {
		return nil, err
	}
	for _, n := range []int64{at.answer, at.began} {
		if n <= 1 || n >= at.last {
			continue
		}
		if _, err := f.addNumber(ctx, from, n); err != nil {
			return nil, err
		}
	}
	r, err := f.addNumber(ctx, from, at.last)
	return r.rows, err
}

// addNumber folds the record with a number.
func (f *folder) addNumber(ctx context.Context, from agent.Records, n int64) (record, error) {
	for line, err := range from.Records(ctx, n) {
		if err != nil {
			return record{}, err
		}
		return f.add(line)
	}
	return record{}, errors.Join(ctx.Err(), fmt.Errorf("web: the journal has no record %d any more", n))
}

// pick returns the events of the nth row of a kind.
func pick(rows []made, kind RowKind, nth int) []agent.Event {
	for _, m := range rows {
		if m.row.Kind != kind {
			continue
		}
		if nth == 0 {
			return m.events
		}
		nth--
	}
	return nil
}

// complete sets the numbers in events that were made again by remake.
func complete(events []agent.Event, row Row) {
	for _, ev := range events {
		switch e := ev.(type) {
		case *agent.StepEnd:
			e.Step = row.Step
		case *agent.ToolCallStart, *agent.ContextWarning:
		default:
			e.Head().Seq = row.Seq
		}
	}
}
