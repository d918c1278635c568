package command

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/secret"
)

// sessions opens the sessions of tasks, each as attractor run does with the same flags.
type sessions struct {
	config attractor.Config // what the flags choose
	flags  *cli.SessionFlags
	// shared says that --budget-usd and --budget-tokens hold for all tasks together. The sessions
	// do not get them.
	shared bool
	// asks lets calls that need an approval, and questions, wait for a client of the tenant.
	asks bool
	// state is the directory of what the program itself keeps. Among it are the trees that checks
	// compare, and for a batch the tasks that are still to run, so tasks do not change it.
	state string
	// events gets the events of tasks; it may be nil.
	events func(task string, ev agent.Event)

	mu   sync.Mutex
	open map[*attractor.Setup]bool
}

// Open implements [fleet.Host].
func (s *sessions) Open(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
	c, err := s.configOf(j)
	if err != nil {
		return fleet.Hosted{}, &fleet.PermanentError{Err: err}
	}
	setup, err := attractor.Prepare(ctx, c)
	if err != nil {
		return fleet.Hosted{}, openError(err)
	}
	policy := &setup.Options.Policy
	if s.shared {
		policy.Budget = agent.Budget{}
	}
	policy.Budget = stricter(policy.Budget, j.Task.Budget.Agent())
	if j.Task.Agent.Schema != nil {
		policy.Result = &agent.ResultPolicy{Schema: j.Task.Agent.Schema}
	}
	if s.asks {
		setup.Options.Questions = new(agent.Questions)
	}
	if s.events != nil {
		setup.Options.OnEvent = func(ev agent.Event) { s.events(j.Task.ID, ev) }
	}
	session, err := setup.Start(ctx)
	if err != nil {
		return fleet.Hosted{}, errors.Join(openError(err), setup.Close())
	}
	s.keep(setup, true)
	verify := func(ctx context.Context, result *agent.Result) error {
		report, err := setup.EndChecks(context.WithoutCancel(ctx), result)
		if err == nil && report != nil && report.Status != check.Verified {
			err = errors.New(report.String())
		}
		return err
	}
	return fleet.Hosted{Session: session, Verify: verify, Close: func() error {
		s.keep(setup, false)
		return setup.Close()
	}}, nil
}

// Judge opens where a task is judged. It is set up as the session was, so that what the agent has
// written is as confined as the agent, and finds no keys.
func (s *sessions) Judge(ctx context.Context, j *fleet.Job) (fleet.Judged, error) {
	c, err := s.configOf(j)
	if err != nil {
		return fleet.Judged{}, err
	}
	c.Store, c.ID, c.Resume, c.Ask, c.Instrument = nil, "", "", nil, nil
	c.Checks, c.Checkpoints, c.LanguageServers = attractor.Checks{}, "", attractor.NoLanguageServers
	c.Set("no_mcp", "the fleet", "true")
	c.Set("no_hooks", "the fleet", "true")
	setup, err := attractor.Prepare(ctx, c)
	if err != nil {
		return fleet.Judged{}, err
	}
	s.keep(setup, true)
	return fleet.Judged{Env: setup.Machine, Mask: setup.Secrets.String, Close: func() error {
		s.keep(setup, false)
		return setup.Close()
	}}, nil
}

// stricter returns the lower limits of two budgets.
func stricter(a, b agent.Budget) agent.Budget {
	return agent.Budget{Tokens: lower(a.Tokens, b.Tokens), USD: lower(a.USD, b.USD), Time: lower(a.Time, b.Time)}
}

// lower returns the lower of two limits, of which 0 is none.
func lower[T int | float64 | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// configOf returns the configuration of a task's session.
func (s *sessions) configOf(j *fleet.Job) (attractor.Config, error) {
	c, a := s.config, j.Task.Agent
	place, ok := j.Workspace.(interface {
		Place() (dir string, envCommand []string)
		Confine() sandbox.Options
	})
	if !ok {
		return c, errors.New("the workspace does not say where it is")
	}
	c.Dir, c.EnvCommand = place.Place()
	if c.EnvCommand == nil {
		c.EnvCommand = []string{} // this machine, also for a session that was elsewhere before
	}
	switch own := place.Confine(); {
	case len(c.EnvCommand) > 0:
		confine(&c, sandbox.Options{Level: sandbox.Off}) // the environment behind the command confines
	case own.Level != "" && own.Level != sandbox.Off:
		confine(&c, own)
	}
	if j.Task.Dir != "" { // the other workspaces are in the state
		c.Sandbox.Protect = append(slices.Clip(c.Sandbox.Protect), s.state)
	}
	c.Store, c.ID = j.Store, j.Task.ID
	if j.Resumes {
		c.ID, c.Resume = "", j.Task.ID
	}
	if a.Provider != "" || a.Model != "" {
		c.Unset("context_window") // it is that of another model
	}
	if a.Provider != "" {
		c.Set("provider", "the task", a.Provider)
	}
	if a.Model != "" {
		c.Set("model", "the task", a.Model)
	}
	if a.Effort != "" {
		c.Set("effort", "the task", a.Effort)
	}
	if a.Profile != "" {
		c.Profile = a.Profile
	}
	if a.Instructions != "" {
		c.Instructions = strings.TrimPrefix(c.Instructions+"\n\n"+a.Instructions, "\n\n")
	}
	c.Checks.Commands = append(c.Checks.Commands[:len(c.Checks.Commands):len(c.Checks.Commands)], a.Checks...)
	c.Checkpoints = "" // the fleet records workspaces itself
	c.Set("no_checkpoints", "the fleet", "true")
	if len(c.Checks.Commands) > 0 {
		c.Checkpoints = filepath.Join(s.state, "checks")
	}
	if s.asks {
		c.Ask = func(ctx context.Context, q permit.Question) (permit.Answer, error) {
			d, err := j.ApproveText(ctx, q.Request, render.Question(q))
			return permit.Answer{Verdict: d.Verdict, Reason: d.Reason}, err
		}
	}
	c.Instrument = func(o *agent.Options, _ *secret.Masker) { j.Attach(o) }
	return c, nil
}

// confine replaces the worker's settings of the sandbox by those of an environment.
func confine(c *attractor.Config, own sandbox.Options) {
	keys := []string{"sandbox", "network", "allow_host", "allow_socket"}
	c.Unset(keys...)
	c.Ignore = append(c.Ignore[:len(c.Ignore):len(c.Ignore)], keys...)
	c.Sandbox = own
}

// openError returns the error for a session that cannot be opened. It is permanent if the
// configuration can never work.
func openError(err error) error {
	for _, kind := range []error{attractor.ErrConfig, attractor.ErrNoKey, attractor.ErrNoServer,
		attractor.ErrNoProvider, attractor.ErrNoModel, attractor.ErrFallback} {
		if errors.Is(err, kind) {
			return &fleet.PermanentError{Err: err}
		}
	}
	return err
}

// keep notes which sessions are open.
func (s *sessions) keep(setup *attractor.Setup, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*attractor.Setup]bool{}
	}
	if open {
		s.open[setup] = true
		return
	}
	delete(s.open, setup)
}

// kill ends all commands of all sessions at once.
func (s *sessions) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for setup := range s.open {
		errs = append(errs, setup.KillNow())
	}
	return errors.Join(errs...)
}

// check returns an error if no session could be opened with the flags, before any task is begun.
func (s *sessions) check(ctx context.Context) error {
	if err := s.config.Check(ctx); err != nil {
		return cli.HostError(err)
	}
	return nil
}
