package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sessions"
)

// command is one of the conversation's own.
type command struct {
	name, arguments, about string
	anytime                bool // also while something runs
	run                    func(p *program, arguments string)
}

// commands returns the commands of a conversation, as /help lists them.
func commands() []command {
	return []command{
		{"help", "", "list the commands and the keys", true, (*program).help},
		{"model", "[[PROVIDER/]MODEL]", "list the models, or change to another one", true, (*program).chooseModel},
		{"effort", "[LEVEL]", "list the levels of reasoning effort, or change to another one", true,
			(*program).chooseEffort},
		{"mode", "[MODE]", "show the mode, or change to ask, accept-edits, plan or full; Shift-Tab goes through the " +
			"first three", true, (*program).chooseMode},
		{"compact", "", "replace the beginning of the conversation by a summary", true, (*program).compact},
		{"init", "[WHAT TO HEED]", "have the model write AGENTS.md, or improve it", false, (*program).guide},
		{"diff", "", "show what the session has changed in files", true, (*program).diff},
		{"undo", "[TURN]", "take back changes of files: those of the last message, or after a turn", false,
			(*program).undo},
		{"redo", "", "take the last /undo back", false, (*program).redo},
		{"status", "", "show the session, its directory, model, mode, sandbox, cost and servers", true,
			(*program).showStatus},
		{"context", "", "show what fills the model's window, by part", true, (*program).showContext},
		{"permissions", "", "show what is allowed, asked about and denied now, and by whom", true,
			(*program).showPermissions},
		{"export", "[FILE]", "write the session to a file, as Markdown, or as a page if it ends in .html", true,
			(*program).export},
		{"output", "[N]", "show the whole output or thought N, or the newest that was not shown yet; so does Ctrl-O",
			true, (*program).output},
		{"cost", "", "show what models and parts of the prompt cost", true, (*program).cost},
		{"resume", "[ID]", "list the sessions of this directory, or go on with another one", false, (*program).resume},
		{"fork", "[[ID]@TURN]", "go on in a copy of this session or of another one, as it was after a turn", false,
			(*program).fork},
		{"clear", "", "begin a new session", false, (*program).clear},
		{"mcp", "", "show the MCP servers", true, (*program).mcp},
		{"skills", "", "list the skills and the commands of files", true, (*program).skills},
		{"quit", "", "end the conversation; so do exit, Ctrl-D, and Ctrl-C twice", true,
			func(p *program, _ string) { p.leave() }},
	}
}

// ownCommand returns the conversation's own command that a line calls.
func ownCommand(text string) (c command, arguments string, is bool) {
	if text == "exit" || text == "quit" { // as in a shell
		text = "/quit"
	}
	name, ok := commandName(text)
	if !ok {
		return c, "", false
	}
	arguments = strings.TrimSpace(text[len("/")+len(name):])
	if name == "exit" {
		name = "quit"
	}
	for _, c := range commands() {
		if c.name == name {
			return c, arguments, true
		}
	}
	return c, "", false
}

// noSession says what to do without a session.
const noSession = "no session is open: /resume opens one, /clear begins a new one"

// call runs a command, or says why it cannot run now.
func (p *program) call(c command, arguments string) {
	needs := c.name != "help" && c.name != "quit" && c.name != "resume" && c.name != "clear"
	switch {
	case p.task != nil && !c.anytime:
		p.warn(fmt.Sprintf("/%s waits until nothing runs; Ctrl-C interrupts what does", c.name))
	case p.current == nil && needs:
		p.warn(noSession)
	default:
		c.run(p, arguments)
	}
}

// help lists the commands and the keys.
func (p *program) help(string) {
	var b strings.Builder
	for _, c := range commands() {
		b.WriteString(p.Style.Entry(strings.TrimSpace("/"+c.name+" "+c.arguments), c.about))
	}
	if p.current != nil && len(p.current.names) > 0 {
		fmt.Fprintf(&b, "  and %d more: /skills lists them\n", len(p.current.names))
	}
	b.WriteByte('\n')
	for _, keys := range []string{
		"Enter sends; while the agent works, it gets the message before its next step",
		"Alt-Enter, Ctrl-J, or a backslash and Enter begin another line; a long paste is shown folded and sent whole",
		"Tab completes /commands and @files; the arrow keys go through what was typed before, Ctrl-R searches it for " +
			"what is in the input",
		"!COMMAND runs a command here, without a question; the agent sees it and its output with your next message",
		"Ctrl-O shows the whole of the newest output or thought that is shown in part, and once more the one before it",
		"Ctrl-C interrupts, and twice ends the conversation; Ctrl-Z stops it, fg goes on",
	} {
		b.WriteString(p.Style.Entry("", keys))
	}
	p.say(b.String())
}

