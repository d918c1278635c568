package host

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

// OpenDir opens a working directory on this machine. Before anything runs there, it ends what a killed program has left running:
// [env.Local.Abandoned] lists it.
func OpenDir(dir string) (*env.Local, error) {
	local, err := env.NewLocal(dir, env.LocalOptions{EndAbandoned: true})
	if err != nil {
		return nil, cannotWork(dir, err)
	}
	return local, nil
}

// openDir opens the directory of the session.
func (s *Setup) openDir(c *Config) (err error) {
	if s.Local, err = OpenDir(c.Dir); err != nil {
		return err
	}
	o := &s.Options
	if o.Env = env.Protect(s.Local, env.DefaultProtection()); c.Permission == ReadOnly {
		o.Env = env.ReadOnly(s.Local)
	}
	return nil
}

// SystemPrompt renders the prompt of a session in a directory. It reads through an environment of its own, in which the whole
// repository may be read: the project's documents begin at its top, which can be above the directory that the session may touch. What is
// allowed there is what o.Env says; without one, files may be changed in the directory alone.
func SystemPrompt(ctx context.Context, dir string, o agent.Options) (text string, err error) {
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup, Roots: git.Roots(dir)})
	if err != nil {
		return "", cannotWork(dir, err)
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	allowed := env.Confinement{Writable: []string{local.WorkDir()}}
	if o.Env != nil {
		allowed = env.ConfinementOf(o.Env)
	}
	o.Env = reader{env.Base{Environment: env.ReadOnly(local)}, allowed}
	return agent.SystemPrompt(ctx, o), nil
}

// reader is an environment in which more can be read than in the one that it describes.
type reader struct {
	env.Base
	confinement env.Confinement
}

// Confinement implements env.Confined.
func (r reader) Confinement() env.Confinement { return r.confinement }

// Below implements env.View.
func (r reader) Below(context.Context, string, string) (env.Environment, func(error)) {
	return r.Environment, func(error) {}
}

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

// cannotWork names a directory and what is wrong with it, once.
func cannotWork(dir string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fail(ErrConfig, "cannot work in %s: %w", dir, err)
}
