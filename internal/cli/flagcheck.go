package cli

import (
	"errors"
	"math"
	"slices"

	"github.com/attractor-go/attractor/internal/settings"
)

// check returns an error if the flags of run contradict each other, before anything is opened or
// asked for. It reads the files that flags name.
func (f *runFlags) check() (err error) {
	switch {
	case f.timeout < 0:
		return fail(exitUsage, "--timeout cannot be negative")
	case f.mcpWait < 0:
		return fail(exitUsage, "--mcp-wait cannot be negative")
	case f.answerTimeout < 0:
		return fail(exitUsage, "--answer-timeout cannot be negative")
	case f.input == inputText && f.answerTimeout > 0 && !f.view:
		return fail(exitUsage, "--answer-timeout needs --input json or --view")
	case f.input == inputJSON && f.ask:
		return fail(exitUsage, "--ask asks on the terminal; with --input json the client is asked")
	}
	f.json = f.json || f.input == inputJSON
	if err := f.startFlags.check(f.noJournal); err != nil {
		return err
	}
	if err := f.sessionFlags.check(); err != nil {
		return err
	}
	if err := f.viewFlag.check(f.noJournal); err != nil {
		return err
	}
	f.schema, err = readSchema(f.outputSchema)
	return err
}

// checkInput returns an error for a form of input that does not exist, and for a prompt that cannot
// be read beside the lines.
func (f *runFlags) checkInput(args []string) error {
	switch {
	case f.input != inputText && f.input != inputJSON:
		return fail(exitUsage, "--input must be text or json, not %q", f.input)
	case f.input == inputJSON && endsInDash(args):
		return fail(exitUsage, "standard input has the lines of --input json, so the prompt cannot be -; send it as a line")
	}
	return nil
}

// check returns an error if the flags that every session has contradict each other. It reads the
// file of --instructions.
func (f *sessionFlags) check() (err error) {
	if err := f.checkValues(); err != nil {
		return err
	}
	if f.instructions, err = settings.Prompt(f.instructions); err != nil {
		return fail(exitUsage, "%w", err)
	}
	return nil
}

// checkValues returns an error if a flag has a value that it cannot have, or that another flag
// excludes.
func (f *sessionFlags) checkValues() error {
	for _, n := range []struct {
		flag     string
		negative bool
	}{{"max-rounds", f.maxRounds < 0}, {"max-turns", f.maxTurns < 0}, {"idle-timeout", f.idleTimeout < 0},
		{"context-window", f.contextWindow < 0}, {"budget-tokens", f.budgetTokens < 0},
		{"budget-usd", f.budgetUSD < 0}, {"diffs", f.diffs < 0}, {"keep-outputs", f.keepOutputs < 0}} {
		if n.negative {
			return fail(exitUsage, "--%s cannot be negative", n.flag)
		}
	}
	switch {
	case math.IsNaN(f.budgetUSD) || math.IsInf(f.budgetUSD, 0): // no cost would ever exceed it
		return fail(exitUsage, "--budget-usd must be a number from 0 on, not %v", f.budgetUSD)
	case f.maxJournal < 1:
		return fail(exitUsage, "--max-journal must be at least 1 byte")
	case f.noJournal && f.keepOutputs > 0 && f.settings.Get("keep_outputs") != nil: // not by default
		return fail(exitUsage, "--keep-outputs cannot be used with --no-journal")
	}
	if err := errors.Join(f.checkMode(), f.checkChecks()); err != nil {
		return err
	}
	if _, ok := settings.LimitActions()[f.onLimit]; !ok {
		return fail(exitUsage, "--on-limit must be %s, not %q", orList(settings.LimitActionNames()), f.onLimit)
	}
	if !slices.Contains(settings.CacheLifetimes(), f.cacheLifetime) {
		return fail(exitUsage, "--cache-lifetime must be %s, not %q", orList(settings.CacheLifetimes()), f.cacheLifetime)
	}
	if err := settings.CheckURL(f.baseURL); f.baseURL != "" && err != nil {
		return fail(exitUsage, "--base-url %w", err)
	}
	return nil
}
