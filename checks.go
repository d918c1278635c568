package attractor

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/undo"
)

// Checks says which commands decide whether an input is done. Only the user chooses them. An input
// whose checks fail ends as others do: [Setup.EndChecks] of the session's Setup says what they
// found.
type Checks struct {
	Commands []string
	// Rounds is how often failing ones send the agent back in one input, as in [check.Options].
	Rounds int
	// Timeout bounds each command: [env.MaxTimeout] if it is 0.
	Timeout time.Duration
}

// sessionChecks holds the checks of a session, and what they need to compare trees.
type sessionChecks struct {
	*check.Checks
	store    *checkpoint.Dir
	recorder *checkpoint.Recorder
	// owner keeps the trees until the session ends. It is empty if the session records checkpoints,
	// which keep the same trees.
	owner string
}

// hookConfirms is how often hooks may send the agent back, unless the policy says otherwise. It is
// the policy's own default.
const hookConfirms = 3

// placeChecks makes the checks the last BeforeStop of the session, after its hooks.
func (s *Setup) placeChecks() (err error) {
	if len(s.wantedChecks.Commands) == 0 {
		return nil
	}
	points := s.checkpoints
	if points == nil {
		return fail(ErrConfig, "checks compare the tree before and after them, but there is no store of checkpoints "+
			"that can be used; a program names one in Checkpoints of attractor.Config")
	}
	c := &sessionChecks{store: points.store, recorder: points.recorder}
	if c.recorder == nil {
		c.owner = "checks of " + points.owner + " " + rand.Text() // sessions that are not kept have no id of their own
		c.recorder = undo.NewRecorder(points.store, points.dir, points.workspace, c.owner)
	}
	if c.Checks, err = check.New(s.checkOptions(c)); err != nil {
		return fail(ErrConfig, "%w", err)
	}
	s.checks = c
	others := 0
	if s.Options.BeforeStop != nil {
		others = max(0, cmp.Or(s.Options.Policy.MaxConfirms, hookConfirms))
	}
	s.Options.BeforeStop = c.BeforeStop(s.Options.BeforeStop, others)
	s.Options.Policy.MaxConfirms = c.MaxConfirms(others)
	return nil
}

// checkOptions returns the options of the session's checks.
func (s *Setup) checkOptions(c *sessionChecks) check.Options {
	return check.Options{Commands: s.wantedChecks.Commands, Rounds: s.wantedChecks.Rounds,
		Timeout: s.wantedChecks.Timeout,
		Env:     s.Machine, Mask: s.Secrets.String, Resumed: check.Last(s.Options.State),
		Tree: func(ctx context.Context) (checkpoint.Tree, error) { return c.recorder.Record(ctx, s.Machine) },
		Changed: func(ctx context.Context, before, after env.Hash) (list []string, err error) {
			changes, err := checkpoint.Changes(ctx, c.store, before, after)
			for _, change := range changes {
				list = append(list, texts.Shown(change.Path))
			}
			return list, err
		},
		Note: func(ctx context.Context, kind string, data json.RawMessage, text string) error {
			return s.checkpoints.note(ctx, kind, data, text)
		}}
}

// EndChecks returns the report of the checks about an input that has ended, or nil without checks.
// The session must still be open.
func (s *Setup) EndChecks(ctx context.Context, result *agent.Result) (*check.Report, error) {
	if s.checks == nil || result == nil {
		return nil, nil
	}
	report, err := s.checks.End(ctx, result.Reason)
	return &report, err
}

// CheckAgain compares the tree with the one that was verified, after the session has been closed
// and its processes have ended. If it is another one, CheckAgain changes the report and adds it to
// the session's journal. show gets the events of that; it may be nil.
func (s *Setup) CheckAgain(ctx context.Context, report *check.Report, show func(agent.Event)) error {
	if s.checks == nil || report == nil {
		return nil
	}
	was := report.Status
	if s.checks.Again(ctx, report); report.Status == was || s.store == nil {
		return nil
	}
	data, err := json.Marshal(report)
	if err == nil {
		err = s.noteClosed(ctx, check.NoteKind, data, show)
	}
	if err != nil {
		return fmt.Errorf("the session still says that the input is %s, which it is not any more: %w", was, err)
	}
	return nil
}

// noteClosed adds a note to the session when it is closed.
func (s *Setup) noteClosed(ctx context.Context, kind string, data []byte, show func(agent.Event)) (err error) {
	log, err := masked.Journal(s.Secrets, s.store.Open)(ctx, s.Options.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	before := log.Len()
	if err := agent.AddNote(ctx, log, kind, data, ""); err != nil || show == nil {
		return err
	}
	var p agent.Projection
	for line, err := range log.Records(ctx, 1) {
		if err != nil {
			return err
		}
		events, err := p.Add(line)
		if err != nil {
			return err
		}
		if line.N > before {
			for _, ev := range events {
				show(ev)
			}
		}
	}
	return nil
}

// closeChecks releases the trees that only the checks needed.
func (s *Setup) closeChecks() error {
	if s.checks == nil || s.checks.owner == "" {
		return nil
	}
	err := errors.Join(s.checks.recorder.Close(), s.checks.store.Release(context.Background(), s.checks.owner))
	if err != nil {
		return fmt.Errorf("the trees of the checks: %w", err)
	}
	return nil
}