// chooseModel implements /model.
func (p *program) chooseModel(arguments string) {
	setup := p.current.setup
	provider, model, _ := setup.Model()
	if arguments == "" {
		var b strings.Builder
		for _, m := range setup.Models() {
			mark := " "
			if m.Provider == provider && m.ID == model {
				mark = "*"
			}
			fmt.Fprintf(&b, "%s %s/%s %s\n", mark, render.OneLine(m.Provider), render.OneLine(m.ID),
				p.Style.Faint(strings.Join(m.Efforts, " ")))
		}
		p.say(b.String())
		p.note("others can be named, too; attractor models --provider " + render.OneLine(provider) +
			", in a shell, asks its server")
		return
	}
	to := attractor.Model{ID: arguments}
	for _, m := range setup.Models() {
		if m.Provider+"/"+m.ID == arguments || m.ID == arguments && to.Provider != provider {
			to = m
		}
	}
	if to.Provider == "" {
		to.Provider, to.ID = setup.ModelNamed(arguments)
	}
	p.tell(p.note, func(ctx context.Context) (string, error) {
		err := setup.SetModel(ctx, to.Provider, to.ID)
		provider, model, _ := setup.Model()
		return "the model is " + render.OneLine(provider+"/"+model) + " from the next answer on", err
	})
}

// chooseEffort implements /effort.
func (p *program) chooseEffort(arguments string) {
	setup := p.current.setup
	if arguments == "" {
		_, model, effort := setup.Model()
		p.say(p.Style.Prose(fmt.Sprintf("the effort of %s is %s; it has %s", render.OneLine(model),
			cmp.Or(render.OneLine(effort), "the provider's default"),
			cmp.Or(strings.Join(setup.Efforts(), ", "), "no levels that are known"))))
		return
	}
	p.tell(p.note, func(ctx context.Context) (string, error) {
		err := setup.SetEffort(ctx, arguments)
		_, _, effort := setup.Model()
		return "the effort is " + render.OneLine(effort) + " from the next answer on", err
	})
}

// chooseMode implements /mode.
func (p *program) chooseMode(arguments string) {
	if arguments == "" {
		p.say("the mode is " + string(p.current.setup.Mode()))
		return
	}
	p.setMode(permit.Mode(arguments))
}

// setMode changes the mode.
func (p *program) setMode(m permit.Mode) {
	setup := p.current.setup
	p.tell(p.note, func(ctx context.Context) (string, error) {
		err := setup.SetMode(ctx, m)
		return "the mode is " + string(setup.Mode()), err
	})
}

// nextMode goes to the next mode. Full access has to be asked for by name.
func (p *program) nextMode() {
	if p.current == nil {
		return
	}
	all := slices.DeleteFunc(permit.Modes(), func(m permit.Mode) bool { return m == permit.ModeFull })
	at := slices.Index(all, p.current.setup.Mode())
	p.setMode(all[(at+1)%len(all)])
}

// modeChanged draws the new mode. Anybody may call it.
func (p *program) modeChanged() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// compact implements /compact.
func (p *program) compact(string) {
	session, lines := p.current.session, p.current.lines
	if p.task != nil {
		if !p.task.steers {
			p.warn("nothing can be compacted while the session is " + p.task.what)
			return
		}
		p.tell(p.note, func(ctx context.Context) (string, error) {
			return "the conversation is compacted before the next answer", lines.Compact(ctx)
		})
		return
	}
	p.alone("compacting", session.Compact, func(err error) {
		switch {
		case errors.Is(err, context.Canceled):
			p.note("interrupted; the conversation is compacted with the next message")
		case err != nil:
			p.warn(err.Error())
		}
	})
}

// clear implements /clear.
func (p *program) clear(string) {
	c := p.Config
	c.Resume, c.Fork, c.Turn = "", "", 0
	if p.current != nil {
		provider, model, effort := p.current.setup.Model()
		if o := &p.current.setup.Options; p.current.setup.Resumed || provider != o.Provider ||
			model != cmp.Or(o.Model, o.Profile.Model) {
			c.Unset("provider", "model", "context_window")
			c.Model = provider + "/" + model
		}
		c.Set("effort", "the conversation", effort)
		if c.Worktree == "" { // else it is made from the directory of the first session once more
			c.Dir = p.current.setup.Machine.WorkDir()
		}
		c.EnvCommand = p.current.setup.EnvCommand()
		c.Mode = p.current.setup.Mode()
	}
	p.change(c)
}

