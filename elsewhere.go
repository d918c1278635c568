package attractor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/env/shellenv"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/rules"
)

// elsewhere is the other machine on which a session works.
type elsewhere struct {
	command []string // leads there
	machine far
	reader  far // reads the repository above the working directory; nil if machine can, or there is none

	surroundings
}

// far is an environment on another machine.
type far interface {
	env.Environment
	Close() error
}

// openElsewhere reaches the machine of a session that works on another one, and reads what the
// project brings there.
func (s *Setup) openElsewhere(ctx context.Context, c *config) (err error) {
	if !c.elsewhere() {
		return nil
	}
	switch level := cmp.Or(c.Sandbox.Level, sandbox.Off); {
	case level == sandbox.Off:
	case c.Env != nil:
		return fail(ErrConfig, "the sandbox %s confines commands of this machine, and the session has an environment "+
			"of its own: confine commands there", level)
	default:
		return fail(ErrConfig, "the sandbox %s confines commands of this machine, and the session's commands run "+
			"behind %s; turn it off (--sandbox off), and let the container or the other machine confine them", level,
			shquote.Shown(c.EnvCommand...))
	}
	f := &elsewhere{command: c.EnvCommand}
	s.far = f
	o := remote.Options{Dir: c.Dir, Roots: s.dirs.list, Limits: c.Limits}
	if c.Env != nil {
		f.machine = givenEnv(c.Env, c.Dir)
	} else if f.machine, err = s.reach(ctx, c, o); err != nil {
		return unreachable(c.EnvCommand, err)
	}
	s.Machine = f.machine
	if f.surroundings, err = lookAround(ctx, f.machine); err != nil {
		return unreachable(c.EnvCommand, err)
	}
	if err := s.openReader(ctx, c, o); err != nil {
		return unreachable(c.EnvCommand, err)
	}
	if root := cmp.Or(f.top, s.Machine.WorkDir()); !c.WithoutProject {
		look, end := context.WithTimeout(ctx, lookTime)
		s.Project = load.Far(look, f.documents(), root, s.here)
		end()
	} else {
		s.Project = load.Unread(root, c.TrustProject)
		s.Project.Here = s.here
	}
	for _, problem := range s.Project.Problems {
		s.warnings.add("project", "A file of the project on the other machine does not count: "+problem.Error())
	}
	s.useSettings(c)
	return nil
}

// closeElsewhere ends what there is on the other machine.
func (s *Setup) closeElsewhere() error {
	if s.far == nil {
		return nil
	}
	return s.far.close()
}

// given is an environment of the caller's, who closes it.
type given struct{ env.Base }

// Close does nothing.
func (given) Close() error { return nil }

// givenEnv returns an environment of the caller's in a directory; empty means its own.
func givenEnv(e env.Environment, dir string) far {
	if dir != "" {
		e = env.Sub(e, dir)
	}
	return given{env.Base{Environment: e}}
}

// unreachable returns an error that names the command, if there is one.
func unreachable(command []string, err error) error {
	if len(command) == 0 {
		return fail(ErrUnreachable, "the environment of the session cannot be used: %w", err)
	}
	return fail(ErrUnreachable, "the environment behind %s cannot be used: %w", shquote.Shown(command...), err)
}

// reach opens the environment over there. Where no helper can be started, a shell does the work,
// and the user is told.
func (s *Setup) reach(ctx context.Context, c *config, o remote.Options) (far, error) {
	dial := remote.DialOptions{Options: o, Log: s.tellReached, Helper: c.EnvHelper}
	e, without, err := reach(ctx, c.EnvCommand, dial)
	if without == nil {
		return e, err
	}
	lacks := "terminals and fast searches"
	if o.Limits != (env.Limits{}) {
		lacks += ", and without limits for commands"
	}
	s.warnings.add("environment",
		fmt.Sprintf("The session works through a shell, which is slow and without %s, because of this: %v.", lacks,
			without))
	return e, nil
}

// reach opens the environment behind a command, by a helper or else by a shell. For a shell,
// without says why there is no helper.
func reach(ctx context.Context, command []string, o remote.DialOptions) (_ far, without, err error) {
	if o.Helper == nil {
		o.Helper = separateHelper
	}
	e, err := remote.Dial(ctx, command, o)
	if err == nil {
		return e, nil, nil
	}
	if !errors.Is(err, remote.ErrNoHelper) || command[len(command)-1] == "serve" {
		return nil, nil, err
	}
	shell, shellErr := openShell(ctx, command, o.Dir)
	if shellErr != nil {
		return nil, nil, errors.Join(err, shellErr)
	}
	return shell, err, nil
}

