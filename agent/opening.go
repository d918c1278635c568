package agent

import (
	"bytes"
	"encoding/json"
	"iter"
	"time"

	"github.com/attractor-go/attractor/journal"
)

// Opening describes how a session began, for lists of sessions.
type Opening struct {
	ID       string
	Parent   string // the session that started this subagent
	ForkOf   string
	Dir      string
	Provider string
	Model    string
	Created  time.Time // of the first record
	Task     string    // the text of the first input
	// Notes holds the notes before the first input.
	Notes map[string]Note
}

// ReadOpening reads the records of a session, such as those of [journal.Dir.Begin], up to the first
// input. It may iterate over them twice. A record's data need be valid only until the next one is
// yielded. With an error ReadOpening returns what it has read until then.
//
// It is fast for most sessions, of which it decodes neither the system prompt nor the tools. If
// other records come before the first input, it folds them.
func ReadOpening(records iter.Seq2[journal.Record, error]) (Opening, error) {
	if o, ok := readOpening(records); ok {
		return o, nil
	}
	return foldOpening(records)
}

// readOpening reads a session that begins with a header and an input, or has only a header. Ok is
// false for any other.
func readOpening(records iter.Seq2[journal.Record, error]) (o Opening, ok bool) {
	for line, err := range records {
		switch {
		case err != nil:
			return o, false
		case !ok:
			if ok = o.readHeader(line); !ok {
				return o, false
			}
		default:
			ok = o.readTask(line)
			return o, ok
		}
	}
	return o, ok
}

// foldOpening reads any session.
func foldOpening(records iter.Seq2[journal.Record, error]) (o Opening, err error) {
	state := new(State)
	defer func() { o.Notes = state.Notes }()
	for line, err := range records {
		if err == nil {
			err = state.Fold(line)
		}
		if err != nil {
			return o, err
		}
		if state.Records == 1 {
			o.set(&state.Header, line.Time)
		}
		if state.Input != nil {
			o.Task = state.Input.Text
			break
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

func (o *Opening) set(h *Header, created time.Time) {
	*o = Opening{ID: h.ID, Parent: h.Parent, ForkOf: h.ForkOf, Dir: h.Dir, Provider: h.Provider, Model: h.Model,
		Created: created}
}

// readTask reads an input that begins the session.
func (o *Opening) readTask(line journal.Record) bool {
	var in inputRecord
	if line.Kind != in.kind() || json.Unmarshal(line.Data, &in) != nil {
		return false
	}
	o.Task = in.Text
	return true
}
