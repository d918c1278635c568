package agent

import (
	"iter"
	"time"

	"github.com/attractor-go/attractor/internal/jsonscan"
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

// ReadOpening reads the records of a session, such as those of [journal.Dir.Begin], up to the first input. It may iterate over them twice.
// A record's data need be valid only until the next one is yielded. With an error ReadOpening returns what it has read until then.
//
// It is fast for most sessions, of which it decodes neither the system prompt nor the tools. If other records come before the first input,
// it folds them.
func ReadOpening(records iter.Seq2[journal.Record, error]) (Opening, error) {
	if o, ok := scanOpening(records); ok {
		return o, nil
	}
	return foldOpening(records)
}

// scanOpening reads a session that begins with a header and an input, or has only a header. Ok is false for any other.
func scanOpening(records iter.Seq2[journal.Record, error]) (o Opening, ok bool) {
	for line, err := range records {
		switch {
		case err != nil:
			return o, false
		case !ok:
			if ok = o.scanHeader(line); !ok {
				return o, false
			}
		default:
			ok = o.scanTask(line)
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

// scanHeader reads the beginning of a header that has the form in which a session writes it.
func (o *Opening) scanHeader(line journal.Record) bool {
	var h headerRecord
	s := jsonscan.New(line.Data)
	s.Open()
	scanPlace(&s)
	jsonscan.IntField(&s, "version", &h.Version)
	jsonscan.StringField(&s, "id", &h.ID)
	jsonscan.StringField(&s, "parent", &h.Parent)
	jsonscan.StringField(&s, "fork_of", &h.ForkOf)
	jsonscan.StringField(&s, "profile", &h.Profile)
	jsonscan.StringField(&s, "dialect", &h.Dialect)
	jsonscan.StringField(&s, "provider", &h.Provider)
	jsonscan.StringField(&s, "model", &h.Model)
	jsonscan.StringField(&s, "dir", &h.Dir)
	jsonscan.StringField(&s, "effort", &h.Effort)
	if !s.Field("system") || !s.OK() || line.Kind != h.kind() || h.Version > version {
		return false
	}
	o.set(&h.Header, line.Time)
	return true
}

func (o *Opening) set(h *Header, created time.Time) {
	*o = Opening{ID: h.ID, Parent: h.Parent, ForkOf: h.ForkOf, Dir: h.Dir, Provider: h.Provider, Model: h.Model, Created: created}
}

// scanTask reads an input that begins the session.
func (o *Opening) scanTask(line journal.Record) bool {
	var in inputRecord
	if line.Kind != in.kind() {
		return false
	}
	s := jsonscan.New(line.Data)
	s.Open()
	scanPlace(&s)
	jsonscan.StringField(&s, "text", &in.Text)
	s.DecodeField("more", &in.More)
	jsonscan.StringField(&s, "key", &in.Key)
	jsonscan.StringField(&s, "context", &in.Context)
	s.Close()
	if s.End() {
		o.Task = in.Text
	}
	return s.End()
}
