package shell

import (
	"errors"
	"io/fs"

	"github.com/attractor-go/attractor/internal/git"
)

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// read returns the content of a file of git.
func (r *read) read(name string) ([]byte, error) { return r.Machine.files().Read(r.ctx, name) }

// configuration returns the settings of the system and of the user.
func (r *read) configuration() ([]git.Setting, string) {
	if r.Home == "" {
		return nil, "the home directory is not known, and with it the configuration of git"
	}
	c := git.Config{Home: r.Home}
	for _, name := range git.UserConfig(r.Home, r.variable("XDG_CONFIG_HOME")) {
		if why := r.Machine.files().AddConfig(r.ctx, &c, name); why != "" {
			return nil, why
		}
	}
	return c.Settings, ""
}

// from returns an absolute path for a name in a directory. It keeps .., because a link may be in front of it.
func from(dir, name string) string {
	p, _ := absolute(dir, name)
	return p
}
