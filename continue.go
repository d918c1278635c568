package attractor

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// lastSession replaces Continue with a Resume of the newest session of the directory, which may be
// on another machine. It does nothing without Continue.
func (c *config) lastSession(ctx context.Context) error {
	if !c.Continue {
		return nil
	}
	dir, is, err := c.ofDir()
	if err != nil {
		return err
	}
	found, busy, err := newest(ctx, c.Store, dir, is)
	if err != nil {
		return err
	}
	if c.elsewhere() { // the session knows its machine
		c.EnvCommand = found.Environment.Command
	}
	c.Resume, c.Dir, c.Continue, c.continued = found.ID, "", false, dir
	if busy != nil {
		c.inUse = fmt.Sprintf("the newest session of %s is %s, but %s has it open; this is the one before, %s", dir,
			busy.ID, writer(busy), found.ID)
	}
	return nil
}

// ofDir returns the directory whose newest session is to be continued, and a function that reports
// whether a session belongs to it. With an EnvCommand, the sessions behind it do, and with a Dir
// only those in that directory. Without a command, a session on another machine belongs to the
// directory of this machine in which it began.
func (c *config) ofDir() (dir string, is func(*sessions.Summary) bool, err error) {
	if c.elsewhere() {
		place := sessions.Place{Command: c.EnvCommand, Dir: c.Dir}
		return place.String(), func(s *sessions.Summary) bool {
			return s.Environment != nil && slices.Equal(s.Environment.Command, c.EnvCommand) &&
				(c.Dir == "" || path.Clean(c.Dir) == path.Clean(s.Dir))
		}, nil
	}
	if dir, err = filepath.Abs(c.Dir); err != nil {
		return "", nil, cannotWork(c.Dir, err)
	}
	if err := checkDir(dir); err != nil {
		return "", nil, err
	}
	want, real := userfiles.RealPath(dir), map[string]string{}
	return dir, func(s *sessions.Summary) bool {
		home := s.Home()
		if _, known := real[home]; !known {
			real[home] = userfiles.RealPath(home)
		}
		return real[home] == want && (c.EnvCommand == nil || s.Environment == nil)
	}, nil
}

// newest returns the newest session of a directory that has an input and that nobody has open.
// Subagents do not count. Busy is the newest session that somebody has open, if it is newer than
// that. It reads only the beginnings of journals, the newest first.
func newest(ctx context.Context, store journal.Store, dir string,
	is func(*sessions.Summary) bool) (found sessions.Summary, busy *sessions.Summary, err error) {
	if store == nil {
		return found, nil, fail(sessions.ErrNoStore, "there is no session to continue: sessions are not kept")
	}
	entries, err := sessions.NewestFirst(ctx, store)
	if err != nil {
		return found, nil, err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return found, nil, err
		}
		s := sessions.Summarize(ctx, store, e)
		if s.Parent != "" || s.Task == "" || s.Dir == "" { // those of a damaged journal are not known
			continue
		}
		switch {
		case !is(&s):
		case !s.Locked:
			return s, busy, nil
		case busy == nil:
			busy = &s
		}
	}
	if busy != nil {
		return found, nil, fail(sessions.ErrNotFound,
			"the session %s of %s cannot be continued: %s has it open, and there is no other", busy.ID, dir,
			writer(busy))
	}
	return found, nil, fail(sessions.ErrNotFound, "there is no session of %s to continue", dir)
}

// writer returns who has a session open, for a person.
func writer(s *sessions.Summary) string {
	if s.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", s.PID)
}

// checkContinued returns an error if the session to continue has been moved to another directory
// since it began.
func (c *config) checkContinued(was *agent.State) error {
	if c.continued == "" || was == nil || c.elsewhere() || sessions.PlaceOf(was.Notes) != nil ||
		userfiles.RealPath(was.Dir()) == userfiles.RealPath(c.continued) {
		return nil
	}
	return fail(ErrConfig, "the newest session of %s is %s, which works in %s now; to continue it there, resume it "+
		"by its id", c.continued, c.Resume, was.Dir())
}
