package openai

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const (
	defaultName    = "openai"
	defaultBaseURL = "https://api.openai.com/v1"
)

// Options configure a [Provider]. Only APIKey is required, and not even that with a BaseURL of one's own.
type Options struct {
	// Name is what requests are routed by and what reasoning is tied to; empty means openai. Servers that speak the same format
	// need another one.
	Name   string
	APIKey string
	// BaseURL is where the API is, with the version: calls go to {BaseURL}/responses. Empty means https://api.openai.com/v1. A
	// query is kept.
	BaseURL string
	// Organization and Project are whom calls are charged to, where the key's own are not meant.
	Organization, Project string
	// HTTPClient sends the calls; nil means one with Go's defaults. Its redirect policy is ignored: redirects are errors.
	HTTPClient *http.Client
	// Header is sent with every call, on top of what the API demands.
	Header http.Header
	// ConnectTimeout bounds making the connection (default 10 s), IdleTimeout the time without a data event while the answer comes in
	// (default 300 s), and FirstByteTimeout the time to the answer's headers (default IdleTimeout). Negative values mean no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
}

// Provider calls models through the Responses API. It is safe for concurrent use; make one with [New].
//
// Stop sequences are an [llm.ErrUnsupported], for the API has none. Temperature and top_p are left out for models that are known to
// reason, which refuse them.
//
// Request.Options has a JSON object for it under the provider's name. Its members are parameters of the request and are sent as
// they are, in place of the provider's own of that name; of the objects reasoning and text the members are merged in the same
// way, and a list in include is joined with what the provider needs there. The members model, instructions, tools, input, stream,
// background, conversation and previous_response_id are an [llm.ErrConfiguration]: the request says the first five itself, and
// the conversation is never kept on the server.
type Provider struct {
	name     string
	url      string
	header   http.Header
	client   *http.Client
	timeouts api.Timeouts
	secrets  []string
}

// New makes a provider. A missing key, or a base URL that is none, is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	name := o.Name
	if name == "" {
		name = defaultName
	}
	if o.APIKey == "" && o.BaseURL == "" {
		return nil, api.ConfigError(name, "no API key: set Options.APIKey, or OPENAI_API_KEY in the environment")
	}
	base := o.BaseURL
	if base == "" {
		base = defaultBaseURL
	}
	u, err := api.BaseURL(name, o.APIKey, base)
	if err != nil {
		return nil, err
	}
	header := api.Header(nil)
	p := &Provider{name: name, url: u.JoinPath("responses").String(), header: header, client: o.HTTPClient,
		timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout}}
	if o.Organization != "" {
		header["Openai-Organization"] = []string{o.Organization}
	}
	if o.Project != "" {
		header["Openai-Project"] = []string{o.Project}
	}
	if o.APIKey != "" {
		header["Authorization"] = []string{"Bearer " + o.APIKey}
		p.secrets = []string{o.APIKey}
	}
	api.SetHeader(header, o.Header)
	return p, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.name }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return api.Stream(ctx, p.name, func() (*api.Call, error) { return p.call(req) }, func(r *api.Response) api.Decoder {
		return newDecoder(p.name, req.Model, r.RateLimit)
	})
}

// call encodes a request.
func (p *Provider) call(req *llm.Request) (*api.Call, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	return &api.Call{Provider: p.name, URL: p.url, Header: p.header, Body: body, Client: p.client, Timeouts: p.timeouts,
		Secrets: p.secrets, Decode: decodeError}, nil
}

// FormatsWithTools implements [llm.Formatter]: text.format and tools go together in the Responses API.
func (p *Provider) FormatsWithTools(string) bool { return true }
