package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/env"
)

// registerChecks adds the flags of checks.
func (f *sessionFlags) registerChecks(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.checks.Commands, "check", nil,
		"let the task count as done only when this `command` succeeds, such as 'go test ./...', and nothing has "+
			"changed since; can be repeated (docs/checks.md)")
	flags.IntVar(&f.checks.Rounds, "check-rounds", check.DefaultRounds,
		"send the agent back to work up to `n` times when a --check fails")
	flags.DurationVar(&f.checks.Timeout, "check-timeout", env.MaxTimeout,
		"end a --check that takes longer than this `duration`, at most "+env.MaxTimeout.String())
}

// checkChecks returns an error if the flags of checks cannot work.
func (f *sessionFlags) checkChecks() error {
	switch {
	case f.checks.Rounds < 0:
		return fail(exitUsage, "--check-rounds cannot be negative")
	case f.checks.Timeout <= 0 || f.checks.Timeout > env.MaxTimeout:
		return fail(exitUsage, "--check-timeout must be above 0 and at most %v", env.MaxTimeout)
	}
	for _, command := range f.checks.Commands {
		if strings.TrimSpace(command) == "" {
			return fail(exitUsage, "--check needs a command, such as --check 'go test ./...'")
		}
	}
	return nil
}

// chosenChecks returns the checks that the flags choose.
func (f *sessionFlags) chosenChecks() attractor.Checks {
	c := f.checks
	if c.Rounds == 0 {
		c.Rounds = -1 // never
	}
	return c
}

// endChecks returns what the checks say about the input that has ended, nil without checks.
func (r *runner) endChecks(ctx context.Context, result *agent.Result, failed error) (*check.Report, error) {
	if failed != nil {
		return nil, nil
	}
	return r.EndChecks(context.WithoutCancel(ctx), result)
}

// checkAgain changes the report if the tree is no longer the verified one, now that what the
// session has left running has ended.
func (r *runner) checkAgain(ctx context.Context, report *check.Report, view *view) error {
	var show func(agent.Event)
	if r.json {
		show = view.show
	}
	return r.CheckAgain(context.WithoutCancel(ctx), report, show)
}

// verified prints on standard error that the task is verified, or returns an error.
func (r *runner) verified(report *check.Report) error {
	switch {
	case report == nil:
		return nil
	case report.Status == check.Verified:
		fmt.Fprintln(r.err, "verified: the checks passed, and the tree has not changed since")
		return nil
	}
	return fail(exitFailed, "--check %s%s", report, r.howToGoOn())
}

// checksWord returns the status of the checks for the last input that was checked, or "".
func checksWord(state *agent.State) string {
	report := check.Last(state)
	if report == nil || !report.Final { // the input has not ended
		return ""
	}
	word := string(report.Status)
	if report.Why != "" {
		word += ": " + report.Why
	}
	return word
}
