package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/sessions"
)

// enterShown acts on a line that the person has sent: a command of the conversation or of the
// shell, or a message to the model. Only a typed line can be a command of the shell or change the
// mode: one from the program's command line, or from a paste, may be a text of others. It returns
// false if the line has to stay in the input.
func (p *program) enterShown(text, shown string, typed bool) bool {
	if p.leaving {
		return false
	}
	if c, arguments, is := ownCommand(text); is {
		if c.name == "mode" && arguments != "" && !typed {
			p.hint = "a mode says what the agent may do, so it has to be typed, and this was not"
			return false
		}
		p.remember(text)
		p.echo(shown, "")
		p.call(c, arguments)
		return true
	}
	if command, is := typedCommand(text); is && typed {
		return p.runTyped(command, text, shown)
	}
	switch {
	case p.task != nil && p.task.starts && p.waiting == "": // it is sent when the session has begun
		p.waiting = text
		p.echo(shown, "")
		return true
	case p.current == nil || p.task != nil && !p.task.steers:
		p.hint = noSession
		if p.task != nil {
			p.hint = "not yet: " + p.task.what
		}
		return false
	case p.unknown(text):
		return false
	case p.task != nil && p.callsCommand(text):
		p.hint = "a command waits for the end of the turn; Ctrl-C interrupts that"
		return false
	}
	p.remember(text)
	p.echo(shown, "")
	if p.task != nil {
		p.steer(text)
		return true
	}
	p.submit(text)
	return true
}

// echo shows what the person has sent, and from where, unless that is empty.
func (p *program) echo(shown, from string) {
	if p.echoed {
		return
	}
	lines := strings.ReplaceAll(strings.TrimSpace(sanitize.Text(shown)), "\n", "\n  ")
	p.say("\n" + p.Style.Bold("> "+lines) + p.Style.Faint(from))
}

// remember keeps a line, without secrets, for the arrow keys.
func (p *program) remember(text string) {
	if p.current == nil { // nobody knows the secrets yet
		return
	}
	text = p.current.setup.Secrets.String(text)
	if err := p.history.Add(text); err != nil {
		p.warn("what was typed cannot be kept: " + err.Error())
		p.history, _ = tty.OpenHistory("") // which reads no file
	}
}

// submit gives the session a message and works on it.
func (p *program) submit(text string) {
	c, images := p.current, p.Images
	p.Images = nil
	p.work(c, func(ctx context.Context) error { return c.lines.Send(ctx, text, false, images...) })
}

// goOn works on the input that the end of another program has interrupted.
func (p *program) goOn() {
	p.note("The last message is not done yet. The agent goes on; Ctrl-C interrupts it.")
	c := p.current
	p.work(c, func(context.Context) error { return c.lines.ContinueLast() })
}

// work has a session work on a message that begin gives it.
func (p *program) work(c *conversation, begin func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(p.ctx)
	p.works(c)
	t := p.task
	t.stop = func() { cancel(); c.lines.Interrupt() }
	go func() {
		defer cancel()
		err := begin(ctx)
		p.post(func() {
			switch tell := func() { p.submitted(c, t, nil, err) }; {
			case err != nil && p.task == t:
				p.end(tell)
			case err != nil: // an input of the page has ended meanwhile, and the task with it
				tell()
			}
		})
	}()
}

// works notes that a session works on a message.
func (p *program) works(c *conversation) {
	c.used = true
	p.task, p.dirty = &task{what: "working", steers: true, began: time.Now(), stop: c.lines.Interrupt}, true
}

// checked runs the checks for the end of a turn and returns a function that shows their report.
func (p *program) checked(c *conversation, result *agent.Result, failed error) (tell func()) {
	if failed != nil {
		return func() {}
	}
	report, err := c.setup.EndChecks(context.WithoutCancel(p.ctx), result)
	return func() {
		if report != nil {
			p.note("checks: " + report.String())
		}
		if err != nil {
			p.warn(err.Error())
		}
	}
}

// submitted goes on after a turn.
func (p *program) submitted(c *conversation, t *task, result *agent.Result, err error) {
	if time.Since(t.began) > longTurn && !p.leaving {
		p.front.bell()
	}
	switch {
	case err == nil:
		p.unfinished(result)
	case errors.Is(err, context.Canceled) && !errors.Is(err, agent.ErrClosed):
		if result == nil || result.Reason == "" { // nothing has begun that an event could tell of
			p.note("interrupted")
		}
	default:
		p.warn(err.Error())
		p.failedTurn(c, err)
	}
	// a message that came when the turn had just ended
	if c.steered > 0 && err == nil && result.Reason != agent.ReasonInterrupted && !p.leaving {
		c.steered = 0
		p.submit("Go on with my last message.")
	}
}

