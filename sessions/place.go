package sessions

import (
	"encoding/json"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/shquote"
)

// PlaceNote is the kind of the note that says on which machine a session works. A session that has
// always worked on this one has none.
const PlaceNote = "attractor.environment"

// Place says on which machine a session works.
type Place struct {
	// Command is the prefix of commands that run there. It is empty for this machine.
	Command []string `json:"command,omitempty"`
	// Dir is the working directory there, and Here is the directory of this machine in which the
	// session was begun.
	Dir  string `json:"dir,omitempty"`
	Here string `json:"here,omitempty"`
}

// String returns the command and the directory, such as "docker exec -i box:/src".
func (p *Place) String() string {
	if p.Dir == "" {
		return shquote.Shown(p.Command...)
	}
	return shquote.Shown(p.Command...) + ":" + p.Dir
}

// Elsewhere reports whether the place is on another machine. Nil is this one.
func (p *Place) Elsewhere() bool { return p != nil && len(p.Command) > 0 }

// PlaceOf returns the place that the notes of a session name, or nil if the session works on this
// machine.
func PlaceOf(notes map[string]agent.Note) *Place {
	note, ok := notes[PlaceNote]
	if !ok {
		return nil
	}
	p := new(Place)
	if json.Unmarshal(note.Data, p) != nil || len(p.Command) == 0 {
		return nil
	}
	return p
}
