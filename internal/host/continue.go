package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

// lastSession makes a configuration with Continue one that resumes the newest session of its directory. It does nothing if that was done.
func (c *Config) lastSession(ctx context.Context) error {
	if !c.Continue {
		return nil
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return cannotWork(c.Dir, err)
	}
	if err := checkDir(dir); err != nil {
		return err
	}
	found, busy, err := newest(ctx, c.Store, dir)
	if err != nil {
		return err
	}
	c.Resume, c.Dir, c.Continue, c.continued = found.ID, "", false, dir
	if busy != nil {
		c.inUse = fmt.Sprintf("the newest session of %s is %s, but %s has it open; this is the one before, %s", dir, busy.ID, writer(busy), found.ID)
	}
	return nil
}

// newest returns the newest session that began in a directory and has an input, and that nobody has open. A subagent is no such session.
// Busy is the newest one that is open, if it is newer. Only the beginnings of journals are read, of the newest sessions first.
func newest(ctx context.Context, store journal.Store, dir string) (found Summary, busy *Summary, err error) {
	if store == nil {
		return found, nil, fail(ErrNoStore, "there is no session to continue: sessions are not kept")
	}
	entries, err := store.List(ctx)
	if err != nil {
		return found, nil, err
	}
	slices.SortFunc(entries, func(a, b journal.Entry) int { return b.Modified.Compare(a.Modified) })
	want, real := realPath(dir), map[string]string{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return found, nil, err
		}
		s := summarize(ctx, store, e)
		if s.Parent != "" || s.Task == "" || s.Dir == "" { // those of a damaged journal are not known
			continue
		}
		if _, known := real[s.Dir]; !known {
			real[s.Dir] = realPath(s.Dir)
		}
		switch {
		case real[s.Dir] != want:
		case !s.Locked:
			return s, busy, nil
		case busy == nil:
			busy = &s
		}
	}
	if busy != nil {
		return found, nil, fail(ErrNoSession, "the session %s of %s cannot be continued: %s has it open, and there is no other", busy.ID, dir, writer(busy))
	}
	return found, nil, fail(ErrNoSession, "there is no session of %s to continue", dir)
}

// writer returns who has a session open, for a person.
func writer(s *Summary) string {
	if s.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", s.PID)
}

// realPath returns a path without symbolic links, or as it is if it does not exist.
func realPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return filepath.Clean(name)
}

// checkContinued returns an error if the session to continue has been moved to another directory since it began.
func (c *Config) checkContinued(was *agent.State) error {
	if c.continued == "" || was == nil || realPath(was.Dir()) == realPath(c.continued) {
		return nil
	}
	return fail(ErrConfig, "the newest session of %s is %s, which works in %s now; to continue it there, resume it by its id", c.continued, c.Resume, was.Dir())
}