// another returns the configuration for a session that exists. It keeps its own directory,
// provider, model and effort. A mode that the person has left does not come back.
func (p *program) another() attractor.Config {
	if p.current != nil && p.Config.Mode != "" && p.current.setup.Mode() != p.Config.Mode {
		p.Config.Mode = ""
		p.Config.Set("mode", "the conversation", "") // nor one of a file, which the flag had hidden
	}
	c := p.Config
	c.Resume, c.Fork, c.Turn, c.Dir, c.EnvCommand, c.Worktree = "", "", 0, "", nil, ""
	c.Model = ""
	c.Unset("provider", "model", "effort", "fallback", "context_window")
	return c
}

// mostListed limits the sessions that /resume lists.
const mostListed = 15

// resume implements /resume.
func (p *program) resume(arguments string) {
	if p.Config.Store == nil {
		p.warn("sessions are not kept (--no-journal)")
		return
	}
	c := p.another()
	if arguments == "" {
		p.tell(p.say, p.list)
		return
	}
	p.find(arguments, func(id string) {
		if p.current != nil && id == p.current.session.ID() {
			p.note("this session is open already")
			return
		}
		c.Resume = id
		p.change(c)
	})
}

// find looks for a session by the beginning of its id, before the open one is closed.
func (p *program) find(prefix string, then func(id string)) {
	p.start(&task{what: "looking for the session"}, func(ctx context.Context) func() {
		id, err := sessions.Find(ctx, p.Config.Store, prefix)
		return func() {
			if err != nil {
				p.warn(err.Error() + "; /resume lists the sessions of this directory")
				return
			}
			then(id)
		}
	})
}

// list returns the sessions of the directory.
func (p *program) list(ctx context.Context) (string, error) {
	all, err := sessions.List(ctx, p.Config.Store, 0)
	if err != nil {
		return "", err
	}
	here := p.Config.Dir
	if len(p.Config.EnvCommand) > 0 { // it is a directory of another machine
		here = ""
	}
	dir, _ := filepath.Abs(cmp.Or(here, "."))
	var b strings.Builder
	n := 0
	for _, s := range all {
		if s.Home() != dir || s.Parent != "" || s.Task == "" || n == mostListed {
			continue
		}
		n++
		origin, running := "", ""
		if s.ForkOf != "" {
			origin = "(fork of " + render.OneLine(sessions.ShortID(s.ForkOf)) + ") "
		}
		if s.Locked {
			running = " (open)"
		}
		fmt.Fprintf(&b, "  %s  %s  %s%s%s\n", render.OneLine(sessions.ShortID(s.ID)),
			s.Modified.Local().Format("2006-01-02 15:04"), origin, render.Shorten(s.Task, 60), running)
	}
	if n == 0 {
		return "there are no other sessions of this directory", nil
	}
	return b.String() + "  /resume ID goes on with one of them", nil
}

// fork implements /fork.
func (p *program) fork(arguments string) {
	if p.Config.Store == nil {
		p.warn("sessions are not kept (--no-journal)")
		return
	}
	prefix, number, hasTurn := strings.Cut(arguments, "@")
	turn := 0
	if hasTurn {
		var err error
		if turn, err = strconv.Atoi(number); err != nil || turn < 1 {
			p.warn("/fork needs the number of a turn after @, from 1; attractor sessions show lists them")
			return
		}
	}
	c := p.another()
	c.Turn = turn
	if c.Worktree = p.Config.Worktree; c.Worktree != "" { // the session's own may be gone when it has ended
		c.Dir = p.Config.Dir
	}
	if prefix == "" {
		if !p.current.used {
			p.warn("this session has nothing to fork yet")
			return
		}
		prefix = p.current.session.ID()
	}
	p.find(prefix, func(id string) {
		c.Fork = id
		p.change(c)
	})
}

// mcp implements /mcp.
func (p *program) mcp(string) {
	if p.current.setup.Servers == nil {
		p.say(p.Style.Prose("no MCP servers are in use; in a shell, attractor mcp list says why others are not, and " +
			"attractor mcp --help how to add some"))
		return
	}
	var b strings.Builder
	for _, s := range p.current.setup.Servers.Status() {
		fmt.Fprintf(&b, "  %s: %s, %s", render.OneLine(s.Server.Name), s.State, render.Count(len(s.Tools), "tool"))
		if s.Err != nil {
			b.WriteString(": " + render.Shorten(render.Error(s.Err.Error()), 200))
		}
		b.WriteByte('\n')
	}
	p.say(b.String())
}

// skills implements /skills.
func (p *program) skills(string) {
	if len(p.current.names) == 0 {
		p.say(p.Style.Prose("there are no skills and no commands; docs/extending.md says how to write some"))
		return
	}
	var b strings.Builder
	for _, c := range p.current.names {
		b.WriteString(p.Style.Entry("/"+render.OneLine(c.Name)+" "+render.Shorten(c.Hint, 20),
			render.Shorten(c.Description, 100)))
	}
	p.say(b.String())
}
