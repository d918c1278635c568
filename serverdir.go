package attractor

import (
	"errors"
	"os"
	"path/filepath"
)

// emptyDir makes an empty directory for a server, in the user's state, above which nobody else can
// put files. It is removed when the servers are closed.
func (p *places) emptyDir() (string, error) {
	if p.state != "" {
		if err := os.MkdirAll(p.state, 0o700); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(p.state, "server-")
	if err != nil {
		return "", err
	}
	p.empty = append(p.empty, dir)
	return filepath.EvalSymlinks(dir)
}

// removeEmpty removes the directories that were made for servers, with what these have left there.
func (p *places) removeEmpty() error {
	var errs []error
	for _, dir := range p.empty {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
