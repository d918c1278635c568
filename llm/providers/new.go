package providers

import (
	"context"
	"iter"
	"net/url"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/gemini"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// unset returns the value of every variable in an empty environment.
func unset(string) string { return "" }

// New returns a provider. A missing key or URL, or an invalid one, is an [llm.ErrConfiguration].
func (k Kind) New(c Config) (llm.Provider, error) {
	if c.BaseURL == "" && k.addressURL == nil {
		if c.APIKey == "" && !k.NeedsURL && !k.keyless() {
			return nil, llm.Errorf(llm.ErrConfiguration, "no API key: set %s in the environment",
				strings.Join(k.KeyVars, " or "))
		}
		if c.BaseURL = k.URL(unset); c.BaseURL == "" {
			return nil, llm.Errorf(llm.ErrConfiguration, "%s has no URL yet: set %s in the environment", k.Name,
				strings.Join(k.urlVariables(), " or "))
		}
	}
	if k.addressURL != nil && !strings.Contains(c.BaseURL, "?") { // a query stays as it is
		c.BaseURL = k.addressURL(c.BaseURL)
	}
	var err error
	if c.Header, err = k.headerOf(c); err != nil {
		return nil, err
	}
	p, err := k.speak(k.Format, c)
	if err != nil || k.ClaudeMessages == "" {
		return p, err
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, err // cannot happen: the other format has parsed it
	}
	if !strings.HasSuffix(base.Hostname(), k.host) { // a server in between may speak one format only
		return p, nil
	}
	c.BaseURL = base.JoinPath(k.ClaudeMessages).String()
	claude, err := k.speak(Messages, c)
	return &twoFormats{Provider: p, claude: claude}, err
}

// speak returns a provider that speaks a format.
func (k Kind) speak(format Format, c Config) (llm.Provider, error) {
	switch format {
	case Messages:
		o := k.messages
		o.Name, o.APIKey, o.BaseURL, o.HTTPClient, o.IdleTimeout = k.Name, c.APIKey, c.BaseURL, c.HTTPClient,
			c.IdleTimeout
		o.NoWebSearch, o.Header, o.Body = !k.WebSearch, c.Header, k.Body
		if k.bearer || format != k.Format {
			o.APIKey, o.AuthToken = "", c.APIKey
		}
		return orNil(anthropic.New(o))
	case Responses:
		o := k.responses
		o.Name, o.APIKey, o.BaseURL, o.HTTPClient, o.IdleTimeout = k.Name, c.APIKey, c.BaseURL, c.HTTPClient,
			c.IdleTimeout
		o.NoWebSearch, o.Header, o.Body = !k.WebSearch, c.Header, k.Body
		o.Organization, o.Project = c.Organization, c.Project
		return orNil(openai.New(o))
	case GenerateContent:
		o := gemini.Options{Name: k.Name, APIKey: c.APIKey, BaseURL: c.BaseURL, Publisher: k.publisher,
			NoWebSearch: !k.WebSearch, HTTPClient: c.HTTPClient, IdleTimeout: c.IdleTimeout, Header: c.Header,
			Body: k.Body}
		if c.token && k.publisher != "" { // a key of the express mode is in a variable
			o.APIKey, o.AuthToken = "", c.APIKey
		}
		return orNil(gemini.New(o))
	}
	o := k.chat
	o.Name, o.APIKey, o.BaseURL, o.HTTPClient, o.IdleTimeout = k.Name, c.APIKey, c.BaseURL, c.HTTPClient, c.IdleTimeout
	o.Header, o.Body = c.Header, k.Body
	return orNil(openaichat.New(o))
}

// orNil keeps a nil pointer from becoming a non-nil interface.
func orNil[P llm.Provider](p P, err error) (llm.Provider, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// twoFormats is a provider of many vendors' models. It uses the format Messages for those of
// Anthropic.
type twoFormats struct {
	llm.Provider // of the others
	claude       llm.Provider
}

// of returns the provider of a model.
func (p *twoFormats) of(model string) llm.Provider {
	if strings.Contains(model, "anthropic/") || strings.Contains(model, "anthropic.") {
		return p.claude
	}
	return p.Provider
}

// Stream implements [llm.Provider].
func (p *twoFormats) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return p.of(req.Model).Stream(ctx, req)
}

// FormatsWithTools implements [llm.Formatter].
func (p *twoFormats) FormatsWithTools(model string) bool {
	return able(p.of(model), func(f llm.Formatter) bool { return f.FormatsWithTools(model) })
}

// FixesEffort implements [llm.EffortFixer]. A model of which nothing is known may be Anthropic's.
func (p *twoFormats) FixesEffort(facts *llm.Model) bool {
	maker := p.claude
	if facts != nil {
		maker = p.of(facts.ID)
	}
	return able(maker, func(f llm.EffortFixer) bool { return f.FixesEffort(facts) })
}

// RenewsCache implements [llm.CacheRenewer].
func (p *twoFormats) RenewsCache(req *llm.Request) bool {
	return able(p.of(req.Model), func(r llm.CacheRenewer) bool { return r.RenewsCache(req) })
}

// able asks a provider about something that it may implement.
func able[T any](p llm.Provider, ask func(T) bool) bool {
	t, ok := p.(T)
	return ok && ask(t)
}
