package attractor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/load"
)

// Command describes what a person can call by /NAME.
type Command struct {
	Name, Description string
	// Hint says which arguments it takes.
	Hint   string
	Kind   CommandKind
	Origin ext.Origin
	File   string // where it is defined
	// Model and Effort are those with which a command of a file wants to run. Empty means the
	// session's.
	Model, Effort string

	problems []error // which are told when it is used
	fill     func(ctx context.Context, arguments string) (llm.Parts, error)
}

// CommandKind says what a command is.
type CommandKind string

// The kinds of commands. The prompts of MCP servers have no entry in [Setup].Commands: they are
// mcp__SERVER__PROMPT.
const (
	SkillCommand CommandKind = "skill"
	FileCommand  CommandKind = "command"
)

// Commands returns what a person can call by /NAME, besides the prompts of MCP servers, in the
// order of the names.
func (s *Setup) Commands() []Command {
	s.readCommands()
	all := slices.Clone(s.commands)
	slices.SortFunc(all, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// openCommands prepares the reading of command files, and warns of those that must not be used.
// Sessions in which nobody uses a command do not read them.
func (s *Setup) openCommands(c *config) {
	s.readCommands = sync.OnceFunc(func() {
		files := load.ReadCommands(s.Project, c.usersEnv)
		s.commands = withFiles(s.commands, files)
		for i := range s.commands {
			if c := &s.commands[i]; c.Kind == FileCommand {
				file := files.Named(c.Name)
				c.fill = func(ctx context.Context, arguments string) (llm.Parts, error) {
					return s.fillCommand(ctx, file, arguments, commandTime)
				}
			}
		}
		s.unusable = files.Problems
	})
	s.untrusted = s.Project.UntrustedCommands(c.usersEnv)
	s.unused.Add("commands", s.untrusted, s.Project.Because())
}

// withFiles returns skills and the commands of files. If a skill and a command have the same name,
// the skill counts, unless only the command is the user's.
func withFiles(skills []Command, files *load.CommandFiles) []Command {
	all := slices.Clone(skills)
	for _, f := range files.List {
		c := Command{Name: f.Name, Description: f.Description, Hint: f.Hint, Kind: FileCommand, Origin: f.Origin,
			File: f.File, Model: f.Model, Effort: f.Effort, problems: files.ProblemsOf[f.Name]}
		i := slices.IndexFunc(all, func(has Command) bool { return has.Name == c.Name })
		if i < 0 {
			all = append(all, c)
			continue
		}
		kept, other := &all[i], c
		if kept.Origin == ext.Project && c.Origin == ext.User {
			*kept, other = c, *kept
		}
		problem := ext.Mistake{File: other.File,
			Text: fmt.Sprintf("the %s is not used, because there is another /%s: %s", other.Kind, c.Name,
				texts.Shown(kept.File))}
		kept.problems = append(slices.Clip(kept.problems), problem)
		files.Problems = append(files.Problems, problem)
	}
	return all
}

// Command returns what a person means by a line that begins with /: the content of a command, of a
// skill or, by mcp__SERVER__PROMPT, of a prompt of an MCP server, with the arguments in the rest of
// the line. is is false for any other line, which is sent as it is, such as one that begins with
// the path of a file. A single word that is no command, and a name that resembles that of one, are
// errors, unless there is a space in front.
func (s *Setup) Command(ctx context.Context, line string) (parts llm.Parts, is bool, err error) {
	c, arguments, err := s.find(line)
	if c == nil {
		return nil, err != nil, err
	}
	parts, err = c.fill(ctx, arguments)
	return parts, true, err
}

// fill returns the message for a command, unless StopCommand ends that.
func (s *Setup) fill(ctx context.Context, c *Command, arguments string) (llm.Parts, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.filling.Store(&cancel)
	defer s.filling.Store(nil)
	return c.fill(ctx, arguments)
}

// errStopped is why a command got no further.
var errStopped = errors.New("the command was stopped")

// StopCommand ends what a command runs before its message is there. It can be called at any time.
func (s *Setup) StopCommand() {
	if cancel := s.filling.Load(); cancel != nil {
		(*cancel)(errStopped)
	}
}

// find returns the command of a line with its arguments, or nil.
func (s *Setup) find(line string) (c *Command, arguments string, err error) {
	name, is := strings.CutPrefix(line, "/")
	if !is {
		return nil, "", nil
	}
	alone := true
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name, arguments = name[:i], strings.TrimSpace(name[i:])
		alone = arguments == ""
	}
	if strings.HasPrefix(name, "mcp__") {
		return &Command{Name: name, fill: func(ctx context.Context, arguments string) (llm.Parts, error) {
			return s.prompt(ctx, name, arguments)
		}}, arguments, nil
	}
	s.readCommands()
	if i := slices.IndexFunc(s.commands, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &s.commands[i], arguments, nil
	}
	return nil, "", s.unknownCommand(name, alone)
}

// unknownCommand returns an error for a name that was probably meant as that of a command, and nil
// for other text that begins with /.
func (s *Setup) unknownCommand(name string, alone bool) error {
	if strings.Contains(name, "/") || ext.CommandName(name+".md") == "" { // a path
		return nil
	}
	const asText = ". To send the line as text, begin it with a space"
	if slices.Contains(s.untrusted, name) {
		decide := "; to see it and decide, run: attractor trust"
		if s.far != nil {
			decide = ""
		}
		return fail(ErrConfig, "the command /%s is not used, because %s%s%s", name, s.Project.Because(), decide, asText)
	}
	for _, problem := range s.unusable {
		var m ext.Mistake
		if errors.As(problem, &m) && ext.CommandName(filepath.Base(m.File)) == name[strings.LastIndexByte(name,
			':')+1:] {
			return fail(ErrConfig, "there is no command /%s: %w%s", name, problem, asText)
		}
	}
	var known, near []string
	for _, c := range s.commands {
		known = append(known, c.Name)
	}
	for _, n := range texts.Near(name, known) {
		near = append(near, "/"+n)
	}
	switch {
	case len(near) > 0:
		return fail(ErrConfig, "there is no command /%s; did you mean %s?%s", name, strings.Join(near, " or "), asText)
	case alone:
		return fail(ErrConfig, "there is no command /%s; to list the commands, run: attractor commands%s", name, asText)
	}
	return nil
}

// Submit gives a session a line that a person has written, which may be a command, followed by more
// parts, and returns the result. If the command names a model, the session uses it for this input.
func (s *Setup) Submit(ctx context.Context, session *agent.Session, line string,
	more ...llm.Part) (result *agent.Result, err error) {
	c, text, parts, err := s.message(ctx, line)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return session.Submit(ctx, text, agent.Attach(more...))
	}
	restore, err := s.changeModel(ctx, session, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return session.Submit(ctx, text, agent.Attach(parts...), agent.Attach(more...))
}

// changeModel sets the model and the effort that a command names, as far as the session's provider
// has them. restore sets those from before again.
func (s *Setup) changeModel(ctx context.Context, session *agent.Session, c *Command) (restore func() error, err error) {
	id, effort, known := s.modelFor(c.Model, c.Effort)
	if !known {
		provider, _, _ := s.Model()
		s.warnings.add("commands",
			fmt.Sprintf("The command /%s uses the model and effort of the session where %s is not known to have "+
				"those that it names: %s", c.Name, provider, strings.TrimSpace(c.Model+" "+c.Effort)))
	}
	s.choosing.Lock()
	defer s.choosing.Unlock()
	during := s.chosen
	during.model, during.effort = cmp.Or(id, during.model), cmp.Or(effort, during.effort)
	if during == s.chosen {
		return func() error { return nil }, nil
	}
	return func() error {
		s.choosing.Lock()
		defer s.choosing.Unlock()
		back := s.withOwnWindow(session, s.chosen.from(during), s.chosen) // which may have been chosen since
		err := session.Set(context.WithoutCancel(ctx), back)
		if errors.Is(err, agent.ErrClosed) { // by a signal, for instance
			return nil
		}
		return err
	}, session.Set(ctx, s.withOwnWindow(session, during.from(s.chosen), during))
}

// prompt returns the content of a prompt of an MCP server, mcp__SERVER__PROMPT, with arguments.
func (s *Setup) prompt(ctx context.Context, name, arguments string) (llm.Parts, error) {
	if s.Servers == nil {
		return nil, fail(ErrConfig, "there is no prompt %s, because there are no MCP servers", name)
	}
	prompt, err := s.Servers.Prompt(ctx, name)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	args, err := prompt.Fill(arguments)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	parts, err := prompt.Get(ctx, args)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	return parts, nil
}
