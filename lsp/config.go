package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// The limits of a configuration file.
const (
	MaxConfig  = 1 << 20 // bytes
	maxServers = 100
	maxName    = 64
)

// supported names the members of a server that have an effect, and without those that Claude Code
// has besides.
const (
	supported = "command, args, extensionToLanguage, env, initializationOptions, settings, disabled"
	without   = " transport workspaceFolder startupTimeout shutdownTimeout restartOnCrash maxRestarts loggingConfig "
)

// Parse returns the servers of a file, which has an object for each server under its name, in the
// form of .lsp.json of Claude Code's plugins:
//
//	{"zig": {"command": "zls", "args": [], "extensionToLanguage": {".zig": "zig"}}}
//
// The problems say what is wrong, and where. Servers with mistakes are left out.
func Parse(name string, data []byte, origin Origin) (servers []Server, problems []error) {
	p := parser{file: name}
	if len(data) > MaxConfig {
		p.problem(0, "", fmt.Errorf("it has more than %d MiB", MaxConfig>>20))
		return nil, p.problems
	}
	root, err := texts.ReadJSON(data)
	list := root.Members
	switch {
	case err != nil:
	case root.Kind != texts.Object:
		err = fmt.Errorf(`line %d: it must be an object, such as {"zig": {"command": "zls", "extensionToLanguage": {".zig": "zig"}}}, not %s`,
			root.Line, root.Is())
	case len(list) > maxServers:
		err = fmt.Errorf("there are more than %d servers", maxServers)
	}
	if err != nil {
		p.problem(0, "", err)
		return nil, p.problems
	}
	for i := range list {
		m := &list[i]
		same := func(other texts.Member) bool { return other.Name == m.Name }
		if m.Name == "$schema" || slices.ContainsFunc(list[i+1:], same) { // of several, only the last one is told of
			continue
		}
		s, ok := p.server(m, slices.ContainsFunc(list[:i], same))
		if s.Origin, s.File, s.RunsProject = origin, name, runsProject(s.Command); ok {
			servers = append(servers, s)
		}
	}
	return servers, p.problems
}

// Merge returns the servers of several lists. Of servers with one name it uses the first, or none
// if the first is disabled. The errors tell of servers of a project that are not used because of
// another one.
func Merge(lists ...[]Server) (servers []Server, shadowed []error) {
	first := map[string]*Server{}
	for _, s := range slices.Concat(lists...) {
		if used := first[s.Name]; used != nil {
			if s.Origin == Project {
				shadowed = append(shadowed,
					fmt.Errorf("the language server %s of %s is not used, because %s has one with the same name",
						s.Name, s.File, used.File))
			}
			continue
		}
		first[s.Name] = &s
		if !s.Disabled {
			servers = append(servers, s)
		}
	}
	return servers, shadowed
}

// parser reads a file.
type parser struct {
	file     string
	problems []error
}

// problem notes what is wrong with a server of the file, or with the whole file if the line is 0.
func (p *parser) problem(line int, server string, err error) {
	if len(p.problems) == maxServers {
		return
	}
	where := sanitize.Text(p.file)
	if line > 0 {
		where += fmt.Sprintf(", line %d", line)
	}
	if server != "" {
		where += ": the language server " + clean(server, 100)
	}
	p.problems = append(p.problems, fmt.Errorf("%s: %w", where, err))
}

// server reads a server. It reports false for one with a mistake.
func (p *parser) server(m *texts.Member, again bool) (s Server, ok bool) {
	s.Name = m.Name
	var wrong error
	switch {
	case !isName(s.Name, ".-"):
		wrong = fmt.Errorf("its name must have letters, digits, _, - and dots only, at most %d", maxName)
	case again:
		wrong = errors.New("it is there twice: remove one")
	case m.Kind != texts.Object:
		wrong = fmt.Errorf(`it must be an object, such as {"command": "zls", "extensionToLanguage": {".zig": "zig"}}, not %s`, m.Is())
	}
	if wrong != nil {
		p.problem(m.Line, s.Name, wrong)
		return s, false
	}
	ok = true
	for _, field := range m.Members {
		if err := s.set(field.Name, field.Raw); err != nil {
			p.problem(field.Line, s.Name, err)
			ok = ok && errors.Is(err, errNoEffect)
		}
	}
	if ok && !s.Disabled && (s.Command == "" || len(s.Languages) == 0) {
		p.problem(m.Line, s.Name,
			errors.New(`it needs a command and extensionToLanguage, such as {"command": "zls", "extensionToLanguage": {".zig": "zig"}}`))
		return s, false
	}
	return s, ok
}

// errNoEffect says that a member is ignored.
var errNoEffect = errors.New("has no effect here")

// set sets a member of a server.
func (s *Server) set(name string, raw json.RawMessage) error {
	var target any
	check := func() error { return nil }
	switch name {
	case "command":
		target = &s.Command
	case "args":
		target = &s.Args
	case "extensionToLanguage":
		target, check = &s.Languages, s.checkEndings
	case "env":
		target, check = &s.Env, s.checkEnv
	case "initializationOptions":
		target = &s.Initialization
	case "settings":
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object == nil {
			return errors.New("settings must be an object with a member for each section")
		}
		target = &s.Settings
	case "disabled":
		target = &s.Disabled
	default:
		if strings.Contains(without, " "+name+" ") && string(raw) != `"socket"` {
			return fmt.Errorf("%s %w; supported are %s", name, errNoEffect, supported)
		}
		return fmt.Errorf("%s is not supported; supported are %s", texts.Shown(clean(name, 100)), supported)
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, target); errors.As(err, &wrong) {
		return fmt.Errorf("%s must not be or have a JSON %s", name, wrong.Value)
	} else if err != nil {
		return err
	}
	return check()
}

// checkEndings returns an error for an invalid ending of file names.
func (s *Server) checkEndings() error {
	for _, ending := range slices.Sorted(maps.Keys(s.Languages)) {
		if rest, dot := strings.CutPrefix(ending, "."); !dot || !isName(rest, "-+") {
			return fmt.Errorf("extensionToLanguage: %s is no ending of file names, such as .zig",
				texts.Shown(clean(ending, 100)))
		}
	}
	return nil
}

// checkEnv returns an error if a variable cannot be set.
func (s *Server) checkEnv() error {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !isName(name, "") || name[0] >= '0' && name[0] <= '9' || strings.ContainsRune(s.Env[name], 0) {
			return fmt.Errorf("env: the variable %s cannot be set", texts.Shown(clean(name, 100)))
		}
	}
	return nil
}

// isName reports whether a text has letters, digits, underscores and some other characters only,
// and not too many.
func isName(text, others string) bool {
	known := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + others
	return text != "" && len(text) <= maxName && strings.Trim(text, known) == ""
}
