package attractor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// openJournal opens the journal of a new session, a resumed session or a fork. For the last two it
// returns the session's state.
func (s *Setup) openJournal(ctx context.Context, c *config) (*agent.State, error) {
	o := &s.Options
	from, err := c.from(ctx)
	if err != nil || c.Store == nil {
		return nil, err
	}
	s.Resumed = from != ""
	if o.ID = c.ID; o.ID == "" {
		o.ID = uuid.NewString()
	}
	switch {
	case c.Resume != "":
		o.ID = from
		o.Journal, err = c.Store.Open(ctx, o.ID)
	case c.Fork != "":
		o.Journal, err = c.fork(ctx, from, o.ID)
	default:
		o.Journal, err = c.Store.Create(ctx, o.ID)
	}
	if err != nil {
		return nil, journalError(err)
	}
	if !s.Resumed {
		return nil, nil
	}
	if o.State, err = agent.Load(ctx, o.Journal); err == nil {
		s.tellRound(c, o.State)
		err = c.checkContinued(o.State)
	}
	return o.State, err
}

// fork makes the journal of a fork. The directory of one on another machine is not known yet.
func (c *config) fork(ctx context.Context, from, to string) (journal.Log, error) {
	dir := ""
	if c.Dir != "" && !c.elsewhere() {
		var err error
		if dir, err = filepath.Abs(c.Dir); err != nil {
			return nil, cannotWork(c.Dir, err)
		}
	}
	return agent.Fork(ctx, c.Store, from, c.Turn, to, dir)
}

// tellRound tells a person of a fork that begins in the middle of a round.
func (s *Setup) tellRound(c *config, fork *agent.State) {
	if c.Fork == "" || len(fork.Turns) == 0 {
		return
	}
	switch last := fork.Turns[len(fork.Turns)-1].Number; {
	case len(fork.Calls) > 0:
		s.warnings.add("fork", fmt.Sprintf("The calls of turn %d had not all ended in the session %s when it was "+
			"forked. What was running there is not run again here, and the model is told so.", last,
			fork.Header.ForkOf))
	case c.Turn > 0 && last > c.Turn:
		s.warnings.add("fork", fmt.Sprintf("Turn %d makes calls, so the fork has their results, too, which are turn "+
			"%d. They were run in the session %s and not here, and the model is told so.", c.Turn, last,
			fork.Header.ForkOf))
	}
}

// from returns the id of the session to resume or to fork, or "" for a new session.
func (c *config) from(ctx context.Context) (string, error) {
	prefix := cmp.Or(c.Resume, c.Fork)
	if prefix == "" {
		return "", nil
	}
	return sessions.Find(ctx, c.Store, prefix)
}

// journalError returns the error for a journal that cannot be opened. It says what to do.
func journalError(err error) error {
	var locked *journal.LockedError
	switch {
	case errors.As(err, &locked) && locked.PID == os.Getpid():
		return fmt.Errorf("%w, which is this one: use the session that is open, or close it first", err)
	case errors.Is(err, journal.ErrLocked):
		return fmt.Errorf("%w; wait for it, or end it", err)
	case errors.Is(err, agent.ErrNoTurn), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return fail(ErrConfig, "%w", err)
	}
	return fail(ErrJournal, "cannot keep the session: %w", err)
}

// discard closes the journal unless a session has taken it over. It removes an empty one, which
// would be listed as a session.
func (s *Setup) discard() error {
	log := s.Options.Journal
	if log == nil || s.started {
		return nil
	}
	empty := log.Len() == 0
	err := log.Close()
	if empty && s.store != nil {
		err = errors.Join(err, s.store.Remove(context.Background(), s.Options.ID))
	}
	return err
}
