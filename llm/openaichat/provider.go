package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const defaultName = "openai-compatible"

// Options configure a [Provider]. Only BaseURL is required. The switches are for servers that
// accept less or more than others; most servers need none of them.
type Options struct {
	// Name is the name by which requests are routed and reasoning is recognized; empty means
	// openai-compatible. A program that uses several servers names each of them.
	Name string
	// APIKey is sent as a bearer token. Local servers need none.
	APIKey string
	// BaseURL is the API's URL with the version: requests go to {BaseURL}/chat/completions. Its
	// query is kept.
	BaseURL string
	// HTTPClient sends the requests. Nil means one with Go's defaults. Redirects are errors,
	// whatever the client's policy.
	HTTPClient *http.Client
	// Header is sent with every request, in addition to the headers that the API requires.
	Header http.Header
	// Body is a JSON object whose members are sent with every request, as those of Request.Options,
	// which take precedence.
	Body json.RawMessage
	// ConnectTimeout limits making the connection (default 10 s), IdleTimeout the time without a
	// data event while a response comes in (default 300 s), and FirstByteTimeout the time to the
	// response's headers (default IdleTimeout). A negative value means no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration

	// DeveloperRole sends developer messages with the role developer, which few servers know,
	// instead of system.
	DeveloperRole bool
	// PromptCacheKey sends Request.CacheKey as prompt_cache_key, which many servers refuse.
	PromptCacheKey bool
	// NoReasoning sends no reasoning back, for servers that refuse even the member that they sent
	// it in.
	NoReasoning bool
	// Quirks are demands of the server that every request meets, beside those of a request.
	Quirks []llm.Quirk
	// CallIDLength is the exact length of the ids of calls, which are then letters and digits. Zero
	// means any ids of at most 64 bytes.
	CallIDLength int
	// AffinityHeader is the header in which Request.CacheKey is sent, for servers that lead the
	// requests of a conversation to the machine that has its cache.
	AffinityHeader string
}

// Provider implements [llm.Provider] for Chat Completions. It is safe for concurrent use; create
// one with [New].
//
// Request.Options may have a JSON object for it under the provider's name. Its members are sent as
// parameters of the request and replace the provider's own parameters of these names. The members
// model, messages, tools and stream are an [llm.ErrConfiguration], because the request sets them.
//
// Without Request.MaxTokens the server's own limit applies, even for known models: many servers
// count the limit as part of the window and refuse requests that exceed it.
type Provider struct {
	o     Options
	call  api.Call
	newID func() string // nil means random ids
}

// New returns a provider. A missing or invalid base URL is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	o.Name = cmp.Or(o.Name, defaultName)
	if o.BaseURL == "" {
		return nil, api.ConfigError(o.Name,
			"no base URL: set Options.BaseURL to where the API is, such as http://localhost:11434/v1")
	}
	call, u, err := api.Config{Name: o.Name, Key: o.APIKey, BaseURL: o.BaseURL, Client: o.HTTPClient,
		Timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout},
		Own:      map[string]string{"Authorization": api.Bearer(o.APIKey)}, Header: o.Header}.Call()
	if err != nil {
		return nil, err
	}
	if _, err := parseOptions(o.Body, nil); err != nil {
		return nil, err
	}
	call.URL = u.JoinPath("chat", "completions").String()
	return &Provider{o: o, call: call}, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.o.Name }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	call := p.call
	if p.o.AffinityHeader != "" && req.CacheKey != "" {
		call.Header = maps.Clone(call.Header)
		call.Header.Set(p.o.AffinityHeader, req.CacheKey)
	}
	x := &api.Exchange{Call: call, Request: req, Encode: p.encode,
		Decoder: func(r *api.Response) api.Decoder {
			d := newDecoder(p.o.Name, req.Model, r.RateLimit, req.Tools)
			if p.newID != nil {
				d.calls.newID = p.newID
			}
			return d
		}}
	return x.Stream(ctx)
}
