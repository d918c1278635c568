package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

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

// Opening describes how a session began, for lists of sessions.
type Opening struct {
	ID       string
	Parent   string // the session that started this subagent
	ForkOf   string
	Dir      string
	Profile  string
	Provider string
	Model    string
	Effort   string    // empty is the provider's
	Created  time.Time // of the first record
	Task     string    // the text of the first input
	// Notes holds the notes before the first input.
	Notes map[string]Note
}

// ReadOpening reads the records of a session, such as those of [journal.Dir.Begin], up to the first
// input. A record's data need be valid only until the next one is yielded. With an error
// ReadOpening returns what it has read until then.
func ReadOpening(records iter.Seq2[journal.Record, error]) (o Opening, err error) {
	begun := false
	for line, err := range records {
		done := false
		switch {
		case err != nil:
		case begun:
			done, err = o.read(line)
		case !o.readHeader(line):
			var state State
			err = state.Fold(line)
			o.set(&state.Header, line.Time)
		}
		if begun = true; err != nil || done {
			return o, err
		}
	}
	return o, nil
}

// readHeader reads a header up to the system prompt and the tools, which are long. What begins the
// system prompt cannot stand in a text, where its quotes would be escaped.
func (o *Opening) readHeader(line journal.Record) bool {
	var h headerRecord
	begin, _, ok := bytes.Cut(line.Data, []byte(`,"system":"`))
	if !ok || line.Kind != h.kind() || json.Unmarshal(append(bytes.Clone(begin), '}'), &h) != nil {
		return false
	}
	o.set(&h.Header, line.Time)
	return h.Version <= version
}

// read reads a record behind the header, and reports whether it is the first input.
func (o *Opening) read(line journal.Record) (done bool, err error) {
	rec, _, err := decodeRecord(line)
	switch r := rec.(type) {
	case noteRecord:
		if o.Notes == nil {
			o.Notes = map[string]Note{}
		}
		o.Notes[r.Note] = Note{Data: r.Data, Text: r.Text}
	case inputRecord:
		o.Task, done = r.Text, true
	}
	return done, err
}

func (o *Opening) set(h *Header, created time.Time) {
	*o = Opening{ID: h.ID, Parent: h.Parent, ForkOf: h.ForkOf, Dir: cmp.Or(h.ForkDir, h.Dir), Profile: h.Profile,
		Provider: h.Provider, Model: h.Model, Effort: h.Effort, Created: created}
}