// failedTurn says what can be done about an error.
func (p *program) failedTurn(c *conversation, err error) {
	e, _ := errors.AsType[*llm.Error](err)
	hint := strings.TrimSpace(p.Hint(err)) + "\n"
	switch {
	case e != nil && e.Status > 0 && (e.Kind == llm.ErrAuthentication || e.Kind == llm.ErrAccessDenied):
		p.note(strings.TrimSpace(hint + "To choose another model: /model"))
	case c.session.Status() == agent.StatusClosed:
		p.note("The session has ended. /resume " + sessions.ShortID(c.session.ID()) +
			" opens it again, /clear begins a new one.")
	case e != nil:
		p.note(strings.TrimSpace(hint + "What you write next goes on from here."))
	}
}

// unfinished says why a turn ended before its task was done.
func (p *program) unfinished(r *agent.Result) {
	switch {
	case r == nil:
	case r.Reason.Limit():
		p.warn(fmt.Sprintf("stopped at the limit %s; what you write next goes on from here", r.Reason))
	case r.Reason == agent.ReasonRefused:
		p.warn("the model or its provider refused to answer")
	case r.Reason == agent.ReasonIncomplete:
		p.warn("the last answer is not complete; what you write next goes on from here")
	}
}

// steer gives the model a message in the middle of its work.
func (p *program) steer(text string) {
	c := p.current
	c.steered++
	p.hint = "the agent gets this before its next step"
	p.background(func(ctx context.Context) error { return c.session.Steer(ctx, text) }, func(err error) {
		if err != nil {
			c.steered--
			p.warn("the message did not reach the agent: " + err.Error())
		}
	})
}

// background calls do on a goroutine of its own, beside the task, and passes its error to then on
// the loop.
func (p *program) background(do func(ctx context.Context) error, then func(error)) {
	go func() {
		err := do(p.ctx)
		p.post(func() { then(err) })
	}()
}

// tell calls do on a goroutine of its own, beside the task, and shows the text that it returns, or
// its error.
func (p *program) tell(show func(text string), do func(ctx context.Context) (string, error)) {
	text := ""
	p.background(func(ctx context.Context) (err error) {
		text, err = do(ctx)
		return err
	}, func(err error) {
		if err != nil {
			p.warn(err.Error())
			return
		}
		show(text)
	})
}

// callsCommand reports whether a line uses a command of files, a skill or a prompt of a server.
func (p *program) callsCommand(text string) bool {
	name, ok := commandName(text)
	return ok && (strings.HasPrefix(name, "mcp__") ||
		slices.ContainsFunc(p.current.names, func(c attractor.Command) bool { return c.Name == name }))
}

// otherCommands returns, by the names of commands of Claude Code and codex that do not exist here,
// what takes their place.
func otherCommands() map[string]string {
	shell := func(command string) string { return command + " in a shell" }
	return map[string]string{
		"add-dir": shell("attractor --continue --add-dir DIRECTORY"), "agents": shell("attractor agents"),
		"approvals": "/permissions", "checkpoint": "/undo or /fork", "config": shell("attractor config"),
		"continue": "/resume", "doctor": shell("attractor doctor"), "hooks": shell("attractor hooks"),
		"login": "a key in a variable, such as ANTHROPIC_API_KEY", "memory": shell("attractor prompt --sources"),
		"new": "/clear", "plan": "/mode plan", "rewind": "/undo or /fork", "sessions": "/resume",
		"settings": shell("attractor config"), "usage": "/cost",
	}
}

// unknown reports whether a line names a command that does not exist, and sets a hint about it. A
// line that begins with a path names none.
func (p *program) unknown(text string) bool {
	name, ok := commandName(text)
	if !ok || strings.Contains(name, "/") || p.callsCommand(text) {
		return false
	}
	words := len(strings.Fields(text))
	near, alone := nearest("/"+name, p.commandNames()), words == 1
	here, other := otherCommands()[name]
	switch {
	case other && words <= 2: // more are a text
		p.hint = fmt.Sprintf("there is no /%s; here it is %s. A space in front sends it as text", name, here)
	case len(near) > 0:
		p.hint = fmt.Sprintf("there is no /%s; did you mean %s? A space in front sends it as text",
			render.Shorten(name, 30), strings.Join(near, " or "))
	case alone:
		p.hint = fmt.Sprintf("there is no /%s; /help lists the commands. A space in front sends it as text",
			render.Shorten(name, 30))
	default:
		return false
	}
	return true
}

// nearest returns the commands that a word was probably meant as, each with its slash.
func nearest(name string, known []string) (near []string) {
	const far = 3
	best := far
	for _, candidate := range known {
		d := texts.Distance([]rune(texts.Folded(name)), []rune(texts.Folded(candidate)))
		if strings.HasPrefix(candidate, name) {
			d = 1
		}
		if d > best || d >= far || d >= len(name)-len("/") {
			continue
		}
		if d < best {
			best, near = d, nil
		}
		near = append(near, candidate)
	}
	return near[:min(len(near), far)]
}

// commandName returns the name of the command with which a line begins.
func commandName(text string) (name string, ok bool) {
	name, ok = strings.CutPrefix(text, "/")
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name = name[:i]
	}
	return name, ok && name != ""
}
