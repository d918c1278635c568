package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// Machine describes where commands run, as far as it matters for what they do.
type Machine struct {
	Env env.Environment
	// Home is the home directory, where git looks for its configuration. If it is empty, git commands ask.
	Home string
	// Vars holds the variables of commands, as NAME=value. Nil means that they are taken to be harmless.
	Vars []string
	// Outside returns the content of a file outside of what Env opens, such as the user's configuration of git. If it is nil, git commands
	// ask where they have such configuration or where that is not known. Its errors wrap fs.ErrNotExist like those of Env.
	Outside func(ctx context.Context, name string) ([]byte, error)
	// Resolve returns a path without symbolic links, also outside of what Env opens. If it is nil, the version of Go is not known, and go
	// commands ask where a module wants a newer one than go1.21.
	Resolve func(name string) (string, error)
}

// maxConfig is the most bytes of a file of git's configuration.
const maxConfig = 1 << 20

// variable returns the value of a variable.
func (m *Machine) variable(name string) string {
	for _, entry := range m.Vars {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// read returns the content of a file, or fs.ErrNotExist. Other errors mean that the content is not known.
func (m *Machine) read(ctx context.Context, name string) ([]byte, error) {
	f, err := m.Env.Open(ctx, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || m.Outside == nil {
			return nil, err
		}
		data, err := m.Outside(ctx, name)
		if err == nil && len(data) > maxConfig {
			err = fmt.Errorf("%s has more than %d bytes", name, maxConfig)
		}
		return data, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes", name, maxConfig)
	}
	return data, errors.Join(err, f.Close())
}

// exists reports whether there is a file.
func (m *Machine) exists(ctx context.Context, name string) (bool, error) {
	_, err := m.Env.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// shadowed returns why a program's bare name may stand for something other than the system's program.
func (m *Machine) shadowed(ctx context.Context, program, dir string) string {
	for _, entry := range m.Vars {
		if strings.HasPrefix(entry, "BASH_FUNC_"+program+"%%=") || strings.HasPrefix(entry, "BASH_FUNC_"+program+"()=") {
			return program + " is a function of the environment"
		}
	}
	work := m.Env.WorkDir()
	for _, at := range strings.Split(m.variable("PATH"), ":") {
		if m.variable("PATH") == "" || path.IsAbs(at) && !within(path.Clean(at), work) {
			continue
		}
		name, ok := absolute(dir, path.Join(at, program))
		if !ok {
			return "PATH has the directory " + at
		}
		if there, err := m.exists(ctx, name); there || err != nil {
			return fmt.Sprintf("PATH may find %s in %s", program, path.Dir(name))
		}
	}
	return ""
}
