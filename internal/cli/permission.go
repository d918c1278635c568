package cli

import (
	"cmp"
	"context"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// person returns the person on the terminal, or nil if nobody is asked: the flags leave no
// questions, or a client answers them. With view there need not be a terminal.
func (f *sessionFlags) person(t terminal, config *attractor.Config, client, view bool) (*console, error) {
	mode := cmp.Or(config.Mode, f.mode())
	if mode == permit.ModeFull || mode == permit.ModeReadOnly || client {
		return nil, nil
	}
	c := openConsole(t)
	switch {
	case c != nil || view:
	case mode == permit.ModeAsk:
		return nil, fail(exitUsage, "%s needs a terminal to ask on", f.askedBy())
	case mode == "" && len(f.settings.List("rules"))+len(f.settings.List("allow_tool"))+len(config.Allow)+
		len(config.RuleFiles) == 0:
		return nil, fail(exitUsage,
			"there is no terminal to ask for permission; pass --yes to allow what the rules ask about, --read-only "+
				"to refuse what changes or runs anything, --mode accept-edits or --mode plan for something between, "+
				"or --rules or --allow-tool to refuse what they do not allow")
	}
	return c, nil
}

// askedBy names what has chosen that a person is asked.
func (f *sessionFlags) askedBy() string {
	if v := f.settings.Get("mode"); v != nil && v.Origin.Name != "--ask" {
		return v.Origin.String() + ": the mode ask"
	}
	return "--ask"
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
