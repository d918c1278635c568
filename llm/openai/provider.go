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

// Options configure a [Provider]. Only APIKey is required, and with a BaseURL not even that.
type Options struct {
	// Name is the name by which requests are routed and reasoning is recognized; empty means openai. Other servers that speak
	// this format need another name.
	Name   string
	APIKey string
	// BaseURL is the API's URL with the version: requests go to {BaseURL}/responses. Empty means https://api.openai.com/v1. Its
	// query is kept.
	BaseURL string
	// Organization and Project are charged for the requests, if they are not the key's own.
	Organization, Project string
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

// Provider implements [llm.Provider] for the Responses API. It is safe for concurrent use; create one with [New].
//
// Stop sequences are an [llm.ErrUnsupported], because the API has none. Temperature and top_p are not sent to models that are
// known to reason, because those refuse them.
//
// Request.Options may have a JSON object for it under the provider's name. Its members are sent as parameters of the request and
// replace the provider's own parameters of these names. The objects reasoning and text are merged member by member, and a list in
// include is joined with the provider's own. The members model, instructions, tools, input, stream, background, conversation and
// previous_response_id are an [llm.ErrConfiguration]: the request sets the first five, and the server never stores the
// conversation.
type Provider struct {
	name     string
	url      string
	header   http.Header
	client   *http.Client
	timeouts api.Timeouts
	secrets  []string
}

// New returns a provider. A missing key or an invalid base URL is an [llm.ErrConfiguration].
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
	header := api.Header()
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
	x := &api.Exchange{Provider: p.name, Request: req, Encode: p.encode,
		Prepare: func() (*api.Call, error) { return p.call(req) },
		Decoder: func(r *api.Response) api.Decoder {
			d := newDecoder(p.name, req.Model, r.RateLimit)
			d.search = searchTool(req)
			return d
		}}
	return x.Stream(ctx)
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

// FormatsWithTools implements [llm.Formatter]: the Responses API supports text.format together with tools.
func (p *Provider) FormatsWithTools(string) bool { return true }
