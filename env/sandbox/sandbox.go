package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/lookpath"
)

// Options are the host's choices for a sandbox.
type Options struct {
	// Level is the level. Off, or empty, makes a sandbox that changes nothing.
	Level Level
	// Roots lists directories besides the working directory in which commands may write, ReadOnly
	// those in which they may only read. They mean the same as in env.LocalOptions.
	Roots, ReadOnly []string
	// Network lets commands use the network, and with it all services of this machine that listen
	// on it.
	Network bool
	// AllowHosts lists hosts that commands may reach although Network is false, such as
	// "example.com", "*.example.com", "example.com:8443" and "10.1.2.3". A host without a port
	// stands for its ports 80 and 443. Commands reach them by an HTTP proxy, and only by TLS or
	// plain HTTP. A name has to lead to a public address, unless the address is in the list as
	// well.
	AllowHosts []string
	// Resolver resolves the names of AllowHosts. Nil means the system's.
	Resolver *net.Resolver
	// AllowSockets lists paths of Unix sockets, such as an SSH agent's, that commands may connect
	// to.
	AllowSockets []string
	// Caches lists further directories that commands may read, such as those of downloaded
	// packages.
	Caches []string
	// Cache is the directory that commands see as ~/.cache, for the caches of compilers. It is made
	// if it does not exist, and kept. Empty means a private one that Close removes.
	Cache string
	// State is a directory of the user's for the lock by which sandboxes on this machine agree on
	// the files that they protect. Empty means attractor/sandbox in the user's state directory.
	State string
	// Environ is the environment in which tool chains are looked for, as KEY=value. Nil means
	// os.Environ().
	Environ []string
	// Covered returns the files and directories that commands at the level Observe do not read, by
	// absolute paths. It is called for each command. Nil covers nothing.
	Covered func() []string
	// Protect lists further files that commands do not change, by absolute paths without links.
	// Those that are not below a writable root have no effect.
	Protect []string
	// Runs returns the files that commands for the shell run or may run, started in a directory of
	// a root: of those that hooks and settings of git name, scripts that exist are protected. Nil
	// protects none.
	Runs func(root, dir string, commands []string) []string
	// Helper is the path of the program attractor-env. Empty means that it is looked up next to
	// this program and in PATH.
	Helper string

	abi int    // caps the version of Landlock of the level Observe, for tests
	dir string // of New
}

