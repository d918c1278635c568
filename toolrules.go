package attractor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// toolRules returns the permission rules of the configuration that are in no file. They count as
// the user's.
func (c *config) toolRules() (sources []rules.Source) {
	rulesOf := func(list string, texts []string) {
		for _, text := range texts {
			sources = append(sources, load.OneRule(cmp.Or(c.ruleFrom[list+" "+text], theProgram), list, text))
		}
	}
	rulesOf("allow", c.Allow)
	rulesOf("deny", c.Deny)
	return sources
}

// oneByOne says how several rules are given.
const oneByOne = "the flag is repeated for each rule, and in a file of settings each is an element of the list"

// checkToolRules returns an error for a rule that is none.
func (c *config) checkToolRules() error {
	given := slices.Concat(c.Allow, c.Deny)
	if i := slices.IndexFunc(given, rules.IsList); i >= 0 {
		return fail(ErrConfig, "%s looks like a list of rules: "+oneByOne+
			"; a single rule that looks like one belongs in a file of rules (--rules)", texts.Shown(given[i]))
	}
	if _, err := rules.Load(rules.Dirs{Work: "/", Home: "/"}, c.toolRules()...); err != nil {
		if strings.Contains(strings.Join(given, ""), ",") {
			return fail(ErrConfig, "%w; "+oneByOne, err)
		}
		return fail(ErrConfig, "%w", err)
	}
	return nil
}

// deniedTools returns the rules that deny a tool as a whole: those without a pattern.
func (c *config) deniedTools() (denied []string) {
	for _, rule := range c.Deny {
		if rule = strings.TrimSpace(rule); !strings.HasSuffix(rule, ")") {
			denied = append(denied, rule)
		}
	}
	return denied
}

// isDenied reports whether the model is not offered a tool.
func (s *Setup) isDenied(name string) bool {
	return slices.ContainsFunc(s.denied, func(rule string) bool { return rules.Covers(rule, name) })
}

// withoutDenied takes the tools that are denied as a whole out of the session's: the model need not
// try what is never permitted. Subagents do not get them either.
func (s *Setup) withoutDenied() {
	if len(s.denied) == 0 {
		return
	}
	o := &s.Options
	for _, rule := range s.denied {
		is := func(t tool.Tool) bool { return rules.Covers(rule, t.Name) }
		if !strings.HasPrefix(rule, "mcp__") && !slices.ContainsFunc(o.Profile.Tools, is) &&
			!slices.ContainsFunc(o.Tools, is) {
			s.warnings.add("deny_tool", fmt.Sprintf("The rule %s denies nothing, because the session has no such tool",
				texts.Shown(rule)))
		}
	}
	denied := func(t tool.Tool) bool { return s.isDenied(t.Name) }
	without := func(tools []tool.Tool) []tool.Tool { return slices.DeleteFunc(slices.Clone(tools), denied) }
	o.Profile.Tools, o.Tools = without(o.Profile.Tools), without(o.Tools)
	if o.Subagents != nil {
		for i := range o.Subagents.Definitions {
			d := &o.Subagents.Definitions[i]
			d.ExtraTools = without(d.ExtraTools)
		}
	}
}

// offering returns a session that does not get the servers' tools that are denied.
func (s *Setup) offering(session mcp.Session) mcp.Session {
	if len(s.denied) == 0 {
		return session
	}
	return deniedServers{session, s}
}

// deniedServers is a session that lacks some tools of servers.
type deniedServers struct {
	mcp.Session
	setup *Setup
}

// ReplaceTools implements [mcp.Session].
func (d deniedServers) ReplaceTools(ctx context.Context, gone []string, tools ...tool.Tool) error {
	gone = slices.DeleteFunc(slices.Clone(gone), d.setup.isDenied)
	tools = slices.DeleteFunc(slices.Clone(tools), func(t tool.Tool) bool { return d.setup.isDenied(t.Name) })
	if len(gone) == 0 && len(tools) == 0 {
		return nil
	}
	return d.Session.ReplaceTools(ctx, gone, tools...)
}