// tellReached logs what was done to reach the machine.
func (s *Setup) tellReached(line string) {
	if s.log != nil {
		s.log.Info("environment", "text", line)
	}
}

// openReader opens a further environment if the repository begins above the working directory,
// where the session's cannot read.
func (s *Setup) openReader(ctx context.Context, c *config, o remote.Options) (err error) {
	f := s.far
	if _, shell := f.machine.(*shellenv.Env); shell || c.Env != nil || f.top == "" || f.top == f.machine.WorkDir() {
		return nil
	}
	o.Dir, o.Roots, o.ReadOnly = f.machine.WorkDir(), nil, []string{f.top}
	f.reader, err = s.reach(ctx, c, o)
	return err
}

// documents returns the environment that reads the project's documents.
func (f *elsewhere) documents() env.Environment {
	if f.reader != nil {
		return env.ReadOnly(f.reader)
	}
	return env.ReadOnly(f.machine)
}

// protect adds the user's files over there by which a session could trust its own project, or
// choose what later sessions may do. They can be those of this machine, as in a container with the
// home directory.
func (f *elsewhere) protect(p *env.Protection) {
	if !path.IsAbs(f.home) {
		return
	}
	config := path.Join(f.home, ".config", "attractor")
	p.Refuse = append(p.Refuse, path.Join(f.home, ".local", "state", "attractor"), path.Join(config, "config.json"))
	p.Ask = append(p.Ask, config)
}

// place sets the directory at which relative patterns of the user's rules begin: the root of the
// project for files that the user has given, and the home directory for their own.
func (f *elsewhere) place(given, own []rules.Source) {
	for i := range given {
		given[i].Dir = cmp.Or(f.top, f.machine.WorkDir())
	}
	for i := range own {
		if own[i].Dir != "" {
			own[i].Dir = f.home
		}
	}
}

// ruleDirs returns what the patterns of rules are about over there.
func (f *elsewhere) ruleDirs(readable []string) rules.Dirs {
	p := f.machine.Platform()
	d := rules.Dirs{Work: f.machine.WorkDir(), Home: f.home,
		Roots: slices.Concat([]string{f.machine.WorkDir()}, readable), Vars: f.vars}
	if f.top != f.home && !isBelow([]string{f.top}, f.home) && !isBelow([]string{f.top}, "/usr/bin") {
		d.Repository = []string{f.top}
	}
	if _, ok := f.machine.(env.Resolver); ok {
		d.Resolve = func(name string) (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), lookTime)
			defer cancel()
			return env.Resolve(ctx, f.machine, name)
		}
	}
	if p.Shell != "" {
		d.Outside = func(ctx context.Context, name string) ([]byte, error) { return readThere(ctx, f.machine, name) }
	}
	return d
}

// closeTime bounds how long a program that is about to exit waits for the end of what runs over
// there.
const closeTime = 2 * time.Second

// close ends what runs over there, and the connections.
func (f *elsewhere) close() error {
	var errs []error
	for _, e := range []far{f.reader, f.machine} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}

// killNow ends what runs over there. It waits at most closeTime.
func (f *elsewhere) killNow() error {
	if e, ok := f.machine.(interface{ KillNow() error }); ok { // what runs there ends with the connection
		return e.KillNow()
	}
	ended := make(chan error, 1)
	go func() { ended <- f.close() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(closeTime):
		return fmt.Errorf("commands behind %s may still be running", shquote.Shown(f.command...))
	}
}

// Abandoned returns the processes that a killed program has left behind on the session's machine,
// and which have been ended.
func (s *Setup) Abandoned() ([]string, error) {
	if m, ok := s.Machine.(interface{ Abandoned() ([]string, error) }); ok {
		return m.Abandoned()
	}
	return nil, nil
}

// EnvCommand returns the command that leads to the session's machine. It is empty if that is this
// one; see [Config].EnvCommand.
func (s *Setup) EnvCommand() []string {
	if s.far == nil {
		return []string{}
	}
	return s.far.command
}

// projectHere returns the directory of this machine that hooks get as that of the project.
func (s *Setup) projectHere() string { return cmp.Or(s.Project.Here, s.Project.Root) }