// getenv returns a variable of the environment.
func getenv(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// roots returns the directories in which commands, or the repositories around them, may put
// programs.
func (o *Options) roots() []string {
	roots := append(slices.Clip(o.Roots), o.dir)
	for _, root := range slices.Clone(roots) {
		roots = append(roots, git.WorkTrees(root, getenv(o.Environ, "HOME"))...)
	}
	return roots
}

// find returns a program of PATH that is in none of the roots.
func (o *Options) find(program string) (string, error) {
	return lookpath.Find(program, getenv(o.Environ, "PATH"), o.roots()...)
}

// A Sandbox confines the commands of the env.Locals that are made with its options. All methods may
// be called concurrently.
type Sandbox struct {
	options Options
	dir     string
	mechanism

	closing  sync.Once
	closeErr error
}

// mechanism is a way to confine commands.
type mechanism interface {
	// launch returns a command as it runs in the sandbox.
	launch(ctx context.Context, l env.Launch) (env.Launch, error)
	// name names the level and the mechanism, about says for the model what commands can do.
	name() string
	about() string
	// hides reports whether commands see no process of the host.
	hides() bool
	// userNamespaces reports whether each command runs in a new user namespace.
	userNamespaces() bool
	// protection returns the files that commands cannot change.
	protection() env.Protection
	// frozen returns the repositories in the roots that are read-only, because commands could make
	// them run programs outside.
	frozen() []string
	// sees reports whether commands see a file as it is outside, and whether they may change it.
	// The path has no symbolic links.
	sees(name string) (visible, writable bool)
	// hosts returns the gateway to allowed hosts, or nil if there are none.
	hosts() *gateway
	close() error
}

// probeTime limits the command that tries out a level. It takes milliseconds, and longer on a busy
// machine.
const probeTime = 20 * time.Second

// New returns a sandbox for commands in dir, after it has run a command in it. An error that wraps
// errors.ErrUnsupported says what this machine lacks, or why no sandbox can be had in dir. The
// caller closes the Sandbox after the env.Local.
func New(dir string, o Options) (*Sandbox, error) {
	var err error
	if o.Level != Observe {
		if o.Level, err = ParseLevel(string(o.Level)); err != nil {
			return nil, err
		}
	}
	level := o.Level
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	o.dir = abs
	s := &Sandbox{options: o, dir: abs, mechanism: nothing{}}
	if level == Off {
		return s, nil
	}
	if s.mechanism, err = find(abs, &s.options); err != nil {
		return nil, fmt.Errorf("sandbox %s: %w", level, err)
	}
	return s, nil
}

// Confine returns options with which commands run in the sandbox. Launch calls the Launch of the
// given options first.
func (s *Sandbox) Confine(o env.LocalOptions) env.LocalOptions {
	if s.options.Level == Off {
		return o
	}
	o.Roots = append(slices.Clone(o.Roots), s.options.Roots...)
	o.ReadOnly = append(slices.Clone(o.ReadOnly), s.options.ReadOnly...)
	if s.options.Level == ReadOnly {
		o.ReadOnly = append(append(o.ReadOnly, s.dir), o.Roots...)
	}
	o.Network, o.Sandbox = s.network(), s.about()
	o.Confined = append(slices.Clone(o.Confined), "sandbox "+s.name(), "network "+s.network())
	for _, name := range s.frozen() {
		o.Confined = append(o.Confined, "read-only "+name)
	}
	o.HidesHost, o.UserNamespaces = o.HidesHost || s.hides(), s.userNamespaces()
	before := o.Launch
	o.Launch = func(ctx context.Context, l env.Launch) (env.Launch, error) {
		if before != nil {
			var err error
			if l, err = before(ctx, l); err != nil {
				return l, err
			}
		}
		return s.launch(ctx, l)
	}
	return o
}

// Launch returns a command as it runs in the sandbox. It is a LocalOptions.Launch, for programs in
// which not all commands do.
func (s *Sandbox) Launch(ctx context.Context, l env.Launch) (env.Launch, error) {
	return s.launch(ctx, l)
}

// network says what commands reach of the network.
func (s *Sandbox) network() string {
	switch {
	case s.options.Network:
		return "on"
	case len(s.options.AllowHosts) > 0:
		return "only " + strings.Join(s.options.AllowHosts, ", ")
	}
	return "off"
}

// Protection returns the protection that env.Protect needs so that the file tools refuse what the
// sandbox refuses to commands.
func (s *Sandbox) Protection() env.Protection { return s.protection() }

// Level returns the level.
func (s *Sandbox) Level() Level { return s.options.Level }

// Close removes the private directories and what the sandbox left in the roots. Commands must have
// ended. Later calls do nothing and return the same error.
func (s *Sandbox) Close() error {
	s.closing.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

// nothing is the mechanism of Off, and what is usual for those without namespaces.
type nothing struct{}

func (nothing) launch(_ context.Context, l env.Launch) (env.Launch, error) { return l, nil }
func (nothing) name() string                                               { return string(Off) }
func (nothing) about() string                                              { return "" }
func (nothing) hides() bool                                                { return false }
func (nothing) userNamespaces() bool                                       { return false }
func (nothing) protection() env.Protection                                 { return env.DefaultProtection() }
func (nothing) frozen() []string                                           { return nil }
func (nothing) sees(string) (visible, writable bool)                       { return true, true }
func (nothing) hosts() *gateway                                            { return nil }
func (nothing) close() error                                               { return nil }

// protect returns the default protection, which also refuses what it asks about if it is in one of
// the directories itself.
func protect(dirs []string) env.Protection {
	p := env.DefaultProtection()
	for _, dir := range dirs {
		for _, name := range p.Ask {
			p.Refuse = append(p.Refuse, filepath.ToSlash(filepath.Join(dir, name)))
		}
	}
	return p
}
