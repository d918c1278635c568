package attractor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/webfetch"
)

// WithWeb returns a profile with the tool that reads public web pages, under the name that the
// profile's dialect has for it.
func WithWeb(p profile.Profile) (profile.Profile, error) {
	t, err := webfetch.New(webfetch.Options{})
	if err != nil {
		return p, err
	}
	if p.Name == "anthropic" && p.Dialect == profiles.Native {
		t = anthropic.NativeWebFetch(t)
	}
	p.Tools = append(slices.Clip(p.Tools), t)
	return p, nil
}

// WithWebSearch returns a profile with the search of the web that the vendor of the model runs. The
// session runs nothing for it, so it asks nobody and no rule is about what is searched for. Models
// without one are not offered it.
func WithWebSearch(p profile.Profile) profile.Profile {
	t := tool.New(llm.ToolDefinition{Name: llm.HostedWebSearch, Hosted: llm.HostedWebSearch,
		Description: "Searches the web. The vendor of the model runs it.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)},
		func(context.Context, *tool.Call, struct{ Query string }) (tool.Result, error) {
			return tool.Result{}, errors.New("this model has no search of the web; go on without, or say what you " +
				"would look up")
		})
	t.Access = func(string) (tool.Access, error) { return tool.Access{Effect: tool.ReadOnly}, nil }
	p.Tools = append(slices.Clip(p.Tools), t)
	return p
}

// openWebSearch offers the search of the web. It refuses one beside a sandbox without the network.
func (s *Setup) openWebSearch(c *config) error {
	if !c.WebSearch {
		return nil
	}
	if err := s.searchless(s.chosen); err != nil {
		return fail(ErrConfig, "%w; leave the search out (--web-search), or choose another model", err)
	}
	if level := cmp.Or(c.Sandbox.Level, sandbox.Off); !c.elsewhere() && level != sandbox.Off && !c.Sandbox.Network {
		return fail(ErrConfig, "a search of the web can reach any host, and the sandbox (level %s) has not the "+
			"whole network: give it that (--network), or leave the search out (--web-search)", level)
	}
	s.Options.Profile = WithWebSearch(s.Options.Profile)
	return nil
}

// judgeWebSearch removes the search of the web unless the rules allow it. A rule that asks does
// not, because the vendor runs the search and asks nobody.
func (s *Setup) judgeWebSearch(ctx context.Context, c *config) error {
	if !c.WebSearch || s.isDenied(llm.HostedWebSearch) { // which withoutDenied takes out
		return nil
	}
	d := s.Rules.Decide(ctx, s.Options.Env, tool.Request{Call: llm.ToolCall{Name: llm.HostedWebSearch, Args: "{}"},
		Access: tool.Access{Effect: tool.ReadOnly}})
	switch d.Verdict {
	case tool.Allow:
		return nil
	case tool.Ask:
		s.warnings.add("web_search", fmt.Sprintf("The model cannot search the web: %s, and its vendor, who runs "+
			"the search, asks nobody. Without the rule it can", d.Reason))
	default:
		s.warnings.add("web_search", "The model cannot search the web: "+d.Reason)
	}
	o := &s.Options
	o.Profile.Tools = slices.DeleteFunc(slices.Clone(o.Profile.Tools), func(t tool.Tool) bool { return t.Hosted != "" })
	return nil
}

// searchless returns why a model that was chosen cannot search the web. A model of which nothing is
// known can if its provider hosts a search, or is one of the program's own.
func (s *Setup) searchless(c chosen) error {
	facts, known := lookUp(s.Options.Client, c.provider, c.model)
	kind, err := s.table().Find(c.provider)
	switch {
	case err == nil && !kind.WebSearch:
		return fmt.Errorf("no search of the web that %s runs for its models is known; there is one of %s", c.provider,
			searchers())
	case known && facts.WebSearch == 0:
		return fmt.Errorf("the model %s of %s has no search of the web that works beside other tools", c.model,
			c.provider)
	case c.provider == "openai" && c.effort == "minimal":
		return fmt.Errorf("the model %s has no search of the web with the effort minimal", c.model)
	}
	return nil
}

// searchers names the providers that run searches of the web.
func searchers() string {
	var names []string
	for _, k := range providers.Kinds() {
		if k.WebSearch {
			names = append(names, k.Name)
		}
	}
	return shortList(names)
}

// keepWebSearch adds the search of the web to a resumed session, or removes it, as this process was
// told: the vendor runs whatever is offered.
func (s *Setup) keepWebSearch(ctx context.Context) error {
	hosted := func(d llm.ToolDefinition) bool { return d.Hosted != "" }
	at := slices.IndexFunc(s.Options.Profile.Tools, func(t tool.Tool) bool { return hosted(t.ToolDefinition) })
	has := slices.ContainsFunc(s.session.Definitions(), hosted)
	switch {
	case at >= 0 && !has:
		return s.session.AddTools(ctx, s.Options.Profile.Tools[at])
	case at < 0 && has:
		return s.session.RemoveTools(ctx, llm.HostedWebSearch)
	}
	return nil
}

// warnOfSearch says that a model which was chosen later cannot search the web.
func (s *Setup) warnOfSearch() {
	offered := slices.ContainsFunc(s.Options.Profile.Tools, func(t tool.Tool) bool { return t.Hosted != "" })
	if err := s.searchless(s.chosen); offered && err != nil {
		s.warnings.add("web_search", err.Error()+"; the session goes on without")
	}
}
