package env

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/contain"
)

// DefaultGrace is the time between TERM and KILL when LocalOptions.Grace is zero.
const DefaultGrace = 2 * time.Second

// LocalOptions are what a host chooses about a Local. The zero value is a safe default.
type LocalOptions struct {
	// Roots are directories, besides the working directory, in which files may be read and written. Each must exist.
	Roots []string
	// ReadOnly are directories in which files may be read and not changed: others, or some of those above, the working directory too, or
	// parts of them. The innermost directory that holds a file decides, so that a part of one may be among the Roots. Each must exist. Like
	// the Roots it holds for files alone: commands are not confined.
	ReadOnly []string
	// Grace is how long a process tree has between TERM and KILL; zero means DefaultGrace, less than zero no grace at all.
	Grace time.Duration
	// Vars says which of the host's environment variables commands inherit.
	Vars VarPolicy
	// DropVars names variables that are dropped under every policy, besides the provider keys that always are: those in
	// which this host keeps its own credentials. Names are compared without case.
	DropVars []string
	// Environ is what Vars is applied to, as KEY=value; nil means os.Environ() at the time of NewLocal.
	Environ []string
	// Env is added to every command's environment after the policy, as KEY=value.
	Env []string
	// Launch, when set, is asked how to start each command: it returns what it was given or something else, such as the same command in a
	// sandbox, or an error, with which the command does not start. A panic is an error. Ctx is that of Start, which does not wait any longer
	// than that for the answer. It may be called by several goroutines at once.
	//
	// The exit is that of the program which was started: one that runs the command as a child and not in its own place says the command's
	// exit code, but hardly its signal. A kill asks all to end, that program too; if everything ends with it, as with bubblewrap's option
	// --die-with-parent, the command has no time to clean up. What is started is found by its cgroup, PID namespace or process group as
	// ever, and at ContainGroup by MarkVar, too, if that is handed on.
	Launch func(ctx context.Context, l Launch) (Launch, error)
	// Network and Sandbox say in a few words what Launch, or what this process itself runs in, leaves commands of the network and of the
	// machine; see Confinement. Empty means unknown.
	Network, Sandbox string
	// Containment forces a level, such as ContainGroup; empty means the best that works here, which NewLocal finds out by
	// trying. A level that does not work is an error that wraps errors.ErrUnsupported.
	Containment string
	// EndAbandoned makes NewLocal end what commands have left running whose host, a Local of this user on this machine, was killed: TERM,
	// Grace, KILL. Local.Abandoned says what that was. A host that is alive, or of which nothing is known, keeps its processes.
	// It is for a program that is alone responsible for them, such as a command that people run again.
	EndAbandoned bool
	// Locks is the directory of the lock files by which sessions agree on who changes a file; see Lock. All sessions on a machine have to
	// use the same. Empty means attractor/locks in the user's directory for state ($XDG_STATE_HOME, else ~/.local/state), or a directory
	// of the user's own among the temporary ones where that cannot be written. It is made with the first lock, and holds a few empty files.
	Locks string
}

// Local is this machine: files below a working directory and other roots that the host allows, and commands in a shell.
//
// Files stay inside the roots whatever symbolic links say, also when a link is swapped while a call runs: every operation goes
// through an os.Root. Commands are not confined; that is a sandbox's work.
//
// On Linux and macOS a command runs in a process group of its own, and gets no descriptor of this process but its standard
// ones. On Linux, moreover, Kill and Close end what has left the group (setsid, double fork, nohup): by a cgroup for each command
// where the host may make one below its own, by a PID namespace where it may make one, and otherwise by a mark in the
// environment; see ContainCgroupPIDNS and the other levels. On macOS what leaves the group survives.
// Windows has the files, where names are compared with the roots' names by case, and no commands: Start returns an error that
// wraps errors.ErrUnsupported.
//
// All methods may be called concurrently. After Close they return errors that wrap fs.ErrClosed.
type Local struct {
	dir     string  // as given, absolute, slash-separated
	roots   []*root // the working directory is the first
	fenced  bool    // some of the roots are read-only
	escapes error   // what os.Root says when a name leaves it
	shell   string
	environ []string
	launch  func(context.Context, Launch) (Launch, error)
	network string
	sandbox string
	grace   time.Duration
	level   contain.Level
	table   processTable
	locks   *locks

	abandoned    []string
	abandonedErr error

	closing  sync.Once
	closeErr error
}

var (
	_ Environment = (*Local)(nil)
	_ Contained   = (*Local)(nil)
	_ Replacer    = (*Local)(nil)
	_ Locker      = (*Local)(nil)
	_ Resolver    = (*Local)(nil)
	_ Hiding      = (*Local)(nil)
	_ Graceful    = (*Local)(nil)
	_ Confined    = (*Local)(nil)
	_ Tree        = (*Local)(nil)
)

