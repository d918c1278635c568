package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/landlock"
)

// observe is the level Observe by Landlock. It restricts the thread that starts a command, so no program has to be installed.
type observe struct {
	options *Options
	abi     int
	private *private // for TMPDIR
	filter  []byte
	closed  []string // what no command may read
	covered atomic.Pointer[[]string]

	mu   sync.Mutex
	last *observed // the ruleset of the last command
}

// newObserve returns the mechanism after a thread has been restricted by it.
func newObserve(o *Options) (_ *observe, err error) {
	a := processor()
	if a == nil {
		return nil, lacking{errors.New("there is no filter of system calls for this processor")}
	}
	b := &observe{options: o, closed: []string{"/dev"}} // rules has those devices that are needed
	if b.abi, err = landlock.ABI(); err != nil {
		return nil, lacking{err}
	}
	if o.abi > 0 {
		b.abi = min(b.abi, o.abi)
	}
	b.filter = observing(a, b.abi).bytes()
	if os.Geteuid() == 0 { // others cannot read them anyway
		if err = secrets(func(name string, _ bool) { b.closed = append(b.closed, name) }); err != nil {
			return nil, err
		}
	}
	if b.private, err = newPrivate("tmp"); err != nil {
		return nil, err
	}
	tried := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		tried <- b.restrict(b.cover(), false)
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
		return b.restrict(covered, l.Terminal)
	}
	l.Env = append(slices.Clip(l.Env), "TMPDIR="+b.private.path("tmp"), "GIT_OPTIONAL_LOCKS=0")
	return l, nil
}

// restrict restricts the calling thread.
func (b *observe) restrict(covered []string, terminal bool) error {
	if err := b.enforce(covered, terminal); err != nil {
		return err
	}
	return errors.Join(landlock.DropCapabilities(unix.CAP_DAC_READ_SEARCH), landlock.Filter(b.filter))
}

// enforce restricts the calling thread by a ruleset. That is made on the thread, because it may have a /proc of its own, and used again as long
// as nothing has changed that it depends on.
func (b *observe) enforce(covered []string, terminal bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.holds(covered, terminal) {
		if err := b.forget(); err != nil {
			return err
		}
		var err error
		if b.last, err = b.observed(covered, terminal); err != nil {
			return err
		}
	}
	return landlock.Restrict(b.last.ruleset)
}

// forget closes the ruleset of the last command.
func (b *observe) forget() error {
	last := b.last
	if b.last = nil; last == nil {
		return nil
	}
	return last.ruleset.Close()
}

// observed is a ruleset, and what it depends on.
type observed struct {
	ruleset  *os.File
	covered  []string
	terminal bool
	dirs     []dirState // directories of which single files are readable, and /proc
}

// observed makes a ruleset.
func (b *observe) observed(covered []string, terminal bool) (*observed, error) {
	o := &observed{covered: covered, terminal: terminal}
	proc := stateOf("/proc")
	parts, dirs := allBut(covered)
	o.dirs = append(dirs, proc)
	var err error
	if o.ruleset, err = landlock.New(b.abi, b.rules(parts, terminal)); err != nil {
		return nil, err
	}
	return o, nil
}

// holds reports whether a ruleset would be made again as it is.
func (o *observed) holds(covered []string, terminal bool) bool {
	if o == nil || o.terminal != terminal || !slices.Equal(o.covered, covered) {
		return false
	}
	return !slices.ContainsFunc(o.dirs, func(d dirState) bool { return !d.holds() })
}

// cover returns the files and directories that the next command cannot read, by their real paths. Those that do not exist yet are among them.
func (b *observe) cover() []string {
	covered := slices.Clone(b.closed)
	if b.options.Covered != nil {
		real := links{}
		for _, name := range b.options.Covered() {
			covered = append(covered, real.path(name))
			covered = append(covered, leadingOut(covered[len(covered)-1], maxLinks)...)
		}
	}
	b.covered.Store(&covered)
	return covered
}

// rules allows to list all directories, to read the given ones, and to write into the private directory. A command has the terminal only if
// that is its own.
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

func (b *observe) hides() bool { return false }

func (b *observe) userNamespaces() bool { return false }

func (b *observe) protection() env.Protection { return env.DefaultProtection() }

func (b *observe) frozen() []string { return nil }

func (b *observe) sees(name string) (visible, writable bool) {
	if below(name, b.private.path("tmp")) {
		return true, true
	}
	return !slices.ContainsFunc(*b.covered.Load(), func(c string) bool { return below(name, c) }), false
}

func (b *observe) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(b.forget(), b.private.close())
}
