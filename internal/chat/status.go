package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
)

// showStatus implements /status.
func (p *program) showStatus(string) {
	c := p.current
	spent := render.Tokens(c.session.Usage(), 0)
	if c.config.Store == nil { // nobody knows the money without the records
		p.say(p.Style.Prose(p.statusText(c, spent)))
		return
	}
	style := p.Style
	p.read("what was used", func(ctx context.Context, r journal.Reader) (string, error) {
		state, err := agent.Load(ctx, r)
		if err != nil {
			return "", err
		}
		return style.Prose(p.statusText(c, render.Spent(state.Usage, state.Steps, state.Cost))), nil
	})
}

// statusText returns what a session is and has. It may be called beside the loop.
func (p *program) statusText(c *conversation, spent string) string {
	setup := c.setup
	provider, model, effort := setup.Model()
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-11s  %s\n", name, render.OneLine(value))
		}
	}
	row("session", c.session.ID())
	row("directory", setup.Machine.WorkDir())
	row("machine", strings.Join(setup.EnvCommand(), " "))
	if w := setup.Worktree(); w != nil {
		row("branch", w.Branch)
	}
	row("model", strings.TrimSpace(provider+"/"+model+" "+effort))
	row("mode", string(setup.Mode()))
	row("sandbox", string(setup.SandboxLevel()))
	row("used", spent)
	if c.config.Store == nil {
		row("records", "none are kept (--no-journal)")
	}
	if setup.Servers != nil {
		for _, s := range setup.Servers.Status() {
			row("MCP server", fmt.Sprintf("%s: %s, %s", s.Server.Name, s.State, render.Count(len(s.Tools), "tool")))
		}
	}
	return b.String()
}
