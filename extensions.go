package attractor

import (
	"errors"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/load"
)

// Extensions holds what the user and a project have written for agents, without a session.
type Extensions struct {
	// Commands and Agents are in the order of their names.
	Commands []Command
	Agents   []*ext.Agent
	// Servers reports whether MCP servers are configured, which may have prompts.
	Servers bool
	// Unused reports whether the project has skills, commands or agents that are not used, because
	// nobody trusts it. The Problems name them.
	Unused bool
	// Problems says what is wrong with the files, and what in them has no effect.
	Problems []error
}

// OpenExtensions reads the skills, commands and agents that can be used in a directory. It starts
// nothing.
func OpenExtensions(of Config) (*Extensions, error) {
	c, err := of.apart()
	if err != nil {
		return nil, err
	}
	project, err := c.project(c.Dir)
	if err != nil {
		return nil, err
	}
	skills, files, agents := load.ReadSkills(project, c.usersEnv), load.ReadCommands(project, c.usersEnv),
		load.ReadAgents(project, c.usersEnv)
	e := &Extensions{Agents: agents.List}
	for _, s := range skills.List {
		if s.ForUser {
			e.Commands = append(e.Commands, Command{Name: s.Name, Description: s.Description, Hint: s.Hint,
				Kind: SkillCommand, Origin: s.Origin, File: s.File})
		}
	}
	e.Commands = withFiles(e.Commands, files)
	slices.SortFunc(e.Commands, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	e.Problems = slices.Concat(skills.Problems, files.Problems, agents.Problems)
	var u load.Unused
	u.Add("skills", skills.Untrusted, skills.Why)
	u.Add("commands", files.Untrusted, files.Why)
	u.Add("agents", agents.Untrusted, agents.Why)
	if text := u.Text(c.Dir); text != "" {
		e.Unused, e.Problems = true, append(e.Problems, errors.New(text))
	}
	e.Servers = len(ServerNames(of)) > 0
	return e, nil
}
