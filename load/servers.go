package load

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/trust"
)

// Servers holds the MCP servers that are configured for a directory.
type Servers struct {
	// List holds the servers that may be started: those that were given, those of the files that a
	// user names, the user's own, and the project's, of which the first with a name counts.
	List []mcp.Server
	// Untrusted names the project's servers that must not be started. Why is the reason.
	Untrusted []string
	Why       string
	// Problems says what is wrong with servers, which are left out, and what in the files has no
	// effect.
	Problems []error
}

// projectServers is the file of a project's servers.
const projectServers = ".mcp.json"

// maxServerFile limits a file of servers. Other programs keep servers in files with much else.
const maxServerFile = 16 << 20

// UserServers returns the file of the user's servers: $XDG_CONFIG_HOME/attractor/mcp.json, else
// ~/.config/attractor/mcp.json.
func UserServers(getenv func(string) string) (string, error) {
	dir, err := userfiles.ConfigDir(getenv)
	return filepath.Join(dir, "mcp.json"), err
}

// ServerOptions says which servers ReadServers reads.
type ServerOptions struct {
	Dir     string   // of the session
	Project *Project // nil without one
	Given   []mcp.Server
	Files   []string // of the user's, by name
	Getenv  func(string) string
	// WithoutUser leaves the user's own file out.
	WithoutUser bool
}

// ReadServers reads the servers that are configured for a directory, after the given ones. The
// error is about a file that the user has named; a mistake in another file, or in a given server,
// is among the Problems.
func ReadServers(o ServerOptions) (*Servers, error) {
	s := &Servers{}
	r := serverReader{Servers: s, dir: o.Dir, project: o.Project, getenv: o.Getenv}
	lists := [][]mcp.Server{r.given(o.Given)}
	for _, name := range o.Files {
		data, err := userfiles.ReadSettings(name, maxServerFile+1)
		if err != nil {
			return nil, fault.Errorf(fault.ErrConfig, "cannot read the MCP servers: %w", err)
		}
		list, err := r.read(name, data, mcp.User)
		if err != nil {
			return nil, fault.Errorf(fault.ErrConfig, "cannot read the MCP servers: %w", err)
		}
		lists = append(lists, list)
	}
	if !o.WithoutUser {
		lists = append(lists, r.users())
	}
	lists = append(lists, r.projects())
	var shadowed []error
	s.List, shadowed = mcp.Merge(lists...)
	s.Problems = append(s.Problems, shadowed...)
	s.warnAway()
	return s, nil
}

// serverReader reads files of servers for a directory.
type serverReader struct {
	*Servers
	dir     string
	project *Project
	getenv  func(string) string
	unread  bool // the user's own file has servers that are not known
}

// read returns the servers of a file. What is wrong with single ones is among the Problems.
func (r *serverReader) read(name string, data []byte, origin mcp.Origin) ([]mcp.Server, error) {
	list, problems, err := mcp.Parse(mcp.File{Name: name, Data: data, Origin: origin, Getenv: r.variables(origin)})
	r.Problems = append(r.Problems, problems...)
	for i := range list {
		list[i] = r.placed(list[i], nil)
	}
	return list, err
}

// placed returns a server with the directory in which it runs. One that has an error is off.
func (r *serverReader) placed(s mcp.Server, err error) mcp.Server {
	if err == nil && s.Command != "" {
		s.Dir, err = r.placeOf(&s)
	}
	if err != nil {
		r.Problems = append(r.Problems, &mcp.Problem{File: s.File, Server: s.Name, Err: err})
		s = mcp.Server{Name: s.Name, File: s.File, Origin: s.Origin, Off: true}
	}
	return s
}

// given returns the servers that were given, which are the user's. Those that cannot be used are
// off.
func (r *serverReader) given(list []mcp.Server) (placed []mcp.Server) {
	for _, s := range list {
		s.Origin = mcp.User
		placed = append(placed, r.placed(s, s.Check()))
	}
	return placed
}

// placeOf returns the directory in which a server's process runs, or "" for an empty one that is
// made when it starts. One of the project stays in the project.
func (r *serverReader) placeOf(s *mcp.Server) (string, error) {
	if s.Origin != mcp.Project {
		home := userfiles.HomeDir(r.getenv)
		switch rest, below := strings.CutPrefix(s.Dir, "~/"); {
		case s.Dir == "" && r.project != nil && !r.project.Chosen:
			return "", nil // an empty one that is made when it starts
		case s.Dir == "~":
			return home, nil
		case below:
			return filepath.Join(home, rest), nil
		case filepath.IsAbs(s.Dir):
			return s.Dir, nil
		}
		return filepath.Join(r.dir, s.Dir), nil
	}
	dir := s.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.project.Root, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("its cwd: %w", err)
	}
	if rel, err := filepath.Rel(r.project.Root, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("its cwd %s leads out of the project %s", s.Dir, r.project.Root)
	}
	return real, nil
}

