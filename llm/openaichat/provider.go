package openaichat

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const defaultName = "openai-compatible"

// Options configure a [Provider]. Only BaseURL is required. The switches are for servers that differ in what they take; most need
// none of them.
type Options struct {
	// Name is what requests are routed by and what reasoning is tied to; empty means openai-compatible. A program that talks to
	// several servers names each.
	Name string
	// APIKey is sent as a bearer token. Local servers need none.
	APIKey string
	// BaseURL is where the API is, with the version: calls go to {BaseURL}/chat/completions. A query in it is kept.
	BaseURL string
	// HTTPClient sends the calls; nil means one with Go's defaults. Its redirect policy is ignored: redirects are errors.
	HTTPClient *http.Client
	// Header is sent with every call, on top of what the API demands.
	Header http.Header
	// ConnectTimeout bounds making the connection (default 10 s), IdleTimeout the time without a data event while the answer comes in
	// (default 300 s), and FirstByteTimeout the time to the answer's headers (default IdleTimeout). Negative values mean no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration

	// DeveloperRole sends developer messages under their own name, which few servers know; otherwise they are system messages.
	DeveloperRole bool
	// MaxCompletionTokens limits the output by max_completion_tokens instead of max_tokens, which most servers know.
	MaxCompletionTokens bool
	// NoStreamOptions leaves stream_options out, for servers that refuse it. Those that then report no usage leave it at 0.
	NoStreamOptions bool
	// PromptCacheKey sends Request.CacheKey as prompt_cache_key, which many servers refuse.
	PromptCacheKey bool
	// NoReasoning keeps reasoning out of what is sent back, for servers that refuse the very member they answered with.
	NoReasoning bool
}

// Provider calls models through Chat Completions. It is safe for concurrent use; make one with [New].
//
// Request.Options has a JSON object for it under the provider's name: its members are parameters of the request and are sent as
// they are, in place of the provider's own of that name. The members model, messages, tools and stream are an
// [llm.ErrConfiguration]: the request says them itself.
//
// Without Request.MaxTokens the server's own limit holds, also for known models: many servers count the limit against the window
// and refuse what exceeds it.
type Provider struct {
	o       Options
	url     string
	header  http.Header
	secrets []string
	newID   func() string // nil means random ids
}

// New makes a provider. A missing base URL, or one that is none, is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	if o.Name == "" {
		o.Name = defaultName
	}
	if o.BaseURL == "" {
		return nil, api.ConfigError(o.Name, "no base URL: set Options.BaseURL to where the API is, such as http://localhost:11434/v1")
	}
	u, err := api.BaseURL(o.Name, o.APIKey, o.BaseURL)
	if err != nil {
		return nil, err
	}
	header := api.Header(nil)
	p := &Provider{o: o, url: u.JoinPath("chat", "completions").String(), header: header}
	if o.APIKey != "" {
		header["Authorization"] = []string{"Bearer " + o.APIKey}
		p.secrets = []string{o.APIKey}
	}
	api.SetHeader(header, o.Header)
	return p, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.o.Name }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return api.Stream(ctx, p.o.Name, func() (*api.Call, error) { return p.call(req) }, func(r *api.Response) api.Decoder {
		d := newDecoder(p.o.Name, req.Model, r.RateLimit, req.Tools)
		if p.newID != nil {
			d.calls.newID = p.newID
		}
		return d
	})
}

// call encodes a request.
func (p *Provider) call(req *llm.Request) (*api.Call, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	return &api.Call{Provider: p.o.Name, URL: p.url, Header: p.header, Body: body, Client: p.o.HTTPClient, Secrets: p.secrets,
		Timeouts: api.Timeouts{Connect: p.o.ConnectTimeout, FirstByte: p.o.FirstByteTimeout, Idle: p.o.IdleTimeout},
		Decode:   decodeError}, nil
}