// NewLocal makes the environment of a directory, which must exist and may be given by a symbolic link. Relative names start
// there. It holds a file descriptor for each root until Close.
func NewLocal(dir string, opts LocalOptions) (*Local, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("working directory %q: %w", dir, err)
	}
	shell, err := findShell()
	if err != nil {
		return nil, err
	}
	l := &Local{dir: filepath.ToSlash(abs), shell: shell, launch: opts.Launch, network: opts.Network, sandbox: opts.Sandbox,
		grace: opts.Grace, locks: newLocks(opts.Locks)}
	switch {
	case opts.Grace == 0:
		l.grace = DefaultGrace
	case opts.Grace < 0:
		l.grace = 0
	}
	environ := opts.Environ
	if environ == nil {
		environ = os.Environ()
	}
	l.environ = append(FilterVars(opts.Vars, environ, opts.DropVars), opts.Env...)
	if l.level, err = contain.Find(opts.Containment, shell); err != nil {
		return nil, err
	}
	if err := l.openRoots(abs, opts.Roots, opts.ReadOnly); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if opts.EndAbandoned {
		l.abandoned, l.abandonedErr = l.level.EndAbandoned(l.grace)
	}
	return l, nil
}

// openRoots opens the working directory and the extra roots, and learns os.Root's error for names that leave a root: it is
// not exported, and matching it by its text would break with a new wording.
func (l *Local) openRoots(dir string, extra, readOnly []string) error {
	for i, d := range slices.Concat([]string{dir}, extra, readOnly) {
		r, err := openRoot(d)
		if err != nil && i == 0 {
			return fmt.Errorf("working directory: %w", err)
		}
		if err != nil {
			return fmt.Errorf("allowed directory: %w", err)
		}
		l.roots = append(l.roots, r)
		if r.readOnly = i > len(extra); r.readOnly {
			l.fence(r)
		}
	}
	_, err := l.roots[0].dir.Lstat("..")
	var pathErr *fs.PathError
	if !errors.As(err, &pathErr) {
		return fmt.Errorf("working directory: os.Root lets .. through: %v", err)
	}
	l.escapes = pathErr.Err
	return nil
}

// fence makes all roots read-only that are the same directory as one that is.
func (l *Local) fence(readOnly *root) {
	l.fenced = true
	for _, r := range l.roots {
		r.readOnly = r.readOnly || os.SameFile(r.info, readOnly.info)
	}
}

// WorkDir returns the working directory as it was given, made absolute; symbolic links in it are not resolved.
func (l *Local) WorkDir() string { return l.dir }

// Platform describes this machine. Shell is what runs scripts, with -c; it is empty where commands are not supported.
func (l *Local) Platform() Platform {
	return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, Version: osVersion(), Shell: l.shell}
}

// Containment says how a command's tree is held together: ContainCgroupPIDNS, ContainPIDNS, ContainCgroup or ContainGroup, and
// "unknown" where there are no commands. A single command for which no cgroup can be made runs at ContainGroup all the same; one
// for which no namespace can be made is refused, because it would see the host.
func (l *Local) Containment() string { return l.level.Name() }

// Confinement returns the directories in which files may be changed, and what LocalOptions.Network and Sandbox say.
func (l *Local) Confinement() Confinement {
	c := Confinement{Writable: []string{}, Network: l.network, Sandbox: l.sandbox}
	for _, r := range l.roots {
		inside := slices.ContainsFunc(l.roots, func(o *root) bool { return o != r && !o.readOnly && below(r.real, o.real) })
		switch dir := cmp.Or(r.given, "/"); {
		case !r.readOnly && !slices.Contains(c.Writable, dir):
			c.Writable = append(c.Writable, dir)
		case r.readOnly && inside && !slices.Contains(c.ReadOnly, dir):
			c.ReadOnly = append(c.ReadOnly, dir)
		}
	}
	return c
}

// KillGrace returns the time between TERM and KILL: LocalOptions.Grace or its default.
func (l *Local) KillGrace() time.Duration { return l.grace }

// HidesHost reports whether commands see no process outside of their PID namespace. Neither by /proc nor by a number do they reach the host then,
// what started it, or anything else on the machine; see SECURITY.md for what root can do all the same.
func (l *Local) HidesHost() bool { return l.level.Hides() }

// Abandoned returns what EndAbandoned has ended, a line for each process, and an error where that was not possible.
func (l *Local) Abandoned() ([]string, error) { return l.abandoned, l.abandonedErr }

// Close kills every process tree that is still running, each with the grace time, and closes the roots. A second call does
// nothing and returns what the first returned.
func (l *Local) Close() error {
	l.closing.Do(func() {
		errs := l.table.close(context.Background())
		errs = append(errs, l.level.Close(errors.Join(errs...) == nil))
		for _, r := range l.roots {
			errs = append(errs, r.dir.Close())
		}
		l.closeErr = errors.Join(errs...)
	})
	return l.closeErr
}
