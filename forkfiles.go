package attractor

import (
	"context"
	"errors"
	"os"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/undo"
)

// writesFiles reports whether a fork after a turn begins with the files of that turn in a
// directory of its own.
func (c *config) writesFiles() bool {
	return c.Fork != "" && c.Turn > 0 && c.Dir != "" && c.Checkpoints != "" && !c.elsewhere()
}

// checkNewDir returns an error unless a directory does not exist or is empty.
func checkNewDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return cannotWork(dir, err)
	case len(entries) > 0:
		return fail(ErrConfig, "%s is not empty: a fork after a turn with a directory gets the files of that turn "+
			"there; name a directory that is empty or does not exist, or fork without a turn to work with "+
			"other files", texts.Shown(dir))
	}
	return nil
}

// writeFiles writes the files of the turn after which the session is forked into the directory of
// the fork.
func (s *Setup) writeFiles(ctx context.Context, c *config) (err error) {
	if err := checkNewDir(c.Dir); err != nil {
		return err
	}
	id, err := c.from(ctx)
	if err != nil {
		return err
	}
	points, err := undo.ReadStored(ctx, c.Store, id)
	if err != nil {
		return err
	}
	if points.Place.Elsewhere() {
		return fail(ErrConfig, "the session works on another machine (%s), and a fork gets files only on this one; "+
			"leave the directory out (--dir)", points.Place)
	}
	text, err := points.Write(ctx, c.Checkpoints, c.Turn, func() (env.Environment, func() error, error) {
		if err := os.MkdirAll(c.Dir, 0o777); err != nil {
			return nil, nil, cannotWork(c.Dir, err)
		}
		return openAnyNames(ctx, nil, nil, c.Dir, nil)
	})
	if err != nil {
		return err
	}
	s.warnings.add("checkpoints", text)
	return nil
}
