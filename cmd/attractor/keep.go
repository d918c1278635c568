package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

// kept is where the session of a run is kept.
type kept struct {
	dir     *journal.Dir // nil with --no-journal
	file    journal.Log  // nil with --no-journal, too
	id      string
	resumed bool
	header  agent.Header // of a session that is resumed
	given   bool         // somebody else closes file
}

// openJournal opens what the flags name: a new journal, that of a session to be resumed, or a fork's.
func (f *runFlags) openJournal(ctx context.Context) (*kept, error) {
	if f.noJournal {
		return &kept{}, nil
	}
	dir, err := journals(os.Getenv)
	if err != nil {
		return nil, err
	}
	k := &kept{dir: dir, id: uuid.NewString()}
	switch {
	case f.resume != "":
		k.resumed = true
		if k.id, err = findSession(ctx, dir, f.resume); err == nil {
			k.file, err = dir.Open(ctx, k.id)
		}
	case f.fork != "":
		k.resumed = true
		err = k.fork(ctx, f.fork)
	default:
		k.file, err = dir.Create(ctx, k.id)
	}
	var coded *exitError
	if err != nil && !errors.As(err, &coded) {
		err = journalError(err)
	}
	if err != nil || !k.resumed {
		return k, err
	}
	state, err := agent.Load(ctx, k.file)
	if err != nil {
		return k, errors.Join(fail(exitFailed, "%w", err), k.discard())
	}
	k.header = state.Header
	k.header.Provider, k.header.Model, k.header.Dir = state.Provider, state.Model, state.Dir()
	return k, nil
}

// fork makes a journal of the beginning of another one: ID, or ID@TURN.
func (k *kept) fork(ctx context.Context, from string) error {
	prefix, turn, err := forkPoint(from)
	if err != nil {
		return err
	}
	source, err := findSession(ctx, k.dir, prefix)
	if err != nil {
		return err
	}
	k.file, err = agent.Fork(ctx, k.dir, source, turn, k.id)
	if errors.Is(err, agent.ErrNoTurn) {
		return fail(exitUsage, "%w", err)
	}
	return err
}

// forkPoint reads ID or ID@TURN; the turn is 0 for the end.
func forkPoint(from string) (prefix string, turn int, err error) {
	prefix, number, cut := strings.Cut(from, "@")
	if !cut {
		return prefix, 0, nil
	}
	if turn, err = strconv.Atoi(number); err != nil || turn < 1 {
		return "", 0, fail(exitUsage, "--fork %s: the turn is a number from 1 on; attractor sessions show %s lists them", from, prefix)
	}
	return prefix, turn, nil
}

// defaults takes directory, provider, model, profile and dialect from the session that is resumed, unless they are given.
func (k *kept) defaults(f *runFlags, given func(flag string) bool) {
	if !k.resumed {
		return
	}
	for flag, value := range map[string]struct {
		to   *string
		from string
	}{"dir": {&f.dir, k.header.Dir}, "provider": {&f.provider, k.header.Provider}, "model": {&f.model, k.header.Model},
		"profile": {&f.profile, k.header.Profile}} {
		if !given(flag) {
			*value.to = value.from
		}
	}
	if !given("native") {
		f.native = k.header.Dialect == nativeDialect
	}
}

// ofSubagent makes a subagent's journal beside the session's.
func (k *kept) ofSubagent() func(context.Context, string) (journal.Log, error) {
	if k.dir == nil {
		return nil
	}
	return k.dir.Create
}

// discard closes a journal that no session got, and removes it if it is new.
func (k *kept) discard() error {
	if k == nil || k.file == nil || k.given {
		return nil
	}
	empty := k.file.Len() == 0 // what is left empty would be a session without anything in the list
	err := k.file.Close()
	if empty {
		err = errors.Join(err, k.dir.Remove(context.Background(), k.id))
	}
	return err
}
