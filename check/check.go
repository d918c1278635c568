package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// DefaultRounds is how often failing checks send the agent back in one input unless
// [Options].Rounds is set.
const DefaultRounds = 3

// Options are the options of [New].
type Options struct {
	// Commands are scripts for the shell of the environment. They run one after another until one
	// fails.
	Commands []string
	// Rounds is how often failing checks send the agent back to work in one input: DefaultRounds
	// unless set, never if negative.
	Rounds int
	// Timeout bounds each command: env.MaxTimeout unless set, which is also the maximum.
	Timeout time.Duration
	// Env is where the commands run.
	Env env.Environment
	// Tree records the tree of the working directory, as a [checkpoint.Recorder] does. Without it
	// nothing is ever verified.
	Tree func(ctx context.Context) (checkpoint.Tree, error)
	// Changed returns the names that differ between two trees, given their roots, for what is told.
	// It may be nil.
	Changed func(ctx context.Context, before, after env.Hash) ([]string, error)
	// Note keeps a report in the session, as [agent.Session.Note] does.
	Note func(ctx context.Context, kind string, data json.RawMessage, text string) error
	// Resumed is the newest report of a resumed session, so that the count of rounds goes on. Nil
	// means that there is none.
	Resumed *Report
	// Mask removes secrets from what commands print. It may be nil.
	Mask func(text string) string
}

// Checks runs the checks of one session. Its methods are safe for concurrent use.
type Checks struct {
	o Options

	mu      sync.Mutex
	resumed *Report // Options.Resumed, until an input was begun
	rounds  int     // of this input
	last    *Report // of this input; nil before the checks ran
}

