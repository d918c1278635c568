package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// The limits of a configuration file.
const (
	maxConfig  = 16 << 20 // bytes; other programs keep servers in files with much else
	maxServers = 200
)

// File holds a configuration file: a JSON object with the member mcpServers, as .mcp.json of Claude
// Code.
type File struct {
	Name   string // for messages
	Data   []byte
	Origin Origin
	// Getenv returns the value of a variable for ${NAME}. [ErrUnset] says that it is not set; any
	// other error says why the file cannot have it. Nil means that no variable is set.
	Getenv func(name string) (string, error)
}

// Problem says what is wrong with a server of a file, or what of it has no effect.
type Problem struct {
	File   string
	Line   int
	Server string
	Err    error
}

// Error names the file, the line and the server.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: the server %s: %v", sanitize.Text(p.File), clean(p.Server, 100), p.Err)
	}
	return fmt.Sprintf("%s, line %d: the server %s: %v", sanitize.Text(p.File), p.Line, clean(p.Server, 100), p.Err)
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// Parse returns the servers of a file in its order. The problems, each a [Problem], say what is
// wrong with single servers, which are Off, and what has no effect. The error says why nothing of
// the file can be used.
func Parse(f File) (servers []Server, problems []error, err error) {
	if f.Getenv == nil {
		f.Getenv = func(string) (string, error) { return "", ErrUnset }
	}
	list, err := f.list()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", sanitize.Text(f.Name), err)
	}
	for i := range list {
		p := serverParser{file: &f, Member: &list[i]}
		servers = append(servers, p.parse(list[:i], list[i+1:]))
		problems = append(problems, p.problems...)
	}
	return servers, problems, nil
}

// Names returns the names of the servers in a file, in its order. It reads nothing else of it.
func Names(data []byte) (all []string) {
	f := File{Data: data}
	list, err := f.list()
	if err != nil {
		return nil
	}
	for i := range list {
		all = append(all, list[i].Name)
	}
	return all
}

// list returns the members of mcpServers.
func (f *File) list() ([]texts.Member, error) {
	if len(f.Data) > maxConfig {
		return nil, fmt.Errorf("it has more than %d MiB", maxConfig>>20)
	}
	root, err := texts.ReadJSON(f.Data)
	if err != nil {
		return nil, err
	}
	if root.Kind != texts.Object {
		return nil, fmt.Errorf(`line %d: the file must be an object such as {"mcpServers": {...}}, not %s`, root.Line,
			root.Is())
	}
	found := slices.DeleteFunc(slices.Clone(root.Members), func(m texts.Member) bool { return m.Name != "mcpServers" })
	switch {
	case len(found) == 0:
		return nil, noServers(&root)
	case len(found) > 1:
		return nil, fmt.Errorf("line %d: mcpServers is there twice, first on line %d: put all servers into one",
			found[1].Line, found[0].Line)
	case found[0].Kind != texts.Object:
		return nil, fmt.Errorf(`line %d: mcpServers must be an object with a member for each server, not %s`,
			found[0].Line, found[0].Is())
	case len(found[0].Members) > maxServers:
		return nil, fmt.Errorf("line %d: there are more than %d servers", found[0].Line, maxServers)
	}
	return found[0].Members, nil
}

// noServers returns the error for an object without mcpServers.
func noServers(root *texts.JSON) error {
	for i := range root.Members {
		switch m := &root.Members[i]; {
		case m.Name == "servers" || m.Name == "mcp" || m.Name == "mcp_servers" || m.Name == "context_servers" ||
			strings.EqualFold(m.Name, "mcpServers"):
			return fmt.Errorf("line %d: %s must be called mcpServers", m.Line, m.Name)
		case m.Kind == texts.Object && slices.ContainsFunc(m.Members,
			func(in texts.Member) bool { return in.Name == "command" || in.Name == "url" }):
			return fmt.Errorf(`line %d: the server %s must stand inside of mcpServers: {"mcpServers": {...}}`, m.Line,
				clean(m.Name, 60))
		}
	}
	return errors.New(`it has no servers; write {"mcpServers": {"NAME": {"command": "PROGRAM", "args": []}}}`)
}

// Merge returns the servers of several lists. Of servers with one name it uses the first. If that
// is Off, it uses none: a server of a project must not take the place of one that the user has
// disabled, because the user's rules for that name would count for it. For the same reason it must
// have no name that is spelled alike in those of tools. The errors tell of servers that are not
// used because of another one.
func Merge(lists ...[]Server) (servers []Server, shadowed []error) {
	first, disabled := map[string]Server{}, map[string]Server{}
	for _, s := range slices.Concat(lists...) {
		used, taken := first[s.Name]
		if off, alike := disabled[safeServer(s.Name)]; !taken && alike && s.Origin == Project {
			used, taken = off, true
		}
		switch {
		case !taken:
			first[s.Name] = s
			if s.Off {
				disabled[safeServer(s.Name)] = s
			} else {
				servers = append(servers, s)
			}
		case s.Off:
		case used.Off:
			shadowed = append(shadowed,
				fmt.Errorf("the server %s of %s is not used, because %s has one of that name that is disabled or "+
					"cannot be used", s.Name, s.File, used.File))
		default:
			shadowed = append(shadowed,
				fmt.Errorf("the server %s of %s is not used, because %s has one with the same name", s.Name, s.File,
					used.File))
		}
	}
	return servers, shadowed
}
