package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// Note holds a value that a capability keeps in a session. [Session.Note] writes it; [State].Notes
// has the newest of each kind.
type Note = tool.Note

// noteRecord is the record of a note.
type noteRecord struct {
	Note string          `json:"note"` // its kind
	Data json.RawMessage `json:"data"`
	Text string          `json:"text,omitempty"`
}

func (noteRecord) kind() string { return "note" }

// The limits, in bytes, of a note's data, which stays in memory, and of a text of a note or a hook
// for the model, which stays in its window.
const (
	maxNote     = 1 << 20
	maxHookText = 64 << 10
)

// Note keeps a JSON value under a kind and replaces the one before it. The journal has it, so that
// a resumed session and a fork have it too, in [State].Notes. A text goes to the model as a turn of
// its own before the next model call. When Note returns nil, the note is in the journal. Tools
// reach Note through Call.Session. The event is a [NoteWritten], or a [PlanUpdated] for the todo
// list.
func (s *Session) Note(ctx context.Context, kind string, data json.RawMessage, text string) error {
	rec, err := newNote(kind, data, text)
	if err != nil {
		return err
	}
	return s.commitDurably(ctx, rec)
}

// newNote returns the record of a note, or an error if the note cannot be kept.
func newNote(kind string, data json.RawMessage, text string) (rec noteRecord, err error) {
	switch {
	case strings.TrimSpace(kind) == "":
		return rec, errors.New("agent: a note needs a kind")
	case kind == dirNote:
		return rec, fmt.Errorf("agent: the note %q is the session's own", kind)
	case len(data) > maxNote:
		return rec, fmt.Errorf("agent: the note %q has %d bytes; a note can have %d", kind, len(data), maxNote)
	case len(text) > maxHookText:
		return rec, fmt.Errorf("agent: the text of the note %q has %d bytes; it can have %d: put the rest into a "+
			"file and name that", kind, len(text), maxHookText)
	case !json.Valid(data):
		return rec, fmt.Errorf("agent: the note %q is not JSON", kind)
	}
	compact, err := marshal(data) // as the journal gives it back
	if err != nil {
		return rec, fmt.Errorf("agent: the note %q: %w", kind, err)
	}
	return noteRecord{Note: validText(kind), Data: compact, Text: validText(text)}, nil
}

// foldNote replaces the map of notes, since others may be reading the old one.
func (s *State) foldNote(r noteRecord) {
	s.Notes = with(s.Notes, r.Note, Note{Data: r.Data, Text: r.Text})
	if s.noteTurns[r.Note] != 0 {
		s.setNoteTurn(r.Note, 0)
	}
	s.addContext(r.Text, r.Note)
}

// setNoteTurn sets the number of the turn with the text of the newest note of a kind; 0 means that
// there is none.
func (s *State) setNoteTurn(kind string, number int) {
	s.noteTurns = with(s.noteTurns, kind, number)
	if number == 0 {
		delete(s.noteTurns, kind)
	}
}

// with returns a copy of a map with another value, for maps that copies of the state share.
func with[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	changed := maps.Clone(m)
	if changed == nil {
		changed = map[K]V{}
	}
	changed[key] = value
	return changed
}

// replaceNotes marks the notes whose texts are in turns before the first one that stays.
func (s *State) replaceNotes(first int) {
	for kind, number := range s.noteTurns {
		if number < first {
			note := s.Notes[kind]
			note.Replaced = true
			s.Notes = with(s.Notes, kind, note)
			s.setNoteTurn(kind, 0)
		}
	}
}

// Noted holds a note of a journal, and where in the session it was written.
type Noted struct {
	Note
	Time   time.Time
	Record int64 // the number of its record
	// Turn is the number of the newest turn by then, so that a fork behind that turn has the note.
	// Input counts the inputs that had begun.
	Turn, Input int
}

// ReadNotes yields all notes of one kind in a journal, the oldest first. It stops after an error.
// The session may be running.
func ReadNotes(ctx context.Context, from Records, kind string) iter.Seq2[Noted, error] {
	return func(yield func(Noted, error) bool) {
		var state State
		for line, err := range state.folding(ctx, from) {
			if err != nil {
				yield(Noted{}, err)
				return
			}
			var note noteRecord
			if line.Kind != note.kind() || json.Unmarshal(line.Data, &note) != nil || note.Note != kind {
				continue
			}
			if !yield(Noted{state.Notes[kind], line.Time, line.N, state.turnCount, state.inputs}, nil) {
				return
			}
		}
	}
}

// AddNote adds a note to the journal of a session that no process has open, as [Session.Note] does
// for an open one. The log must be open for writing, and stays open. When AddNote returns nil, the
// note is durable. A resumed session has it, and the model reads its text before its next answer.
// The events show it as those of a short resume.
func AddNote(ctx context.Context, log journal.Log, kind string, data json.RawMessage, text string) error {
	rec, err := newNote(kind, data, text)
	if err != nil {
		return err
	}
	state, err := Load(ctx, log)
	if err != nil {
		return err
	}
	// not log.Len()+1, so that a record that came since is a conflict
	next := state.Records + 1
	at := place{Seq: state.seq + 1, Resumed: state.seq + 1} // of SESSION_START
	records := []record{rec}
	if state.Input == nil { // otherwise the session ends as after a kill, so that its input can go on
		records = append(records, endRecord{Session: true, Reason: ReasonClosed})
	}
	lines := make([]journal.Record, len(records))
	for i, rec := range records {
		body, err := encodeRecord(rec, at)
		if err != nil {
			return err
		}
		now := stamp(time.Now())
		lines[i] = journal.Record{Time: now, Kind: rec.kind(), Data: body}
		at = place{Seq: at.Seq + int64(len(state.apply(rec, now)))}
	}
	if err = log.Append(ctx, next, lines...); err == nil {
		err = log.Sync(ctx)
	}
	if err != nil {
		return fmt.Errorf("agent: cannot keep the note: %w", err)
	}
	return nil
}
