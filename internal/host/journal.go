package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

// openJournal opens the journal of a new session, of one that is resumed, or of a fork. Of the last two it returns the state so far.
func (s *Setup) openJournal(ctx context.Context, c *Config) (*agent.State, error) {
	o := &s.Options
	from, err := c.from(ctx)
	if err != nil || c.Store == nil {
		return nil, err
	}
	s.Resumed = from != ""
	o.ID = uuid.NewString()
	switch {
	case c.Resume != "":
		o.ID = from
		o.Journal, err = c.Store.Open(ctx, o.ID)
	case c.Fork != "":
		o.Journal, err = agent.Fork(ctx, c.Store, from, c.Turn, o.ID)
	default:
		o.Journal, err = c.Store.Create(ctx, o.ID)
	}
	if err != nil {
		return nil, journalError(err)
	}
	if !s.Resumed {
		return nil, nil
	}
	return agent.Load(ctx, o.Journal)
}

// from returns the id of the session to resume or to fork, or nothing when a new one begins.
func (c *Config) from(ctx context.Context) (string, error) {
	prefix := cmp.Or(c.Resume, c.Fork)
	if prefix == "" {
		return "", nil
	}
	return Find(ctx, c.Store, prefix)
}

// journalError says what to do about a journal that cannot be opened.
func journalError(err error) error {
	switch {
	case errors.Is(err, journal.ErrLocked):
		return fmt.Errorf("%w; wait for it, or end it", err)
	case errors.Is(err, agent.ErrNoTurn), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return fail(ErrConfig, "%w", err)
	}
	return fail(ErrJournal, "cannot keep the session: %w", err)
}

// discard closes a journal that no session got, and removes it if it is empty: it would be a session without anything in the list.
func (s *Setup) discard() error {
	log := s.Options.Journal
	if log == nil || s.started {
		return nil
	}
	empty := log.Len() == 0
	err := log.Close()
	if empty {
		err = errors.Join(err, s.store.Remove(context.Background(), s.Options.ID))
	}
	return err
}
