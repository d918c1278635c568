package host

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/mcp"
)

// errAway says why a server without a cwd does not start in the directory of the session. Most
// interpreters and launchers load code from the directory in which they start.
var errAway = errors.New("it starts in an empty directory, because it could run code of the project, " +
	`which nobody has trusted. To start it in the directory of every session, write "cwd": "." into its entry; ` +
	"to trust the project, run: attractor trust")

// isAway reports whether a server starts in an empty directory that is made for it: its entry names
// none, and nobody has trusted the project.
func isAway(s *mcp.Server) bool { return s.Origin == mcp.User && s.Command != "" && s.Dir == "" }

// warnAway adds a problem for each server that starts in an empty directory.
func (s *Servers) warnAway() {
	for i := range s.List {
		if one := &s.List[i]; isAway(one) && !one.Off {
			s.Problems = append(s.Problems, &mcp.Problem{File: one.File, Server: one.Name, Err: errAway})
		}
	}
}

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
