package attractor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/trust"
)

// OpenDir opens a working directory on this machine, with limits and a sandbox for commands. It
// first ends the processes that a killed program has left running, which [env.Local.Abandoned]
// lists. The caller closes the Local and then the Sandbox.
func OpenDir(dir string, limits env.Limits, confine sandbox.Options) (*env.Local, *sandbox.Sandbox, error) {
	return openDirs(dir, env.LocalOptions{Limits: limits}, confine, nil, nil)
}

// openDirs is OpenDir with further directories: those in which tools and commands may change files,
// and those that they may read. Launch of the options counts without a sandbox.
func openDirs(dir string, options env.LocalOptions, confine sandbox.Options,
	roots, readable []string) (*env.Local, *sandbox.Sandbox, error) {
	if err := checkDir(dir); err != nil {
		return nil, nil, err
	}
	confine.Roots = append(slices.Clip(confine.Roots), roots...)
	confine.ReadOnly = append(slices.Clip(confine.ReadOnly), readable...)
	box, err := openSandbox(dir, confine)
	if err != nil {
		return nil, nil, err
	}
	options.EndAbandoned = true
	if box.Level() == sandbox.Off { // otherwise the sandbox adds its own
		options.Roots, options.ReadOnly = roots, readable
	} else {
		options.Launch = nil
	}
	local, err := env.NewLocal(dir, box.Confine(options))
	if err != nil {
		return nil, nil, errors.Join(cannotWork(dir, err), box.Close())
	}
	return local, box, nil
}

// openProject reads what the project of the session's directory brings. On another machine,
// openElsewhere reads it.
func (s *Setup) openProject(c *config) error {
	if c.elsewhere() {
		s.Project = &load.Project{Snapshot: &trust.Snapshot{}, Trusted: true}
		return nil
	}
	if err := checkDir(c.Dir); err != nil {
		if c.was != nil && !s.moved {
			err = fmt.Errorf("%w, where the session worked before; name another directory to go on in (--dir)", err)
		}
		return err
	}
	if err := s.checkLeads(c); err != nil {
		return err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return cannotWork(c.Dir, err)
	}
	s.Project, err = c.project(dir)
	return err
}

// project reads what the project of a directory brings, as far as it counts.
func (c *config) project(dir string) (*load.Project, error) {
	if !c.WithoutProject {
		return load.ReadProject(dir, c.getenv, c.TrustProject)
	}
	root := userfiles.RealPath(dir)
	if roots := git.Roots(dir); len(roots) > 0 {
		root = roots[0]
	}
	return load.Unread(root, c.TrustProject), nil
}

// servers reads the MCP servers that are configured for a directory.
func (c *config) servers(dir string, project *load.Project) (*load.Servers, error) {
	return load.ReadServers(load.ServerOptions{Dir: dir, Project: project, Given: c.Servers, Files: c.MCP,
		Getenv: c.getenv, WithoutUser: c.WithoutUser})
}

// openDir opens the directory of the session, unless that is on another machine, and protects its
// files.
func (s *Setup) openDir(ctx context.Context, c *config) (err error) {
	files, protection := s.Machine, env.DefaultProtection()
	refuse, ask := c.ownFiles()
	if s.far == nil {
		s.observing = &observing{open: s.openObserving, warn: s.warnings.add}
		options, confine := env.LocalOptions{Limits: c.Limits, Launch: s.observing.launch, DropVars: c.keyVars()},
			c.Sandbox
		if confine.Level != sandbox.Off && confine.Level != "" {
			confine.Protect = slices.Concat(confine.Protect, realPaths(refuse), realPaths(ask),
				c.linkedHome(realPaths(append(slices.Clip(s.dirs.list), c.Dir))))
		}
		s.Local, s.box, err = openDirs(c.Dir, options, confine, s.dirs.list, s.readable)
		if errors.Is(err, errors.ErrUnsupported) && s.goesWithoutSandbox(c, err) {
			s.Local, s.box, err = openDirs(c.Dir, options, c.Sandbox, s.dirs.list, s.readable)
		}
		if err != nil {
			return err
		}
		s.Machine, s.here = s.Local, s.Local.WorkDir()
		if files, protection = s.Machine, s.box.Protection(); c.Here.Files != nil {
			files = c.Here.Files(files)
		}
		protection.Also = func() ([]string, string) { return s.starting(context.WithoutCancel(ctx), c) }
	} else {
		s.far.protect(&protection)
		roots := append([]string{s.Machine.WorkDir()}, s.dirs.list...)
		protection.Also = func() ([]string, string) { return s.far.starting(context.WithoutCancel(ctx), roots) }
	}
	if state, err := userfiles.StateDir(c.getenv); err == nil {
		s.ownSecrets = []string{filepath.Join(state, "attractor")}
	}
	if c.Checkpoints != "" {
		s.ownSecrets = append(s.ownSecrets, c.Checkpoints)
	}
	protection.Refuse = append(protection.Refuse, userfiles.Slashed(refuse)...)
	protection.Ask = append(protection.Ask, userfiles.Slashed(ask)...)
	if s.Options.Env = env.Protect(files, protection); c.Mode == permit.ModeReadOnly {
		s.Options.Env = env.ReadOnly(files)
	}
	return nil
}

