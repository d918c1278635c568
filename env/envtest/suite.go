package envtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// waitLimit bounds every check, and each part of a long one: whatever takes longer hangs.
// Environments behind shells need tens of seconds for some checks on a machine that is busy with
// other tests.
const waitLimit = 2 * time.Minute

// Feature names an optional feature of an environment.
type Feature string

// The features. Start and Command.TTY need not be declared missing if they return an error that
// wraps errors.ErrUnsupported.
const (
	Writing   Feature = "writing"   // WriteFile and Remove
	Commands  Feature = "commands"  // Start
	Modes     Feature = "modes"     // permission bits of files
	Links     Feature = "links"     // symbolic links; checks make them with ln -s
	FIFOs     Feature = "FIFOs"     // checks make them with mkfifo
	Trees     Feature = "trees"     // commands that start others; the checks also need FIFOs
	Sessions  Feature = "sessions"  // Kill finds processes that have left with setsid
	Signals   Feature = "signals"   // commands that end with a signal they send themselves
	Terminals Feature = "terminals" // Command.TTY
)

// Options say what the suite leaves out.
type Options struct {
	// Lacks maps the features that the environment does not have to the reasons. Their checks are
	// skipped with the reason. An environment without Writing or Commands is checked to refuse
	// these.
	Lacks map[Feature]string
	// Arrange returns another environment with the same files and working directory, through which
	// checks make files, links and FIFOs. An environment that lacks Writing needs it; nil means e
	// itself.
	Arrange func(e env.Environment) env.Environment
	// Parallel lets checks run at once, as parallel tests. They mostly wait for processes. Make is
	// then called by several goroutines.
	Parallel bool
}

// Suite checks that an environment behaves as package env documents. Make returns a new one with an
// empty, writable working directory and registers its cleanup with t.Cleanup; it is called once for
// each check. Scripts need only a POSIX shell with cat, chmod, ln, mkfifo, rm, sleep and, in a
// terminal, stty; one check uses setsid if it exists. A check that hangs fails after two minutes:
// go test -v -failfast stops there.
func Suite(t *testing.T, make func(t *testing.T) env.Environment) {
	SuiteWith(t, make, Options{})
}

// SuiteWith runs Suite on an environment that lacks some features.
func SuiteWith(t *testing.T, make func(t *testing.T) env.Environment, opts Options) {
	if opts.Lacks[Writing] != "" && opts.Arrange == nil {
		t.Fatal("an environment that lacks writing needs Options.Arrange: another one that can put files in its place")
	}
	for _, c := range slices.Concat(fileChecks, writeChecks, replaceChecks, treeChecks, commandChecks, processChecks,
		killChecks) {
		if c.unless != "" && opts.Lacks[c.unless] == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if opts.Parallel {
				t.Parallel()
			}
			if lack := c.lack(opts); lack != "" {
				t.Skipf("not run: the environment lacks %s: %s", lack, opts.Lacks[lack])
			}
			c.check(t, make(t), opts, waitLimit)
		})
	}
}

// check is one test of the suite.
type check struct {
	name  string
	run   func(*tester)
	needs []Feature
	// unless names a feature; the check runs only if the environment lacks it.
	unless Feature
}

// lack returns a feature that the check needs and the environment lacks, or "".
func (c check) lack(opts Options) Feature {
	for _, f := range c.needs {
		if opts.Lacks[f] != "" {
			return f
		}
	}
	return ""
}

// check runs the check. The limit applies if the environment obeys its contexts.
func (c check) check(t testing.TB, e env.Environment, opts Options, limit time.Duration) {
	tt := &tester{TB: t, limit: limit, env: e, arranger: e, lacks: opts.Lacks}
	if opts.Arrange != nil {
		tt.arranger, tt.helped = opts.Arrange(e), true
	}
	tt.part(c.run)
}

var errHangs = errors.New("the check took too long")
