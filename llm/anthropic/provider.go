package anthropic

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const (
	defaultName    = "anthropic"
	defaultBaseURL = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
)

// Options configure a [Provider]. Only APIKey is required, and with a BaseURL not even that.
type Options struct {
	// Name is the name by which requests are routed and signed content is recognized; empty means anthropic. Other servers that
	// speak this format need another name.
	Name   string
	APIKey string
	// BaseURL is the API's URL without the version: requests go to {BaseURL}/v1/messages. Empty means https://api.anthropic.com. Its
	// query is kept.
	BaseURL string
	// HTTPClient sends the requests. Nil means one that uses http.DefaultTransport if the program has replaced it, and otherwise a copy
	// of it that all providers share. Redirects are errors, whatever the client's policy.
	HTTPClient *http.Client
	// Header is sent with every request, in addition to the headers that the API requires.
	Header http.Header
	// ConnectTimeout limits making the connection (default 10 s), IdleTimeout the time without a data event while a response
	// comes in (default 300 s), and FirstByteTimeout the time to the response's headers (default IdleTimeout). A negative value
	// means no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
}

// Provider implements [llm.Provider] for the Messages API. It is safe for concurrent use; create one with [New].
//
// Request.Options may have a JSON object for it under the provider's name. The member beta_headers lists beta features to enable.
// Every other member is sent as a parameter of the request and replaces the provider's own parameter of that name. The members
// model, system, tools, messages and stream are an [llm.ErrConfiguration], because the request sets them.
//
// Temperature is not sent while the model thinks, and top_p only from 0.95 on, because the API refuses others.
type Provider struct {
	name     string
	url      string
	header   http.Header
	client   *http.Client
	timeouts api.Timeouts
	secrets  []string
	tools    atomic.Pointer[toolset] // the last ones encoded
}

// New returns a provider. A missing key or an invalid base URL is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	name := o.Name
	if name == "" {
		name = defaultName
	}
	if o.APIKey == "" && o.BaseURL == "" {
		return nil, api.ConfigError(name, "no API key: set Options.APIKey, or ANTHROPIC_API_KEY in the environment")
	}
	base := o.BaseURL
	if base == "" {
		base = defaultBaseURL
	}
	u, err := api.BaseURL(name, o.APIKey, base)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1") {
		u = u.JoinPath("v1")
	}
	header := api.Header()
	header["Anthropic-Version"] = []string{apiVersion}
	api.SetHeader(header, o.Header)
	p := &Provider{name: name, url: u.JoinPath("messages").String(), header: header, client: o.HTTPClient,
		timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout}}
	if o.APIKey != "" {
		header["X-Api-Key"] = []string{o.APIKey}
		p.secrets = []string{o.APIKey}
	}
	return p, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.name }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	x := &api.Exchange{Provider: p.name, Request: req, Encode: p.body,
		Prepare: func() (*api.Call, error) { return p.call(req) },
		Decoder: func(r *api.Response) api.Decoder { return newDecoder(p.name, req.Model, r.RateLimit) }}
	return x.Stream(ctx)
}

// body returns the body of a request, in pieces.
func (p *Provider) body(req *llm.Request) ([][]byte, error) {
	o, err := parseOptions(req.Options[p.name])
	if err != nil {
		return nil, err
	}
	return p.encode(req, o)
}

// call encodes a request.
func (p *Provider) call(req *llm.Request) (*api.Call, error) {
	o, err := parseOptions(req.Options[p.name])
	if err != nil {
		return nil, err
	}
	body, err := p.encode(req, o)
	if err != nil {
		return nil, err
	}
	header := p.header
	if len(o.betas) > 0 {
		header = maps.Clone(header)
		header["Anthropic-Beta"] = []string{strings.Join(slices.Concat(header["Anthropic-Beta"], o.betas), ",")}
	}
	return &api.Call{Provider: p.name, URL: p.url, Header: header, Body: body, Client: p.client, Timeouts: p.timeouts,
		Secrets: p.secrets, Decode: decodeError}, nil
}

// FixesEffort implements [llm.EffortFixer]: the API does not allow a change of thinking while the results of its calls are being
// sent.
func (p *Provider) FixesEffort(facts *llm.Model) bool { return facts == nil || facts.Reasoning }