// goesWithoutSandbox turns off a sandbox that is not available, and warns, if another agent's
// settings chose it. Otherwise it returns false.
func (s *Setup) goesWithoutSandbox(c *config, cannot error) bool {
	level := s.settings.WithoutOtherSandbox("it cannot be had here")
	if level == nil {
		return false
	}
	c.Sandbox.Level, c.Sandbox.Network, c.Sandbox.AllowHosts, c.Sandbox.AllowSockets = sandbox.Off, false, nil, nil
	s.warnings.add("sandbox", fmt.Sprintf("The session goes on without the sandbox that %s chooses: %v", level.Origin,
		cannot))
	return true
}

// ownFiles returns the user's files of this program, by their names and by where those lead: files
// that tools do not change, because a session must neither trust its own project nor choose what
// other sessions may do, and those about whose changes a person is asked.
func (c *config) ownFiles() (refuse, ask []string) {
	refuse = append(refuse, c.Sandbox.Protect...)
	if state, err := userfiles.StateDir(c.getenv); err == nil {
		dir := filepath.Join(state, "attractor")
		refuse = append(refuse, dir)
		for _, e := range listed(dir) {
			refuse = append(refuse, filepath.Join(dir, e.Name()))
		}
	}
	if dir, err := userfiles.ConfigDir(c.getenv); err == nil {
		refuse, ask = append(refuse, filepath.Join(dir, "config.json")), append(ask, dir)
	}
	return withReal(refuse), withReal(ask)
}

// withReal returns names, and the targets of those that are symbolic links.
func withReal(names []string) []string {
	for _, name := range slices.Clip(names) {
		if real := realPath(name); real != name {
			names = append(names, real)
		}
	}
	return names
}

// realPath returns the absolute path of a name without symbolic links, or with them if they cannot
// be resolved. The file need not exist.
func realPath(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if real, err := rules.RealPath(name); err == nil {
		return filepath.FromSlash(real)
	}
	return name
}

// isBelow reports whether a file lies in one of the directories.
func isBelow(dirs []string, name string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
	})
}

// closeDir ends the processes that are left, and then the sandbox.
func (s *Setup) closeDir() error {
	var err error
	if s.Local != nil {
		err = s.Local.Close()
	}
	if s.box != nil { // a program may have made its own Local
		err = errors.Join(err, s.box.Close())
	}
	if s.observing != nil {
		err = errors.Join(err, s.observing.close())
	}
	return err
}

// SandboxLevel returns the level that confines the session's commands: Off without a sandbox, and
// on another machine.
func (s *Setup) SandboxLevel() sandbox.Level {
	if s.box == nil {
		return sandbox.Off
	}
	return s.box.Level()
}

// boxed reports whether a sandbox confines the commands.
func (s *Setup) boxed() bool { return s.SandboxLevel() != sandbox.Off }

// systemPrompt renders the system prompt of the session.
func (s *Setup) systemPrompt(ctx context.Context, o agent.Options) (string, []agent.PromptDocument, error) {
	if s.far == nil {
		return systemPrompt(ctx, s.Local.WorkDir(), o, s.observing.launchOwn)
	}
	if s.far.reader != nil {
		o.Env = reader{env.Base{Environment: s.far.reader}, env.ConfinementOf(o.Env)}
	}
	text, documents := agent.Prompt(ctx, o)
	return text, documents, nil
}

// SystemPrompt renders the system prompt of a session in a directory. The project's documents begin
// at the root of the repository, which may be above the directory. It reads them through an
// environment of its own, which can read the whole repository, and asks git in it. The prompt
// describes the permissions of o.Env or, if that is nil, those of a session that may change files
// in the directory.
func SystemPrompt(ctx context.Context, dir string, o agent.Options) (text string, err error) {
	text, _, err = systemPrompt(ctx, dir, o, nil)
	return text, err
}

// systemPrompt is SystemPrompt with what starts the commands. It also returns the documents.
func systemPrompt(ctx context.Context, dir string, o agent.Options,
	launch func(context.Context, env.Launch) (env.Launch, error)) (text string, found []agent.PromptDocument,
	err error) {
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup, Roots: git.Roots(dir),
		Launch: launch})
	if err != nil {
		return "", nil, cannotWork(dir, err)
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	allowed := env.Confinement{Writable: []string{local.WorkDir()}}
	if o.Env != nil {
		allowed = env.ConfinementOf(o.Env)
	}
	if launch == nil { // a session refuses by itself
		if o.Documents.Refuse, err = withoutSecrets(load.RuleDirs(local, os.Getenv, nil),
			o.Documents.Refuse); err != nil {
			return "", nil, err
		}
	}
	o.Env = reader{env.Base{Environment: local}, allowed}
	text, found = agent.Prompt(ctx, o)
	return text, found, nil
}

// reader is an environment that reports another one's confinement, although it can read more.
type reader struct {
	env.Base
	confinement env.Confinement
}

// Confinement implements env.Confined.
func (r reader) Confinement() env.Confinement { return r.confinement }

// OpenDir implements env.DirOpener.
func (r reader) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	return env.OpenDir(ctx, r.Environment, name)
}

// Below implements env.View.
func (r reader) Below(context.Context, string, string) (env.Environment, func(error)) {
	return r.Environment, func(error) {}
}

// checkDir returns an error if dir is not a directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return cannotWork(dir, err)
	}
	if !info.IsDir() {
		return fail(ErrConfig, "cannot work in %s: not a directory", dir)
	}
	return nil
}

// cannotWork returns an error that names a directory once and says why it cannot be used.
func cannotWork(dir string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fail(ErrConfig, "cannot work in %s: %w", texts.Shown(dir), err)
}
