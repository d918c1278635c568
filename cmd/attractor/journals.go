package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/journal"
)

// journals returns where sessions are kept: $XDG_STATE_HOME/attractor/sessions, else ~/.local/state/attractor/sessions.
func journals(getenv func(string) string) (*journal.Dir, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification has relative ones ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fail(exitUsage, "there is no directory to keep sessions in: set XDG_STATE_HOME or HOME, or give --no-journal")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return journal.NewDir(filepath.Join(state, "attractor", "sessions")), nil
}

// findSession completes the beginning of an id. A journal that has no record is no session, but its whole id is found.
func findSession(ctx context.Context, dir *journal.Dir, prefix string) (string, error) {
	entries, err := dir.List(ctx)
	if err != nil {
		return "", fail(exitFailed, "%w", err)
	}
	var found []string
	for _, e := range entries {
		if e.ID == prefix {
			return e.ID, nil
		}
		if prefix != "" && strings.HasPrefix(e.ID, prefix) {
			found = append(found, e.ID)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(id string) bool { return isBlank(ctx, dir, id) })
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fail(exitUsage, "there is no session %q; attractor sessions list shows them", prefix)
	}
	return "", fail(exitUsage, "%q is the beginning of several sessions: %s", prefix, strings.Join(found, ", "))
}

// isBlank reports that a journal has no record: a process that was killed as it began has left it.
func isBlank(ctx context.Context, dir *journal.Dir, id string) bool {
	r, err := dir.Read(ctx, id)
	if err != nil {
		return false
	}
	return r.Close() == nil && r.Len() == 0
}

// readSession opens a session for reading, also one that is being written.
func readSession(ctx context.Context, prefix string, read func(journal.Reader) error) error {
	dir, err := journals(os.Getenv)
	if err != nil {
		return err
	}
	id, err := findSession(ctx, dir, prefix)
	if err != nil {
		return err
	}
	r, err := dir.Read(ctx, id)
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	return errors.Join(read(r), r.Close())
}

// journalError gives a journal that cannot be opened its exit code.
func journalError(err error) error {
	switch {
	case errors.Is(err, journal.ErrLocked):
		return fail(exitFailed, "%w; wait for it, or end it", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return fail(exitUsage, "%w", err)
	}
	return fail(exitFailed, "cannot keep the session: %w\nGive --no-journal to run without keeping it.", err)
}

// shortID is enough of an id for a person.
func shortID(id string) string {
	if len(id) > 8 && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return id
}
