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
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/contain"
)

// DefaultGrace is the time between TERM and KILL when LocalOptions.Grace is zero.
const DefaultGrace = 2 * time.Second

// LocalOptions are the host's choices for a Local. The zero value is a safe default.
type LocalOptions struct {
	// Roots lists directories, besides the working directory, in which files may be read and
	// written. Each must exist.
	Roots []string
	// ReadOnly lists directories in which files may be read but not changed. They may be other
	// directories, Roots, the working directory, or parts of these. The innermost directory that
	// contains a file decides, so Roots may also name part of a read-only one. Each must exist.
	// Like Roots this applies only to files: commands are not confined.
	ReadOnly []string
	// AnyNames allows new files whose names contain control characters, as a program needs that
	// restores a tree. They are refused otherwise, because models make them by mistake.
	AnyNames bool
	// Grace is the time between TERM and KILL for a process tree. Zero means DefaultGrace, negative
	// means none.
	Grace time.Duration
	// Vars selects which of the host's environment variables commands inherit.
	Vars VarPolicy
	// DropVars names variables that are dropped under every policy, such as those with the host's
	// own credentials. Provider keys are always dropped. Names are compared without case.
	DropVars []string
	// Environ is the environment that Vars is applied to, as KEY=value; nil means os.Environ() at
	// the time of NewLocal.
	Environ []string
	// Env is added to every command's environment after the policy, as KEY=value.
	Env []string
	// Launch, when set, decides how each command is started: it returns its argument, changed or
	// not, such as the same command in a sandbox, or an error, which fails Start. A panic counts as
	// an error. Start waits for it no longer than its ctx, which is also Launch's. It may be called
	// concurrently.
	//
	// The command's exit is that of the started program. A program that runs the command as a child
	// usually passes on its exit code but not its signal. Kill asks all processes to end, including
	// that program; if everything ends with it, as with bubblewrap's --die-with-parent, the command
	// has no time to clean up. Containment works as usual, but at ContainGroup the program must
	// pass on MarkVar.
	Launch func(ctx context.Context, l Launch) (Launch, error)
	// Network and Sandbox say briefly what commands can reach of the network and the machine,
	// because of Launch or of what this process itself runs in; see Confinement. Empty means
	// unknown.
	Network, Sandbox string
	// Limits bounds what commands may use.
	Limits Limits
	// UserNamespaces reports that Launch runs each command in a new user namespace, in which the
	// kernel counts its processes apart from those of the user. It does not count them for root.
	UserNamespaces bool
	// Confined lists what Launch adds to the containment, a few words each, such as "network off".
	// The Containment of Local.Confinement has them.
	Confined []string
	// HidesHost says that Launch hides the host's processes from commands, as a PID namespace with
	// its own /proc does. See Local.Confinement.
	HidesHost bool
	// Containment selects a level, such as ContainGroup, which NewLocal tries out with a process.
	// If it does not work, NewLocal returns an error that wraps errors.ErrUnsupported. Empty means
	// the best that works. NewLocal finds it without starting a process if it can, so the program
	// must keep its privileges as long as it starts commands.
	Containment string
	// EndAbandoned makes NewLocal end (TERM, Grace, KILL) the processes that commands left running
	// when their host, a Local of this user on this machine, was killed. Local.Abandoned lists
	// them. Processes whose host is alive or unknown are kept, and those of a host in another PID
	// or user namespace, unless this process is in the machine's first ones. It is for a program
	// that is solely responsible for them, such as a command that people run again.
	EndAbandoned bool
	// Locks is the directory of the lock files by which sessions agree on who changes a file; see
	// Lock. All sessions on a machine must use the same one. Empty means attractor/locks in the
	// user's state directory ($XDG_STATE_HOME, else ~/.local/state) or, if that is not writable, a
	// directory of the user's own in the temporary directory. It is made with the first lock and
	// holds a few empty files.
	Locks string
}

// Local runs commands and opens files on this machine. Files are those below a working directory
// and other roots that the host allows.
//
// File operations stay inside the roots whatever symbolic links say, even if a link is swapped
// during a call: every operation goes through an os.Root. Commands are not confined; that is a
// sandbox's task.
//
// On Linux and macOS a command runs in its own process group and inherits only its standard
// descriptors. On Linux, Kill and Close also end processes that have left the group (setsid, double
// fork, nohup). They find them by a cgroup for each command or by a PID namespace, if the host may
// make one, and otherwise by a mark in the environment; see ContainCgroupPIDNS and the other
// levels. On macOS processes that leave the group survive. On Windows only files are supported, and
// their names are compared with the roots' case-sensitively: Start returns an error that wraps
// errors.ErrUnsupported.
//
// All methods may be called concurrently. After Close they return errors that wrap fs.ErrClosed.
type Local struct {
	dir      string  // as given, absolute, slash-separated
	roots    []*root // the working directory is the first
	anyNames bool
	escapes  error // os.Root's error for a name that leaves it
	shell    string
	environ  []string
	launch   func(context.Context, Launch) (Launch, error)
	network  string
	sandbox  string
	confined []string
	hides    bool
	grace    time.Duration
	settle   time.Duration // that KILL has
	level    contain.Level
	limits   limits
	table    processTable
	locks    *locks

	abandoned    []string
	abandonedErr error

	closing  sync.Once
	closeErr error
}

