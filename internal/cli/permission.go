package cli

import (
	"cmp"
	"context"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// permission holds the person who is asked about tool calls.
type permission struct {
	*console // nil if nobody is asked
}

// permission returns the person on the terminal, unless the flags leave no questions or a client
// answers them. With view there need not be a terminal.
func (f *sessionFlags) permission(t terminal, config *attractor.Config, client, view bool) (*permission, error) {
	mode := cmp.Or(config.Mode, f.mode())
	if mode == permit.ModeFull || mode == permit.ModeReadOnly || client {
		return &permission{}, nil
	}
	p := &permission{openConsole(t)}
	switch {
	case p.console != nil || view:
	case mode == permit.ModeAsk:
		return nil, fail(exitUsage, "%s needs a terminal to ask on", f.askedBy())
	case mode == "" && len(f.settings.List("rules"))+len(f.settings.List("allow_tool"))+len(config.Allow)+len(config.RuleFiles) == 0:
		return nil, fail(exitUsage,
			"there is no terminal to ask for permission; pass --yes to allow what the rules ask about, --read-only to refuse what changes "+
				"or runs anything, --mode accept-edits or --mode plan for something between, or --rules or --allow-tool to refuse what they do not allow")
	}
	return p, nil
}

// askedBy names what has chosen that a person is asked.
func (f *sessionFlags) askedBy() string {
	if v := f.settings.Get("mode"); v != nil && v.Origin.Name != "--ask" {
		return v.Origin.String() + ": the mode ask"
	}
	return "--ask"
}

// asker returns the function that asks about tool calls, or nil if nobody is asked.
func (p *permission) asker() permit.Asker {
	if p.console == nil {
		return nil
	}
	return p.console.approve
}

// questions returns the handler of the model's questions, or nil if no person can answer.
func (p *permission) questions() *agent.Questions {
	if p.console == nil {
		return nil
	}
	return &agent.Questions{Answer: p.reply}
}

// approve asks a person about a tool call.
func (c *console) approve(ctx context.Context, q permit.Question) (permit.Answer, error) {
	return render.Approve(ctx, c, keepRules, q)
}

// reply puts a question of the model to a person.
func (c *console) reply(ctx context.Context, q tool.Question) (tool.Answer, error) {
	return render.Reply(ctx, c, q)
}

// keepRules keeps rules that allow for later sessions of the user.
func keepRules(ctx context.Context, project string, rules []string) (string, error) {
	var list []load.KeptRule
	for _, rule := range rules {
		list = append(list, load.KeptRule{Project: project, Verdict: "allow", Rule: rule})
	}
	return load.KeepRules(ctx, os.Getenv, list...)
}

// Close closes the terminal.
func (p *permission) Close() error {
	if p.console == nil {
		return nil
	}
	return p.console.Close()
}