// New returns the checks of a session.
func New(o Options) (*Checks, error) {
	switch {
	case len(o.Commands) == 0:
		return nil, errors.New("check: there are no commands")
	case slices.ContainsFunc(o.Commands, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return nil, errors.New("check: a command is empty")
	case o.Timeout < 0 || o.Timeout > env.MaxTimeout:
		return nil, fmt.Errorf("check: the timeout of a command is %v; it can be up to %v", o.Timeout, env.MaxTimeout)
	case o.Env == nil || o.Note == nil || o.Tree == nil:
		return nil, errors.New("check: the options Env, Tree and Note are needed")
	}
	switch {
	case o.Rounds == 0:
		o.Rounds = DefaultRounds
	case o.Rounds < 0:
		o.Rounds = 0
	}
	if o.Timeout == 0 {
		o.Timeout = env.MaxTimeout
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	return &Checks{o: o, resumed: o.Resumed}, nil
}

// MaxConfirms returns the MaxConfirms that the policy of the session needs, so that the checks are
// asked also after they and the other BeforeStop have sent the agent back as often as each of them
// may. Others is how often the other one may, 0 without one.
func (c *Checks) MaxConfirms(others int) int { return c.o.Rounds + others + 1 }

// BeforeStop returns a function for [agent.Hooks]. It asks next first, which may be nil and may
// send the agent back at most others times an input; the checks run when next lets the input end,
// since next may have changed files. Subagents are only asked about by next.
func (c *Checks) BeforeStop(next func(context.Context, agent.Stop) (string, error),
	others int) func(context.Context, agent.Stop) (string, error) {
	return func(ctx context.Context, stop agent.Stop) (string, error) {
		asked := c.begin(stop)
		var problem error
		if next != nil && asked < others {
			prompt, err := next(ctx, stop)
			if err == nil && strings.TrimSpace(prompt) != "" {
				c.sentByOther(stop)
				return prompt, nil
			}
			problem = err
		}
		if stop.Agent != "" || ctx.Err() != nil {
			return "", problem
		}
		prompt, err := c.stop(ctx)
		// an error would let the input end; what is wrong with next is wrong again when it is asked
		// again
		if prompt != "" {
			return prompt, nil
		}
		return "", errors.Join(problem, err)
	}
}

// begin returns how often the other BeforeStop has sent the agent back in this input. A subagent
// has a count of its own.
func (c *Checks) begin(stop agent.Stop) (others int) {
	if stop.Agent != "" {
		return stop.Confirms
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case stop.Confirms == 0: // a new input, also where nobody has called End
		c.rounds, c.last = 0, nil
	case c.resumed != nil && !c.resumed.Final:
		c.rounds = min(c.resumed.Rounds, stop.Confirms)
	}
	c.resumed = nil
	return stop.Confirms - c.rounds
}

// sentByOther forgets what the checks have found: what comes next may change the tree.
func (c *Checks) sentByOther(stop agent.Stop) {
	if stop.Agent != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

// stop runs the checks and returns what the agent is told if one fails.
func (c *Checks) stop(ctx context.Context) (prompt string, err error) {
	report, err := c.look(ctx)
	if ctx.Err() != nil {
		return "", err
	}
	c.mu.Lock()
	if run := report.failed(); report.Status == Failed && c.rounds < c.o.Rounds {
		c.rounds++
		prompt = sentBack(run)
	}
	report.Rounds = c.rounds
	c.last = &report
	c.mu.Unlock()
	return prompt, errors.Join(err, c.keep(ctx, &report))
}

// keep writes a report into the session.
func (c *Checks) keep(ctx context.Context, report *Report) error {
	data, err := json.Marshal(report)
	if err == nil {
		err = c.o.Note(ctx, NoteKind, data, "")
	}
	if err != nil {
		return fmt.Errorf("check: the report cannot be kept: %w", err)
	}
	return nil
}

// sentBack returns what the agent is told about a check that failed.
func sentBack(run *Run) string {
	return fmt.Sprintf("The task is not done: a check that the user has set fails. It ran when you wanted to stop.\n"+
		"\nCommand: %s\nResult: %s\nOutput:\n%s\n\nFix the cause. Do not weaken or bypass the check. If it cannot "+
		"pass, say why.", run.Command, run.outcome(),
		strings.TrimRight(run.Output, "\n"))
}

// End says what the checks know about an input that has ended for a reason, and keeps that as a
// note. The status is verified only if the checks passed and the tree is still the same. An input
// that did not end because the task was done is never verified.
func (c *Checks) End(ctx context.Context, reason agent.Reason) (Report, error) {
	c.mu.Lock()
	last := c.last
	rounds := c.rounds
	c.rounds, c.last, c.resumed = 0, nil, nil
	c.mu.Unlock()
	report := Report{Status: Unverified, Why: "the checks did not run", Commands: c.o.Commands, Rounds: rounds}
	if last != nil {
		report = *last
	}
	switch {
	case reason != agent.ReasonCompleted && reason != agent.ReasonDone:
		report.Status, report.Why = Unverified, fmt.Sprintf("the input ended before the task was done (%s)", reason)
	case report.Status == Verified:
		c.Again(ctx, &report)
	}
	report.Final = true
	return report, c.keep(ctx, &report)
}

// Again compares the tree once more with the one that was verified, and changes the report if it is
// another one. It runs no command.
func (c *Checks) Again(ctx context.Context, report *Report) {
	if report.Status != Verified {
		return
	}
	now, err := c.o.Tree(ctx)
	switch {
	case err != nil:
		report.Status, report.Why = Unverified, "the tree cannot be compared with the one that was checked: "+
			err.Error()
	case now.Root == report.Tree && now.Left.Unsteady.Count > 0:
		report.Status, report.Why = Unverified,
			fmt.Sprintf("files were changing when the tree was compared with the one that was checked: %q",
				now.Left.Unsteady.First)
	case now.Root != report.Tree:
		report.Status, report.Why = Unverified, "the tree has changed since the checks passed"+c.names(ctx, report.Tree,
			now.Root)+" (what is no part of the task belongs outside of the directory, or into .gitignore)"
	}
}
