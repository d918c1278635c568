package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
)

// showContext implements /context.
func (p *program) showContext(string) {
	c := p.current
	tools, window := c.session.Definitions(), c.session.Policy().Window
	p.read("what fills the window", func(ctx context.Context, r journal.Reader) (string, error) {
		state, err := agent.Load(ctx, r)
		if err != nil {
			return "", err
		}
		if len(state.Turns) == 0 {
			state.Header.System = cmp.Or(state.Header.System, c.setup.Options.System)
		}
		return contextText(p.Style, state, tools, window), nil
	})
}

// part is a part of the window.
type part struct {
	name  string
	chars int
}

// contextText returns what fills the window by part, in tokens. The parts are estimated by their
// characters, and fitted to what the provider has counted for all.
func contextText(style render.Style, state *agent.State, tools []llm.ToolDefinition, window int) string {
	parts := append([]part{{"system prompt", utf8.RuneCountInString(state.Header.System)}}, toolParts(tools)...)
	parts = append(parts, turnParts(state.Turns)...)
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.chars == 0 })
	chars := 0
	for _, p := range parts {
		chars += p.chars
	}
	total := state.Context.Tokens()
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "  %-22s  %s\n", p.name, share(p.chars*total/max(chars, 1), window))
	}
	fmt.Fprintf(&b, "  %-22s  %s\n", "together", share(total, window))
	switch {
	case window > 0:
		fmt.Fprintf(&b, "  %-22s  %s\n", "free", share(max(window-total, 0), window))
	default:
		b.WriteString(style.Faint("  how large the model's window is is not known\n"))
	}
	if state.Context.Counted == 0 {
		b.WriteString(style.Faint("  estimated: the provider has counted nothing yet\n"))
	}
	return b.String()
}

// share returns a number of tokens, and how much of the window that is.
func share(tokens, window int) string {
	text := fmt.Sprintf("%8s", render.Thousands(tokens))
	switch {
	case window > 0 && tokens > 0 && tokens*100 < window:
		text += "   <1%"
	case window > 0:
		text += fmt.Sprintf("  %3d%%", tokens*100/window)
	}
	return text
}

// toolParts returns the sizes of the definitions of tools, those of MCP servers apart.
func toolParts(tools []llm.ToolDefinition) []part {
	own, servers := part{name: "tools"}, part{name: "tools of MCP servers"}
	for i := range tools {
		if strings.HasPrefix(tools[i].Name, "mcp__") {
			servers.chars += tools[i].Size()
		} else {
			own.chars += tools[i].Size()
		}
	}
	return []part{own, servers}
}

// turnParts returns the sizes of the parts of the history.
func turnParts(turns []agent.Turn) []part {
	sizes := map[string]int{}
	for _, t := range turns {
		of := "notes for the model"
		switch {
		case t.Kind == agent.TurnCompaction:
			of = "summary"
		case t.Kind == agent.TurnAssistant:
			of = "answers and calls"
		case t.Kind == agent.TurnToolResults:
			of = "results of calls"
		case t.Origin == agent.OriginUser:
			of = "your messages"
		}
		var context agent.Context
		context.Add(t.Message)
		sizes[of] += context.Chars
	}
	var parts []part
	for _, name := range []string{"summary", "your messages", "answers and calls", "results of calls",
		"notes for the model"} {
		parts = append(parts, part{name, sizes[name]})
	}
	return parts
}
