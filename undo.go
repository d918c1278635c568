package attractor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/undo"
)

// UndoPlan says what an undo is about to do.
type UndoPlan struct {
	// Text tells a person, without secrets, what is put back and what is left alone.
	Text string
	// ID names the plan: a later plan has it, too, if it does the same.
	ID string
}

// KindUndone is the kind of an [Undone].
const KindUndone agent.Kind = "UNDONE"

// Undone tells that changes of the session were taken back, or that such an undo was.
type Undone struct {
	agent.EventHeader
	Redo bool   `json:"redo,omitempty"`
	Text string `json:"text"` // what became of it, for a person
}

// Diff returns what this session has changed in its directory until now, without secrets. Files
// whose diffs would have more than maxBytes together are left out, except for the first one; 0
// means 8 MiB. It has no files if all is as it was before. An error of the kind [undo.ErrNothing]
// says why nothing is known.
func (s *Setup) Diff(ctx context.Context, maxBytes int) (*checkpoint.Diff, error) {
	p := s.checkpoints
	if p == nil || s.store == nil {
		return nil, notRecorded()
	}
	points, err := undo.ReadStored(ctx, s.store, p.owner)
	switch {
	case err != nil:
		return nil, err
	case len(points.List) == 0 && p.recorder == nil:
		return nil, notRecorded()
	case len(points.List) == 0:
		return nil, fail(undo.ErrNothing, "the session has changed nothing that is recorded")
	}
	diff, err := points.Diff(ctx, p.store, 0, maxBytes)
	if err != nil {
		return nil, err
	}
	for i := range diff.Files {
		for _, text := range []*string{&diff.Files[i].Text, &diff.Files[i].Path, &diff.Files[i].From} {
			*text = s.Secrets.String(*text)
		}
	}
	return diff, nil
}

// notRecorded returns the error for a session whose changes are not recorded.
func notRecorded() error {
	return fail(undo.ErrNothing,
		"the changes of this session are not recorded: it is without checkpoints (--no-checkpoints), not kept "+
			"(--no-journal) or read-only (--read-only)")
}

// Undo takes changes of this session back, or an undo. The session is at rest until Undo returns.
// Unless there is nothing to do, confirm is given the plan, with at most that many paths of each
// kind, and nothing is changed unless it returns true. Undo returns what became of it, for a person
// and without secrets, and tells the host in an [Undone]. Checkpoints, Points, Env and Workspace of
// the options are set here. An error of the kind [undo.ErrNothing] says why there is nothing to
// take back.
func (s *Setup) Undo(ctx context.Context, o undo.Options, most int,
	confirm func(ctx context.Context, plan UndoPlan) (bool, error)) (said string, err error) {
	u, closeIt, err := s.planUndo(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, u.Close(), closeIt()) }()
	plan := UndoPlan{Text: s.Secrets.String(u.Text(most))}
	if u.Plan.Empty() && !u.Resumed {
		return strings.TrimSpace(plan.Text), nil
	}
	if plan.ID, err = u.ID(); err != nil {
		return "", err
	}
	switch yes, err := confirm(ctx, plan); {
	case err != nil:
		return "", err
	case !yes:
		return "Nothing was changed.", nil
	}
	result, err := u.Run(ctx, func(ctx context.Context, kind string, data json.RawMessage, text string) error {
		return s.checkpoints.note(ctx, kind, data, s.Secrets.String(text))
	})
	if err != nil {
		return "", err
	}
	back := "A redo"
	if u.Redo {
		back = "An undo"
	}
	said = s.Secrets.String(undo.Report(&result, most)) + back +
		" takes this back. The agent is told with the next message."
	s.Tell(&Undone{EventHeader: agent.EventHeader{Kind: KindUndone}, Redo: u.Redo, Text: said})
	return said, nil
}

// planUndo plans an undo. The caller closes it, and then calls done, which gives the session its
// workspace again. The environment is not the session's, which refuses names with control
// characters.
func (s *Setup) planUndo(ctx context.Context, c undo.Options) (u *undo.Undo, done func() error, err error) {
	p := s.checkpoints
	if p == nil || p.recorder == nil {
		return nil, nil, notRecorded()
	}
	points, err := undo.ReadStored(ctx, s.store, p.owner)
	if err != nil {
		return nil, nil, err
	}
	// the session has told it
	place, closeIt, err := openAnyNames(ctx, s.EnvCommand(), s.helper, s.Machine.WorkDir(), func(string) {})
	if err != nil {
		return nil, nil, err
	}
	c.Checkpoints, c.Points, c.Env, c.Workspace = p.dir, points, place, p.workspace
	if err := p.release(); err != nil {
		return nil, nil, errors.Join(err, closeIt())
	}
	done = func() error {
		release, err := p.store.Use(context.WithoutCancel(ctx), p.workspace, p.owner)
		if p.release = release; err != nil {
			p.release = func() error { return nil }
		}
		return errors.Join(closeIt(), err)
	}
	if u, err = undo.New(ctx, c); err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return u, done, nil
}

// OpenPoints opens the directory of a session, on the machine where it is, as the session did. The
// caller closes it. Tell is told if that machine is reached only through a shell, and why. Helper
// is that of [Config].EnvHelper.
func OpenPoints(ctx context.Context, p *undo.Points, helper Helper,
	tell func(string)) (e env.Environment, closeIt func() error, err error) {
	var command []string
	if p.Place.Elsewhere() {
		command = p.Place.Command
	}
	return openAnyNames(ctx, command, helper, p.Dir, tell)
}

// openAnyNames opens a directory in which files of any names can be made, given the command that
// leads to its machine.
func openAnyNames(ctx context.Context, command []string, helper Helper, dir string,
	tell func(string)) (e env.Environment, closeIt func() error, err error) {
	if len(command) == 0 {
		local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup, AnyNames: true})
		if err != nil {
			return nil, nil, cannotWork(dir, err)
		}
		return local, local.Close, nil
	}
	there, without, err := reach(ctx, command, remote.DialOptions{Helper: helper,
		Options: remote.Options{Dir: dir, AnyNames: true}})
	if err != nil {
		return nil, nil, unreachable(command, err)
	}
	if without != nil {
		tell(fmt.Sprintf("The undo works through a shell, which is slow, because of this: %v.", without))
	}
	return there, there.Close, nil
}