// variables returns what ${NAME} stands for in files. A file of the project gets a variable that
// looks like a secret only if its user has seen the name, which attractor trust shows.
func (r *serverReader) variables(origin mcp.Origin) func(string) (string, error) {
	return func(name string) (string, error) {
		value := r.getenv(name)
		switch {
		case value == "" && name == "CLAUDE_PROJECT_DIR" && r.project != nil: // which files for Claude Code use
			return cmp.Or(r.project.Here, r.project.Root), nil
		case value == "":
			return "", mcp.ErrUnset
		case origin == mcp.Project && env.LooksSecret(name, value) && r.project.Decision.State != trust.Trusted:
			return "", fmt.Errorf("it looks like a secret, and nobody has allowed the project to have it: run " +
				"attractor trust, which shows the name, or write the server into a file of your own (attractor " +
				"run --mcp)")
		}
		return value, nil
	}
}

// users returns the servers of the user's own file, if there is one.
func (r *serverReader) users() []mcp.Server {
	name, err := UserServers(r.getenv)
	if err != nil {
		return nil // without a home directory there is no file
	}
	data, err := userfiles.ReadSettings(name, maxServerFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []mcp.Server
	if err == nil {
		list, err = r.read(name, data, mcp.User)
	}
	if err != nil {
		r.unread = true
		r.Problems = append(r.Problems, fmt.Errorf("your MCP servers are not used: %w", err))
	}
	return list
}

// projects returns the servers of the project, if its user trusts it.
func (r *serverReader) projects() []mcp.Server {
	if r.project == nil {
		return nil
	}
	f := r.project.File(projectServers)
	if f == nil {
		return nil
	}
	if !r.project.Trusted {
		r.Untrusted, r.Why = mcp.Names(f.Data), r.project.Because()
		return nil
	}
	if r.unread {
		r.Problems = append(r.Problems,
			errors.New("the MCP servers of the project are not used either, because they could take the names of "+
				"yours, and your rules would count for them"))
		return nil
	}
	list, err := r.read(filepath.Join(r.project.Root, projectServers), f.Data, mcp.Project)
	if err != nil {
		r.Problems = append(r.Problems, fmt.Errorf("the MCP servers of the project are not used: %w", err))
	}
	return list
}

// errAway says why a server without a cwd does not start in the directory of the session. Most
// interpreters and launchers load code from the directory in which they start.
var errAway = errors.New("it starts in an empty directory, because it could run code of the project, " +
	`which nobody has trusted. To start it in the directory of every session, write "cwd": "." into its entry; ` +
	"to trust the project, run: attractor trust")

// IsAway reports whether a server starts in an empty directory that is made for it: its entry names
// none, and nobody has trusted the project.
func IsAway(s *mcp.Server) bool { return s.Origin == mcp.User && s.Command != "" && s.Dir == "" }

// warnAway adds a problem for each server that starts in an empty directory.
func (s *Servers) warnAway() {
	for i := range s.List {
		if one := &s.List[i]; IsAway(one) && !one.Off {
			s.Problems = append(s.Problems, &mcp.Problem{File: one.File, Server: one.Name, Err: errAway})
		}
	}
}

// Named returns the server with a name.
func (s *Servers) Named(name string) ([]mcp.Server, error) {
	var known []string
	for i := range s.List {
		if s.List[i].Name == name {
			return s.List[i : i+1 : i+1], nil
		}
		known = append(known, s.List[i].Name)
	}
	if slices.Contains(s.Untrusted, name) {
		return nil, fault.Errorf(fault.ErrConfig,
			"the MCP server %s is not started, because %s; to see it and decide, run: attractor trust", name, s.Why)
	}
	hint := "to list the servers, run: attractor mcp list"
	if near := texts.Near(name, known); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	for _, problem := range s.Problems {
		var about *mcp.Problem
		if errors.As(problem, &about) && about.Server == name {
			return nil, fault.Errorf(fault.ErrConfig, "%w", problem)
		}
	}
	return nil, fault.Errorf(fault.ErrConfig, "there is no MCP server %s; %s", name, hint)
}

// MCPTokens returns the user's logins at MCP servers: $XDG_STATE_HOME/attractor/mcp/tokens, else
// ~/.local/state/attractor/mcp/tokens.
func MCPTokens(getenv func(string) string) (*mcp.FileTokens, error) {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return nil, fault.Errorf(fault.ErrConfig, "there is no directory to keep logins in: %w", err)
	}
	return TokensIn(state), nil
}

// TokensIn returns the logins in a directory for state.
func TokensIn(state string) *mcp.FileTokens {
	return mcp.NewFileTokens(filepath.Join(state, "attractor", "mcp", "tokens"))
}
