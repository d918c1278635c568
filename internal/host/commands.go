package host

import (
	"context"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/llm"
)

// Command describes what a person can call by /NAME.
type Command struct {
	Name, Description string
	// Hint says which arguments it takes.
	Hint   string
	Kind   CommandKind
	Origin ext.Origin
	File   string // where it is defined

	fill func(ctx context.Context, arguments string) (llm.Parts, error)
}

// CommandKind says what a command is.
type CommandKind string

// The kinds of commands. The prompts of MCP servers have no entry in [Setup].Commands: they are mcp__SERVER__PROMPT.
const (
	SkillCommand CommandKind = "skill"
)

// Commands returns what a person can call by /NAME, besides the prompts of MCP servers, in the order of the names.
func (s *Setup) Commands() []Command {
	all := slices.Clone(s.commands)
	slices.SortFunc(all, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// addCommand adds a command, unless there is one of its name. It returns the command that counts.
func (s *Setup) addCommand(c Command) Command {
	if i := slices.IndexFunc(s.commands, func(has Command) bool { return has.Name == c.Name }); i >= 0 {
		return s.commands[i]
	}
	s.commands = append(s.commands, c)
	return c
}

// Command returns what a person means by a line that begins with /: the content of a command, of a skill or, by mcp__SERVER__PROMPT, of a
// prompt of an MCP server, with the arguments in the rest of the line. It is false for any other line, which stands for itself.
func (s *Setup) Command(ctx context.Context, line string) (parts llm.Parts, is bool, err error) {
	line = strings.TrimSpace(line)
	name, is := strings.CutPrefix(line, "/")
	if !is {
		return nil, false, nil
	}
	arguments := ""
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name, arguments = name[:i], strings.TrimSpace(name[i:])
	}
	if i := slices.IndexFunc(s.commands, func(c Command) bool { return c.Name == name }); i >= 0 {
		parts, err = s.commands[i].fill(ctx, arguments)
		return parts, true, err
	}
	if strings.HasPrefix(name, "mcp__") {
		parts, err = s.prompt(ctx, name, arguments)
		return parts, true, err
	}
	return nil, false, nil
}
