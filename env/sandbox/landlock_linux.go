package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

// landlocked runs each command by the helper, which confines itself and becomes the command.
type landlocked struct {
	nothing
	options *Options
	helper  string
	private *private
	plan    *plan
	filter  []byte
	args    []string // of the helper
	own     []string // variables of commands
}

// newLandlock returns the mechanism after a command has run in it.
func newLandlock(dir string, o *Options) (_ *landlocked, err error) {
	if len(o.AllowHosts) > 0 {
		return nil, errors.New("this level cannot allow single hosts: allow the whole network, or use the level " +
			"workspace")
	}
	k := &landlocked{options: o}
	if k.filter, err = filterOf(func(a *architecture) program { return filter(a, k.families()) }); err != nil {
		return nil, err
	}
	if k.helper, err = o.findHelper(); err != nil {
		return nil, err
	}
	if k.private, err = newPrivate("tmp", "home", "cache"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if err := k.prepare(dir); err != nil {
		return k, err
	}
	return k, k.probe(dir)
}

// families returns the families of sockets that commands may open. Without namespaces, sockets of
// the machine are reachable by any of them.
func (k *landlocked) families() (list []uint32) {
	if k.options.Network {
		list = append(list, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	if len(k.options.AllowSockets) > 0 {
		list = append(list, unix.AF_UNIX)
	}
	return list
}

// prepare decides what commands can use.
func (k *landlocked) prepare(dir string) error {
	o := k.options
	home := homeOf(o.Environ)
	k.plan = &plan{private: k.private.dir, homes: homesOf(o.Environ)}
	if err := k.plan.addRoots(dir, o); err != nil {
		return err
	}
	for _, r := range k.plan.roots {
		if k.plan.add(mount{path: r.path, readOnly: r.readOnly}); !r.readOnly {
			k.repository(r.path)
		}
	}
	m := &machine{plan: k.plan, home: home, environ: o.Environ}
	m.system()
	m.toolChains(o)
	cache, err := k.private.cache(o)
	if err != nil {
		return err
	}
	k.own = append([]string{"TMPDIR=" + k.private.path("tmp"), "HOME=" + k.private.path("home"),
		"XDG_CACHE_HOME=" + cache, "GOCACHE=" + filepath.Join(cache, "go-build")}, toolVars(m, o, cache)...)
	return k.rules(m, cache)
}

// rules writes the arguments of the helper.
func (k *landlocked) rules(m *machine, cache string) error {
	for _, name := range m.shown {
		if name != "/etc" {
			k.args = append(k.args, "--read", name)
		}
	}
	var closed []string
	if err := secrets(func(name string, _ bool) { closed = append(closed, name) }); err != nil {
		return err
	}
	for _, name := range append(allBut("/etc", closed), "/proc", "/dev/random", "/dev/urandom") {
		k.args = append(k.args, "--read", name)
	}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", k.private.path("tmp"), k.private.path("home"),
		cache} {
		k.args = append(k.args, "--write", name)
	}
	for _, r := range k.plan.mounts {
		if r.readOnly {
			k.args = append(k.args, "--read", r.path)
		} else {
			k.args = append(k.args, "--write", r.path)
		}
	}
	return nil
}

// repository lets commands use a repository that is not in the roots, as far as Landlock can
// without its hooks and configuration.
func (k *landlocked) repository(root string) {
	for _, dir := range git.Roots(root) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !k.plan.hidden(real) {
			k.plan.add(mount{path: real, readOnly: true})
		}
	}
	own, err := filepath.EvalSymlinks(linkedDir(filepath.Join(root, ".git")))
	if err != nil || len(git.Roots(root)) < 2 {
		return
	}
	if common := filepath.Dir(filepath.Dir(own)); filepath.Base(filepath.Dir(own)) == "worktrees" {
		for _, dir := range []string{own, filepath.Join(common, "objects"), filepath.Join(common, "refs"),
			filepath.Join(common, "logs")} {
			k.plan.add(mount{path: dir})
		}
	}
}

// toolVars returns the variables with which tool chains find what is in the real home directory.
func toolVars(m *machine, o *Options, cache string) []string {
	list := moduleVars(m, o, cache)
	for name, dir := range map[string]string{"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm"} {
		if path := filepath.Join(m.home, dir); m.home != "" && getenv(m.environ, name) == "" {
			if _, err := os.Stat(path); err == nil {
				list = append(list, name+"="+path)
			}
		}
	}
	return list
}

// launch implements mechanism.
func (k *landlocked) launch(_ context.Context, l env.Launch) (env.Launch, error) {
	if err := k.plan.check(); err != nil {
		return l, err
	}
	h := handed{first: 3 + len(l.Files)}
	own := []string{k.helper, "landlock", "--filter", h.data("filter", k.filter),
		"--environ", h.list("environment", vars(l.Env, k.options.AllowSockets, k.own))}
	if h.err != nil {
		return l, h.close()
	}
	l.Files = append(slices.Clip(l.Files), h.files...)
	l.Args, l.Env = slices.Concat(own, k.args, []string{"--"}, l.Args), nil
	return l, nil
}

// probe runs a command in the sandbox.
func (k *landlocked) probe(dir string) error {
	err := try(dir, k)
	if _, ok := errors.AsType[failed](err); ok {
		return lacking{fmt.Errorf("the level does not work here: %w", err)}
	}
	return err
}

func (k *landlocked) name() string { return string(k.options.Level) + " (Landlock)" }

func (k *landlocked) about() string {
	return k.name() + "; commands write only in the writable directories, $TMPDIR and $HOME, which is private; it " +
		"does not protect .git/hooks, .git/config and settings of agents, editors and shells in the writable " +
		"directories, and does not hide other processes"
}

func (k *landlocked) protection() env.Protection { return k.plan.protection() }

func (k *landlocked) close() error { return k.private.close() }
