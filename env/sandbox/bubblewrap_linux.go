package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
)

// bubblewrap runs each command by bwrap.
type bubblewrap struct {
	options *Options
	bwrap   string
	private *private
	gateway *gateway
	scope   string // the helper, if it keeps abstract sockets from commands that have the network
	plan    *plan
	keeper  *keeper
	filter  []byte
	base    []string // arguments that are the same for all commands
	last    []string // arguments after those for the roots
	own     []string // variables of commands
	visible []string // directories of base that commands may work in

	emptyDir, emptyFile, commonDir string // what covers protected files that do not exist
}

// Where commands see the gateway to allowed hosts.
const (
	helperInside = "/run/attractor/" + helperName
	socketInside = "/run/attractor/proxy"
)

// newBubblewrap returns the mechanism after a command has run in it.
func newBubblewrap(dir string, o *Options) (_ *bubblewrap, err error) {
	b := &bubblewrap{options: o}
	if b.bwrap, err = o.find("bwrap"); err != nil {
		return nil, lacking{fmt.Errorf(
			"bubblewrap is not installed: %w (Debian and Ubuntu: apt-get install bubblewrap; Fedora: dnf install "+
				"bubblewrap; Arch: pacman -S bubblewrap)", err)}
	}
	if b.filter, err = filterOf(func(a *architecture) program { return filter(a, namespaced()) }); err != nil {
		return nil, err
	}
	if b.private, err = newPrivate("tmp", "home", "cache", "empty"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.gateway, err = newGateway(b.private.dir, o); err != nil {
		return b, err
	}
	if o.Network {
		b.scope = scopeHelper(o)
	}
	if err := b.prepare(dir); err != nil {
		return b, err
	}
	if b.scope != "" {
		if b.probe(dir) == nil {
			return b, nil
		}
		b.scope = "" // the kernel or the helper is too old; about says what follows
	}
	return b, b.probe(dir)
}

// scopeHelper returns the helper, or "" if it is not there.
func scopeHelper(o *Options) string {
	helper, err := o.findHelper()
	if err != nil {
		return ""
	}
	if _, err := exec.LookPath(helper); err != nil {
		return ""
	}
	return helper
}

// prepare decides what commands see.
func (b *bubblewrap) prepare(dir string) (err error) {
	home := homeOf(b.options.Environ)
	if err := b.empties(); err != nil {
		return err
	}
	if b.plan, err = newPlan(dir, b.options, b.private.dir); err != nil {
		return err
	}
	var writable []string
	for _, r := range b.plan.roots {
		writable = append(writable, r.path)
	}
	state, err := stateDir(b.options)
	if err != nil {
		return err
	}
	if b.keeper, err = newKeeper(state, writable, b.plan.files, newLinks(b.plan.gitDirs, b.plan.files)); err != nil {
		return fmt.Errorf("placeholders of protected files: %w", err)
	}
	if err := b.see(home); err != nil {
		return err
	}
	return b.identity(dir, home)
}

// empties makes what covers protected files that do not exist.
func (b *bubblewrap) empties() error {
	var err1, err2 error
	b.emptyDir = b.private.path("empty")
	b.emptyFile, err1 = b.private.write("empty-file", "")
	b.commonDir, err2 = b.private.write("commondir", ".\n")
	return errors.Join(err1, err2, os.Chmod(b.emptyDir, 0o555), os.Chmod(b.private.path("tmp"), 0o777|fs.ModeSticky))
}

// see writes the arguments that are the same for all commands.
func (b *bubblewrap) see(home string) error {
	o := b.options
	b.base = []string{"--unshare-pid", "--unshare-ipc", "--unshare-uts"}
	if !o.Network {
		b.base = append(b.base, "--unshare-net")
	}
	b.base = append(b.base, "--cap-drop", "ALL")
	if !b.userNamespaces() { // files of other users in the roots stay as writable as they are outside
		b.base = append(b.base, "--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_FOWNER", "--cap-add", "CAP_CHOWN")
	} else {
		b.base = append(b.base, "--unshare-user")
	}
	m := &machine{plan: b.plan, home: home, environ: o.Environ}
	m.system()
	if err := b.coverSecrets(m); err != nil {
		return err
	}
	if o.Network {
		m.resolver()
	}
	b.base = append(b.base, m.args...)
	b.base = append(b.base, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm")
	for _, name := range []string{"/proc/keys", "/proc/kcore"} { // not of the command's own namespace
		if _, err := os.Stat(name); err == nil {
			b.base = append(b.base, "--ro-bind", b.emptyFile, name)
		}
	}
	// bubblewrap's own process, whose open files are the host's
	b.base = append(b.base, "--ro-bind", b.emptyDir, "/proc/1")
	b.plan.mounts = append(b.plan.mounts, mount{path: "/tmp", source: b.private.path("tmp")})
	b.own = []string{"TMPDIR=/tmp"}
	if home != "" {
		cache, err := b.private.cache(o)
		if err != nil {
			return err
		}
		b.plan.mounts = append(b.plan.mounts, mount{path: home, source: b.private.path("home")},
			mount{path: filepath.Join(home, ".cache"), source: cache})
	} else {
		b.own = append(b.own, "HOME=/tmp")
	}
	m.toolChains(o)
	b.own = append(b.own, moduleVars(m, o, filepath.Join(home, ".cache"))...)
	b.visible = append(slices.Clone(m.shown), "/dev", "/proc")
	if !slices.ContainsFunc(b.plan.mounts, func(m mount) bool { return below(m.path, "/var/tmp") }) {
		b.last = append(b.last, "--symlink", "/tmp", "/var/tmp")
	}
	for _, socket := range o.AllowSockets {
		b.last = append(b.last, "--ro-bind", socket, socket)
	}
	if b.gateway != nil {
		b.last = append(b.last, "--ro-bind", b.gateway.helper, helperInside, "--ro-bind", b.gateway.proxy.Socket(),
			socketInside)
	}
	if b.scope != "" {
		b.last = append(b.last, "--ro-bind", b.scope, helperInside)
	}
	b.last = append(b.last, "--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/")
	return b.plan.finish()
}

// coverSecrets covers the files of /etc that not everybody may read.
func (b *bubblewrap) coverSecrets(m *machine) error {
	return secrets(func(name string, dir bool) {
		if !mayUse(name, unix.R_OK) && !mayUse(name, unix.X_OK) {
			return // neither can commands, which have the rights of this user
		}
		cover := b.emptyFile
		if dir {
			cover = b.emptyDir
		}
		m.args = append(m.args, "--ro-bind", cover, name)
	})
}

// moduleVars returns the variables with which Go finds modules. Without a network it reads the
// host's cache. With one it also writes, so it has a cache of its own, in the directory writable,
// and takes from the host's what is there.
func moduleVars(m *machine, o *Options, writable string) []string {
	cache := m.modules()
	if _, err := os.Stat(cache); err != nil || m.home == "" {
		return nil
	}
	if !o.Network && len(o.AllowHosts) == 0 {
		return []string{"GOMODCACHE=" + cache}
	}
	proxy := cmp.Or(getenv(o.Environ, "GOPROXY"), "https://proxy.golang.org,direct")
	return []string{"GOMODCACHE=" + filepath.Join(writable, "go-mod"),
		"GOPROXY=file://" + cache + "/cache/download," + proxy}
}

// stateDir returns the directory with the lock.
func stateDir(o *Options) (string, error) {
	if o.State != "" {
		return o.State, nil
	}
	if dir := getenv(o.Environ, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "attractor/sandbox"), nil
	}
	if home := homeOf(o.Environ); home != "" && unix.Access(home, unix.W_OK) == nil {
		return filepath.Join(home, ".local/state/attractor/sandbox"), nil
	}
	dir := filepath.Join(os.TempDir(), "attractor-sandboxes-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(dir, &stat); err != nil || int(stat.Uid) != os.Getuid() ||
		stat.Mode&unix.S_IFMT != unix.S_IFDIR || stat.Mode&0o022 != 0 {
		return "", fmt.Errorf("%s is not a directory of this user alone: %w", dir, cmp.Or(err, fs.ErrPermission))
	}
	return dir, nil
}

// hosts returns the gateway to allowed hosts, or nil if there are none.
func (b *bubblewrap) hosts() *gateway { return b.gateway }

// launch implements mechanism.
func (b *bubblewrap) launch(ctx context.Context, l env.Launch) (env.Launch, error) {
	dir, err := filepath.EvalSymlinks(l.Dir)
	if err != nil {
		return l, err
	}
	if b.plan.innermost(dir) == nil && !slices.ContainsFunc(b.visible, func(v string) bool { return below(dir, v) }) {
		return l, fmt.Errorf("the sandbox hides %s; commands can work in %s and /tmp", l.Dir, b.names())
	}
	if err := b.plan.check(); err != nil {
		return l, err
	}
	lock, state, err := b.keeper.begin(ctx)
	if err != nil {
		return l, fmt.Errorf("protected files: %w", err)
	}
	h := handed{first: 3 + len(l.Files)}
	own := []string{b.bwrap, "--sync-fd", h.file(lock), "--seccomp", h.data("filter", b.filter)}
	args := append(b.args(state), "--chdir", dir)
	inside, variables := l.Args, vars(l.Env, b.options.AllowSockets, b.own)
	if b.scope != "" { // the helper confines the command, so the variables must have no effect on it either
		inside = append([]string{helperInside, "scope", "--environ", h.list("environment", variables), "--"}, inside...)
	} else {
		inside = b.gateway.command(helperInside, socketInside, inside)
		args = append(args, settings(variables)...)
	}
	if len(args) > maxArguments {
		h.err = errors.Join(h.err, b.tooMany(len(variables)))
	}
	own = append(own, "--args", h.list("arguments", args))
	if h.err != nil {
		err := h.close()
		b.keeper.end()
		return l, err
	}
	if !l.Terminal {
		own = append(own, "--new-session")
	}
	l.Files, l.Ended = append(slices.Clip(l.Files), h.files...), both(b.keeper.end, l.Ended)
	l.Args, l.Env = slices.Concat(own, []string{"--"}, inside), nil
	return l, nil
}

// tooMany returns the error for a command that needs more arguments than bubblewrap takes.
func (b *bubblewrap) tooMany(variables int) error {
	if n := len(b.plan.mounts) + len(b.plan.files); n > variables {
		at := ""
		if len(b.plan.frozen) > 0 {
			at = fmt.Sprintf(", among them %q", b.plan.frozen[len(b.plan.frozen)-1])
		}
		return fmt.Errorf("%d files and directories of repositories in %s are to be protected%s, which are too "+
			"many for bubblewrap: remove repositories that you do not need there, such as those that a command "+
			"has made", n, b.names(), at)
	}
	return fmt.Errorf("the command has %d environment variables, which are too many for bubblewrap", variables)
}

// both returns a function that calls two, of which the second may be nil.
func both(first, second func()) func() {
	if second == nil {
		return first
	}
	return func() {
		first()
		second()
	}
}

// args returns the arguments for a command.
func (b *bubblewrap) args(state map[string]replacement) []string {
	args := slices.Clone(b.base)
	mounts, files := b.plan.mounts, b.plan.files
	for len(mounts) > 0 || len(files) > 0 {
		if len(files) == 0 || len(mounts) > 0 && comparePaths(mounts[0].path, files[0].path) <= 0 {
			kind := "--bind"
			if mounts[0].readOnly {
				kind = "--ro-bind"
			}
			args = append(args, kind, cmp.Or(mounts[0].source, mounts[0].path), mounts[0].path)
			mounts = mounts[1:]
			continue
		}
		if f := files[0]; state[f.path] != void {
			args = append(args, "--ro-bind", b.cover(f, state[f.path]), f.path)
		}
		files = files[1:]
	}
	for _, link := range b.plan.links {
		args = append(args, "--symlink", link[1], link[0])
	}
	return append(args, b.last...)
}

// cover returns what commands see of a protected file: the file, or something empty.
func (b *bubblewrap) cover(f placeholder, r replacement) string {
	switch {
	case r == none:
		return f.path
	case !f.file:
		return b.emptyDir
	case f.content == "":
		return b.emptyFile
	}
	return b.commonDir
}

// names returns the roots for a message.
func (b *bubblewrap) names() string {
	var names []string
	for _, r := range b.plan.roots {
		names = append(names, r.given)
	}
	return strings.Join(names, ", ")
}

// probe runs a command in the sandbox.
func (b *bubblewrap) probe(dir string) error {
	err := try(dir, b)
	if f, ok := errors.AsType[failed](err); ok {
		return lacking{fmt.Errorf("bubblewrap does not work here: %s%w", advice(f.output), err)}
	}
	return err
}

// advice returns what to do about an error of bubblewrap, if that is known.
func advice(out string) string {
	for _, known := range []struct{ part, todo string }{
		{"setting up uid map", "allow user namespaces: on Ubuntu, sysctl " +
			"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap: "},
		{"No permissions to create new namespace",
			"allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, and in a container the system calls " +
				"for them: "},
		{"RTM_NEWADDR", "allow user namespaces: on Ubuntu, sysctl kernel.apparmor_restrict_unprivileged_userns=0 or " +
			"an AppArmor profile for bwrap: "},
		{"Unknown option", "install bubblewrap 0.5 or later: "},
	} {
		if strings.Contains(out, known.part) {
			return known.todo
		}
	}
	return ""
}

func (b *bubblewrap) name() string { return string(b.options.Level) + " (bubblewrap)" }

func (b *bubblewrap) hides() bool { return true }

func (b *bubblewrap) userNamespaces() bool { return os.Getuid() != 0 }

func (b *bubblewrap) about() string {
	text := b.name() + "; commands write only in "
	if b.options.Level == Workspace {
		text += "the writable directories, "
	}
	text += "/tmp and the home directory, which are private"
	if b.options.Level == Workspace {
		text += "; .git/config, .git/hooks, scripts they start, settings of agents, editors and shells are read-only"
	}
	if frozen := b.frozen(); len(frozen) > 0 {
		text += "; read-only as well: " + strings.Join(frozen, ", ")
	}
	if b.options.Network && b.scope == "" {
		text += "; they reach abstract Unix sockets of this machine"
	}
	return text
}

func (b *bubblewrap) frozen() []string { return b.plan.frozen }

func (b *bubblewrap) protection() env.Protection { return b.plan.protection() }

func (b *bubblewrap) close() error {
	var err error
	if b.keeper != nil {
		err = b.keeper.close()
	}
	return errors.Join(err, b.gateway.close(), b.private.close())
}
