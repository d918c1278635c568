package chat

import (
	"context"
	"strings"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// typedCommand returns the command of the shell in a line that begins with an exclamation mark.
func typedCommand(text string) (command string, is bool) {
	command, is = strings.CutPrefix(text, "!")
	return strings.TrimSpace(command), is
}

// runTyped runs a command that the person has written. It returns false if the line has to stay in
// the input.
func (p *program) runTyped(command, text, shown string) bool {
	switch {
	case command == "":
		p.hint = "! needs a command, such as !git status; a space in front sends it as text"
		return false
	case p.task != nil:
		p.hint = "a command of yours waits until nothing runs; Ctrl-C interrupts what does"
		return false
	case p.current == nil:
		p.hint = noSession
		return false
	}
	p.remember(text)
	p.echo(shown, "")
	setup, printed := p.current.setup, false
	var ran *tool.Ran
	p.alone("running "+render.Shorten(sanitize.Text(command), 60), func(ctx context.Context) (err error) {
		ran, err = setup.RunTyped(ctx, command, func(text string) {
			printed = true
			p.post(func() { p.add(text) })
		})
		return err
	}, func(err error) { p.ranTyped(ran, printed, err) })
	return true
}

// ranTyped says how a command of the person has ended.
func (p *program) ranTyped(ran *tool.Ran, printed bool, err error) {
	p.endPartial()
	if err != nil {
		p.warn(err.Error())
	}
	if ran == nil {
		return
	}
	outcome := render.Outcome(ran)
	switch {
	case outcome != "":
		p.say(p.Style.Warning(outcome))
	case !printed:
		p.note("(no output)")
	}
	if err == nil && !p.leaving && !p.armed { // the hint about another Ctrl-C stays
		p.hint = "the agent sees this with your next message"
	}
}
