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
func openDirs(dir string, options env.LocalOptions, confine sandbox.Options, roots, readable []string) (*env.Local,
	*sandbox.Sandbox, error) {
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

// openProject reads what the project of the session's directory brings. That of another machine is
// read when that is reached.
func (s *Setup) openProject(c *config) error {
	if c.elsewhere() {
		s.Project = &load.Project{Snapshot: &trust.Snapshot{}, Trusted: true}
		return nil
	}
	if err := checkDir(c.Dir); err != nil {
		if c.was != nil && !s.moved {
			err = fmt.Errorf("%w, where the session worked before; --dir names another directory to go on in", err)
		}
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
	if s.far == nil {
		s.observing = &observing{open: s.openObserving, warn: s.warnings.add}
		options := env.LocalOptions{Limits: c.Limits, Launch: s.observing.launch}
		if s.Local, s.box, err = openDirs(c.Dir, options, c.Sandbox, s.dirs.list, s.readable); err != nil {
			return err
		}
		s.Machine, s.here = s.Local, s.Local.WorkDir()
		if files, protection = s.Machine, s.box.Protection(); c.Here.Files != nil {
			files = c.Here.Files(files)
		}
		protection.Ask = append(protection.Ask, s.hooks.guarded(s.here, s.projectHere())...)
		protection.Ask = append(protection.Ask, s.namedByGit(ctx, c)...)
		protection.Ask = append(protection.Ask, s.programDirs(c)...)
	} else {
		s.far.protect(&protection)
	}
	if state, err := userfiles.StateDir(c.getenv); err == nil { // a session must not trust its own project
		protection.Refuse = append(protection.Refuse, filepath.ToSlash(filepath.Join(state, "attractor")))
		s.ownSecrets = []string{filepath.Join(state, "attractor", "mcp")}
	}
	if dir, err := userfiles.ConfigDir(c.getenv); err == nil { // nor choose what later sessions may do
		protection.Refuse = append(protection.Refuse, filepath.ToSlash(filepath.Join(dir, "config.json")))
		protection.Ask = append(protection.Ask, filepath.ToSlash(dir))
	}
	if s.Options.Env = env.Protect(files, protection); c.Mode == permit.ModeReadOnly {
		s.Options.Env = env.ReadOnly(files)
	}
	return nil
}

// namedByGit returns the files in the session's directories from which git takes what it runs, by
// the configuration of their repositories and of the user: a change of one needs an approval as one
// in .git does.
func (s *Setup) namedByGit(ctx context.Context, c *config) (names []string) {
	files := git.Files{Env: s.Local, Outside: load.RuleDirs(s.Local, c.getenv, nil).Outside}
	roots := append(env.ConfinementOf(s.Local).Writable, s.here)
	for _, root := range roots {
		tops := git.Roots(root)
		if len(tops) == 0 {
			tops = []string{root}
		}
		for _, name := range runByGit(files.Named(ctx, tops[0], c.getenv("HOME"), c.getenv("XDG_CONFIG_HOME")),
			tops[0]) {
			name = userfiles.RealPath(name)
			if name != tops[0] && name != os.DevNull && isBelow(roots, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxGitCommands limits the hooks and programs of git that are looked through. A repository that
// has more runs what it wants to anyway.
const maxGitCommands = 200

// runByGit returns the files that git runs in a work tree, or from which it takes what it runs.
func runByGit(named git.Named, top string) []string {
	var commands []string // hooks first, because the number of commands is limited
	files := named.Files
	for _, dir := range named.Hooks {
		hooks, linked := git.HookCommands(dir)
		commands, files = append(commands, hooks...), append(files, linked...)
	}
	commands = append(commands, named.Commands...)
	return append(files, trust.RunBy(top, top, commands[:min(len(commands), maxGitCommands)])...)
}

// programDirs returns the directories of PATH below those of the session: a program there may be
// one that the user starts next. A directory of the session itself is none, because everything in
// it would ask.
func (s *Setup) programDirs(c *config) (dirs []string) {
	roots := append(env.ConfinementOf(s.Local).Writable, s.here)
	for _, dir := range filepath.SplitList(c.getenv("PATH")) {
		if dir = from(s.here, dir); isBelow(roots, dir) && !slices.Contains(roots, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
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

// SandboxLevel returns the level that confines the session's commands: Off without a sandbox, and on
// another machine.
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
	launch func(context.Context, env.Launch) (env.Launch, error)) (text string, found []agent.PromptDocument, err error) {
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
