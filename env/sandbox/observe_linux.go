package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/landlock"
)

// observe is the level Observe by Landlock. It restricts the thread that starts a command, so no
// program has to be installed.
type observe struct {
	nothing
	options *Options
	abi     int
	private *private // for TMPDIR
	filter  []byte
	closed  []string // what no command may read
	covered atomic.Pointer[[]string]
}

// newObserve returns the mechanism after a thread has been restricted by it, in the same way as
// that of a command, but with everything readable: the list of what is beside covered files is
// long.
func newObserve(o *Options) (_ *observe, err error) {
	b := &observe{options: o, closed: []string{"/dev"}} // rules has those devices that are needed
	if b.abi, err = landlock.ABI(); err != nil {
		return nil, lacking{err}
	}
	if o.abi > 0 {
		b.abi = min(b.abi, o.abi)
	}
	if b.filter, err = filterOf(func(a *architecture) program { return observing(a, b.abi) }); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // others cannot read them anyway
		if err = secrets(func(name string, _ bool) { b.closed = append(b.closed, name) }); err != nil {
			return nil, err
		}
	}
	if b.private, err = newPrivate("tmp"); err != nil {
		return nil, err
	}
	b.covered.Store(&b.closed)
	tried := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		tried <- b.restrict([]string{"/"}, false)
	}()
	if err := <-tried; err != nil {
		return nil, errors.Join(lacking{fmt.Errorf("the level does not work here: %w", err)}, b.close())
	}
	return b, nil
}

// launch implements mechanism.
func (b *observe) launch(_ context.Context, l env.Launch) (env.Launch, error) {
	covered, before := b.cover(), l.Thread
	l.Thread = func() error {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		return b.restrict(allBut("/", covered), l.Terminal)
	}
	l.Env = append(slices.Clip(l.Env), "TMPDIR="+b.private.path("tmp"), "GIT_OPTIONAL_LOCKS=0")
	return l, nil
}

// restrict restricts the calling thread. The ruleset is made on it, because it may have a /proc of
// its own.
func (b *observe) restrict(readable []string, terminal bool) error {
	ruleset, err := landlock.New(b.abi, b.rules(readable, terminal))
	if err != nil {
		return err
	}
	if err := errors.Join(landlock.Restrict(ruleset), ruleset.Close()); err != nil {
		return err
	}
	return errors.Join(landlock.DropCapabilities(unix.CAP_DAC_READ_SEARCH), landlock.Filter(b.filter))
}

// cover returns the files and directories that the next command cannot read, by their real paths.
// Those that do not exist yet are among them.
func (b *observe) cover() []string {
	covered := slices.Clone(b.closed)
	if b.options.Covered != nil {
		for _, name := range b.options.Covered() {
			real, _ := resolved(name)
			covered = append(append(covered, real), leadingOut(real, maxLinks)...)
		}
	}
	b.covered.Store(&covered)
	return covered
}

// rules allows to list all directories, to read the given ones, and to write into the private
// directory. A command has the terminal only if that is its own.
func (b *observe) rules(readable []string, terminal bool) []landlock.Rule {
	rules := []landlock.Rule{{Path: "/", Rights: landlock.List}, {Path: b.private.path("tmp"), Rights: landlock.Write}}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full"} {
		rules = append(rules, landlock.Rule{Path: name, Rights: landlock.Write})
	}
	for _, name := range []string{"/dev/random", "/dev/urandom"} {
		rules = append(rules, landlock.Rule{Path: name, Rights: landlock.Read})
	}
	if terminal {
		rules = append(rules, landlock.Rule{Path: "/dev/tty", Rights: landlock.Write})
	}
	for _, name := range readable {
		rules = append(rules, landlock.Rule{Path: name, Rights: landlock.Read})
	}
	return rules
}

func (b *observe) name() string { return string(Observe) + " (Landlock)" }

func (b *observe) about() string {
	return b.name() + "; commands that run without a question change nothing"
}

func (b *observe) sees(name string) (visible, writable bool) {
	if below(name, b.private.path("tmp")) {
		return true, true
	}
	return !slices.ContainsFunc(*b.covered.Load(), func(c string) bool { return below(name, c) }), false
}

func (b *observe) close() error { return b.private.close() }
