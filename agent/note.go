package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// Note holds a value that a capability keeps in a session. [Session.Note] writes it; [State].Notes has the newest of each kind.
type Note = tool.Note

// noteRecord is the record of a note.
type noteRecord struct {
	Note string          `json:"note"` // its kind
	Data json.RawMessage `json:"data"`
	Text string          `json:"text,omitempty"`
}

func (noteRecord) kind() string { return "note" }

// The limits, in bytes, of a note's data, which stays in memory, and of a text of a note or a hook for the model, which stays in its
// window.
const (
	maxNote     = 1 << 20
	maxHookText = 64 << 10
)

// Note keeps a JSON value under a kind and replaces the one before it. The journal has it, so that a resumed session and a fork have it
// too, in [State].Notes. A text goes to the model as a turn of its own before the next model call. When Note returns nil, the note is in
// the journal. Tools reach Note through Call.Session. The event is a [NoteWritten], or a [PlanUpdated] for the todo list.
func (s *Session) Note(ctx context.Context, kind string, data json.RawMessage, text string) error {
	switch {
	case strings.TrimSpace(kind) == "":
		return errors.New("agent: a note needs a kind")
	case kind == dirNote:
		return fmt.Errorf("agent: the note %q is the session's own", kind)
	case len(data) > maxNote:
		return fmt.Errorf("agent: the note %q has %d bytes; a note can have %d", kind, len(data), maxNote)
	case len(text) > maxHookText:
		return fmt.Errorf("agent: the text of the note %q has %d bytes; it can have %d: put the rest into a file and name that", kind, len(text), maxHookText)
	case !json.Valid(data):
		return fmt.Errorf("agent: the note %q is not JSON", kind)
	}
	compact, err := marshal(data) // as the journal gives it back
	if err != nil {
		return fmt.Errorf("agent: the note %q: %w", kind, err)
	}
	return s.commitDurably(ctx, noteRecord{Note: validText(kind), Data: compact, Text: validText(text)})
}

// foldNote replaces the map of notes, since others may be reading the old one.
func (s *State) foldNote(r noteRecord) {
	notes := maps.Clone(s.Notes)
	if notes == nil {
		notes = map[string]Note{}
	}
	notes[r.Note] = Note{Data: r.Data, Text: r.Text}
	s.Notes = notes
	if s.noteTurns[r.Note] != 0 {
		s.setNoteTurn(r.Note, 0)
	}
	s.addContext(r.Text, r.Note)
}

// setNoteTurn sets the number of the turn with the text of the newest note of a kind; 0 means that there is none.
func (s *State) setNoteTurn(kind string, number int) {
	turns := maps.Clone(s.noteTurns)
	if turns == nil {
		turns = map[string]int{}
	}
	if turns[kind] = number; number == 0 {
		delete(turns, kind)
	}
	s.noteTurns = turns
}

// replaceNotes marks the notes whose texts are in turns before the first one that stays.
func (s *State) replaceNotes(first int) {
	var notes map[string]Note
	for kind, number := range s.noteTurns {
		if number >= first {
			continue
		}
		if notes == nil {
			notes = maps.Clone(s.Notes)
		}
		note := notes[kind]
		note.Replaced = true
		notes[kind] = note
		s.setNoteTurn(kind, 0)
	}
	if notes != nil {
		s.Notes = notes
	}
}