var (
	_ Environment = (*Local)(nil)
	_ Replacer    = (*Local)(nil)
	_ Locker      = (*Local)(nil)
	_ Resolver    = (*Local)(nil)
	_ Confined    = (*Local)(nil)
	_ Tree        = (*Local)(nil)
)

// NewLocal returns the environment of a directory, which must exist and may be a symbolic link.
// Relative names start there. It holds a file descriptor for each root until Close.
func NewLocal(dir string, opts LocalOptions) (*Local, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("working directory %q: %w", dir, err)
	}
	roots := slices.Concat([]string{abs}, opts.Roots, opts.ReadOnly)
	shell, err := findShell(roots)
	if err != nil {
		return nil, err
	}
	l := &Local{dir: filepath.ToSlash(abs), shell: shell, launch: opts.Launch, network: opts.Network,
		sandbox:  opts.Sandbox,
		anyNames: opts.AnyNames, confined: slices.Clone(opts.Confined), hides: opts.HidesHost, grace: opts.Grace,
		settle: contain.SettleTime,
		locks:  newLocks(opts.Locks)}
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
	l.environ = append(unattended(FilterVars(opts.Vars, environ, opts.DropVars)), opts.Env...)
	wanted := opts.Limits.withDefaults()
	if l.level, err = contain.Find(opts.Containment, shell, contain.Limits{Processes: wanted.Processes,
		Memory: wanted.Memory}, roots...); err != nil {
		return nil, err
	}
	if l.limits, err = newLimits(wanted, l.level.Limits(), opts.UserNamespaces && opts.Launch != nil,
		shell); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := l.openRoots(abs, opts.Roots, opts.ReadOnly); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if opts.EndAbandoned {
		l.abandoned, l.abandonedErr = l.level.EndAbandoned(l.grace)
	}
	return l, nil
}

// openRoots opens the working directory and the other roots. It also learns os.Root's error for
// names that leave a root, which is not exported: matching its text would break with a new wording.
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
			l.markReadOnly(r)
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

// markReadOnly marks all roots that are the same directory as a read-only one as read-only.
func (l *Local) markReadOnly(readOnly *root) {
	for _, r := range l.roots {
		r.readOnly = r.readOnly || os.SameFile(r.info, readOnly.info)
	}
}

// WorkDir returns the working directory as given, made absolute; symbolic links in it are not
// resolved.
func (l *Local) WorkDir() string { return l.dir }

// Platform describes this machine. Shell runs scripts with -c; it is empty where commands are not
// supported.
func (l *Local) Platform() Platform {
	return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, Version: osVersion(), Shell: l.shell}
}

// containment says what commands are confined by, such as "pidns; sandbox workspace (bubblewrap);
// at most 4096 processes, memory unlimited". It begins with the level of containment:
// ContainCgroupPIDNS, ContainPIDNS, ContainCgroup or ContainGroup, or "unknown" where commands are
// not supported. LocalOptions.Confined follows, and then the limits, unless LocalOptions.Limits has
// none. A command for which no cgroup can be made runs at ContainGroup. One for which no namespace
// can be made is refused, because it would see the host.
func (l *Local) containment() string {
	parts := slices.Concat([]string{l.level.Name()}, l.confined)
	if l.limits.any && l.shell != "" {
		parts = append(parts, l.limits.hold.text())
	}
	return strings.Join(parts, "; ")
}

// Confinement returns the directories in which files may be changed, LocalOptions.Network and
// Sandbox, the limits that hold, and LocalOptions.Grace or its default. The host is hidden if
// commands see no process outside their PID namespace, because of the containment or of
// LocalOptions.HidesHost. They can then reach neither the host, nor its parent, nor anything else
// on the machine by /proc or process id; see docs/security/commands.md for what root can still do.
func (l *Local) Confinement() Confinement {
	c := Confinement{Containment: l.containment(), HidesHost: l.hides || l.level.Hides(), KillGrace: l.grace,
		Writable: []string{}, Network: l.network, Sandbox: l.sandbox, Limits: l.limits.hold}
	for _, r := range l.roots {
		inside := slices.ContainsFunc(l.roots, func(o *root) bool {
			return o != r && !o.readOnly && below(r.real, o.real)
		})
		switch dir := cmp.Or(r.given, "/"); {
		case !r.readOnly && !slices.Contains(c.Writable, dir):
			c.Writable = append(c.Writable, dir)
		case r.readOnly && inside && !slices.Contains(c.ReadOnly, dir):
			c.ReadOnly = append(c.ReadOnly, dir)
		}
	}
	return c
}

// Abandoned returns the processes that EndAbandoned ended, one line each, and an error if it
// failed.
func (l *Local) Abandoned() ([]string, error) { return l.abandoned, l.abandonedErr }

// Close kills every process tree that is still running, each with the grace time, and closes the
// roots. It is an error if something is left ten seconds after KILL. Later calls do nothing and
// return the same error.
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
