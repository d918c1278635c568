package envtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// waitLimit bounds every check: something that takes longer hangs.
const waitLimit = 30 * time.Second

// Feature is something that an environment may be without.
type Feature string

// The features. Start and Command.TTY need not be declared missing: an error that wraps errors.ErrUnsupported says the same.
const (
	Writing   Feature = "writing"   // WriteFile and Remove
	Commands  Feature = "commands"  // Start
	Modes     Feature = "modes"     // permission bits of files
	Links     Feature = "links"     // symbolic links, which the checks make with ln -s
	FIFOs     Feature = "FIFOs"     // which the checks make with mkfifo
	Trees     Feature = "trees"     // commands that start others; the checks need FIFOs too
	Sessions  Feature = "sessions"  // Kill finds what has left with setsid
	Signals   Feature = "signals"   // commands that end by a signal of their own making
	Terminals Feature = "terminals" // Command.TTY
)

// Options say what to leave out of the suite.
type Options struct {
	// Lacks has the features that the environment is without, each with the reason. Their checks are reported as skipped,
	// with the reason. Of an environment that lacks Writing or Commands it is checked that it refuses these.
	Lacks map[Feature]string
	// Arrange returns another environment for the place that e is in, with the same working directory. Checks put files,
	// links and FIFOs there through it. An environment that lacks Writing needs it; nil means e itself.
	Arrange func(e env.Environment) env.Environment
}

// Suite checks that an environment behaves as package env says, sentence by sentence. Make returns a new one with an empty,
// writable working directory, and arranges for its end with t.Cleanup; it is called once a check. Scripts keep to what a POSIX shell
// can do with cat, chmod, ln, mkfifo, rm, sleep and, in a terminal, stty; one check uses setsid where there is one.
func Suite(t *testing.T, make func(t *testing.T) env.Environment) {
	SuiteWith(t, make, Options{})
}

// SuiteWith is Suite for an environment that does not have everything.
func SuiteWith(t *testing.T, make func(t *testing.T) env.Environment, opts Options) {
	for feature, why := range opts.Lacks {
		if !slices.Contains(features(), feature) || why == "" {
			t.Fatalf("Options.Lacks[%q] = %q, want one of %q, and a reason", feature, why, features())
		}
	}
	if opts.Lacks[Writing] != "" && opts.Arrange == nil {
		t.Fatal("an environment that lacks writing needs Options.Arrange: another one that can put files in its place")
	}
	for _, c := range slices.Concat(fileChecks, writeChecks, replaceChecks, treeChecks, commandChecks, processChecks, killChecks) {
		if c.unless != "" && opts.Lacks[c.unless] == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if lack := c.lack(opts); lack != "" {
				t.Skipf("not run: the environment lacks %s: %s", lack, opts.Lacks[lack])
			}
			c.check(t, make(t), opts, waitLimit)
		})
	}
}

func features() []Feature {
	return []Feature{Writing, Commands, Modes, Links, FIFOs, Trees, Sessions, Signals, Terminals}
}

// check is one test of the suite.
type check struct {
	name  string
	run   func(*tester)
	needs []Feature
	// unless is a feature instead of which the check is made.
	unless Feature
}

// lack returns a feature that the check needs and the environment does not have, if there is one.
func (c check) lack(opts Options) Feature {
	for _, f := range c.needs {
		if opts.Lacks[f] != "" {
			return f
		}
	}
	return ""
}

// check runs it, for limit at most as far as the environment heeds its contexts.
func (c check) check(t testing.TB, e env.Environment, opts Options, limit time.Duration) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errHangs)
	defer cancel()
	tt := &tester{TB: t, ctx: ctx, env: e, arranger: e, lacks: opts.Lacks}
	if opts.Arrange != nil {
		tt.arranger, tt.helped = opts.Arrange(e), true
	}
	c.run(tt)
}

var errHangs = errors.New("the check took too long")
