package attractor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sessions"
)

// placeNote holds the machine that a session was on, and whether it is another one now.
type placeNote struct {
	had   *sessions.Place // nil for this machine
	moved bool
}

// choosePlace completes the machine and the directory: those of the resumed session, if there is
// one, or this machine and the current directory. A session that moves to another machine without a
// directory works where the command starts.
func (s *Setup) choosePlace(c *config, was *agent.State) {
	if here, err := filepath.Abs(cmp.Or(c.Here.Dir, ".")); err == nil { // otherwise what runs here cannot start
		s.here = here
	}
	if c.Env != nil { // no note says where it is: whoever resumes the session gives it again
		s.moved = was != nil && (c.Dir != "" || was.Dir() != c.Env.WorkDir())
		return
	}
	if was != nil {
		s.place.had = sessions.PlaceOf(was.Notes)
	}
	had := s.place.had
	if c.EnvCommand == nil && had != nil {
		c.EnvCommand = had.Command
	}
	if !c.elsewhere() {
		c.Dir = cmp.Or(c.Dir, c.Here.Dir)
		c.AddDirs = slices.Concat(c.AddDirs, c.Here.AddDirs)
	}
	s.place.moved = was != nil && c.elsewhere() != had.Elsewhere() || had.Elsewhere() &&
		!slices.Equal(c.EnvCommand, had.Command)
	s.moved = was != nil && c.Dir != "" || s.place.moved
	if was != nil && !s.moved {
		c.Dir = was.Dir()
	}
	if !c.elsewhere() {
		c.Dir = cmp.Or(c.Dir, ".")
	}
}

// tellPlace notes the machine of a session, if it is another one or the session is new there. The
// model of a session that has moved is told.
func (s *Setup) tellPlace(ctx context.Context) error {
	if (s.far == nil || len(s.far.command) == 0) && !s.place.moved {
		return nil
	}
	is := &sessions.Place{Dir: s.Machine.WorkDir()}
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
	return s.session.Note(ctx, sessions.PlaceNote, data, s.placeText(is))
}

// placeText returns what the model of a session that has moved to another machine is told.
func (s *Setup) placeText(is *sessions.Place) string {
	if !s.place.moved {
		return ""
	}
	to := "the user's own machine"
	if is.Elsewhere() {
		to = "another machine, behind the command " + texts.Shown(shquote.Shown(is.Command...))
	}
	p := s.Machine.Platform()
	return fmt.Sprintf("The session goes on on %s.\nWorking directory: %s\nPlatform: %s/%s, %s\nShell: %s\nFiles, "+
		"programs and background commands of before are not here: look before you rely on them.", to,
		texts.Shown(is.Dir), p.OS, p.Arch, p.Version, p.Shell)
}
