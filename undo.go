package attractor

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/undo"
)

// Diff returns what the session whose records these are has changed in its directory until now. It
// is nil if no change was recorded. An error of the kind [undo.ErrNothing] says that what was
// recorded is not kept any more.
func (s *Setup) Diff(ctx context.Context, from agent.Records, maxBytes int) (*checkpoint.Diff, error) {
	if s.checkpoints == nil {
		return nil, nil
	}
	points, err := undo.Read(ctx, from)
	if err != nil || len(points.List) == 0 {
		return nil, err
	}
	return points.Diff(ctx, s.checkpoints.store, 0, maxBytes)
}

// PlanUndo plans an undo of the changes of this session, which is at rest. The session has its
// workspace again when the undo is closed. Checkpoints, Points, Env and Workspace of the options
// are set here. Env is not the session's, which refuses names with control characters.
func (s *Setup) PlanUndo(ctx context.Context, c undo.Options) (*undo.Undo, error) {
	p := s.checkpoints
	if p == nil || p.recorder == nil {
		return nil, fail(undo.ErrNothing,
			"the changes of this session are not recorded (--no-checkpoints, --no-journal or --read-only)")
	}
	points, err := undo.ReadStored(ctx, s.store, p.owner)
	if err != nil {
		return nil, err
	}
	// the session has told it
	place, closeIt, err := openAnyNames(ctx, s.EnvCommand(), s.helper, s.Machine.WorkDir(), func(string) {})
	if err != nil {
		return nil, err
	}
	c.Checkpoints, c.Points, c.Env, c.Workspace = p.dir, points, place, p.workspace
	if err := p.release(); err != nil {
		return nil, errors.Join(err, closeIt())
	}
	again := func() error {
		release, err := p.store.Use(context.WithoutCancel(ctx), p.workspace, p.owner)
		if p.release = release; err != nil {
			p.release = func() error { return nil }
		}
		return err
	}
	u, err := undo.New(ctx, c)
	if err != nil {
		return nil, errors.Join(err, closeIt(), again())
	}
	u.AfterClose(func() error { return errors.Join(closeIt(), again()) })
	return u, nil
}

// RunUndo carries out an undo of PlanUndo.
func (s *Setup) RunUndo(ctx context.Context, u *undo.Undo) (checkpoint.Result, error) {
	return u.Run(ctx, s.checkpoints.note)
}

// OpenPoints opens the directory of a session, on the machine where it is, as the session did. The
// caller closes it. Tell is told if that machine is reached only through a shell, and why. Helper
// is that of [Config].EnvHelper.
func OpenPoints(ctx context.Context, p *undo.Points, helper Helper, tell func(string)) (e env.Environment,
	closeIt func() error, err error) {
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
	there, without, err := reach(ctx, command, remote.DialOptions{Helper: helper, Options: remote.Options{Dir: dir,
		AnyNames: true}})
	if err != nil {
		return nil, nil, unreachable(command, err)
	}
	if without != nil {
		tell(fmt.Sprintf("The undo works through a shell, which is slow, because of this: %v.", without))
	}
	return there, there.Close, nil
}
