package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/names"
)

// environmentNote is the kind of the note that says on which machine a session works. A session that has always worked on this one has none.
const environmentNote = "attractor.environment"

// Workplace says on which machine a session works.
type Workplace struct {
	// Command is the command of this machine that leads there; see [Config].EnvCommand. It is empty for this machine.
	Command []string `json:"command,omitempty"`
	// Dir is the working directory there, and Here is the directory of this machine in which the session was begun.
	Dir  string `json:"dir,omitempty"`
	Here string `json:"here,omitempty"`
}

// String returns the command and the directory, such as "docker exec -i box:/src".
func (p *Workplace) String() string {
	if p.Dir == "" {
		return ShellWords(p.Command)
	}
	return ShellWords(p.Command) + ":" + p.Dir
}

// elsewhere reports whether the place is on another machine. Nil is this one.
func (p *Workplace) elsewhere() bool { return p != nil && len(p.Command) > 0 }

// ShellWords returns words as a person writes them for a shell.
func ShellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = ShellWord(word)
	}
	return strings.Join(quoted, " ")
}

// WorkplaceOf returns the place that the notes of a session name, or nil if the session works on this machine.
func WorkplaceOf(notes map[string]agent.Note) *Workplace {
	note, ok := notes[environmentNote]
	if !ok {
		return nil
	}
	p := new(Workplace)
	if json.Unmarshal(note.Data, p) != nil || len(p.Command) == 0 {
		return nil
	}
	return p
}

// placeNote holds the machine that a session was on, and whether it is another one now.
type placeNote struct {
	had   *Workplace // nil for this machine
	moved bool
}

// choosePlace completes the machine and the directory: those of the resumed session, if there is one, or this machine and the current
// directory. A session that moves to another machine without a directory works where the command starts.
func (s *Setup) choosePlace(c *Config, was *agent.State) {
	if here, err := filepath.Abs(cmp.Or(c.Here.Dir, ".")); err == nil { // otherwise what runs here cannot start
		s.here = here
	}
	if c.Env != nil { // no note says where it is: whoever resumes the session gives it again
		s.moved = was != nil && (c.Dir != "" || was.Dir() != c.Env.WorkDir())
		return
	}
	if was != nil {
		s.place.had = WorkplaceOf(was.Notes)
	}
	had := s.place.had
	if c.EnvCommand == nil && had != nil {
		c.EnvCommand = had.Command
	}
	if !c.elsewhere() {
		c.Dir = cmp.Or(c.Dir, c.Here.Dir)
		c.AddDirs = slices.Concat(c.AddDirs, c.Here.AddDirs)
	}
	s.place.moved = was != nil && c.elsewhere() != had.elsewhere() || had.elsewhere() && !slices.Equal(c.EnvCommand, had.Command)
	s.moved = was != nil && c.Dir != "" || s.place.moved
	if was != nil && !s.moved {
		c.Dir = was.Dir()
	}
	if !c.elsewhere() {
		c.Dir = cmp.Or(c.Dir, ".")
	}
}

// tellPlace notes the machine of a session, if it is another one or the session is new there. The model of a session that has moved is told.
func (s *Setup) tellPlace(ctx context.Context) error {
	if (s.far == nil || len(s.far.command) == 0) && !s.place.moved {
		return nil
	}
	is := &Workplace{Dir: s.Machine.WorkDir()}
	if s.far != nil {
		is.Command, is.Here = s.far.command, s.here
	}
	if had := s.place.had; had != nil && !s.place.moved {
		if is.Here = had.Here; is.Dir == had.Dir {
			return nil
		}
	}
	data, err := json.Marshal(is)
	if err != nil {
		return err
	}
	return s.session.Note(ctx, environmentNote, data, s.placeText(is))
}

// placeText returns what the model of a session that has moved to another machine is told.
func (s *Setup) placeText(is *Workplace) string {
	if !s.place.moved {
		return ""
	}
	to := "the user's own machine"
	if is.elsewhere() {
		to = "another machine, behind the command " + names.Shown(ShellWords(is.Command))
	}
	p := s.Machine.Platform()
	return fmt.Sprintf("The session goes on on %s.\nWorking directory: %s\nPlatform: %s/%s, %s\nShell: %s\nFiles, programs and background commands of before are "+
		"not here: look before you rely on them.", to, names.Shown(is.Dir), p.OS, p.Arch, p.Version, p.Shell)
}
